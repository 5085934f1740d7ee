//! Interface between a load run and a protocol family: the parts of DHCPv4 or DHCPv6 that
//! [`crate::population::Population`] and [`crate::run_report`] need. The families share all other
//! code.
//!
//! An exchange is four messages in both families: a first request, an offer, a second request that
//! takes the offer up, and the reply that grants. Clients that renew their leases at once
//! (`--renew`) have two more: a third request, and the reply to that.

use std::fmt;
use std::net::SocketAddr;

use netio::{NetError, SendSource, UdpSocket};
use serde_json::Value;

use crate::fault::{MalformedDhcpMessage, ReplyFault, ServerRefusal};
use crate::leases::LeasedResource;

/// Kind of messages that count as replies in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expect {
    /// Replies of a DHCP server count.
    #[default]
    Dhcp,
    /// The generator's own messages count as replies when a responder (a program that sends every
    /// datagram back) returns them: a first request counts as its offer, a second one as its grant.
    /// Such a run measures generator and kernel, not a server.
    Echo,
}

/// Meaning of a server's reply for the exchange that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgment<O> {
    /// The generator has sent no message with the reply's transaction identifier.
    Unmatched,
    /// The reply carries the identity of another client.
    OtherClient,
    /// The reply breaks the protocol, with this fault.
    Faulty(ReplyFault),
    /// The server refuses the lease, in this form.
    Refused(ServerRefusal),
    /// The reply is an offer (DHCPOFFER, ADVERTISE).
    Offer(O),
    /// The reply grants the leases (DHCPACK, REPLY) and ends the exchange.
    Granted {
        /// True if the server granted another address or prefix than it had offered, which DHCPv6
        /// allows (RFC 9915 §18.2.10.1).
        is_moved: bool,
    },
    /// The reply grants a lease that the client renews at once.
    Continued(O),
}

/// Protocol family, DHCPv4 or DHCPv6, as one generator thread writes and reads its messages.
pub trait DhcpLoadProtocol: Send {
    /// Reply of a server, parsed.
    type Answer<'a>;
    /// Data that an exchange keeps of the offer that it took up.
    type Offer: Copy + Send;
    /// Resource that a server leases: an address or a prefix.
    type Resource: LeasedResource;
    /// Number of bits of a transaction identifier that distinguish exchanges.
    const XID_BITS: u32;

    /// Returns the length of the longest DHCP message that the generator sends, in bytes.
    fn message_bytes_max(&self) -> usize;

    /// Returns the number of leases that one exchange may bring.
    fn leases_per_exchange(&self) -> u64;

    /// Returns the index of the source address ([`DhcpThreadSetup::sources`]) that messages of
    /// `client` leave from.
    fn source_of(&self, client: u32) -> usize;

    /// Writes the first request (DHCPDISCOVER, SOLICIT) of exchange `xid` of `client` into
    /// `buffer`; returns its length in bytes.
    fn write_first(&self, buffer: &mut [u8], xid: u32, client: u32) -> usize;

    /// Writes the request by which `client` takes up the offer `answer`, `secs` seconds after its
    /// first request, into `buffer`; returns its length in bytes.
    fn write_second(
        &self,
        buffer: &mut [u8],
        answer: &Self::Answer<'_>,
        client: u32,
        secs: u16,
        offer: Self::Offer,
    ) -> usize;

    /// Writes the request by which `client` renews the grant `answer`, which was judged
    /// [`Judgment::Continued`], into `buffer`; returns its length in bytes.
    fn write_renewal(&self, buffer: &mut [u8], answer: &Self::Answer<'_>, client: u32) -> usize;

    /// Writes the message by which `client` gives back the grant `answer` at once into `buffer`;
    /// returns its length in bytes, or `None` where clients keep their leases. The message must be
    /// one that servers do not reply to.
    fn write_release(
        &self,
        buffer: &mut [u8],
        answer: &Self::Answer<'_>,
        client: u32,
    ) -> Option<usize>;

    /// Reads a datagram as a message of the family.
    ///
    /// # Errors
    ///
    /// Fails when the datagram is no message of the family.
    fn read(octets: &[u8]) -> Result<Self::Answer<'_>, MalformedDhcpMessage>;

    /// Returns the exchange that a reply names: the lower [`DhcpLoadProtocol::XID_BITS`] bits of
    /// its transaction identifier.
    fn xid(answer: &Self::Answer<'_>) -> u32;

    /// Returns the meaning of `answer` for an exchange of `client` that took up `accepted_offer`,
    /// `None` while the exchange waits for an offer. A further offer for an exchange that has taken
    /// one up is judged an offer.
    fn judge(
        &self,
        answer: &Self::Answer<'_>,
        client: u32,
        accepted_offer: Option<Self::Offer>,
    ) -> Judgment<Self::Offer>;

    /// Calls `each` with owner, resource and lease time in seconds of every lease that a server's
    /// grant (or its refusal of a part) gives to `client`.
    fn leases(
        &self,
        answer: &Self::Answer<'_>,
        client: u32,
        each: impl FnMut(<Self::Resource as LeasedResource>::Owner, Self::Resource, u32),
    );
}

/// Socket, messages and destination of one generator thread.
pub struct DhcpThreadSetup<P> {
    /// UDP socket of the thread.
    pub socket: UdpSocket,
    /// Protocol family with the message templates of the thread.
    pub protocol: P,
    /// Address and port of the server that the thread sends to.
    pub destination: SocketAddr,
    /// Source addresses that the thread's requests leave from in turn; empty when the socket has
    /// one.
    pub sources: Vec<SendSource>,
}

/// Server that a run sends its load to, and the relay agents or clients that the generator
/// simulates.
pub trait DhcpLoadTarget: Clone + fmt::Debug + Sync {
    /// Protocol family of the target's messages.
    type Protocol: DhcpLoadProtocol;
    /// Name of the generator in records.
    const TOOL: &'static str;
    /// Names of message counts in the records of runs of this protocol family.
    const STAGES: Stages;

    /// Returns all reasons why the target cannot work with `threads` threads, as texts.
    fn problems(&self, threads: u32) -> Vec<String>;

    /// Opens the socket of thread `thread` of `threads`, and returns it with the thread's messages.
    ///
    /// # Errors
    ///
    /// Fails when the environment refuses something.
    fn open(
        &self,
        thread: u32,
        threads: u32,
        expect: Expect,
    ) -> Result<DhcpThreadSetup<Self::Protocol>, NetError>;

    /// Returns the target's settings by name, for the record.
    fn settings(&self) -> Vec<(&'static str, Value)>;
}

/// Names of message counts in the record of a run, such as those of offers and grants, by protocol
/// family.
#[derive(Clone, Copy, Debug)]
pub struct Stages {
    /// Name of the number of offers that clients took up.
    pub offers: &'static str,
    /// Name of the number of grants that completed an exchange.
    pub grants: &'static str,
    /// Name of the number of exchanges lost while they waited for an offer.
    pub lost_before_offer: &'static str,
    /// Name of the number of exchanges lost while they waited for the grant.
    pub lost_before_grant: &'static str,
    /// Name of the number of exchanges that the server refused instead of an offer.
    pub refused_offers: &'static str,
    /// Name of the number of exchanges that the server refused instead of the grant.
    pub refused_grants: &'static str,
}
