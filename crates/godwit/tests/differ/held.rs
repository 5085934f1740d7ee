//! Differences by state that Kea does not have or has a second later: offers that are held for
//! their client, and released leases that are free at once. Ends of signatures tell where these may
//! be why two servers differ.

use std::collections::BTreeMap;

use super::value::Fields;

/// Ends the signature where an address is concerned that Godwit has offered to another client.
const HELD: &str = ", held for another";

/// Ends the signature where the client was offered something that it has not taken.
const OFFERED: &str = ", after an offer";

/// Ends the signature after a client left its address for another. Godwit remembers it as released,
/// Kea deletes it.
const LEFT: &str = ", after another lease";

/// Ends the signature after a client released its lease, if that may be in the same second.
const RELEASED: &str = ", after a RELEASE";

/// Ends the signature where the client's name has a label with a dot of its own.
const ODD: &str = ", with a dot in a label";

/// Identifiers of the client and addresses in a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ClientMessage {
    /// Its name, with what distinguishes it.
    pub(super) name: String,
    /// Identifiers of its client: any of these is enough.
    pub(super) identities: Vec<String>,
    /// Identifiers of a DHCPv6 client that reservations may have.
    pub(super) host_identifiers: Vec<String>,
    /// The address that it names.
    pub(super) address: Option<String>,
    /// True when a lease ends by it.
    pub(super) is_release: bool,
    /// True when a label of its option 81 has a dot of its own, which makes another name of it as
    /// text.
    pub(super) has_odd_name: bool,
}

/// State in Godwit after the messages of a sequence.
#[derive(Debug, Default)]
pub(super) struct Holds {
    /// Addresses that were offered last, and to which client.
    offered: BTreeMap<String, Vec<String>>,
    /// Addresses that were leased last, and to which client.
    leased: BTreeMap<String, Vec<String>>,
    has_left: bool,
    has_release: bool,
    has_odd_name: bool,
    /// True when hardware addresses alone tell clients apart.
    ignores_client_ids: bool,
}

impl Holds {
    /// Returns those of no message. Of a client's identities the first counts where others do not.
    pub(super) fn new(ignores_client_ids: bool) -> Self {
        Self { ignores_client_ids, ..Self::default() }
    }

    fn is_same(&self, one: &[String], other: &[String]) -> bool {
        if self.ignores_client_ids {
            return one.first() == other.first();
        }
        one.iter().any(|identity| other.contains(identity))
    }

    /// Takes note of a message and of Godwit's reply, which holds `leased`, as an offer or not.
    pub(super) fn note(&mut self, asked: &ClientMessage, leased: Option<&str>, is_offer: bool) {
        self.has_release |= asked.is_release;
        self.has_odd_name |= asked.has_odd_name;
        if let Some(address) = leased {
            self.offered.remove(address);
            // What is offered is a lease under `offer-lifetime`.
            let mut own =
                self.leased.iter().filter(|(_, client)| self.is_same(client, &asked.identities));
            self.has_left |= own.any(|(other, _)| other != address);
            self.leased.insert(address.to_owned(), asked.identities.clone());
        }
        if let Some(address) = leased.filter(|_| is_offer) {
            self.offered.insert(address.to_owned(), asked.identities.clone());
        }
    }

    /// Takes note of a command: a client may leave the address that an operator gave it.
    pub(super) fn note_command(&mut self, name: &str) {
        self.has_left |= name.starts_with("lease4-add") || name.starts_with("lease4-update");
    }

    /// Returns how the signature of a difference in the replies to `asked` ends, in which `leased`
    /// is what Kea gives. Where the daemons `rested` after each message nothing is due to a second.
    pub(super) fn end(&self, asked: &ClientMessage, leased: Option<&str>, rested: bool) -> String {
        let concerned = asked.address.as_deref().into_iter().chain(leased);
        let mut holders = concerned.filter_map(|address| self.offered.get(address));
        let mut end = String::new();
        let is_own = |client: &Vec<String>| self.is_same(client, &asked.identities);
        if holders.any(|client| !is_own(client)) {
            end += HELD;
        } else if self.offered.values().any(is_own) {
            end += OFFERED;
        }
        if asked.has_odd_name {
            end += ODD;
        }
        end + &self.end_of_last(rested)
    }

    /// Returns how the signature of a difference in leases ends.
    pub(super) fn end_of_leases(&self, rested: bool) -> String {
        let odd = if self.has_odd_name { ODD } else { "" };
        odd.to_owned() + &self.end_of_last(rested)
    }

    /// Returns how signatures end where a lease was left or released before.
    pub(super) fn end_of_last(&self, rested: bool) -> String {
        let left = if self.has_left { LEFT } else { "" };
        let released = if self.has_release && !rested { RELEASED } else { "" };
        format!("{left}{released}")
    }
}

/// A pool of a sequence: the number of its subnet, and its own there.
pub(super) type PoolNumber = (usize, usize);

/// The pool that Kea gave something from last in each subnet, where it looks first. Godwit begins
/// with the first pool of the file.
#[derive(Debug, Default)]
pub(super) struct LastPool {
    /// By subnet.
    pools: BTreeMap<usize, usize>,
    /// True when a lease has ended, or a client may have taken another server's offer, which leaves
    /// a pool behind for Kea.
    has_ended: bool,
}

impl LastPool {
    /// Takes note of the message or command `name` and of the pool of what Kea gave.
    pub(super) fn note(&mut self, name: &str, pool: Option<PoolNumber>) {
        let enders = ["RELEASE", "lease4-del", "lease4-wipe"];
        self.has_ended |= enders.iter().any(|begin| name.starts_with(begin));
        self.has_ended |= name.starts_with("REQUEST") && pool.is_none();
        self.pools.extend(pool);
    }

    /// Returns whether Godwit gave something from an earlier pool of the same subnet than Kea, which
    /// stayed at its last one, or went on from there to the next where a lease has ended.
    pub(super) fn explains(&self, pools: [Option<PoolNumber>; 2]) -> bool {
        let [Some(ours), Some(theirs)] = pools else { return false };
        let last = self.pools.get(&theirs.0);
        let is_behind = |last: &usize| ours.1 < *last || (self.has_ended && ours.1 == *last);
        ours.0 == theirs.0 && ours.1 < theirs.1 && last.is_some_and(is_behind)
    }
}

/// Returns the addresses that `fields` of a reply hold, as one text.
pub(super) fn leased<'f>(fields: Option<&'f Fields>, names: &[&str]) -> Option<&'f str> {
    let value = names.iter().find_map(|name| fields?.get(*name))?;
    value.contains(|digit| digit != '0').then_some(value)
}
