//! Allocations of the packet path: none once its queues have reached their greatest length, from
//! the application's datagram through core and sockets, and back to an application that returns
//! memory. The test has a clock of its own, so that queues do not depend on the load of the
//! machine.

use std::net::IpAddr;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::api::{
    AdaptedAsyncEndpoint, ConnectionCalls, EndpointCalls, ListenerCalls, ServerOf, open_endpoint,
    serve_endpoint,
};
use crate::common::{PORT, RAW, UDP, V4, V6, config, in_a_namespace, service};
use allocation_counter::AllocationInfo;
use dccp::connection::ConnectionEvent;
use dccp_link::{
    BlockingEndpoint, CarrierKind, CarrierOptions, ConnectionConfig, ConnectionKey, Driver,
    EndpointLimits, Peer,
};
use netio::Clock;

/// Number of datagrams that are on the way to the server and back at once, for each connection.
const WINDOW: u64 = 16;
/// Number of turns of the test's loop without a packet after which the test sleeps between turns.
const IDLE_MAX: u32 = 1_000;
/// Time after which a missing datagram counts as lost. The kernel of a busy machine delivers late,
/// and more datagrams under way than during the warm-up would need larger buffers.
const LOST_AFTER: Duration = Duration::from_secs(2);
/// Time between two checks while waiting.
const PAUSE: Duration = Duration::from_millis(1);
/// Length of each datagram in bytes.
const LEN: usize = 1_000;
/// Time from one turn of both ends' drivers to the next, in nanoseconds of the test's own clock.
const TURN_NS: u64 = 20_000;
/// Number of datagrams there and back until buffers have their size; `COUNTED` is their count in a
/// round in which allocations are counted.
const WARM: u64 = 20_000;
const COUNTED: u64 = 10_000;
/// Number of rounds, of which one must allocate nothing. On a busy machine the kernel delivers
/// late, so that queues may grow beyond their former size in some rounds; an allocation per
/// datagram happens in all rounds.
const ROUNDS: u32 = 10;

/// Driver of one end of the connections in the test's thread, and the number of datagrams that it
/// has received.
struct CountingDriver {
    driver: Driver,
    /// Connections in the order in which they were made.
    connected: Vec<ConnectionKey>,
    received: u64,
    /// True if this end sends every datagram back.
    is_echo: bool,
}

impl CountingDriver {
    fn open(kind: CarrierKind, address: IpAddr, is_echo: bool) -> Self {
        let carrier = CarrierOptions { addresses: vec![address], ..CarrierOptions::new(kind) };
        let driver = Driver::open(&carrier, EndpointLimits::default()).unwrap();
        Self { driver, connected: Vec::new(), received: 0, is_echo }
    }

    fn hear(&mut self) {
        while let Some((key, event)) = self.driver.poll_event() {
            match event {
                ConnectionEvent::Connected => self.connected.push(key),
                ConnectionEvent::Received(datagram) => {
                    self.received += 1;
                    assert_eq!(datagram.len(), LEN);
                    if self.is_echo {
                        // A datagram that does not fit into the queue is lost, as on a network.
                        self.driver.with(&key, |connection| connection.send(&datagram, 0).ok());
                    }
                    self.driver.recycle(&key, datagram);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn turn(&mut self, now_ns: u64) {
        self.driver.receive(now_ns);
        self.hear();
        while self.driver.deliver(now_ns) {
            self.hear();
        }
        while self.driver.stage(now_ns) > 0 && self.driver.flush() {}
        self.driver.flush();
        self.hear();
    }
}

fn config_of(ccid: u8) -> ConnectionConfig {
    ConnectionConfig { send_queue_len: 2 * WINDOW as usize, ..config(ccid) }
}

fn turn(now_ns: &mut u64, client: &mut CountingDriver, server: &mut CountingDriver) {
    *now_ns += TURN_NS;
    client.turn(*now_ns);
    server.turn(*now_ns);
}

/// Sends `count` datagrams there and back over all connections, a few of each connection on the way
/// at once.
fn talk(now_ns: &mut u64, client: &mut CountingDriver, server: &mut CountingDriver, count: u64) {
    let data = [7; LEN];
    let in_flight_max = WINDOW * client.connected.len() as u64;
    let until = client.received + count;
    let (mut in_flight, mut idle, mut idle_since) = (0, 0, None);
    while client.received < until {
        for index in 0..client.connected.len() {
            if in_flight < in_flight_max {
                let key = client.connected[index];
                let sent = client.driver.with(&key, |connection| connection.send(&data, 0).is_ok());
                in_flight += u64::from(sent == Some(true));
            }
        }
        let before = client.received;
        turn(now_ns, client, server);
        let came = client.received - before;
        in_flight = in_flight.saturating_sub(came);
        if came > 0 {
            (idle, idle_since) = (0, None);
            continue;
        }
        idle += 1;
        if idle > IDLE_MAX {
            let since = *idle_since.get_or_insert_with(Instant::now);
            thread::sleep(PAUSE);
            if since.elapsed() > LOST_AFTER {
                (in_flight, idle_since) = (0, None);
            }
        }
    }
}

/// Returns the number of allocations for datagrams over `connections` connections, in the round
/// with the fewest.
fn measured(kind: CarrierKind, address: IpAddr, ccid: u8, connections: usize) -> AllocationInfo {
    let mut server = CountingDriver::open(kind, address, true);
    let mut client = CountingDriver::open(kind, address, false);
    server.driver.listen(PORT, &config_of(ccid), vec![service()]);
    let udp_port = server.driver.udp_port().unwrap_or(0);
    let peer = Peer { address, port: PORT, udp_port };
    for _ in 0..connections {
        client.driver.connect(peer, &config_of(ccid), &[]).unwrap();
    }
    let mut now_ns = Clock::mono_ns();
    while client.connected.len() < connections || server.connected.len() < connections {
        turn(&mut now_ns, &mut client, &mut server);
    }
    talk(&mut now_ns, &mut client, &mut server, WARM);
    let mut round =
        || allocation_counter::measure(|| talk(&mut now_ns, &mut client, &mut server, COUNTED));
    least(&mut round)
}

/// Returns the fewest allocations of up to [`ROUNDS`] rounds.
fn least(round: &mut dyn FnMut() -> AllocationInfo) -> AllocationInfo {
    let mut least = round();
    for _ in 1..ROUNDS {
        if least.count_total == 0 {
            break;
        }
        let next = round();
        if next.count_total < least.count_total {
            least = next;
        }
    }
    least
}

fn assert_nothing(kind: CarrierKind, address: IpAddr, connections: usize) {
    for ccid in [2, 3] {
        let counted = measured(kind, address, ccid, connections);
        assert_eq!(counted.count_total, 0, "{kind:?}, {address}, CCID {ccid}: {counted:?}");
    }
}

#[test]
fn the_packet_path_over_udp_allocates_nothing() {
    assert_nothing(UDP, V4, 1);
}

#[test]
fn forty_connections_allocate_nothing() {
    assert_nothing(UDP, V4, 40);
}

#[test]
fn the_packet_path_over_ip_allocates_nothing() {
    in_a_namespace(|| {
        assert_nothing(RAW, V4, 1);
        assert_nothing(RAW, V6, 1);
    });
}

/// Checks the allocations of an application's thread that sends and receives.
fn of_the_application<F: EndpointCalls>() {
    let ServerOf::<F> { listener, peer, endpoint: _server } =
        serve_endpoint(UDP, V4, &config_of(2));
    let client: F = open_endpoint(UDP, V4);
    let connection = client.connect(peer, &config_of(2)).unwrap();
    let accepted = listener.accept().unwrap();
    let (data, mut buffer) = ([7; LEN], Vec::new());
    let mut exchange = |count| {
        for _ in 0..count {
            connection.send(&data).unwrap();
            assert!(accepted.receive_into(&mut buffer).unwrap());
            assert_eq!(buffer, data);
        }
    };
    exchange(500);
    let counted = least(&mut || allocation_counter::measure(|| exchange(2_000)));
    assert_eq!(counted.count_total, 0, "{counted:?}");
}

#[test]
fn sending_and_receiving_allocates_nothing_in_the_applications_thread() {
    of_the_application::<BlockingEndpoint>();
    of_the_application::<AdaptedAsyncEndpoint>();
}
