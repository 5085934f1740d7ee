//! Conformance cases of path MTU (RFC 4340 §14), DCCP over UDP (RFC 6773) and limits.

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
        "Datagram Too Big is accepted if it quotes a sequence number that was sent",
        "the suite is not a router on the path",
    ),
    inside(
        "PMTU-02",
        "§14.1",
        "an ICMP message that quotes only eight bytes is ignored",
        "the suite is not a router on the path",
    ),
    outside("PMTU-03", "§14.2", "a padded Sync draws a SyncAck", padded_sync),
    outside(
        "ENC-01",
        "RFC 6773 §3.3",
        "UDP ports and DCCP ports together identify a connection",
        six_numbers,
    ),
    outside(
        "ENC-02",
        "RFC 6773 §3.3",
        "packets from another UDP port do not affect a connection",
        another_udp_port,
    ),
    inside(
        "ENC-03",
        "RFC 6773 §3.5",
        "the ECN field of the outer header is used",
        "the suite sends no packets with ECN marks",
    ),
    inside(
        "DOS-01",
        "§8.1.4",
        "with Init Cookies a flood of Requests leaves no state",
        "the suite cannot observe the target's state",
    ),
    inside(
        "DOS-02",
        "§8.3.1",
        "the rate of Resets without a connection is limited",
        "each target chooses its limit; SEQ-10 tests the limit of Syncs",
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
    if bench.is_udp() {
        Ok(())
    } else {
        Err(CaseStopReason::not_applicable("this case needs DCCP over UDP"))
    }
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
