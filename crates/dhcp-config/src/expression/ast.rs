//! Expressions of client classes as trees. Chains of one operator are flat, so that the depth of a
//! tree is bounded by the depth of its brackets (see [`DEPTH_MAX`](super::DEPTH_MAX)) and walking
//! it may recurse.

use super::Pattern;
use crate::shared::options::definition::Field;

/// Expression that is true or false for a message: the `test` of a client class.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    /// Comparison `a == b`: true if both texts have the same bytes.
    Equal(Box<TextExpression>, Box<TextExpression>),
    /// Test `.exists`: true if the message has the term.
    Exists(Term),
    /// Test `member('name')`: true if the message is in the class `name`.
    Member(String),
    /// Test `match('expression', text)`: true if the regular expression matches the whole text.
    Matches(Pattern, Box<TextExpression>),
    /// Negation `not`: true if the condition is false.
    Not(Box<Condition>),
    /// Operator `and` with two or more operands: operands after a false one are not evaluated. With
    /// `strict` it is `sand`, which evaluates all, so that an error in any makes the whole an
    /// error.
    All {
        /// Operands of the operator `and` or `sand`.
        parts: Vec<Condition>,
        /// True for `sand`, which evaluates all operands.
        strict: bool,
    },
    /// Operator `or` with two or more operands: operands after a true one are not evaluated. With
    /// `strict` it is `sor`, which evaluates all.
    Any {
        /// Operands of the operator `or` or `sor`.
        parts: Vec<Condition>,
        /// True for `sor`, which evaluates all operands.
        strict: bool,
    },
}

/// Expression whose value is a string of bytes made from a message: a `template-test`, or an
/// operand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TextExpression {
    /// Constant: a string, hexadecimal digits, an integer in four bytes or an address.
    Literal(Vec<u8>),
    /// Value of a term in the message; empty when the message has none.
    Value(Term),
    /// Concatenation `concat(a, b)` or `a + b` of two or more texts.
    Concat(Vec<TextExpression>),
    /// Function `substring(text, start, length)`: a part of a text.
    Substring {
        /// Text that `substring` takes a part of.
        of: Box<TextExpression>,
        /// Start of the part in bytes, counted from 0; from the end when negative.
        start: i32,
        /// Number of bytes of the part; `None` for `all`; bytes before `start` when negative.
        length: Option<i32>,
    },
    /// Function `split(text, delimiters, field)`: one field of a text.
    Split {
        /// Text that `split` splits.
        of: Box<TextExpression>,
        /// Bytes each of which delimits fields; the text is not split when this is empty.
        delimiters: Box<TextExpression>,
        /// Number of the field that `split` returns, from 1.
        field: i32,
    },
    /// Function of one text, such as `lcase(text)`.
    Convert(Conversion, Box<TextExpression>),
    /// Function `hexstring(text, separator)`: the bytes of a text in hexadecimal digits.
    Hex {
        /// Text whose bytes `hexstring` prints.
        of: Box<TextExpression>,
        /// Separator that `hexstring` prints between bytes.
        separator: Box<TextExpression>,
    },
    /// Choice `ifelse(condition, a, b)` between two texts: only the chosen text is evaluated. With
    /// `strict` it is `sifelse`, which evaluates both.
    Choice {
        /// Condition that chooses between the texts.
        condition: Box<Condition>,
        /// Text that is chosen when the condition is true.
        then: Box<TextExpression>,
        /// Text that is chosen when the condition is false.
        otherwise: Box<TextExpression>,
        /// True for `sifelse`, which evaluates both texts.
        strict: bool,
    },
}

/// Function of one text in an expression. The conversions to text keep an empty text and are an
/// error when the length is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Conversion {
    /// Function `lcase`: ASCII letters to lower case.
    Lower,
    /// Function `ucase`: ASCII letters to upper case.
    Upper,
    /// Function `addrtotext`: an address of 4 or 16 bytes to text.
    Address,
    /// Function `int8totext`: a signed byte to decimal text.
    I8,
    /// Function `int16totext`: two bytes, a signed number, to decimal text.
    I16,
    /// Function `int32totext`: four bytes, a signed number, to decimal text.
    I32,
    /// Function `uint8totext`: a byte to decimal text.
    U8,
    /// Function `uint16totext`: two bytes, an unsigned number, to decimal text.
    U16,
    /// Function `uint32totext`: four bytes, an unsigned number, to decimal text.
    U32,
}

/// Term of an expression whose value a message may have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Term {
    /// Option `option[1].option[2]`, and in DHCPv4 `relay4[2]`, which is `option[82].option[2]`.
    Option(OptionPath),
    /// Option of one DHCPv6 relay agent: `relay6[n].option[2]`.
    RelayOption {
        /// Number of the relay agent: 0 is the agent next to the server, -1 the one next to the
        /// client.
        level: i8,
        /// Path to the option in the relay agent's message.
        path: OptionPath,
    },
    /// Vendor options `vendor[e]` or `vendor[e].option[2]` (option 125 of DHCPv4, 17 of DHCPv6).
    Vendor {
        /// Enterprise number of the vendor options; `None` is any.
        enterprise: Option<u32>,
        /// Path to the option in the vendor options; `None` to test that they exist.
        path: Option<OptionPath>,
    },
    /// Enterprise number of the vendor options, four bytes: `vendor.enterprise`.
    VendorEnterprise,
    /// Vendor class `vendor-class[e]`, to test that it exists (option 124 of DHCPv4, 16 of DHCPv6).
    VendorClass {
        /// Enterprise number of the vendor class; `None` is any.
        enterprise: Option<u32>,
    },
    /// Enterprise number of the vendor class, four bytes: `vendor-class.enterprise`.
    VendorClassEnterprise,
    /// Piece of data of the vendor class: `vendor-class[e].data[n]`.
    VendorClassData {
        /// Enterprise number of the vendor class; `None` is any.
        enterprise: Option<u32>,
        /// Number of the piece of data in the vendor class, from 0.
        index: u8,
    },
    /// Property of the message's reception: `pkt.`.
    Packet(PacketField),
    /// Field of the DHCPv4 message: `pkt4.`.
    Field4(Field4),
    /// Field of the DHCPv6 message: `pkt6.`.
    Field6(Field6),
    /// Address in a DHCPv6 relay agent's message: `relay6[n].peeraddr` or `relay6[n].linkaddr`.
    RelayAddress {
        /// Number of the relay agent: 0 is the agent next to the server, -1 the one next to the
        /// client.
        level: i8,
        /// True for the peer address (`peeraddr`), false for the link address (`linkaddr`).
        peer: bool,
    },
}

/// Path to an option within options, from the outermost.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OptionPath {
    /// Option codes of the path, the outermost first.
    pub codes: Vec<u16>,
    /// Form in which the expression reads the value of the last option.
    pub form: OptionValueForm,
}

/// Form in which an expression reads the value of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OptionValueForm {
    /// Bytes of the option's value.
    Octets,
    /// Bytes of a character option: zeros at the end do not count, and an option of nothing but
    /// zeros counts as not sent, as in Kea.
    Characters,
    /// Text of an option that does not hold characters, as Kea prints it (`.text`).
    Printed(Print),
}

/// Format of the text that Kea prints for an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Print {
    /// Bytes in hexadecimal, `type=061, len=004: 01:02:03:04`, followed by the characters when all
    /// are printable: for binary options, and here also for records, tuples, vendors' options and
    /// associations, which Kea prints otherwise.
    Octets,
    /// Values of one type, `type=051, len=004: 3600 (uint32)`: numbers, addresses, booleans or a
    /// name.
    Values {
        /// Type of the option's values.
        field: Field,
        /// True if the option may have several values of the type.
        is_array: bool,
    },
    /// Flags and name of the client's FQDN option in DHCPv4, option 81.
    ClientFqdn4,
    /// Flags and name of the client's FQDN option in DHCPv6, option 39.
    ClientFqdn6,
}

/// Property of a message's reception: a field of `pkt.`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PacketField {
    /// Name of the interface at which the server received the message (`iface`).
    Interface,
    /// Source address of the message, 4 or 16 bytes (`src`).
    Source,
    /// Destination address of the message, 4 or 16 bytes (`dst`).
    Destination,
    /// Length of the message's datagram in bytes, as a number of four bytes (`len`).
    Length,
}

/// Field of a DHCPv4 message: `pkt4.`; numbers have four bytes, also when they have fewer in the
/// message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field4 {
    /// Hardware address of the client, `chaddr` (`mac`).
    HardwareAddress,
    /// Length of the hardware address, `hlen`.
    HardwareLength,
    /// Hardware type of the client, `htype`.
    HardwareType,
    /// Client's own address, `ciaddr`.
    Ciaddr,
    /// Relay agent's address, `giaddr`.
    Giaddr,
    /// Address for the client, `yiaddr`.
    Yiaddr,
    /// Next server's address, `siaddr`.
    Siaddr,
    /// DHCPv4 message type (`msgtype`).
    MessageType,
    /// DHCPv4 transaction identifier, `xid` (`transid`).
    TransactionId,
}

/// Field of a DHCPv6 message: `pkt6.`, four bytes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field6 {
    /// DHCPv6 message type (`msgtype`).
    MessageType,
    /// DHCPv6 transaction identifier (`transid`).
    TransactionId,
}
