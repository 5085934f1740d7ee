//! DHCPv6 implementation of [`super::dialect`]: clients without a relay or with one, SOLICIT to
//! RELEASE.

use std::net::{IpAddr, Ipv6Addr};

use super::dialect::{Dialect, ExchangeKind, LeaseLifetimes, MessageSender, link_of};
use super::packet6::{Dhcp6PacketTemplates, PersonaClient};
use super::persona::{DUID_MAX, Personas};
use crate::fault::MalformedDhcpMessage;
use crate::identities::colon_hex;
use crate::protocol::{DhcpLoadProtocol, Expect, Judgment};
use crate::v6::RequestedAssociations;
use crate::v6::answer::{Dhcp6Reply, kind};
use crate::v6::client::{ClientIa, Dhcp6LeasedResource, MessageIdentity, link_local_of};
use crate::v6::protocol::{Advertised, Dhcp6ClientMessages};
use crate::v6::template::Dhcp6MessageExtras;

/// Length of the longest REPLY that the generator keeps, in bytes without the relay's: a REPLY with
/// two associations, a long server identifier and some options. The lease of a longer REPLY is
/// neither renewed nor released.
const REPLY_MAX: usize = 384;

/// REPLY that gave a lease to a DHCPv6 client.
#[derive(Clone, Copy, Debug)]
pub struct LeaseReply {
    octets: [u8; REPLY_MAX],
    len: u16,
}

/// DHCPv6 messages of perfdhcp's clients, and the checks of replies to them.
#[derive(Clone, Debug)]
pub struct Dialect6 {
    personas: Personas,
    links: Vec<Ipv6Addr>,
    clients: Dhcp6ClientMessages,
    has_prefixes: bool,
    packets: Option<Dhcp6PacketTemplates>,
    keeps_first_server: bool,
    first_server: Option<Vec<u8>>,
}

impl Dialect6 {
    /// Creates the DHCPv6 messages of the clients `personas` that request `ask`: without a relay if
    /// `links` is empty, else through a relay with these link addresses. With `keeps_first_server`
    /// all REQUESTs go to the server of the first ADVERTISE (`-1`).
    pub fn new(
        personas: Personas,
        links: Vec<Ipv6Addr>,
        ask: RequestedAssociations,
        extras: Dhcp6MessageExtras,
        keeps_first_server: bool,
    ) -> Self {
        let clients =
            Dhcp6ClientMessages::with_extras(ask, Expect::Dhcp, !links.is_empty(), extras);
        let (has_prefixes, packets, first_server) = (ask.pd, None, None);
        Self { personas, links, clients, has_prefixes, packets, keeps_first_server, first_server }
    }

    /// Returns the messages with first requests, and second ones if it has them, from the packets
    /// of `-T`.
    #[must_use]
    pub fn with_packets(self, packets: Option<Dhcp6PacketTemplates>) -> Self {
        let Some(packets) = packets else { return self };
        let clients = self.clients.numbering_from(packets.iaid());
        Self { clients, packets: Some(packets), ..self }
    }

    fn speak<R>(&self, who: MessageSender, act: impl FnOnce(&MessageIdentity<'_>) -> R) -> R {
        let mut buffer = [0; DUID_MAX];
        let peer = link_local_of(self.personas.mac(who.client));
        let link = link_of(&self.links, who);
        let duid = match &self.packets {
            Some(packets) => packets.duid(&self.personas, who.client, &mut buffer),
            None => self.personas.duid(who.client, &mut buffer),
        };
        act(&MessageIdentity { duid, peer, link })
    }
}

impl LeaseReply {
    fn read(&self) -> Option<Dhcp6Reply<'_>> {
        Dhcp6Reply::read(&self.octets[..usize::from(self.len)]).ok()
    }
}

impl Dialect for Dialect6 {
    type Answer<'a> = Dhcp6Reply<'a>;
    type Offer = Advertised;
    type Lease = LeaseReply;
    type Resource = Dhcp6LeasedResource;
    const NAMES: [&'static str; ExchangeKind::COUNT] = [
        "SOLICIT-ADVERTISE",
        "REQUEST-REPLY",
        "RENEW-REPLY",
        "RELEASE-REPLY",
        "REBIND-REPLY",
        "CONFIRM-REPLY",
        "INFORMATION-REQUEST-REPLY",
        "DECLINE-REPLY",
    ];
    const NUMBER_BITS: u32 = 21;
    const IS_SECOND_RENUMBERED: bool = true;
    const IS_RELEASE_ANSWERED: bool = true;
    const BYTES_MIN: usize = 4;

    fn message_bytes_max(&self) -> usize {
        let packets = self.packets.as_ref().map_or(0, Dhcp6PacketTemplates::bytes_max);
        self.clients.templates().message_bytes_max().max(packets)
    }

    fn write_first(&self, buffer: &mut [u8], xid: u32, who: MessageSender, secs: u16) -> usize {
        let templates = self.clients.templates();
        if let Some(packets) = &self.packets {
            return packets.first(buffer, xid, &self.personas, who.client);
        }
        let len = self.speak(who, |from| templates.solicit(buffer, xid, from));
        if secs > 0 {
            templates.set_elapsed(&mut buffer[..len], secs.saturating_mul(100));
        }
        len
    }

    fn write_second(
        &self,
        buffer: &mut [u8],
        xid: u32,
        answer: &Dhcp6Reply<'_>,
        who: MessageSender,
        secs: u16,
        _offer: Advertised,
    ) -> usize {
        let by = PersonaClient { personas: &self.personas, client: who.client };
        let packets = self.packets.as_ref();
        if let Some(len) = packets.and_then(|all| all.take_up(buffer, xid, by, answer, secs)) {
            return len;
        }
        let own = answer.server_id.unwrap_or_default();
        let first = if self.keeps_first_server { self.first_server.as_deref() } else { None };
        let server_id = first.unwrap_or(own);
        self.speak(who, |from| {
            let templates = self.clients.templates();
            templates.request(buffer, kind::REQUEST, xid, answer, Some(server_id), from)
        })
    }

    fn write_lease_message(
        &self,
        buffer: &mut [u8],
        kind: ExchangeKind,
        xid: u32,
        who: MessageSender,
        lease: &LeaseReply,
    ) -> usize {
        let templates = self.clients.templates();
        let message_type = match kind {
            ExchangeKind::Release => kind::RELEASE,
            ExchangeKind::Decline => kind::DECLINE,
            ExchangeKind::Rebinding => kind::REBIND,
            // RFC 9915 §18.2.12: a client with prefixes sends a REBIND.
            ExchangeKind::Reboot if self.has_prefixes => kind::REBIND,
            ExchangeKind::Reboot => kind::CONFIRM,
            ExchangeKind::Information => {
                return self.speak(who, |from| templates.information(buffer, xid, from));
            }
            _ => kind::RENEW,
        };
        let Some(answer) = lease.read() else { return 0 };
        let is_for_any = matches!(message_type, kind::REBIND | kind::CONFIRM);
        let server_id = if is_for_any { None } else { answer.server_id };
        self.speak(who, |from| {
            templates.request(buffer, message_type, xid, &answer, server_id, from)
        })
    }

    fn set_age(&self, message: &mut [u8], secs: u16) {
        self.clients.templates().set_elapsed(message, secs.saturating_mul(100));
    }

    fn read(octets: &[u8]) -> Result<Dhcp6Reply<'_>, MalformedDhcpMessage> {
        Dhcp6Reply::read(octets)
    }

    fn xid(answer: &Dhcp6Reply<'_>) -> u32 {
        answer.xid
    }

    fn unchecked_xid(octets: &[u8]) -> Option<u32> {
        // A relayed message begins after the relay header and the header of its option.
        let is_relayed = matches!(octets.first(), Some(&(kind::RELAY_FORW | kind::RELAY_REPL)));
        let message = if is_relayed { octets.get(38..)? } else { octets };
        let [_, a, b, c] = *message.first_chunk()?;
        Some(u32::from_be_bytes([0, a, b, c]))
    }

    fn is_offer(answer: &Dhcp6Reply<'_>) -> bool {
        answer.kind == kind::ADVERTISE
    }

    fn server_text(answer: &Dhcp6Reply<'_>) -> String {
        colon_hex(answer.server_id.unwrap_or_default())
    }

    fn judge(
        &self,
        answer: &Dhcp6Reply<'_>,
        who: MessageSender,
        kind: ExchangeKind,
        accepted_offer: Option<Advertised>,
    ) -> Judgment<Advertised> {
        self.speak(who, |to| match kind {
            ExchangeKind::First | ExchangeKind::Second => {
                self.clients.judge_for(answer, to, accepted_offer)
            }
            ExchangeKind::Renewal | ExchangeKind::Rebinding => {
                self.clients.judge_lease(answer, to, false)
            }
            ExchangeKind::Reboot => self.clients.judge_lease(answer, to, !self.has_prefixes),
            ExchangeKind::Release | ExchangeKind::Information | ExchangeKind::Decline => {
                self.clients.judge_lease(answer, to, true)
            }
        })
    }

    fn adopt(&mut self, answer: &Dhcp6Reply<'_>, offer: Advertised) -> Advertised {
        if !self.keeps_first_server {
            return offer;
        }
        let first =
            self.first_server.get_or_insert_with(|| answer.server_id.unwrap_or_default().to_vec());
        offer.from_server(first)
    }

    fn lease(&self, answer: &Dhcp6Reply<'_>) -> Option<LeaseReply> {
        if !self.clients.templates().can_repeat(answer) {
            return None;
        }
        let mut reply = LeaseReply { octets: [0; REPLY_MAX], len: answer.message.len() as u16 };
        reply.octets.get_mut(..answer.message.len())?.copy_from_slice(answer.message);
        Some(reply)
    }

    fn expected_reply(_kind: ExchangeKind, _lease: &LeaseReply) -> Option<Advertised> {
        None
    }

    fn terms(answer: &Dhcp6Reply<'_>) -> Option<LeaseLifetimes> {
        let mut all: Option<LeaseLifetimes> = None;
        for ia in answer.ias() {
            let leases = ia.leases().filter(|leases| leases.valid_s > 0);
            let Some(least) = leases.min_by_key(|leases| leases.valid_s) else { continue };
            // RFC 9915 §21.4: a server may leave the times to the client, which takes half and four
            // fifths here.
            let share = |own_s: u32, tenths: u32| match (own_s, least.preferred_s) {
                (0, u32::MAX) => u32::MAX,
                (0, preferred_s) => preferred_s / 10 * tenths,
                (own_s, _) => own_s,
            };
            let (t1_s, t2_s) = (share(ia.t1_s, 5), share(ia.t2_s, 8));
            let so_far = all.unwrap_or(LeaseLifetimes { t1_s, t2_s, valid_s: least.valid_s });
            all = Some(LeaseLifetimes {
                t1_s: so_far.t1_s.min(t1_s),
                t2_s: so_far.t2_s.min(t2_s),
                valid_s: so_far.valid_s.min(least.valid_s),
            });
        }
        all
    }

    fn resources(
        answer: &Dhcp6Reply<'_>,
        who: MessageSender,
        mut each: impl FnMut(ClientIa, Dhcp6LeasedResource, u32),
    ) {
        for ia in answer.ias() {
            for leases in ia.leases().filter(|leases| leases.valid_s > 0) {
                each(ClientIa { client: who.client, iaid: ia.iaid }, leases.leased, leases.valid_s);
            }
        }
    }

    fn resources_of_lease(
        lease: &LeaseReply,
        who: MessageSender,
        mut each: impl FnMut(ClientIa, Dhcp6LeasedResource),
    ) {
        if let Some(answer) = lease.read() {
            Self::resources(&answer, who, |owner, resource, _| each(owner, resource));
        }
    }

    fn client_of(owner: ClientIa) -> u32 {
        owner.client
    }

    fn client_text(&self, client: u32) -> String {
        let mut buffer = [0; DUID_MAX];
        colon_hex(self.personas.duid(client, &mut buffer))
    }

    fn address_of(resource: Dhcp6LeasedResource) -> (IpAddr, u8) {
        (resource.address.into(), resource.prefix_len)
    }
}

// Transaction identifiers of a whole load run have one bit for the stage; here three bits hold the
// kind, and the lowest one still distinguishes SOLICIT from REQUEST, which the judgment looks at.
const _: () = assert!(
    <Dhcp6ClientMessages as DhcpLoadProtocol>::XID_BITS == 22 && Dialect6::NUMBER_BITS == 21
);
