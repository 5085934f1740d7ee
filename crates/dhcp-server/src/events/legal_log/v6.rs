//! Lines of the legal log about exchanges of DHCPv6.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};

use base::ColonHex;
use dhcp_config::expression::Term;
use dhcp_engine::classify::{PacketView, PacketView6};
use dhcp_engine::v6::Ingress;
use dhcp_lease::RecordedIngress;
use dhcp_lease::v6::{HardwareSource, Lease, Resource, ResourceKind, V6};
use dhcp_wire::OptionParsing;
use dhcp_wire::v6::{IaKind, Message, MessageType, MessageWriter, Packet, option};

use super::LegalLogFamily;
use super::entry::{LogAction, LogEntry, append_context, append_hardware, append_identifiers};
use super::exchange::{ExchangeEvents, LoggedLease};
use super::formats::LineFormats;

impl LegalLogFamily for V6 {
    fn entries(
        exchange: &ExchangeEvents<'_, Self>,
        formats: &mut LineFormats,
        is_logged: &dyn Fn(u32) -> bool,
        entries: &mut Vec<LogEntry>,
    ) {
        let parse = |octets| Packet::parse_as(octets, OptionParsing::Lenient).ok();
        let message = parse(&exchange.record.message);
        let reply = parse(&exchange.record.reply);
        let kind = reply.as_ref().map(|reply| reply.message().message_type());
        if kind == Some(MessageType::Advertise) {
            return;
        }
        let ingress = ingress(&exchange.record.ingress);
        for logged in in_order(exchange.leases(), &[&reply, &message]) {
            let lease = logged.lease;
            if !is_logged(lease.subnet_id) {
                continue;
            }
            let line = message.as_ref().filter(|_| !formats.are_default()).and_then(|message| {
                let parts = [Some(message), reply.as_ref()];
                custom_line(lease, parts, &ingress, formats)
            });
            let own_line = || default_line(logged.action, lease, message.as_ref());
            let text = line.unwrap_or_else(own_line);
            entries.push(LogEntry { address: lease.address.to_string(), text });
        }
    }
}

/// Returns `leases` in the order in which Kea reports them: grants first, addresses before
/// prefixes, and each in the order of the first of `messages` that has it.
fn in_order<'l>(
    mut leases: Vec<LoggedLease<'l, V6>>,
    messages: &[&Option<Packet<'_>>; 2],
) -> Vec<LoggedLease<'l, V6>> {
    if leases.len() > 1 {
        let named = messages.iter().flat_map(|packet| packet.as_ref()).flat_map(resources);
        let named: Vec<Resource> = named.collect();
        let place = |lease: &Lease| named.iter().position(|one| *one == lease.address);
        leases.sort_by_key(|LoggedLease { action, lease }| {
            let place = place(lease).unwrap_or(usize::MAX);
            (*action == LogAction::Released, lease.address.kind, place)
        });
    }
    leases
}

/// Returns the addresses and prefixes in the identity associations of a message.
fn resources(packet: &Packet<'_>) -> Vec<Resource> {
    let mut resources = Vec::new();
    for association in packet.message().ias() {
        let addresses = association.addresses();
        resources.extend(addresses.map(|one| Resource::address(one.address)));
        let prefixes = association.prefixes();
        resources.extend(prefixes.map(|one| Resource::prefix(one.prefix, one.len)));
    }
    resources
}

/// Returns the line about `lease` in Kea's own format.
fn default_line(action: LogAction, lease: &Lease, message: Option<&Packet<'_>>) -> Vec<u8> {
    let what = match lease.address.kind {
        ResourceKind::Address => "Address",
        ResourceKind::Prefix => "Prefix",
    };
    let mut text = format!("{what}: {}", lease.address);
    action.append(lease.valid_lifetime_s, &mut text);
    let _ = write!(text, "DUID: {}", ColonHex(lease.client.duid.octets()));
    if !lease.extra.hardware.is_empty() {
        text.push_str(" and hardware address: ");
        append_hardware(&lease.extra.hardware, &mut text);
        let _ = write!(text, " (from {})", source_name(lease.extra.hardware_source));
    }
    if let Some(message) = message {
        append_relay(message, &mut text);
    }
    append_context(&lease.user_context, &mut text);
    text.into_bytes()
}

/// Returns Kea's words for the source of a hardware address.
const fn source_name(source: HardwareSource) -> &'static str {
    match source {
        HardwareSource::Unknown => "UNKNOWN",
        HardwareSource::Raw => "Raw Socket",
        HardwareSource::Duid => "DUID",
        HardwareSource::LinkLocal => "IPv6 Link Local",
        HardwareSource::ClientLinkAddress => "Client Address Relay Option",
        HardwareSource::RemoteId => "Remote ID",
        HardwareSource::SubscriberId => "Subscriber ID",
        HardwareSource::DocsisCmts => "DOCSIS CMTS",
        HardwareSource::DocsisModem => "DOCSIS MODEM",
    }
}

/// Appends the relay agent next to the server, and each identifier from the agent nearest to the
/// client that gives it.
fn append_relay(message: &Packet<'_>, text: &mut String) {
    let Some(nearest) = message.relays().next() else { return };
    let _ = write!(
        text,
        " connected via relay at address: {} for client on link address: {}, hop count: {}",
        nearest.peer_address, nearest.link_address, nearest.hop_count
    );
    let given = |code| message.relays().rev().find_map(|relay| relay.options.get(code));
    let given = |code| given(code).map(<[u8]>::to_vec);
    let identifiers =
        [("remote-id", given(option::REMOTE_ID)), ("subscriber-id", given(option::SUBSCRIBER_ID))];
    append_identifiers(", identified by ", &identifiers, text);
    let location = [("interface-id", given(option::INTERFACE_ID))];
    append_identifiers(", connected at location ", &location, text);
}

/// Returns the line that expressions make about `lease` of `parts`, the message and the reply.
fn custom_line(
    lease: &Lease,
    parts: [Option<&Packet<'_>>; 2],
    ingress: &Ingress,
    formats: &mut LineFormats,
) -> Option<Vec<u8>> {
    let interfaces = formats.interfaces.clone();
    let associations = parts.map(|packet| packet.and_then(|packet| association_of(lease, packet)));
    let of_lease = [&associations[0], &associations[1]].map(|octets| {
        let octets = octets.as_deref()?;
        Packet::parse_as(octets, OptionParsing::Lenient).ok()
    });
    let view = |at: usize| {
        let whole = |packet| PacketView6 { packet, ingress, interfaces: &interfaces };
        let of_lease = of_lease[at].as_ref().map(whole);
        parts[at].map(|packet| LeaseView { whole: whole(packet), of_lease })
    };
    formats.line(&view(0)?, view(1).as_ref())
}

/// View of a message as expressions see it for one lease: of the identity associations it has that
/// of the lease alone, with no other lease in it.
struct LeaseView<'m> {
    whole: PacketView6<'m>,
    /// Message with nothing but the identity association of the lease; `None` without one.
    of_lease: Option<PacketView6<'m>>,
}

impl PacketView for LeaseView<'_> {
    fn read(&self, term: &Term, target: &mut Vec<u8>) -> bool {
        match term {
            Term::Option(path)
                if matches!(path.codes.first(), Some(&(option::IA_NA | option::IA_PD))) =>
            {
                self.of_lease.is_some_and(|view| view.read(term, target))
            }
            _ => self.whole.read(term, target),
        }
    }

    fn is_bootp(&self) -> bool {
        self.whole.is_bootp()
    }

    fn has_stored_relay_information(&self) -> bool {
        self.whole.has_stored_relay_information()
    }

    fn balance_hash(&self) -> Option<u8> {
        self.whole.balance_hash()
    }

    fn vendor_class(&self, nth: usize, target: &mut Vec<u8>) -> bool {
        self.whole.vendor_class(nth, target)
    }
}

/// Returns a message that has only the identity association of `lease` in `packet`, in it the
/// lease and no other; `None` if `packet` has no such association.
fn association_of(lease: &Lease, packet: &Packet<'_>) -> Option<Vec<u8>> {
    let (kind, lease_code) = match lease.address.kind {
        ResourceKind::Address => (IaKind::Na, option::IAADDR),
        ResourceKind::Prefix => (IaKind::Pd, option::IAPREFIX),
    };
    let message: Message<'_> = packet.message();
    let mut associations = message.ias();
    let association = associations.find(|one| {
        let has_lease = || match kind {
            IaKind::Pd => one
                .prefixes()
                .any(|prefix| Resource::prefix(prefix.prefix, prefix.len) == lease.address),
            _ => one.addresses().any(|one| Resource::address(one.address) == lease.address),
        };
        one.kind == kind && one.iaid == lease.client.iaid && has_lease()
    })?;
    let mut octets = vec![0; message.octets().len() + 64];
    let mut writer =
        MessageWriter::new(&mut octets, message.message_type(), message.transaction_id());
    let mark = writer.ia(kind, association.iaid, 0, 0);
    let is_of_lease = |code: u16, value: &[u8]| {
        let address = match kind {
            IaKind::Pd => value.get(9..25),
            _ => value.get(..16),
        };
        code == lease_code && address == Some(&lease.address.address.octets()[..])
    };
    let others = [option::IAADDR, option::IAPREFIX];
    let own = association.options.filter(|&(code, value)| is_of_lease(code, value)).take(1);
    let rest = association.options.filter(|(code, _)| !others.contains(code));
    for (code, value) in own.chain(rest) {
        writer.option(code, value);
    }
    writer.end(mark);
    let len = writer.finish().ok()?;
    octets.truncate(len);
    Some(octets)
}

/// Converts the recorded ingress of a message to the form that expressions read.
fn ingress(recorded: &RecordedIngress) -> Ingress {
    Ingress {
        source: match recorded.source {
            SocketAddr::V6(source) => source,
            SocketAddr::V4(_) => SocketAddrV6::new(Ipv6Addr::UNSPECIFIED, 0, 0, 0),
        },
        local: match recorded.local {
            IpAddr::V6(local) => local,
            IpAddr::V4(_) => Ipv6Addr::UNSPECIFIED,
        },
        interface: recorded.interface,
        is_multicast: recorded.is_multicast,
        listener_index: 0,
    }
}
