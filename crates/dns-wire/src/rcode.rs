//! DNS response codes (RFC 1035 section 4.1.1, RFC 6895 section 2.3).

use core::fmt;
use core::str::FromStr;

/// DNS response code of twelve bits, the upper eight from EDNS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rcode(pub u16);

/// DNS response codes that have a name, as number and mnemonic. 16 is BADVERS, as in an OPT record
/// (BADSIG shares it).
const NAMES: [(u16, &str); 19] = [
    (0, "NOERROR"),
    (1, "FORMERR"),
    (2, "SERVFAIL"),
    (3, "NXDOMAIN"),
    (4, "NOTIMP"),
    (5, "REFUSED"),
    (6, "YXDOMAIN"),
    (7, "YXRRSET"),
    (8, "NXRRSET"),
    (9, "NOTAUTH"),
    (10, "NOTZONE"),
    (11, "DSOTYPENI"),
    (16, "BADVERS"),
    (17, "BADKEY"),
    (18, "BADTIME"),
    (19, "BADMODE"),
    (20, "BADNAME"),
    (21, "BADALG"),
    (23, "BADCOOKIE"),
];

impl Rcode {
    /// Response code NOERROR (RFC 1035 section 4.1.1): no error in the query or the server.
    pub const NOERROR: Self = Self(0);
    /// Response code SERVFAIL (RFC 1035 section 4.1.1): the server failed.
    pub const SERVFAIL: Self = Self(2);
    /// Response code NXDOMAIN (RFC 1035 section 4.1.1): the name does not exist.
    pub const NXDOMAIN: Self = Self(3);
    /// Response code REFUSED (RFC 1035 section 4.1.1): the server refuses to answer.
    pub const REFUSED: Self = Self(5);
    /// Number of DNS response codes: one more than the highest code of twelve bits.
    pub const COUNT: usize = 1 << 12;

    /// Returns the mnemonic of the response code, such as `NXDOMAIN`; `None` when it has none.
    pub fn name(self) -> Option<&'static str> {
        NAMES.iter().find(|(code, _)| *code == self.0).map(|(_, name)| *name)
    }
}

impl fmt::Display for Rcode {
    /// Writes the mnemonic of the response code, or `RCODE` and the number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "RCODE{}", self.0),
        }
    }
}

impl FromStr for Rcode {
    type Err = &'static str;

    /// Parses a response code from a mnemonic in any case, or a number below 4096, with or without
    /// `RCODE` before it.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some((code, _)) = NAMES.iter().find(|(_, name)| name.eq_ignore_ascii_case(text)) {
            return Ok(Self(*code));
        }
        let digits = match text.split_at_checked(5) {
            Some((head, tail)) if head.eq_ignore_ascii_case("RCODE") => tail,
            _ => text,
        };
        let number = digits.parse().ok().filter(|&number: &u16| usize::from(number) < Self::COUNT);
        number.map(Self).ok_or(
            "invalid response code: must be a mnemonic like SERVFAIL, or a number up to 4095",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn names_and_numbers_go_both_ways() {
        for number in 0..Rcode::COUNT as u16 {
            assert_eq!(Rcode(number).to_string().parse(), Ok(Rcode(number)));
        }
        assert_eq!("servfail".parse(), Ok(Rcode::SERVFAIL));
        assert_eq!("5".parse(), Ok(Rcode::REFUSED));
        for wrong in ["", "4096", "RCODE4096", "NOPE", "-1", "RCODE"] {
            assert!(wrong.parse::<Rcode>().is_err(), "{wrong}");
        }
    }
}
