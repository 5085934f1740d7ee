//! Expressions as trees. Chains of one operator are flat, so that the depth of a tree is bounded by
//! the depth of its brackets (see [`DEPTH_MAX`](super::DEPTH_MAX)) and walking it may recurse.

use super::Pattern;
use crate::shared::options::definition::Field;

/// Expression that is true or false for a message: a `test`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    /// `a == b`: true if both have the same bytes.
    Equal(Box<TextExpression>, Box<TextExpression>),
    /// `.exists`: true if the message has the term.
    Exists(Term),
    /// `member('name')`: true if the message is in the class.
    Member(String),
    /// `match('expression', text)`: true if the regular expression matches the whole text.
    Matches(Pattern, Box<TextExpression>),
    /// `not`.
    Not(Box<Condition>),
    /// `and`, two or more: operands after a false one are not evaluated. With `strict`, `sand`: all
    /// are evaluated, so that an error in any makes the whole an error.
    All {
        /// Operands of the operator.
        parts: Vec<Condition>,
        /// True for `sand`.
        strict: bool,
    },
    /// `or`, two or more: operands after a true one are not evaluated. With `strict`, `sor`.
    Any {
        /// Operands of the operator.
        parts: Vec<Condition>,
        /// True for `sor`.
        strict: bool,
    },
}

/// String of bytes made from a message: a `template-test`, or an operand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TextExpression {
    /// String, hexadecimal digits, an integer in four bytes or an address.
    Literal(Vec<u8>),
    /// Value of the term in the message; empty when the message has none.
    Value(Term),
    /// `concat(a, b)` and `a + b`, two or more.
    Concat(Vec<TextExpression>),
    /// `substring(text, start, length)`.
    Substring {
        /// Text to take a part of.
        of: Box<TextExpression>,
        /// Start, counted from 0; from the end when negative.
        start: i32,
        /// Number of bytes; `None` for `all`; bytes before `start` when negative.
        length: Option<i32>,
    },
    /// `split(text, delimiters, field)`.
    Split {
        /// Text to split.
        of: Box<TextExpression>,
        /// Bytes each of which delimits; the text is not split when this is empty.
        delimiters: Box<TextExpression>,
        /// Number of the field, from 1.
        field: i32,
    },
    /// Function of one text.
    Convert(Conversion, Box<TextExpression>),
    /// `hexstring(text, separator)`.
    Hex {
        /// Text to print.
        of: Box<TextExpression>,
        /// Separator between the bytes.
        separator: Box<TextExpression>,
    },
    /// `ifelse(condition, a, b)`: only the chosen text is evaluated. With `strict`, `sifelse`: both
    /// are.
    Choice {
        /// Condition that chooses.
        condition: Box<Condition>,
        /// Text when the condition is true.
        then: Box<TextExpression>,
        /// Text when the condition is false.
        otherwise: Box<TextExpression>,
        /// True for `sifelse`.
        strict: bool,
    },
}

/// Function of one text. The conversions to text keep an empty text and are an error when the
/// length is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Conversion {
    /// `lcase`, for ASCII letters.
    Lower,
    /// `ucase`, for ASCII letters.
    Upper,
    /// `addrtotext`, for 4 or 16 bytes.
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

/// Term whose value a message may have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Term {
    /// `option[1].option[2]`, and in DHCPv4 `relay4[2]`, which is `option[82].option[2]`.
    Option(OptionPath),
    /// `relay6[n].option[2]`: an option of one relay agent.
    RelayOption {
        /// Relay agent: 0 is the agent next to the server, -1 the one next to the client.
        level: i8,
        /// Path to the option in the relay agent's message.
        path: OptionPath,
    },
    /// `vendor[e]`, `vendor[e].option[2]`: vendor options (125 of DHCPv4, 17 of DHCPv6).
    Vendor {
        /// Enterprise number; `None` is any.
        enterprise: Option<u32>,
        /// Path to the option in the vendor options; `None` to test that they exist.
        path: Option<OptionPath>,
    },
    /// `vendor.enterprise`: four bytes.
    VendorEnterprise,
    /// `vendor-class[e]`, to test that it exists (124 of DHCPv4, 16 of DHCPv6).
    VendorClass {
        /// Enterprise number; `None` is any.
        enterprise: Option<u32>,
    },
    /// `vendor-class.enterprise`: four bytes.
    VendorClassEnterprise,
    /// `vendor-class[e].data[n]`.
    VendorClassData {
        /// Enterprise number; `None` is any.
        enterprise: Option<u32>,
        /// Number of the piece of data, from 0.
        index: u8,
    },
    /// `pkt.`: how the message was received.
    Packet(PacketField),
    /// `pkt4.`: a field of the message.
    Field4(Field4),
    /// `pkt6.`: a field of the message.
    Field6(Field6),
    /// `relay6[n].peeraddr`, `relay6[n].linkaddr`.
    RelayAddress {
        /// Relay agent: 0 is the agent next to the server, -1 the one next to the client.
        level: i8,
        /// True for `peeraddr`, false for `linkaddr`.
        peer: bool,
    },
}

/// Path to an option, from the outermost.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OptionPath {
    /// Option codes.
    pub codes: Vec<u16>,
    /// Part of the last option that the expression uses.
    pub form: OptionValueForm,
}

/// Form in which the value of an option is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OptionValueForm {
    /// Bytes of the option.
    Octets,
    /// Bytes of a character option: zeros at the end do not count, and an option of nothing but
    /// zeros counts as not sent, as in Kea.
    Characters,
    /// `.text` of an option that does not hold characters, as Kea prints it.
    Printed(Print),
}

/// Text that Kea prints for an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Print {
    /// `type=061, len=004: 01:02:03:04`, followed by the characters when all are printable: for
    /// binary options, and here also for records, tuples, vendors' options and associations, which
    /// Kea prints otherwise.
    Octets,
    /// `type=051, len=004: 3600 (uint32)`: numbers, addresses, booleans or a name.
    Values {
        /// Type of the values.
        field: Field,
        /// True if the option may have several values.
        is_array: bool,
    },
    /// DHCPv4 option 81: flags and name.
    ClientFqdn4,
    /// DHCPv6 option 39: flags and name.
    ClientFqdn6,
}

/// Field of `pkt.`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PacketField {
    /// `iface`: name of the interface at which the message was received.
    Interface,
    /// `src`: source address, 4 or 16 bytes.
    Source,
    /// `dst`: destination address.
    Destination,
    /// `len`: length of the datagram in bytes, as a number of four bytes.
    Length,
}

/// Field of `pkt4.`; numbers have four bytes, also when they have fewer in the message.
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

/// Field of `pkt6.`, four bytes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field6 {
    /// `msgtype`.
    MessageType,
    /// `transid`.
    TransactionId,
}
