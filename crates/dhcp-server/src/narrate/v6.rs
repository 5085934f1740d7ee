//! Messages of DHCPv6.

use std::net::SocketAddrV6;

use dhcp_engine::v6::Ingress;
use dhcp_engine::{Asked, DropReason, Notice, Protocol};
use dhcp_lease::v6::V6;
use dhcp_wire::v6::{Ia, IaKind, Message, MessageType, Packet};

use super::{
    ALWAYS, BASIC, DETAIL, LEASE_ALLOC, Line, Narrator, NoticeOf, PACKET_HANDLING, PACKET_RECEIVED,
    PACKET_SEND, PACKET_SEND_FAIL, QUEUE_FULL, Topic, answered, hex, line, tell_of_arrival,
};

const PARSE_FAILED: Line = line(Topic::BadPackets, PACKET_HANDLING, "DHCP6_PACKET_DROP_PARSE_FAIL");

/// Tells what became of the message `octets`, or of the reply if that is the notice.
pub(crate) fn tell(narrator: Narrator<'_>, notice: NoticeOf<V6>, octets: &[u8], ingress: Ingress) {
    let packet = Packet::parse(octets);
    let source = ingress.source;
    match (notice, packet) {
        (Notice::Received, Ok(packet)) => {
            arrived(narrator, octets, ingress);
            narrator.say(PACKET_RECEIVED, || {
                let (label, kind) = (label(&packet.message()), kind(&packet.message()));
                let relays = match packet.relay_count() {
                    0 => String::new(),
                    count => format!(" through {}", crate::log::counted(count, "relay agent")),
                };
                let interface = narrator.interface(ingress.interface);
                format!("{label}: {kind} from {source}{relays} on interface {interface}")
            });
        }
        (Notice::Malformed(index), _) => {
            arrived(narrator, octets, ingress);
            narrator.say(PARSE_FAILED, || {
                let reason = V6::MALFORMED.get(index).copied().unwrap_or_default();
                let interface = narrator.interface(ingress.interface);
                format!("{} octets from {source} on interface {interface}: {reason}", octets.len())
            });
        }
        (Notice::Dropped(reason), packet) => narrator.say(dropped(reason), || {
            let label = match packet {
                Ok(packet) => label(&packet.message()),
                Err(_) => format!("from {source}"),
            };
            format!("{label}: no answer: {}", reason.name())
        }),
        (Notice::Sent { destination, asked }, Ok(reply)) => {
            sent(narrator, (destination, asked), &reply.message());
        }
        (Notice::Received | Notice::Sent { .. }, Err(_)) | (Notice::Silent, _) => {}
    }
}

fn arrived(narrator: Narrator<'_>, octets: &[u8], ingress: Ingress) {
    let (source, local) = (ingress.source, ingress.local.into());
    let way = ((*source.ip()).into(), source.port(), local, ingress.interface);
    tell_of_arrival(narrator, octets.len(), way);
}

fn sent(narrator: Narrator<'_>, (to, asked): (SocketAddrV6, Asked), reply: &Message<'_>) {
    for ia in reply.ias() {
        tell_of_association(narrator, asked, reply, &ia);
    }
    let given_back = answered::<V6>(asked);
    if given_back == MessageType::Release.name() {
        narrator.say(line(Topic::Leases, ALWAYS, "DHCP6_RELEASE_NA"), || {
            format!("{}: what it has is given back", label(reply))
        });
    } else if given_back == MessageType::Decline.name() {
        narrator.say(line(Topic::Leases, ALWAYS, "DHCP6_DECLINE_LEASE"), || {
            format!("{}: what it has is in use by somebody else", label(reply))
        });
    }
    narrator.say(PACKET_SEND, || format!("{}: {} to {to}", label(reply), kind(reply)));
}

/// What a reply has in one identity association.
fn tell_of_association(narrator: Narrator<'_>, asked: Asked, reply: &Message<'_>, ia: &Ia<'_>) {
    let lease = |id| line(Topic::Leases, ALWAYS, id);
    let failed = |id| line(Topic::Leases, DETAIL, id);
    let is_prefix = ia.kind == IaKind::Pd;
    let is_offer = reply.message_type() == MessageType::Advertise;
    let question = answered::<V6>(asked);
    let is_renewal =
        question == MessageType::Renew.name() || question == MessageType::Rebind.name();
    let given = match (is_prefix, is_offer, is_renewal) {
        (false, true, _) => lease("DHCP6_LEASE_ADVERT"),
        (false, false, true) => lease("DHCP6_LEASE_RENEW"),
        (false, false, false) => LEASE_ALLOC,
        (true, true, _) => lease("DHCP6_PD_LEASE_ADVERT"),
        (true, false, true) => lease("DHCP6_PD_LEASE_RENEW"),
        (true, false, false) => lease("DHCP6_PD_LEASE_ALLOC"),
    };
    let verb = if is_offer { "offered" } else { "leased" };
    let say = |what: String, valid_s: u32| {
        // A lifetime of 0 takes away.
        if valid_s > 0 {
            narrator.say(given, || {
                let (label, iaid) = (label(reply), ia.iaid);
                format!("{label}: {what} and iaid={iaid} is {verb} for {valid_s} seconds")
            });
        }
    };
    for address in ia.addresses() {
        say(address.address.to_string(), address.valid_s);
    }
    for prefix in ia.prefixes() {
        say(format!("{}/{}", prefix.prefix, prefix.len), prefix.valid_s);
    }
    if let Some((code, _)) = ia.status().filter(|&(code, _)| code != 0) {
        let refused = match (is_prefix, is_offer) {
            (false, true) => failed("DHCP6_LEASE_ADVERT_FAIL"),
            (false, false) => failed("DHCP6_LEASE_ALLOC_FAIL"),
            (true, true) => failed("DHCP6_PD_LEASE_ADVERT_FAIL"),
            (true, false) => failed("DHCP6_PD_LEASE_ALLOC_FAIL"),
        };
        narrator.say(refused, || {
            format!("{}: nothing for iaid={}, status {code}", label(reply), ia.iaid)
        });
    }
}

/// The client and its transaction, in Kea's notation.
fn label(message: &Message<'_>) -> String {
    let client = message.client_id().map_or_else(|| "no info".to_owned(), hex);
    format!("duid=[{client}], tid=0x{:x}", message.transaction_id())
}

fn kind(message: &Message<'_>) -> String {
    let kind = message.message_type();
    format!("{} (type {})", kind.name(), kind.code())
}

/// Kea's message for a reason.
const fn dropped(reason: DropReason) -> Line {
    let id = match reason {
        DropReason::ServiceDisabled => "DHCP6_PACKET_DROP_DHCP_DISABLED",
        DropReason::ClientChoseOtherServer
        | DropReason::UnexpectedServerId
        | DropReason::NoServerId => "DHCP6_PACKET_DROP_SERVERID_MISMATCH",
        DropReason::UnicastFromClient => "DHCP6_PACKET_DROP_UNICAST",
        DropReason::Filtered => {
            return line(Topic::Packets, PACKET_HANDLING, "DHCP6_PACKET_DROP_DROP_CLASS");
        }
        DropReason::Rejected => {
            return line(Topic::Packets, PACKET_HANDLING, "DHCP6_PACKET_REJECT_CLASS");
        }
        DropReason::DuplicateInFlight => {
            return line(Topic::Packets, PACKET_HANDLING, "DHCP6_PACKET_DROP_DUPLICATE");
        }
        DropReason::NoSubnet => {
            return line(Topic::Packets, DETAIL, "DHCP6_SUBNET_SELECTION_FAILED");
        }
        DropReason::HeldFull | DropReason::OutboxFull | DropReason::WaitedTooLong => {
            return QUEUE_FULL;
        }
        DropReason::SendFailed => return PACKET_SEND_FAIL,
        _ => return line(Topic::BadPackets, BASIC, "DHCP6_PACKET_PROCESS_FAIL"),
    };
    line(Topic::BadPackets, PACKET_HANDLING, id)
}
