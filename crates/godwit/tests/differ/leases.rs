//! The leases that a daemon has in the end.

use std::collections::BTreeMap;

use serde_json::Value;

use super::batch::Signature;
use super::reply::Fields;

/// Asks for all leases.
pub(super) const COMMAND: &str = r#"{ "command": "lease4-get-all" }"#;

/// Returns the leases of each of `count` sequences, whose subnets have two identifiers each.
///
/// # Errors
/// The answer is neither of leases nor that there are none.
pub(super) fn by_sequence(answer: &str, count: usize) -> Result<Vec<Vec<Fields>>, String> {
    let mut leases = vec![Vec::new(); count];
    let found: Value =
        serde_json::from_str(answer).map_err(|error| format!("{error}: {answer}"))?;
    if !matches!(found["result"].as_u64(), Some(0 | 3)) {
        return Err(answer.to_owned());
    }
    for lease in found["arguments"]["leases"].as_array().into_iter().flatten() {
        let id = lease["subnet-id"].as_u64().unwrap_or_default() as usize;
        let Some(own) = id.checked_sub(1).and_then(|id| leases.get_mut(id / 2)) else { continue };
        let members = lease.as_object().into_iter().flatten();
        let members = members.filter(|(name, _)| *name != "cltt" && *name != "pool-id");
        own.push(members.map(|(name, value)| (name.clone(), value.to_string())).collect());
    }
    Ok(leases)
}

/// Returns the first thing in which the leases of a sequence differ.
pub(super) fn signature(ours: &[Fields], theirs: &[Fields]) -> Option<Signature> {
    let by_address = |leases: &[Fields]| -> BTreeMap<String, Fields> {
        leases.iter().map(|lease| (lease["ip-address"].clone(), lease.clone())).collect()
    };
    let (ours, theirs) = (by_address(ours), by_address(theirs));
    if let Some(lease) = ours.iter().find(|(address, _)| !theirs.contains_key(*address)) {
        let text = format!("leases: only Godwit has one of state {}", lease.1["state"]);
        return Some(Signature::new(text));
    }
    for (address, theirs) in &theirs {
        let Some(ours) = ours.get(address) else {
            let text = format!("leases: only Kea has one of state {}", theirs["state"]);
            return Some(Signature::new(text));
        };
        let mut names: Vec<&String> = ours.keys().chain(theirs.keys()).collect();
        names.sort();
        names.dedup();
        names.retain(|name| ours.get(*name) != theirs.get(*name));
        if !names.is_empty() {
            let value = |name: &&String| {
                let shown = |lease: &Fields| lease.get(*name).map_or("none", |v| v).to_owned();
                format!("{name}: {}, Kea {}", shown(ours), shown(theirs))
            };
            let values = names.iter().map(value).collect();
            let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
            let text = format!("leases: one differs in {}", names.join(", "));
            return Some(Signature { text, values });
        }
    }
    None
}
