//! Features that a connection requests in negotiation, and the effects of agreed values.

use super::{Connection, ConnectionState, Role};
use crate::ack_vector::AckVector;
use crate::ccid::{ccid2, ccid3};
use crate::feature::{Applied, Feature, Location, SEQUENCE_WINDOW_MAX, number};
use crate::sequence::SequenceNumber;

/// Time in nanoseconds for which a CCID stays after a change: one minute (RFC 4340 §10).
const CCID_CHANGE_NS: u64 = 60_000_000_000;
/// Round trips of packets that a Sequence Window is set to hold (RFC 4340 §7.5.2).
const WINDOW_PER_RTT: u64 = 5;

impl Connection {
    /// Sets the feature values that this end accepts, and requests those that it wants, before the
    /// first packet.
    pub(super) fn request_features(&mut self) {
        let config = &self.config;
        let features = &mut self.features;
        for number in [
            number::SEND_ACK_VECTOR,
            number::SEND_NDP_COUNT,
            number::CHECK_DATA_CHECKSUM,
            number::SEND_LOSS_EVENT_RATE,
        ] {
            features.allow(Feature::local(number), &[1, 0]);
            features.allow(Feature::remote(number), &[1, 0]);
        }
        features.allow(Feature::local(number::CCID), &config.tx_ccids);
        features.allow(Feature::remote(number::CCID), &config.rx_ccids);
        features.allow(Feature::remote(number::ECN_INCAPABLE), &[1, 0]);
        features.allow(Feature::local(number::ECN_INCAPABLE), &[0, 1]);
        let any_coverage: [u8; 16] = core::array::from_fn(|coverage| coverage as u8);
        let coverages = &any_coverage[usize::from(config.minimum_coverage)..];
        features.allow(Feature::remote(number::MINIMUM_CHECKSUM_COVERAGE), &any_coverage);
        features.allow(Feature::local(number::MINIMUM_CHECKSUM_COVERAGE), coverages);
        if config.allows_short_sequence {
            features.allow(Feature::remote(number::ALLOW_SHORT_SEQNOS), &[0, 1]);
        }
        if config.minimum_coverage > 0 {
            let feature = Feature::local(number::MINIMUM_CHECKSUM_COVERAGE);
            features.prefer(feature, coverages, false);
        }
        if config.requests_data_checksum {
            features.prefer(Feature::remote(number::CHECK_DATA_CHECKSUM), &[1], true);
        }
        if !config.is_ecn_capable {
            features.prefer(Feature::local(number::ECN_INCAPABLE), &[1], false);
        }
        if config.sequence_window != 100 {
            features.set(Feature::local(number::SEQUENCE_WINDOW), config.sequence_window);
        }
        if self.role == Role::Client {
            self.request_ccids();
        }
    }

    /// Requests the client's congestion controls and the features that they need (RFC 4340 §10).
    fn request_ccids(&mut self) {
        let can_do_2 = |list: &[u8]| list.contains(&2);
        let (tx, rx) = (&self.config.tx_ccids, &self.config.rx_ccids);
        for (location, list) in [(Location::Local, tx), (Location::Remote, rx)] {
            if list != &[2] {
                let feature = Feature { number: number::CCID, location };
                // An end without CCID 2 must insist on another one (§10).
                self.features.prefer(feature, list, !can_do_2(list));
            }
            if list.contains(&2) {
                let feature =
                    Feature { number: number::SEND_ACK_VECTOR, location: location.opposite() };
                self.features.prefer(feature, &[1], false);
            }
        }
        if tx.contains(&3) {
            self.features.prefer(Feature::local(number::SEND_NDP_COUNT), &[1], false);
        }
        if tx.first() == Some(&3) {
            self.features.prefer(Feature::remote(number::SEND_LOSS_EVENT_RATE), &[1], false);
        }
    }

    /// Requests in a server's Response the features that the Request left open: some
    /// implementations answer no Change after the handshake (RFC 4340 §8.1.3, RFC 4341 §4).
    pub(super) fn request_features_as_server(&mut self) {
        for location in [Location::Local, Location::Remote] {
            let list = match location {
                Location::Local => &self.config.tx_ccids,
                Location::Remote => &self.config.rx_ccids,
            };
            let feature = Feature { number: number::CCID, location };
            let ccid = self.features.value(feature) as u8;
            let is_open =
                !self.features.has_received_change(feature) && list.first() != Some(&ccid);
            if is_open || !list.contains(&ccid) {
                // An end must change a CCID that it does not have (§10).
                self.features.prefer_once(feature, list, !list.contains(&ccid));
            }
            let is_possible = |wanted| ccid == wanted || (is_open && list.contains(&wanted));
            let vectors =
                Feature { number: number::SEND_ACK_VECTOR, location: location.opposite() };
            if is_possible(2) && !self.features.is_on(vectors) {
                self.features.prefer_once(vectors, &[1], false);
            }
        }
        if self.features.value(Feature::local(number::CCID)) == 3 {
            let (rates, counts) = (number::SEND_LOSS_EVENT_RATE, number::SEND_NDP_COUNT);
            for feature in [Feature::remote(rates), Feature::local(counts)] {
                if !self.features.is_on(feature) {
                    self.features.prefer_once(feature, &[1], false);
                }
            }
        }
    }

    /// Applies an agreed feature value to the connection: windows, congestion controls, Ack Ratio.
    pub(super) fn apply(&mut self, now_ns: u64, applied: Applied) {
        let Applied { feature, value } = applied;
        match (feature.number, feature.location) {
            (number::SEQUENCE_WINDOW, Location::Local) => self.windows.set_local_width(value),
            (number::SEQUENCE_WINDOW, Location::Remote) => self.windows.set_remote_width(value),
            (number::ACK_RATIO, Location::Remote) => {
                if let Some(receiver) = &mut self.receiver {
                    receiver.set_ack_ratio(value as u16);
                }
            }
            (number::SEND_LOSS_EVENT_RATE, Location::Local) => {
                if let Some(receiver) = &mut self.receiver {
                    receiver.set_reports_loss_event_rate(value != 0);
                }
            }
            (number::CCID, location) if self.state >= ConnectionState::PartOpen => {
                let is_changed = match location {
                    Location::Local => self.sender.as_ref().map(|s| s.ack_ratio().is_some()),
                    Location::Remote => self.receiver.as_ref().map(|r| r.needs_ack_vector()),
                } != Some(value == 2);
                if is_changed {
                    self.ccids_changed_ns = Some(now_ns);
                    let first = self.next_to_arrive();
                    self.install_ccid(now_ns, location, first);
                }
            }
            _ => (),
        }
    }

    /// Starts both half-connections with the agreed congestion controls. The first packet that
    /// counts has the number `first`, even if it does not arrive first.
    pub(super) fn install_ccids(&mut self, now_ns: u64, first: SequenceNumber) {
        self.ack_vector.get_or_insert_with(|| AckVector::before(first));
        self.install_ccid(now_ns, Location::Local, first);
        self.install_ccid(now_ns, Location::Remote, first);
    }

    /// Returns the first sequence number whose arrival is not recorded: the current packet's
    /// number, or the number after the greatest if that packet has arrived before.
    fn next_to_arrive(&self) -> SequenceNumber {
        let has_arrived =
            self.ack_vector.as_ref().is_some_and(|vector| !self.gsr.is_after(vector.newest()));
        if has_arrived { self.gsr.next() } else { self.gsr }
    }

    fn install_ccid(&mut self, now_ns: u64, location: Location, first: SequenceNumber) {
        let ccid = self.features.value(Feature { number: number::CCID, location });
        let segment_bytes = self.config.data_bytes_max();
        let vectors = Feature { number: number::SEND_ACK_VECTOR, location: location.opposite() };
        let rates = Feature { number: number::SEND_LOSS_EVENT_RATE, ..vectors };
        // A receiver sends Ack Vectors without a request.
        let is_sender = location == Location::Local;
        if ccid == 2 && is_sender && !self.features.is_on(vectors) {
            self.features.prefer_once(vectors, &[1], false);
        }
        match (location, ccid) {
            (Location::Local, 3) => {
                if !self.features.is_on(rates) {
                    self.features.prefer_once(rates, &[1], false);
                }
                self.sender = Some(Box::new(ccid3::Ccid3Sender::new(segment_bytes)));
            }
            (Location::Local, _) => {
                self.sender = Some(Box::new(ccid2::Ccid2Sender::new(self.iss, segment_bytes)));
            }
            (Location::Remote, 3) => {
                let tells = self.features.is_on(rates);
                self.receiver = Some(Box::new(ccid3::Ccid3Receiver::new(first, tells)));
            }
            (Location::Remote, _) => {
                let ratio = self.features.value(Feature::remote(number::ACK_RATIO)) as u16;
                self.receiver = Some(Box::new(ccid2::Ccid2Receiver::new(ratio)));
            }
        }
        if let Some(rtt_ns) = self.rtt_ns {
            self.update_rtt(now_ns, rtt_ns);
        }
    }

    pub(super) fn update_rtt(&mut self, now_ns: u64, rtt_ns: u64) {
        self.rtt_ns = Some(rtt_ns);
        if let Some(sender) = &mut self.sender {
            sender.observe_rtt(now_ns, rtt_ns);
        }
        if let Some(receiver) = &mut self.receiver {
            receiver.set_rtt(rtt_ns);
        }
    }

    /// Requests the features that follow from the sending rate: the Ack Ratio (RFC 4341 §6.1.2) and
    /// the Sequence Window, which must hold several round trips (RFC 4340 §7.5.2). Each change
    /// waits for the answer to the one before.
    pub(super) fn adapt_features(&mut self) {
        let Some(sender) = &self.sender else { return };
        if self.state != ConnectionState::Open {
            return;
        }
        let ratio = Feature::local(number::ACK_RATIO);
        if let Some(wanted) = sender.ack_ratio()
            && !self.features.is_changing(ratio)
        {
            self.features.set(ratio, u64::from(wanted));
        }
        let window = Feature::local(number::SEQUENCE_WINDOW);
        let wanted = (WINDOW_PER_RTT * sender.packets_per_rtt()).next_power_of_two();
        let wanted = wanted.clamp(self.config.sequence_window, SEQUENCE_WINDOW_MAX);
        // The window shrinks only if it can be much narrower: every change costs options.
        let value = self.features.value(window);
        if (wanted > value || wanted * 4 < value) && !self.features.is_changing(window) {
            self.features.set(window, wanted);
        }
    }

    /// Decides if the CCIDs may change, before the options of a packet are processed: not within a
    /// minute of the last change.
    pub(super) fn guard_ccids(&mut self, now_ns: u64) {
        let is_fixed =
            self.ccids_changed_ns.is_some_and(|changed_ns| now_ns < changed_ns + CCID_CHANGE_NS);
        self.features.fix_ccids(is_fixed);
    }
}
