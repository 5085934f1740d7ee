//! Replies: what one says, and its octets.
//!
//! RFC 2131 §4.3.1 table 3 for the fields, RFC 2132 for the options, RFC 3046 §2.2 for echoing
//! relay information, RFC 6842 for echoing the client identifier.

use core::net::Ipv4Addr;

use dhcp_lease::v4::lease::INFINITE_LIFETIME_S;
use dhcp_wire::v4::{Header, Message, MessageType, MessageWriter, NoRoom, OptionValue, option};

use super::snapshot::Subnet;
use super::transaction::Transaction;
use super::vendor;
use crate::classify::ClassSet;
use crate::links::PoolPlace;
use crate::options::{self, CodeSet, ScopeOptions, Wanted};
use crate::prefixes::SubnetIndex;

/// Shortest reply, octets of UDP payload: BOOTP's vend field filled up (RFC 1542 §2.1).
const REPLY_LEN_MIN: usize = 300;
/// Largest message every client must take (RFC 2131 §2), octets of UDP payload without headers.
const MESSAGE_LEN_MIN: usize = 548;
/// Options that replies carry even when the client does not ask (Kea reference §1.4).
const ALWAYS_SENT: CodeSet = CodeSet::of(&[
    option::ROUTER as u16,
    option::DOMAIN_NAME_SERVER as u16,
    option::DOMAIN_NAME as u16,
]);
/// Options that the transaction writes itself; a configured one of these codes is not added.
const WRITTEN_BY_US: CodeSet = CodeSet::of(&[
    option::SUBNET_MASK as u16,
    option::HOST_NAME as u16,
    option::LEASE_TIME as u16,
    option::MESSAGE_TYPE as u16,
    option::SERVER_IDENTIFIER as u16,
    option::RENEWAL_TIME as u16,
    option::REBINDING_TIME as u16,
    option::CLIENT_ID as u16,
    option::RELAY_AGENT_INFORMATION as u16,
]);

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
        let snapshot = transaction.snapshot;
        let scopes = || {
            let pool = self.terms.place.map(|place| snapshot.pool_options(place.pool));
            let around = [Some(&subnet.options), snapshot.network_options(subnet)];
            let global = Some(&snapshot.options);
            [pool].into_iter().chain(around).chain([global]).flatten()
        };
        put_configured(transaction.message(), scopes, &ClassSet::default(), writer);
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

/// The configured options that the client asked for, and those that are always sent. The scopes
/// come in order of precedence.
fn put_configured<'l, L: Iterator<Item = &'l ScopeOptions<u8>>>(
    message: &Message<'_>,
    scopes: impl Fn() -> L,
    classes: &ClassSet,
    writer: &mut MessageWriter<'_>,
) {
    let asked = message.parameter_request_list();
    let wanted = Wanted {
        asked: asked.iter().flat_map(OptionValue::octets),
        unasked: ALWAYS_SENT,
        withheld: WRITTEN_BY_US,
        classes,
    };
    let mut writer = vendor::Options::new(writer);
    options::put_all(scopes, &wanted, &vendor::query(message), &mut writer);
}
