//! DHCPv6 messages that the generator sends. Messages without a relay are byte for byte those of
//! `perfdhcp` 2.2 (option order, no option request in the REQUEST, elapsed time 0); a relayed
//! message is inside one RELAY-FORW. The generator writes the SOLICIT and the head of the REQUEST
//! once and patches them per exchange; the rest of the REQUEST repeats the ADVERTISE. Writing takes
//! about 15 ns for a SOLICIT and 50 ns for a REQUEST.

use base::ByteWriter;

use super::RequestedAssociations;
use super::answer::{Dhcp6Reply, ReplyIa, code, kind};
use super::client::{DUID_LEN, MessageIdentity};

/// Length of the RELAY-FORW header, in bytes (RFC 9915 §9).
const RELAY_HEADER_LEN: usize = 34;
const LINK: usize = 2;
const PEER: usize = 18;
/// Length in bytes of the DHCPv6 message header and of the header of the Client Identifier option,
/// with which all messages begin.
const HEAD_LEN: usize = 4 + 4;
const XID: usize = 1;
/// T1 and T2 that a client requests in its identity associations, in seconds.
const REQUESTED_TIMERS: [u32; 2] = [3_600, 5_400];
/// Largest length of a server's DUID, in bytes (RFC 9915 §11.1).
pub(crate) const SERVER_ID_MAX: usize = 130;
/// Bytes reserved for one identity association of a REQUEST: two addresses without options of their
/// own.
pub(crate) const IA_ROOM: usize = 16 + 2 * 28;
/// Length of an Elapsed Time option in bytes, with a value of two bytes.
const ELAPSED_LEN: usize = 6;

/// Additions of the caller to perfdhcp's own DHCPv6 messages, and the length of the clients' DUIDs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dhcp6MessageExtras {
    /// Length of every client's DUID, in bytes.
    pub duid_len: usize,
    /// Options added to messages, as they go on the wire, at the end of every message.
    pub options: Vec<u8>,
    /// Options of the RELAY-FORW, before its Relay Message option.
    pub relay_options: Vec<u8>,
}

impl Default for Dhcp6MessageExtras {
    fn default() -> Self {
        Self { duid_len: DUID_LEN, options: Vec::new(), relay_options: Vec::new() }
    }
}

/// All DHCPv6 messages of the generator, complete except for the changing bytes.
#[derive(Clone, Debug)]
pub struct Templates {
    requested: RequestedAssociations,
    extras: Dhcp6MessageExtras,
    /// Number of bytes of the relay's header and options before the client's message.
    at: usize,
    solicit: Vec<u8>,
    request_head: Vec<u8>,
}

/// Writes the beginning of a DHCPv6 message that all clients share: relay header and options if
/// relayed, message type, Client Identifier option.
fn head(
    writer: &mut ByteWriter<'_>,
    is_relayed: bool,
    extras: &Dhcp6MessageExtras,
    message_type: u8,
) {
    if is_relayed {
        writer.put(&[kind::RELAY_FORW, 0]).fill(0, 32).put(&extras.relay_options);
        writer.u16(code::RELAY_MSG).u16(0);
    }
    writer.put(&[message_type, 0, 0, 0]);
    writer.u16(code::CLIENT_ID).u16(extras.duid_len as u16).fill(0, extras.duid_len);
}

/// Writes `count` empty identity associations with the option code `option`.
fn write_empty_ias(writer: &mut ByteWriter<'_>, option: u16, count: u8) {
    for iaid in 1..=count {
        writer
            .u16(option)
            .u16(12)
            .u32(iaid.into())
            .u32(REQUESTED_TIMERS[0])
            .u32(REQUESTED_TIMERS[1]);
    }
}

/// Repeats an identity association of the ADVERTISE, without statuses and other options.
pub(crate) fn repeat(writer: &mut ByteWriter<'_>, ia: ReplyIa<'_>, item: u16) {
    let len: usize = ia.items().map(|value| 4 + value.len()).sum();
    writer.u16(ia.code()).u16(12 + len as u16).u32(ia.iaid).u32(ia.t1_s).u32(ia.t2_s);
    for value in ia.items() {
        writer.u16(item).u16(value.len() as u16).put(value);
    }
}

impl Templates {
    /// Builds the DHCPv6 messages of clients that request `ask`, through relays or without one.
    pub fn new(ask: RequestedAssociations, is_relayed: bool) -> Self {
        Self::with_extras(ask, is_relayed, Dhcp6MessageExtras::default())
    }

    /// Builds the DHCPv6 messages as [`Templates::new`] does, with `extras`, which must fit a
    /// frame.
    pub fn with_extras(
        ask: RequestedAssociations,
        is_relayed: bool,
        extras: Dhcp6MessageExtras,
    ) -> Self {
        let mut buffer = [0; 2_048];
        let mut writer = ByteWriter::new(&mut buffer);
        head(&mut writer, is_relayed, &extras, kind::SOLICIT);
        write_empty_ias(&mut writer, code::IA_NA, ask.addresses());
        // perfdhcp requests these two: name servers and domain list.
        writer.u16(code::ORO).u16(4).u16(23).u16(24);
        writer.u16(code::ELAPSED_TIME).u16(2).u16(0);
        if ask.rapid_commit {
            writer.u16(code::RAPID_COMMIT).u16(0);
        }
        write_empty_ias(&mut writer, code::IA_PD, ask.prefixes());
        writer.put(&extras.options);
        assert!(!writer.overflowed(), "a SOLICIT has less than 2,048 octets");
        let solicit = writer.written().to_vec();
        let mut writer = ByteWriter::new(&mut buffer);
        head(&mut writer, is_relayed, &extras, kind::REQUEST);
        let request_head = writer.written().to_vec();
        let at = request_head.len() - HEAD_LEN - extras.duid_len;
        Self { requested: ask, extras, at, solicit, request_head }
    }

    /// Returns the length of the longest DHCPv6 message of the generator, in bytes.
    pub fn message_bytes_max(&self) -> usize {
        let ias = usize::from(self.requested.addresses()) + usize::from(self.requested.prefixes());
        let options = self.extras.options.len();
        let request = self.request_head.len() + 4 + SERVER_ID_MAX + ELAPSED_LEN + ias * IA_ROOM;
        (request + options).max(self.solicit.len())
    }

    /// Returns true when a REQUEST of the generator can repeat the offer in `answer`.
    pub fn can_repeat(&self, answer: &Dhcp6Reply<'_>) -> bool {
        let ias: usize = answer.ias().map(|ia| 16 + ia.options.len()).sum();
        let count =
            usize::from(self.requested.addresses()) + usize::from(self.requested.prefixes());
        answer.server_id.is_none_or(|id| id.len() <= SERVER_ID_MAX) && ias <= count * IA_ROOM
    }

    /// Writes the SOLICIT of one exchange into `buffer`, which must have room for it, and returns
    /// its length in bytes.
    pub fn solicit(&self, buffer: &mut [u8], xid: u32, from: &MessageIdentity<'_>) -> usize {
        let len = self.solicit.len();
        buffer[..len].copy_from_slice(&self.solicit);
        self.patch(&mut buffer[..len], xid, from);
        len
    }

    /// Writes the message of type `message_type` that repeats the associations in `answer` — the
    /// REQUEST that takes up an ADVERTISE, the RENEW or RELEASE of a REPLY — into `buffer`, which
    /// must have [`Templates::message_bytes_max`] bytes. The message is for the server with
    /// identifier `server_id`, or any.
    pub fn request(
        &self,
        buffer: &mut [u8],
        message_type: u8,
        xid: u32,
        answer: &Dhcp6Reply<'_>,
        server_id: Option<&[u8]>,
        from: &MessageIdentity<'_>,
    ) -> usize {
        let mut writer = ByteWriter::new(buffer);
        writer.put(&self.request_head);
        if let Some(server_id) = server_id {
            writer.u16(code::SERVER_ID).u16(server_id.len() as u16).put(server_id);
        }
        for ia in answer.ias().filter(|ia| !ia.is_prefix) {
            repeat(&mut writer, ia, code::IAADDR);
        }
        writer.u16(code::ELAPSED_TIME).u16(2).u16(0);
        for ia in answer.ias().filter(|ia| ia.is_prefix) {
            repeat(&mut writer, ia, code::IAPREFIX);
        }
        writer.put(&self.extras.options);
        let len = self.finish(writer, xid, from);
        buffer[self.at] = message_type;
        len
    }

    /// Writes an INFORMATION-REQUEST (RFC 9915 §18.2.6) into `buffer` and returns its length in
    /// bytes.
    pub fn information(&self, buffer: &mut [u8], xid: u32, from: &MessageIdentity<'_>) -> usize {
        let mut writer = ByteWriter::new(buffer);
        writer.put(&self.request_head);
        writer.u16(code::ORO).u16(4).u16(23).u16(24);
        writer.u16(code::ELAPSED_TIME).u16(2).u16(0);
        writer.put(&self.extras.options);
        let len = self.finish(writer, xid, from);
        buffer[self.at] = kind::INFORMATION_REQUEST;
        len
    }

    /// Writes a REQUEST of the usual size with empty associations, instead of
    /// [`Templates::request`], because a plain responder sends no ADVERTISE.
    pub fn request_nothing(
        &self,
        buffer: &mut [u8],
        xid: u32,
        from: &MessageIdentity<'_>,
    ) -> usize {
        let mut writer = ByteWriter::new(buffer);
        writer.put(&self.request_head);
        writer.u16(code::SERVER_ID).u16(DUID_LEN as u16).fill(0, DUID_LEN);
        let mut nothing = |option: u16, count: u8, item: u16, item_len: usize| {
            for iaid in 1..=count {
                writer.u16(option).u16(16 + item_len as u16).u32(iaid.into());
                writer
                    .u32(REQUESTED_TIMERS[0])
                    .u32(REQUESTED_TIMERS[1])
                    .u16(item)
                    .u16(item_len as u16)
                    .fill(0, item_len);
            }
        };
        nothing(code::IA_NA, self.requested.addresses(), code::IAADDR, 24);
        nothing(code::IA_PD, self.requested.prefixes(), code::IAPREFIX, 25);
        writer.u16(code::ELAPSED_TIME).u16(2).u16(0);
        self.finish(writer, xid, from)
    }

    fn finish(&self, mut writer: ByteWriter<'_>, xid: u32, from: &MessageIdentity<'_>) -> usize {
        assert!(!writer.overflowed(), "a REQUEST fits its slot");
        let message = writer.written();
        self.patch(message, xid, from);
        message.len()
    }

    fn patch(&self, octets: &mut [u8], xid: u32, from: &MessageIdentity<'_>) {
        if self.at >= RELAY_HEADER_LEN {
            let len = (octets.len() - self.at) as u16;
            octets[LINK..LINK + 16].copy_from_slice(&from.link);
            octets[PEER..PEER + 16].copy_from_slice(&from.peer);
            octets[self.at - 2..self.at].copy_from_slice(&len.to_be_bytes());
        }
        let message = &mut octets[self.at..];
        message[XID..XID + 3].copy_from_slice(&xid.to_be_bytes()[1..]);
        message[HEAD_LEN..HEAD_LEN + self.extras.duid_len].copy_from_slice(from.duid);
    }

    /// Writes the time since the client began, in hundredths of a second, into a DHCPv6 message of
    /// any type.
    pub fn set_elapsed(&self, octets: &mut [u8], hundredths: u16) {
        let mut at = self.at + 4;
        while at + 4 <= octets.len() {
            let [code, len] =
                [at, at + 2].map(|at| u16::from_be_bytes([octets[at], octets[at + 1]]));
            if code == code::ELAPSED_TIME {
                octets[at + 4..at + 6].copy_from_slice(&hundredths.to_be_bytes());
                return;
            }
            at += 4 + usize::from(len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v6::client::{duid_of, peer_of};

    const RELAY_LEN: usize = RELAY_HEADER_LEN + 4;

    /// Messages that `perfdhcp` 2.2.0 sent from the relay 2001:db8:f::2 for an address and a
    /// prefix, and the ADVERTISE that Kea 2.2.0 sent, captured.
    const SOLICIT: &str = "0c0020010db8000f0000000000000000000220010db8000f00000000000000000002000900440100\
         00000001000e000100013294eb8f000c010203040003000c0000000100000e100000151800060004\
         001700180008000200000019000c0000000100000e1000001518";
    const ADVERTISE: &str = "0d0020010db8000f0000000000000000000220010db8000f000000000000000000020009007e0200\
         00000001000e000100013294eb8f000c010203040002000b0002000009bfc0ffee00010003002800\
         0000010000070800000b400005001820010db8000f0000000000000001000000000e1000001c2000\
         190029000000010000070800000b40001a001900000e1000001c203820010db88000000000000000\
         00000000";
    const REQUEST: &str = "0c0020010db8000f0000000000000000000220010db8000f00000000000000000002000900840300\
         00010001000e000100013294eb8f000c010203040002000b0002000009bfc0ffee00010003002800\
         0000010000070800000b400005001820010db8000f0000000000000001000000000e1000001c2000\
         080002000000190029000000010000070800000b40001a001900000e1000001c203820010db88000\
         00000000000000000000";
    const ASK: RequestedAssociations =
        RequestedAssociations { na: true, pd: true, ias: 1, rapid_commit: false };
    const RELAY: [u8; 16] = [0x20, 1, 0x0d, 0xb8, 0, 0xf, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];

    /// Calls `act` as client 5 on the link [`RELAY`].
    fn as_client_5<R>(act: impl FnOnce(&MessageIdentity<'_>) -> R) -> R {
        act(&MessageIdentity { duid: &duid_of(5), peer: peer_of(5), link: RELAY })
    }

    fn octets(hex: &str) -> Vec<u8> {
        let digits = hex.as_bytes().chunks(2);
        digits.map(|d| u8::from_str_radix(str::from_utf8(d).unwrap(), 16).unwrap()).collect()
    }

    /// Returns a captured message as client 5 would send or get it: with other peer address and
    /// DUID.
    fn of_client_5(hex: &str) -> Vec<u8> {
        let mut octets = octets(hex);
        octets[PEER..PEER + 16].copy_from_slice(&peer_of(5));
        octets[RELAY_LEN + 8..RELAY_LEN + 8 + DUID_LEN].copy_from_slice(&duid_of(5));
        octets
    }

    #[test]
    fn both_messages_are_those_that_perfdhcp_sends() {
        let templates = Templates::new(ASK, true);
        let mut buffer = vec![0xff; templates.message_bytes_max()];
        let len = as_client_5(|from| templates.solicit(&mut buffer, 0, from));
        assert_eq!(buffer[..len], of_client_5(SOLICIT));
        let advertise = of_client_5(ADVERTISE);
        let answer = Dhcp6Reply::read(&advertise).unwrap();
        assert!(templates.can_repeat(&answer));
        let len = as_client_5(|from| {
            let server_id = answer.server_id.unwrap();
            templates.request(&mut buffer, kind::REQUEST, 1, &answer, Some(server_id), from)
        });
        assert_eq!(buffer[..len], of_client_5(REQUEST));
    }

    #[test]
    fn bare_messages_lack_the_relay_and_nothing_else() {
        let templates = Templates::new(ASK, false);
        let mut buffer = vec![0xff; templates.message_bytes_max()];
        let len = as_client_5(|from| templates.solicit(&mut buffer, 0, from));
        assert_eq!(buffer[..len], of_client_5(SOLICIT)[RELAY_LEN..]);
        assert_eq!(
            Templates::new(RequestedAssociations::ADDRESS, false).solicit.len(),
            52,
            "perfdhcp's"
        );
    }

    #[test]
    fn a_request_about_nothing_is_as_long_as_a_real_one() {
        let templates = Templates::new(ASK, true);
        let mut buffer = vec![0xff; templates.message_bytes_max()];
        let len = as_client_5(|from| templates.request_nothing(&mut buffer, 1, from));
        // Kea's DUID-EN here is three bytes shorter than the DUID-LLT of the stand-in.
        assert_eq!(len, octets(REQUEST).len() + 3);
        let answer = Dhcp6Reply::read(&buffer[..len]).unwrap();
        assert_eq!((answer.kind, answer.ias().count()), (kind::REQUEST, 2));
    }

    #[test]
    fn the_longest_offer_that_can_be_repeated_fits() {
        let ask = RequestedAssociations { ias: 8, ..ASK };
        let templates = Templates::new(ask, true);
        let mut buffer = vec![0; templates.message_bytes_max()];
        assert!(buffer.len() <= 1_452, "fits a frame: {}", buffer.len());
        let build = |addresses: u8, id_len: usize| {
            let mut octets = [0; 2_048];
            let mut writer = ByteWriter::new(&mut octets);
            writer.put(&[kind::ADVERTISE, 0, 0, 2]);
            writer.u16(code::SERVER_ID).u16(id_len as u16).fill(7, id_len);
            for iaid in 1..=16 {
                let len = 12 + 28 * u16::from(addresses);
                writer.u16(code::IA_NA).u16(len).u32(iaid).u32(1).u32(2);
                for _ in 0..addresses {
                    writer.u16(code::IAADDR).u16(24).fill(9, 24);
                }
            }
            writer.written().to_vec()
        };
        let longest = build(2, 130);
        let answer = Dhcp6Reply::read(&longest).unwrap();
        assert!(templates.can_repeat(&answer));
        let len = as_client_5(|from| {
            let server_id = answer.server_id.unwrap();
            templates.request(&mut buffer, kind::REQUEST, 1, &answer, Some(server_id), from)
        });
        assert_eq!(len, templates.message_bytes_max());
        for too_long in [build(3, 130), build(2, 131)] {
            assert!(!templates.can_repeat(&Dhcp6Reply::read(&too_long).unwrap()));
        }
    }
}
