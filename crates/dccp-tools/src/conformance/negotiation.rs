//! Feature negotiation between suite and target: Changes, Confirms, and requests of cases for a
//! value.

use dccp::header::PacketType;
use dccp::option::{DccpOption, FeatureOption};

use super::answer::TargetPacket;
use super::context::ConformanceContext;
use super::peer::{TesterConnection, option};
use super::verdict::Judged;

/// Numbers of features with one value and no list (RFC 4340 §6.4): Sequence Window and Ack Ratio.
const NON_NEGOTIABLE: [u8; 2] = [3, 5];

/// Value of a feature that a case requests from the target.
#[derive(Clone, Copy, Debug)]
pub(super) struct FeatureChange<'a> {
    pub(super) kind: FeatureOption,
    pub(super) feature: u8,
    pub(super) value: &'a [u8],
}

impl FeatureChange<'_> {
    /// Returns the Change option that requests the value, as bytes.
    pub(super) fn change(self) -> Vec<u8> {
        change(self.kind, self.feature, self.value)
    }

    /// Returns the value to which a packet of the target agrees: with a Confirm of the Change, or
    /// with the target's own Change for the same value, which the suite confirms.
    fn agreed(self, answer: &TargetPacket) -> Option<Vec<u8>> {
        let confirmed = answer.features(confirm_of(self.kind), self.feature).into_iter().next();
        let crossing = match self.kind {
            FeatureOption::ChangeL => FeatureOption::ChangeR,
            _ => FeatureOption::ChangeL,
        };
        let is_same = |theirs: &Vec<u8>| theirs.first() == self.value.first();
        confirmed.or_else(|| answer.features(crossing, self.feature).into_iter().find(is_same))
    }
}

impl<'b> TesterConnection<'b> {
    /// Opens a connection on which the suite requests a value of a feature. Returns the connection
    /// and the value that the target agreed to. The Request carries the Change, because all targets
    /// answer one there at once; a target that does not gets another Change.
    pub(super) fn open_asking(
        bench: &'b ConformanceContext,
        options: &[u8],
        change: FeatureChange<'_>,
    ) -> Judged<(Self, Vec<u8>)> {
        let mut peer = Self::new(bench);
        let response = peer.request(&[options, &change.change()].concat())?;
        peer.complete()?;
        let agreed = peer.agree_on(&response, change)?;
        Ok((peer, agreed))
    }

    /// Requests a value of a feature unless the target's Response has agreed to this value already.
    /// Returns the agreed value.
    pub(super) fn agree_on(
        &mut self,
        response: &TargetPacket,
        change: FeatureChange<'_>,
    ) -> Judged<Vec<u8>> {
        match change.agreed(response) {
            Some(value) => Ok(value),
            None => self.negotiate(change.kind, change.feature, change.value),
        }
    }

    /// Requests a value of a feature with a Change on an Ack. Returns the value of the target's
    /// Confirm. A Sync after the Ack makes the target send a packet, because a Confirm may wait for
    /// one (RFC 4340 §6.6.1).
    pub(super) fn negotiate(
        &mut self,
        kind: FeatureOption,
        feature: u8,
        value: &[u8],
    ) -> Judged<Vec<u8>> {
        let answer = self.draw_confirms(kind, feature, &change(kind, feature, value))?;
        Ok(answer.features(confirm_of(kind), feature).swap_remove(0))
    }

    /// Sends Changes on an Ack, and a Sync after it. Returns the target's packet with Confirms of
    /// the feature.
    pub(super) fn draw_confirms(
        &mut self,
        kind: FeatureOption,
        feature: u8,
        changes: &[u8],
    ) -> Judged<TargetPacket> {
        let draft = self.next(PacketType::Ack).options(changes);
        self.send(&draft);
        let sync = self.next(PacketType::Sync);
        self.send(&sync);
        let confirm = confirm_of(kind);
        let expected = format!("{confirm:?} of feature {feature}");
        let number = draft.header.sequence;
        self.wait(&expected, |a| a.reaches(number) && !a.features(confirm, feature).is_empty())
    }
}

/// Returns a Change or Confirm option as bytes.
pub(super) fn change(kind: FeatureOption, feature: u8, value: &[u8]) -> Vec<u8> {
    option(DccpOption::Feature { kind, feature, value })
}

/// Returns the kind of Confirm option that answers a Change.
pub(super) const fn confirm_of(kind: FeatureOption) -> FeatureOption {
    match kind {
        FeatureOption::ChangeL => FeatureOption::ConfirmR,
        _ => FeatureOption::ConfirmL,
    }
}

/// Returns a feature value as six bytes, the length of a Sequence Window (RFC 4340 §7.5.2).
pub(super) fn wide(value: u64) -> [u8; 6] {
    let octets = value.to_be_bytes();
    [octets[2], octets[3], octets[4], octets[5], octets[6], octets[7]]
}

/// Returns Confirm options for the Changes of a packet, with the target's own lists, for the
/// features that `is_wanted` selects.
pub(super) fn confirms_for(answer: &TargetPacket, is_wanted: impl Fn(u8) -> bool) -> Vec<u8> {
    let changes = answer.changes();
    let wanted = changes.iter().filter(|(_, feature, _)| is_wanted(*feature));
    let confirms = wanted.map(|(kind, feature, value)| {
        let first = if NON_NEGOTIABLE.contains(feature) { &[][..] } else { &value[..1] };
        change(confirm_of(*kind), *feature, &[first, value].concat())
    });
    confirms.collect::<Vec<_>>().concat()
}
