//! Leases of a server at the end.

use std::collections::BTreeMap;

use serde_json::Value;

use super::batch::Signature;
use super::commands;
use super::held::ClientMessage;
use super::known::{DifferingField, KnownKeaDifferences};
use super::value::{self, Fields};

/// End of a signature about a reply to a client that asks again, if Kea gave it two leases for one
/// association.
const TWO_LEASES: &str = ", with two leases of an association";

/// Begin of a signature about a lease that Kea has ended.
const ONLY_GODWIT_HAS_A_LEASE: &str = "leases: only Godwit has one of state 0";

/// End of a signature about a lease that only Kea has, if its association has another one in both.
const OF_AN_ASSOCIATION: &str = ", of an association that has another";

/// End of such a signature if a command changed a reservation.
const AFTER_RESERVATION: &str = ", after a change of reservations";

/// End of such a signature if a client with a lease sent a SOLICIT.
const AFTER_SOLICIT: &str = ", after a SOLICIT";

/// Signature of a lease that both servers have, with the hardware addresses of two clients.
const HARDWARE_ADDRESS_DIFFERS: &str = "leases: one differs in hw-address";

/// End of such a signature if a client released a lease, which Kea may have given to another one.
const ONCE_RELEASED: &str = ", once a client released one";

/// Returns the leases of each of `count` sequences, whose subnets have two identifiers each.
///
/// # Errors
/// The answer has no leases, and does not say that there are none.
pub(super) fn by_sequence(answer: &str, count: usize) -> Result<Vec<Vec<Fields>>, String> {
    let mut leases = vec![Vec::new(); count];
    let found: Value =
        serde_json::from_str(answer).map_err(|error| format!("{error}: {answer}"))?;
    if !matches!(found["result"].as_u64(), Some(0 | 3)) {
        return Err(answer.to_owned());
    }
    for lease in found["arguments"]["leases"].as_array().into_iter().flatten() {
        let id = lease["subnet-id"].as_u64().unwrap_or_default() as usize;
        let index = commands::sequence_of(id).map(|(index, _)| index);
        let Some(own) = index.and_then(|index| leases.get_mut(index)) else { continue };
        let members = lease.as_object().into_iter().flatten();
        let members = members.filter(|(name, _)| *name != "cltt" && *name != "pool-id");
        own.push(members.map(|(name, value)| (name.clone(), value.to_string())).collect());
    }
    Ok(leases)
}

/// Returns the first unknown difference in the leases of a sequence.
pub(super) fn signature(
    known: &KnownKeaDifferences,
    ours: &[Fields],
    theirs: &[Fields],
) -> Option<Signature> {
    let by_address = |leases: &[Fields]| -> BTreeMap<String, Fields> {
        let key = |lease: &Fields| {
            let parts = ["ip-address", "prefix-len", "type"];
            parts.map(|name| lease.get(name).cloned().unwrap_or_default()).join(" ")
        };
        leases.iter().map(|lease| (key(lease), lease.clone())).collect()
    };
    let of_state = |who: &str, lease: &Fields| {
        let kind = lease.get("type").map(|kind| kind.trim_matches('"')).unwrap_or_default();
        let state = lease.get("state").map(String::as_str).unwrap_or_default();
        let text = format!("leases: only {who} has one of state {state} {kind}");
        Some(Signature::new(text.trim_end().to_owned()))
    };
    let (ours, theirs) = (by_address(ours), by_address(theirs));
    if let Some((_, lease)) = ours.iter().find(|(address, _)| !theirs.contains_key(*address)) {
        return of_state("Godwit", lease);
    }
    for (address, lease) in &theirs {
        let Some(ours) = ours.get(address) else {
            let mut found = of_state("Kea", lease);
            if let Some(found) = found.as_mut().filter(|_| has_another(lease, &theirs, &ours)) {
                found.text += OF_AN_ASSOCIATION;
            }
            return found;
        };
        let mut names = value::differing(ours, lease, |_, _, _| false);
        names.retain(|field| {
            let (theirs, reply) = (lease, "lease");
            !known.has_field(DifferingField { field, sent: "", reply, ours, theirs, after: "" })
        });
        if !names.is_empty() {
            let values = value::values(ours, lease, &names);
            let text = format!("leases: one differs in {}", names.join(", "));
            return Some(Signature { values, ..Signature::new(text) });
        }
    }
    None
}

/// Returns true if the association of `lease`, which only Kea has, has another running lease in
/// both servers.
fn has_another(
    lease: &Fields,
    theirs: &BTreeMap<String, Fields>,
    ours: &BTreeMap<String, Fields>,
) -> bool {
    let is_of_it = |other: &Fields| {
        let names = ["duid", "iaid", "type", "state"];
        other.get("ip-address") != lease.get("ip-address")
            && names
                .iter()
                .all(|name| lease.contains_key(*name) && other.get(*name) == lease.get(*name))
    };
    theirs.iter().any(|(address, other)| is_of_it(other) && ours.get(address).is_some_and(is_of_it))
}

/// Returns the end of a signature about a lease that Kea has ended, or whose hardware address
/// differs: the reason in the messages and commands of the sequence.
pub(super) fn reason(text: &str, sent: &[ClientMessage]) -> &'static str {
    let has = |begin: &str| sent.iter().any(|sent| sent.name.starts_with(begin));
    if text == HARDWARE_ADDRESS_DIFFERS {
        if has("RELEASE") { ONCE_RELEASED } else { "" }
    } else if !text.starts_with(ONLY_GODWIT_HAS_A_LEASE) {
        ""
    } else if has("reservation-add") || has("reservation-del") {
        AFTER_RESERVATION
    } else if has("SOLICIT again") {
        AFTER_SOLICIT
    } else {
        ""
    }
}

/// Returns the end of the signature `text` of a difference in the fields of a reply to a client
/// that asks again: that in Kea alone an association has two leases, if it does at the end.
pub(super) fn reason_in_reply(text: &str, ours: &[Fields], theirs: &[Fields]) -> &'static str {
    let is_concerned = text.starts_with("REQUEST again") && text.contains(" differs in ");
    if is_concerned && has_two_of_one(theirs) && !has_two_of_one(ours) { TWO_LEASES } else { "" }
}

/// Returns true if an association has two running leases.
fn has_two_of_one(leases: &[Fields]) -> bool {
    let mut keys = Vec::new();
    for lease in leases.iter().filter(|lease| lease.get("state").is_some_and(|state| state == "0"))
    {
        let parts = ["duid", "iaid", "type"].map(|name| lease.get(name));
        keys.extend(parts[0].is_some().then_some(parts));
    }
    let count = keys.len();
    keys.sort_unstable();
    keys.dedup();
    keys.len() < count
}
