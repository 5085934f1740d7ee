//! Text of expression trees, with brackets around all parts that could need them.

use dhcp_config::expression::{
    Condition, Conversion, Field4, Field6, OptionPath, OptionValueForm, PacketField, Term,
    TextExpression,
};

fn joined(parts: impl Iterator<Item = String>, between: &str) -> String {
    parts.collect::<Vec<_>>().join(between)
}

pub(crate) fn condition(condition: &Condition) -> String {
    match condition {
        Condition::Equal(left, right) => format!("({}) == {}", text(left), text(right)),
        Condition::Exists(term) => spell_term(term, true),
        Condition::Member(name) => format!("member('{name}')"),
        Condition::Matches(pattern, of) => format!("match('{}', {})", pattern.source(), text(of)),
        Condition::Not(inner) => format!("not ({})", self::condition(inner)),
        Condition::All { parts, strict } => {
            let parts = parts.iter().map(|part| format!("({})", self::condition(part)));
            joined(parts, if *strict { " sand " } else { " and " })
        }
        Condition::Any { parts, strict } => {
            let parts = parts.iter().map(|part| format!("({})", self::condition(part)));
            joined(parts, if *strict { " sor " } else { " or " })
        }
    }
}

pub(crate) fn text(text: &TextExpression) -> String {
    let inner = |of: &TextExpression| self::text(of);
    match text {
        TextExpression::Literal(octets) => literal(octets),
        TextExpression::Value(term) => spell_term(term, false),
        TextExpression::Concat(parts) => {
            joined(parts.iter().map(|part| format!("({})", inner(part))), "+")
        }
        TextExpression::Substring { of, start, length: None } => {
            format!("substring({}, {start}, all)", inner(of))
        }
        TextExpression::Substring { of, start, length: Some(length) } => {
            format!("substring({},{start} , {length})", inner(of))
        }
        TextExpression::Split { of, delimiters, field } => {
            format!("split({}, {}, {field})", inner(of), inner(delimiters))
        }
        TextExpression::Convert(conversion, of) => {
            let name = match conversion {
                Conversion::Lower => "lcase",
                Conversion::Upper => "ucase",
                Conversion::Address => "addrtotext",
                Conversion::I8 => "int8totext",
                Conversion::I16 => "int16totext",
                Conversion::I32 => "int32totext",
                Conversion::U8 => "uint8totext",
                Conversion::U16 => "uint16totext",
                Conversion::U32 => "uint32totext",
            };
            format!("{name}({})", inner(of))
        }
        TextExpression::Hex { of, separator } => {
            format!("hexstring({}, {})", inner(of), inner(separator))
        }
        TextExpression::Choice { condition, then, otherwise, strict } => {
            let name = if *strict { "sifelse" } else { "ifelse" };
            let condition = self::condition(condition);
            format!("{name}({condition}, {}, {})", inner(then), inner(otherwise))
        }
    }
}

fn literal(octets: &[u8]) -> String {
    match octets {
        &[a, b, c, d] => format!("{a}.{b}.{c}.{d}"),
        _ if octets.is_empty() => "''".to_owned(),
        _ if octets.iter().all(|octet| (b' '..=b'~').contains(octet) && *octet != b'\'') => {
            format!("'{}'", String::from_utf8_lossy(octets))
        }
        _ => {
            let digits: String = octets.iter().map(|octet| format!("{octet:02X}")).collect();
            // The number of digits is odd if the first one is zero.
            format!("0x{}", digits.strip_prefix('0').unwrap_or(&digits))
        }
    }
}

fn spell_term(term: &Term, exists: bool) -> String {
    let enterprise = |number: &Option<u32>| number.map_or("*".to_owned(), |n| n.to_string());
    let ended = |start: String, path: &OptionPath, skip: usize| {
        let codes = path.codes.iter().skip(skip).map(|code| format!(".option[{code}]"));
        let codes: String = codes.collect();
        let end = match path.form {
            _ if exists => "exists",
            OptionValueForm::Printed(_) => "text",
            OptionValueForm::Octets | OptionValueForm::Characters => "hex",
        };
        format!("{start}{codes}.{end}").trim_start_matches('.').to_owned()
    };
    match term {
        Term::Option(path) if path.codes[0] == 82 && path.codes.len() > 1 => {
            ended(format!("relay4[{}]", path.codes[1]), path, 2)
        }
        Term::Option(path) => ended(String::new(), path, 0),
        Term::RelayOption { level, path } => ended(format!("relay6[{level}]"), path, 0),
        Term::Vendor { enterprise: number, path: None } => {
            format!("vendor[{}].exists", enterprise(number))
        }
        Term::Vendor { enterprise: number, path: Some(path) } => {
            ended(format!("vendor[{}]", enterprise(number)), path, 0)
        }
        Term::VendorEnterprise => "vendor.enterprise".to_owned(),
        Term::VendorClass { enterprise: number } => {
            format!("vendor-class[{}].exists", enterprise(number))
        }
        Term::VendorClassEnterprise => "vendor-class.enterprise".to_owned(),
        Term::VendorClassData { enterprise: number, index: 0 } => {
            format!("vendor-class[{}].data", enterprise(number))
        }
        Term::VendorClassData { enterprise: number, index } => {
            format!("vendor-class[{}].data[{index}]", enterprise(number))
        }
        Term::Packet(field) => format!(
            "pkt.{}",
            match field {
                PacketField::Interface => "iface",
                PacketField::Source => "src",
                PacketField::Destination => "dst",
                PacketField::Length => "len",
            }
        ),
        Term::Field4(field) => format!(
            "pkt4.{}",
            match field {
                Field4::HardwareAddress => "mac",
                Field4::HardwareLength => "hlen",
                Field4::HardwareType => "htype",
                Field4::Ciaddr => "ciaddr",
                Field4::Giaddr => "giaddr",
                Field4::Yiaddr => "yiaddr",
                Field4::Siaddr => "siaddr",
                Field4::MessageType => "msgtype",
                Field4::TransactionId => "transid",
            }
        ),
        Term::Field6(Field6::MessageType) => "pkt6.msgtype".to_owned(),
        Term::Field6(Field6::TransactionId) => "pkt6.transid".to_owned(),
        Term::RelayAddress { level, peer: true } => format!("relay6[{level}].peeraddr"),
        Term::RelayAddress { level, peer: false } => format!("relay6[{level}].linkaddr"),
    }
}
