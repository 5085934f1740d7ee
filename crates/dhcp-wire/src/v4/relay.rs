//! DHCPv4 option 82, relay agent information (RFC 3046): sub-options that relay agents add to
//! clients' messages and that servers echo.

use core::net::Ipv4Addr;

use super::OptionValue;

/// DHCPv4 option 82, sub-option 1: circuit of the client (RFC 3046).
pub const CIRCUIT_ID: u8 = 1;
/// DHCPv4 option 82, sub-option 2: remote end of the circuit, at the client (RFC 3046).
pub const REMOTE_ID: u8 = 2;
/// DHCPv4 option 82, sub-option 5: address in the subnet from which the server leases, instead of
/// `giaddr` (RFC 3527).
pub const LINK_SELECTION: u8 = 5;
/// DHCPv4 option 82, sub-option 6: identifier of the subscriber, independent of the connection (RFC
/// 3993).
pub const SUBSCRIBER_ID: u8 = 6;
/// DHCPv4 option 82, sub-option 8: authentication (RFC 4030).
pub const AUTHENTICATION: u8 = 8;
/// DHCPv4 option 82, sub-option 9: information of vendors (RFC 4243).
pub const VENDOR_SPECIFIC_INFORMATION: u8 = 9;
/// DHCPv4 option 82, sub-option 10: flags of the relay agent (RFC 5010).
pub const FLAGS: u8 = 10;
/// DHCPv4 option 82, sub-option 11: address that the server sends as server identifier (option 54),
/// so that renewals pass the relay agent (RFC 5107).
pub const SERVER_IDENTIFIER_OVERRIDE: u8 = 11;
/// DHCPv4 option 82, sub-option 12: identifier of the relay agent (RFC 6925).
pub const RELAY_ID: u8 = 12;
/// DHCPv4 option 82, sub-option 19: source port of the relay agent, to which the server sends the
/// reply (RFC 8357).
pub const RELAY_SOURCE_PORT: u8 = 19;

/// Iterator over the sub-options in a DHCPv4 option 82, in order, as code and value. It ends early
/// at a sub-option that is cut off, which [`is_well_formed`] reports.
#[derive(Clone, Copy, Debug)]
pub struct SubOptions<'a> {
    value: OptionValue<'a>,
    at: usize,
}

impl<'a> SubOptions<'a> {
    /// Returns an iterator over the sub-options in `value`, the value of an option 82.
    pub const fn new(value: OptionValue<'a>) -> Self {
        Self { value, at: 0 }
    }
}

impl<'a> Iterator for SubOptions<'a> {
    type Item = (u8, OptionValue<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(octets) = self.value.as_slice() {
            let &[code, len, ref tail @ ..] = octets.get(self.at..)? else { return None };
            let value = tail.get(..usize::from(len))?;
            self.at += 2 + usize::from(len);
            return Some((code, OptionValue::from_slice(value)));
        }
        let [code, len] = self.value.range(self.at, 2)?.leading()?;
        let value = self.value.range(self.at + 2, usize::from(len))?;
        self.at += 2 + usize::from(len);
        Some((code, value))
    }
}

/// Returns true if the value of an option 82 consists of whole sub-options.
pub fn is_well_formed(value: OptionValue<'_>) -> bool {
    let mut subs = SubOptions::new(value);
    while subs.next().is_some() {}
    subs.at == value.len()
}

/// Returns the first sub-option of an option 82 that has this code; `None` when there is none.
pub fn sub_option<'a>(value: OptionValue<'a>, code: u8) -> Option<OptionValue<'a>> {
    let Some(mut rest) = value.as_slice() else { return sub_option_of_pieces(value, code) };
    while let &[found, len, ref tail @ ..] = rest {
        let (value, behind) = tail.split_at_checked(usize::from(len))?;
        if found == code {
            return Some(OptionValue::from_slice(value));
        }
        rest = behind;
    }
    None
}

#[cold]
fn sub_option_of_pieces<'a>(value: OptionValue<'a>, code: u8) -> Option<OptionValue<'a>> {
    SubOptions::new(value).find(|&(found, _)| found == code).map(|(_, value)| value)
}

/// Returns the address in the subnet from which the server is to lease (sub-option 5 of option 82,
/// RFC 3527); `None` when it does not have four bytes.
pub fn link_selection(value: OptionValue<'_>) -> Option<Ipv4Addr> {
    sub_option(value, LINK_SELECTION)?.address()
}

/// Returns the address that the server is to send as server identifier (sub-option 11 of option 82,
/// RFC 5107); `None` when it does not have four bytes.
pub fn server_identifier_override(value: OptionValue<'_>) -> Option<Ipv4Addr> {
    sub_option(value, SERVER_IDENTIFIER_OVERRIDE)?.address()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sub_options_come_in_order_until_one_is_cut_off() {
        let octets = [1, 2, b'p', b'7', 5, 4, 192, 0, 2, 0, 12, 0, 2, 3, b'x'];
        let value = OptionValue::from_slice(&octets);
        let codes: [Option<u8>; 4] = {
            let mut subs = SubOptions::new(value);
            core::array::from_fn(|_| subs.next().map(|(code, _)| code))
        };
        assert_eq!(codes, [Some(1), Some(5), Some(12), None]);
        assert!(!is_well_formed(value));
        assert!(is_well_formed(value.range(0, 12).unwrap()));
        assert!(is_well_formed(OptionValue::from_slice(&[])));
        assert!(!is_well_formed(OptionValue::from_slice(&[1])));
        assert_eq!(link_selection(value), Some(Ipv4Addr::new(192, 0, 2, 0)));
        assert_eq!(server_identifier_override(value), None);
        assert_eq!(sub_option(value, CIRCUIT_ID).unwrap(), *b"p7");
        assert!(sub_option(value, RELAY_ID).unwrap().is_empty());
    }
}
