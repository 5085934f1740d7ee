//! Check of a reply that gives other addresses or prefixes than Kea's: they must be free for the
//! client. Which free ones a client gets depends on earlier messages, in another way in each
//! server.

use std::net::Ipv6Addr;

use base::address_bits::AddressBits;
use serde_json::Value;

use super::super::commands::RESULT;
use super::super::held::ClientMessage;
use super::super::protocol::{ChoiceComparison, SequenceHistory};
use super::super::value::Fields;

/// Type of a REPLY, as text (RFC 9915 §7.3).
const REPLY: &str = "7";

/// First and last address of a lease, a reservation or a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AddressRange {
    first: u128,
    last: u128,
}

impl AddressRange {
    /// Reads an address, a prefix with its length behind a slash, or the first and last address
    /// with a hyphen between them.
    fn read(text: &str) -> Option<Self> {
        let address = |text: &str| text.trim().parse().ok().map(Ipv6Addr::to_bits);
        if let Some((first, last)) = text.split_once(" - ") {
            return Some(Self { first: address(first)?, last: address(last)? });
        }
        let (start, len) = text.split_once('/').unwrap_or((text, "128"));
        let (first, last) = address(start)?.bounds(len.parse().ok()?);
        Some(Self { first, last })
    }

    const fn overlaps(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    const fn contains(self, other: Self) -> bool {
        self.first <= other.first && other.last <= self.last
    }
}

/// Address or prefix in a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
struct GivenItem {
    /// Kind and IAID of its association.
    association: String,
    range: AddressRange,
    /// True if its lifetimes are 0.
    is_withdrawn: bool,
}

/// Returns the addresses and prefixes in a reply.
fn items(reply: &Fields) -> Vec<GivenItem> {
    let mut items = Vec::new();
    for (kind, resources) in [("na", "addresses"), ("pd", "prefixes")] {
        let lists = [resources, "lifetimes", "iaids"].map(|name| {
            let text = reply.get(&format!("{kind} {name}")).map_or("", String::as_str);
            text.split(", ").map(str::to_owned).collect::<Vec<_>>()
        });
        let [resources, lifetimes, iaids] = lists;
        for ((resources, lifetimes), iaid) in resources.iter().zip(&lifetimes).zip(&iaids) {
            for (resource, lifetime) in resources.split(' ').zip(lifetimes.split(' ')) {
                items.extend(AddressRange::read(resource).map(|range| GivenItem {
                    association: format!("{kind} {iaid}"),
                    range,
                    is_withdrawn: lifetime == "0/0",
                }));
            }
        }
    }
    items
}

/// Item that another client than that of the last message was given.
#[derive(Clone, Debug)]
struct OthersItem<'h> {
    /// Message to which the item was given.
    message: &'h ClientMessage,
    item: GivenItem,
    /// True for a lease, false for an offer.
    is_lease: bool,
}

/// Items that other clients have.
#[derive(Debug, Default)]
struct OthersItems<'h>(Vec<OthersItem<'h>>);

impl<'h> OthersItems<'h> {
    /// Removes the leases that a message or command with its answer ended. What is only offered
    /// stays held. `has_one_subnet` tells if the sequence has no other subnet.
    fn end(&mut self, sent: &ClientMessage, answer: Option<&Fields>, has_one_subnet: bool) {
        if sent.is_release {
            let released = answer.map(released_associations).unwrap_or_default();
            let is_released = |other: &OthersItem<'_>| {
                other.is_lease
                    && other.message.host_identifiers == sent.host_identifiers
                    && released.contains(&other.item.association)
            };
            self.0.retain(|other| !is_released(other));
        } else if has_one_subnet && sent.name.starts_with("lease6-wipe") {
            self.0.retain(|other| !other.is_lease);
        }
    }

    /// Adds `given`. A lease takes the place of an offer, and an offer of a lease changes nothing.
    fn give(&mut self, given: OthersItem<'h>) {
        let is_concerned = |other: &OthersItem<'_>| {
            other.is_lease != given.is_lease && other.item.range == given.item.range
        };
        if given.is_lease {
            self.0.retain(|other| !is_concerned(other));
        } else if self.0.iter().any(is_concerned) {
            return;
        }
        self.0.push(given);
    }
}

/// Returns true if `reply` is a REPLY, whose items are leases.
fn has_leases(reply: &Fields) -> bool {
    reply.get("type").is_some_and(|kind| kind == REPLY)
}

/// Returns the kinds and IAIDs of the associations whose leases a RELEASE ended, by its reply.
fn released_associations(reply: &Fields) -> Vec<String> {
    let mut released = Vec::new();
    for kind in ["na", "pd"] {
        let [iaids, statuses] = ["iaids", "status"].map(|name| {
            let text = reply.get(&format!("{kind} {name}")).map_or("", String::as_str);
            text.split(", ")
        });
        let ended = iaids.zip(statuses).filter(|(_, status)| *status == "0");
        released.extend(ended.map(|(iaid, _)| format!("{kind} {iaid}")));
    }
    released
}

/// Returns the ranges of a reservation.
fn reserved_ranges(host: &Value) -> impl Iterator<Item = AddressRange> {
    let lists = ["ip-addresses", "prefixes"].into_iter();
    let texts = lists.filter_map(|name| host[name].as_array()).flatten();
    texts.filter_map(|text| AddressRange::read(text.as_str()?))
}

/// Returns true if a reservation is of the client with the identifiers of `message`.
fn is_own(host: &Value, message: &ClientMessage) -> bool {
    let mut keys = ["hw-address", "duid"].iter().filter_map(|kind| host[*kind].as_str());
    keys.any(|key| message.host_identifiers.iter().any(|own| own == key))
}

/// Returns the ranges of the pools in the scope of a sequence.
fn pool_ranges(scope: &Value) -> Vec<AddressRange> {
    let mut ranges = Vec::new();
    for subnet in super::subnets(scope) {
        for pool in subnet["pools"].as_array().into_iter().flatten() {
            ranges.extend(pool["pool"].as_str().and_then(AddressRange::read));
        }
        for pool in subnet["pd-pools"].as_array().into_iter().flatten() {
            let start = pool["prefix"].as_str().unwrap_or_default();
            ranges.extend(AddressRange::read(&format!("{start}/{}", pool["prefix-len"])));
        }
    }
    ranges
}

/// Returns the ranges that commands before the last message gave to leases, or reserved for other
/// clients than that of `message`.
fn commanded_ranges(history: &SequenceHistory<'_>, message: &ClientMessage) -> Vec<AddressRange> {
    let (mut ranges, mut reserved) = (Vec::new(), Vec::new());
    let has_one_subnet = super::subnets(history.scope).len() == 1;
    for (step, answer) in history.steps.iter().zip(history.answers) {
        let result = answer.as_ref().and_then(|answer| answer.get(RESULT));
        if result.is_none_or(|result| result != "0") {
            continue;
        }
        let arguments = &step["arguments"];
        match step["command"].as_str() {
            Some("lease6-add" | "lease6-update") => {
                let address = arguments["ip-address"].as_str().unwrap_or_default();
                let len = arguments["prefix-len"].as_u64().unwrap_or(128);
                ranges.extend(AddressRange::read(&format!("{address}/{len}")));
            }
            Some("reservation-add") if !is_own(&arguments["reservation"], message) => {
                reserved.extend(reserved_ranges(&arguments["reservation"]));
            }
            Some("lease6-wipe") if has_one_subnet => ranges.clear(),
            _ => {}
        }
    }
    ranges.append(&mut reserved);
    ranges
}

/// Ranges that matter for the reply to a client's message.
#[derive(Debug, Default)]
struct SequenceRanges {
    /// Ranges leased or reserved to other clients, or declined.
    taken: Vec<AddressRange>,
    /// Ranges offered to other clients.
    offered: Vec<AddressRange>,
    /// Leases and offers of the client itself.
    own: Vec<GivenItem>,
    /// Reservations of the client.
    reserved: Vec<AddressRange>,
    /// Pools, and reservations of the client.
    allowed: Vec<AddressRange>,
}

impl SequenceRanges {
    /// Collects the ranges from the part of the sequence before its last message, `message`.
    fn collect(history: &SequenceHistory<'_>, message: &ClientMessage) -> Self {
        let earlier = history.answers.len() - 1;
        let (reserved, others_reserved): (Vec<&Value>, Vec<&Value>) =
            super::hosts(history.scope).partition(|host| is_own(host, message));
        let mut ranges = Self {
            taken: commanded_ranges(history, message),
            offered: Vec::new(),
            own: Vec::new(),
            reserved: Vec::new(),
            allowed: pool_ranges(history.scope),
        };
        // Without a look at reservations they take nothing.
        let is_ignored = |value: &Value| {
            let text = value.to_string();
            let settings =
                ["\"reservations-out-of-pool\":true", "\"reservations-in-subnet\":false"];
            settings.iter().any(|setting| text.contains(setting))
        };
        if !is_ignored(history.globals) && !is_ignored(history.scope) {
            ranges.taken.extend(others_reserved.into_iter().flat_map(reserved_ranges));
        }
        ranges.reserved.extend(reserved.into_iter().flat_map(reserved_ranges));
        ranges.allowed.extend_from_slice(&ranges.reserved);
        let has_one_subnet = super::subnets(history.scope).len() == 1;
        let (mut leased, mut declined) = (Vec::new(), Vec::new());
        let mut others = OthersItems::default();
        for (sent, answer) in history.sent.iter().zip(history.answers).take(earlier) {
            others.end(sent, answer.as_ref(), has_one_subnet);
            if has_one_subnet && sent.name.starts_with("lease6-wipe") {
                leased.clear();
                declined.clear();
            }
            let given = answer.as_ref().map(items).unwrap_or_default();
            let is_lease = answer.as_ref().is_some_and(has_leases);
            if sent.host_identifiers == message.host_identifiers {
                if sent.name.starts_with("DECLINE na") {
                    declined.append(&mut leased);
                }
                let leased_now = given.iter().filter(|item| is_lease && !item.is_withdrawn);
                let addresses = leased_now.filter(|item| item.association.starts_with("na"));
                leased.extend(addresses.map(|item| item.range));
                ranges.own.extend(given);
                continue;
            }
            let kept = given.into_iter().filter(|item| !item.is_withdrawn);
            kept.for_each(|item| others.give(OthersItem { message: sent, item, is_lease }));
        }
        ranges.taken.append(&mut declined);
        for other in others.0 {
            let list = if other.is_lease { &mut ranges.taken } else { &mut ranges.offered };
            list.push(other.item.range);
        }
        ranges
    }

    fn is_free(&self, range: AddressRange) -> bool {
        !self.is_taken(range) && !self.offered.iter().any(|offered| offered.overlaps(range))
    }

    fn is_taken(&self, range: AddressRange) -> bool {
        self.taken.iter().any(|taken| taken.overlaps(range))
    }

    /// Returns true if a lease, an offer or an item of `reply` for another association of the
    /// client overlaps `item`.
    fn is_elsewhere(&self, item: &GivenItem, reply: &[GivenItem]) -> bool {
        let mut all = self.own.iter().chain(reply);
        all.any(|other| other.association != item.association && other.range.overlaps(item.range))
    }
}

/// Returns the comparison of the last replies of both servers: whether what Godwit gives and Kea
/// does not is free for the client, and what it withdraws and Kea gives is not; and whether what
/// Kea gives and Godwit does not is taken. What is only offered to another client counts as free
/// where Kea has nothing for the association that is not: an offer ends when nothing else is left.
pub(super) fn compare_choices(history: &SequenceHistory<'_>) -> ChoiceComparison {
    let (Some(message), Some(Some(reply))) = (history.sent.last(), history.answers.last()) else {
        return ChoiceComparison::default();
    };
    let ranges = SequenceRanges::collect(history, message);
    let (ours, theirs) = (items(reply), items(history.theirs));
    let is_kept = |item: &&GivenItem| !item.is_withdrawn;
    let is_given = |items: &[GivenItem], item: &GivenItem| {
        items.iter().filter(is_kept).any(|other| other.range == item.range)
    };
    let gets_something = |items: &[GivenItem], item: &GivenItem| {
        items.iter().filter(is_kept).any(|other| other.association == item.association)
    };
    let gets_something_free = |items: &[GivenItem], item: &GivenItem| {
        let mut kept = items.iter().filter(is_kept);
        kept.any(|other| other.association == item.association && ranges.is_free(other.range))
    };
    let gives_free_ones = ours.iter().all(|item| {
        if is_given(&theirs, item) {
            let is_taken = || ranges.is_elsewhere(item, &ours) || !ranges.is_free(item.range);
            return !item.is_withdrawn || is_taken();
        }
        let is_allowed = ranges.allowed.iter().any(|range| range.contains(item.range));
        let is_left = || !ranges.is_taken(item.range) && !gets_something_free(&theirs, item);
        item.is_withdrawn || is_allowed && (ranges.is_free(item.range) || is_left())
    });
    let mut kea_alone: Vec<&GivenItem> =
        theirs.iter().filter(is_kept).filter(|item| !is_given(&ours, item)).collect();
    // Associations that get nothing matter more than those that get others.
    if kea_alone.iter().any(|item| !gets_something(&ours, item)) {
        kea_alone.retain(|item| !gets_something(&ours, item));
    }
    let is_taken =
        |item: &&GivenItem| !ranges.is_free(item.range) || ranges.is_elsewhere(item, &ours);
    let lacks_taken_ones = !kea_alone.is_empty() && kea_alone.iter().all(is_taken);
    let own_alone: Vec<&GivenItem> =
        ours.iter().filter(is_kept).filter(|item| !is_given(&theirs, item)).collect();
    let gives_more = !own_alone.is_empty();
    let gives_reserved_ones =
        gives_more && own_alone.iter().all(|item| ranges.reserved.contains(&item.range));
    ChoiceComparison { gives_free_ones, gives_more, lacks_taken_ones, gives_reserved_ones }
}
