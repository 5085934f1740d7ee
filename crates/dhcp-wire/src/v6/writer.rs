//! Writer of a DHCPv6 message into the caller's buffer.

use core::net::Ipv6Addr;

use super::ia::excluded_octets;
use super::relay_writer::put_option;
use super::{IaKind, MessageType, NoRoom, Packet, RelayWriter, StatusCode, option};

/// DHCPv6 message being written. When a part does not fit, [`MessageWriter::finish`] fails, so a
/// chain of writes needs one check at the end. Options appear in the order given.
#[derive(Debug)]
pub struct MessageWriter<'b> {
    levels: RelayWriter<'b>,
    /// Number of options that the caller has begun and not ended.
    open_count: usize,
}

/// Handle of an option that was begun: the option contains the bytes written until
/// [`MessageWriter::end`].
#[derive(Debug)]
#[must_use = "an option that was begun has to be ended"]
pub struct Mark {
    /// Offset of the option's length field in the packet.
    at: usize,
    /// Number of options that were open when this one was begun.
    outer_count: usize,
}

impl<'b> MessageWriter<'b> {
    /// Creates a writer and begins a DHCPv6 message in `buffer`, from its 24-bit transaction
    /// identifier on.
    pub fn new(buffer: &'b mut [u8], message_type: MessageType, transaction_id: u32) -> Self {
        RelayWriter::reply(buffer).message(message_type, transaction_id)
    }

    /// Creates a writer and begins in `buffer` a reply to `packet` with its transaction identifier,
    /// in a RELAY-REPL for each RELAY-FORW of the packet ([`RelayWriter::reply_to`]).
    pub fn reply_to(buffer: &'b mut [u8], packet: &Packet<'_>, message_type: MessageType) -> Self {
        let transaction_id = packet.message().transaction_id();
        RelayWriter::reply_to(buffer, packet).message(message_type, transaction_id)
    }

    pub(super) const fn inside(levels: RelayWriter<'b>) -> Self {
        Self { levels, open_count: 0 }
    }

    /// Appends the option `code` with `value`.
    pub fn option(&mut self, code: u16, value: &[u8]) -> &mut Self {
        put_option(&mut self.levels.writer, code, value);
        self
    }

    /// Appends the option `code` with a number of two bytes.
    pub fn option_u16(&mut self, code: u16, value: u16) -> &mut Self {
        self.option(code, &value.to_be_bytes())
    }

    /// Appends the option `code` with a number of four bytes.
    pub fn option_u32(&mut self, code: u16, value: u32) -> &mut Self {
        self.option(code, &value.to_be_bytes())
    }

    /// Begins an option `code` that contains all that is written until its [`MessageWriter::end`].
    pub fn begin(&mut self, code: u16) -> Mark {
        self.begin_with(code, [])
    }

    /// Begins an option `code` whose first bytes are `parts`.
    #[inline]
    fn begin_with<const PARTS: usize>(&mut self, code: u16, parts: [&[u8]; PARTS]) -> Mark {
        let outer_count = self.open_count;
        self.open_count += 1;
        let at = self.levels.writer.len() + 2;
        let [high, low] = code.to_be_bytes();
        self.levels.writer.all([&[high, low, 0, 0]]).all(parts);
        Mark { at, outer_count }
    }

    /// Ends the option that returned `mark`.
    ///
    /// # Panics
    ///
    /// Panics when an option that was begun in it has not ended.
    pub fn end(&mut self, mark: Mark) -> &mut Self {
        assert_eq!(self.open_count, mark.outer_count + 1, "options end in reverse order");
        self.open_count = mark.outer_count;
        if !self.levels.writer.overflowed() {
            let len = self.levels.writer.len() - mark.at - 2;
            let field = &mut self.levels.writer.written()[mark.at..mark.at + 2];
            field.copy_from_slice(&(len as u16).to_be_bytes());
        }
        self
    }

    /// Appends bytes to the option that was begun last.
    pub fn octets(&mut self, octets: &[u8]) -> &mut Self {
        self.levels.writer.put(octets);
        self
    }

    /// Begins an identity association (IA_NA, IA_TA or IA_PD) of the given kind. T1 and T2, in
    /// seconds, are left out of an IA_TA.
    #[inline]
    pub fn ia(&mut self, kind: IaKind, iaid: u32, t1_s: u32, t2_s: u32) -> Mark {
        let iaid = iaid.to_be_bytes();
        if kind == IaKind::Ta {
            return self.begin_with(kind.code(), [&iaid]);
        }
        self.begin_with(kind.code(), [&iaid, &t1_s.to_be_bytes(), &t2_s.to_be_bytes()])
    }

    /// Appends an address to the identity association that was begun last. Lifetimes are in
    /// seconds.
    pub fn ia_address(&mut self, address: Ipv6Addr, preferred_s: u32, valid_s: u32) -> &mut Self {
        let mark = self.begin_ia_address(address, preferred_s, valid_s);
        self.end(mark)
    }

    /// Begins an address with options, such as a Status Code, in an identity association; lifetimes
    /// are in seconds.
    #[inline]
    pub fn begin_ia_address(&mut self, address: Ipv6Addr, preferred_s: u32, valid_s: u32) -> Mark {
        let lifetimes = [preferred_s, valid_s].map(u32::to_be_bytes);
        self.begin_with(option::IAADDR, [&address.octets(), &lifetimes[0], &lifetimes[1]])
    }

    /// Appends a prefix of `len` bits to the IA_PD that was begun last. Lifetimes are in seconds.
    pub fn ia_prefix(
        &mut self,
        prefix: Ipv6Addr,
        len: u8,
        preferred_s: u32,
        valid_s: u32,
    ) -> &mut Self {
        let mark = self.begin_ia_prefix(prefix, len, preferred_s, valid_s);
        self.end(mark)
    }

    /// Begins a prefix in an IA_PD that has options, such as PD Exclude (option 67); lifetimes are
    /// in seconds.
    pub fn begin_ia_prefix(
        &mut self,
        prefix: Ipv6Addr,
        len: u8,
        preferred_s: u32,
        valid_s: u32,
    ) -> Mark {
        let lifetimes = [preferred_s, valid_s].map(u32::to_be_bytes);
        let parts: [&[u8]; 4] = [&lifetimes[0], &lifetimes[1], &[len], &prefix.octets()];
        self.begin_with(option::IAPREFIX, parts)
    }

    /// Appends PD Exclude (option 67, RFC 6603 §4.2) to a prefix of `delegated_len` bits that was
    /// begun: the prefix that is excluded from it.
    ///
    /// # Panics
    ///
    /// Panics when `excluded_len` is not above `delegated_len` or is above 128.
    pub fn pd_exclude(
        &mut self,
        delegated_len: u8,
        excluded: Ipv6Addr,
        excluded_len: u8,
    ) -> &mut Self {
        assert!(delegated_len < excluded_len && excluded_len <= 128, "a prefix inside of another");
        let mut value = [excluded_len; 17];
        let unused = 128 - excluded_len;
        let subnet = u128::from(excluded) >> unused << unused << delegated_len;
        value[1..].copy_from_slice(&subnet.to_be_bytes());
        self.option(option::PD_EXCLUDE, &value[..1 + excluded_octets(delegated_len, excluded_len)])
    }

    /// Appends Status Code (option 13), with its text, to the message or to the option that was
    /// begun last.
    pub fn status(&mut self, code: StatusCode, text: &str) -> &mut Self {
        let mark = self.begin(option::STATUS_CODE);
        self.levels.writer.u16(code.code()).put(text.as_bytes());
        self.end(mark)
    }

    /// Returns the number of bytes written so far, relay levels included.
    pub const fn len(&self) -> usize {
        self.levels.writer.len()
    }

    /// Returns false: a packet being written has a message type at least.
    pub const fn is_empty(&self) -> bool {
        self.levels.writer.is_empty()
    }

    /// Returns the number of bytes that still fit into the buffer.
    pub const fn free_bytes(&self) -> usize {
        self.levels.writer.room()
    }

    /// Ends the message and returns the length of the packet in bytes.
    ///
    /// # Errors
    ///
    /// Returns [`NoRoom`] when any written part did not fit.
    ///
    /// # Panics
    ///
    /// Panics when an option was begun and not ended.
    pub fn finish(&mut self) -> Result<usize, NoRoom> {
        assert_eq!(self.open_count, 0, "every option that was begun has ended");
        self.levels.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{IaPrefix, Packet};
    use super::*;

    const LINK: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 1);
    const PEER: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 9);

    fn solicit(buffer: &mut [u8]) -> usize {
        let mut writer = RelayWriter::forward(buffer)
            .level(1, Ipv6Addr::UNSPECIFIED, LINK)
            .level(0, LINK, PEER)
            .option(option::INTERFACE_ID, b"port 7")
            .option(option::RELAY_PORT, &[0; 2])
            .option(option::REMOTE_ID, b"\0\0\0\x09who")
            .message(MessageType::Solicit, 0xab12_3456);
        writer.option(option::CLIENTID, &[0, 3, 0, 1, 2, 0, 0x5e, 0, 0, 1]);
        let mark = writer.ia(IaKind::Na, 7, 1, 2);
        writer.ia_address(LINK, 3, 4).end(mark);
        let mark = writer.ia(IaKind::Ta, 8, 1, 2);
        writer.end(mark).option(option::ORO, &[0, 23, 0, 24]);
        writer.finish().unwrap()
    }

    #[test]
    fn answers_mirror_the_levels_of_the_packet() {
        let (mut buffer, mut answer) = ([0xee; 400], [0xee; 400]);
        let len = solicit(&mut buffer);
        let packet = Packet::parse(&buffer[..len]).unwrap();
        let mut writer = MessageWriter::reply_to(&mut answer, &packet, MessageType::Reply);
        let len = writer.status(StatusCode::NotOnLink, "no").finish().unwrap();
        assert_eq!(writer.finish(), Ok(len), "again the same");
        let again = Packet::parse(&answer[..len]).unwrap();
        assert_eq!(again.relay_type(), Some(MessageType::RelayRepl));
        assert_eq!(again.message().message_type(), MessageType::Reply);
        assert_eq!(again.message().transaction_id(), 0x12_3456);
        assert_eq!(again.message().status(), Some((4, &b"no"[..])));
        assert_eq!(again.relay_count(), 2);
        for (theirs, ours) in packet.relays().zip(again.relays()) {
            assert_eq!(theirs.hop_count, ours.hop_count);
            assert_eq!(theirs.link_address, ours.link_address);
            assert_eq!(theirs.peer_address, ours.peer_address);
            assert_eq!(theirs.interface_id(), ours.interface_id());
            assert_eq!(theirs.relay_port(), ours.relay_port());
            assert_eq!(ours.remote_id(), None, "only for servers");
        }
        assert_eq!(again.relay(1).interface_id(), Some(&b"port 7"[..]));
        assert_eq!(packet.relay(1).remote_id(), Some((9, &b"who"[..])));
    }

    #[test]
    fn an_answer_in_a_buffer_of_any_size_fits_or_fails() {
        let mut buffer = [0; 400];
        let len = solicit(&mut buffer);
        for room in 0..400 {
            let mut small = [0; 400];
            let mut writer = RelayWriter::forward(&mut small[..room])
                .level(0, LINK, PEER)
                .message(MessageType::Solicit, 1);
            let mark = writer.ia(IaKind::Pd, 1, 2, 3);
            let len = writer.ia_prefix(LINK, 64, 1, 2).end(mark).finish();
            assert_eq!(len.is_ok(), room >= 34 + 4 + 4 + 16 + 29, "{room}");
            let carried = RelayWriter::forward(&mut small[..room]).level(2, LINK, PEER);
            assert_eq!(
                carried.carry(&buffer[..len.unwrap_or(3)]).is_ok(),
                room >= 38 + len.unwrap_or(3)
            );
        }
        assert!(len > 0);
    }

    #[test]
    fn excluded_prefixes_are_read_as_written() {
        let delegated = Ipv6Addr::new(0x2001, 0xdb8, 0xff, 0, 0, 0, 0, 0);
        for (delegated_len, excluded, excluded_len, value) in [
            (48, Ipv6Addr::new(0x2001, 0xdb8, 0xff, 0x8001, 0, 0, 0, 0), 64, &[64, 0x80, 1][..]),
            (47, Ipv6Addr::new(0x2001, 0xdb8, 0xff, 0x8000, 0, 0, 0, 0), 49, &[49, 0xc0]),
            (48, Ipv6Addr::new(0x2001, 0xdb8, 0xff, 0x8010, 0, 0, 0, 0), 60, &[60, 0x80, 0x10]),
            (120, Ipv6Addr::new(0x2001, 0xdb8, 0xff, 0, 0, 0, 0, 1), 128, &[128, 1]),
        ] {
            let mut buffer = [0; 200];
            let mut writer = MessageWriter::new(&mut buffer, MessageType::Reply, 1);
            let ia = writer.ia(IaKind::Pd, 1, 0, 0);
            let prefix = writer.begin_ia_prefix(delegated, delegated_len, 1, 2);
            // Bits after the excluded prefix do not belong to it.
            let stray = u128::from(excluded) | (1 << (128 - excluded_len)) >> 1;
            writer.pd_exclude(delegated_len, stray.into(), excluded_len);
            let len = writer.end(prefix).end(ia).finish().unwrap();
            let packet = Packet::parse(&buffer[..len]).unwrap();
            let ia = packet.message().ias().next().unwrap();
            let prefix: IaPrefix<'_> = ia.prefixes().next().unwrap();
            assert_eq!(prefix.options.get(option::PD_EXCLUDE), Some(value));
            assert_eq!(prefix.excluded(), Some((excluded, excluded_len)), "{delegated_len}");
        }
    }

    #[test]
    #[should_panic(expected = "every option that was begun has ended")]
    fn an_option_that_was_not_ended_is_a_mistake() {
        let mut buffer = [0; 200];
        let mut writer = MessageWriter::new(&mut buffer, MessageType::Reply, 1);
        let _ = writer.ia(IaKind::Na, 1, 0, 0);
        let _ = writer.finish();
    }

    #[test]
    #[should_panic(expected = "options end in reverse order")]
    fn options_that_end_in_the_wrong_order_are_a_mistake() {
        let mut buffer = [0; 200];
        let mut writer = MessageWriter::new(&mut buffer, MessageType::Reply, 1);
        let outer = writer.ia(IaKind::Na, 1, 0, 0);
        let _inner = writer.begin_ia_address(LINK, 1, 2);
        writer.end(outer);
    }
}
