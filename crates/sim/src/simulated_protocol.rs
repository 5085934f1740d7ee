//! Interface between the simulation and a protocol (DHCPv4 or DHCPv6): the protocol's clients, and
//! the content of replies for these clients.

use core::fmt::Debug;

use base::Random;
use dhcp_config::IncludeResolver;
use dhcp_engine::Protocol;
use dhcp_lease::{Lease, LeaseTable, TableFamily};

use crate::settings::DhcpSimulationSettings;

/// Owner of a lease: a client, and in DHCPv6 one of its identity associations (IA_NA or IA_PD).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeaseOwner {
    /// Number of the simulated client.
    pub client: usize,
    /// Kind and IAID of the client's identity association, as one number; 0 for DHCPv4.
    pub association: u64,
}

/// Lease that a reply acknowledges: a DHCPACK or a DHCPv6 REPLY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgment<A> {
    /// Owner of the acknowledged lease.
    pub owner: LeaseOwner,
    /// Acknowledged address or prefix.
    pub address: A,
    /// Lifetime of the acknowledged lease, in seconds.
    pub lifetime_s: u32,
}

/// Result of sending a reply to a simulated client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyReception {
    /// Reply that the client gets.
    Received,
    /// Reply to an address that the client has given up in the meantime, and that the client
    /// therefore does not get.
    Missed,
    /// Reply to a destination at which no client could get it: an error of the server.
    Unreachable,
}

/// Index of the interface, `eth0`, over which clients on the server's own link send.
pub const INTERFACE: u32 = 2;

/// Protocol (DHCPv4 or DHCPv6) with its simulated clients.
pub trait SimulatedProtocol: Protocol + TableFamily {
    /// Simulated client of the protocol, with its state.
    type Client: Debug;

    /// True if the server answers every message that changes a lease: in DHCPv6, but not in DHCPv4,
    /// where RELEASE and DECLINE have no reply.
    const ANSWERS_ALL: bool;

    /// Returns the server's configuration snapshot with pools of `pool_size` addresses (and
    /// prefixes).
    fn snapshot(
        settings: &DhcpSimulationSettings,
        pool_size: u32,
        table: &LeaseTable<Self>,
    ) -> dhcp_engine::snapshot::Snapshot<Self>;

    /// Returns the simulated client number `index`, just switched on.
    fn new_client(
        settings: &DhcpSimulationSettings,
        index: usize,
        random: &mut Random,
    ) -> Self::Client;

    /// Returns the ingress (interface and addresses of arrival) of a datagram with the message
    /// `octets` of the simulated client `client`.
    fn ingress(client: &Self::Client, octets: &[u8], random: &mut Random) -> Self::Ingress;

    /// Returns true if the simulated client is on the server's own link.
    fn is_direct(client: &Self::Client) -> bool;

    /// Returns what becomes of the reply `reply` to `client` that the server sends to
    /// `destination`.
    fn reception(
        client: &Self::Client,
        destination: Self::Destination,
        reply: &[u8],
    ) -> ReplyReception;

    /// Runs the timer of the simulated client; returns the message that the client sends, if any.
    fn on_timer(client: &mut Self::Client, random: &mut Random, now_s: u64) -> Option<Vec<u8>>;

    /// Makes the simulated client believe that it has the address number `number`, until `until_s`;
    /// returns a message that requests to keep the address, whichever client has it.
    fn claim(client: &mut Self::Client, number: u32, until_s: u64) -> Vec<u8>;

    /// Passes a reply to the simulated client; returns the message that the client sends at once,
    /// if any.
    fn on_reply(
        client: &mut Self::Client,
        random: &mut Random,
        reply: &[u8],
        now_s: u64,
    ) -> Option<Vec<u8>>;

    /// Returns the number of the client that a reply is for; `None` when the reply is malformed.
    fn recipient(reply: &[u8]) -> Option<usize>;

    /// Returns the leases that a reply acknowledges.
    fn acknowledged(reply: &[u8]) -> Vec<Acknowledgment<Self::Address>>;

    /// Returns the number of the client that requests a change of a lease.
    fn client_number(identity: &Self::Identity<'_>) -> usize;

    /// Returns the owner of a stored lease; `None` when it has none.
    fn owner(lease: &Lease<Self>) -> Option<LeaseOwner>;
}

/// Include resolver of a simulation without files.
pub(crate) struct SimulationIncludes;

impl IncludeResolver for SimulationIncludes {
    fn read(&mut self, _including: &str, path: &str) -> Result<String, String> {
        Err(format!("no file {path} in this world"))
    }
}
