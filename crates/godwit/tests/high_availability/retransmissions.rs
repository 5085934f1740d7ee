//! Clients whose messages come several times, as from a link with two relay agents. Kea then sends
//! its partner several updates of one address at once, of which Kea refuses some, until both
//! servers are `terminated`.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use scenario::ScenarioFamily;

use super::{PairMode, PairSetup};
use crate::common::{free_port, has_debian_13, require};
use crate::subjects::process::ServerMake;

/// Number of times that each message comes.
const COPIES: usize = 4;
/// Number of exchanges of a run of clients, and their rate.
const CLIENTS: &str = "200";
const RATE: &str = "100";
/// Minimum number of leases of a pair. A busy Kea answers only some of so many messages, and in
/// load balancing a server has half of the clients.
const LEASES_MIN: usize = 100;
/// Without it, a lease of the same moment is given again without an update.
const NO_CACHE: &str = r#""cache-max-age": 0,"#;
/// Time between two copies of a message.
const GAP: Duration = Duration::from_micros(700);
/// Interval in which the repeater looks if it is to end.
const LOOK: Duration = Duration::from_millis(20);

/// Repeater between clients and a server: it passes each message on several times, and each reply
/// once.
struct Repeater {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<BTreeSet<Ipv4Addr>>>,
}

/// Returns the address that a DHCPv4 reply acknowledges (RFC 2131, section 2), if it is a DHCPACK.
fn acknowledged(reply: &[u8]) -> Option<Ipv4Addr> {
    let address = <[u8; 4]>::try_from(reply.get(16..20)?).ok()?;
    // Option 53 with the value 5.
    let is_acknowledgement = reply.get(240..)?.windows(3).any(|octets| octets == [53, 1, 5]);
    is_acknowledgement.then(|| address.into())
}

impl Repeater {
    /// Starts a repeater at the port `own`, to which the server at the port `server` replies, for
    /// clients at the port `clients`, all at loopback.
    fn start(family: ScenarioFamily, own: u16, clients: u16, server: u16) -> Self {
        let address: IpAddr = match family {
            ScenarioFamily::V4 => Ipv4Addr::LOCALHOST.into(),
            ScenarioFamily::V6 => Ipv6Addr::LOCALHOST.into(),
        };
        let socket = UdpSocket::bind((address, own)).expect("nobody else has the port");
        socket.set_read_timeout(Some(LOOK)).expect("it is not zero");
        let is_over = Arc::<AtomicBool>::default();
        let ends = Arc::clone(&is_over);
        let [clients, server] = [clients, server].map(|port| SocketAddr::from((address, port)));
        let thread = std::thread::spawn(move || {
            let mut octets = [0; 4_096];
            let mut acknowledged_addresses = BTreeSet::new();
            while !ends.load(Ordering::Acquire) {
                let Ok((len, from)) = socket.recv_from(&mut octets) else { continue };
                let (to, copies) = if from == server { (clients, 1) } else { (server, COPIES) };
                if from == server && family == ScenarioFamily::V4 {
                    acknowledged_addresses.extend(acknowledged(&octets[..len]));
                }
                for copy in 0..copies {
                    if copy > 0 {
                        std::thread::sleep(GAP);
                    }
                    // A full queue loses a copy, as a network does.
                    socket.send_to(&octets[..len], to).ok();
                }
            }
            acknowledged_addresses
        });
        Self { is_over, thread: Some(thread) }
    }

    /// Ends the repeater, and returns the addresses that DHCPv4 clients got.
    fn end(mut self) -> BTreeSet<Ipv4Addr> {
        self.is_over.store(true, Ordering::Release);
        let thread = self.thread.take().expect("it ends once");
        thread.join().expect("it does not panic")
    }
}

impl Drop for Repeater {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
    }
}

/// Clients with new hardware addresses get leases at `server`, to which each message comes several
/// times: the pair stays in normal operation, no update is refused, and both have the leases.
fn a_pair_bears_repeated_messages(
    family: ScenarioFamily,
    mode: PairMode,
    makes: [ServerMake; 2],
    server: usize,
) {
    let setup = PairSetup::new(family, mode, 10_000);
    let mut pair = PairSetup { globals: NO_CACHE, ..setup }.start(&makes);
    pair.wait_until_normal();
    let [port, _] = pair.servers[server].ports();
    let (own, clients_port) = (pair.client_ports[server], free_port());
    let repeater = Repeater::start(family, own, clients_port, port);
    for run in 1..=2 {
        let base = format!("mac=00:0c:{run:02x}:00:00:00");
        // Kea gives a client that comes twice another lease.
        let clients = ["-R", "1000000", "-b", &base, "-r", RATE, "-n", CLIENTS];
        pair.run_clients_from(clients_port, own, &clients, "5000000");
    }
    let acknowledged = repeater.end();
    pair.wait_until_normal();
    for server in [0, 1] {
        let log = pair.servers[server].log();
        for sign in ["terminated", "HA_LEASE_UPDATE_REJECTED", "HA_LEASE_UPDATE_CONFLICT"] {
            assert!(!log.contains(sign), "{makes:?}: server {server}: {sign}: {log}");
        }
    }
    match family {
        // Kea also keeps leases whose update failed, for which it sends no reply.
        ScenarioFamily::V4 => {
            assert!(acknowledged.len() >= LEASES_MIN, "{makes:?}: {}", acknowledged.len());
            for at in [0, 1] {
                let leases = pair.leases(at);
                let has_lease = |address: &&Ipv4Addr| leases.contains_key(&address.to_string());
                let lost: Vec<_> = acknowledged.iter().filter(|one| !has_lease(one)).collect();
                assert!(lost.is_empty(), "{makes:?}: server {at} lacks {lost:?}");
            }
        }
        ScenarioFamily::V6 => pair.check_leases(LEASES_MIN),
    }
}

#[test]
fn a_pair_of_godwit_bears_repeated_messages() {
    for family in [ScenarioFamily::V4, ScenarioFamily::V6] {
        let makes = [ServerMake::Godwit; 2];
        a_pair_bears_repeated_messages(family, PairMode::HotStandby, makes, 0);
    }
}

#[test]
fn a_pair_with_kea_3_bears_repeated_messages() {
    if has_debian_13() {
        let (v4, v6) = (ScenarioFamily::V4, ScenarioFamily::V6);
        let makes = [ServerMake::Godwit, ServerMake::Kea3];
        a_pair_bears_repeated_messages(v4, PairMode::HotStandby, makes, 0);
        a_pair_bears_repeated_messages(v4, PairMode::LoadBalancing, makes, 1);
        let makes = [ServerMake::Kea3, ServerMake::Godwit];
        a_pair_bears_repeated_messages(v4, PairMode::HotStandby, makes, 0);
        a_pair_bears_repeated_messages(v6, PairMode::HotStandby, makes, 0);
    }
}

#[test]
fn a_pair_with_kea_2_2_bears_repeated_messages() {
    if require(&["kea-dhcp4"]) {
        for makes in [[ServerMake::Godwit, ServerMake::Kea], [ServerMake::Kea, ServerMake::Godwit]]
        {
            a_pair_bears_repeated_messages(ScenarioFamily::V4, PairMode::HotStandby, makes, 0);
        }
    }
}
