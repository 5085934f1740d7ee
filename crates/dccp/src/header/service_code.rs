//! Service codes: numbers of the services that DCCP connections are for (RFC 4340 §8.1.2,
//! RFC 5595).

use core::fmt;
use core::str::FromStr;

/// Service code of a connection: 32 bits that name an application-level service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceCode(u32);

impl ServiceCode {
    /// Service code of a connection that names no service.
    pub const NONE: Self = Self(0);
    /// Service code that may not be used: a server always refuses a Request with it.
    pub const INVALID: Self = Self(u32::MAX);

    /// Returns the service code with this value.
    pub const fn new(value: u32) -> Self {
        Self(value)
    }

    /// Returns the service code as a number.
    pub const fn value(self) -> u32 {
        self.0
    }

    fn is_letter(octet: u8) -> bool {
        octet.is_ascii_alphanumeric() || b"-_+.*/?@ ".contains(&octet)
    }
}

/// Text form of a service code: `SC:` and four characters if the code is text, otherwise `SC=` and
/// a decimal number.
impl fmt::Display for ServiceCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let octets = self.0.to_be_bytes();
        let text = core::str::from_utf8(&octets).unwrap_or("").trim_end_matches(' ');
        if !text.is_empty() && !text.contains(' ') && octets.into_iter().all(Self::is_letter) {
            write!(f, "SC:{text}")
        } else {
            write!(f, "SC={}", self.0)
        }
    }
}

/// Error: a text is not a service code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAServiceCode;

impl fmt::Display for NotAServiceCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a service code is SC:abcd, SC=number, SC=xHEX or a number")
    }
}

impl core::error::Error for NotAServiceCode {}

impl FromStr for ServiceCode {
    type Err = NotAServiceCode;

    /// Reads a service code from one of the three text forms of RFC 4340 §8.1.2, or from a decimal
    /// number.
    fn from_str(text: &str) -> Result<Self, NotAServiceCode> {
        if let Some(letters) = text.strip_prefix("SC:") {
            let mut octets = [b' '; 4];
            let letters = letters.as_bytes();
            if !(1..=4).contains(&letters.len()) || !letters.iter().all(|&l| Self::is_letter(l)) {
                return Err(NotAServiceCode);
            }
            octets[..letters.len()].copy_from_slice(letters);
            return Ok(Self(u32::from_be_bytes(octets)));
        }
        let number = text.strip_prefix("SC=").unwrap_or(text);
        let parsed = match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => number.parse(),
        };
        parsed.map(Self).map_err(|_| NotAServiceCode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_the_forms_of_section_8_1_2() {
        let fdpz = ServiceCode::new(1_717_858_426);
        for text in ["SC:fdpz", "SC=1717858426", "SC=x6664707A", "1717858426"] {
            assert_eq!(text.parse(), Ok(fdpz), "{text}");
        }
        assert_eq!(fdpz.to_string(), "SC:fdpz");
        assert_eq!("SC:LTP".parse(), Ok(ServiceCode::new(1_280_593_952)));
        assert_eq!(ServiceCode::new(1_280_593_952).to_string(), "SC:LTP");
        assert_eq!(ServiceCode::NONE.to_string(), "SC=0");
        for text in ["SC:", "SC:abcde", "SC:a!", "SC=", "SC=xg", "SC=4294967296", "x"] {
            assert_eq!(text.parse::<ServiceCode>(), Err(NotAServiceCode), "{text}");
        }
    }
}
