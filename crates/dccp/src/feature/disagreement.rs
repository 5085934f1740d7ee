//! Features on whose value both ends could not agree, with texts for users.

use core::fmt;

use super::entry::FeatureNegotiation;
use super::{Feature, Location, ReconciliationRule, number};
use crate::header::{Reset, ResetCode};
use crate::option::number as option_number;

/// Values of a feature that one end accepts, the most wanted first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DesiredFeatureValues {
    octets: [u8; Self::LEN_MAX],
    len: u8,
    is_list: bool,
}

impl DesiredFeatureValues {
    const LEN_MAX: usize = 16;

    fn new(octets: &[u8], is_list: bool) -> Self {
        let octets = &octets[..octets.len().min(Self::LEN_MAX)];
        let mut copy = [0; Self::LEN_MAX];
        copy[..octets.len()].copy_from_slice(octets);
        Self { octets: copy, len: octets.len() as u8, is_list }
    }

    /// Returns the values as bytes, as the feature option had them.
    pub fn octets(&self) -> &[u8] {
        &self.octets[..usize::from(self.len)]
    }
}

impl fmt::Display for DesiredFeatureValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.len == 0 {
            return f.write_str("no value");
        }
        if !self.is_list && self.len <= 8 {
            let value = self.octets().iter().fold(0_u64, |sum, &octet| sum << 8 | u64::from(octet));
            return write!(f, "{value}");
        }
        for (index, value) in self.octets().iter().enumerate() {
            let before = if index == 0 { "" } else { " or " };
            write!(f, "{before}{value}")?;
        }
        Ok(())
    }
}

/// Feature for which negotiation found no value that both ends accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// Feature without a common value.
    pub feature: Feature,
    /// Values of the feature that this end accepts; `None` when it does not know the feature.
    pub ours: Option<DesiredFeatureValues>,
    /// Values of the feature that the other end accepts; `None` if they are not known.
    pub theirs: Option<DesiredFeatureValues>,
}

impl Disagreement {
    /// Returns a disagreement about `feature`; `entry` is its state, `theirs` the values of the
    /// other end.
    pub(super) fn new(
        feature: Feature,
        entry: Option<&FeatureNegotiation>,
        theirs: Option<&[u8]>,
    ) -> Self {
        let is_list =
            entry.is_none_or(|entry| entry.kind.rule == ReconciliationRule::ServerPriority);
        let ours = entry.map(|entry| match entry.kind.rule {
            ReconciliationRule::ServerPriority => {
                DesiredFeatureValues::new(entry.preferences.as_slice(), true)
            }
            ReconciliationRule::NonNegotiable => {
                let begin = 8 - entry.kind.value_len;
                DesiredFeatureValues::new(&entry.wanted.to_be_bytes()[begin..], false)
            }
        });
        Self {
            feature,
            ours,
            theirs: theirs.map(|octets| DesiredFeatureValues::new(octets, is_list)),
        }
    }

    /// Returns true if this Reset was sent because of a feature option.
    pub const fn explains(reset: &Reset) -> bool {
        let is_about_option =
            matches!(reset.code, ResetCode::OptionError | ResetCode::MandatoryError);
        let [option, ..] = reset.data;
        is_about_option && option >= option_number::CHANGE_L && option <= option_number::CONFIRM_R
    }
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { feature, ours, theirs } = self;
        match feature_name(feature.number) {
            Some(name) => write!(f, "{name} (feature {})", feature.number)?,
            None => write!(f, "feature {}", feature.number)?,
        }
        let is_ccid = feature.number == number::CCID;
        f.write_str(match (feature.location, is_ccid) {
            (Location::Local, true) => " for the data that this end sends",
            (Location::Remote, true) => " for the data that the other end sends",
            (Location::Local, false) => " of this end",
            (Location::Remote, false) => " of the other end",
        })?;
        match ours {
            Some(ours) => write!(f, ": this end takes {ours}, ")?,
            None => f.write_str(": this end does not know it, ")?,
        }
        match theirs {
            Some(theirs) => write!(f, "the other end takes {theirs}"),
            None => f.write_str("the other end takes none of that"),
        }
    }
}

/// Returns the name of the feature with this number, as RFC 4340 §6.4 writes it; `None` for an
/// unknown number.
pub const fn feature_name(feature_number: u8) -> Option<&'static str> {
    Some(match feature_number {
        number::CCID => "congestion control CCID",
        number::ALLOW_SHORT_SEQNOS => "Allow Short Seqnos",
        number::SEQUENCE_WINDOW => "Sequence Window",
        number::ECN_INCAPABLE => "ECN Incapable",
        number::ACK_RATIO => "Ack Ratio",
        number::SEND_ACK_VECTOR => "Send Ack Vector",
        number::SEND_NDP_COUNT => "Send NDP Count",
        number::MINIMUM_CHECKSUM_COVERAGE => "Minimum Checksum Coverage",
        number::CHECK_DATA_CHECKSUM => "Check Data Checksum",
        number::SEND_LOSS_EVENT_RATE => "Send Loss Event Rate",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feature::{FeatureProperties, Preferences};

    #[test]
    fn a_disagreement_names_the_feature_and_both_wishes() {
        let feature = Feature::local(number::CCID);
        let mut entry =
            FeatureNegotiation::new(feature, FeatureProperties::from_number(number::CCID).unwrap());
        entry.preferences = Preferences::new(&[2, 3]);
        let text = Disagreement::new(feature, Some(&entry), Some(&[4])).to_string();
        let expected = "congestion control CCID (feature 1) for the data that this end sends: \
                        this end takes 2 or 3, the other end takes 4";
        assert_eq!(text, expected);
        let unknown = Disagreement::new(Feature::remote(200), None, None).to_string();
        assert!(unknown.starts_with("feature 200 of the other end: this end does not know it"));
        let window = Feature::local(number::SEQUENCE_WINDOW);
        let entry = FeatureNegotiation::new(
            window,
            FeatureProperties::from_number(number::SEQUENCE_WINDOW).unwrap(),
        );
        let text = Disagreement::new(window, Some(&entry), Some(&[0, 0, 0, 0, 2, 0])).to_string();
        assert!(text.ends_with("this end takes 100, the other end takes 512"), "{text}");
        // Every feature that is understood has a name.
        assert!(FeatureProperties::ALL.iter().all(|kind| feature_name(kind.number).is_some()));
    }
}
