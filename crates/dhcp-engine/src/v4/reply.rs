//! Replies: what one says, and its octets.
//!
//! RFC 2131 §4.3.1 table 3 for the fields, RFC 2132 for the options, RFC 3046 §2.2 for echoing
//! relay information, RFC 6842 for echoing the client identifier.

use core::net::Ipv4Addr;

use dhcp_lease::v4::lease::INFINITE_LIFETIME_S;
use dhcp_wire::v4::{Header, Message, MessageType, MessageWriter, NoRoom, option};

use super::snapshot::Subnet;
use super::transaction::Transaction;
use crate::links::PoolPlace;
use crate::prefixes::SubnetIndex;
use crate::send_option::{self, SendOption};

/// Shortest reply, octets of UDP payload: BOOTP's vend field filled up (RFC 1542 §2.1).
const REPLY_LEN_MIN: usize = 300;
/// Largest message every client must take (RFC 2131 §2), octets of UDP payload without headers.
const MESSAGE_LEN_MIN: usize = 548;
/// Options that replies carry even when the client does not ask (Kea reference §1.4).
const ALWAYS_SENT: [u8; 3] = [option::ROUTER, option::DOMAIN_NAME_SERVER, option::DOMAIN_NAME];
/// Options that the transaction writes itself; a configured one of these codes is not added.
const WRITTEN_BY_US: [u8; 9] = [
    option::SUBNET_MASK,
    option::HOST_NAME,
    option::LEASE_TIME,
    option::MESSAGE_TYPE,
    option::SERVER_IDENTIFIER,
    option::RENEWAL_TIME,
    option::REBINDING_TIME,
    option::CLIENT_ID,
    option::RELAY_AGENT_INFORMATION,
];

/// The kinds of reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyKind {
    /// DHCPOFFER.
    Offer,
    /// DHCPACK of a lease.
    Ack,
    /// DHCPACK of an INFORM: parameters only.
    InformAck,
    /// DHCPNAK.
    Nak,
}

/// What is granted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// Kind of reply.
    pub kind: ReplyKind,
    /// `yiaddr`.
    pub address: Ipv4Addr,
    /// Seconds granted.
    pub lifetime_s: u32,
    /// Pool and subnet of the address.
    pub place: Option<PoolPlace>,
}

impl Terms {
    /// The terms of a reply that grants no address.
    #[must_use]
    pub const fn without_address(kind: ReplyKind) -> Self {
        Self { kind, address: Ipv4Addr::UNSPECIFIED, lifetime_s: 0, place: None }
    }
}

/// A decided reply.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reply {
    /// What it grants.
    pub terms: Terms,
    /// Subnet that the message was selected into.
    pub subnet: SubnetIndex,
    /// Our identifier.
    pub server_id: Ipv4Addr,
    /// It may leave once this row epoch is settled; 0: at once.
    pub gate_epoch: u64,
}

impl Reply {
    /// Writes the reply into `buffer` and gives its length.
    ///
    /// # Errors
    ///
    /// When it does not fit the buffer or the client's maximum message size.
    pub fn emit(&self, transaction: &Transaction<'_>, buffer: &mut [u8]) -> Result<usize, NoRoom> {
        let message = transaction.message();
        let subnet_index = self.terms.place.map_or(self.subnet, |place| place.subnet);
        let subnet = transaction.snapshot.subnet(subnet_index);
        let limit = buffer.len().min(room_for(message));
        let mut writer = MessageWriter::new(&mut buffer[..limit], &self.header(message, subnet));
        if self.terms.kind != ReplyKind::Nak {
            writer.sname(&subnet.server_hostname).file(&subnet.boot_file_name);
            writer.allow_overload(true);
        }
        writer.option(option::MESSAGE_TYPE, &[self.message_type().code()]);
        writer.option(option::SERVER_IDENTIFIER, &self.server_id.octets());
        if self.terms.kind != ReplyKind::Nak {
            self.put_parameters(transaction, subnet, &mut writer);
        }
        if transaction.snapshot.echo_client_id
            && let Some(id) = transaction.identity.client_id
        {
            writer.option(option::CLIENT_ID, id);
        }
        if let Some(information) = message.relay_agent_information() {
            writer.option_value(option::RELAY_AGENT_INFORMATION, information);
        }
        writer.finish(REPLY_LEN_MIN)
    }

    const fn message_type(&self) -> MessageType {
        match self.terms.kind {
            ReplyKind::Offer => MessageType::Offer,
            ReplyKind::Ack | ReplyKind::InformAck => MessageType::Ack,
            ReplyKind::Nak => MessageType::Nak,
        }
    }

    fn header(&self, message: &Message<'_>, subnet: &Subnet) -> Header {
        let is_nak = self.terms.kind == ReplyKind::Nak;
        let mut chaddr = [0; 16];
        chaddr[..message.chaddr().len()].copy_from_slice(message.chaddr());
        let flags = if is_nak && !message.giaddr().is_unspecified() {
            // RFC 2131 §4.3.2: the relay must broadcast a NAK, the client's address is wrong.
            message.flags() | 0x8000
        } else {
            message.flags()
        };
        let keeps_client_address = matches!(self.terms.kind, ReplyKind::Ack | ReplyKind::InformAck);
        Header {
            op: 2,
            htype: message.htype(),
            hlen: message.hlen(),
            hops: message.hops(),
            xid: message.xid(),
            secs: 0,
            flags,
            ciaddr: if keeps_client_address { message.ciaddr() } else { Ipv4Addr::UNSPECIFIED },
            yiaddr: self.terms.address,
            siaddr: if is_nak { Ipv4Addr::UNSPECIFIED } else { subnet.next_server },
            giaddr: message.giaddr(),
            chaddr,
        }
    }

    fn put_parameters(
        &self,
        transaction: &Transaction<'_>,
        subnet: &Subnet,
        writer: &mut MessageWriter<'_>,
    ) {
        if self.terms.kind != ReplyKind::InformAck {
            let lifetime_s = self.terms.lifetime_s;
            writer.option(option::LEASE_TIME, &lifetime_s.to_be_bytes());
            let (renew_s, rebind_s) = timers(subnet, lifetime_s);
            if let Some(seconds) = renew_s {
                writer.option(option::RENEWAL_TIME, &seconds.to_be_bytes());
            }
            if let Some(seconds) = rebind_s {
                writer.option(option::REBINDING_TIME, &seconds.to_be_bytes());
            }
        }
        writer.option(option::SUBNET_MASK, &subnet.mask.octets());
        let host_name = transaction.host_name.as_str();
        if !host_name.is_empty() {
            writer.option(option::HOST_NAME, host_name.as_bytes());
        }
        let pool_options = match self.terms.place {
            Some(place) => transaction.snapshot.pool_options(place.pool),
            None => &[],
        };
        put_configured(transaction.message(), [pool_options, &subnet.options], writer);
    }
}

/// T1 and T2 (Kea reference §5.8): explicit ones when they are in order, else calculated ones when
/// that is switched on. None of an infinite lease.
fn timers(subnet: &Subnet, lifetime_s: u32) -> (Option<u32>, Option<u32>) {
    if lifetime_s == INFINITE_LIFETIME_S {
        return (None, None);
    }
    let part = |part: f64| (f64::from(lifetime_s) * part) as u32;
    let rebind_s = subnet
        .rebind_timer_s
        .or_else(|| subnet.tee_parts.map(|(_, t2)| part(t2)))
        .filter(|&t2| t2 < lifetime_s);
    let renew_s = subnet
        .renew_timer_s
        .or_else(|| subnet.tee_parts.map(|(t1, _)| part(t1)))
        .filter(|&t1| t1 < rebind_s.unwrap_or(lifetime_s));
    (renew_s, rebind_s)
}

/// Octets that the client takes: option 57 counts IP and UDP headers as well (RFC 2132 §9.10).
fn room_for(message: &Message<'_>) -> usize {
    let asked = message.max_message_size().map_or(0, |size| usize::from(size).saturating_sub(28));
    asked.max(if message.max_message_size().is_some() { MESSAGE_LEN_MIN } else { usize::MAX })
}

/// The configured options that the client asked for, and those that are always sent. The first
/// list that has a code wins.
fn put_configured(
    message: &Message<'_>,
    lists: [&[SendOption<u8>]; 2],
    writer: &mut MessageWriter<'_>,
) {
    let mut done = [0_u64; 4];
    for code in WRITTEN_BY_US {
        done[usize::from(code >> 6)] |= 1 << (code & 63);
    }
    let mut put = |code: u8, writer: &mut MessageWriter<'_>| {
        let word = &mut done[usize::from(code >> 6)];
        if *word & (1 << (code & 63)) != 0 {
            return;
        }
        *word |= 1 << (code & 63);
        if let Some(entry) = send_option::find(&lists, code)
            && !entry.is_never_sent
        {
            writer.option(code, &entry.octets);
        }
    };
    if let Some(wanted) = message.parameter_request_list() {
        wanted.octets().for_each(|code| put(code, writer));
    }
    ALWAYS_SENT.into_iter().for_each(|code| put(code, writer));
    for list in lists {
        list.iter().filter(|entry| entry.is_always_sent).for_each(|entry| put(entry.code, writer));
    }
}
