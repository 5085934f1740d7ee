//! Received DHCPv6 datagram: a message and, for each relay agent on its way, a RELAY-FORW or
//! RELAY-REPL around it.

use core::net::Ipv6Addr;

use super::layout::{MESSAGE_MAX, RELAY_LEN};
use super::walk::CountedOptions;
use super::{
    Dhcp6OptionIterator, Malformed, Message, MessageType, OPTIONS_MAX, RELAYS_MAX, option,
};
use crate::OptionParsing;

/// Checked view of one DHCPv6 datagram: a message in zero or more relay levels (RELAY-FORW or
/// RELAY-REPL). It stores offsets, copies nothing, and no accessor can fail or panic.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    octets: &'a [u8],
    message: Message<'a>,
    /// Offset of each relay level in the datagram, the outermost first. All but the first are the
    /// value of a Relay Message option, so their length precedes them.
    levels: [u16; RELAYS_MAX],
    relay_count: u8,
    relay_type: Option<MessageType>,
}

impl<'a> Packet<'a> {
    /// Checks a DHCPv6 datagram strictly and returns a view of it.
    ///
    /// # Errors
    ///
    /// Returns the first fault found.
    pub fn parse(octets: &'a [u8]) -> Result<Self, Malformed> {
        Self::parse_as(octets, OptionParsing::Strict)
    }

    /// Checks a DHCPv6 datagram as strictly as `parsing` says and returns a view of it.
    ///
    /// # Errors
    ///
    /// Returns the first fault found.
    pub fn parse_as(octets: &'a [u8], parsing: OptionParsing) -> Result<Self, Malformed> {
        if octets.len() > MESSAGE_MAX {
            return Err(Malformed::TooLong);
        }
        let mut levels = [0; RELAYS_MAX];
        let mut relay_count = 0;
        let mut relay_type = None;
        let mut left = OPTIONS_MAX;
        let mut start = 0;
        let mut end = octets.len();
        loop {
            let code = *octets[start..end].first().ok_or(Malformed::TooShort)?;
            let Some(found) = MessageType::from_code(code).filter(|found| found.is_relay()) else {
                break;
            };
            if relay_type.is_some_and(|outer| outer != found) {
                return Err(Malformed::MixedRelays);
            }
            relay_type = Some(found);
            let level = levels.get_mut(relay_count).ok_or(Malformed::TooManyRelays)?;
            *level = start as u16;
            relay_count += 1;
            (start, end) = inner(octets, start, end, parsing, &mut left)?;
        }
        let message = Message::read(&octets[start..end], parsing, &mut left)?;
        Ok(Self { octets, message, levels, relay_count: relay_count as u8, relay_type })
    }

    /// Returns the bytes of the whole datagram.
    pub const fn octets(&self) -> &'a [u8] {
        self.octets
    }

    /// Returns the client's or server's message inside of all relay levels.
    #[inline]
    pub const fn message(&self) -> Message<'a> {
        self.message
    }

    /// Returns the number of relay levels (RELAY-FORW or RELAY-REPL) around the message, at most
    /// [`RELAYS_MAX`].
    #[inline]
    pub const fn relay_count(&self) -> usize {
        self.relay_count as usize
    }

    /// Returns the type of all relay levels, RELAY-FORW or RELAY-REPL; `None` without any level.
    #[inline]
    pub const fn relay_type(&self) -> Option<MessageType> {
        self.relay_type
    }

    /// Returns the relay level number `index`: 0 is the outermost, of the relay agent nearest to
    /// the server.
    ///
    /// # Panics
    ///
    /// Panics when `index` is not below [`Packet::relay_count`].
    #[inline]
    pub fn relay(&self, index: usize) -> Relay<'a> {
        let start = usize::from(self.levels[..self.relay_count()][index]);
        let len = match self.octets[..start].last_chunk::<2>() {
            Some(&len) => usize::from(u16::from_be_bytes(len)),
            None => self.octets.len(),
        };
        let level = self.octets.get(start..start + len).unwrap_or_default();
        Relay::read(level).expect("the levels were checked")
    }

    /// Returns the relay levels, the outermost first.
    #[inline]
    pub fn relays(&self) -> impl DoubleEndedIterator<Item = Relay<'a>> + ExactSizeIterator + '_ {
        (0..self.relay_count()).map(|index| self.relay(index))
    }
}

/// Returns start and end of the message that the relay level from `start` to `end` carries: those
/// of its last Relay Message option (option 9), as in Kea.
fn inner(
    octets: &[u8],
    start: usize,
    end: usize,
    parsing: OptionParsing,
    left: &mut usize,
) -> Result<(usize, usize), Malformed> {
    let options_at = start + RELAY_LEN;
    let inner = octets.get(options_at..end).ok_or(Malformed::TooShort)?;
    let mut options = CountedOptions::new(inner, left);
    let mut found = None;
    while let Some((code, value)) = options.next()? {
        match code {
            option::RELAY_MSG => {
                let value_end = end - options.rest().len();
                found = Some((value_end - value.len(), value_end));
            }
            option::REMOTE_ID if value.len() < 4 => return Err(Malformed::OptionLength),
            option::RELAY_PORT
                if value.len() < 2 || (parsing == OptionParsing::Strict && value.len() > 2) =>
            {
                return Err(Malformed::OptionLength);
            }
            _ => {}
        }
    }
    found.filter(|(start, end)| start < end).ok_or(Malformed::NoRelayMessage)
}

/// Relay level of a DHCPv6 packet: the RELAY-FORW that one relay agent put around the message, or
/// the RELAY-REPL for it.
#[derive(Clone, Copy, Debug)]
pub struct Relay<'a> {
    /// Number of relay agents that the message passed before this one (RFC 9915 §9).
    pub hop_count: u8,
    /// Address on the client's link; unspecified (`::`) when Interface-Id (option 18) or an earlier
    /// relay agent identifies the link.
    pub link_address: Ipv6Addr,
    /// Address from which the relay agent received the message and to which it sends the reply.
    pub peer_address: Ipv6Addr,
    /// Options of the relay level, including the Relay Message option.
    pub options: Dhcp6OptionIterator<'a>,
}

impl<'a> Relay<'a> {
    fn read(level: &'a [u8]) -> Option<Self> {
        let (fixed, options) = level.split_first_chunk::<RELAY_LEN>()?;
        let [_, hop_count, addresses @ ..] = fixed;
        let (link, peer) = addresses.split_first_chunk::<16>()?;
        Some(Self {
            hop_count: *hop_count,
            link_address: Ipv6Addr::from(*link),
            peer_address: Ipv6Addr::from(*peer.first_chunk()?),
            options: Dhcp6OptionIterator::new(options),
        })
    }

    /// Returns the relay agent's name of its interface towards the client (option 18); `None`
    /// without one.
    pub fn interface_id(&self) -> Option<&'a [u8]> {
        self.options.get(option::INTERFACE_ID)
    }

    /// Returns enterprise number and identifier of the client's end of the circuit (option 37, RFC
    /// 4649).
    pub fn remote_id(&self) -> Option<(u32, &'a [u8])> {
        let (number, id) = self.options.get(option::REMOTE_ID)?.split_first_chunk()?;
        Some((u32::from_be_bytes(*number), id))
    }

    /// Returns hardware type and link-layer address of the client (option 79, RFC 6939).
    pub fn client_link_layer_address(&self) -> Option<(u16, &'a [u8])> {
        let (kind, address) =
            self.options.get(option::CLIENT_LINKLAYER_ADDR)?.split_first_chunk()?;
        Some((u16::from_be_bytes(*kind), address))
    }

    /// Returns the UDP port of the relay agent to which the reply goes, when it is not 547 (option
    /// 135, RFC 8357): `Some(0)` means the port that the packet came from.
    pub fn relay_port(&self) -> Option<u16> {
        self.options.get(option::RELAY_PORT)?.first_chunk().copied().map(u16::from_be_bytes)
    }

    /// Returns the options that the relay agent supplies for the client (option 66, RFC 6422).
    pub fn supplied_options(&self) -> Dhcp6OptionIterator<'a> {
        Dhcp6OptionIterator::new(self.options.get(option::RSOO).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{IaKind, MessageWriter, RelayWriter};
    use super::*;

    /// Returns a SOLICIT in `levels` levels with `options` empty options and the bytes that `write`
    /// adds.
    fn solicit(
        buffer: &mut [u8],
        levels: usize,
        options: usize,
        write: impl Fn(&mut MessageWriter<'_>),
    ) -> usize {
        let begun = (0..levels).fold(RelayWriter::forward(buffer), |begun, _| {
            begun.level(0, Ipv6Addr::LOCALHOST, Ipv6Addr::UNSPECIFIED)
        });
        let mut writer = begun.message(MessageType::Solicit, 1);
        for _ in 0..options {
            writer.option(option::RAPID_COMMIT, &[]);
        }
        write(&mut writer);
        writer.finish().unwrap()
    }

    fn verdict(octets: &[u8]) -> Result<usize, Malformed> {
        Packet::parse(octets).map(|packet| packet.relay_count())
    }

    #[test]
    fn levels_are_read_up_to_their_limit() {
        let mut buffer = [0; 4_000];
        for levels in 0..=RELAYS_MAX {
            let len = solicit(&mut buffer, levels, 0, |_| ());
            assert_eq!(verdict(&buffer[..len]), Ok(levels));
        }
        let len = solicit(&mut buffer, RELAYS_MAX + 1, 0, |_| ());
        assert_eq!(verdict(&buffer[..len]), Err(Malformed::TooManyRelays));
    }

    #[test]
    fn options_are_counted_in_levels_in_the_message_and_in_ias() {
        let mut buffer = [0; 8_000];
        let in_ia = |writer: &mut MessageWriter<'_>| {
            let ia = writer.ia(IaKind::Na, 1, 0, 0);
            let address = writer.begin_ia_address(Ipv6Addr::LOCALHOST, 0, 0);
            writer.option(option::RAPID_COMMIT, &[]).end(address).end(ia);
        };
        let len = solicit(&mut buffer, 2, OPTIONS_MAX - 5, in_ia);
        assert_eq!(verdict(&buffer[..len]), Ok(2));
        let len = solicit(&mut buffer, 2, OPTIONS_MAX - 4, in_ia);
        assert_eq!(verdict(&buffer[..len]), Err(Malformed::TooManyOptions));
    }

    #[test]
    fn every_cut_of_a_level_is_refused() {
        let mut buffer = [0; 200];
        let len = solicit(&mut buffer, 1, 0, |_| ());
        for end in 0..len {
            let expected =
                if end < RELAY_LEN { Malformed::TooShort } else { Malformed::NoRelayMessage };
            assert_eq!(verdict(&buffer[..end]), Err(expected), "{end}");
        }
    }

    #[test]
    fn what_cannot_be_a_packet_is_refused_by_name() {
        assert_eq!(verdict(&[0; MESSAGE_MAX + 1]), Err(Malformed::TooLong));
        assert_eq!(Message::parse(&[1; MESSAGE_MAX + 1]).err(), Some(Malformed::TooLong));
        assert_eq!(verdict(&[38, 0, 0, 1]), Err(Malformed::UnknownMessageType));
        assert_eq!(Message::parse(&[12, 0, 0, 1]).err(), Some(Malformed::MixedRelays));
        let mut buffer = [0; 200];
        let len = solicit(&mut buffer, 2, 0, |_| ());
        buffer[RELAY_LEN + 4] = MessageType::RelayRepl.code();
        assert_eq!(verdict(&buffer[..len]), Err(Malformed::MixedRelays));
        let len = solicit(&mut buffer, 0, 0, |writer| {
            writer.option(option::CLIENTID, &[1]);
        });
        assert_eq!(verdict(&buffer[..len]), Err(Malformed::OptionLength));
        let len = solicit(&mut buffer, 0, 0, |writer| {
            writer.option(option::IA_NA, &[1; 11]);
        });
        assert_eq!(verdict(&buffer[..len]), Err(Malformed::IaLength));
    }

    #[test]
    fn a_prefix_of_more_than_128_bits_counts_as_not_sent() {
        for parsing in [OptionParsing::Strict, OptionParsing::Lenient] {
            let mut buffer = [0; 200];
            let len = solicit(&mut buffer, 0, 0, |writer| {
                let ia = writer.ia(IaKind::Pd, 1, 0, 0);
                for len in [129, 64, 255] {
                    writer.ia_prefix(Ipv6Addr::UNSPECIFIED, len, 0, 0);
                }
                writer.end(ia);
            });
            let packet = Packet::parse_as(&buffer[..len], parsing).unwrap();
            let ia = packet.message().ias().next().unwrap();
            assert!(ia.prefixes().map(|prefix| prefix.len).eq([64]));
        }
    }

    #[test]
    fn what_is_not_as_defined_is_taken_where_parsing_is_lenient() {
        let mut buffer = [0; 200];
        let mut verdicts = |code: u16, value: &[u8]| {
            let len = solicit(&mut buffer, 0, 0, |writer| {
                writer.option(code, value);
            });
            let read = |parsing| Packet::parse_as(&buffer[..len], parsing);
            let is_read =
                read(OptionParsing::Lenient).map(|packet| packet.message().option(code).is_some());
            (read(OptionParsing::Strict).err(), is_read)
        };
        let long = Some(Malformed::OptionLength);
        assert_eq!(verdicts(option::ELAPSED_TIME, &[0; 3]), (long, Ok(true)));
        assert_eq!(verdicts(option::PREFERENCE, &[0; 2]), (long, Ok(true)));
        assert_eq!(verdicts(option::PREFERENCE, &[]), (long, Err(Malformed::OptionLength)));
        assert_eq!(verdicts(option::VENDOR_CLASS, b"\0\0\0\x09\0\x09foo"), (long, Ok(true)));
        assert_eq!(
            verdicts(option::VENDOR_CLASS, b"\0\0\0\x09\0"),
            (long, Err(Malformed::OptionLength))
        );
        let fqdn = Some(Malformed::ClientFqdn);
        assert_eq!(verdicts(option::CLIENT_FQDN, b"\x05\x03foo"), (fqdn, Ok(true)));
        assert_eq!(verdicts(option::CLIENT_FQDN, b"\0\x04foo"), (fqdn, Ok(false)));
        let names = Some(Malformed::DomainName);
        assert_eq!(verdicts(option::DOMAIN_LIST, b"\x03fo"), (names, Ok(true)));
    }

    #[test]
    fn lenient_parsing_ends_classes_where_they_can_be() {
        let mut buffer = [0; 200];
        let len = solicit(&mut buffer, 0, 0, |writer| {
            writer.option(option::VENDOR_CLASS, b"\0\0\0\x09\0\x01a\0\x09foo");
        });
        let message = Packet::parse_as(&buffer[..len], OptionParsing::Lenient).unwrap().message();
        let (number, classes) = message.vendor_class().unwrap();
        assert!(number == 9 && classes.eq([&b"a"[..], b"foo"]));
    }
}
