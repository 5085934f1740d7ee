//! Writer of the RELAY-FORW and RELAY-REPL that DHCPv6 relay agents and servers put around a
//! message.

use core::net::Ipv6Addr;

use base::ByteWriter;

use super::layout::MESSAGE_MAX;
use super::{MessageType, MessageWriter, NoRoom, Packet, option};

/// DHCPv6 packet being written: relay levels (RELAY-FORW or RELAY-REPL), the outermost first, then
/// the message in them.
#[derive(Debug)]
pub struct RelayWriter<'b> {
    pub(super) writer: ByteWriter<'b>,
    relay_type: MessageType,
    /// Offset of the length of the innermost Relay Message option; 0 = outside of all relay levels.
    /// Each such length leads to that of the level around it until the message is finished.
    innermost: usize,
    is_open: bool,
}

impl<'b> RelayWriter<'b> {
    /// Begins in `buffer` a DHCPv6 packet from a relay agent to a server: its relay levels are
    /// RELAY-FORW.
    pub fn forward(buffer: &'b mut [u8]) -> Self {
        Self::begin(buffer, MessageType::RelayForw)
    }

    /// Begins in `buffer` a DHCPv6 packet from a server to a relay agent: its relay levels are
    /// RELAY-REPL.
    pub fn reply(buffer: &'b mut [u8]) -> Self {
        Self::begin(buffer, MessageType::RelayRepl)
    }

    fn begin(buffer: &'b mut [u8], relay_type: MessageType) -> Self {
        let len = buffer.len().min(MESSAGE_MAX);
        let writer = ByteWriter::new(&mut buffer[..len]);
        Self { writer, relay_type, innermost: 0, is_open: false }
    }

    /// Begins in `buffer` the relay levels of a reply to `packet` (RFC 9915 §19.3): hop count, link
    /// and peer address of every level, its Interface-Id and Relay Source Port (RFC 8357 §5.2).
    pub fn reply_to(buffer: &'b mut [u8], packet: &Packet<'_>) -> Self {
        packet.relays().fold(Self::reply(buffer), |levels, relay| {
            let mut levels = levels.level(relay.hop_count, relay.link_address, relay.peer_address);
            for code in [option::INTERFACE_ID, option::RELAY_PORT] {
                if let Some(value) = relay.options.get(code) {
                    levels = levels.option(code, value);
                }
            }
            levels
        })
    }

    /// Begins a relay level inside of those already begun.
    #[must_use]
    pub fn level(mut self, hop_count: u8, link_address: Ipv6Addr, peer_address: Ipv6Addr) -> Self {
        self.close();
        let head = [self.relay_type.code(), hop_count];
        self.writer.all([&head, &link_address.octets(), &peer_address.octets()]);
        self.is_open = true;
        self
    }

    /// Appends an option to the innermost relay level.
    ///
    /// # Panics
    ///
    /// Panics when there is no level.
    #[must_use]
    pub fn option(mut self, code: u16, value: &[u8]) -> Self {
        assert!(self.is_open, "options of a relay agent belong into a level");
        put_option(&mut self.writer, code, value);
        self
    }

    /// Ends the relay levels and begins the message in them.
    #[must_use]
    pub fn message(mut self, message_type: MessageType, transaction_id: u32) -> MessageWriter<'b> {
        self.close();
        self.writer.u32(u32::from(message_type.code()) << 24 | transaction_id & 0x00ff_ffff);
        MessageWriter::inside(self)
    }

    /// Ends the relay levels with a message that is already written, which may have relay levels
    /// itself, as a relay agent does. Returns the length of the packet.
    ///
    /// # Errors
    ///
    /// Returns [`NoRoom`] when any part did not fit.
    pub fn carry(mut self, message: &[u8]) -> Result<usize, NoRoom> {
        self.close();
        self.writer.put(message);
        self.finish()
    }

    /// Ends the innermost relay level, if one is open, with the code of a Relay Message option and
    /// room for its length.
    fn close(&mut self) {
        if self.is_open {
            let outer = self.innermost as u16;
            self.innermost = self.writer.len() + 2;
            self.writer.all([&option::RELAY_MSG.to_be_bytes(), &outer.to_be_bytes()]);
            self.is_open = false;
        }
    }

    /// Sets the lengths of all relay levels and returns the length of the packet in bytes.
    pub(super) fn finish(&mut self) -> Result<usize, NoRoom> {
        if self.writer.overflowed() {
            return Err(NoRoom);
        }
        let written = self.writer.written();
        let mut at = core::mem::take(&mut self.innermost);
        while at != 0 {
            let len = (written.len() - at - 2) as u16;
            let field = &mut written[at..at + 2];
            at = usize::from(u16::from_be_bytes([field[0], field[1]]));
            field.copy_from_slice(&len.to_be_bytes());
        }
        Ok(written.len())
    }
}

/// Appends a DHCPv6 option with its code and length. The writer's buffer is never longer than a
/// length field can represent.
pub(super) fn put_option(writer: &mut ByteWriter<'_>, code: u16, value: &[u8]) {
    writer.all([&code.to_be_bytes(), &(value.len() as u16).to_be_bytes(), value]);
}
