//! Log lines about DHCPv4 messages.

use crate::loggers::LogTopic;
use base::ColonHex;
use dhcp_engine::v4::{Destination, Ingress};
use dhcp_engine::{DropReason, Notice};
use dhcp_lease::v4::V4;
use dhcp_wire::v4::{Message, MessageType};

use super::{
    ALWAYS, Arrival, BASIC, DETAIL, KeaLogMessage, LEASE_ALLOC, MessageLogWriter, NoticeOf,
    PACKET_HANDLING, PACKET_SEND, PACKET_SEND_FAIL, QUEUE_FULL, keeps_released, line, probation_s,
};

const PARSE_FAILED: KeaLogMessage =
    line(LogTopic::BadPackets, PACKET_HANDLING, "DHCP4_PACKET_DROP_0001");
const LEASE_OFFER: KeaLogMessage = line(LogTopic::Leases, ALWAYS, "DHCP4_LEASE_OFFER");
const REFUSED: KeaLogMessage = line(LogTopic::BadPackets, DETAIL, "DHCP4_PACKET_NAK_0004");
const RELEASED: KeaLogMessage = line(LogTopic::Leases, ALWAYS, "DHCP4_RELEASE");
/// Second log line of a DHCPRELEASE whose lease stays with its client (lease affinity), and the
/// line's end, in Kea's words.
const EXPIRED_ON_RELEASE: (KeaLogMessage, &str) =
    (line(LogTopic::Leases, ALWAYS, "DHCP4_RELEASE_EXPIRED"), "expired on release");
const DELETED: (KeaLogMessage, &str) =
    (line(LogTopic::Leases, ALWAYS, "DHCP4_RELEASE_DELETED"), "was deleted on release");
const DECLINED: KeaLogMessage = line(LogTopic::Leases, ALWAYS, "DHCP4_DECLINE_LEASE");

/// Logs the outcome of the DHCPv4 message `octets`, or of the reply if that is the notice.
pub(crate) fn log_notice(
    writer: MessageLogWriter<'_>,
    notice: NoticeOf<V4>,
    octets: &[u8],
    ingress: Ingress,
) {
    let message = Message::parse(octets);
    let Ingress { source, local, interface, .. } = ingress;
    let (len, source, local) = (octets.len(), source.into(), local.into());
    let arrival = Arrival { writer, len, source, local, interface };
    match (notice, message) {
        (Notice::Received, Ok(message)) => {
            arrival.log_received(|| (label(&message), kind(&message)));
        }
        (Notice::Malformed(index), _) => {
            arrival.log_malformed::<V4>(PARSE_FAILED, index);
        }
        (Notice::Dropped(reason), message) => {
            let message = message.ok();
            writer.write_line(dropped(reason, message.as_ref(), ingress), || {
                let label = message.map_or_else(|| format!("from {source}"), |m| label(&m));
                format!("{label}: no answer: {}", reason.name())
            });
        }
        (Notice::Silent, Ok(message)) => log_unanswered(writer, &message),
        (Notice::Sent { destination, .. }, Ok(reply)) => log_reply(writer, destination, &reply),
        (Notice::Received | Notice::Silent | Notice::Sent { .. }, Err(_)) => {}
    }
}

fn log_unanswered(writer: MessageLogWriter<'_>, message: &Message<'_>) {
    match message.message_type() {
        Some(MessageType::Release) => {
            let (address, end) =
                (message.ciaddr(), if keeps_released() { EXPIRED_ON_RELEASE } else { DELETED });
            writer.write_line(RELEASED, || {
                format!("{}: address {address} was released properly.", label(message))
            });
            writer
                .write_line(end.0, || format!("{}: address {address} {}.", label(message), end.1));
        }
        Some(MessageType::Decline) => writer.write_line(DECLINED, || {
            let declined = message.requested_address().unwrap_or_else(|| message.ciaddr());
            let (client, probation_s) = (label(message), probation_s());
            format!(
                "Received DHCPDECLINE for addr {declined} from client {client}. The lease will be \
                 unavailable for {probation_s} seconds."
            )
        }),
        _ => {}
    }
}

fn log_reply(writer: MessageLogWriter<'_>, destination: Destination, reply: &Message<'_>) {
    let (address, lifetime_s) = (reply.yiaddr(), reply.lease_time());
    match reply.message_type() {
        Some(MessageType::Offer) => {
            writer.write_line(LEASE_OFFER, || {
                format!("{}: lease {address} will be offered", label(reply))
            });
        }
        Some(MessageType::Nak) => {
            writer.write_line(REFUSED, || format!("{}: refused", label(reply)))
        }
        _ if !address.is_unspecified() => writer.write_line(LEASE_ALLOC, || {
            let lifetime_s = lifetime_s.unwrap_or(u32::MAX);
            format!("{}: lease {address} has been allocated for {lifetime_s} seconds", label(reply))
        }),
        _ => {}
    }
    writer.write_line(PACKET_SEND, || {
        let to = match destination {
            Destination::Relay(to) => format!("relay agent {to}"),
            Destination::Client(to) | Destination::PastRelay(to) => to.to_string(),
            Destination::Hardware { mac, address } => format!("{address} at {}", ColonHex(&mac)),
            Destination::Broadcast => "all clients on the link".to_owned(),
        };
        format!("{}: {} to {to}", label(reply), kind(reply))
    });
}

/// Returns the client of a DHCPv4 message and its transaction, in Kea's notation.
fn label(message: &Message<'_>) -> String {
    let client = message.client_id().map(|id| id.octets().collect::<Vec<u8>>());
    let client = client.map_or_else(|| "no info".to_owned(), |id| ColonHex(&id).to_string());
    let (htype, xid) = (message.htype(), message.xid());
    let hardware = ColonHex(message.chaddr());
    format!("[hwtype={htype} {hardware}], cid=[{client}], tid=0x{xid:x}")
}

fn kind(message: &Message<'_>) -> String {
    match message.message_type() {
        Some(kind) => format!("{} (type {})", kind.name(), kind.code()),
        None => "BOOTP".to_owned(),
    }
}

/// Returns Kea's log message for the drop reason of a DHCPv4 message.
fn dropped(reason: DropReason, message: Option<&Message<'_>>, ingress: Ingress) -> KeaLogMessage {
    let bad = |id| line(LogTopic::BadPackets, PACKET_HANDLING, id);
    let kind = message.and_then(Message::message_type);
    match reason {
        DropReason::NotARequest | DropReason::UnexpectedMessageType => {
            bad("DHCP4_PACKET_DROP_0006")
        }
        DropReason::Bootp => bad("DHCP4_PACKET_DROP_0009"),
        DropReason::ServiceDisabled => bad("DHCP4_PACKET_DROP_0008"),
        DropReason::Filtered => line(LogTopic::Packets, PACKET_HANDLING, "DHCP4_PACKET_DROP_0010"),
        DropReason::Rejected => line(LogTopic::Packets, PACKET_HANDLING, "DHCP4_PACKET_NAK_0005"),
        DropReason::NoSubnet if ingress.source.ip().is_unspecified() => {
            bad("DHCP4_PACKET_DROP_0002")
        }
        DropReason::NoSubnet => line(LogTopic::BadPackets, ALWAYS, "DHCP4_PACKET_NAK_0001"),
        DropReason::ClientChoseOtherServer | DropReason::UnexpectedServerId => {
            bad("DHCP4_PACKET_DROP_0003")
        }
        DropReason::DuplicateInFlight => {
            line(LogTopic::Packets, PACKET_HANDLING, "DHCP4_PACKET_DROP_0012")
        }
        DropReason::HeldFull | DropReason::OutboxFull | DropReason::WaitedTooLong => QUEUE_FULL,
        DropReason::SendFailed => PACKET_SEND_FAIL,
        DropReason::PoolExhausted if kind == Some(MessageType::Discover) => {
            line(LogTopic::BadPackets, DETAIL, "DHCP4_PACKET_NAK_0003")
        }
        DropReason::PoolExhausted => REFUSED,
        DropReason::UnknownClient => line(LogTopic::Leases, BASIC, "DHCP4_NO_LEASE_INIT_REBOOT"),
        DropReason::NotTheClientsLease if kind == Some(MessageType::Decline) => {
            line(LogTopic::Leases, ALWAYS, "DHCP4_DECLINE_LEASE_MISMATCH")
        }
        DropReason::NotTheClientsLease => {
            line(LogTopic::Leases, DETAIL, "DHCP4_RELEASE_FAIL_WRONG_CLIENT")
        }
        _ => bad("DHCP4_PACKET_DROP_0007"),
    }
}
