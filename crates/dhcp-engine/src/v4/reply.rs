//! Replies of DHCPv4: their content and their bytes.
//!
//! RFC 2131 §4.3.1 table 3 for the fields, RFC 2132 for the options, RFC 3046 §2.2 for echoing
//! relay information, RFC 6842 for echoing the client identifier.

use core::net::Ipv4Addr;

use dhcp_lease::v4::V4;
use dhcp_wire::v4::{
    BOOT_REPLY, BROADCAST_FLAG, Dhcp4Header, Message, MessageType, MessageWriter, NoRoom,
    OptionValue, encoded_len, option,
};

use super::claim::AddressLocation;
use super::hosts::BootTerms;
use super::snapshot::Subnet;
use super::transaction::Transaction;
use super::{DropReason, lifetime, vendor};
use crate::classify::ClassSet;
use crate::counters::ShardCounters;
use crate::omission::{Omission, Omissions};
use crate::options::{self, CodeSet, OptionSelection, ScopeOptions};
use crate::prefixes::SubnetIndex;

/// Length of the shortest DHCPv4 reply, in bytes of UDP payload: BOOTP's vend field filled up (RFC
/// 1542 §2.1).
const REPLY_LEN_MIN: usize = 300;
/// Length of the largest message that every client must accept (RFC 2131 §2), in bytes of UDP
/// payload without headers.
const MESSAGE_LEN_MIN: usize = 548;
/// Codes of the options that replies carry even when the client does not request them in option 55
/// (Kea reference §1.4).
const ALWAYS_SENT: CodeSet = CodeSet::from_codes(&[
    option::ROUTER as u16,
    option::DOMAIN_NAME_SERVER as u16,
    option::DOMAIN_NAME as u16,
    option::SERVER_IDENTIFIER as u16,
]);
/// Codes of the options that the transaction writes itself; configured ones with these codes are
/// not added.
const WRITTEN_BY_US: CodeSet = CodeSet::from_codes(&[
    option::LEASE_TIME as u16,
    option::MESSAGE_TYPE as u16,
    option::CLIENT_ID as u16,
    option::RELAY_AGENT_INFORMATION as u16,
    option::SUBNET_SELECTION as u16,
]);

/// Codes of the options that BOOTP clients do not get (RFC 1533 §9), in addition to
/// [`WRITTEN_BY_US`].
const DHCP_ONLY: CodeSet = CodeSet::from_codes(&[
    option::REQUESTED_IP_ADDRESS as u16,
    option::OPTION_OVERLOAD as u16,
    option::SERVER_IDENTIFIER as u16,
    option::PARAMETER_REQUEST_LIST as u16,
    option::MESSAGE as u16,
    option::MAXIMUM_DHCP_MESSAGE_SIZE as u16,
    option::RENEWAL_TIME as u16,
    option::REBINDING_TIME as u16,
]);

/// Length of the option Server Identifier (54) with its code and length, in bytes.
const SERVER_IDENTIFIER_LEN: usize = 6;
/// Codes of the options that come first where not all fit into a DHCPv4 reply: without them a
/// client reaches no host.
const MOST_IMPORTANT: [u8; 6] = [
    option::IPV6_ONLY_PREFERRED,
    option::SERVER_IDENTIFIER,
    option::ROUTER,
    option::CLASSLESS_STATIC_ROUTE,
    option::DOMAIN_NAME_SERVER,
    option::DOMAIN_NAME,
];

/// Treatment of options that do not fit into a DHCPv4 reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OversizeTreatment {
    /// Failure: writing fails unless all options fit.
    All,
    /// Omission: options that do not fit are left out.
    Chosen,
}

/// Kind of a DHCPv4 reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyKind {
    /// DHCPOFFER: the server offers an address.
    Offer,
    /// DHCPACK that grants a lease.
    Ack,
    /// DHCPACK in answer to a DHCPINFORM: parameters only.
    InformAck,
    /// DHCPNAK: the server refuses the client's address.
    Nak,
}

/// Terms that a DHCPv4 reply grants to its client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplyTerms {
    /// Kind of the reply.
    pub kind: ReplyKind,
    /// Address in `yiaddr`, which the client gets.
    pub address: Ipv4Addr,
    /// Lifetime of the granted lease, in seconds.
    pub lifetime_s: u32,
    /// Lifetime that the lease has if it is written now, in seconds.
    pub written_lifetime_s: u32,
    /// Pool and subnet of the granted address.
    pub location: Option<AddressLocation>,
    /// True if the reply repeats the lease instead of renewing it (`cache-threshold`), so that
    /// `lifetime_s` is the rest of the lease.
    pub is_repeated: bool,
}

impl ReplyTerms {
    /// Returns the terms of a reply of `kind` that grants no address.
    #[must_use]
    pub const fn without_address(kind: ReplyKind) -> Self {
        Self {
            kind,
            address: Ipv4Addr::UNSPECIFIED,
            lifetime_s: 0,
            written_lifetime_s: 0,
            location: None,
            is_repeated: false,
        }
    }

    /// Returns the terms of the same lease with `remaining_s` left of it, as a reply that repeats
    /// the lease has them.
    pub(super) const fn repeated(self, remaining_s: u32) -> Self {
        Self { lifetime_s: remaining_s, is_repeated: true, ..self }
    }
}

/// Decided DHCPv4 reply, not yet written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reply {
    /// Terms that the reply grants.
    pub terms: ReplyTerms,
    /// Subnet that was selected for the message, if any.
    pub selected: Option<SubnetIndex>,
    /// Address of the server in the option Server Identifier (54).
    pub server_id: Ipv4Addr,
    /// Row epoch that must be settled, its lease rows durable, before the reply may leave; 0: the
    /// reply may leave at once.
    pub gate_epoch: u64,
}

impl Reply {
    /// Returns the subnet whose options the reply carries; `None` for a DHCPNAK.
    #[must_use]
    pub fn subnet(&self) -> Option<SubnetIndex> {
        if self.terms.kind == ReplyKind::Nak {
            return None;
        }
        self.terms.location.map(|location| location.subnet).or(self.selected)
    }

    /// Writes the reply into `buffer` and returns its length. Where not all options fit the
    /// client's maximum message size or the buffer, options are left out, the least important ones
    /// first; the reply exceeds the client's maximum only where even the options that every reply
    /// has do not fit, as in Kea.
    ///
    /// # Errors
    ///
    /// When the options that every reply has do not fit the buffer, and when a client that would do
    /// without IPv4 gets no option 108 (RFC 8925).
    pub fn emit(
        &self,
        transaction: &Transaction<'_>,
        buffer: &mut [u8],
        counters: &ShardCounters<V4>,
    ) -> Result<usize, DropReason> {
        let limit = buffer.len().min(room_for(transaction.message()));
        match self.write(transaction, &mut buffer[..limit], OversizeTreatment::All) {
            Err(DropReason::ReplyTooLarge) => {}
            result => return result,
        }
        let mut omissions = Omissions::default();
        omissions.note(Omission::Options);
        counters.count_omitted(omissions);
        match self.write(transaction, &mut buffer[..limit], OversizeTreatment::Chosen) {
            Err(DropReason::ReplyTooLarge) => {
                self.write(transaction, buffer, OversizeTreatment::Chosen)
            }
            result => result,
        }
    }

    fn write(
        &self,
        transaction: &Transaction<'_>,
        buffer: &mut [u8],
        fit: OversizeTreatment,
    ) -> Result<usize, DropReason> {
        let message = transaction.message();
        let is_relayed = self.is_relayed(message);
        let is_dhcp = !transaction.is_bootp();
        let boot = match self.terms.kind {
            ReplyKind::Nak => Boot::default(),
            _ => Boot::from_scopes(transaction, self.subnet()),
        };
        let header = self.header(message, boot.next_server, is_relayed);
        let mut writer = MessageWriter::new(buffer, &header);
        writer.sname(boot.server_hostname).file(boot.file_name);
        writer.allow_overload(self.terms.kind != ReplyKind::Nak);
        if fit == OversizeTreatment::Chosen {
            writer.reserve(reserved_len(transaction, is_relayed));
        }
        if is_dhcp {
            writer.option(option::MESSAGE_TYPE, &[self.message_type().code()]);
        }
        let written = match self.subnet() {
            Some(subnet) => self.put_parameters(transaction, subnet, fit, &mut writer),
            None => CodeSet::default(),
        };
        writer.reserve(0);
        if is_dhcp && !written.contains(u16::from(option::SERVER_IDENTIFIER)) {
            writer.option(option::SERVER_IDENTIFIER, &self.server_id.octets());
        }
        let is_lease = matches!(self.terms.kind, ReplyKind::Offer | ReplyKind::Ack);
        let does_without = is_lease && self.terms.location.is_none();
        if does_without && !written.contains(u16::from(option::IPV6_ONLY_PREFERRED)) {
            return Err(DropReason::NoIpv6OnlyTime);
        }
        visit_echoes(transaction, is_relayed, |code, value| {
            writer.option_value(code, value);
        });
        writer.finish(REPLY_LEN_MIN).map_err(|NoRoom| DropReason::ReplyTooLarge)
    }

    /// Returns true if the reply has the form of a reply to a relayed message. The reply to a
    /// DHCPINFORM with `ciaddr` does not: it goes past the relay agent.
    fn is_relayed(&self, message: &Message<'_>) -> bool {
        self.terms.kind != ReplyKind::InformAck
            || (!message.giaddr().is_unspecified() && message.ciaddr().is_unspecified())
    }

    const fn message_type(&self) -> MessageType {
        match self.terms.kind {
            ReplyKind::Offer => MessageType::Offer,
            ReplyKind::Ack | ReplyKind::InformAck => MessageType::Ack,
            ReplyKind::Nak => MessageType::Nak,
        }
    }

    fn header(&self, message: &Message<'_>, siaddr: Ipv4Addr, is_relayed: bool) -> Dhcp4Header {
        let kind = self.terms.kind;
        let mut chaddr = [0; 16];
        chaddr[..message.chaddr().len()].copy_from_slice(message.chaddr());
        let giaddr = if is_relayed { message.giaddr() } else { Ipv4Addr::UNSPECIFIED };
        let flags = match kind {
            // RFC 2131 §4.3.2: the relay must broadcast a NAK, since the client's address is wrong.
            ReplyKind::Nak if !giaddr.is_unspecified() => BROADCAST_FLAG,
            // The relay cannot find out where the client is.
            ReplyKind::InformAck if !giaddr.is_unspecified() => message.flags() | BROADCAST_FLAG,
            _ => message.flags(),
        };
        let keeps_client_address = matches!(kind, ReplyKind::Ack | ReplyKind::InformAck);
        Dhcp4Header {
            op: BOOT_REPLY,
            htype: message.htype(),
            hlen: message.hlen(),
            hops: if is_relayed { message.hops() } else { 0 },
            xid: message.xid(),
            secs: 0,
            flags,
            ciaddr: if keeps_client_address { message.ciaddr() } else { Ipv4Addr::UNSPECIFIED },
            yiaddr: self.terms.address,
            siaddr,
            giaddr,
            chaddr,
        }
    }

    /// Writes the parameters of the lease and the configured options into the reply; returns the
    /// codes of the configured options among them.
    fn put_parameters(
        &self,
        transaction: &Transaction<'_>,
        subnet: SubnetIndex,
        fit: OversizeTreatment,
        writer: &mut MessageWriter<'_>,
    ) -> CodeSet {
        let terms = transaction.snapshot.subnet(subnet);
        let mut withheld = WRITTEN_BY_US;
        if transaction.is_bootp() {
            withheld |= DHCP_ONLY;
        }
        if self.terms.location.is_some() {
            let lifetime_s = self.terms.lifetime_s;
            if !transaction.is_bootp() {
                put_times(terms, lifetime_s, &mut withheld, writer);
            }
            writer.option(option::SUBNET_MASK, &terms.own.mask.octets());
            withheld.insert(u16::from(option::SUBNET_MASK));
            let name = &transaction.name;
            let takes_name =
                fit == OversizeTreatment::All || writer.takes(option::CLIENT_FQDN, name.len_max());
            if takes_name && let Some(code) = name.put(writer) {
                withheld.insert(u16::from(code));
            }
        }
        let pool = self.terms.location.and_then(|location| location.pool);
        let scopes = || transaction.scopes(subnet, pool);
        let classes = &transaction.client_facts.classes;
        put_configured(transaction.message(), fit, scopes, withheld, classes, writer)
    }
}

/// Calls `visit` with the code and value of each option that the reply repeats from the message: 61
/// (client identifier), 118 (subnet selection) and 82 (relay agent information).
#[inline]
fn visit_echoes<'m>(
    transaction: &Transaction<'m>,
    is_relayed: bool,
    mut visit: impl FnMut(u8, OptionValue<'m>),
) {
    let message = transaction.message();
    if transaction.snapshot.own.echo_client_id
        && !transaction.is_bootp()
        && let Some(id) = message.client_id()
    {
        visit(option::CLIENT_ID, id);
    }
    if let Some(link) = message.option(option::SUBNET_SELECTION) {
        visit(option::SUBNET_SELECTION, link);
    }
    if let Some(information) = message.relay_agent_information()
        && is_relayed
        && !information.is_empty()
    {
        visit(option::RELAY_AGENT_INFORMATION, information);
    }
}

/// Returns the length in bytes of the option Server Identifier and of the options that the reply
/// returns as they were sent.
#[cold]
fn reserved_len(transaction: &Transaction<'_>, is_relayed: bool) -> usize {
    let mut len = SERVER_IDENTIFIER_LEN;
    visit_echoes(transaction, is_relayed, |_, value| len += encoded_len(value.len()));
    len
}

/// Writes the lease time (option 51), T1 (58) and T2 (59) into the reply. `withheld` gets the codes
/// of the timers that the lease has; for the others, configured options apply.
fn put_times(
    subnet: &Subnet,
    lifetime_s: u32,
    withheld: &mut CodeSet,
    writer: &mut MessageWriter<'_>,
) {
    writer.option_u32(option::LEASE_TIME, lifetime_s);
    let (renew_s, rebind_s) = lifetime::timers_s(subnet, lifetime_s);
    if let Some(seconds) = renew_s {
        writer.option_u32(option::RENEWAL_TIME, seconds);
        withheld.insert(u16::from(option::RENEWAL_TIME));
    }
    if let Some(seconds) = rebind_s {
        writer.option_u32(option::REBINDING_TIME, seconds);
        withheld.insert(u16::from(option::REBINDING_TIME));
    }
}

/// Header fields of a reply from which a client boots: `siaddr`, `sname` and `file`.
struct Boot<'t> {
    next_server: Ipv4Addr,
    server_hostname: &'t [u8],
    file_name: &'t [u8],
}

impl Default for Boot<'_> {
    fn default() -> Self {
        Self { next_server: Ipv4Addr::UNSPECIFIED, server_hostname: &[], file_name: &[] }
    }
}

impl<'t> Boot<'t> {
    /// Takes each boot field (`siaddr`, `sname`, `file`) from the first of host, classes and subnet
    /// that sets it; without a subnet, from classes alone.
    fn from_scopes(transaction: &Transaction<'t>, subnet: Option<SubnetIndex>) -> Self {
        let sources = || {
            let host = subnet.and_then(|subnet| transaction.host_terms(subnet));
            let host = host.map(|host| &host.own);
            let classes = transaction.class_terms().map(|class| &class.boot);
            let own = subnet.map(|subnet| &transaction.snapshot.subnet(subnet).own.boot);
            host.into_iter().chain(classes).chain(own)
        };
        let text = |field: fn(&BootTerms) -> &str| {
            sources().map(field).find(|text| !text.is_empty()).unwrap_or_default().as_bytes()
        };
        Self {
            next_server: sources()
                .filter_map(|boot| boot.next_server)
                .find(|address| !address.is_unspecified())
                .unwrap_or(Ipv4Addr::UNSPECIFIED),
            server_hostname: text(|boot| &boot.server_hostname),
            file_name: text(|boot| &boot.boot_file_name),
        }
    }
}

/// Returns the largest length of a reply that the client accepts, in bytes of UDP payload: option
/// 57 counts IP and UDP headers as well (RFC 2132 §9.10).
fn room_for(message: &Message<'_>) -> usize {
    let accepted_len =
        message.max_message_size().map_or(0, |size| usize::from(size).saturating_sub(28));
    accepted_len.max(if message.max_message_size().is_some() {
        MESSAGE_LEN_MIN
    } else {
        usize::MAX
    })
}

/// Writes the configured options that the client requested, and those that are always sent, into
/// the reply; returns their codes. The scopes come in order of precedence. Where not all options
/// fit, those in [`MOST_IMPORTANT`] come first, without which a client is of little use, then those
/// that it requested, in its order.
fn put_configured<'l, L: Iterator<Item = &'l ScopeOptions<u8>>>(
    message: &Message<'_>,
    fit: OversizeTreatment,
    scopes: impl Fn() -> L,
    withheld: CodeSet,
    classes: &ClassSet,
    writer: &mut MessageWriter<'_>,
) -> CodeSet {
    let requested = message.parameter_request_list();
    let first: &[u8] = if fit == OversizeTreatment::Chosen { &MOST_IMPORTANT } else { &[] };
    let asks_for =
        |code: u8| requested.iter().flat_map(OptionValue::octets).any(|other| other == code);
    let first = first.iter().copied();
    let first = first.filter(|&code| ALWAYS_SENT.contains(code.into()) || asks_for(code));
    let selection = OptionSelection {
        requested: first.chain(requested.iter().flat_map(OptionValue::octets)),
        unconditional: ALWAYS_SENT,
        withheld,
        classes,
    };
    let mut writer = vendor::Dhcp4OptionWriter::new(writer, fit == OversizeTreatment::Chosen);
    options::put_all(scopes, &selection, &vendor::query(message), &mut writer);
    writer.written()
}
