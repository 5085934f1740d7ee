//! Expressions as trees. Chains of one operator are flat, so that the depth of a tree is bounded by
//! the depth of its brackets (see [`DEPTH_MAX`](super::DEPTH_MAX)) and walking it may recurse.

use super::Pattern;
use crate::shared::options::Field;

/// What is true or false of a message: a `test`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    /// `a == b`: the same octets.
    Equal(Box<Text>, Box<Text>),
    /// `.exists`: the message has it.
    Exists(Term),
    /// `member('name')`: the message is in a class.
    Member(String),
    /// `match('expression', text)`: the regular expression matches the whole text.
    Matches(Pattern, Box<Text>),
    /// `not`.
    Not(Box<Condition>),
    /// `and`, two or more: what follows a false one is not looked at. With `strict`, `sand`: all are
    /// looked at, so that an error in any makes the whole an error.
    All {
        /// The operands.
        parts: Vec<Condition>,
        /// `sand`.
        strict: bool,
    },
    /// `or`, two or more: what follows a true one is not looked at. With `strict`, `sor`.
    Any {
        /// The operands.
        parts: Vec<Condition>,
        /// `sor`.
        strict: bool,
    },
}

/// A string of octets made from a message: a `template-test`, or an operand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Text {
    /// A string, hexadecimal digits, an integer in four octets or an address.
    Literal(Vec<u8>),
    /// What the message has there; empty when it has nothing.
    Value(Term),
    /// `concat(a, b)` and `a + b`, two or more.
    Concat(Vec<Text>),
    /// `substring(text, start, length)`.
    Substring {
        /// The text.
        of: Box<Text>,
        /// Counted from 0; from the end when negative.
        start: i32,
        /// Octets; `None` for `all`; octets before `start` when negative.
        length: Option<i32>,
    },
    /// `split(text, delimiters, field)`.
    Split {
        /// The text.
        of: Box<Text>,
        /// Each octet of this delimits; nothing is split when it is empty.
        delimiters: Box<Text>,
        /// Which field, from 1.
        field: i32,
    },
    /// A function of one text.
    Convert(Conversion, Box<Text>),
    /// `hexstring(text, separator)`.
    Hex {
        /// The text.
        of: Box<Text>,
        /// What stands between the octets.
        separator: Box<Text>,
    },
    /// `ifelse(condition, a, b)`: only the text that is taken is looked at. With `strict`, `sifelse`:
    /// both are.
    Choice {
        /// Which.
        condition: Box<Condition>,
        /// The text when it is true.
        then: Box<Text>,
        /// The text when it is false.
        otherwise: Box<Text>,
        /// `sifelse`.
        strict: bool,
    },
}

/// A function of one text. Those to text keep an empty text and are an error when the length is
/// wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Conversion {
    /// `lcase`, of ASCII letters.
    Lower,
    /// `ucase`, of ASCII letters.
    Upper,
    /// `addrtotext`, of 4 or 16 octets.
    Address,
    /// `int8totext`.
    I8,
    /// `int16totext`.
    I16,
    /// `int32totext`.
    I32,
    /// `uint8totext`.
    U8,
    /// `uint16totext`.
    U16,
    /// `uint32totext`.
    U32,
}

/// Something that a message may have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Term {
    /// `option[1].option[2]`, and in DHCPv4 `relay4[2]`, which is `option[82].option[2]`.
    Option(Path),
    /// `relay6[n].option[2]`: an option of one relay agent.
    RelayOption {
        /// 0 is the agent next to the server, -1 the one next to the client.
        level: i8,
        /// The option in it.
        path: Path,
    },
    /// `vendor[e]`, `vendor[e].option[2]`: vendor options (125 of DHCPv4, 17 of DHCPv6).
    Vendor {
        /// The enterprise number; `None` is any.
        enterprise: Option<u32>,
        /// The option in them, `None` when they are only asked whether they exist.
        path: Option<Path>,
    },
    /// `vendor.enterprise`: four octets.
    VendorEnterprise,
    /// `vendor-class[e]`, whether it exists (124 of DHCPv4, 16 of DHCPv6).
    VendorClass {
        /// The enterprise number; `None` is any.
        enterprise: Option<u32>,
    },
    /// `vendor-class.enterprise`: four octets.
    VendorClassEnterprise,
    /// `vendor-class[e].data[n]`.
    VendorClassData {
        /// The enterprise number; `None` is any.
        enterprise: Option<u32>,
        /// Which piece, from 0.
        index: u8,
    },
    /// `pkt.`: how the message came in.
    Packet(PacketField),
    /// `pkt4.`: a field of the message.
    Field4(Field4),
    /// `pkt6.`: a field of the message.
    Field6(Field6),
    /// `relay6[n].peeraddr`, `relay6[n].linkaddr`.
    RelayAddress {
        /// 0 is the agent next to the server, -1 the one next to the client.
        level: i8,
        /// `peeraddr` rather than `linkaddr`.
        peer: bool,
    },
}

/// The way to an option, from the outermost.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Path {
    /// Codes.
    pub codes: Vec<u16>,
    /// What is taken of the last option.
    pub form: Form,
}

/// How the value of an option is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Its octets.
    Octets,
    /// Those of an option of characters: zeros at the end do not count, and one without anything
    /// else counts as not sent, as in Kea.
    Characters,
    /// `.text` of an option that is not of characters, as Kea prints it.
    Printed(Print),
}

/// Text that Kea makes of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Print {
    /// `type=061, len=004: 01:02:03:04`, with the characters behind it when all can be printed: of
    /// binary options, and here also of records, tuples, vendors' options and associations, which Kea
    /// prints otherwise.
    Octets,
    /// `type=051, len=004: 3600 (uint32)`: numbers, addresses, booleans or a name.
    Values {
        /// Type of the values.
        field: Field,
        /// Whether there may be several.
        is_array: bool,
    },
    /// DHCPv4 option 81: flags and name.
    ClientFqdn4,
    /// DHCPv6 option 39: flags and name.
    ClientFqdn6,
}

/// `pkt.`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PacketField {
    /// `iface`: name of the interface that it came through.
    Interface,
    /// `src`: address that it came from, 4 or 16 octets.
    Source,
    /// `dst`: address that it was sent to.
    Destination,
    /// `len`: octets of the datagram, in four octets.
    Length,
}

/// `pkt4.`; numbers have four octets, whatever they have in the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field4 {
    /// `mac`.
    HardwareAddress,
    /// `hlen`.
    HardwareLength,
    /// `htype`.
    HardwareType,
    /// `ciaddr`.
    Ciaddr,
    /// `giaddr`.
    Giaddr,
    /// `yiaddr`.
    Yiaddr,
    /// `siaddr`.
    Siaddr,
    /// `msgtype`.
    MessageType,
    /// `transid`.
    TransactionId,
}

/// `pkt6.`, four octets each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field6 {
    /// `msgtype`.
    MessageType,
    /// `transid`.
    TransactionId,
}
