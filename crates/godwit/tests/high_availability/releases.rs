//! Leases that clients release while the partner is away: it has them no longer when it is back,
//! also if their addresses have been offered to other clients meanwhile.

use std::net::{IpAddr, UdpSocket};
use std::time::Duration;

use scenario::{ScenarioFamily, ScenarioServer};

use super::copies::with_each_partner;
use super::{PairMode, PairSetup, ServerPair};
use crate::common::{free_port, waited_until};
use crate::crash::{self, CrashFamily, CrashMessage, CrashReply, CrashRequest};
use crate::subjects::process::ServerMake;

/// Time after which a client sends its message again.
const RETRANSMISSION: Duration = Duration::from_millis(300);
/// Number of the first client that asks for an offer only.
const FIRST_OTHER: u32 = 1_000;

/// Clients behind a relay agent.
pub(super) struct Clients {
    family: CrashFamily,
    socket: UdpSocket,
    pub(super) port: u16,
    next_xid: u32,
    server_id: Vec<u8>,
}

impl Clients {
    pub(super) fn new(family: CrashFamily, relay_port: u16) -> Self {
        let socket = UdpSocket::bind((family.loopback, relay_port)).expect("the port was free");
        socket.set_read_timeout(Some(RETRANSMISSION)).expect("it is not zero");
        Self { family, socket, port: 0, next_xid: 1, server_id: Vec::new() }
    }

    pub(super) fn send(&self, client: u32, ask: CrashRequest) {
        let message = CrashMessage { client, xid: self.next_xid, ask, server: &self.server_id };
        let octets = (self.family.write)(&message);
        let server = (self.family.loopback, self.port);
        self.socket.send_to(&octets, server).expect("loopback takes datagrams");
    }

    /// Sends a message until the server replies, and returns the address in the reply.
    pub(super) fn ask(&mut self, client: u32, ask: CrashRequest) -> IpAddr {
        self.next_xid += 1;
        let mut reply: Option<CrashReply> = None;
        let mut buffer = [0; 2048];
        let has_come = waited_until(|| {
            self.send(client, ask);
            let len = self.socket.recv(&mut buffer).unwrap_or_default();
            reply = (self.family.read)(&buffer[..len]).filter(|reply| reply.xid == self.next_xid);
            reply.is_some()
        });
        assert!(has_come, "client {client} got no reply to {ask:?}");
        let CrashReply { address, server, .. } = reply.expect("it has come");
        self.server_id = server;
        address.unwrap_or_else(|| panic!("client {client} got no address for {ask:?}"))
    }

    /// Gets a lease.
    pub(super) fn get(&mut self, client: u32) -> IpAddr {
        let offer = self.ask(client, CrashRequest::Offer);
        self.ask(client, CrashRequest::Lease(offer))
    }
}

/// Returns true if `server` has the lease of `address`, and its client has not released it.
pub(super) fn has_lease(pair: &mut ServerPair, server: usize, address: IpAddr) -> bool {
    pair.leases(server).get(&address.to_string()).is_some_and(|lease| lease["state"] == 0)
}

/// The server that stays gets the releases of `clients`, and offers the addresses to others.
fn releases_are_not_lost(
    family: ScenarioFamily,
    makes: [ServerMake; 2],
    server: usize,
    clients: &[u32],
) {
    let (relay_port, partner) = (free_port(), 1 - server);
    let setup = PairSetup::new(family, PairMode::HotStandby, 2_000);
    let mut pair =
        PairSetup { client_port: relay_port, has_small_pools: true, ..setup }.start(&makes);
    let messages = if family == ScenarioFamily::V4 { crash::V4 } else { crash::V6 };
    let mut own = Clients::new(messages, relay_port);
    pair.wait_until_normal();
    own.port = pair.servers[0].ports()[0];
    let leased: Vec<(u32, IpAddr)> = clients.iter().map(|one| (*one, own.get(*one))).collect();
    pair.servers[partner].kill();
    pair.wait_for(server, ["partner-down", "unavailable"]);
    own.port = pair.servers[server].ports()[0];
    for &(client, address) in &leased {
        own.ask(client, CrashRequest::Renewal(address));
        own.send(client, CrashRequest::Release(address));
        let is_released = waited_until(|| !has_lease(&mut pair, server, address));
        assert!(is_released, "{makes:?}: {address} is not released");
        // Clients of the same kind, by the last bit of the number. While a release is not durable
        // yet, they get what others have been offered before.
        let mut others = (FIRST_OTHER + client..).step_by(2);
        let is_offered = waited_until(|| {
            others.next().is_some_and(|other| own.ask(other, CrashRequest::Offer) == address)
        });
        assert!(is_offered, "{makes:?}: no client is offered {address}");
    }
    pair.servers[partner].restart().unwrap();
    pair.wait_until_normal();
    for (_, address) in leased {
        for at in [server, partner] {
            let name = pair.makes[at];
            assert!(!has_lease(&mut pair, at, address), "{makes:?}: {name:?} has {address} again");
        }
    }
}

#[test]
fn a_dhcpv4_lease_that_is_released_while_the_partner_is_away_does_not_come_back() {
    with_each_partner(ScenarioFamily::V4, |family, makes, server| {
        releases_are_not_lost(family, makes, server, &[2]);
    });
}

#[test]
fn dhcpv6_leases_that_are_released_while_the_partner_is_away_do_not_come_back() {
    // Clients with even numbers have an address, the others a prefix.
    with_each_partner(ScenarioFamily::V6, |family, makes, server| {
        releases_are_not_lost(family, makes, server, &[2, 3]);
    });
}
