//! The seam between `godwit perfdhcp` and a protocol family: which messages a client sends and what
//! their answers mean, each request with its answer by itself.

use std::net::Ipv6Addr;

use packet_wire::ethernet::MacAddress;
use packet_wire::frame::Endpoints;

use crate::fault::Malformed;
use crate::leases::Resource;
use crate::protocol::Judgment;

/// A request with its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// DISCOVER and OFFER, SOLICIT and ADVERTISE (or REPLY, with Rapid Commit).
    First,
    /// REQUEST and ACK, REQUEST and REPLY.
    Second,
    /// A REQUEST that renews, or a RENEW, and its answer.
    Renewal,
    /// RELEASE, which DHCPv4 does not answer.
    Release,
    /// A REQUEST that asks any server to renew, or a REBIND, and its answer.
    Rebinding,
    /// A REQUEST about a lease from before (INIT-REBOOT), or a CONFIRM, and its answer.
    Reboot,
    /// INFORM, or INFORMATION-REQUEST, and its answer.
    Information,
    /// DECLINE, which DHCPv4 does not answer.
    Decline,
}

impl Kind {
    /// All kinds, by [`Kind::index`].
    pub const ALL: [Self; Self::COUNT] = [
        Self::First,
        Self::Second,
        Self::Renewal,
        Self::Release,
        Self::Rebinding,
        Self::Reboot,
        Self::Information,
        Self::Decline,
    ];

    /// How many there are.
    pub const COUNT: usize = 8;

    /// Position in [`Kind::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl Kind {
    /// Whether the answer is about a lease that goes on: those to the others give nothing.
    #[must_use]
    pub const fn gives(self) -> bool {
        !matches!(self, Self::Release | Self::Information | Self::Decline)
    }

    /// Whether the server answers it.
    #[must_use]
    pub const fn is_answered<D: Dialect>(self) -> bool {
        D::IS_RELEASE_ANSWERED || !matches!(self, Self::Release | Self::Decline)
    }
}

/// How long a lease lasts, seconds from when it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// When its server is asked to renew it.
    pub t1_s: u32,
    /// When any server is.
    pub t2_s: u32,
    /// When it ends.
    pub valid_s: u32,
}

/// Whose message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Who {
    /// The client's number.
    pub client: u32,
    /// The number of its relay address, for the whole exchange.
    pub link: u32,
}

/// One family's messages.
pub trait Dialect: Send {
    /// An answer, read.
    type Answer<'a>;
    /// What is remembered of an offer that was taken up, or of a lease whose renewal is awaited.
    type Offer: Copy;
    /// What is remembered of a lease, to renew it and give it back.
    type Lease: Copy;
    /// What is leased.
    type Resource: Resource;
    /// What the kinds are called.
    const NAMES: [&'static str; Kind::COUNT];
    /// Bits of a transaction identifier that number exchanges; three more tell their kinds.
    const NUMBER_BITS: u32;
    /// The second request has a transaction identifier of its own (RFC 9915 §16.1).
    const IS_SECOND_RENUMBERED: bool;
    /// A RELEASE is answered, and a DECLINE.
    const IS_RELEASE_ANSWERED: bool;
    /// The shortest message, octets.
    const BYTES_MIN: usize;

    /// The longest message that is sent, octets.
    fn message_bytes_max(&self) -> usize;

    /// Writes the first request of `who` into `buffer`, `secs` seconds after it began; returns its
    /// length.
    fn first(&self, buffer: &mut [u8], xid: u32, who: Who, secs: u16) -> usize;

    /// Writes the request that takes up the offer `answer`; as [`Dialect::first`].
    fn second(
        &self,
        buffer: &mut [u8],
        xid: u32,
        answer: &Self::Answer<'_>,
        who: Who,
        secs: u16,
        offer: Self::Offer,
    ) -> usize;

    /// Writes the message of `kind`, neither the first nor the second, about `lease`; as
    /// [`Dialect::first`].
    fn about(
        &self,
        buffer: &mut [u8],
        kind: Kind,
        xid: u32,
        who: Who,
        lease: &Self::Lease,
    ) -> usize;

    /// Makes a message of this family that is sent again say that it is `secs` seconds old.
    fn set_age(&self, message: &mut [u8], secs: u16);

    /// Reads a datagram.
    ///
    /// # Errors
    ///
    /// When it is no message of the family.
    fn read(octets: &[u8]) -> Result<Self::Answer<'_>, Malformed>;

    /// The transaction identifier.
    fn xid(answer: &Self::Answer<'_>) -> u32;

    /// The transaction identifier of what may be no message.
    fn xid_of_anything(octets: &[u8]) -> Option<u32>;

    /// The answer is of the type that first requests get.
    fn is_offer(answer: &Self::Answer<'_>) -> bool;

    /// The server identifier as hexadecimal digits, empty when there is none.
    fn server_shown(answer: &Self::Answer<'_>) -> String;

    /// What `answer` means for a request of `kind` by `who`.
    fn judge(
        &self,
        answer: &Self::Answer<'_>,
        who: Who,
        kind: Kind,
        taken: Option<Self::Offer>,
    ) -> Judgment<Self::Offer>;

    /// Takes note of the server that `offer` comes from; returns the offer as it is taken up.
    fn adopt(&mut self, answer: &Self::Answer<'_>, offer: Self::Offer) -> Self::Offer;

    /// The lease that `answer` gives; `None` when it is too large to be remembered.
    fn lease(&self, answer: &Self::Answer<'_>) -> Option<Self::Lease>;

    /// What the answer to a message of `kind` about `lease` must agree with.
    fn held(kind: Kind, lease: &Self::Lease) -> Option<Self::Offer>;

    /// How long the lease that `answer` gives lasts; `None` when it gives none.
    fn terms(answer: &Self::Answer<'_>) -> Option<Terms>;

    /// Calls `each` with owner, resource and lease time in seconds of all that `answer` gives to
    /// `who`.
    fn resources(
        answer: &Self::Answer<'_>,
        who: Who,
        each: impl FnMut(<Self::Resource as Resource>::Owner, Self::Resource, u32),
    );

    /// As [`Dialect::resources`] for a lease that is given back.
    fn resources_of_lease(
        lease: &Self::Lease,
        who: Who,
        each: impl FnMut(<Self::Resource as Resource>::Owner, Self::Resource),
    );

    /// The client of `owner`, by its number.
    fn client_of(owner: <Self::Resource as Resource>::Owner) -> u32;

    /// Client number `client` in text: hardware address or DUID.
    fn client_shown(&self, client: u32) -> String;

    /// Address and prefix length of a resource.
    fn address_of(resource: Self::Resource) -> (std::net::IpAddr, u8);

    /// Who the frame of a message of `kind` by `who`, about `lease` if it is about one, is from and for;
    /// `None` of clients whose messages leave by a UDP socket.
    fn endpoints(&self, _kind: Kind, _who: Who, _lease: Option<&Self::Lease>) -> Option<Endpoints> {
        None
    }

    /// Takes note of who the frame with `answer` was from.
    fn hears(&mut self, _answer: &Self::Answer<'_>, _endpoints: &Endpoints) {}

    /// The hardware address of a client whose messages leave in frames.
    fn station(&self, _who: Who) -> Option<MacAddress> {
        None
    }

    /// Whether one of the clients has the hardware address `mac`.
    fn has_station(&self, _mac: MacAddress) -> bool {
        true
    }

    /// Whether `answer` names one of the clients.
    fn names_own(&self, _answer: &Self::Answer<'_>) -> bool {
        true
    }
}

/// A client's place on a link, for families whose links have addresses.
pub(crate) fn link_of(links: &[Ipv6Addr], who: Who) -> [u8; 16] {
    links.get(who.link as usize).map_or([0; 16], Ipv6Addr::octets)
}
