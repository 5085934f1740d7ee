//! What the world has to be told of a protocol: its clients, and what they see in replies.

use core::fmt::Debug;

use base::Random;
use dhcp_config::IncludeResolver;
use dhcp_engine::Protocol;
use dhcp_lease::{LeaseTable, Leased};

use crate::settings::Settings;

/// Whose a lease is: a client, and in DHCPv6 one of its identity associations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// The client.
    pub client: usize,
    /// Kind and number of the association; 0 where there are none.
    pub association: u64,
}

/// One lease that a reply acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgment<A> {
    /// To whom.
    pub owner: Owner,
    /// What.
    pub address: A,
    /// For how many seconds.
    pub lifetime_s: u32,
}

/// Whether a client gets a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hearing {
    /// It does.
    Hears,
    /// It has left that address meanwhile.
    Misses,
    /// Nobody could have heard it there: the server is wrong.
    CannotHear,
}

/// Index of the interface, called `eth0`, that clients on the server's own link are heard through.
pub const INTERFACE: u32 = 2;

/// A protocol with clients.
pub trait Scene: Protocol + Leased {
    /// A client with its state.
    type Client: Debug;

    /// Whether every message that changes a lease is answered.
    const ANSWERS_ALL: bool;

    /// The server's configuration with pools of `pool_size`.
    fn snapshot(settings: &Settings, pool_size: u32, table: &LeaseTable<Self>) -> Self::Snapshot;

    /// The client with this number, just switched on.
    fn new_client(settings: &Settings, index: usize, random: &mut Random) -> Self::Client;

    /// How a datagram of a client reaches the server.
    fn ingress(client: &Self::Client, octets: &[u8], random: &mut Random) -> Self::Ingress;

    /// Whether the client is on the server's own link.
    fn is_direct(client: &Self::Client) -> bool;

    /// Whether a reply that is sent to `destination` reaches the client that it is for.
    fn hears(client: &Self::Client, destination: Self::Destination, reply: &[u8]) -> Hearing;

    /// The client's timer has run: it sends something, or nothing.
    fn on_timer(client: &mut Self::Client, random: &mut Random, now_s: u64) -> Option<Vec<u8>>;

    /// The client believes that it has the address with this number, until `until_s`, and asks to
    /// keep it, whoever has it.
    fn claim(client: &mut Self::Client, number: u32, until_s: u64) -> Vec<u8>;

    /// A reply has arrived; the client may answer at once.
    fn on_reply(
        client: &mut Self::Client,
        random: &mut Random,
        reply: &[u8],
        now_s: u64,
    ) -> Option<Vec<u8>>;

    /// The client that a reply is for; `None` when it is malformed.
    fn recipient(reply: &[u8]) -> Option<usize>;

    /// What a reply acknowledges.
    fn acknowledged(reply: &[u8]) -> Vec<Acknowledgment<Self::Address>>;

    /// The client that asks for a change.
    fn asker(identity: &Self::Identity<'_>) -> usize;

    /// Whose a stored lease is, of what, and until which second; `None` when it is nobody's.
    fn stored(lease: &Self::Lease) -> Option<(Owner, Self::Address, u64)>;

    /// What a stored lease is of.
    fn address(lease: &Self::Lease) -> Self::Address;
}

/// There are no files in this world.
pub(crate) struct NoIncludes;

impl IncludeResolver for NoIncludes {
    fn read(&mut self, _including: &str, path: &str) -> Result<String, String> {
        Err(format!("no file {path} in this world"))
    }
}
