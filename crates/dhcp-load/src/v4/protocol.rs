//! DHCPv4 implementation of [`crate::protocol`]: the meaning of replies, and the leased resource.

use std::net::Ipv4Addr;

use super::answer::{Dhcp4Reply, kind};
use super::template::{Dhcp4LeaseMessage, Dhcp4MessageExtras, Templates};
use crate::fault::{MalformedDhcpMessage, ReplyFault, ServerRefusal};
use crate::identities::{colon_hex, mac_of};
use crate::leases::LeasedResource;
use crate::protocol::{DhcpLoadProtocol, Expect, Judgment};

/// DHCPv4 address in an offer, with the server that offers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfferedAddress {
    /// Address that the server offers (`yiaddr`).
    pub address: Ipv4Addr,
    /// Server identifier of the offer.
    pub server: Ipv4Addr,
}

/// Offer that an exchange took up, and the exchange's progress with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceptedOffer {
    /// Address and server of the DHCPOFFER.
    pub offered: OfferedAddress,
    /// True if the server granted the offered address and the generator awaits the reply to the
    /// renewal.
    pub is_granted: bool,
}

/// Bit that marks the transaction identifier of a renewal's DHCPREQUEST. The other bits name the
/// exchange of the lease.
const RENEWAL: u32 = 1 << 31;

/// Links of clients that are not on the link of their relay: `count` networks of 256 addresses (RFC
/// 3527), client n on number n modulo `count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientLinks {
    /// Address in the first of the clients' networks.
    pub first: Ipv4Addr,
    /// Number of the clients' networks; not 0.
    pub count: u32,
    /// Distance from one network of clients to the next, in networks of 256 addresses.
    pub step: u32,
}

impl ClientLinks {
    /// Returns an address in the network of client `client`.
    pub const fn link_address(self, client: u32) -> Ipv4Addr {
        let further = (client % self.count).wrapping_mul(self.step) << 8;
        Ipv4Addr::from_bits(self.first.to_bits().wrapping_add(further))
    }
}

/// Relay agent information (option 82, RFC 3046) with a link selection (RFC 3527), with room for
/// the address.
const LINK_SELECTION: [u8; 8] = [82, 6, 5, 4, 0, 0, 0, 0];

/// DHCPv4 messages of a relay, and the checks of replies to it.
#[derive(Clone, Debug)]
pub struct RelayedMessages {
    giaddr: Ipv4Addr,
    expect: Expect,
    templates: Templates,
    links: Option<ClientLinks>,
    /// True if clients release their leases at once, by a DHCPRELEASE.
    releases: bool,
    /// True if clients renew their leases at once, by a DHCPREQUEST.
    renews: bool,
}

impl RelayedMessages {
    /// Creates the DHCPv4 messages of the relay at `giaddr`.
    pub fn new(giaddr: Ipv4Addr, expect: Expect) -> Self {
        let templates = Templates::new(giaddr);
        Self { giaddr, expect, templates, links: None, releases: false, renews: false }
    }

    /// Returns the relay's messages with clients on other links than its own, if `links` names
    /// some.
    #[must_use]
    pub fn on_links(self, links: Option<ClientLinks>) -> Self {
        let Some(links) = links else { return self };
        let extras = Dhcp4MessageExtras {
            options: LINK_SELECTION.to_vec(),
            ..Dhcp4MessageExtras::default()
        };
        let templates = Templates::with(self.giaddr, &extras);
        Self { templates, links: Some(links), ..self }
    }

    /// Returns the relay's messages with clients that release their leases at once, or do not.
    #[must_use]
    pub fn releasing(self, releases: bool) -> Self {
        Self { releases, ..self }
    }

    /// Returns the relay's messages with clients that renew their leases at once, or do not.
    #[must_use]
    pub fn renewing(self, renews: bool) -> Self {
        Self { renews, ..self }
    }

    /// Writes the client's link into a message of `len` bytes, which ends with option 82 and the
    /// END option.
    fn select_link(&self, buffer: &mut [u8], len: usize, client: u32) -> usize {
        if let Some(links) = self.links {
            buffer[len - 5..len - 1].copy_from_slice(&links.link_address(client).octets());
        }
        len
    }
}

/// Client and relay that a DHCPv4 reply must be for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addressee {
    /// Hardware address of the client.
    pub mac: [u8; 6],
    /// Address of the relay (`giaddr`).
    pub giaddr: Ipv4Addr,
    /// True if a client identifier in the reply must be the client's hardware address.
    pub checks_client_id: bool,
}

/// Returns the meaning that a reply for the right client has by itself, without regard to earlier
/// replies.
fn meaning(
    answer: &Dhcp4Reply<'_>,
    giaddr: Ipv4Addr,
    expect: Expect,
) -> Result<Meaning, ReplyFault> {
    if expect == Expect::Echo {
        let nothing =
            OfferedAddress { address: Ipv4Addr::UNSPECIFIED, server: Ipv4Addr::UNSPECIFIED };
        return match answer.kind {
            kind::DISCOVER => Ok(Meaning::Offer(nothing)),
            kind::REQUEST => Ok(Meaning::Ack(nothing)),
            _ => Err(ReplyFault::Kind),
        };
    }
    answer.check_header(giaddr)?;
    match answer.kind {
        kind::NAK => Ok(Meaning::Nak),
        kind::OFFER | kind::ACK => {
            let (address, server, _) = answer.lease()?;
            let offered = OfferedAddress { address, server };
            let is_offer = answer.kind == kind::OFFER;
            Ok(if is_offer { Meaning::Offer(offered) } else { Meaning::Ack(offered) })
        }
        _ => Err(ReplyFault::Kind),
    }
}

/// Returns the meaning of the DHCPv4 reply `answer` for an exchange of `to` that took up
/// `accepted_offer`.
#[must_use]
pub fn judge(
    answer: &Dhcp4Reply<'_>,
    to: Addressee,
    expect: Expect,
    accepted_offer: Option<OfferedAddress>,
) -> Judgment<OfferedAddress> {
    let is_for_client =
        if to.checks_client_id { answer.names_client(to.mac) } else { answer.mac == to.mac };
    if !is_for_client {
        return Judgment::OtherClient;
    }
    match meaning(answer, to.giaddr, expect) {
        Err(fault) => Judgment::Faulty(fault),
        Ok(Meaning::Nak) => Judgment::Refused(ServerRefusal::Nak),
        Ok(Meaning::Offer(offered)) => Judgment::Offer(offered),
        Ok(Meaning::Ack(ack)) => match check_grant(ack, accepted_offer) {
            Ok(()) => Judgment::Granted { is_moved: false },
            Err(fault) => Judgment::Faulty(fault),
        },
    }
}

enum Meaning {
    Offer(OfferedAddress),
    Ack(OfferedAddress),
    Nak,
}

/// Checks a DHCPACK against the accepted offer: it must be for the same address, from the same
/// server.
fn check_grant(
    ack: OfferedAddress,
    accepted_offer: Option<OfferedAddress>,
) -> Result<(), ReplyFault> {
    let accepted_offer = accepted_offer.ok_or(ReplyFault::Kind)?;
    if ack.address != accepted_offer.address {
        return Err(ReplyFault::AddressChanged);
    }
    if ack.server != accepted_offer.server {
        return Err(ReplyFault::ServerChanged);
    }
    Ok(())
}

impl DhcpLoadProtocol for RelayedMessages {
    type Answer<'a> = Dhcp4Reply<'a>;
    type Offer = AcceptedOffer;
    type Resource = Ipv4Addr;
    const XID_BITS: u32 = 31;

    fn message_bytes_max(&self) -> usize {
        self.templates.message_bytes_max()
    }

    fn leases_per_exchange(&self) -> u64 {
        if self.renews { 2 } else { 1 }
    }

    fn source_of(&self, _client: u32) -> usize {
        0
    }

    fn write_first(&self, buffer: &mut [u8], xid: u32, client: u32) -> usize {
        let len = self.templates.discover(buffer, xid, mac_of(client));
        self.select_link(buffer, len, client)
    }

    fn write_second(
        &self,
        buffer: &mut [u8],
        answer: &Dhcp4Reply<'_>,
        client: u32,
        secs: u16,
        offer: AcceptedOffer,
    ) -> usize {
        let mac = mac_of(client);
        let len = self.templates.request(buffer, answer.xid, mac, secs, offer.offered);
        self.select_link(buffer, len, client)
    }

    fn write_renewal(&self, buffer: &mut [u8], answer: &Dhcp4Reply<'_>, client: u32) -> usize {
        // A renewal does not name the server (RFC 2131 section 4.3.2).
        let lease = OfferedAddress { address: answer.yiaddr, server: Ipv4Addr::UNSPECIFIED };
        let (message, mac) = (Dhcp4LeaseMessage::Renewal, mac_of(client));
        let xid = answer.xid | RENEWAL;
        let len = self.templates.about_lease(message, buffer, xid, mac, lease);
        self.select_link(buffer, len, client)
    }

    fn write_release(
        &self,
        buffer: &mut [u8],
        answer: &Dhcp4Reply<'_>,
        client: u32,
    ) -> Option<usize> {
        if !self.releases || self.expect != Expect::Dhcp {
            return None;
        }
        let lease = OfferedAddress { address: answer.yiaddr, server: answer.server? };
        let (message, mac) = (Dhcp4LeaseMessage::Release, mac_of(client));
        Some(self.templates.about_lease(message, buffer, answer.xid, mac, lease))
    }

    fn read(octets: &[u8]) -> Result<Dhcp4Reply<'_>, MalformedDhcpMessage> {
        Dhcp4Reply::read(octets)
    }

    fn xid(answer: &Dhcp4Reply<'_>) -> u32 {
        answer.xid & !RENEWAL
    }

    fn judge(
        &self,
        answer: &Dhcp4Reply<'_>,
        client: u32,
        accepted_offer: Option<AcceptedOffer>,
    ) -> Judgment<AcceptedOffer> {
        let mac = mac_of(client);
        let to = Addressee { mac, giaddr: self.giaddr, checks_client_id: true };
        let offered = accepted_offer.map(|offer| offer.offered);
        let is_of_renewal = answer.xid & RENEWAL != 0;
        if is_of_renewal && !accepted_offer.is_some_and(|offer| offer.is_granted) {
            return Judgment::Unmatched;
        }
        let judged = judge(answer, to, self.expect, offered);
        match (judged, accepted_offer) {
            (Judgment::OtherClient, _) => Judgment::OtherClient,
            // The exchange is past its offer and its first grant, so any further reply to them is a
            // repetition.
            (_, Some(accepted_offer)) if accepted_offer.is_granted && !is_of_renewal => {
                Judgment::Offer(accepted_offer)
            }
            (Judgment::Offer(_), _) if is_of_renewal => Judgment::Faulty(ReplyFault::Kind),
            (Judgment::Offer(offered), _) => {
                Judgment::Offer(AcceptedOffer { offered, is_granted: false })
            }
            (Judgment::Granted { .. }, Some(AcceptedOffer { offered, .. }))
                if self.renews && !is_of_renewal =>
            {
                Judgment::Continued(AcceptedOffer { offered, is_granted: true })
            }
            (Judgment::Granted { is_moved }, _) => Judgment::Granted { is_moved },
            (Judgment::Refused(refusal), _) => Judgment::Refused(refusal),
            (Judgment::Faulty(fault), _) => Judgment::Faulty(fault),
            (Judgment::Continued(_) | Judgment::Unmatched, _) => Judgment::Unmatched,
        }
    }

    fn leases(
        &self,
        answer: &Dhcp4Reply<'_>,
        client: u32,
        mut each: impl FnMut(u32, Ipv4Addr, u32),
    ) {
        if answer.kind == kind::ACK
            && let Some(lease_time_s) = answer.lease_time_s
        {
            each(client, answer.yiaddr, lease_time_s);
        }
    }
}

/// Leased DHCPv4 address; its holder is the client's number.
impl LeasedResource for Ipv4Addr {
    type Owner = u32;
    const COLUMNS: &'static str = "address,mac,client_id";

    fn text(self) -> String {
        self.to_string()
    }

    fn owner_text(client: u32) -> String {
        colon_hex(&mac_of(client))
    }

    fn row(self, client: u32) -> String {
        let mac = colon_hex(&mac_of(client));
        format!("{self},{mac},01:{mac}")
    }

    fn blank() -> (Self, u32) {
        (Self::BROADCAST, 1)
    }
}
