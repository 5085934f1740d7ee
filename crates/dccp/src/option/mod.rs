//! Options: an iterator in, a writer out (RFC 4340 §5.8 and, for CCID 3, RFC 4342 §8).
//!
//! [`Options`] follows the rules that hold for every option: a length that cannot be ends the list,
//! and an option that is known but has a wrong length is given out as [`DccpOption::Unknown`] would
//! be, so that only Mandatory can make something of it. What an option means is up to its owner.

mod elapsed;
mod write;

use core::iter::FusedIterator;

use crate::header::PacketType;

pub use elapsed::{ELAPSED_MAX_10US, elapsed_10us, elapsed_ns};
pub use write::OptionWriter;

/// Option types (§5.8, Table 3).
pub mod number {
    /// One octet of nothing.
    pub const PADDING: u8 = 0;
    /// The next option must be understood.
    pub const MANDATORY: u8 = 1;
    /// The receiver is slow.
    pub const SLOW_RECEIVER: u8 = 2;
    /// Asks for a value of a feature that the sender has.
    pub const CHANGE_L: u8 = 32;
    /// Answers Change R.
    pub const CONFIRM_L: u8 = 33;
    /// Asks for a value of a feature that the receiver has.
    pub const CHANGE_R: u8 = 34;
    /// Answers Change L.
    pub const CONFIRM_R: u8 = 35;
    /// State that a server keeps at its client.
    pub const INIT_COOKIE: u8 = 36;
    /// Length of a run of packets without data.
    pub const NDP_COUNT: u8 = 37;
    /// Ack Vector whose nonces add up to 0.
    pub const ACK_VECTOR_0: u8 = 38;
    /// Ack Vector whose nonces add up to 1.
    pub const ACK_VECTOR_1: u8 = 39;
    /// Data that was received and not delivered.
    pub const DATA_DROPPED: u8 = 40;
    /// A time of the sender.
    pub const TIMESTAMP: u8 = 41;
    /// A Timestamp given back.
    pub const TIMESTAMP_ECHO: u8 = 42;
    /// How long ago the acknowledged packet came.
    pub const ELAPSED_TIME: u8 = 43;
    /// A strong checksum of the data.
    pub const DATA_CHECKSUM: u8 = 44;
    /// First option from the sender of data to its receiver that is a congestion control's.
    pub const CCID_FROM_SENDER: u8 = 128;
    /// First option from the receiver of data to its sender that is a congestion control's.
    pub const CCID_FROM_RECEIVER: u8 = 192;
    /// CCID 3: the inverse of the loss event rate (RFC 4342 §8.5).
    pub const LOSS_EVENT_RATE: u8 = 192;
    /// CCID 3: the loss intervals (RFC 4342 §8.6).
    pub const LOSS_INTERVALS: u8 = 193;
    /// CCID 3: the rate at which data came in (RFC 4342 §8.3).
    pub const RECEIVE_RATE: u8 = 194;
}

/// Which of the four options of feature negotiation (§6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureOption {
    /// From the end that has the feature.
    ChangeL,
    /// From the end that has the feature.
    ConfirmL,
    /// From the end that has not.
    ChangeR,
    /// From the end that has not.
    ConfirmR,
}

impl FeatureOption {
    /// The option's number.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::ChangeL => number::CHANGE_L,
            Self::ConfirmL => number::CONFIRM_L,
            Self::ChangeR => number::CHANGE_R,
            Self::ConfirmR => number::CONFIRM_R,
        }
    }

    /// Whether it asks, and does not answer.
    #[must_use]
    pub const fn is_change(self) -> bool {
        matches!(self, Self::ChangeL | Self::ChangeR)
    }
}

/// One option. Numbers are in host order, times in units of 10 µs as on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DccpOption<'a> {
    /// §5.8.1.
    Padding,
    /// §5.8.2.
    Mandatory,
    /// §11.6.
    SlowReceiver,
    /// §6.1, §6.2.
    Feature {
        /// Change or Confirm, L or R.
        kind: FeatureOption,
        /// The feature's number.
        feature: u8,
        /// One value, a value and a list, a list, or nothing.
        value: &'a [u8],
    },
    /// §8.1.4.
    InitCookie(&'a [u8]),
    /// §7.7.
    NdpCount(u64),
    /// §11.4.
    AckVector {
        /// The parity of the nonces of what it reports as received.
        nonce: bool,
        /// A state and a run length in each octet.
        runs: &'a [u8],
    },
    /// §11.7.
    DataDropped(&'a [u8]),
    /// §13.1.
    Timestamp(u32),
    /// §13.3.
    TimestampEcho {
        /// The Timestamp's value.
        echo: u32,
        /// Time since it came; 0 when the option does not say.
        elapsed_10us: u32,
    },
    /// §13.2.
    ElapsedTime(u32),
    /// §9.3: CRC-32C of the application data area.
    DataChecksum(u32),
    /// Any other, or one of the above with a length that it cannot have.
    Unknown {
        /// The option's number.
        number: u8,
        /// What follows number and length.
        value: &'a [u8],
    },
}

impl<'a> DccpOption<'a> {
    fn read(number: u8, value: &'a [u8]) -> Self {
        let unknown = Self::Unknown { number, value };
        match number {
            number::CHANGE_L..=number::CONFIRM_R => feature(number, value).unwrap_or(unknown),
            number::INIT_COOKIE => Self::InitCookie(value),
            number::NDP_COUNT if (1..=6).contains(&value.len()) => {
                Self::NdpCount(value.iter().fold(0, |count, &octet| count << 8 | u64::from(octet)))
            }
            number::ACK_VECTOR_0 | number::ACK_VECTOR_1 => {
                Self::AckVector { nonce: number == number::ACK_VECTOR_1, runs: value }
            }
            number::DATA_DROPPED => Self::DataDropped(value),
            number::TIMESTAMP => word(value).map_or(unknown, Self::Timestamp),
            number::TIMESTAMP_ECHO => timestamp_echo(value).unwrap_or(unknown),
            number::ELAPSED_TIME => match elapsed::read(value) {
                Some(elapsed) if !value.is_empty() => Self::ElapsedTime(elapsed),
                _ => unknown,
            },
            number::DATA_CHECKSUM => {
                word(value).map_or(unknown, |crc| Self::DataChecksum(crc.swap_bytes()))
            }
            _ => unknown,
        }
    }

    /// Whether the option must be ignored on a Data packet (§5.8, Table 3, column "DCCP-Data"), and
    /// for the options of a congestion control, those of CCID 3 (RFC 4342 §8).
    #[must_use]
    pub const fn is_ignored_on_data(&self) -> bool {
        match self {
            Self::Mandatory
            | Self::Feature { .. }
            | Self::InitCookie(_)
            | Self::AckVector { .. }
            | Self::DataDropped(_)
            | Self::ElapsedTime(_) => true,
            Self::Padding
            | Self::SlowReceiver
            | Self::NdpCount(_)
            | Self::Timestamp(_)
            | Self::TimestampEcho { .. }
            | Self::DataChecksum(_) => false,
            Self::Unknown { number, .. } => *number >= number::CCID_FROM_RECEIVER,
        }
    }

    /// Whether the option says something about the packet that is acknowledged, and so nothing on a
    /// packet that acknowledges none.
    #[must_use]
    pub const fn needs_acknowledgement(&self) -> bool {
        matches!(self, Self::AckVector { .. } | Self::DataDropped(_) | Self::ElapsedTime(_))
    }

    /// Whether the option counts on a packet of this type; the others are passed over.
    #[must_use]
    pub const fn is_for(&self, packet_type: PacketType) -> bool {
        match packet_type {
            PacketType::Data => !self.is_ignored_on_data(),
            PacketType::Request => {
                !self.needs_acknowledgement() && !matches!(self, Self::InitCookie(_))
            }
            _ => true,
        }
    }

    /// The option's number and the octets behind number and length, as a Reset repeats them.
    #[must_use]
    pub const fn number(&self) -> u8 {
        match self {
            Self::Padding => number::PADDING,
            Self::Mandatory => number::MANDATORY,
            Self::SlowReceiver => number::SLOW_RECEIVER,
            Self::Feature { kind, .. } => kind.number(),
            Self::InitCookie(_) => number::INIT_COOKIE,
            Self::NdpCount(_) => number::NDP_COUNT,
            Self::AckVector { nonce: false, .. } => number::ACK_VECTOR_0,
            Self::AckVector { nonce: true, .. } => number::ACK_VECTOR_1,
            Self::DataDropped(_) => number::DATA_DROPPED,
            Self::Timestamp(_) => number::TIMESTAMP,
            Self::TimestampEcho { .. } => number::TIMESTAMP_ECHO,
            Self::ElapsedTime(_) => number::ELAPSED_TIME,
            Self::DataChecksum(_) => number::DATA_CHECKSUM,
            Self::Unknown { number, .. } => *number,
        }
    }
}

fn feature(number: u8, value: &[u8]) -> Option<DccpOption<'_>> {
    let (&feature, value) = value.split_first()?;
    let kind = match number {
        number::CHANGE_L => FeatureOption::ChangeL,
        number::CONFIRM_L => FeatureOption::ConfirmL,
        number::CHANGE_R => FeatureOption::ChangeR,
        _ => FeatureOption::ConfirmR,
    };
    // A Change asks for something: it has at least one value (§6.1).
    (!kind.is_change() || !value.is_empty()).then_some(DccpOption::Feature { kind, feature, value })
}

fn timestamp_echo(value: &[u8]) -> Option<DccpOption<'_>> {
    let (echo, elapsed) = value.split_at_checked(4)?;
    Some(DccpOption::TimestampEcho { echo: word(echo)?, elapsed_10us: elapsed::read(elapsed)? })
}

fn word(value: &[u8]) -> Option<u32> {
    value.try_into().ok().map(u32::from_be_bytes)
}

/// An option as it stands in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawOption<'a> {
    /// The option's number.
    pub number: u8,
    /// What follows number and length.
    pub value: &'a [u8],
    /// What the two mean.
    pub option: DccpOption<'a>,
}

/// The options of a packet in order, padding included. Ends at the first length that cannot be
/// (§5.8).
#[derive(Clone, Debug)]
pub struct Options<'a> {
    rest: &'a [u8],
}

impl<'a> Options<'a> {
    /// The options in an option area.
    #[must_use]
    pub const fn new(area: &'a [u8]) -> Self {
        Self { rest: area }
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = RawOption<'a>;

    fn next(&mut self) -> Option<RawOption<'a>> {
        let (&number, rest) = self.rest.split_first()?;
        self.rest = rest;
        if number < 32 {
            let option = match number {
                number::PADDING => DccpOption::Padding,
                number::MANDATORY => DccpOption::Mandatory,
                number::SLOW_RECEIVER => DccpOption::SlowReceiver,
                _ => DccpOption::Unknown { number, value: &[] },
            };
            return Some(RawOption { number, value: &[], option });
        }
        let split = rest
            .split_first()
            .and_then(|(&len, rest)| rest.split_at_checked(usize::from(len).checked_sub(2)?));
        let Some((value, rest)) = split else {
            self.rest = &[];
            return None;
        };
        self.rest = rest;
        Some(RawOption { number, value, option: DccpOption::read(number, value) })
    }
}

impl FusedIterator for Options<'_> {}
