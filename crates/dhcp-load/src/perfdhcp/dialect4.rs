//! DHCPv4 implementation of [`super::dialect`]: clients with relays or on the generator's link,
//! DISCOVER to RELEASE.

use std::net::{IpAddr, Ipv4Addr};

use packet_wire::ethernet::MacAddress;
use packet_wire::frame::Endpoints;

use super::dialect::{Dialect, ExchangeKind, LeaseLifetimes, MessageSender};
use super::direct::DirectAddressing;
use super::packet::Dhcp4PacketTemplates;
use super::persona::Personas;
use crate::fault::{MalformedDhcpMessage, ReplyFault};
use crate::identities::colon_hex;
use crate::protocol::{Expect, Judgment};
use crate::v4::answer::{Dhcp4Reply, kind};
use crate::v4::protocol::{Addressee, OfferedAddress, judge};
use crate::v4::template::{Dhcp4LeaseMessage, Dhcp4MessageExtras, Templates, set_relay, set_secs};

/// DHCPv4 messages of perfdhcp's clients, and the checks of replies to them.
#[derive(Clone, Debug)]
pub struct Dialect4 {
    personas: Personas,
    links: Vec<Ipv4Addr>,
    templates: Templates,
    packets: Option<Dhcp4PacketTemplates>,
    direct: Option<DirectAddressing>,
    keeps_first_server: bool,
    first_server: Option<Ipv4Addr>,
}

impl Dialect4 {
    /// Creates the DHCPv4 messages of the clients `personas` with relays at `links`, of which there
    /// must be one. With `keeps_first_server` all REQUESTs go to the server of the first OFFER
    /// (`-1`).
    pub fn new(
        personas: Personas,
        links: Vec<Ipv4Addr>,
        extras: &Dhcp4MessageExtras,
        keeps_first_server: bool,
    ) -> Self {
        let templates = Templates::with(links[0], extras);
        Self {
            personas,
            links,
            templates,
            packets: None,
            direct: None,
            keeps_first_server,
            first_server: None,
        }
    }

    /// Returns the messages of clients on the generator's link, at port `ports[0]` with servers at
    /// port `ports[1]`, which request replies by broadcast or not. There must be one link, 0.0.0.0.
    #[must_use]
    pub fn direct(self, ports: [u16; 2], wants_broadcast: bool) -> Self {
        let direct = DirectAddressing::new(ports, &self.personas);
        let templates = self.templates.direct(wants_broadcast);
        Self { templates, direct: Some(direct), ..self }
    }

    /// Returns the messages with first requests, and second ones if it has them, from the packets
    /// of `-T`.
    #[must_use]
    pub fn with_packets(self, packets: Option<Dhcp4PacketTemplates>) -> Self {
        Self { packets, ..self }
    }

    /// Returns the hardware address of client `who` as the server sees it.
    fn mac(&self, who: MessageSender) -> [u8; 6] {
        let mac = self.personas.mac(who.client);
        self.packets.as_ref().map_or(mac, |packets| packets.chaddr(mac))
    }

    fn giaddr(&self, who: MessageSender) -> Ipv4Addr {
        if let Some(packets) = &self.packets {
            return packets.giaddr();
        }
        self.links[who.link as usize % self.links.len()]
    }
}

impl Dialect for Dialect4 {
    type Answer<'a> = Dhcp4Reply<'a>;
    type Offer = OfferedAddress;
    type Lease = OfferedAddress;
    type Resource = Ipv4Addr;
    const NAMES: [&'static str; ExchangeKind::COUNT] = [
        "DISCOVER-OFFER",
        "REQUEST-ACK",
        "REQUEST-ACK (renewal)",
        "RELEASE",
        "REQUEST-ACK (rebinding)",
        "REQUEST-ACK (INIT-REBOOT)",
        "INFORM-ACK",
        "DECLINE",
    ];
    const NUMBER_BITS: u32 = 29;
    const IS_SECOND_RENUMBERED: bool = false;
    const IS_RELEASE_ANSWERED: bool = false;
    const BYTES_MIN: usize = 240;

    fn message_bytes_max(&self) -> usize {
        let packets = self.packets.as_ref().map_or(0, Dhcp4PacketTemplates::bytes_max);
        self.templates.message_bytes_max().max(packets)
    }

    fn write_first(&self, buffer: &mut [u8], xid: u32, who: MessageSender, secs: u16) -> usize {
        if let Some(packets) = &self.packets {
            return packets.first(buffer, xid, self.personas.mac(who.client));
        }
        let len = self.templates.discover(buffer, xid, self.mac(who));
        set_relay(buffer, self.giaddr(who));
        set_secs(buffer, secs);
        len
    }

    fn write_second(
        &self,
        buffer: &mut [u8],
        xid: u32,
        _answer: &Dhcp4Reply<'_>,
        who: MessageSender,
        secs: u16,
        offer: OfferedAddress,
    ) -> usize {
        let mac = self.personas.mac(who.client);
        let packets = self.packets.as_ref();
        if let Some(len) = packets.and_then(|all| all.second(buffer, xid, mac, secs, offer)) {
            return len;
        }
        let len = self.templates.request(buffer, xid, self.mac(who), secs, offer);
        set_relay(buffer, self.giaddr(who));
        len
    }

    fn write_lease_message(
        &self,
        buffer: &mut [u8],
        kind: ExchangeKind,
        xid: u32,
        who: MessageSender,
        lease: &OfferedAddress,
    ) -> usize {
        let message = match kind {
            ExchangeKind::Release => Dhcp4LeaseMessage::Release,
            ExchangeKind::Reboot => Dhcp4LeaseMessage::Reboot,
            ExchangeKind::Information => Dhcp4LeaseMessage::Inform,
            ExchangeKind::Decline => Dhcp4LeaseMessage::Decline,
            _ => Dhcp4LeaseMessage::Renewal,
        };
        let len = self.templates.about_lease(message, buffer, xid, self.mac(who), *lease);
        set_relay(buffer, self.giaddr(who));
        len
    }

    fn set_age(&self, message: &mut [u8], secs: u16) {
        set_secs(message, secs);
    }

    fn read(octets: &[u8]) -> Result<Dhcp4Reply<'_>, MalformedDhcpMessage> {
        Dhcp4Reply::read(octets)
    }

    fn xid(answer: &Dhcp4Reply<'_>) -> u32 {
        answer.xid
    }

    fn unchecked_xid(octets: &[u8]) -> Option<u32> {
        octets.get(4..)?.first_chunk().copied().map(u32::from_be_bytes)
    }

    fn is_offer(answer: &Dhcp4Reply<'_>) -> bool {
        answer.kind == kind::OFFER
    }

    fn server_text(answer: &Dhcp4Reply<'_>) -> String {
        answer.server.map_or_else(String::new, |server| colon_hex(&server.octets()))
    }

    fn judge(
        &self,
        answer: &Dhcp4Reply<'_>,
        who: MessageSender,
        kind: ExchangeKind,
        accepted_offer: Option<OfferedAddress>,
    ) -> Judgment<OfferedAddress> {
        // The file of a packet decides on its client identifier.
        let checks_client_id = self.packets.is_none();
        let to = Addressee { mac: self.mac(who), giaddr: self.giaddr(who), checks_client_id };
        match (kind, accepted_offer) {
            (ExchangeKind::Information, _) => judge_inform(answer, to),
            // Any server may reply to these.
            (ExchangeKind::Rebinding | ExchangeKind::Reboot, Some(offer)) => {
                let server = answer.server.unwrap_or(offer.server);
                judge(answer, to, Expect::Dhcp, Some(OfferedAddress { server, ..offer }))
            }
            _ => judge(answer, to, Expect::Dhcp, accepted_offer),
        }
    }

    fn adopt(&mut self, _answer: &Dhcp4Reply<'_>, offer: OfferedAddress) -> OfferedAddress {
        let first = *self.first_server.get_or_insert(offer.server);
        if self.keeps_first_server { OfferedAddress { server: first, ..offer } } else { offer }
    }

    fn lease(&self, answer: &Dhcp4Reply<'_>) -> Option<OfferedAddress> {
        Some(OfferedAddress { address: answer.yiaddr, server: answer.server? })
    }

    fn expected_reply(kind: ExchangeKind, lease: &OfferedAddress) -> Option<OfferedAddress> {
        kind.gives().then_some(*lease)
    }

    fn terms(answer: &Dhcp4Reply<'_>) -> Option<LeaseLifetimes> {
        let valid_s = answer.lease_time_s?;
        // RFC 2131 section 4.4.5: half of the lease time, and seven eighths of it.
        let is_infinite = valid_s == u32::MAX;
        let share = |eighths: u32| if is_infinite { valid_s } else { valid_s / 8 * eighths };
        let t1_s = answer.renewal_time_s.unwrap_or_else(|| share(4));
        let t2_s = answer.rebinding_time_s.unwrap_or_else(|| share(7));
        Some(LeaseLifetimes { t1_s, t2_s, valid_s })
    }

    fn resources(
        answer: &Dhcp4Reply<'_>,
        who: MessageSender,
        mut each: impl FnMut(u32, Ipv4Addr, u32),
    ) {
        if let (kind::OFFER | kind::ACK, Some(lease_time_s)) = (answer.kind, answer.lease_time_s) {
            each(who.client, answer.yiaddr, lease_time_s);
        }
    }

    fn resources_of_lease(
        lease: &OfferedAddress,
        who: MessageSender,
        mut each: impl FnMut(u32, Ipv4Addr),
    ) {
        each(who.client, lease.address);
    }

    fn client_of(owner: u32) -> u32 {
        owner
    }

    fn client_text(&self, client: u32) -> String {
        colon_hex(&self.personas.mac(client))
    }

    fn address_of(resource: Ipv4Addr) -> (IpAddr, u8) {
        (resource.into(), 32)
    }

    fn endpoints(
        &self,
        kind: ExchangeKind,
        who: MessageSender,
        lease: Option<&OfferedAddress>,
    ) -> Option<Endpoints> {
        Some(self.direct.as_ref()?.endpoints(kind, self.mac(who), lease))
    }

    fn learn_server(&mut self, answer: &Dhcp4Reply<'_>, endpoints: &Endpoints) {
        if let Some(direct) = &mut self.direct {
            direct.learn_server(answer, endpoints.source_mac);
        }
    }

    fn station(&self, who: MessageSender) -> Option<MacAddress> {
        self.direct.is_some().then(|| MacAddress(self.mac(who)))
    }

    fn has_station(&self, mac: MacAddress) -> bool {
        match &self.direct {
            // The file of a packet decides how it changes the clients' hardware addresses.
            Some(direct) if self.packets.is_none() => direct.has(&self.personas, mac.0),
            _ => true,
        }
    }

    fn names_own(&self, answer: &Dhcp4Reply<'_>) -> bool {
        self.has_station(MacAddress(answer.mac))
    }
}

/// Returns the meaning of `answer` for a DHCPINFORM of `to`: a DHCPACK without address and lease
/// time (RFC 2131 section 4.3.5).
fn judge_inform(answer: &Dhcp4Reply<'_>, to: Addressee) -> Judgment<OfferedAddress> {
    let is_for_client =
        if to.checks_client_id { answer.names_client(to.mac) } else { answer.mac == to.mac };
    if !is_for_client {
        return Judgment::OtherClient;
    }
    let faults = [
        (answer.kind != kind::ACK, ReplyFault::Kind),
        (answer.server.is_none(), ReplyFault::NoServer),
        (!answer.yiaddr.is_unspecified(), ReplyFault::AddressChanged),
    ];
    let fault = faults.into_iter().find(|fault| fault.0).map(|fault| fault.1);
    match answer.check_header(to.giaddr).err().or(fault) {
        Some(fault) => Judgment::Faulty(fault),
        None => Judgment::Granted { is_moved: false },
    }
}
