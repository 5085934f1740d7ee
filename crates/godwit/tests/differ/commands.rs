//! Control commands among the messages of a sequence, and the statistics of its subnets.
//!
//! A step with a `command` sends it to the control socket. Its `arguments` have the marks of the
//! sequence and of the values that its clients learned; `subnet-id` and the list `subnets` have the
//! numbers of its subnets in the sequence, from 0 on.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::held::ClientMessage;
use super::value::Fields;

/// Members of answers that contain the time, or that one of the servers lacks.
const LEFT_OUT: [&str; 2] = ["cltt", "pool-id"];

/// Name that is used instead of a reply if statistics differ.
pub(super) const COUNTERS: &str = "counters";

/// Field of an answer with its result.
pub(super) const RESULT: &str = "result";

/// Returns the result of an answer to a command as the name of a reply.
pub(super) fn result(fields: &Fields) -> Option<String> {
    fields.get(RESULT).map(|result| format!("result {result}"))
}

/// Returns true if `step` is a command.
pub(super) fn is_command(step: &Value) -> bool {
    step.get("command").is_some()
}

/// Returns the command of `step` with its marks replaced and the identifiers of the subnets of
/// sequence `index`.
pub(super) fn command(step: &Value, index: usize) -> Value {
    let mut arguments = step["arguments"].clone();
    identify(&mut arguments, index);
    json!({ "command": step["command"], "arguments": arguments })
}

fn identify(value: &mut Value, index: usize) {
    let id = |number: &Value| json!(subnet_id(index, number.as_u64().unwrap_or_default() as usize));
    let Value::Object(members) = value else { return };
    for (name, member) in members {
        match (name.as_str(), member) {
            ("subnet-id", member) => *member = id(member),
            ("subnets", Value::Array(numbers)) => {
                numbers.iter_mut().for_each(|number| *number = id(number));
            }
            (_, member) => identify(member, index),
        }
    }
}

/// Returns the identifier of subnet `number` of sequence `index`: each sequence has two at most.
pub(super) fn subnet_id(index: usize, number: usize) -> usize {
    2 * index + number + 1
}

/// Returns the sequence of the subnet with the identifier `id`, and the subnet's number in it.
pub(super) fn sequence_of(id: usize) -> Option<(usize, usize)> {
    let number = id.checked_sub(1)?;
    Some((number / 2, number % 2))
}

/// Returns the fields of an answer: its result and each of its arguments, in which the order of
/// lists does not count.
///
/// # Errors
/// The answer is no JSON.
pub(super) fn fields(answer: &str) -> Result<Fields, String> {
    let mut answer: Value =
        serde_json::from_str(answer).map_err(|error| format!("{error}: {answer}"))?;
    normalize(&mut answer);
    let members = answer["arguments"].as_object().into_iter().flatten();
    let mut fields: Fields =
        members.map(|(name, value)| (name.clone(), value.to_string())).collect();
    fields.insert(RESULT.to_owned(), answer["result"].to_string());
    Ok(fields)
}

fn normalize(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|name, _| !LEFT_OUT.contains(&name.as_str()));
            members.values_mut().for_each(normalize);
        }
        Value::Array(items) => {
            items.iter_mut().for_each(normalize);
            items.sort_by_cached_key(Value::to_string);
        }
        _ => {}
    }
}

/// Returns the statistics of the subnets of each of `count` sequences, without the identifiers.
///
/// # Errors
/// The answer has no statistics.
pub(super) fn counters(answer: &str, count: usize) -> Result<Vec<Fields>, String> {
    let answer: Value =
        serde_json::from_str(answer).map_err(|error| format!("{error}: {answer}"))?;
    let mut counters = vec![Fields::new(); count];
    let found = answer["arguments"].as_object().ok_or("there are no statistics")?;
    for (name, samples) in found {
        let rest = name.strip_prefix("subnet[").and_then(|rest| rest.split_once(']'));
        let Some((id, rest)) = rest else { continue };
        let Some((index, number)) = id.parse().ok().and_then(sequence_of) else { continue };
        if let Some(own) = counters.get_mut(index) {
            own.insert(format!("subnet {number}{rest}"), samples[0][0].to_string());
        }
    }
    Ok(counters)
}

/// Returns true if Kea 3.0 counts `counter` differently from later versions, or by the second in
/// which it gave a lease: it repeats none in that second.
pub(super) fn is_incomparable(counter: &str) -> bool {
    counter.contains("allocation-fail") || counter.contains("lease-reuses")
}

/// Returns true if one of the messages and commands `sent` is a `reservation-add` with an error as
/// its answer.
pub(super) fn has_refused_reservation(sent: &[ClientMessage], answers: &[Option<Fields>]) -> bool {
    let is_refused = |answer: &Option<Fields>| {
        let result = answer.as_ref().and_then(|answer| answer.get(RESULT));
        result.is_some_and(|result| result != "0")
    };
    let mut all = sent.iter().zip(answers);
    all.any(|(sent, answer)| sent.name == "reservation-add" && is_refused(answer))
}

/// Kea's counters that are wrong from some point of a sequence on.
#[derive(Debug, Default)]
pub(super) struct CounterDoubts {
    /// True after leases were wiped: Kea does not lower its counters of assigned and declined
    /// leases in pools.
    is_wiped: bool,
    /// True after a counter was below zero: Kea lowers its counters of assigned leases for leases
    /// that it did not count.
    was_below_zero: bool,
    /// True if a DHCPv6 lease may have ended that Kea did not count because it is outside the
    /// pools: Kea's counter of assigned leases in the subnet is then too low. If the client has
    /// left the pool's class, that of the pool stays too high.
    may_end_uncounted: bool,
    /// True after a command changed a reservation: a REQUEST may end the lease of what was
    /// reserved.
    are_reservations_changed: bool,
    /// Addresses in the messages that released DHCPv4 leases.
    released: BTreeSet<String>,
    /// True after an address was released a second time: Kea counts its lease out again.
    is_released_again: bool,
    /// True after a command changed a lease: Kea does not lower its counter of declined addresses
    /// in the pool, nor count a released lease as assigned again.
    is_updated: bool,
    /// True after a SOLICIT lowered one of Kea's counters of assigned leases: it ended a lease.
    is_ended_by_solicit: bool,
    /// True after a client with leases asked for DHCPv6 leases again: Kea may have counted a lease
    /// a second time.
    may_count_twice: bool,
    /// Kea's counters after the last message or command.
    last: Fields,
}

impl CounterDoubts {
    /// Records the message or command `sent` and Kea's counters after it.
    pub(super) fn note(&mut self, sent: &ClientMessage, theirs: Option<&Fields>) {
        let name = &sent.name;
        self.is_wiped |= name.ends_with("-wipe");
        let mut values = theirs.into_iter().flat_map(Fields::values);
        self.was_below_zero |= values.any(|value| value.starts_with('-'));
        if let ("RELEASE", Some(address)) = (&**name, &sent.address) {
            self.is_released_again |= !self.released.insert(address.clone());
        }
        self.is_updated |= name.contains("-update");
        let askers = ["REQUEST again", "RENEW", "REBIND"];
        self.may_count_twice |= askers.iter().any(|begin| name.starts_with(begin));
        let is_lower = |(counter, value): (&String, &String)| {
            let before = self.last.get(counter).and_then(|value| value.parse::<i64>().ok());
            let is_assigned = counter.contains("assigned-") && !counter.contains("cumulative");
            is_assigned && value.parse::<i64>().ok() < before
        };
        let is_solicit = name.starts_with("SOLICIT");
        self.is_ended_by_solicit |= is_solicit && theirs.into_iter().flatten().any(is_lower);
        self.last = theirs.cloned().unwrap_or_default();
        let enders = ["RELEASE", "RENEW", "REBIND", "DECLINE", "lease6-del"];
        self.may_end_uncounted |= enders.iter().any(|begin| name.starts_with(begin));
        self.are_reservations_changed |= name.starts_with("reservation-");
        self.may_end_uncounted |=
            self.are_reservations_changed && name.starts_with("REQUEST again");
    }

    /// Returns true if the doubts concern counters of the kind `kind`, each with the values of both
    /// servers.
    pub(super) fn concern(&self, kind: &str, [ours, theirs]: [&Fields; 2]) -> bool {
        let number = |fields: &Fields| fields.get(kind)?.parse::<i64>().ok();
        let is_lower = number(theirs) < number(ours);
        let is_assigned = |kind: &str| kind.starts_with("assigned-");
        if is_lower && self.is_released_again && kind.ends_with("assigned-addresses") {
            return !kind.contains("cumulative");
        }
        let is_assigned_anywhere = kind.contains("assigned-") && !kind.contains("cumulative");
        if is_assigned_anywhere && (self.is_updated || is_lower && self.is_ended_by_solicit) {
            return true;
        }
        let is_higher = number(theirs) > number(ours);
        let is_of_pool = kind.contains("pool ");
        if self.may_count_twice && (is_higher || is_of_pool) && kind.contains("assigned-") {
            return true;
        }
        if is_higher && self.may_end_uncounted && is_of_pool && is_assigned_anywhere {
            return true;
        }
        match kind.split_once(' ') {
            Some((_, kind)) if self.is_updated && kind.starts_with("declined-") => true,
            Some((_, kind)) if self.is_wiped => is_assigned(kind) || kind.starts_with("declined-"),
            Some((_, kind)) => self.was_below_zero && is_assigned(kind),
            None => {
                let is_uncounted =
                    is_lower && self.may_end_uncounted && !kind.ends_with("addresses");
                (is_uncounted || self.was_below_zero) && is_assigned(kind)
            }
        }
    }
}

/// Returns the name of a counter without the numbers of subnet and pool.
pub(super) fn kind(name: &str) -> String {
    let name = name.split_once('.').map_or(name, |(_, name)| name);
    match name.split_once("].") {
        Some((pool, counter)) => {
            format!("{} {counter}", pool.split('[').next().unwrap_or_default())
        }
        None => name.to_owned(),
    }
}

/// Returns the kinds of counters, each once.
pub(super) fn kinds(names: &[String]) -> String {
    let mut kinds: Vec<String> = names.iter().map(|name| kind(name)).collect();
    kinds.sort();
    kinds.dedup();
    kinds.join(", ")
}
