//! Path MTU (RFC 4340 §14), UDP (RFC 6773) and limits.

use std::time::Duration;

use dccp::header::PacketType;

use crate::conformance::case::{ConformanceCase, inside, outside};
use crate::conformance::context::ConformanceContext;
use crate::conformance::peer::{TesterConnection, VECTORS};
use crate::conformance::verdict::{CaseStopReason, Judged};

pub(super) const CASES: &[ConformanceCase] = &[
    inside(
        "PMTU-01",
        "§14.1",
        "Datagram Too Big is believed for a number that was sent",
        "the suite is not a router on the path",
    ),
    inside(
        "PMTU-02",
        "§14.1",
        "eight quoted octets are not believed",
        "the suite is not a router on the path",
    ),
    outside("PMTU-03", "§14.2", "a padded Sync draws a SyncAck", padded_sync),
    outside(
        "ENC-01",
        "RFC 6773 §3.3",
        "ports of UDP and of DCCP tell connections apart",
        six_numbers,
    ),
    outside(
        "ENC-02",
        "RFC 6773 §3.3",
        "what comes from another UDP port does not touch a connection",
        another_udp_port,
    ),
    inside(
        "ENC-03",
        "RFC 6773 §3.5",
        "ECN of the outer header counts",
        "the suite does not mark packets",
    ),
    inside(
        "DOS-01",
        "§8.1.4",
        "a flood of Requests leaves no state with cookies",
        "what a target keeps is not seen",
    ),
    inside(
        "DOS-02",
        "§8.3.1",
        "Resets without a connection are limited",
        "a target's limit is its own choice; SEQ-10 asks about Syncs",
    ),
];

const MOMENT: Duration = Duration::from_millis(50);

fn padded_sync(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    let sync = peer.next(PacketType::Sync).data(&[0; 1_000]);
    peer.send(&sync);
    let number = sync.header.sequence;
    peer.wait("a SyncAck for a padded Sync", |a| a.acknowledges(PacketType::SyncAck, number))?;
    peer.demand_quiet("for the padding")
}

fn needs_udp(bench: &ConformanceContext) -> Judged {
    if bench.is_udp() { Ok(()) } else { Err(CaseStopReason::not_applicable("only inside of UDP")) }
}

fn six_numbers(bench: &ConformanceContext) -> Judged {
    needs_udp(bench)?;
    let mut first = TesterConnection::open(bench)?;
    let mut second = TesterConnection::open(bench)?;
    let socket_index = bench.open_another_socket()?;
    let mut third = TesterConnection::at_socket(bench, socket_index, first.port);
    third.request(&VECTORS)?;
    third.complete()?;
    [&mut first, &mut second, &mut third].into_iter().try_for_each(|peer| {
        let draft = peer.next(PacketType::Data).data(b"mine");
        peer.demand_accepted(&draft)
    })
}

fn another_udp_port(bench: &ConformanceContext) -> Judged {
    needs_udp(bench)?;
    let mut peer = TesterConnection::open(bench)?;
    let socket_index = bench.open_another_socket()?;
    let mut moved = TesterConnection::at_socket(bench, socket_index, peer.port);
    moved.begin_at(peer.sent.next());
    moved.received = peer.received;
    let close = moved.next(PacketType::Close);
    moved.send(&close);
    moved.collect(MOMENT)?;
    let draft = peer.next(PacketType::Data).data(b"still here");
    peer.demand_accepted(&draft)
}
