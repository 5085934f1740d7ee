//! DHCPv4 message as received, checked once and read in place.

use core::net::Ipv4Addr;

use super::layout::{
    CHADDR_AT, CHADDR_LEN, COOKIE, FILE, OPTIONS_AT, OVERLOAD_FILE, OVERLOAD_SNAME, SNAME,
};
use super::lengths::{NAMES, NOTED, OTHER_SLOT, Rules, SLOTS, WITH_NAMES, rules_of, scalar_len};
use super::walk::{OptionWalkElement, find};
use super::{
    BOOT_REPLY, BOOT_REQUEST, BROADCAST_FLAG, ClientFqdn, INSTANCES_MAX, Instances, Malformed,
    MessageType, OptionValue, option,
};
use crate::{OptionParsing, name};

/// Maximum number of bytes of an option with domain names that the reader checks.
const NAMES_MAX: usize = 1024;

/// Checked view of one DHCPv4 datagram. It stores offsets, copies nothing, and no accessor can fail
/// or panic.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    octets: &'a [u8],
    /// Set with one bit per option code that occurs in the message.
    present: [u64; 4],
    /// Offset of the length byte of the option's first piece, for each option of [`NOTED`]; 0 = the
    /// option does not occur.
    noted: [u16; NOTED.len() + 1],
    message_type: Option<MessageType>,
    /// Value of option 52 (which of `file` and `sname` contain options), 0 to 3.
    overload: u8,
    /// True if any option code occurs more than once in the message.
    has_repeats: bool,
    is_cut: bool,
}

impl<'a> Message<'a> {
    /// Checks a DHCPv4 datagram strictly and returns a view of it.
    ///
    /// # Errors
    ///
    /// Returns the first fault found.
    pub fn parse(octets: &'a [u8]) -> Result<Self, Malformed> {
        Self::parse_as(octets, OptionParsing::Strict)
    }

    /// Checks a DHCPv4 datagram as strictly as `parsing` says and returns a view of it.
    ///
    /// # Errors
    ///
    /// Returns the first fault found.
    #[inline]
    pub fn parse_as(octets: &'a [u8], parsing: OptionParsing) -> Result<Self, Malformed> {
        let Some((fixed, _)) = octets.split_first_chunk::<OPTIONS_AT>() else {
            return Err(Malformed::TooShort);
        };
        if octets.len() > usize::from(u16::MAX) {
            return Err(Malformed::TooLong);
        }
        if fixed[OPTIONS_AT - COOKIE.len()..] != COOKIE {
            return Err(Malformed::Cookie);
        }
        if !matches!(fixed[0], BOOT_REQUEST | BOOT_REPLY) {
            return Err(Malformed::Operation);
        }
        if usize::from(fixed[2]) > CHADDR_LEN {
            return Err(Malformed::HardwareLength);
        }
        let mut message = Message {
            octets,
            present: [0; 4],
            noted: [0; NOTED.len() + 1],
            message_type: None,
            overload: 0,
            has_repeats: false,
            is_cut: false,
        };
        message.read_options(parsing)?;
        Ok(message)
    }

    /// Reads the options of all fields that contain some: the options field, `file` and `sname`.
    fn read_options(&mut self, parsing: OptionParsing) -> Result<(), Malformed> {
        let mut scan = Scan { rules: rules_of(parsing), instances: 0, is_odd: false };
        self.scan(self.octets, OPTIONS_AT, &mut scan);
        if let Some([overload @ 1..=3]) = self.leading(option::OPTION_OVERLOAD) {
            self.overload = overload;
            if overload & OVERLOAD_FILE != 0 {
                self.scan(&self.octets[..FILE.end], FILE.start, &mut scan);
            }
            if overload & OVERLOAD_SNAME != 0 {
                self.scan(&self.octets[..SNAME.end], SNAME.start, &mut scan);
            }
        }
        if scan.instances > INSTANCES_MAX {
            return Err(Malformed::TooManyOptions);
        }
        if scan.is_odd || self.has_repeats {
            self.check_lengths(scan.rules)?;
        }
        if self.present.iter().zip(WITH_NAMES).any(|(present, with)| present & with != 0) {
            self.check_names(parsing)?;
        }
        if let Some([code]) = self.leading(option::DHCP_MESSAGE_TYPE) {
            let known = MessageType::from_code(code).ok_or(Malformed::UnknownMessageType)?;
            self.message_type = Some(known);
        }
        Ok(())
    }

    /// Notes the options of one field: from `start` to the end of `place`.
    #[inline(always)]
    fn scan(&mut self, place: &[u8], start: usize, scan: &mut Scan) {
        let mut position = start;
        loop {
            match find(place, &mut position) {
                OptionWalkElement::Option { code, at, len } => {
                    let rule = scan.rules[usize::from(code)];
                    let word = &mut self.present[usize::from(code >> 6)];
                    let bit = 1 << (code & 63);
                    if *word & bit == 0 {
                        self.noted[usize::from(rule.slot)] = at as u16;
                    } else {
                        self.has_repeats = true;
                    }
                    *word |= bit;
                    scan.is_odd |= (len < rule.min) | (len > rule.max);
                    scan.instances += 1;
                }
                OptionWalkElement::End => return,
                OptionWalkElement::Cut => {
                    self.is_cut = true;
                    return;
                }
            }
        }
    }

    /// Checks the length of each option, its pieces joined, against `rules`.
    #[cold]
    fn check_lengths(&self, rules: &Rules) -> Result<(), Malformed> {
        for (code, rule) in (0..=u8::MAX).zip(rules) {
            if rule.min == 0 && rule.max == u8::MAX {
                continue;
            }
            let Some(value) = self.option(code) else { continue };
            let is_long = rule.max < u8::MAX && value.len() > usize::from(rule.max);
            if value.len() < usize::from(rule.min) || is_long {
                return Err(if code == option::DHCP_MESSAGE_TYPE {
                    Malformed::MessageTypeLength
                } else {
                    Malformed::OptionLength
                });
            }
        }
        Ok(())
    }

    /// Checks the domain names in options. An invalid name makes its option count as not sent, or
    /// the message malformed.
    #[cold]
    fn check_names(&mut self, parsing: OptionParsing) -> Result<(), Malformed> {
        if let Some(fqdn) = self.client_fqdn() {
            let is_lenient = parsing == OptionParsing::Lenient;
            if fqdn.is_contradictory() && !is_lenient {
                return Err(Malformed::ClientFqdn);
            }
            if !fqdn.read_name(|_| ()) {
                self.forget(option::CLIENT_FQDN, parsing, Malformed::ClientFqdn)?;
            }
        }
        for (code, are_several) in NAMES {
            let mut octets = [0; NAMES_MAX];
            // Longer ones have no use for a client.
            let Some(octets) = self
                .option(code)
                .and_then(|value| value.copy_to(&mut octets))
                .and_then(|len| octets.get(..len))
            else {
                continue;
            };
            let is_sound = if are_several {
                name::are_names(octets)
            } else {
                name::end_of_name(octets, 0).is_some()
            };
            if !is_sound {
                self.forget(code, parsing, Malformed::DomainName)?;
            }
        }
        Ok(())
    }

    /// Treats the option `code` as not sent if parsing is lenient; otherwise returns `reason`.
    fn forget(
        &mut self,
        code: u8,
        parsing: OptionParsing,
        reason: Malformed,
    ) -> Result<(), Malformed> {
        if parsing == OptionParsing::Strict {
            return Err(reason);
        }
        self.present[usize::from(code >> 6)] &= !(1 << (code & 63));
        Ok(())
    }

    /// Returns `N` bytes at the offset `at`, which `parse` has found to be inside the datagram.
    #[inline]
    fn field<const N: usize>(&self, at: usize) -> [u8; N] {
        self.octets.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; N])
    }

    /// Returns the first `N` bytes of the value of option `code`; `None` when it is missing or
    /// shorter.
    #[inline]
    fn leading<const N: usize>(&self, code: u8) -> Option<[u8; N]> {
        self.option(code)?.leading()
    }

    #[inline]
    fn address_at(&self, at: usize) -> Ipv4Addr {
        Ipv4Addr::from(self.field::<4>(at))
    }

    /// Returns the bytes of the whole datagram.
    pub const fn octets(&self) -> &'a [u8] {
        self.octets
    }

    /// Returns the operation of the message: [`BOOT_REQUEST`] or [`BOOT_REPLY`].
    #[inline]
    pub fn op(&self) -> u8 {
        self.field::<1>(0)[0]
    }

    /// Returns the hardware type of the client's address (1 = Ethernet).
    #[inline]
    pub fn htype(&self) -> u8 {
        self.field::<1>(1)[0]
    }

    /// Returns the length of the client's hardware address in bytes, at most 16.
    #[inline]
    pub fn hlen(&self) -> u8 {
        self.field::<1>(2)[0]
    }

    /// Returns the number of relay agents that the message has passed.
    #[inline]
    pub fn hops(&self) -> u8 {
        self.field::<1>(3)[0]
    }

    /// Returns the transaction identifier, which the client chose.
    #[inline]
    pub fn xid(&self) -> u32 {
        u32::from_be_bytes(self.field(4))
    }

    /// Returns the seconds since the client began to get or renew its address.
    #[inline]
    pub fn secs(&self) -> u16 {
        u16::from_be_bytes(self.field(8))
    }

    /// Returns the field `flags` of the message; its only defined bit is [`BROADCAST_FLAG`].
    #[inline]
    pub fn flags(&self) -> u16 {
        u16::from_be_bytes(self.field(10))
    }

    /// Returns true if the client requests broadcast replies ([`BROADCAST_FLAG`]).
    #[inline]
    pub fn is_broadcast(&self) -> bool {
        self.flags() & BROADCAST_FLAG != 0
    }

    /// Returns the address that the client already has and uses; 0.0.0.0 while it has none.
    #[inline]
    pub fn ciaddr(&self) -> Ipv4Addr {
        self.address_at(12)
    }

    /// Returns the address that the server leases to the client.
    #[inline]
    pub fn yiaddr(&self) -> Ipv4Addr {
        self.address_at(16)
    }

    /// Returns the address of the server from which the client loads its boot file; 0.0.0.0 = none.
    #[inline]
    pub fn siaddr(&self) -> Ipv4Addr {
        self.address_at(20)
    }

    /// Returns the address of the first relay agent that forwarded the message; 0.0.0.0 = none.
    #[inline]
    pub fn giaddr(&self) -> Ipv4Addr {
        self.address_at(24)
    }

    /// Returns the client's hardware address: `hlen` bytes.
    #[inline]
    pub fn chaddr(&self) -> &'a [u8] {
        let end = CHADDR_AT + usize::from(self.hlen());
        self.octets.get(CHADDR_AT..end).unwrap_or_default()
    }

    /// Returns the server's name, without the zeros after it; empty when the field contains
    /// options.
    #[inline]
    pub fn sname(&self) -> &'a [u8] {
        if self.overload & OVERLOAD_SNAME != 0 { &[] } else { self.text(SNAME) }
    }

    /// Returns the boot file's name, without the zeros after it; empty when the field contains
    /// options.
    #[inline]
    pub fn file(&self) -> &'a [u8] {
        if self.overload & OVERLOAD_FILE != 0 { &[] } else { self.text(FILE) }
    }

    fn text(&self, field: core::ops::Range<usize>) -> &'a [u8] {
        let text = self.octets.get(field).unwrap_or_default();
        let len = text.iter().position(|&octet| octet == 0).unwrap_or(text.len());
        text.get(..len).unwrap_or_default()
    }

    /// Returns the DHCPv4 message type (option 53); `None` for BOOTP.
    pub const fn message_type(&self) -> Option<MessageType> {
        self.message_type
    }

    /// Returns true if the end of the datagram, or of a field used for options, cuts an option off.
    /// That option and any after it count as not sent, as in Kea.
    pub const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Returns the value of an option, all its pieces joined (RFC 3396). A number, address or truth
    /// value that is repeated counts once.
    #[inline(always)]
    pub fn option(&self, code: u8) -> Option<OptionValue<'a>> {
        if self.has(code) { self.value_of(code) } else { None }
    }

    /// Returns true if the option with this code occurs in the message. Most options that callers
    /// look up do not occur, so this test is inlined: with a constant code it tests one bit.
    #[inline(always)]
    const fn has(&self, code: u8) -> bool {
        self.present[(code >> 6) as usize] & (1 << (code & 63)) != 0
    }

    /// Returns the value of option `code`, which occurs in the message.
    fn value_of(&self, code: u8) -> Option<OptionValue<'a>> {
        let slot = usize::from(SLOTS[usize::from(code)]);
        if slot != OTHER_SLOT {
            return Some(self.value_at(code, usize::from(self.noted[slot])));
        }
        let mut instances = self.instances();
        while let Some((found, at, _)) = instances.next_at() {
            if found == code {
                return Some(self.value_at(code, at));
            }
        }
        None
    }

    /// Returns the value of option `code` whose first piece has its length byte at the offset `at`.
    #[inline]
    fn value_at(&self, code: u8, at: usize) -> OptionValue<'a> {
        let end = at + 1 + usize::from(self.field::<1>(at)[0]);
        let first = self.octets.get(at + 1..end).unwrap_or_default();
        if self.has_repeats {
            let rest = Instances::from(self.octets, end, self.overload);
            if is_said_again(code, first, rest) {
                return OptionValue::from_slice(first);
            }
            OptionValue::joined(code, first, rest)
        } else {
            OptionValue::from_slice(first)
        }
    }

    /// Returns all options of the message as code and joined value, in the order of their first
    /// pieces, without PAD, END and an option that is cut off.
    #[inline]
    pub fn options(&self) -> Dhcp4OptionIterator<'a> {
        Dhcp4OptionIterator { instances: self.instances(), message: *self, seen: [0; 4] }
    }

    /// Returns all options of the message as sent, with the pieces of a long option separate.
    #[inline]
    pub fn instances(&self) -> Instances<'a> {
        Instances::from(self.octets, OPTIONS_AT, self.overload)
    }

    /// Returns the client identifier (option 61), at least two bytes (RFC 2132 §9.14).
    #[inline]
    pub fn client_id(&self) -> Option<OptionValue<'a>> {
        self.option(option::CLIENT_IDENTIFIER)
    }

    /// Returns the address that the client requests (option 50). Bytes after the first four are
    /// ignored.
    #[inline]
    pub fn requested_address(&self) -> Option<Ipv4Addr> {
        self.leading::<4>(option::REQUESTED_IP_ADDRESS).map(Ipv4Addr::from)
    }

    /// Returns the server identifier (option 54), the address of a server.
    #[inline]
    pub fn server_identifier(&self) -> Option<Ipv4Addr> {
        self.leading::<4>(option::SERVER_IDENTIFIER).map(Ipv4Addr::from)
    }

    /// Returns the lease time in seconds (option 51). Bytes after the first four are ignored.
    #[inline]
    pub fn lease_time(&self) -> Option<u32> {
        self.leading(option::IP_ADDRESS_LEASE_TIME).map(u32::from_be_bytes)
    }

    /// Returns the length of the longest message that the client accepts, in bytes (option 57).
    /// Bytes after the first two are ignored.
    #[inline]
    pub fn max_message_size(&self) -> Option<u16> {
        self.leading(option::MAXIMUM_DHCP_MESSAGE_SIZE).map(u16::from_be_bytes)
    }

    /// Returns the option codes that the client requests (option 55), at least one.
    #[inline]
    pub fn parameter_request_list(&self) -> Option<OptionValue<'a>> {
        self.option(option::PARAMETER_REQUEST_LIST)
    }

    /// Returns the vendor class identifier (option 60).
    #[inline]
    pub fn vendor_class(&self) -> Option<OptionValue<'a>> {
        self.option(option::VENDOR_CLASS_IDENTIFIER)
    }

    /// Returns the client's host name (option 12).
    #[inline]
    pub fn host_name(&self) -> Option<OptionValue<'a>> {
        self.option(option::HOST_NAME)
    }

    /// Returns the client's fully qualified domain name (option 81, RFC 4702).
    #[inline]
    pub fn client_fqdn(&self) -> Option<ClientFqdn<'a>> {
        self.option(option::CLIENT_FQDN).and_then(ClientFqdn::parse)
    }

    /// Returns the subnet that the client wants an address from (option 118, RFC 3011).
    #[inline]
    pub fn subnet_selection(&self) -> Option<Ipv4Addr> {
        self.leading::<4>(option::SUBNET_SELECTION).map(Ipv4Addr::from)
    }

    /// Returns the relay agent information (option 82, RFC 3046); [`super::relay::SubOptions`]
    /// reads its sub-options.
    #[inline]
    pub fn relay_agent_information(&self) -> Option<OptionValue<'a>> {
        self.option(option::RELAY_AGENT_INFORMATION)
    }
}

/// State of a walk over the options of one DHCPv4 message: the length rules, the number of options
/// so far, and whether a length was wrong.
struct Scan {
    rules: &'static Rules,
    instances: usize,
    /// True if a piece of an option has a length that its code does not permit.
    is_odd: bool,
}

/// Iterator over the options of a DHCPv4 message, each code once.
#[derive(Clone, Debug)]
pub struct Dhcp4OptionIterator<'a> {
    instances: Instances<'a>,
    message: Message<'a>,
    seen: [u64; 4],
}

impl<'a> Iterator for Dhcp4OptionIterator<'a> {
    type Item = (u8, OptionValue<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (code, at, value) = self.instances.next_at()?;
            if !self.message.has_repeats {
                return Some((code, OptionValue::from_slice(value)));
            }
            let word = &mut self.seen[usize::from(code >> 6)];
            let bit = 1 << (code & 63);
            if *word & bit == 0 {
                *word |= bit;
                return Some((code, self.message.value_at(code, at)));
            }
        }
    }
}

/// Returns true if option `code` is one number, address or truth value and each repetition in
/// `rest` has the value of its `first` piece. Such an option is too short to be split (RFC 3396),
/// so a repetition with another value makes the joined value too long.
#[cold]
fn is_said_again(code: u8, first: &[u8], rest: Instances<'_>) -> bool {
    scalar_len(code) == u8::try_from(first.len()).ok()
        && rest.filter(|&(other, _)| other == code).all(|(_, piece)| piece == first)
}

#[cfg(test)]
mod tests;
