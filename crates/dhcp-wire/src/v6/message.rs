//! A received message, checked once and read in place.

use super::layout::{MESSAGE_LEN, MESSAGE_MAX};
use super::walk::Checked;
use super::{IaKind, Ias, Malformed, MessageType, OPTIONS_MAX, Options, ia, option};

/// The options whose place is noted while a message is checked, with the fewest octets that they
/// may have and what these must be a multiple of.
const NOTED: [(u16, u8, u8); 11] = [
    (option::CLIENTID, 3, 1),
    (option::SERVERID, 3, 1),
    (option::ORO, 0, 2),
    (option::ELAPSED_TIME, 2, 1),
    (option::AUTH, 11, 1),
    (option::STATUS_CODE, 2, 1),
    (option::RAPID_COMMIT, 0, 1),
    (option::USER_CLASS, 0, 1),
    (option::VENDOR_CLASS, 4, 1),
    (option::VENDOR_OPTS, 4, 1),
    (option::CLIENT_FQDN, 1, 1),
];
/// The slot of all options that are not noted: written, never read.
const OTHER_SLOT: usize = NOTED.len();
/// Codes from this one on are not noted.
const RULES_LEN: usize = 40;

#[derive(Clone, Copy)]
struct Rule {
    slot: u8,
    min: u8,
    unit: u8,
}

/// Slot and limits of the lower codes.
const RULES: [Rule; RULES_LEN] = {
    let mut rules = [Rule { slot: OTHER_SLOT as u8, min: 0, unit: 1 }; RULES_LEN];
    let mut slot = 0;
    while slot < NOTED.len() {
        let (code, min, unit) = NOTED[slot];
        rules[code as usize] = Rule { slot: slot as u8, min, unit };
        slot += 1;
    }
    rules
};

/// A checked view of one message, without relay levels. It keeps offsets, copies nothing, and no
/// accessor can fail or panic.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    octets: &'a [u8],
    message_type: MessageType,
    is_cut: bool,
    /// One bit per slot whose option occurs more than once.
    repeated: u16,
    /// Offset of the first IA; the end of the message when there is none.
    ias_at: u16,
    /// Offset of the first one's code, for the options of [`NOTED`]; 0 = none.
    noted: [u16; NOTED.len() + 1],
}

impl<'a> Message<'a> {
    /// Checks a message that no relay agent has wrapped, such as what a client receives from a
    /// server on its link. [`super::Packet::parse`] takes both.
    ///
    /// # Errors
    ///
    /// The first thing found wrong with it. A relay level is [`Malformed::MixedRelays`].
    pub fn parse(octets: &'a [u8]) -> Result<Self, Malformed> {
        Self::read(octets, &mut { OPTIONS_MAX })
    }

    /// The same for a message that may have `left` options.
    pub(super) fn read(octets: &'a [u8], left: &mut usize) -> Result<Self, Malformed> {
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
            noted: [0; NOTED.len() + 1],
        };
        let mut options = Checked::new(inner, left);
        let mut at = MESSAGE_LEN;
        while let Some((code, value)) = options.next()? {
            if let Some(kind) = IaKind::from_code(code) {
                message.ias_at = message.ias_at.min(at as u16);
                ia::check(kind, value, options.left())?;
            } else if let Some(rule) = RULES.get(usize::from(code)) {
                if value.len() < usize::from(rule.min) || value.len() % usize::from(rule.unit) != 0
                {
                    return Err(Malformed::OptionLength);
                }
                let noted = &mut message.noted[usize::from(rule.slot)];
                if *noted == 0 {
                    *noted = at as u16;
                } else {
                    message.repeated |= 1 << rule.slot;
                }
            }
            at = octets.len() - options.rest().len();
        }
        message.is_cut = at != octets.len();
        Ok(message)
    }

    /// The whole message.
    #[must_use]
    pub const fn octets(&self) -> &'a [u8] {
        self.octets
    }

    /// The message type, never a relay agent's.
    #[must_use]
    pub const fn message_type(&self) -> MessageType {
        self.message_type
    }

    /// The transaction identifier: 24 bits. In messages of DHCPv4 over DHCPv6 these are flags (RFC
    /// 7341 §6).
    #[must_use]
    #[inline]
    pub fn transaction_id(&self) -> u32 {
        let first = self.octets.first_chunk::<MESSAGE_LEN>().copied().unwrap_or_default();
        u32::from_be_bytes(first) & 0x00ff_ffff
    }

    /// True when the end of the message cuts an option off. It counts as not sent, as in Kea.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// All options, in order.
    #[must_use]
    #[inline]
    pub fn options(&self) -> Options<'a> {
        self.options_from(MESSAGE_LEN)
    }

    #[inline]
    fn options_from(&self, at: usize) -> Options<'a> {
        Options::new(self.octets.get(at..).unwrap_or_default())
    }

    /// The value of the first option with this code.
    #[must_use]
    #[inline]
    pub fn option(&self, code: u16) -> Option<&'a [u8]> {
        let slot = RULES.get(usize::from(code)).map_or(OTHER_SLOT, |rule| usize::from(rule.slot));
        if slot == OTHER_SLOT {
            return self.options().get(code);
        }
        match self.noted[slot] {
            0 => None,
            at => self.options_from(usize::from(at)).next().map(|(_, value)| value),
        }
    }

    /// Whether an option occurs more than once.
    #[must_use]
    pub fn repeats(&self, code: u16) -> bool {
        let slot = RULES.get(usize::from(code)).map_or(OTHER_SLOT, |rule| usize::from(rule.slot));
        if slot == OTHER_SLOT {
            return self.options().all(code).nth(1).is_some();
        }
        self.repeated & (1 << slot) != 0
    }

    /// The client's DUID, at least three octets; [`super::duid`] looks into it.
    #[must_use]
    #[inline]
    pub fn client_id(&self) -> Option<&'a [u8]> {
        self.option(option::CLIENTID)
    }

    /// The server's DUID, at least three octets.
    #[must_use]
    #[inline]
    pub fn server_id(&self) -> Option<&'a [u8]> {
        self.option(option::SERVERID)
    }

    /// The identity associations, in order.
    #[must_use]
    #[inline]
    pub fn ias(&self) -> Ias<'a> {
        Ias { options: self.options_from(usize::from(self.ias_at)) }
    }

    /// Whether the message asks for, or is an answer in, two messages (RFC 9915 §21.14).
    #[must_use]
    #[inline]
    pub fn has_rapid_commit(&self) -> bool {
        self.option(option::RAPID_COMMIT).is_some()
    }

    /// The codes that the client asks for, in its order (RFC 9915 §21.7).
    #[inline]
    pub fn requested_options(&self) -> impl Iterator<Item = u16> + Clone + use<'a> {
        let (codes, _) = self.option(option::ORO).unwrap_or_default().as_chunks();
        codes.iter().copied().map(u16::from_be_bytes)
    }

    /// Whether the client asks for this option.
    #[must_use]
    #[inline]
    pub fn requests(&self, code: u16) -> bool {
        self.requested_options().any(|requested| requested == code)
    }

    /// Hundredths of a second since the client began (RFC 9915 §21.9); all ones is "or longer".
    #[must_use]
    #[inline]
    pub fn elapsed_time(&self) -> Option<u16> {
        self.option(option::ELAPSED_TIME)?.first_chunk().copied().map(u16::from_be_bytes)
    }

    /// Code and text of the message's own status; absent means success.
    #[must_use]
    pub fn status(&self) -> Option<(u16, &'a [u8])> {
        let (code, text) = self.option(option::STATUS_CODE)?.split_first_chunk()?;
        Some((u16::from_be_bytes(*code), text))
    }
}
