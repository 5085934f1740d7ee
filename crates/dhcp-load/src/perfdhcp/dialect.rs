//! Interface between `godwit perfdhcp` and a protocol family: the messages that a client sends and
//! the meaning of their replies, each request with its reply by itself.

use std::net::Ipv6Addr;

use packet_wire::ethernet::MacAddress;
use packet_wire::frame::Endpoints;

use crate::fault::MalformedDhcpMessage;
use crate::leases::LeasedResource;
use crate::protocol::Judgment;

/// Kind of a DHCP request with its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExchangeKind {
    /// First request of an exchange: DISCOVER and OFFER, SOLICIT and ADVERTISE (or REPLY, with
    /// Rapid Commit).
    First,
    /// Second request of an exchange: REQUEST and ACK, REQUEST and REPLY.
    Second,
    /// Renewal: REQUEST to the server of the lease and ACK, RENEW and REPLY.
    Renewal,
    /// Release: RELEASE, to which DHCPv4 servers send no reply.
    Release,
    /// Rebinding: REQUEST to any server that extends the lease and ACK, REBIND and REPLY.
    Rebinding,
    /// Reboot: REQUEST about a lease from before (INIT-REBOOT) and ACK, CONFIRM and REPLY.
    Reboot,
    /// Request for configuration without a lease: INFORM and ACK, INFORMATION-REQUEST and REPLY.
    Information,
    /// Refusal of a lease by the client: DECLINE, to which DHCPv4 servers send no reply.
    Decline,
}

impl ExchangeKind {
    /// All kinds of requests, by [`ExchangeKind::index`].
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

    /// Number of kinds of requests.
    pub const COUNT: usize = 8;

    /// Returns the position of the kind in [`ExchangeKind::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl ExchangeKind {
    /// Returns true if the reply to a request of this kind is about a lease that continues. Replies
    /// to the other kinds, such as RELEASE, give no lease.
    pub const fn gives(self) -> bool {
        !matches!(self, Self::Release | Self::Information | Self::Decline)
    }

    /// Returns true if servers of the family send a reply to a request of this kind.
    pub const fn is_answered<D: Dialect>(self) -> bool {
        D::IS_RELEASE_ANSWERED || !matches!(self, Self::Release | Self::Decline)
    }
}

/// Lifetimes of a lease, in seconds from the server's grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseLifetimes {
    /// Time at which the client asks its server to renew the lease (T1), in seconds from the grant.
    pub t1_s: u32,
    /// Time at which the client asks any server to renew the lease (T2), in seconds from the grant.
    pub t2_s: u32,
    /// Time at which the lease ends, in seconds from the grant.
    pub valid_s: u32,
}

/// Simulated client that sends a message, with the relay that the message goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageSender {
    /// Number of the client among the clients of the run.
    pub client: u32,
    /// Number of the relay address that the client uses for the whole exchange.
    pub link: u32,
}

/// Protocol family of perfdhcp's messages: how a client of DHCPv4 or DHCPv6 writes requests and
/// reads replies.
pub trait Dialect: Send {
    /// Reply of a server, parsed.
    type Answer<'a>;
    /// Data about an offer that a client took up, or about a lease whose renewal the client awaits;
    /// the reply must agree with it.
    type Offer: Copy;
    /// Data about a lease that is needed to renew it and give it back.
    type Lease: Copy;
    /// Resource that a server leases: an address or a prefix.
    type Resource: LeasedResource;
    /// Names of the kinds of exchanges in reports, such as DISCOVER-OFFER.
    const NAMES: [&'static str; ExchangeKind::COUNT];
    /// Number of bits of a transaction identifier that number exchanges; three more bits hold the
    /// kind of the request.
    const NUMBER_BITS: u32;
    /// True if the second request of an exchange has a transaction identifier of its own (RFC 9915
    /// §16.1).
    const IS_SECOND_RENUMBERED: bool;
    /// True if servers of the family reply to a RELEASE and to a DECLINE: DHCPv6 servers do.
    const IS_RELEASE_ANSWERED: bool;
    /// Length of the family's shortest message, in bytes.
    const BYTES_MIN: usize;

    /// Returns the length of the longest DHCP message that the generator sends, in bytes.
    fn message_bytes_max(&self) -> usize;

    /// Writes the first request of client `who` into `buffer`, `secs` seconds after its exchange
    /// began; returns its length in bytes.
    fn write_first(&self, buffer: &mut [u8], xid: u32, who: MessageSender, secs: u16) -> usize;

    /// Writes the request by which client `who` takes up the offer `answer`, as
    /// [`Dialect::write_first`] does.
    fn write_second(
        &self,
        buffer: &mut [u8],
        xid: u32,
        answer: &Self::Answer<'_>,
        who: MessageSender,
        secs: u16,
        offer: Self::Offer,
    ) -> usize;

    /// Writes the message of `kind`, neither the first nor the second request, about `lease`, as
    /// [`Dialect::write_first`] does.
    fn write_lease_message(
        &self,
        buffer: &mut [u8],
        kind: ExchangeKind,
        xid: u32,
        who: MessageSender,
        lease: &Self::Lease,
    ) -> usize;

    /// Sets the elapsed time of a message of this family that is sent again to `secs` seconds.
    fn set_age(&self, message: &mut [u8], secs: u16);

    /// Reads a datagram as a message of the family.
    ///
    /// # Errors
    ///
    /// Fails when the datagram is no message of the family.
    fn read(octets: &[u8]) -> Result<Self::Answer<'_>, MalformedDhcpMessage>;

    /// Returns the transaction identifier of a reply.
    fn xid(answer: &Self::Answer<'_>) -> u32;

    /// Returns the transaction identifier of a datagram that may be no DHCP message; `None` when
    /// the datagram is too short for one.
    fn unchecked_xid(octets: &[u8]) -> Option<u32>;

    /// Returns true if the reply is an offer: of the type that first requests get.
    fn is_offer(answer: &Self::Answer<'_>) -> bool;

    /// Returns the server identifier of a reply as hexadecimal digits, empty when there is none.
    fn server_text(answer: &Self::Answer<'_>) -> String;

    /// Returns the meaning of `answer` for a request of `kind` by client `who`.
    fn judge(
        &self,
        answer: &Self::Answer<'_>,
        who: MessageSender,
        kind: ExchangeKind,
        accepted_offer: Option<Self::Offer>,
    ) -> Judgment<Self::Offer>;

    /// Notes the server that `offer` comes from; returns the offer as the client takes it up.
    fn adopt(&mut self, answer: &Self::Answer<'_>, offer: Self::Offer) -> Self::Offer;

    /// Returns the lease that the server's reply `answer` gives; `None` when the lease cannot be
    /// kept.
    fn lease(&self, answer: &Self::Answer<'_>) -> Option<Self::Lease>;

    /// Returns the data that the reply to a message of `kind` about `lease` must agree with; `None`
    /// when there is none.
    fn expected_reply(kind: ExchangeKind, lease: &Self::Lease) -> Option<Self::Offer>;

    /// Returns the lifetimes of the lease that the server's reply `answer` gives; `None` when the
    /// reply gives none.
    fn terms(answer: &Self::Answer<'_>) -> Option<LeaseLifetimes>;

    /// Calls `each` with owner, resource and lease time in seconds of all leases that `answer`
    /// gives to `who`.
    fn resources(
        answer: &Self::Answer<'_>,
        who: MessageSender,
        each: impl FnMut(<Self::Resource as LeasedResource>::Owner, Self::Resource, u32),
    );

    /// Calls `each` with owner and resource of all addresses and prefixes in `lease`, which the
    /// client gives back.
    fn resources_of_lease(
        lease: &Self::Lease,
        who: MessageSender,
        each: impl FnMut(<Self::Resource as LeasedResource>::Owner, Self::Resource),
    );

    /// Returns the number of the client that `owner` belongs to.
    fn client_of(owner: <Self::Resource as LeasedResource>::Owner) -> u32;

    /// Returns the identity of client number `client` as text: hardware address or DUID.
    fn client_text(&self, client: u32) -> String;

    /// Returns address and prefix length in bits of a leased resource.
    fn address_of(resource: Self::Resource) -> (std::net::IpAddr, u8);

    /// Returns source and destination of the Ethernet frame for a message of `kind` by client
    /// `who`, about `lease` if it is about one; `None` for clients whose messages leave by a UDP
    /// socket.
    fn endpoints(
        &self,
        _kind: ExchangeKind,
        _who: MessageSender,
        _lease: Option<&Self::Lease>,
    ) -> Option<Endpoints> {
        None
    }

    /// Notes the hardware address from which a server's frame with `answer` came.
    fn learn_server(&mut self, _answer: &Self::Answer<'_>, _endpoints: &Endpoints) {}

    /// Returns the hardware address of client `who` if its messages leave in frames; `None`
    /// otherwise.
    fn station(&self, _who: MessageSender) -> Option<MacAddress> {
        None
    }

    /// Returns true if one of the simulated clients has the hardware address `mac`.
    fn has_station(&self, _mac: MacAddress) -> bool {
        true
    }

    /// Returns true if `answer` names one of the simulated clients.
    fn names_own(&self, _answer: &Self::Answer<'_>) -> bool {
        true
    }
}

/// Returns the link address of a client's relay, for families whose links have addresses; zeros
/// without one.
pub(crate) fn link_of(links: &[Ipv6Addr], who: MessageSender) -> [u8; 16] {
    links.get(who.link as usize).map_or([0; 16], Ipv6Addr::octets)
}
