//! DHCPv6 implementation of [`crate::protocol`]: the meaning of replies.
//!
//! An exchange requests all its identity associations at once and succeeds when it gets a lease for
//! each. The refusal of one association ends the exchange with that status; the generator still
//! records the other leases of the reply.
//!
//! Every message has a transaction identifier of its own (RFC 9915 §16.1): twice the exchange's
//! number for the SOLICIT, one more for the REQUEST, and the REQUEST's with the highest bit set for
//! a RENEW.
//!
//! A server may grant something else than it advertised (RFC 9915 §18.2.10.1: the client uses the
//! content of the REPLY); such an exchange is on time and counted as moved.

use std::net::Ipv6Addr;

use super::RequestedAssociations;
use super::answer::{Dhcp6Reply, ReplyIa, kind};
use super::client::{ClientIa, DUID_LEN, Dhcp6LeasedResource, MessageIdentity, duid_of, peer_of};
use super::template::{Dhcp6MessageExtras, Templates};
use crate::fault::{MalformedDhcpMessage, ReplyFault, ServerRefusal};
use crate::protocol::{DhcpLoadProtocol, Expect, Judgment};

/// Digests of the ADVERTISE that an exchange took up: of the server's identifier and of the offered
/// leases, in any order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Advertised {
    server: u64,
    leased: u64,
    /// True if the server granted the advertised leases and the generator awaits the reply to the
    /// RENEW.
    is_granted: bool,
}

/// Bit that marks the 24-bit transaction identifier of a RENEW.
const RENEWAL: u32 = 1 << 23;

impl Advertised {
    /// Returns the offer as one that the server with identifier `server_id` must grant.
    #[must_use]
    pub fn from_server(self, server_id: &[u8]) -> Self {
        Self { server: digest_of_id(server_id), ..self }
    }
}

/// DHCPv6 messages of simulated clients, through relays or without one, and the checks of replies
/// to them.
#[derive(Clone, Debug)]
pub struct Dhcp6ClientMessages {
    requested: RequestedAssociations,
    expect: Expect,
    is_relayed: bool,
    /// IAID of the first identity association of each kind.
    first_iaid: u32,
    /// Link addresses of the relays, which clients use in turn; empty without a relay.
    links: Vec<[u8; 16]>,
    sources: usize,
    templates: Templates,
    /// True if clients renew their leases at once, by a RENEW.
    renews: bool,
}

/// Result of checking the identity associations of a reply: a refusal, if any, and a digest of the
/// leases.
#[derive(Default)]
struct AssociationCheck {
    refusal: Option<ServerRefusal>,
    leased: u64,
}

/// Adds `word` to a digest. Multiplication by an odd constant loses nothing; the shift brings the
/// upper half down for the next word.
const fn mix(digest: u64, word: u64) -> u64 {
    let product = (digest ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ (product >> 32)
}

fn digest_of_id(id: &[u8]) -> u64 {
    id.iter().fold(id.len() as u64, |digest, &octet| mix(digest, octet.into()))
}

fn digest_of(iaid: u32, leased: Dhcp6LeasedResource) -> u64 {
    let address = u128::from(leased.address);
    let what = u64::from(iaid) << 16 | u64::from(leased.prefix_len) << 8;
    [(address >> 64) as u64, address as u64]
        .into_iter()
        .fold(mix(1, what | u64::from(leased.is_prefix)), mix)
}

impl Dhcp6ClientMessages {
    /// Creates the messages of clients that request `ask`. Their relays, if any, are on `links`;
    /// client n is on link n modulo their number and leaves from source address n modulo `sources`.
    pub fn new(
        ask: RequestedAssociations,
        expect: Expect,
        links: &[Ipv6Addr],
        sources: usize,
    ) -> Self {
        Self {
            sources: sources.max(1),
            links: links.iter().map(Ipv6Addr::octets).collect(),
            ..Self::with_extras(ask, expect, !links.is_empty(), Dhcp6MessageExtras::default())
        }
    }

    /// Creates the messages of clients whose identities and links the caller supplies, to
    /// [`Dhcp6ClientMessages::templates`] and [`Dhcp6ClientMessages::judge_for`].
    pub fn with_extras(
        ask: RequestedAssociations,
        expect: Expect,
        is_relayed: bool,
        extras: Dhcp6MessageExtras,
    ) -> Self {
        Self {
            requested: ask,
            expect,
            is_relayed,
            first_iaid: 1,
            links: Vec::new(),
            sources: 1,
            templates: Templates::with_extras(ask, is_relayed, extras),
            renews: false,
        }
    }

    /// Returns the clients' messages with immediate renewal of their leases, or without.
    #[must_use]
    pub fn renewing(self, renews: bool) -> Self {
        Self { renews, ..self }
    }

    /// Returns the clients' messages with identity associations numbered from `first_iaid` on, not
    /// from 1.
    #[must_use]
    pub fn numbering_from(self, first_iaid: u32) -> Self {
        Self { first_iaid, ..self }
    }

    /// Returns the templates of the clients' DHCPv6 messages.
    pub const fn templates(&self) -> &Templates {
        &self.templates
    }

    /// Calls `act` with the identity of client number `client`.
    fn as_client<R>(&self, client: u32, act: impl FnOnce(&MessageIdentity<'_>) -> R) -> R {
        let duid: [u8; DUID_LEN] = duid_of(client);
        act(&MessageIdentity { duid: &duid, peer: peer_of(client), link: self.link_of(client) })
    }

    fn link_of(&self, client: u32) -> [u8; 16] {
        match self.links.len() {
            0 => [0; 16],
            count => self.links[client as usize % count],
        }
    }

    /// Checks that the reply is for the client `to` and came through its relay; fails with the
    /// reply's meaning.
    fn check_addressing(
        &self,
        answer: &Dhcp6Reply<'_>,
        to: &MessageIdentity<'_>,
    ) -> Result<(), Judgment<Advertised>> {
        let fault = |fault| Err(Judgment::Faulty(fault));
        let Some(id) = answer.client_id else { return fault(ReplyFault::NoClient) };
        if id != to.duid || answer.relay.is_some_and(|relay| relay.peer != to.peer) {
            return Err(Judgment::OtherClient);
        }
        let expected_kind = match self.expect {
            Expect::Dhcp => kind::RELAY_REPL,
            Expect::Echo => kind::RELAY_FORW,
        };
        match answer.relay {
            None if !self.is_relayed => Ok(()),
            Some(relay)
                if self.is_relayed
                    && (relay.kind, relay.hops, relay.link) == (expected_kind, 0, to.link) =>
            {
                Ok(())
            }
            _ => fault(ReplyFault::Relay),
        }
    }

    /// Returns the meaning of the DHCPv6 reply `answer` for an exchange of `to` that took up
    /// `accepted_offer`.
    #[must_use]
    pub fn judge_for(
        &self,
        answer: &Dhcp6Reply<'_>,
        to: &MessageIdentity<'_>,
        accepted_offer: Option<Advertised>,
    ) -> Judgment<Advertised> {
        if let Err(judgment) = self.check_addressing(answer, to) {
            return judgment;
        }
        let judged = match (self.expect, answer.kind) {
            (Expect::Dhcp, _) => self.judge_server(answer, accepted_offer),
            (Expect::Echo, kind::SOLICIT) => Ok(Judgment::Offer(Advertised::default())),
            (Expect::Echo, kind::REQUEST) if accepted_offer.is_some() => {
                Ok(Judgment::Granted { is_moved: false })
            }
            (Expect::Echo, _) => Err(ReplyFault::Kind),
        };
        judged.unwrap_or_else(Judgment::Faulty)
    }

    /// Returns the meaning of the DHCPv6 reply `answer` for a lease of `to` that the client renews,
    /// or gives back if `ends`. The REPLY to a RELEASE gives no lease (RFC 9915 §18.3.7).
    #[must_use]
    pub fn judge_lease(
        &self,
        answer: &Dhcp6Reply<'_>,
        to: &MessageIdentity<'_>,
        ends: bool,
    ) -> Judgment<Advertised> {
        if let Err(judgment) = self.check_addressing(answer, to) {
            return judgment;
        }
        self.judge_reply(answer, ends).unwrap_or_else(Judgment::Faulty)
    }

    fn judge_reply(
        &self,
        answer: &Dhcp6Reply<'_>,
        ends: bool,
    ) -> Result<Judgment<Advertised>, ReplyFault> {
        if answer.kind != kind::REPLY {
            return Err(ReplyFault::Kind);
        }
        answer.server_id.ok_or(ReplyFault::NoServer)?;
        let mut refusal = ServerRefusal::from_status(answer.status);
        if refusal.is_none() {
            refusal = if ends {
                answer.ias().find_map(|ia| ServerRefusal::from_status(ia.status))
            } else {
                self.associations(answer)?.refusal
            };
        }
        Ok(refusal.map_or(Judgment::Granted { is_moved: false }, Judgment::Refused))
    }

    /// Checks the identity associations of a reply against the requested ones.
    fn associations(&self, answer: &Dhcp6Reply<'_>) -> Result<AssociationCheck, ReplyFault> {
        let mut all = AssociationCheck::default();
        let mut iaid_bits = [0_u16; 2];
        for ia in answer.ias() {
            let requested =
                if ia.is_prefix { self.requested.prefixes() } else { self.requested.addresses() };
            let index = ia.iaid.wrapping_sub(self.first_iaid);
            let bit = 1_u16.checked_shl(index).unwrap_or(0);
            let iaid_bits = &mut iaid_bits[usize::from(ia.is_prefix)];
            if index >= u32::from(requested) || *iaid_bits & bit != 0 {
                return Err(ReplyFault::Association);
            }
            *iaid_bits |= bit;
            if let Some(refusal) = read_association(ia, &mut all.leased)? {
                all.refusal.get_or_insert(refusal);
            }
        }
        let missing = iaid_bits[0].count_ones() < self.requested.addresses().into()
            || iaid_bits[1].count_ones() < self.requested.prefixes().into();
        if missing && all.refusal.is_none() { Err(ReplyFault::NoAddress) } else { Ok(all) }
    }

    fn judge_server(
        &self,
        answer: &Dhcp6Reply<'_>,
        accepted_offer: Option<Advertised>,
    ) -> Result<Judgment<Advertised>, ReplyFault> {
        let is_to_solicit = answer.xid & 1 == 0;
        let is_rapid = self.requested.rapid_commit && answer.has_rapid_commit;
        match (answer.kind, accepted_offer) {
            (kind::ADVERTISE, _) if !is_to_solicit => return Err(ReplyFault::Transaction),
            (kind::REPLY, None) if !is_to_solicit => return Err(ReplyFault::Transaction),
            (kind::REPLY, Some(_)) if is_to_solicit && !is_rapid => {
                return Err(ReplyFault::Transaction);
            }
            (kind::REPLY, None) if !is_rapid => return Err(ReplyFault::Kind),
            // The exchange is past its offer, so any further reply to the SOLICIT is a repetition.
            (kind::ADVERTISE | kind::REPLY, Some(accepted_offer)) if is_to_solicit => {
                return Ok(Judgment::Offer(accepted_offer));
            }
            (kind::ADVERTISE | kind::REPLY, _) => {}
            _ => return Err(ReplyFault::Kind),
        }
        let server = digest_of_id(answer.server_id.ok_or(ReplyFault::NoServer)?);
        if accepted_offer.is_some_and(|offer| offer.server != server) {
            return Err(ReplyFault::ServerChanged);
        }
        if let Some(refusal) = ServerRefusal::from_status(answer.status) {
            return Ok(Judgment::Refused(refusal));
        }
        let AssociationCheck { refusal, leased } = self.associations(answer)?;
        if let Some(refusal) = refusal {
            return Ok(Judgment::Refused(refusal));
        }
        if answer.kind == kind::REPLY {
            let is_moved = accepted_offer.is_some_and(|offer| offer.leased != leased);
            return Ok(Judgment::Granted { is_moved });
        }
        if !self.templates.can_repeat(answer) {
            return Err(ReplyFault::TooLong);
        }
        Ok(Judgment::Offer(Advertised { server, leased, is_granted: false }))
    }
}

/// Checks one identity association and adds its leases to the digest `leased`; returns the server's
/// refusal, if any.
fn read_association(
    ia: ReplyIa<'_>,
    leased: &mut u64,
) -> Result<Option<ServerRefusal>, ReplyFault> {
    if ia.t2_s > 0 && ia.t1_s > ia.t2_s {
        return Err(ReplyFault::Timers);
    }
    let mut refusal = ServerRefusal::from_status(ia.status);
    let mut count = 0;
    for lease in ia.leases() {
        if lease.preferred_s > lease.valid_s {
            return Err(ReplyFault::Lifetimes);
        }
        if refusal.is_none() {
            refusal = ServerRefusal::from_status(lease.status);
        }
        if lease.valid_s > 0 {
            count += 1;
            // The digests are added up, because servers may send the leases in any order.
            *leased = leased.wrapping_add(digest_of(ia.iaid, lease.leased));
        }
    }
    if count == 0 && refusal.is_none() { Err(ReplyFault::NoAddress) } else { Ok(refusal) }
}

impl DhcpLoadProtocol for Dhcp6ClientMessages {
    type Answer<'a> = Dhcp6Reply<'a>;
    type Offer = Advertised;
    type Resource = Dhcp6LeasedResource;
    const XID_BITS: u32 = 22;

    fn message_bytes_max(&self) -> usize {
        self.templates.message_bytes_max()
    }

    fn leases_per_exchange(&self) -> u64 {
        let each = u64::from(self.requested.addresses()) + u64::from(self.requested.prefixes());
        if self.renews { 2 * each } else { each }
    }

    fn source_of(&self, client: u32) -> usize {
        client as usize % self.sources
    }

    fn write_first(&self, buffer: &mut [u8], xid: u32, client: u32) -> usize {
        self.as_client(client, |from| self.templates.solicit(buffer, xid << 1, from))
    }

    fn write_second(
        &self,
        buffer: &mut [u8],
        answer: &Dhcp6Reply<'_>,
        client: u32,
        _secs: u16,
        _offer: Advertised,
    ) -> usize {
        let (templates, xid) = (&self.templates, answer.xid | 1);
        self.as_client(client, |from| match self.expect {
            Expect::Dhcp => {
                let server_id = answer.server_id.unwrap_or_default();
                templates.request(buffer, kind::REQUEST, xid, answer, Some(server_id), from)
            }
            Expect::Echo => templates.request_nothing(buffer, xid, from),
        })
    }

    fn write_renewal(&self, buffer: &mut [u8], answer: &Dhcp6Reply<'_>, client: u32) -> usize {
        let (templates, xid) = (&self.templates, answer.xid | 1 | RENEWAL);
        self.as_client(client, |from| match self.expect {
            Expect::Dhcp => {
                let server_id = answer.server_id.unwrap_or_default();
                templates.request(buffer, kind::RENEW, xid, answer, Some(server_id), from)
            }
            Expect::Echo => templates.request_nothing(buffer, xid, from),
        })
    }

    /// Returns `None`: a DHCPv6 server replies to a RELEASE, so these clients keep their leases.
    fn write_release(&self, _: &mut [u8], _: &Dhcp6Reply<'_>, _: u32) -> Option<usize> {
        None
    }

    fn read(octets: &[u8]) -> Result<Dhcp6Reply<'_>, MalformedDhcpMessage> {
        Dhcp6Reply::read(octets)
    }

    fn xid(answer: &Dhcp6Reply<'_>) -> u32 {
        (answer.xid & !RENEWAL) >> 1
    }

    fn judge(
        &self,
        answer: &Dhcp6Reply<'_>,
        client: u32,
        accepted_offer: Option<Advertised>,
    ) -> Judgment<Advertised> {
        let is_of_renewal = answer.xid & RENEWAL != 0;
        let is_granted = accepted_offer.is_some_and(|offer| offer.is_granted);
        self.as_client(client, |to| match accepted_offer {
            _ if is_of_renewal != is_granted => {
                match (self.check_addressing(answer, to), accepted_offer) {
                    (Err(judgment), _) => judgment,
                    // The exchange is past its offer and its first grant, so any further reply to
                    // them is a repetition.
                    (Ok(()), Some(accepted_offer)) if is_granted => Judgment::Offer(accepted_offer),
                    (Ok(()), _) => Judgment::Unmatched,
                }
            }
            _ if is_granted && self.expect == Expect::Dhcp => self.judge_lease(answer, to, false),
            accepted_offer => match self.judge_for(answer, to, accepted_offer) {
                Judgment::Granted { .. } if self.renews && !is_granted => {
                    if !self.templates.can_repeat(answer) {
                        return Judgment::Faulty(ReplyFault::TooLong);
                    }
                    let accepted_offer = accepted_offer.unwrap_or_default();
                    Judgment::Continued(Advertised { is_granted: true, ..accepted_offer })
                }
                judgment => judgment,
            },
        })
    }

    fn leases(
        &self,
        answer: &Dhcp6Reply<'_>,
        client: u32,
        mut each: impl FnMut(ClientIa, Dhcp6LeasedResource, u32),
    ) {
        if answer.kind != kind::REPLY {
            return;
        }
        for ia in answer.ias() {
            for leases in ia.leases().filter(|leases| leases.valid_s > 0) {
                each(ClientIa { client, iaid: ia.iaid }, leases.leased, leases.valid_s);
            }
        }
    }
}
