//! Negotiation of all features of a connection, as a state machine (RFC 4340 §6.6). It keeps
//! options until a packet may carry them; the connection's timer decides when to repeat them.

use super::entry::{ChangeProgress, FeatureNegotiation, Preferences};
use super::{Disagreement, Feature, FeatureProperties, Location, ReconciliationRule, number};
use crate::header::{PacketType, Reset, ResetCode};
use crate::option::{DccpOption, DccpOptionWriter, FeatureOption};
use crate::sequence::SequenceNumber;

/// Largest number of Confirm options that wait for the next packet. The other end repeats a Change
/// that this end has not confirmed.
const CONFIRMS_MAX: usize = 64;

/// Sequence and acknowledgement number of the packet that an option came with.
#[derive(Clone, Copy, Debug)]
pub struct PacketNumbers {
    /// Sequence number of the packet with the option.
    pub sequence: SequenceNumber,
    /// Acknowledgement number of the packet with the option, if its type has one.
    pub acknowledgement: Option<SequenceNumber>,
}

/// Value of a feature that holds from now on; it may be the old value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Feature whose value the two ends have settled.
    pub feature: Feature,
    /// Value of the feature from now on, new or old.
    pub value: u64,
}

/// Confirm option that waits for a packet.
#[derive(Clone, Copy, Debug)]
struct Confirm {
    feature: Feature,
    /// Content of the Confirm; `None` for an empty one, which refuses the Change.
    answer: Option<ConfirmContent>,
}

/// Content of a Confirm option.
#[derive(Clone, Copy, Debug)]
struct ConfirmContent {
    agreed: u64,
    value_len: usize,
    /// Preferences of this end, which the Confirm repeats for a server-priority feature.
    list: Option<Preferences>,
}

/// Features of both ends of a connection, and the state of their negotiation.
#[derive(Clone, Debug)]
pub struct Negotiator {
    is_server: bool,
    entries: Vec<FeatureNegotiation>,
    confirms: Vec<Confirm>,
    /// Greatest sequence number of a received packet with a feature option, Change or Confirm
    /// (FGSR, RFC 4340 §6.6.4).
    fgsr: SequenceNumber,
    /// Greatest sequence number of a sent packet with a Change of new content (FGSS,
    /// RFC 4340 §6.6.4).
    fgss: SequenceNumber,
    is_ccid_fixed: bool,
    /// Latest feature without a value that both ends accept.
    disagreement: Option<Disagreement>,
}

impl Negotiator {
    /// Returns a negotiator with every feature at its initial value. The numbers are the first of
    /// each direction (ISS, ISR); a client learns ISR from the Response
    /// ([`Negotiator::set_first_received`]).
    pub fn new(is_server: bool, iss: SequenceNumber, isr: SequenceNumber) -> Self {
        let entries = FeatureProperties::ALL
            .into_iter()
            .flat_map(|kind| {
                [Location::Local, Location::Remote].map(|location| {
                    FeatureNegotiation::new(Feature { number: kind.number, location }, kind)
                })
            })
            .collect();
        Self {
            is_server,
            entries,
            confirms: Vec::new(),
            fgsr: isr.minus(1),
            fgss: iss,
            is_ccid_fixed: false,
            disagreement: None,
        }
    }

    /// Returns the latest feature without a value that both ends accept. This feature is why the
    /// connection ended if [`Disagreement::explains`] is true for its Reset.
    pub const fn disagreement(&self) -> Option<&Disagreement> {
        self.disagreement.as_ref()
    }

    /// Records that both ends accept no common value of `feature`. A disagreement about the
    /// congestion control is kept when one about that CCID's own features follows from it.
    fn record_disagreement(&mut self, feature: Feature, theirs: Option<&[u8]>) {
        let of_ccid_3 = if FeatureProperties::from_number(feature.number).is_some() {
            feature.data_sender()
        } else {
            None
        };
        if let Some(location) = of_ccid_3
            && self.active_entry(feature).is_none()
        {
            // The other end insists on a feature of CCID 3 (RFC 4342 §8), which is not in use.
            let ccid = Feature { number: number::CCID, location };
            self.disagreement = Some(Disagreement::new(ccid, self.entry(ccid), Some(&[3])));
            return;
        }
        let is_consequence = self
            .disagreement
            .is_some_and(|known| known.feature.number == number::CCID && feature.number >= 128);
        if !is_consequence {
            let entry = self.active_entry(feature);
            self.disagreement = Some(Disagreement::new(feature, entry, theirs));
        }
    }

    /// Records the feature that the other end's Reset is about: the data of the Reset repeats an
    /// option of this end.
    pub fn note_reset(&mut self, reset: &Reset) {
        let [option, feature_number, _] = reset.data;
        let location = match option {
            crate::option::number::CHANGE_L | crate::option::number::CONFIRM_L => Location::Local,
            _ => Location::Remote,
        };
        if Disagreement::explains(reset) {
            self.record_disagreement(Feature { number: feature_number, location }, None);
        }
    }

    /// Sets the first sequence number of the other end to `isr`.
    pub const fn set_first_received(&mut self, isr: SequenceNumber) {
        self.fgsr = isr.minus(1);
    }

    /// Returns the value of a feature that is in use now.
    ///
    /// # Panics
    ///
    /// Panics when the feature is not one of [`FeatureProperties::ALL`].
    pub fn value(&self, feature: Feature) -> u64 {
        self.entry(feature).expect("a feature of the table").value
    }

    /// Returns true if the feature's value is not 0.
    pub fn is_on(&self, feature: Feature) -> bool {
        self.value(feature) != 0
    }

    /// Returns true if this end's Change of the feature has no answer yet.
    pub fn is_changing(&self, feature: Feature) -> bool {
        self.entry(feature).is_some_and(|entry| entry.progress != ChangeProgress::Stable)
    }

    /// Returns true if any Change option of this end has no answer yet.
    pub fn is_waiting(&self) -> bool {
        self.entries.iter().any(|entry| entry.progress != ChangeProgress::Stable)
    }

    /// Returns true if feature options wait for a packet.
    pub fn has_options(&self) -> bool {
        !self.confirms.is_empty() || self.entries.iter().any(FeatureNegotiation::is_due)
    }

    /// Sets the values of a server-priority feature that this end accepts, the most wanted first,
    /// without a request to the other end.
    pub fn allow(&mut self, feature: Feature, preferences: &[u8]) {
        if let Some(entry) = self.entry_mut(feature) {
            entry.preferences = Preferences::new(preferences);
        }
    }

    /// Requests a server-priority feature: a Change with this list goes out with the next packet
    /// that may carry it. With `is_mandatory` the other end resets the connection if it cannot
    /// comply.
    pub fn prefer(&mut self, feature: Feature, preferences: &[u8], is_mandatory: bool) {
        if let Some(entry) = self.entry_mut(feature) {
            entry.preferences = Preferences::new(preferences);
            entry.is_mandatory = is_mandatory;
            entry.progress = ChangeProgress::Unstable;
        }
    }

    /// Requests a feature like [`Negotiator::prefer`], unless the Change is under way or the other
    /// end has ignored it.
    pub fn prefer_once(&mut self, feature: Feature, preferences: &[u8], is_mandatory: bool) {
        let is_requested = |entry: &FeatureNegotiation| {
            entry.progress != ChangeProgress::Stable || entry.is_ignored
        };
        if !self.entry(feature).is_some_and(is_requested) {
            self.prefer(feature, preferences, is_mandatory);
        }
    }

    /// Returns true if the other end has sent a Change of this feature.
    pub fn has_received_change(&self, feature: Feature) -> bool {
        self.entry(feature).is_some_and(|entry| entry.has_received_change)
    }

    /// Withdraws Changes of server-priority features that the other end has not answered: some
    /// implementations negotiate such features in the handshake only. The values stay as they are.
    /// A Mandatory Change is not withdrawn; the first feature with one is returned.
    pub fn give_up(&mut self) -> Option<Feature> {
        let mut required = None;
        for entry in &mut self.entries {
            let is_unanswered = matches!(entry.progress, ChangeProgress::Changing { .. });
            if is_unanswered && entry.kind.rule == ReconciliationRule::ServerPriority {
                if entry.is_mandatory {
                    required = required.or(Some(entry.feature));
                    continue;
                }
                entry.progress = ChangeProgress::Stable;
                entry.is_ignored = true;
            }
        }
        required
    }

    /// Requests a value of a non-negotiable feature of this end. The value holds once the other end
    /// has confirmed it (RFC 4340 §6.3.2).
    ///
    /// # Panics
    ///
    /// Panics when the feature is the other end's or may not have the value.
    pub fn set(&mut self, feature: Feature, value: u64) {
        assert_eq!(feature.location, Location::Local, "only its owner sets it (§6.3.2)");
        if let Some(entry) = self.entry_mut(feature) {
            assert!(entry.kind.is_valid(value), "the feature may have the value");
            if entry.value == value && entry.progress == ChangeProgress::Stable {
                return;
            }
            if entry.wanted != value || entry.progress == ChangeProgress::Stable {
                entry.wanted = value;
                entry.progress = ChangeProgress::Unstable;
            }
        }
    }

    /// Sets if the congestion controls stay as they are or may change again (RFC 4340 §10).
    pub const fn fix_ccids(&mut self, is_fixed: bool) {
        self.is_ccid_fixed = is_fixed;
    }

    /// Schedules every Change option without an answer for the next packet, with the same content.
    pub fn repeat(&mut self) {
        for entry in &mut self.entries {
            if let ChangeProgress::Changing { is_due } = &mut entry.progress {
                *is_due = true;
            }
        }
    }

    /// Discards the Confirm options that were kept for repetition.
    pub fn forget_confirms(&mut self) {
        self.confirms.clear();
    }

    /// Adds the waiting feature options (Change, Confirm) to a packet of this type and sequence
    /// number. Confirms need an acknowledgement number and may not go on Data (RFC 4340 §6.6.3);
    /// `keep_confirms` repeats them on the next packet.
    pub fn write(
        &mut self,
        packet_type: PacketType,
        sequence: SequenceNumber,
        keep_confirms: bool,
        options: &mut DccpOptionWriter<'_>,
    ) {
        use PacketType::{Ack, DataAck, Request, Response, Sync, SyncAck};
        if !matches!(packet_type, Request | Response | Ack | DataAck | Sync | SyncAck) {
            return;
        }
        if packet_type.has_acknowledgement() {
            let mut is_full = false;
            self.confirms.retain(|confirm| {
                // A Confirm that did not fit stays, and so do all after it: their order matters.
                is_full |= !write_confirm(confirm, options);
                is_full || keep_confirms
            });
        }
        // The other end may receive only one of several Requests or Responses, so each of them has
        // every Change without an answer.
        let is_first = packet_type.has_service_code();
        let is_unanswered =
            |entry: &FeatureNegotiation| matches!(entry.progress, ChangeProgress::Changing { .. });
        let is_wanted =
            |entry: &&mut FeatureNegotiation| entry.is_due() || (is_first && is_unanswered(entry));
        for entry in self.entries.iter_mut().filter(is_wanted) {
            if write_change(entry, options) {
                if entry.progress == ChangeProgress::Unstable {
                    self.fgss = self.fgss.max(sequence);
                }
                entry.progress = ChangeProgress::Changing { is_due: false };
            }
        }
    }

    /// Adds the Confirm options that wait to `options`, and keeps them.
    pub fn write_confirms(&self, options: &mut DccpOptionWriter<'_>) {
        for confirm in &self.confirms {
            if !write_confirm(confirm, options) {
                return;
            }
        }
    }

    /// Processes a Change or Confirm option that came with a valid packet. Call
    /// [`Negotiator::finish`] after all options of the packet.
    ///
    /// # Errors
    ///
    /// Returns the Reset that ends the connection (RFC 4340 §6.6.7, §6.6.8, §6.6.9).
    pub fn receive(
        &mut self,
        arrival: PacketNumbers,
        kind: FeatureOption,
        feature_number: u8,
        value: &[u8],
        is_mandatory: bool,
    ) -> Result<Option<Applied>, Reset> {
        if !arrival.sequence.is_after(self.fgsr) {
            return Ok(None);
        }
        // The other end's L is our remote location.
        let location = match kind {
            FeatureOption::ChangeL | FeatureOption::ConfirmL => Location::Remote,
            FeatureOption::ChangeR | FeatureOption::ConfirmR => Location::Local,
        };
        let feature = Feature { number: feature_number, location };
        if kind.is_change() {
            let result = self.change(feature, value, is_mandatory);
            return result.map_err(|()| {
                self.record_disagreement(feature, Some(value));
                feature_reset(ResetCode::MandatoryError, kind, feature, value)
            });
        }
        if arrival.acknowledgement.is_none_or(|number| self.fgss.is_after(number)) {
            return Ok(None);
        }
        let result = self.confirm(feature, value);
        result.map_err(|()| {
            self.record_disagreement(feature, Some(value));
            feature_reset(ResetCode::OptionError, kind, feature, value)
        })
    }

    /// Records that the other end does not accept a value that this end must have, and returns the
    /// Reset about the Change.
    pub fn refuse(&mut self, code: ResetCode, feature: Feature) -> Reset {
        self.record_disagreement(feature, None);
        let kind = match feature.location {
            Location::Local => FeatureOption::ChangeL,
            Location::Remote => FeatureOption::ChangeR,
        };
        let first = self.entry(feature).map_or(0, |entry| entry.preferences.as_slice()[0]);
        feature_reset(code, kind, feature, &[first])
    }

    /// Ends the processing of a packet with feature options, and keeps FGSR and FGSS within reach
    /// of the connection's greatest numbers (RFC 4340 §6.6.4, erratum 974).
    pub fn finish(
        &mut self,
        arrival: PacketNumbers,
        had_features: bool,
        gsr: SequenceNumber,
        gss: SequenceNumber,
    ) {
        if had_features {
            self.fgsr = self.fgsr.max(arrival.sequence);
        }
        if self.fgsr.is_after(gsr) {
            self.fgsr = gsr.minus(super::SEQUENCE_WINDOW_MAX);
        }
        if self.fgss.is_after(gss) {
            self.fgss = gss.minus(super::SEQUENCE_WINDOW_MAX);
        }
    }

    /// Processes a Change option of the other end. Returns `Err` when the Change was Mandatory and
    /// this end refuses it.
    fn change(
        &mut self,
        feature: Feature,
        value: &[u8],
        is_mandatory: bool,
    ) -> Result<Option<Applied>, ()> {
        if let Some(entry) = self.entry_mut(feature) {
            entry.has_received_change = true;
        }
        let is_server = self.is_server;
        let mut has_nothing_in_common = false;
        let is_fixed = self.is_ccid_fixed && feature.number == number::CCID;
        let agreed = match self.active_entry(feature) {
            None => None,
            Some(entry) => match entry.kind.rule {
                ReconciliationRule::NonNegotiable => {
                    non_negotiable(entry, value).map(|agreed| (agreed, None))
                }
                ReconciliationRule::ServerPriority => {
                    let list = if is_fixed {
                        Preferences::new(&[entry.value as u8])
                    } else {
                        entry.preferences
                    };
                    let mut ours = *entry;
                    ours.preferences = list;
                    let reconciled = ours.reconcile(is_server, value);
                    has_nothing_in_common = reconciled.is_none();
                    match reconciled {
                        None if is_mandatory => None,
                        // No value in common: the old value stays (§6.3.1).
                        agreed => Some((agreed.map_or(entry.value, u64::from), Some(list))),
                    }
                }
            },
        };
        if has_nothing_in_common {
            self.record_disagreement(feature, Some(value));
        }
        let Some((agreed, list)) = agreed else {
            if !is_mandatory {
                self.answer(feature, None);
            }
            return if is_mandatory { Err(()) } else { Ok(None) };
        };
        let value_len = self.entry(feature).map_or(1, |entry| entry.kind.value_len);
        self.answer(feature, Some(ConfirmContent { agreed, value_len, list }));
        Ok(Some(self.apply(feature, agreed)))
    }

    /// Processes a Confirm option of the other end. Returns `Err` when its value is impossible.
    fn confirm(&mut self, feature: Feature, value: &[u8]) -> Result<Option<Applied>, ()> {
        let Some(entry) = self.entry_mut(feature) else { return Ok(None) };
        if !matches!(entry.progress, ChangeProgress::Changing { .. }) {
            return Ok(None);
        }
        let Some((&first, theirs)) = value.split_first() else {
            // The other end does not understand the feature, or the value was invalid: the value
            // stays as it was (§6.6.7).
            entry.progress = ChangeProgress::Stable;
            return if entry.kind.is_understood_by_all() { Err(()) } else { Ok(None) };
        };
        let agreed = match entry.kind.rule {
            ReconciliationRule::NonNegotiable => {
                let octets = |value: u64| value.to_be_bytes();
                let begin = 8 - entry.kind.value_len;
                if value == &octets(entry.wanted)[begin..] {
                    entry.wanted
                } else if value == &octets(entry.value)[begin..] {
                    // This answers a repetition of the Change before, which had an answer already.
                    return Ok(None);
                } else {
                    return Err(());
                }
            }
            ReconciliationRule::ServerPriority => {
                let has_common = theirs.iter().any(|&value| entry.preferences.has(value));
                let is_unchanged = u64::from(first) == entry.value && !has_common;
                if !entry.preferences.has(first) && !is_unchanged {
                    return Err(());
                }
                u64::from(first)
            }
        };
        Ok(Some(self.apply(feature, agreed)))
    }

    fn apply(&mut self, feature: Feature, value: u64) -> Applied {
        if let Some(entry) = self.entry_mut(feature) {
            entry.value = value;
            if matches!(entry.progress, ChangeProgress::Changing { .. }) {
                entry.progress = ChangeProgress::Stable;
            }
        }
        Applied { feature, value }
    }

    fn answer(&mut self, feature: Feature, answer: Option<ConfirmContent>) {
        if self.confirms.len() < CONFIRMS_MAX {
            self.confirms.push(Confirm { feature, answer });
        }
    }

    /// Returns the state of the feature's negotiation, unless the feature belongs to a congestion
    /// control that is not in use.
    fn active_entry(&self, feature: Feature) -> Option<&FeatureNegotiation> {
        let is_in_use = feature
            .data_sender()
            .is_none_or(|location| self.value(Feature { number: number::CCID, location }) == 3);
        if is_in_use { self.entry(feature) } else { None }
    }

    fn entry(&self, feature: Feature) -> Option<&FeatureNegotiation> {
        self.entries.iter().find(|entry| entry.feature == feature)
    }

    fn entry_mut(&mut self, feature: Feature) -> Option<&mut FeatureNegotiation> {
        self.entries.iter_mut().find(|entry| entry.feature == feature)
    }
}

/// Returns the value that a Change L option requests for a non-negotiable feature; `None` for a
/// Change R or an invalid value.
fn non_negotiable(entry: &FeatureNegotiation, value: &[u8]) -> Option<u64> {
    let is_owner = entry.feature.location == Location::Remote;
    if !is_owner || value.len() != entry.kind.value_len {
        return None;
    }
    let value = value.iter().fold(0, |sum, &octet| sum << 8 | u64::from(octet));
    entry.kind.is_valid(value).then_some(value)
}

/// Writes a Confirm option. Returns false when it does not fit.
fn write_confirm(confirm: &Confirm, options: &mut DccpOptionWriter<'_>) -> bool {
    let kind = match confirm.feature.location {
        Location::Local => FeatureOption::ConfirmL,
        Location::Remote => FeatureOption::ConfirmR,
    };
    let number = confirm.feature.number;
    let Some(answer) = &confirm.answer else { return options.feature(kind, number, &[]) };
    let agreed = answer.agreed.to_be_bytes();
    let list = answer.list.as_ref().map_or(&[][..], Preferences::as_slice);
    options.feature(kind, number, &[&agreed[8 - answer.value_len..], list])
}

/// Writes a Change option, with a Mandatory option before it if required. Writes neither, and
/// returns false, when they do not fit.
fn write_change(entry: &FeatureNegotiation, options: &mut DccpOptionWriter<'_>) -> bool {
    let kind = match entry.feature.location {
        Location::Local => FeatureOption::ChangeL,
        Location::Remote => FeatureOption::ChangeR,
    };
    let wanted = entry.wanted.to_be_bytes();
    let value = match entry.kind.rule {
        ReconciliationRule::ServerPriority => entry.preferences.as_slice(),
        ReconciliationRule::NonNegotiable => &wanted[8 - entry.kind.value_len..],
    };
    let before = options.len();
    let is_written = (!entry.is_mandatory || options.put(DccpOption::Mandatory))
        && options.feature(kind, entry.feature.number, &[value]);
    if !is_written {
        options.truncate(before);
    }
    is_written
}

/// Returns a Reset about a feature option: its type, the feature number, and the first byte of the
/// value (RFC 4340 §5.6).
fn feature_reset(code: ResetCode, kind: FeatureOption, feature: Feature, value: &[u8]) -> Reset {
    let first = value.first().copied().unwrap_or(0);
    Reset { code, data: [kind.number(), feature.number, first] }
}
