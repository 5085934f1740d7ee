//! A received message, checked once and read in place.

use core::net::Ipv4Addr;

use super::layout::{
    CHADDR_AT, CHADDR_LEN, COOKIE, FILE, OPTIONS_AT, OVERLOAD_FILE, OVERLOAD_SNAME, SNAME,
};
use super::lengths::{NAMES, NOTED, OTHER_SLOT, Rules, SLOTS, WITH_NAMES, rules_of, scalar_len};
use super::walk::{Found, find};
use super::{
    BOOT_REPLY, BOOT_REQUEST, BROADCAST_FLAG, ClientFqdn, INSTANCES_MAX, Instances, Malformed,
    MessageType, OptionValue, option,
};
use crate::{Parsing, name};

/// Octets of an option with names that is checked.
const NAMES_MAX: usize = 1024;

/// A checked view of one datagram. It keeps offsets, copies nothing, and no accessor can fail or
/// panic.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    octets: &'a [u8],
    /// One bit per code that occurs.
    present: [u64; 4],
    /// Offset of the length octet of the first piece, for the options of [`NOTED`]; 0 = none.
    noted: [u16; NOTED.len() + 1],
    message_type: Option<MessageType>,
    /// Option 52, 0 to 3.
    overload: u8,
    /// Whether any code occurs more than once.
    has_repeats: bool,
    is_cut: bool,
}

impl<'a> Message<'a> {
    /// Checks a datagram strictly.
    ///
    /// # Errors
    ///
    /// The first thing found wrong with it.
    pub fn parse(octets: &'a [u8]) -> Result<Self, Malformed> {
        Self::parse_as(octets, Parsing::Strict)
    }

    /// Checks a datagram.
    ///
    /// # Errors
    ///
    /// The first thing found wrong with it.
    #[inline]
    pub fn parse_as(octets: &'a [u8], parsing: Parsing) -> Result<Self, Malformed> {
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

    /// Reads all places that hold options.
    fn read_options(&mut self, parsing: Parsing) -> Result<(), Malformed> {
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

    /// Notes the options of one place: from `start` to the end of `place`.
    #[inline(always)]
    fn scan(&mut self, place: &[u8], start: usize, scan: &mut Scan) {
        let mut position = start;
        loop {
            match find(place, &mut position) {
                Found::Option { code, at, len } => {
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
                Found::End => return,
                Found::Cut => {
                    self.is_cut = true;
                    return;
                }
            }
        }
    }

    /// Checks options by their joined lengths.
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

    /// Checks options with domain names. Those that are none take their options with them, or the
    /// message.
    #[cold]
    fn check_names(&mut self, parsing: Parsing) -> Result<(), Malformed> {
        if let Some(fqdn) = self.client_fqdn() {
            let is_lenient = parsing == Parsing::Lenient;
            if fqdn.is_contradictory() && !is_lenient {
                return Err(Malformed::ClientFqdn);
            }
            if !fqdn.read_name(|_| ()) {
                self.forget(option::CLIENT_FQDN, parsing, Malformed::ClientFqdn)?;
            }
        }
        for (code, are_several) in NAMES {
            let mut octets = [0; NAMES_MAX];
            // Longer ones are nothing that a client has use for.
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

    /// Treats an option as not sent, or refuses the message for it.
    fn forget(&mut self, code: u8, parsing: Parsing, reason: Malformed) -> Result<(), Malformed> {
        if parsing == Parsing::Strict {
            return Err(reason);
        }
        self.present[usize::from(code >> 6)] &= !(1 << (code & 63));
        Ok(())
    }

    /// `N` octets at a place that `parse` has found to be inside.
    #[inline]
    fn field<const N: usize>(&self, at: usize) -> [u8; N] {
        self.octets.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; N])
    }

    /// The first `N` octets of an option's value.
    #[inline]
    fn leading<const N: usize>(&self, code: u8) -> Option<[u8; N]> {
        self.option(code)?.leading()
    }

    #[inline]
    fn address_at(&self, at: usize) -> Ipv4Addr {
        Ipv4Addr::from(self.field::<4>(at))
    }

    /// The whole datagram.
    #[must_use]
    pub const fn octets(&self) -> &'a [u8] {
        self.octets
    }

    /// [`BOOT_REQUEST`] or [`BOOT_REPLY`].
    #[must_use]
    #[inline]
    pub fn op(&self) -> u8 {
        self.field::<1>(0)[0]
    }

    /// Hardware type (1 = Ethernet).
    #[must_use]
    #[inline]
    pub fn htype(&self) -> u8 {
        self.field::<1>(1)[0]
    }

    /// Octets of the hardware address, at most 16.
    #[must_use]
    #[inline]
    pub fn hlen(&self) -> u8 {
        self.field::<1>(2)[0]
    }

    /// Relay agents passed.
    #[must_use]
    #[inline]
    pub fn hops(&self) -> u8 {
        self.field::<1>(3)[0]
    }

    /// Transaction identifier.
    #[must_use]
    #[inline]
    pub fn xid(&self) -> u32 {
        u32::from_be_bytes(self.field(4))
    }

    /// Seconds since the client began.
    #[must_use]
    #[inline]
    pub fn secs(&self) -> u16 {
        u16::from_be_bytes(self.field(8))
    }

    /// All flags.
    #[must_use]
    #[inline]
    pub fn flags(&self) -> u16 {
        u16::from_be_bytes(self.field(10))
    }

    /// Whether the client asks for broadcast replies.
    #[must_use]
    #[inline]
    pub fn is_broadcast(&self) -> bool {
        self.flags() & BROADCAST_FLAG != 0
    }

    /// The client's address, if it has one and can answer for it.
    #[must_use]
    #[inline]
    pub fn ciaddr(&self) -> Ipv4Addr {
        self.address_at(12)
    }

    /// The address given to the client.
    #[must_use]
    #[inline]
    pub fn yiaddr(&self) -> Ipv4Addr {
        self.address_at(16)
    }

    /// The next server in a boot.
    #[must_use]
    #[inline]
    pub fn siaddr(&self) -> Ipv4Addr {
        self.address_at(20)
    }

    /// The first relay agent; 0.0.0.0 = none.
    #[must_use]
    #[inline]
    pub fn giaddr(&self) -> Ipv4Addr {
        self.address_at(24)
    }

    /// The hardware address: `hlen` octets.
    #[must_use]
    #[inline]
    pub fn chaddr(&self) -> &'a [u8] {
        let end = CHADDR_AT + usize::from(self.hlen());
        self.octets.get(CHADDR_AT..end).unwrap_or_default()
    }

    /// The server's name, without the zeros behind it; empty when the field holds options.
    #[must_use]
    #[inline]
    pub fn sname(&self) -> &'a [u8] {
        if self.overload & OVERLOAD_SNAME != 0 { &[] } else { self.text(SNAME) }
    }

    /// The boot file's name, without the zeros behind it; empty when the field holds options.
    #[must_use]
    #[inline]
    pub fn file(&self) -> &'a [u8] {
        if self.overload & OVERLOAD_FILE != 0 { &[] } else { self.text(FILE) }
    }

    fn text(&self, field: core::ops::Range<usize>) -> &'a [u8] {
        let text = self.octets.get(field).unwrap_or_default();
        let len = text.iter().position(|&octet| octet == 0).unwrap_or(text.len());
        text.get(..len).unwrap_or_default()
    }

    /// The message type; `None` for BOOTP.
    #[must_use]
    pub const fn message_type(&self) -> Option<MessageType> {
        self.message_type
    }

    /// True when the end of the datagram, or of a field used for options, cuts an option off. It
    /// and what may have followed count as not sent, as in Kea.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The value of an option, all its pieces joined (RFC 3396). One number, address or truth value that
    /// is said again counts once.
    #[must_use]
    #[inline(always)]
    pub fn option(&self, code: u8) -> Option<OptionValue<'a>> {
        if self.has(code) { self.value_of(code) } else { None }
    }

    /// Returns whether the option with this code occurs. Most that are looked for do not, so this
    /// is the part that callers have inline: with a constant code a test of one bit.
    #[inline(always)]
    const fn has(&self, code: u8) -> bool {
        self.present[(code >> 6) as usize] & (1 << (code & 63)) != 0
    }

    /// The value of an option that occurs.
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

    /// The value whose first piece has its length octet at `at`.
    #[inline]
    fn value_at(&self, code: u8, at: usize) -> OptionValue<'a> {
        let end = at + 1 + usize::from(self.field::<1>(at)[0]);
        let first = self.octets.get(at + 1..end).unwrap_or_default();
        if self.has_repeats {
            let rest = Instances::from(self.octets, end, self.overload);
            if is_said_again(code, first, rest) {
                return OptionValue::of(first);
            }
            OptionValue::joined(code, first, rest)
        } else {
            OptionValue::of(first)
        }
    }

    /// All options as code and joined value, in the order of their first pieces; PAD, END and an
    /// option that is cut off are left out.
    #[must_use]
    #[inline]
    pub fn options(&self) -> Options<'a> {
        Options { instances: self.instances(), message: *self, seen: [0; 4] }
    }

    /// All options as they stand, pieces apart.
    #[must_use]
    #[inline]
    pub fn instances(&self) -> Instances<'a> {
        Instances::from(self.octets, OPTIONS_AT, self.overload)
    }

    /// Option 61, at least two octets (RFC 2132 §9.14).
    #[must_use]
    #[inline]
    pub fn client_id(&self) -> Option<OptionValue<'a>> {
        self.option(option::CLIENT_IDENTIFIER)
    }

    /// Option 50. Octets behind the first four are ignored.
    #[must_use]
    #[inline]
    pub fn requested_address(&self) -> Option<Ipv4Addr> {
        self.leading::<4>(option::REQUESTED_IP_ADDRESS).map(Ipv4Addr::from)
    }

    /// Option 54.
    #[must_use]
    #[inline]
    pub fn server_identifier(&self) -> Option<Ipv4Addr> {
        self.leading::<4>(option::SERVER_IDENTIFIER).map(Ipv4Addr::from)
    }

    /// Option 51, seconds. Octets behind the first four are ignored.
    #[must_use]
    #[inline]
    pub fn lease_time(&self) -> Option<u32> {
        self.leading(option::IP_ADDRESS_LEASE_TIME).map(u32::from_be_bytes)
    }

    /// Option 57, octets. Octets behind the first two are ignored.
    #[must_use]
    #[inline]
    pub fn max_message_size(&self) -> Option<u16> {
        self.leading(option::MAXIMUM_DHCP_MESSAGE_SIZE).map(u16::from_be_bytes)
    }

    /// Option 55: codes, at least one.
    #[must_use]
    #[inline]
    pub fn parameter_request_list(&self) -> Option<OptionValue<'a>> {
        self.option(option::PARAMETER_REQUEST_LIST)
    }

    /// Option 60.
    #[must_use]
    #[inline]
    pub fn vendor_class(&self) -> Option<OptionValue<'a>> {
        self.option(option::VENDOR_CLASS_IDENTIFIER)
    }

    /// Option 12.
    #[must_use]
    #[inline]
    pub fn host_name(&self) -> Option<OptionValue<'a>> {
        self.option(option::HOST_NAME)
    }

    /// Option 81 (RFC 4702).
    #[must_use]
    #[inline]
    pub fn client_fqdn(&self) -> Option<ClientFqdn<'a>> {
        self.option(option::CLIENT_FQDN).and_then(ClientFqdn::of)
    }

    /// Option 118 (RFC 3011).
    #[must_use]
    #[inline]
    pub fn subnet_selection(&self) -> Option<Ipv4Addr> {
        self.leading::<4>(option::SUBNET_SELECTION).map(Ipv4Addr::from)
    }

    /// Option 82 (RFC 3046); [`super::relay::SubOptions`] looks into it.
    #[must_use]
    #[inline]
    pub fn relay_agent_information(&self) -> Option<OptionValue<'a>> {
        self.option(option::RELAY_AGENT_INFORMATION)
    }
}

/// What a scan finds out besides where options are.
struct Scan {
    rules: &'static Rules,
    instances: usize,
    /// Whether a piece has a length that its code may not have.
    is_odd: bool,
}

/// The options of a message, each code once.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    instances: Instances<'a>,
    message: Message<'a>,
    seen: [u64; 4],
}

impl<'a> Iterator for Options<'a> {
    type Item = (u8, OptionValue<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (code, at, value) = self.instances.next_at()?;
            if !self.message.has_repeats {
                return Some((code, OptionValue::of(value)));
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

/// Returns whether an option that is one number, address or truth value stands in `rest` with the same
/// value as in its `first` piece. What has no room for two values is not split either, so one that
/// differs makes a value that is too long.
#[cold]
fn is_said_again(code: u8, first: &[u8], rest: Instances<'_>) -> bool {
    scalar_len(code) == u8::try_from(first.len()).ok()
        && rest.filter(|&(other, _)| other == code).all(|(_, piece)| piece == first)
}

#[cfg(test)]
mod tests;
