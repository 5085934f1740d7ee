//! The seam between a load run and a protocol family: what [`crate::population::Population`] and
//! [`crate::run_report`] need of DHCPv4 or DHCPv6. Everything else is shared.
//!
//! An exchange is four messages in both families: a first request, an offer, a second request that
//! takes the offer up, and the answer that grants. Clients that renew at once what they were granted
//! have two more: a third request, and the answer to that.

use std::fmt;
use std::net::SocketAddr;

use netio::{NetError, Source, UdpSocket};
use serde_json::Value;

use crate::fault::{Fault, Malformed, Refusal};
use crate::leases::Resource;

/// What counts as an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expect {
    /// Answers of a DHCP server.
    #[default]
    Dhcp,
    /// The own messages, sent back by a plain responder: a first request counts as its offer, a
    /// second one as its grant. This measures generator and kernel, not a server.
    Echo,
}

/// What an answer means for the exchange that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgment<O> {
    /// It has a transaction identifier that nothing has been sent with.
    Unmatched,
    /// It is for another client.
    OtherClient,
    /// It breaks the protocol.
    Faulty(Fault),
    /// The server refuses.
    Refused(Refusal),
    /// An offer.
    Offer(O),
    /// The grant.
    Granted {
        /// Something else than what was offered, where the protocol allows that.
        is_moved: bool,
    },
    /// A grant that the client renews at once.
    Continued(O),
}

/// One family's messages as one thread sends and reads them.
pub trait Protocol: Send {
    /// An answer, read.
    type Answer<'a>;
    /// What an exchange remembers of the offer that it took up.
    type Offer: Copy + Send;
    /// What is leased.
    type Resource: Resource;
    /// Bits of a transaction identifier that tell exchanges apart.
    const XID_BITS: u32;

    /// The longest message that is sent, octets.
    fn message_bytes_max(&self) -> usize;

    /// Leases that one exchange may bring.
    fn leases_per_exchange(&self) -> u64;

    /// Which of the own addresses ([`Door::sources`]) speaks for `client`.
    fn source_of(&self, client: u32) -> usize;

    /// Writes the first request of exchange `xid` into `buffer`; returns its length.
    fn first(&self, buffer: &mut [u8], xid: u32, client: u32) -> usize;

    /// Writes the request that takes up the offer `answer`, `secs` seconds after the first one,
    /// into `buffer`; returns its length.
    fn second(
        &self,
        buffer: &mut [u8],
        answer: &Self::Answer<'_>,
        client: u32,
        secs: u16,
        offer: Self::Offer,
    ) -> usize;

    /// Writes the request by which `client` renews what `answer` granted, which was judged
    /// [`Judgment::Continued`], into `buffer`; returns its length.
    fn third(&self, buffer: &mut [u8], answer: &Self::Answer<'_>, client: u32) -> usize;

    /// Writes the message by which `client` gives back at once what `answer` granted into `buffer`;
    /// returns its length, `None` where clients keep what they get. It must be one without an answer.
    fn give_back(&self, buffer: &mut [u8], answer: &Self::Answer<'_>, client: u32)
    -> Option<usize>;

    /// Reads a datagram.
    ///
    /// # Errors
    ///
    /// When it is no message of the family.
    fn read(octets: &[u8]) -> Result<Self::Answer<'_>, Malformed>;

    /// The exchange that an answer names: [`Protocol::XID_BITS`] of its transaction identifier.
    fn xid(answer: &Self::Answer<'_>) -> u32;

    /// What `answer` means for an exchange of `client` that took up `taken`, `None` while it waits
    /// for an offer. A further offer for an exchange that has taken one up is judged an offer.
    fn judge(
        &self,
        answer: &Self::Answer<'_>,
        client: u32,
        taken: Option<Self::Offer>,
    ) -> Judgment<Self::Offer>;

    /// Calls `each` with owner, resource and lease time in seconds of every lease that a grant
    /// (or a refusal of a part) by a server gives to `client`.
    fn leases(
        &self,
        answer: &Self::Answer<'_>,
        client: u32,
        each: impl FnMut(<Self::Resource as Resource>::Owner, Self::Resource, u32),
    );
}

/// One thread's way to the server.
pub struct Door<P> {
    /// Its socket.
    pub socket: UdpSocket,
    /// Its messages.
    pub protocol: P,
    /// Where requests go.
    pub destination: SocketAddr,
    /// The own addresses that requests leave from in turn; empty when the socket has one.
    pub sources: Vec<Source>,
}

/// Where a run sends its load, and as whom.
pub trait Target: Clone + fmt::Debug + Sync {
    /// The family.
    type Protocol: Protocol;
    /// The tool's name in records.
    const TOOL: &'static str;
    /// What offer and grant are called in records, plural, and what an exchange waits for.
    const STAGES: Stages;

    /// Everything that cannot work with `threads` threads, in words.
    fn problems(&self, threads: u32) -> Vec<String>;

    /// Opens thread `thread` of `threads`.
    ///
    /// # Errors
    ///
    /// What the environment refuses.
    fn open(
        &self,
        thread: u32,
        threads: u32,
        expect: Expect,
    ) -> Result<Door<Self::Protocol>, NetError>;

    /// The target's settings by name, for the record.
    fn settings(&self) -> Vec<(&'static str, Value)>;
}

/// Names of counts in records.
#[derive(Clone, Copy, Debug)]
pub struct Stages {
    /// Offers taken up.
    pub offers: &'static str,
    /// Grants.
    pub grants: &'static str,
    /// Exchanges lost while they waited for an offer.
    pub lost_before_offer: &'static str,
    /// Exchanges lost while they waited for the grant.
    pub lost_before_grant: &'static str,
    /// Exchanges refused in place of the offer.
    pub refused_offers: &'static str,
    /// Exchanges refused in place of the grant.
    pub refused_grants: &'static str,
}
