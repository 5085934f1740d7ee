//! DHCPv6 message as received, checked once and read in place.

use super::layout::{MESSAGE_LEN, MESSAGE_MAX};
use super::rules::{OTHER_SLOT, OptionCheckRule, OptionTreatment, SLOTS, check};
use super::walk::CountedOptions;
use super::{
    ClientFqdn, Dhcp6OptionIterator, Ia, IaKind, Malformed, MessageType, OPTIONS_MAX, Tuples,
    option,
};
use crate::OptionParsing;

/// Checked view of one DHCPv6 message, without the RELAY-FORW or RELAY-REPL around it. It stores
/// offsets, copies nothing, and no accessor can fail or panic.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    octets: &'a [u8],
    message_type: MessageType,
    is_cut: bool,
    /// Set of the slots whose option occurs more than once in the message, with one bit per slot of
    /// [`super::rules`].
    repeated: u16,
    /// Offset of the first identity association (IA_NA, IA_TA or IA_PD); the end of the message
    /// when there is none.
    ias_at: u16,
    /// Offset of the first option of each slot, that of its code; 0 = the option does not occur.
    noted: [u16; SLOTS],
}

impl<'a> Message<'a> {
    /// Checks, strictly, a message that no relay agent has wrapped, such as a server's message to a
    /// client on its link. [`super::Packet::parse`] accepts both.
    ///
    /// # Errors
    ///
    /// Returns the first fault found. A RELAY-FORW or RELAY-REPL is [`Malformed::MixedRelays`].
    pub fn parse(octets: &'a [u8]) -> Result<Self, Malformed> {
        Self::read(octets, OptionParsing::Strict, &mut { OPTIONS_MAX })
    }

    /// Checks a DHCPv6 message that may have `left` options, and subtracts its options from `left`.
    pub(super) fn read(
        octets: &'a [u8],
        parsing: OptionParsing,
        left: &mut usize,
    ) -> Result<Self, Malformed> {
        let Some((&[code, ..], inner)) = octets.split_first_chunk::<MESSAGE_LEN>() else {
            return Err(Malformed::TooShort);
        };
        if octets.len() > MESSAGE_MAX {
            return Err(Malformed::TooLong);
        }
        let message_type = MessageType::from_code(code).ok_or(Malformed::UnknownMessageType)?;
        if message_type.is_relay() {
            return Err(Malformed::MixedRelays);
        }
        let mut message = Message {
            octets,
            message_type,
            is_cut: false,
            repeated: 0,
            ias_at: octets.len() as u16,
            noted: [0; SLOTS],
        };
        let mut options = CountedOptions::new(inner, left);
        let mut at = MESSAGE_LEN;
        while let Some((code, value)) = options.next()? {
            let rule = OptionCheckRule::under(parsing, code);
            let verdict = check(parsing, rule, code, value, 0, options.left())?;
            let next = octets.len() - options.rest().len();
            if verdict == OptionTreatment::Skipped {
                at = next;
                continue;
            }
            let noted = &mut message.noted[usize::from(rule.slot)];
            if *noted == 0 {
                *noted = at as u16;
            } else {
                message.repeated |= 1 << rule.slot;
            }
            if IaKind::from_code(code).is_some() {
                message.ias_at = message.ias_at.min(at as u16);
            }
            at = next;
        }
        message.is_cut = at != octets.len();
        Ok(message)
    }

    /// Returns the bytes of the whole message.
    pub const fn octets(&self) -> &'a [u8] {
        self.octets
    }

    /// Returns the DHCPv6 message type; never RELAY-FORW or RELAY-REPL.
    pub const fn message_type(&self) -> MessageType {
        self.message_type
    }

    /// Returns the 24-bit transaction identifier of the message. In DHCPV4-QUERY and
    /// DHCPV4-RESPONSE these bits are flags (RFC 7341 §6).
    #[inline]
    pub fn transaction_id(&self) -> u32 {
        let first = self.octets.first_chunk::<MESSAGE_LEN>().copied().unwrap_or_default();
        u32::from_be_bytes(first) & 0x00ff_ffff
    }

    /// Returns true if the end of the message cuts an option off. That option counts as not sent,
    /// as in Kea.
    pub const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Returns all options of the message, in order.
    #[inline]
    pub fn options(&self) -> Dhcp6OptionIterator<'a> {
        self.options_from(MESSAGE_LEN)
    }

    #[inline]
    fn options_from(&self, at: usize) -> Dhcp6OptionIterator<'a> {
        Dhcp6OptionIterator::new(self.octets.get(at..).unwrap_or_default())
    }

    /// Returns the value of the message's first option with this code; `None` when it does not
    /// occur.
    #[inline]
    pub fn option(&self, code: u16) -> Option<&'a [u8]> {
        let slot = usize::from(OptionCheckRule::strict(code).slot);
        if slot == OTHER_SLOT {
            return self.options().get(code);
        }
        match self.noted[slot] {
            0 => None,
            at => self.options_from(usize::from(at)).next().map(|(_, value)| value),
        }
    }

    /// Returns true if the option `code` occurs more than once in the message.
    pub fn repeats(&self, code: u16) -> bool {
        let slot = usize::from(OptionCheckRule::strict(code).slot);
        if slot == OTHER_SLOT {
            return self.options().all(code).nth(1).is_some();
        }
        self.repeated & (1 << slot) != 0
    }

    /// Returns the client's DUID (option 1), 3 to 130 bytes; [`super::duid`] reads it.
    #[inline]
    pub fn client_id(&self) -> Option<&'a [u8]> {
        self.option(option::CLIENTID)
    }

    /// Returns the server's DUID (option 2), 3 to 130 bytes.
    #[inline]
    pub fn server_id(&self) -> Option<&'a [u8]> {
        self.option(option::SERVERID)
    }

    /// Returns the identity associations of the message, in order.
    #[inline]
    pub fn ias(&self) -> impl Iterator<Item = Ia<'a>> + Clone + use<'a> {
        let options = self.options_from(usize::from(self.ias_at));
        options.filter_map(|(code, value)| Ia::read(IaKind::from_code(code)?, value))
    }

    /// Returns true if the message has Rapid Commit (option 14, RFC 9915 §21.14): it requests an
    /// exchange of two messages, or is the reply in one.
    #[inline]
    pub fn has_rapid_commit(&self) -> bool {
        self.option(option::RAPID_COMMIT).is_some()
    }

    /// Returns the codes in the Option Request option, in the client's order (option 6, RFC 9915
    /// §21.7).
    #[inline]
    pub fn requested_options(&self) -> impl Iterator<Item = u16> + Clone + use<'a> {
        let (codes, _) = self.option(option::ORO).unwrap_or_default().as_chunks();
        codes.iter().copied().map(u16::from_be_bytes)
    }

    /// Returns true if the Option Request option (option 6, RFC 9915 §21.7) lists the option
    /// `code`.
    #[inline]
    pub fn requests(&self, code: u16) -> bool {
        self.requested_options().any(|requested| requested == code)
    }

    /// Returns the hundredths of a second since the client began its exchange (option 8, Elapsed
    /// Time, RFC 9915 §21.9); 65535 means that time or longer.
    #[inline]
    pub fn elapsed_time(&self) -> Option<u16> {
        self.option(option::ELAPSED_TIME)?.first_chunk().copied().map(u16::from_be_bytes)
    }

    /// Returns enterprise number and data of the first Vendor Class option (option 16, RFC 9915
    /// §21.16); `None` without one.
    pub fn vendor_class(&self) -> Option<(u32, Tuples<'a>)> {
        let (number, data) = self.option(option::VENDOR_CLASS)?.split_first_chunk()?;
        Some((u32::from_be_bytes(*number), Tuples::to_the_end(data)))
    }

    /// Returns the user classes of the client (option 15, RFC 9915 §21.15); `None` without the
    /// option.
    pub fn user_class(&self) -> Option<Tuples<'a>> {
        self.option(option::USER_CLASS).map(Tuples::new)
    }

    /// Returns the client's fully qualified domain name (option 39, RFC 4704).
    pub fn client_fqdn(&self) -> Option<ClientFqdn<'a>> {
        self.option(option::CLIENT_FQDN).and_then(ClientFqdn::parse)
    }

    /// Returns code and text of the Status Code (option 13) of the message itself; `None` means
    /// success.
    pub fn status(&self) -> Option<(u16, &'a [u8])> {
        let (code, text) = self.option(option::STATUS_CODE)?.split_first_chunk()?;
        Some((u16::from_be_bytes(*code), text))
    }
}
