//! Clients on the generator's link (`--direct`): the frames that reach them, and the clients that
//! have an address.

use std::net::{IpAddr, Ipv4Addr};

use base::time::NS_PER_S;
use serde::Serialize;

use super::RequestTraffic;
use crate::perfdhcp::dialect::{Dialect, ExchangeKind, LeaseLifetimes, MessageSender};
use crate::perfdhcp::lifecycle::LifecycleExchangeEnd;
use crate::wire::ReceivedDatagram;

base::counts! {
    /// Counts of messages that came over the generator's link (`--direct`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
    pub struct LinkCounts {
        /// Number of messages to 255.255.255.255, for any station that their frames are for.
        pub broadcast: u64,
        /// Number of messages to the address of a simulated client.
        pub unicast: u64,
        /// Number of messages to other stations, and of broadcast replies to other clients on the
        /// link.
        pub overheard: u64,
        /// Number of ARP requests that the generator answered.
        pub arp_answered: u64,
    }
}

impl<D: Dialect> RequestTraffic<D> {
    /// Returns true if a received datagram was sent to a station that is no client of this run.
    pub(super) fn is_for_others(&self, incoming: &ReceivedDatagram<'_>) -> bool {
        let station = incoming.endpoints.map(|endpoints| endpoints.destination_mac);
        station.is_some_and(|mac| !mac.is_group() && !self.dialect.has_station(mac))
    }

    /// Returns true if the message `answer`, which is no reply to any request, is for another
    /// client on the link.
    pub(super) fn is_overheard(
        &self,
        incoming: &ReceivedDatagram<'_>,
        answer: &D::Answer<'_>,
    ) -> bool {
        incoming.endpoints.is_some_and(|endpoints| endpoints.destination_mac.is_group())
            && !self.dialect.names_own(answer)
    }

    /// Returns true if a reply to request `number` of `kind` came to the client that it is for.
    pub(super) fn is_delivered(
        &self,
        incoming: &ReceivedDatagram<'_>,
        kind: ExchangeKind,
        number: u64,
    ) -> bool {
        let Some(endpoints) = incoming.endpoints else { return true };
        let station = endpoints.destination_mac;
        let turn = self.rings[kind.index()].get(number);
        station.is_group() || turn.and_then(|turn| self.dialect.station(turn.who)) == Some(station)
    }

    /// Counts a received datagram that reached a client on the generator's link, by its
    /// destination.
    pub(super) fn note_frame(&mut self, incoming: &ReceivedDatagram<'_>) {
        let Some(endpoints) = incoming.endpoints else { return };
        if endpoints.destination.ip().is_broadcast() {
            self.link.broadcast += 1;
        } else {
            self.link.unicast += 1;
        }
    }

    /// Returns the hardware address of the client that has `address` at `now_ns` and answers ARP
    /// requests; `None` when there is none.
    pub fn holder(&mut self, now_ns: u64, address: Ipv4Addr) -> Option<[u8; 6]> {
        let position = self.holders.as_ref()?.find_client(address, now_ns)?;
        if self
            .lifecycle
            .as_ref()
            .is_some_and(|population| !population.is_present_with_lease(position, now_ns))
        {
            return None;
        }
        let who = MessageSender { client: self.rules.part.number(position), link: 0 };
        let station = self.dialect.station(who)?;
        self.link.arp_answered += 1;
        Some(station.0)
    }

    /// Returns the next client that announces its new address (RFC 2131 section 4.4.1): its
    /// hardware address, and the new address.
    pub fn announcement(&mut self) -> Option<([u8; 6], Ipv4Addr)> {
        let (position, address) = self.holders.as_mut()?.next_announcement()?;
        let who = MessageSender { client: self.rules.part.number(position), link: 0 };
        Some((self.dialect.station(who)?.0, address))
    }

    /// Notes the address that client `who` has once an exchange of `kind` has ended.
    pub(super) fn note_holder(
        &mut self,
        now_ns: u64,
        kind: ExchangeKind,
        who: MessageSender,
        end: &LifecycleExchangeEnd<D::Lease>,
    ) {
        let Some(holders) = &mut self.holders else { return };
        let position = self.rules.part.position(who.client);
        match (kind, end) {
            (_, LifecycleExchangeEnd::Granted(lease, terms)) => {
                // A population keeps the ends of leases itself, on its own clock.
                let has_lifecycle = self.lifecycle.is_some();
                let ends_ns = if has_lifecycle { u64::MAX } else { ends_ns(now_ns, *terms) };
                D::resources_of_lease(lease, who, |_, resource| {
                    if let IpAddr::V4(address) = D::address_of(resource).0 {
                        holders.set_address(position, address, ends_ns);
                    }
                });
                if matches!(kind, ExchangeKind::First | ExchangeKind::Second | ExchangeKind::Reboot)
                {
                    holders.queue_announcement(position);
                }
            }
            (
                ExchangeKind::Renewal | ExchangeKind::Rebinding | ExchangeKind::Reboot,
                LifecycleExchangeEnd::Refused,
            )
            | (ExchangeKind::Release | ExchangeKind::Decline, _) => {
                holders.remove_address(position)
            }
            _ => {}
        }
    }
}

fn ends_ns(now_ns: u64, terms: LeaseLifetimes) -> u64 {
    if terms.valid_s == u32::MAX {
        return u64::MAX;
    }
    now_ns.saturating_add(u64::from(terms.valid_s) * NS_PER_S)
}
