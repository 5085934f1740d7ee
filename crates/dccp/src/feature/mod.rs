//! Features: parameters of a connection on which both ends must agree (RFC 4340 §6). This module
//! has the table of features (§6.4); [`Negotiator`] agrees on their values.

mod disagreement;
mod entry;
mod negotiator;
#[cfg(test)]
mod tests;

pub use disagreement::{DesiredFeatureValues, Disagreement, feature_name};
pub use entry::Preferences;
pub use negotiator::{Applied, Negotiator, PacketNumbers};

/// Numbers of DCCP features (RFC 4340 §6.4, Table 4; RFC 4342 §8.4).
pub mod number {
    /// Feature CCID (RFC 4340 §10): congestion control of the data that the end with the feature
    /// sends.
    pub const CCID: u8 = 1;
    /// Feature Allow Short Seqnos (RFC 4340 §7.6.1): permission for the end with the feature to
    /// send 24-bit sequence numbers.
    pub const ALLOW_SHORT_SEQNOS: u8 = 2;
    /// Feature Sequence Window (RFC 4340 §7.5.2): width of the window for the sequence numbers of
    /// the end with the feature.
    pub const SEQUENCE_WINDOW: u8 = 3;
    /// Feature ECN Incapable (RFC 4340 §12.1): the end with the feature cannot read ECN bits.
    pub const ECN_INCAPABLE: u8 = 4;
    /// Feature Ack Ratio (RFC 4340 §11.3): data packets per acknowledgement; the end with the
    /// feature sends the data.
    pub const ACK_RATIO: u8 = 5;
    /// Feature Send Ack Vector (RFC 4340 §11.5): the end with the feature sends Ack Vector options.
    pub const SEND_ACK_VECTOR: u8 = 6;
    /// Feature Send NDP Count (RFC 4340 §7.7.2): the end with the feature sends NDP Count options.
    pub const SEND_NDP_COUNT: u8 = 7;
    /// Feature Minimum Checksum Coverage (RFC 4340 §9.2.1): least coverage that the end with the
    /// feature accepts.
    pub const MINIMUM_CHECKSUM_COVERAGE: u8 = 8;
    /// Feature Check Data Checksum (RFC 4340 §9.3.1): the end with the feature checks Data Checksum
    /// options.
    pub const CHECK_DATA_CHECKSUM: u8 = 9;
    /// Feature Send Loss Event Rate (RFC 4342 §8.4): the end with the feature, which receives data,
    /// sends Loss Event Rate options (CCID 3).
    pub const SEND_LOSS_EVENT_RATE: u8 = 192;
}

/// End of a connection that has a feature (RFC 4340 §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Location {
    /// Feature of this end. This end's options for the feature are Change L and Confirm L, the
    /// other end's are Change R and Confirm R.
    Local,
    /// Feature of the other end, whose options for it are Change L and Confirm L.
    Remote,
}

impl Location {
    /// Returns the opposite end of the connection.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Local => Self::Remote,
            Self::Remote => Self::Local,
        }
    }
}

/// One feature of one end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Feature {
    /// Number of the feature, one of [`number`].
    pub number: u8,
    /// End of the connection that has the feature.
    pub location: Location,
}

impl Feature {
    /// Returns the feature with this number of this end.
    pub const fn local(number: u8) -> Self {
        Self { number, location: Location::Local }
    }

    /// Returns the feature with this number of the other end.
    pub const fn remote(number: u8) -> Self {
        Self { number, location: Location::Remote }
    }

    /// Returns the end that sends the data of the half-connection to which a feature of a
    /// congestion control belongs; `None` for other features. Features 128 to 191 are located at
    /// the sender, 192 to 255 at the receiver (RFC 4340 §10.3).
    pub const fn data_sender(self) -> Option<Location> {
        match self.number {
            0..128 => None,
            128..192 => Some(self.location),
            192.. => Some(self.location.opposite()),
        }
    }
}

/// Rule by which both ends agree on a feature's value (RFC 4340 §6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReconciliationRule {
    /// Rule "server-priority": the first value of the server's list that is in the client's list
    /// too.
    ServerPriority,
    /// Rule "non-negotiable": the end with the feature decides its value alone.
    NonNegotiable,
}

/// Properties of a feature: its number, its rule and its valid values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureProperties {
    /// Number of the feature, one of [`number`].
    pub number: u8,
    /// Rule by which both ends agree on the feature's value.
    pub rule: ReconciliationRule,
    /// Value of the feature with which every connection begins.
    pub initial: u64,
    /// Length of the feature's value in an option, in bytes.
    pub value_len: usize,
    /// Least valid value of the feature.
    pub least: u64,
    /// Greatest valid value of the feature.
    pub greatest: u64,
}

/// Widest Sequence Window in packets (RFC 4340 §7.5.2).
pub const SEQUENCE_WINDOW_MAX: u64 = (1 << 46) - 1;
/// Narrowest Sequence Window in packets (RFC 4340 §7.5.2).
pub const SEQUENCE_WINDOW_MIN: u64 = 32;

impl FeatureProperties {
    /// Features that this implementation understands. Feature 192 is understood only with CCID
    /// 3.
    pub const ALL: [Self; 10] = [
        Self::server_priority(number::CCID, 2, 255),
        Self::server_priority(number::ALLOW_SHORT_SEQNOS, 0, 1),
        Self {
            number: number::SEQUENCE_WINDOW,
            rule: ReconciliationRule::NonNegotiable,
            initial: 100,
            value_len: 6,
            least: SEQUENCE_WINDOW_MIN,
            greatest: SEQUENCE_WINDOW_MAX,
        },
        Self::server_priority(number::ECN_INCAPABLE, 0, 1),
        Self {
            number: number::ACK_RATIO,
            rule: ReconciliationRule::NonNegotiable,
            initial: 2,
            value_len: 2,
            // 0 means that the ratio is not used (erratum 1049).
            least: 0,
            greatest: u16::MAX as u64,
        },
        Self::server_priority(number::SEND_ACK_VECTOR, 0, 1),
        Self::server_priority(number::SEND_NDP_COUNT, 0, 1),
        Self::server_priority(number::MINIMUM_CHECKSUM_COVERAGE, 0, 15),
        Self::server_priority(number::CHECK_DATA_CHECKSUM, 0, 1),
        Self::server_priority(number::SEND_LOSS_EVENT_RATE, 0, 1),
    ];

    const fn server_priority(number: u8, initial: u64, greatest: u64) -> Self {
        let rule = ReconciliationRule::ServerPriority;
        Self { number, rule, initial, value_len: 1, least: 0, greatest }
    }

    /// Returns the properties of the feature with this number; `None` for an unknown feature.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number == number)
    }

    /// Returns true if `value` is valid for the feature.
    pub const fn is_valid(&self, value: u64) -> bool {
        self.least <= value && value <= self.greatest
    }

    /// Returns true if an empty Confirm of the feature ends the connection: every implementation
    /// understands such features (RFC 4340 §6.6.7).
    pub const fn is_understood_by_all(&self) -> bool {
        self.number <= number::SEQUENCE_WINDOW
    }
}
