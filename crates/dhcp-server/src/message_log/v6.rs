//! Log lines about DHCPv6 messages.

use crate::loggers::LogTopic;
use std::net::SocketAddrV6;

use base::ColonHex;
use dhcp_engine::v6::Ingress;
use dhcp_engine::{DropReason, MeasuredRequest, Notice};
use dhcp_lease::v6::V6;
use dhcp_wire::v6::{Ia, IaKind, Message, MessageType, Packet};

use super::{
    ALWAYS, Arrival, BASIC, DETAIL, KeaLogMessage, LEASE_ALLOC, MessageLogWriter, NoticeOf,
    PACKET_HANDLING, PACKET_SEND, PACKET_SEND_FAIL, PendingRequests, QUEUE_FULL, keeps_released,
    line, probation_s, request_type,
};

const RELEASED: KeaLogMessage = line(LogTopic::Leases, ALWAYS, "DHCP6_RELEASE_NA");
const PREFIX_RELEASED: KeaLogMessage = line(LogTopic::Leases, ALWAYS, "DHCP6_RELEASE_PD");
/// Second log lines of a DHCPv6 RELEASE of an address and of a prefix whose lease stays with its
/// client (lease affinity), and the lines' end, in Kea's words.
const EXPIRED_ON_RELEASE: (KeaLogMessage, KeaLogMessage, &str) = (
    line(LogTopic::Leases, ALWAYS, "DHCP6_RELEASE_NA_EXPIRED"),
    line(LogTopic::Leases, ALWAYS, "DHCP6_RELEASE_PD_EXPIRED"),
    "expired on release",
);
const DELETED: (KeaLogMessage, KeaLogMessage, &str) = (
    line(LogTopic::Leases, ALWAYS, "DHCP6_RELEASE_NA_DELETED"),
    line(LogTopic::Leases, ALWAYS, "DHCP6_RELEASE_PD_DELETED"),
    "was deleted on release",
);
const DECLINED: KeaLogMessage = line(LogTopic::Leases, ALWAYS, "DHCP6_DECLINE_LEASE");
const PARSE_FAILED: KeaLogMessage =
    line(LogTopic::BadPackets, PACKET_HANDLING, "DHCP6_PACKET_DROP_PARSE_FAIL");

/// Logs the outcome of the DHCPv6 message `octets`, or of the reply if that is the notice.
///
/// `pending_requests` keeps requests that the lines about their replies need.
pub(crate) fn log_notice(
    writer: MessageLogWriter<'_>,
    notice: NoticeOf<V6>,
    octets: &[u8],
    ingress: Ingress,
    pending_requests: &mut PendingRequests,
) {
    let packet = Packet::parse(octets);
    let Ingress { source, local, interface, .. } = ingress;
    let (len, source, local) = (octets.len(), source.into(), local.into());
    let arrival = Arrival { writer, len, source, local, interface };
    match (notice, packet) {
        (Notice::Received, Ok(packet)) => {
            if writer.topic_levels.takes(LogTopic::Leases, ALWAYS) {
                pending_requests.remember(octets);
            }
            arrival.log_received(|| (label(&packet.message()), kind(&packet.message())));
        }
        (Notice::Malformed(index), _) => {
            arrival.log_malformed::<V6>(PARSE_FAILED, index);
        }
        (Notice::Dropped(reason), packet) => writer.write_line(dropped(reason), || {
            let label = match packet {
                Ok(packet) => label(&packet.message()),
                Err(_) => format!("from {source}"),
            };
            format!("{label}: no answer: {}", reason.name())
        }),
        (Notice::Sent { destination, request }, Ok(reply)) => {
            let request_kind = request_type::<V6>(request);
            let is_giving_up = request_kind == MessageType::Release.name();
            if is_giving_up || request_kind == MessageType::Decline.name() {
                if let Some(request) = pending_requests.take(&reply.message()) {
                    log_ended_leases(writer, is_giving_up, &request, &reply.message());
                }
            } else {
                for ia in reply.message().ias() {
                    log_association(writer, request, &reply.message(), &ia);
                }
            }
            log_reply(writer, destination, &reply.message());
        }
        (Notice::Received | Notice::Sent { .. }, Err(_)) | (Notice::Silent, _) => {}
    }
}

fn log_reply(writer: MessageLogWriter<'_>, to: SocketAddrV6, reply: &Message<'_>) {
    writer.write_line(PACKET_SEND, || format!("{}: {} to {to}", label(reply), kind(reply)));
}

/// Logs the leases that `request` has ended, a RELEASE if `is_release` and else a DECLINE: all
/// addresses and prefixes in identity associations for which `reply` has no error.
fn log_ended_leases(
    writer: MessageLogWriter<'_>,
    is_release: bool,
    request: &[u8],
    reply: &Message<'_>,
) {
    let Ok(packet) = Packet::parse(request) else { return };
    let is_refused = |ia: &Ia<'_>| {
        let answer = reply.ias().find(|answer| answer.kind == ia.kind && answer.iaid == ia.iaid);
        answer.is_some_and(|answer| answer.status().is_some_and(|(code, _)| code != 0))
    };
    let end = if keeps_released() { EXPIRED_ON_RELEASE } else { DELETED };
    for ia in packet.message().ias().filter(|ia| !is_refused(ia)) {
        let (client, iaid) = (label(reply), ia.iaid);
        for address in ia.addresses().map(|address| address.address) {
            if is_release {
                writer.write_line(RELEASED, || {
                    let binding = format!("binding for address {address} and iaid={iaid}");
                    format!("{client}: {binding} was released properly")
                });
                writer.write_line(end.0, || {
                    let binding = format!("binding for address {address} and iaid={iaid}");
                    format!("{client}: {binding} {}", end.2)
                });
            } else {
                writer.write_line(DECLINED, || {
                    let probation_s = probation_s();
                    format!(
                        "Client {client} sent DECLINE for address {address} and the server marked \
                         it as declined. The lease will be recovered in {probation_s} seconds."
                    )
                });
            }
        }
        for (prefix, len) in ia.prefixes().map(|prefix| (prefix.prefix, prefix.len)) {
            writer.write_line(PREFIX_RELEASED, || {
                format!("{client}: prefix {prefix}/{len} for iaid={iaid} was released properly")
            });
            writer.write_line(end.1, || {
                format!("{client}: prefix {prefix}/{len} for iaid={iaid} {}", end.2)
            });
        }
    }
}

/// Logs the content of a DHCPv6 reply's identity association.
fn log_association(
    writer: MessageLogWriter<'_>,
    request: MeasuredRequest,
    reply: &Message<'_>,
    ia: &Ia<'_>,
) {
    let lease = |id| line(LogTopic::Leases, ALWAYS, id);
    let failed = |id| line(LogTopic::Leases, DETAIL, id);
    let is_prefix = ia.kind == IaKind::Pd;
    let is_offer = reply.message_type() == MessageType::Advertise;
    let request_kind = request_type::<V6>(request);
    let is_renewal =
        request_kind == MessageType::Renew.name() || request_kind == MessageType::Rebind.name();
    let lease_line = match (is_prefix, is_offer, is_renewal) {
        (false, true, _) => lease("DHCP6_LEASE_ADVERT"),
        (false, false, true) => lease("DHCP6_LEASE_RENEW"),
        (false, false, false) => LEASE_ALLOC,
        (true, true, _) => lease("DHCP6_PD_LEASE_ADVERT"),
        (true, false, true) => lease("DHCP6_PD_LEASE_RENEW"),
        (true, false, false) => lease("DHCP6_PD_LEASE_ALLOC"),
    };
    let log_lease = |resource: String, valid_s: u32| {
        // A lifetime of 0 withdraws the lease.
        if valid_s > 0 {
            writer.write_line(lease_line, || {
                let end = match (is_offer, is_renewal) {
                    (true, _) => "will be advertised".to_owned(),
                    (false, true) => "has been allocated".to_owned(),
                    (false, false) => format!("has been allocated for {valid_s} seconds"),
                };
                format!("{}: lease for {resource} and iaid={} {end}", label(reply), ia.iaid)
            });
        }
    };
    for address in ia.addresses() {
        log_lease(format!("address {}", address.address), address.valid_s);
    }
    for prefix in ia.prefixes() {
        log_lease(format!("prefix {}/{}", prefix.prefix, prefix.len), prefix.valid_s);
    }
    if ia.status().is_some_and(|(code, _)| code != 0) {
        let refused = match (is_prefix, is_offer) {
            (false, true) => failed("DHCP6_LEASE_ADVERT_FAIL"),
            (false, false) => failed("DHCP6_LEASE_ALLOC_FAIL"),
            (true, true) => failed("DHCP6_PD_LEASE_ADVERT_FAIL"),
            (true, false) => failed("DHCP6_PD_LEASE_ALLOC_FAIL"),
        };
        writer.write_line(refused, || {
            let tried = if is_offer { "advertise" } else { "grant" };
            let resource = if is_prefix { "a prefix" } else { "an address" };
            format!("{}: failed to {tried} {resource} lease for iaid={}", label(reply), ia.iaid)
        });
    }
}

/// Returns the client of a DHCPv6 message and its transaction, in Kea's notation.
fn label(message: &Message<'_>) -> String {
    let client =
        message.client_id().map_or_else(|| "no info".to_owned(), |id| ColonHex(id).to_string());
    format!("duid=[{client}], [no hwaddr info], tid=0x{:x}", message.transaction_id())
}

fn kind(message: &Message<'_>) -> String {
    let kind = message.message_type();
    format!("{} (type {})", kind.name(), kind.code())
}

/// Returns Kea's log message for the drop reason of a DHCPv6 message.
const fn dropped(reason: DropReason) -> KeaLogMessage {
    let id = match reason {
        DropReason::ServiceDisabled => "DHCP6_PACKET_DROP_DHCP_DISABLED",
        DropReason::ClientChoseOtherServer
        | DropReason::UnexpectedServerId
        | DropReason::NoServerId => "DHCP6_PACKET_DROP_SERVERID_MISMATCH",
        DropReason::UnicastFromClient => "DHCP6_PACKET_DROP_UNICAST",
        DropReason::Filtered => {
            return line(LogTopic::Packets, PACKET_HANDLING, "DHCP6_PACKET_DROP_DROP_CLASS");
        }
        DropReason::Rejected => {
            return line(LogTopic::Packets, PACKET_HANDLING, "DHCP6_PACKET_REJECT_CLASS");
        }
        DropReason::DuplicateInFlight => {
            return line(LogTopic::Packets, PACKET_HANDLING, "DHCP6_PACKET_DROP_DUPLICATE");
        }
        DropReason::NoSubnet => {
            return line(LogTopic::Packets, DETAIL, "DHCP6_SUBNET_SELECTION_FAILED");
        }
        DropReason::HeldFull | DropReason::OutboxFull | DropReason::WaitedTooLong => {
            return QUEUE_FULL;
        }
        DropReason::SendFailed => return PACKET_SEND_FAIL,
        _ => return line(LogTopic::BadPackets, BASIC, "DHCP6_PACKET_PROCESS_FAIL"),
    };
    line(LogTopic::BadPackets, PACKET_HANDLING, id)
}
