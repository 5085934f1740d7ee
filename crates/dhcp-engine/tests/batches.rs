//! Test that a batch is served like its messages one by one, whatever was prefetched for it.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{EngineTestServer, ReplyCollector, TestProtocol, number, v4, v6};
use base::Random;
use dhcp_engine::ArrivedDatagram;
use dhcp_engine::v4::DropReason;
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;

/// Number of prefetches by the tests of this process.
static ASKED_FOR: AtomicUsize = AtomicUsize::new(0);

fn count_prefetch(_address: usize) {
    ASKED_FOR.fetch_add(1, Ordering::Relaxed);
}

/// Sends random messages of a few clients, some of them twice in a batch and some cut short, to two
/// servers: to one in batches, to the other one by one.
fn compare<P: TestProtocol>(text: &str, message: impl Fn(&mut Random) -> Vec<u8>)
where
    P::Destination: PartialEq,
{
    let first = number("GODWIT_SEED", 1);
    for seed in first..first + 20 {
        let mut random = Random::from_seed(seed);
        let (mut whole, mut single) =
            (EngineTestServer::<P>::new(text), EngineTestServer::<P>::new(text));
        whole.shards[0].set_prefetch(count_prefetch);
        for _ in 0..60 {
            let mut batch: Vec<Vec<u8>> = Vec::new();
            for _ in 0..random.below(20) {
                let mut octets = message(&mut random);
                if random.chance(1, 20) {
                    octets.truncate(random.below(octets.len() as u64) as usize);
                }
                batch.push(octets);
            }
            let (now, mut together, mut apart) =
                (whole.now, ReplyCollector::default(), ReplyCollector::default());
            let arrived = batch.iter().map(|octets| ArrivedDatagram {
                since_ns: now.mono_ns,
                octets: &octets[..],
                ingress: P::INGRESS,
            });
            whole.shards[0].handle_all(now, arrived, &mut together);
            for octets in &batch {
                single.shards[0].handle(now, octets, P::INGRESS, &mut apart);
            }
            let (is_settled, seconds) = (random.chance(1, 2), random.below(3));
            for (server, sink) in [(&mut whole, &mut together), (&mut single, &mut apart)] {
                server.auto_settle = false;
                server.shards[0].end_batch(now, sink);
                if is_settled {
                    server.settle(sink);
                }
                server.pass_s(seconds);
            }
            let sorted = |sink: ReplyCollector<P>| {
                let mut replies: Vec<Vec<u8>> = sink.0.into_iter().map(|sent| sent.1).collect();
                replies.sort_unstable();
                replies
            };
            assert_eq!(sorted(together), sorted(apart), "GODWIT_SEED={seed}");
        }
        let counts =
            |server: &EngineTestServer<P>| server.counters[0].entries().collect::<Vec<_>>();
        assert_eq!(counts(&whole), counts(&single), "GODWIT_SEED={seed}");
    }
    assert!(ASKED_FOR.load(Ordering::Relaxed) > 0);
}

#[test]
fn dhcpv6_in_batches() {
    use dhcp_wire::v6::MessageType;
    let kinds = [MessageType::Solicit, MessageType::Request, MessageType::Renew];
    compare::<V6>(v6::SMALL, |random| {
        let kind = kinds[random.below(3) as usize];
        let client = random.below(12) as u16;
        let address = v6::address(random.below(20) as u16);
        let hints = [address];
        let build = v6::Dhcp6MessageBuilder::new(kind, client);
        let build = if kind == MessageType::Solicit { build } else { build.for_us() };
        build.na(1, if random.chance(1, 2) { &hints } else { &[] }).octets()
    });
}

#[test]
fn dhcpv4_in_batches() {
    use dhcp_wire::v4::MessageType;
    compare::<V4>(v4::SMALL, |random| {
        let client = random.below(12) as u8;
        let address = Ipv4Addr::new(10, 0, 0, random.below(20) as u8);
        match random.below(3) {
            0 => v4::Dhcp4MessageBuilder::new(MessageType::Discover, client),
            1 => v4::Dhcp4MessageBuilder::new(MessageType::Request, client)
                .requested(address)
                .server(v4::SERVER),
            _ => v4::Dhcp4MessageBuilder::new(MessageType::Request, client).from(address),
        }
        .octets()
    });
}

#[test]
fn what_came_too_early_is_left_unread() {
    use dhcp_wire::v4::MessageType;
    let mut server = EngineTestServer::<V4>::new(v4::SMALL);
    let now = server.now;
    let discovers = [1, 2].map(|n| v4::Dhcp4MessageBuilder::new(MessageType::Discover, n).octets());
    let mut take = |before_ns| {
        let mut sink = ReplyCollector::default();
        server.shards[0].set_drop_before(before_ns);
        let times = [now.mono_ns - 1, now.mono_ns];
        let arrived = times.into_iter().zip(&discovers);
        let arrived = arrived.map(|(since_ns, octets)| ArrivedDatagram {
            since_ns,
            octets: &octets[..],
            ingress: V4::INGRESS,
        });
        server.shards[0].handle_all(now, arrived, &mut sink);
        server.shards[0].end_batch(now, &mut sink);
        let counters = &server.counters[0];
        let dropped_count = counters.dropped_for(DropReason::WaitedTooLong);
        (sink.0.len(), dropped_count, counters.received_total())
    };
    assert_eq!(take(now.mono_ns), (1, 1, 2));
    assert_eq!(take(0), (2, 1, 4));
}
