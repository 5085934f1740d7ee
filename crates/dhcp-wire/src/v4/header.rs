//! Fixed fields of a DHCPv4 message, as a value.

use core::net::Ipv4Addr;

use super::Message;
use super::layout::{CHADDR_AT, CHADDR_LEN, COOKIE, OPTIONS_AT};

/// Value of the field `op` in DHCPv4 messages from clients.
pub const BOOT_REQUEST: u8 = 1;
/// Value of the field `op` in DHCPv4 messages from servers.
pub const BOOT_REPLY: u8 = 2;
/// Broadcast bit, the only bit of the field `flags`: the client cannot receive unicast yet (RFC
/// 2131 §2).
pub const BROADCAST_FLAG: u16 = 0x8000;

/// Fixed fields of a DHCPv4 message (RFC 2131 §2), without `sname` and `file`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dhcp4Header {
    /// Operation of the message: [`BOOT_REQUEST`] or [`BOOT_REPLY`].
    pub op: u8,
    /// Type of the client's hardware address (1 = Ethernet).
    pub htype: u8,
    /// Number of bytes of the hardware address in `chaddr`, at most 16.
    pub hlen: u8,
    /// Number of relay agents that the message has passed.
    pub hops: u8,
    /// Transaction identifier, which the client chose.
    pub xid: u32,
    /// Seconds since the client began to get or renew its address.
    pub secs: u16,
    /// Flags of the message: [`BROADCAST_FLAG`] or 0.
    pub flags: u16,
    /// Address that the client already has and uses; 0.0.0.0 while it has none.
    pub ciaddr: Ipv4Addr,
    /// Address that the server leases to the client.
    pub yiaddr: Ipv4Addr,
    /// Address of the server from which the client loads its boot file; 0.0.0.0 = none.
    pub siaddr: Ipv4Addr,
    /// Address of the first relay agent that forwarded the message; 0.0.0.0 = none.
    pub giaddr: Ipv4Addr,
    /// Hardware address of the client, followed by zeros.
    pub chaddr: [u8; 16],
}

impl Default for Dhcp4Header {
    /// Returns the header of a request over Ethernet in which all other fields are 0.
    fn default() -> Self {
        Self {
            op: BOOT_REQUEST,
            htype: 1,
            hlen: 6,
            hops: 0,
            xid: 0,
            secs: 0,
            flags: 0,
            ciaddr: Ipv4Addr::UNSPECIFIED,
            yiaddr: Ipv4Addr::UNSPECIFIED,
            siaddr: Ipv4Addr::UNSPECIFIED,
            giaddr: Ipv4Addr::UNSPECIFIED,
            chaddr: [0; 16],
        }
    }
}

impl Dhcp4Header {
    /// Returns the fixed fields of `message`; bytes after the hardware address in `chaddr` become
    /// zero.
    pub fn from_message(message: &Message<'_>) -> Self {
        let mut chaddr = [0; 16];
        let hardware = message.chaddr();
        chaddr[..hardware.len()].copy_from_slice(hardware);
        Self {
            op: message.op(),
            htype: message.htype(),
            hlen: message.hlen(),
            hops: message.hops(),
            xid: message.xid(),
            secs: message.secs(),
            flags: message.flags(),
            ciaddr: message.ciaddr(),
            yiaddr: message.yiaddr(),
            siaddr: message.siaddr(),
            giaddr: message.giaddr(),
            chaddr,
        }
    }

    /// Writes the fixed fields, empty `sname` and `file`, and the magic cookie into `octets`.
    pub(super) fn write(&self, octets: &mut [u8; OPTIONS_AT]) {
        octets[..4].copy_from_slice(&[self.op, self.htype, self.hlen, self.hops]);
        octets[4..8].copy_from_slice(&self.xid.to_be_bytes());
        octets[8..10].copy_from_slice(&self.secs.to_be_bytes());
        octets[10..12].copy_from_slice(&self.flags.to_be_bytes());
        octets[12..16].copy_from_slice(&self.ciaddr.octets());
        octets[16..20].copy_from_slice(&self.yiaddr.octets());
        octets[20..24].copy_from_slice(&self.siaddr.octets());
        octets[24..28].copy_from_slice(&self.giaddr.octets());
        octets[CHADDR_AT..CHADDR_AT + CHADDR_LEN].copy_from_slice(&self.chaddr);
        octets[CHADDR_AT + CHADDR_LEN..OPTIONS_AT - COOKIE.len()].fill(0);
        octets[OPTIONS_AT - COOKIE.len()..].copy_from_slice(&COOKIE);
    }
}
