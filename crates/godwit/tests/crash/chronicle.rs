//! Owner of each address at any time, derived from the requests and replies of clients of several
//! servers, and the history of an address that two clients have.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};
use std::net::IpAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::crash::family::CrashRequest;
use crate::crash::galera::SERVERS;
use crate::crash::ledger::AddressRecord;

/// Maximum of lines of a history in a message; it has the last ones.
const STORY_MAX: usize = 150;

/// Event of the history of an address.
#[derive(Clone, Debug)]
pub(crate) enum HistoryEvent {
    /// Request of a client to a server, sent first or repeated.
    Request { xid: u32, client: u32, server: usize, ask: CrashRequest, is_repeated: bool },
    /// Reply of a server, expected or not; `None` is a refusal.
    Reply { xid: u32, server: usize, is_offer: bool, address: Option<IpAddr> },
    /// End of a client's wait for a reply.
    Abandoned { xid: u32 },
    /// Kill or return of a node or a server.
    Incident(String),
}

impl HistoryEvent {
    const fn xid(&self) -> Option<u32> {
        match *self {
            Self::Request { xid, .. } | Self::Reply { xid, .. } | Self::Abandoned { xid } => {
                Some(xid)
            }
            Self::Incident(_) => None,
        }
    }

    fn is_about(&self, address: IpAddr, clients: &[u32]) -> bool {
        match *self {
            Self::Request { client, ask, .. } => {
                clients.contains(&client) || ask.address() == Some(address)
            }
            Self::Reply { address: reply_address, .. } => reply_address == Some(address),
            Self::Abandoned { .. } | Self::Incident(_) => false,
        }
    }
}

impl Display for HistoryEvent {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request { xid, client, server, ask, is_repeated } => {
                let again = if *is_repeated { " again" } else { "" };
                write!(f, "{xid:6} client {client} asks server {server}{again}: {ask:?}")
            }
            Self::Reply { xid, server, is_offer, address } => {
                write!(f, "{xid:6} server {server} answers: ")?;
                match address {
                    Some(address) if *is_offer => write!(f, "offer of {address}"),
                    Some(address) => write!(f, "yes, {address}"),
                    None => write!(f, "no"),
                }
            }
            Self::Abandoned { xid } => write!(f, "{xid:6} waits no longer"),
            Self::Incident(text) => write!(f, "       -- {text}"),
        }
    }
}

/// Owner of an address: the client that has leased it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AddressOwner {
    client: u32,
    /// Server that acknowledged the lease last.
    server: usize,
    /// Time of the client's request, in seconds since 1970.
    since_s: u64,
}

/// History of all requests and replies.
#[derive(Debug, Default)]
pub(crate) struct Chronicle {
    owners: BTreeMap<IpAddr, AddressOwner>,
    /// Former owner of each address, with the server that had given it.
    former: BTreeMap<IpAddr, AddressOwner>,
    events: Vec<(SystemTime, HistoryEvent)>,
    /// Number of acknowledgements of each server.
    pub(crate) acknowledged: [u64; SERVERS],
    /// Number of leases renewed by another server than the one that acknowledged them before.
    pub(crate) wandered: u64,
    /// Number of addresses that a server gave to one client after another server had given them to
    /// another.
    pub(crate) passed_on: u64,
}

impl Chronicle {
    /// Records an event with the current time, which is comparable with logs.
    pub(crate) fn note(&mut self, event: HistoryEvent) {
        self.events.push((SystemTime::now(), event));
    }

    /// Returns the address that the client `client` has leased.
    pub(crate) fn lease_of(&self, client: u32) -> Option<IpAddr> {
        let mine = |owner: &AddressOwner| owner.client == client;
        self.owners.iter().find(|(_, owner)| mine(owner)).map(|(&address, _)| address)
    }

    /// Returns the number of addresses that have an owner.
    pub(crate) fn leases(&self) -> usize {
        self.owners.len()
    }

    /// Records that a server has acknowledged `address` to `client`, whose request was at
    /// `since_s`.
    pub(crate) fn granted(
        &mut self,
        server: usize,
        client: u32,
        address: IpAddr,
        since_s: u64,
    ) -> Result<(), String> {
        let had = self.owners.get(&address).copied();
        if let Some(owner) = had.filter(|owner| owner.client != client) {
            let broken = format!(
                "{address} is client {}'s and was given to client {client} too",
                owner.client
            );
            return Err(self.with_events(&broken, address, &[owner.client, client]));
        }
        if let Some(other) = self.lease_of(client).filter(|other| *other != address) {
            let broken = format!("client {client} has {other} and was given {address} too");
            return Err(self.with_events(&broken, address, &[client]));
        }
        match had {
            Some(owner) => self.wandered += u64::from(owner.server != server),
            None => {
                let is_other = |was: &AddressOwner| was.client != client && was.server != server;
                self.passed_on += u64::from(self.former.get(&address).is_some_and(is_other));
            }
        }
        self.owners.insert(address, AddressOwner { client, server, since_s });
        self.acknowledged[server] += 1;
        Ok(())
    }

    /// Records that the client no longer uses the address, whether or not a server receives the
    /// release.
    pub(crate) fn record_release(&mut self, address: IpAddr) {
        if let Some(owner) = self.owners.remove(&address) {
            self.former.insert(address, owner);
        }
    }

    /// Checks a server's refusal of a client's request.
    pub(crate) fn refused(&self, client: u32) -> Result<(), String> {
        let Some(address) = self.lease_of(client) else { return Ok(()) };
        let broken = format!("client {client} has {address} and was refused it");
        Err(self.with_events(&broken, address, &[client]))
    }

    /// Checks that the leases `stored_leases` in `storage_name` keep all promises.
    pub(crate) fn check(
        &self,
        storage_name: &str,
        stored_leases: &BTreeMap<IpAddr, AddressRecord>,
    ) -> Result<(), String> {
        for (address, owner) in &self.owners {
            let found = stored_leases.get(address);
            // A coarse clock may be a tick behind.
            let is_kept = found.is_some_and(|found| {
                found.is_lease_of(owner.client) && found.heard_s + 1 >= owner.since_s
            });
            if !is_kept {
                let broken = format!("{address}: promised {owner:?}, {storage_name} has {found:?}");
                let other = found.map_or(owner.client, |found| found.client);
                return Err(self.with_events(&broken, *address, &[owner.client, other]));
            }
        }
        Ok(())
    }

    /// Returns the text `broken` with all messages about the address, and from or to these clients.
    fn with_events(&self, broken: &str, address: IpAddr, clients: &[u32]) -> String {
        let is_about = |event: &&(SystemTime, HistoryEvent)| event.1.is_about(address, clients);
        let xids: BTreeSet<u32> =
            self.events.iter().filter(is_about).filter_map(|(_, event)| event.xid()).collect();
        let is_told = |event: &HistoryEvent| event.xid().is_none_or(|xid| xids.contains(&xid));
        let lines: Vec<String> = self
            .events
            .iter()
            .filter(|(_, event)| is_told(event))
            .map(|(time, event)| format!("{} {event}", of_day(*time)))
            .collect();
        let last = &lines[lines.len().saturating_sub(STORY_MAX)..];
        format!("{broken}\n{}\n", last.join("\n"))
    }
}

/// Formats a time as hours, minutes and seconds of the day in UTC.
fn of_day(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (second, micros) = (since.as_secs() % 86_400, since.subsec_micros());
    format!("{:02}:{:02}:{:02}.{micros:06}", second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    fn stored_leases(
        client: u32,
        is_assigned: bool,
        heard_s: u64,
    ) -> BTreeMap<IpAddr, AddressRecord> {
        BTreeMap::from([(address(1), AddressRecord { client, is_assigned, heard_s })])
    }

    fn request(xid: u32, client: u32, server: usize, ask: CrashRequest) -> HistoryEvent {
        HistoryEvent::Request { xid, client, server, ask, is_repeated: false }
    }

    #[test]
    fn an_address_that_two_have_is_told_of_from_the_beginning() {
        let mut chronicle = Chronicle::default();
        chronicle.note(request(1, 7, 0, CrashRequest::Offer));
        chronicle.note(request(2, 9, 1, CrashRequest::Offer));
        chronicle.note(request(3, 8, 1, CrashRequest::Lease(address(2))));
        chronicle.note(request(4, 7, 0, CrashRequest::Lease(address(1))));
        chronicle.granted(0, 7, address(1), 10).unwrap();
        chronicle.note(HistoryEvent::Incident("node 2 is killed".to_owned()));
        chronicle.granted(1, 7, address(1), 11).unwrap();
        chronicle.note(HistoryEvent::Reply {
            xid: 5,
            server: 1,
            is_offer: false,
            address: Some(address(1)),
        });
        let story = chronicle.granted(1, 9, address(1), 12).unwrap_err();
        let parts =
            ["client 7's", "to client 9 too", "     1 client 7", "     2 client 9", "node 2"];
        parts.iter().for_each(|part| assert!(story.contains(part), "{part}: {story}"));
        assert!(story.contains("     5 server 1 answers: yes, 10.0.0.1"), "{story}");
        assert!(!story.contains("client 8"), "{story}");
        assert_eq!(story.lines().count(), 6);
    }

    #[test]
    fn a_release_counts_from_the_moment_that_it_is_sent() {
        let mut chronicle = Chronicle::default();
        chronicle.granted(0, 1, address(1), 10).unwrap();
        chronicle.granted(1, 2, address(1), 11).unwrap_err();
        chronicle.record_release(address(1));
        chronicle.granted(1, 2, address(1), 11).unwrap();
        assert_eq!((chronicle.lease_of(1), chronicle.lease_of(2)), (None, Some(address(1))));
        assert_eq!((chronicle.passed_on, chronicle.wandered), (1, 0));
        chronicle.granted(0, 2, address(1), 12).unwrap();
        assert_eq!((chronicle.wandered, chronicle.acknowledged), (1, [2, 1]));
        chronicle.granted(0, 2, address(2), 12).unwrap_err();
        chronicle.refused(2).unwrap_err();
        chronicle.refused(1).unwrap();
        assert_eq!(chronicle.leases(), 1);
    }

    #[test]
    fn what_was_promised_must_be_there_and_as_new_as_it_was_said() {
        let mut chronicle = Chronicle::default();
        chronicle.granted(0, 1, address(1), 10).unwrap();
        chronicle.check("a table", &stored_leases(1, true, 10)).unwrap();
        for broken in [
            stored_leases(1, true, 8),
            stored_leases(1, false, 10),
            stored_leases(2, true, 10),
            BTreeMap::new(),
        ] {
            chronicle.check("a table", &broken).unwrap_err();
        }
        chronicle.record_release(address(1));
        chronicle.check("a table", &BTreeMap::new()).unwrap();
    }
}
