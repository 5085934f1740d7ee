//! Clients on the own link: which frames reach them, and who of them has an address.

use std::net::{IpAddr, Ipv4Addr};

use base::time::NS_PER_S;

use super::Traffic;
use crate::perfdhcp::dialect::{Dialect, Kind, Terms, Who};
use crate::perfdhcp::lives::End;
use crate::wire::Incoming;

/// What came over the own link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Messages to 255.255.255.255, whatever station their frames are for.
    pub broadcast: u64,
    /// Messages to the address of a client.
    pub unicast: u64,
    /// Messages to other stations, and those to all of them that other clients asked for.
    pub overheard: u64,
    /// Questions by ARP that were answered.
    pub arp_answered: u64,
}

impl LinkCounts {
    /// Adds the counts of another generator.
    pub const fn merge(&mut self, other: Self) {
        self.broadcast += other.broadcast;
        self.unicast += other.unicast;
        self.overheard += other.overheard;
        self.arp_answered += other.arp_answered;
    }
}

impl<D: Dialect> Traffic<D> {
    /// Whether a datagram was sent to a station that is not of this run.
    pub(super) fn is_for_others(&self, incoming: &Incoming<'_>) -> bool {
        let station = incoming.endpoints.map(|endpoints| endpoints.destination_mac);
        station.is_some_and(|mac| !mac.is_group() && !self.dialect.has_station(mac))
    }

    /// Whether what is no answer to any request was asked for by another client on the link.
    pub(super) fn is_overheard(&self, incoming: &Incoming<'_>, answer: &D::Answer<'_>) -> bool {
        incoming.endpoints.is_some_and(|endpoints| endpoints.destination_mac.is_group())
            && !self.dialect.names_own(answer)
    }

    /// Whether a datagram that answers request `number` came to the client that it is for.
    pub(super) fn is_delivered(
        &self,
        incoming: &Incoming<'_>,
        (kind, number): (Kind, u64),
    ) -> bool {
        let Some(endpoints) = incoming.endpoints else { return true };
        let station = endpoints.destination_mac;
        let turn = self.rings[kind.index()].get(number);
        station.is_group() || turn.and_then(|turn| self.dialect.station(turn.who)) == Some(station)
    }

    /// Counts a datagram that reached a client.
    pub(super) fn note_frame(&mut self, incoming: &Incoming<'_>) {
        let Some(endpoints) = incoming.endpoints else { return };
        if endpoints.destination.ip().is_broadcast() {
            self.link.broadcast += 1;
        } else {
            self.link.unicast += 1;
        }
    }

    /// The hardware address of the client that has `address` at `now_ns`, when it answers by ARP.
    pub fn holder(&mut self, now_ns: u64, address: Ipv4Addr) -> Option<[u8; 6]> {
        let place = self.holders.as_ref()?.of(address, now_ns)?;
        if self.lives.as_ref().is_some_and(|lives| !lives.is_there(place, now_ns)) {
            return None;
        }
        let who = Who { client: self.rules.part.number(place), link: 0 };
        let station = self.dialect.station(who)?;
        self.link.arp_answered += 1;
        Some(station.0)
    }

    /// The next client that tells everybody of its new address (RFC 2131 section 4.4.1): its hardware
    /// address, and that.
    pub fn announcement(&mut self) -> Option<([u8; 6], Ipv4Addr)> {
        let (place, address) = self.holders.as_mut()?.news()?;
        let who = Who { client: self.rules.part.number(place), link: 0 };
        Some((self.dialect.station(who)?.0, address))
    }

    /// Notes which address a client has once an exchange has ended.
    pub(super) fn note_holder(&mut self, now_ns: u64, kind: Kind, who: Who, end: &End<D::Lease>) {
        let Some(holders) = &mut self.holders else { return };
        let place = self.rules.part.place(who.client);
        match (kind, end) {
            (_, End::Given(lease, terms)) => {
                // A population knows by itself, on its own clock, how long leases last.
                let has_lives = self.lives.is_some();
                let ends_ns = if has_lives { u64::MAX } else { ends_ns(now_ns, *terms) };
                D::resources_of_lease(lease, who, |_, resource| {
                    if let IpAddr::V4(address) = D::address_of(resource).0 {
                        holders.takes(place, address, ends_ns);
                    }
                });
                if matches!(kind, Kind::First | Kind::Second | Kind::Reboot) {
                    holders.must_tell(place);
                }
            }
            (Kind::Renewal | Kind::Rebinding | Kind::Reboot, End::Refused)
            | (Kind::Release | Kind::Decline, _) => holders.loses(place),
            _ => {}
        }
    }
}

fn ends_ns(now_ns: u64, terms: Terms) -> u64 {
    if terms.valid_s == u32::MAX {
        return u64::MAX;
    }
    now_ns.saturating_add(u64::from(terms.valid_s) * NS_PER_S)
}
