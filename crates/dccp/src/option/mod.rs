//! Options of DCCP packets: an iterator to read them, a writer (RFC 4340 §5.8 and, for CCID 3,
//! RFC 4342 §8).
//!
//! [`DccpOptionIterator`] follows the rules that hold for every option. An impossible length ends
//! the list. A known option with a wrong length is returned as [`DccpOption::Unknown`]; it has no
//! effect unless it is Mandatory. The module that uses an option interprets its value.

mod elapsed;
mod write;

use core::iter::FusedIterator;

use crate::header::PacketType;

pub use elapsed::{ELAPSED_MAX_10US, elapsed_10us, elapsed_ns};
pub use write::DccpOptionWriter;

/// Types of DCCP options (RFC 4340 §5.8, Table 3).
pub mod number {
    /// Option Padding: one byte without meaning (RFC 4340 §5.8.1).
    pub const PADDING: u8 = 0;
    /// Option Mandatory: the receiver must understand the next option (RFC 4340 §5.8.2).
    pub const MANDATORY: u8 = 1;
    /// Option Slow Receiver: the receiver cannot keep up with the sender (RFC 4340 §11.6).
    pub const SLOW_RECEIVER: u8 = 2;
    /// Option Change L: request for a value of a feature of the end that sends the option (RFC 4340
    /// §6.1).
    pub const CHANGE_L: u8 = 32;
    /// Option Confirm L: answer to an option Change R (RFC 4340 §6.2).
    pub const CONFIRM_L: u8 = 33;
    /// Option Change R: request for a value of a feature of the end that receives the option (RFC
    /// 4340 §6.1).
    pub const CHANGE_R: u8 = 34;
    /// Option Confirm R: answer to an option Change L (RFC 4340 §6.2).
    pub const CONFIRM_R: u8 = 35;
    /// Option Init Cookie: state that a server stores at its client (RFC 4340 §8.1.4).
    pub const INIT_COOKIE: u8 = 36;
    /// Option NDP Count: length of a run of packets without data (RFC 4340 §7.7).
    pub const NDP_COUNT: u8 = 37;
    /// Option Ack Vector with ECN nonces that add up to 0 (RFC 4340 §11.4).
    pub const ACK_VECTOR_0: u8 = 38;
    /// Option Ack Vector with ECN nonces that add up to 1 (RFC 4340 §11.4).
    pub const ACK_VECTOR_1: u8 = 39;
    /// Option Data Dropped: packets whose data the receiver got and did not deliver (RFC 4340
    /// §11.7).
    pub const DATA_DROPPED: u8 = 40;
    /// Option Timestamp: time of the sender, to be echoed by the receiver (RFC 4340 §13.1).
    pub const TIMESTAMP: u8 = 41;
    /// Option Timestamp Echo: Timestamp that the receiver returns (RFC 4340 §13.3).
    pub const TIMESTAMP_ECHO: u8 = 42;
    /// Option Elapsed Time: time since the acknowledged packet arrived (RFC 4340 §13.2).
    pub const ELAPSED_TIME: u8 = 43;
    /// Option Data Checksum: a strong checksum (CRC-32C) of the data (RFC 4340 §9.3).
    pub const DATA_CHECKSUM: u8 = 44;
    /// Least type of the options of a congestion control that go from the sender of data to its
    /// receiver.
    pub const CCID_FROM_SENDER: u8 = 128;
    /// Least type of the options of a congestion control that go from the receiver of data to its
    /// sender.
    pub const CCID_FROM_RECEIVER: u8 = 192;
    /// Option Loss Event Rate of CCID 3: inverse of the loss event rate (RFC 4342 §8.5).
    pub const LOSS_EVENT_RATE: u8 = 192;
    /// Option Loss Intervals of CCID 3: lengths of the latest intervals between loss events (RFC
    /// 4342 §8.6).
    pub const LOSS_INTERVALS: u8 = 193;
    /// Option Receive Rate of CCID 3: rate at which data came in (RFC 4342 §8.3).
    pub const RECEIVE_RATE: u8 = 194;
}

/// Option of feature negotiation: Change or Confirm, L or R (RFC 4340 §6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureOption {
    /// Option Change L: request from the end that has the feature (RFC 4340 §6.1).
    ChangeL,
    /// Option Confirm L: answer from the end that has the feature (RFC 4340 §6.2).
    ConfirmL,
    /// Option Change R: request from the end that does not have the feature (RFC 4340 §6.1).
    ChangeR,
    /// Option Confirm R: answer from the end that does not have the feature (RFC 4340 §6.2).
    ConfirmR,
}

impl FeatureOption {
    /// Returns the option's type on the wire.
    pub const fn number(self) -> u8 {
        match self {
            Self::ChangeL => number::CHANGE_L,
            Self::ConfirmL => number::CONFIRM_L,
            Self::ChangeR => number::CHANGE_R,
            Self::ConfirmR => number::CONFIRM_R,
        }
    }

    /// Returns true if the feature option requests a value (Change), false if it answers a request
    /// (Confirm).
    pub const fn is_change(self) -> bool {
        matches!(self, Self::ChangeL | Self::ChangeR)
    }
}

/// One option of a DCCP packet. Numbers are in host order, times in units of 10 µs as on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DccpOption<'a> {
    /// Padding: one byte without meaning (RFC 4340 §5.8.1).
    Padding,
    /// Mandatory: the receiver must understand the next option (RFC 4340 §5.8.2).
    Mandatory,
    /// Slow Receiver: the receiver cannot keep up with the sender (RFC 4340 §11.6).
    SlowReceiver,
    /// Change or Confirm: an option of feature negotiation (RFC 4340 §6.1, §6.2).
    Feature {
        /// Kind of the feature option: Change or Confirm, L or R.
        kind: FeatureOption,
        /// Number of the feature that the option is about.
        feature: u8,
        /// Content of the feature option: one value, a value and a list, a list, or nothing.
        value: &'a [u8],
    },
    /// Init Cookie: state that a server stores at its client (RFC 4340 §8.1.4).
    InitCookie(&'a [u8]),
    /// NDP Count: length of a run of packets without data (RFC 4340 §7.7).
    NdpCount(u64),
    /// Ack Vector: packets that were received, as run lengths (RFC 4340 §11.4).
    AckVector {
        /// Parity of the ECN nonces of the packets that the Ack Vector reports as received.
        nonce: bool,
        /// Runs of packets in the Ack Vector: a state and a run length in each byte.
        runs: &'a [u8],
    },
    /// Data Dropped: packets whose data the receiver did not deliver (RFC 4340 §11.7).
    DataDropped(&'a [u8]),
    /// Timestamp: time of the sender in its own units (RFC 4340 §13.1).
    Timestamp(u32),
    /// Timestamp Echo: Timestamp that the receiver returns (RFC 4340 §13.3).
    TimestampEcho {
        /// Value of the Timestamp that the option returns.
        echo: u32,
        /// Time since the Timestamp came in units of 10 µs; 0 when the option does not include it.
        elapsed_10us: u32,
    },
    /// Elapsed Time: time since the acknowledged packet came, in units of 10 µs (RFC 4340 §13.2).
    ElapsedTime(u32),
    /// Data Checksum: CRC-32C of the application data area (RFC 4340 §9.3).
    DataChecksum(u32),
    /// Any other option, or a known one with an impossible length.
    Unknown {
        /// Type of the unknown option on the wire.
        number: u8,
        /// Bytes of the unknown option after its type and length.
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

    /// Returns true if the receiver of a Data packet must ignore the option (RFC 4340 §5.8, Table
    /// 3, column "DCCP-Data"). The options of a congestion control follow CCID 3 (RFC 4342 §8).
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

    /// Returns true if the option describes the packet that its packet acknowledges. Such an option
    /// has no meaning on a packet without an acknowledgement number.
    pub const fn needs_acknowledgement(&self) -> bool {
        matches!(self, Self::AckVector { .. } | Self::DataDropped(_) | Self::ElapsedTime(_))
    }

    /// Returns true if the option counts on a packet of this type; receivers skip the option on
    /// other packets.
    pub const fn is_for(&self, packet_type: PacketType) -> bool {
        match packet_type {
            PacketType::Data => !self.is_ignored_on_data(),
            PacketType::Request => {
                !self.needs_acknowledgement() && !matches!(self, Self::InitCookie(_))
            }
            _ => true,
        }
    }

    /// Returns the option's type on the wire, which a Reset about the option repeats.
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
    // A Change requests a value, so it has at least one (§6.1).
    (!kind.is_change() || !value.is_empty()).then_some(DccpOption::Feature { kind, feature, value })
}

fn timestamp_echo(value: &[u8]) -> Option<DccpOption<'_>> {
    let (echo, elapsed) = value.split_at_checked(4)?;
    Some(DccpOption::TimestampEcho { echo: word(echo)?, elapsed_10us: elapsed::read(elapsed)? })
}

fn word(value: &[u8]) -> Option<u32> {
    value.try_into().ok().map(u32::from_be_bytes)
}

/// Option as the packet has it, with its interpretation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawOption<'a> {
    /// Type of the option on the wire.
    pub number: u8,
    /// Bytes of the option after its type and length.
    pub value: &'a [u8],
    /// Interpretation of the option's type and value.
    pub option: DccpOption<'a>,
}

/// Iterator over the options of a packet in their order, padding included. It ends at the first
/// impossible length (RFC 4340 §5.8).
#[derive(Clone, Debug)]
pub struct DccpOptionIterator<'a> {
    rest: &'a [u8],
}

impl<'a> DccpOptionIterator<'a> {
    /// Returns an iterator over the options in the option area `area` of a packet.
    pub const fn new(area: &'a [u8]) -> Self {
        Self { rest: area }
    }
}

impl<'a> Iterator for DccpOptionIterator<'a> {
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

impl FusedIterator for DccpOptionIterator<'_> {}
