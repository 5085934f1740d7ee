//! Differences caused by state that Kea does not have or has a second later: offers that Godwit
//! holds for their client, and released leases that are free at once. Ends of signatures name these
//! as possible reasons of a difference.

use std::collections::BTreeMap;

use super::value::Fields;

/// End of a signature about an address that Godwit has offered to another client.
const HELD: &str = ", held for another";

/// End of a signature if the client got an offer that it has not taken.
const OFFERED: &str = ", after an offer";

/// End of a signature after a client left its address for another. Godwit remembers it as released,
/// Kea deletes it.
const LEFT: &str = ", after another lease";

/// End of a signature after a client released its lease, possibly in the same second.
const RELEASED: &str = ", after a RELEASE";

/// End of a signature if the client's name has a label that contains a dot.
const ODD: &str = ", with a dot in a label";

/// Message of a client: its name, the client's identifiers and the address in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ClientMessage {
    /// Name of the message, with its distinguishing part.
    pub(super) name: String,
    /// Identifiers of the message's client; any of these is enough.
    pub(super) identities: Vec<String>,
    /// Identifiers of a DHCPv6 client that reservations may have.
    pub(super) host_identifiers: Vec<String>,
    /// Address in the message.
    pub(super) address: Option<String>,
    /// True if the message ends a lease.
    pub(super) is_release: bool,
    /// True if a label of its option 81 contains a dot, which makes another name of it as text.
    pub(super) has_odd_name: bool,
}

/// State in Godwit after the messages of a sequence.
#[derive(Debug, Default)]
pub(super) struct HeldState {
    /// Addresses offered last, each with the identifiers of its client.
    offered: BTreeMap<String, Vec<String>>,
    /// Addresses leased last, each with the identifiers of its client.
    leased: BTreeMap<String, Vec<String>>,
    has_left: bool,
    has_release: bool,
    has_odd_name: bool,
    /// True if hardware addresses alone tell clients apart.
    ignores_client_ids: bool,
}

impl HeldState {
    /// Returns the state before the first message. With `ignores_client_ids` only the first of a
    /// client's identifiers counts.
    pub(super) fn new(ignores_client_ids: bool) -> Self {
        Self { ignores_client_ids, ..Self::default() }
    }

    fn is_same(&self, one: &[String], other: &[String]) -> bool {
        if self.ignores_client_ids {
            return one.first() == other.first();
        }
        one.iter().any(|identity| other.contains(identity))
    }

    /// Records a message and Godwit's reply, which has `leased`, as an offer or not.
    pub(super) fn note(
        &mut self,
        client_message: &ClientMessage,
        leased: Option<&str>,
        is_offer: bool,
    ) {
        self.has_release |= client_message.is_release;
        self.has_odd_name |= client_message.has_odd_name;
        if let Some(address) = leased {
            self.offered.remove(address);
            // An offer is a lease under `offer-lifetime`.
            let mut own = self
                .leased
                .iter()
                .filter(|(_, client)| self.is_same(client, &client_message.identities));
            self.has_left |= own.any(|(other, _)| other != address);
            self.leased.insert(address.to_owned(), client_message.identities.clone());
        }
        if let Some(address) = leased.filter(|_| is_offer) {
            self.offered.insert(address.to_owned(), client_message.identities.clone());
        }
    }

    /// Records a command: a client may leave the address that an operator gave it.
    pub(super) fn note_command(&mut self, name: &str) {
        self.has_left |= name.starts_with("lease4-add") || name.starts_with("lease4-update");
    }

    /// Returns true if the client of a message has the client identifier of a lease of another
    /// hardware address.
    pub(super) fn shares_identifier(&self, client_message: &ClientMessage) -> bool {
        let own = &client_message.identities;
        let is_shared = |other: &Vec<String>| {
            other.first() != own.first() && own.len() > 1 && other.get(1) == own.get(1)
        };
        self.leased.values().any(is_shared)
    }

    /// Returns the end of the signature of a difference in the replies to `client_message`, in
    /// which Kea gives `leased`. If the servers `rested` after each message, no difference comes
    /// from a second.
    pub(super) fn end(
        &self,
        client_message: &ClientMessage,
        leased: Option<&str>,
        rested: bool,
    ) -> String {
        let concerned = client_message.address.as_deref().into_iter().chain(leased);
        let mut holders = concerned.filter_map(|address| self.offered.get(address));
        let mut end = String::new();
        let is_own = |client: &Vec<String>| self.is_same(client, &client_message.identities);
        if holders.any(|client| !is_own(client)) {
            end += HELD;
        } else if self.offered.values().any(is_own) {
            end += OFFERED;
        }
        if client_message.has_odd_name {
            end += ODD;
        }
        end + &self.end_of_last(rested)
    }

    /// Returns true if a client released a lease.
    pub(super) const fn has_release(&self) -> bool {
        self.has_release
    }

    /// Returns true if a client left its lease for another.
    pub(super) const fn has_left(&self) -> bool {
        self.has_left
    }

    /// Returns the end of the signature of a difference in leases.
    pub(super) fn end_of_leases(&self, rested: bool) -> String {
        let odd = if self.has_odd_name { ODD } else { "" };
        odd.to_owned() + &self.end_of_last(rested)
    }

    /// Returns the end of signatures after a lease was left or released.
    pub(super) fn end_of_last(&self, rested: bool) -> String {
        let left = if self.has_left { LEFT } else { "" };
        let released = if self.has_release && !rested { RELEASED } else { "" };
        format!("{left}{released}")
    }
}

/// Pool of a sequence: the number of its subnet, and its own number there.
pub(super) type PoolNumber = (usize, usize);

/// Pool from which Kea gave a lease last in each subnet, and where it looks first. Godwit begins
/// with the first pool of the file.
#[derive(Debug, Default)]
pub(super) struct LastPool {
    /// Last pools by subnet.
    pools: BTreeMap<usize, usize>,
    /// True if a lease has ended, or a client may have taken another server's offer, after which
    /// Kea goes on from the pool.
    has_ended: bool,
}

impl LastPool {
    /// Records a message or command, the address that Kea leased or offered, that address's pool,
    /// and whether a client left its lease for another. An address that the message names leaves
    /// Kea where it was.
    pub(super) fn note(
        &mut self,
        sent: &ClientMessage,
        leased: Option<&str>,
        pool: Option<PoolNumber>,
        has_left: bool,
    ) {
        let name = &sent.name;
        let enders = ["RELEASE", "lease4-del", "lease4-wipe"];
        self.has_ended |= has_left;
        self.has_ended |= enders.iter().any(|begin| name.starts_with(begin));
        self.has_ended |= name.starts_with("REQUEST") && pool.is_none();
        let is_named = sent.address.is_some() && sent.address.as_deref() == leased;
        self.pools.extend(pool.filter(|_| !is_named));
    }

    /// Returns true if Godwit gave a lease from an earlier pool of the same subnet than Kea, which
    /// stayed at its last one, or, if a lease has ended, went on from there to the next; or if Kea
    /// came from a later pool, so that it began with the first address of the one it gave from.
    pub(super) fn explains(&self, pools: [Option<PoolNumber>; 2]) -> bool {
        let [Some(ours), Some(theirs)] = pools else { return false };
        let last = self.pools.get(&theirs.0);
        let is_behind = |last: &usize| ours.1 < *last || (self.has_ended && ours.1 == *last);
        let is_earlier = ours.1 < theirs.1 && last.is_some_and(is_behind);
        let has_begun_again = ours.1 == theirs.1 && last.is_some_and(|last| *last > theirs.1);
        ours.0 == theirs.0 && (is_earlier || has_begun_again)
    }
}

/// Returns the addresses in `fields` of a reply as one text.
pub(super) fn leased<'f>(fields: Option<&'f Fields>, names: &[&str]) -> Option<&'f str> {
    let value = names.iter().find_map(|name| fields?.get(*name))?;
    value.contains(|digit| digit != '0').then_some(value)
}
