//! Configurations for Kea 2.2, without the keys that it does not have.

use scenario::ScenarioFamily;
use serde_json::Value;

use super::choices::RESTS;
use super::commands;

/// Keys and names of options that Kea 2.2 refuses, or that have another meaning there: it refuses
/// T2 below T1, sends option 108 without leaving the address out, and does not require classes that
/// have no test. It deletes released leases, so that a pause after them changes nothing.
/// It gives a preferred lifetime that is longer than the valid one as it is.
const NEW: [&str; 11] = [
    RESTS,
    "preferred-lifetime",
    "min-preferred-lifetime",
    "max-preferred-lifetime",
    "rebind-timer",
    "offer-lifetime",
    "classless-static-route",
    "never-send",
    "v6-only-preferred",
    "require-client-classes",
    "evaluate-additional-classes",
];

/// Preferred lifetime of all DHCPv6 leases in seconds: shorter than each valid one.
const PREFERRED_S: u32 = 1_000;

/// Removes from the globals of a configuration the keys that Kea 2.2 does not have, and sets those
/// whose defaults are others there. Kea 2.2 does not use the lifetimes of classes when a client
/// renews.
pub(super) fn leave_out_new_globals(family: ScenarioFamily, globals: &mut Value) {
    leave_out_new(globals);
    if family == ScenarioFamily::V6 {
        globals["preferred-lifetime"] = PREFERRED_S.into();
        let classes = globals["client-classes"].as_array_mut();
        for class in classes.into_iter().flatten().filter_map(Value::as_object_mut) {
            class.retain(|key, _| !key.ends_with("-lifetime"));
        }
    }
}

/// Removes from `value` the keys that Kea 2.2 does not have, and reservations of nothing.
pub(super) fn leave_out_new(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|key, _| !NEW.contains(&key.as_str()));
            members.values_mut().for_each(leave_out_new);
            let hosts = members.get_mut("reservations").and_then(Value::as_array_mut);
            if let Some(hosts) = hosts {
                hosts.retain(|host| host.as_object().is_some_and(|host| host.len() > 1));
            }
            let steps = members.get_mut("steps").and_then(Value::as_array_mut);
            if let Some(steps) = steps {
                // Its answers are those of another version, which `kea3` compares with Kea 3.
                steps.retain(|step| !commands::is_command(step));
                steps.iter_mut().for_each(leave_out_repeats);
            }
            members.retain(|_, member| member != &Value::Array(Vec::new()));
        }
        Value::Array(items) => {
            items.retain(|item| !item["name"].as_str().is_some_and(|name| NEW.contains(&name)));
            items.iter_mut().for_each(leave_out_new);
        }
        _ => {}
    }
}

/// Removes repeated options from a message: Kea 2.2 reads the values as one.
fn leave_out_repeats(step: &mut Value) {
    let Some(options) = step.get_mut("options").and_then(Value::as_array_mut) else { return };
    let mut sent_codes = vec![Value::from(53)];
    options.retain(|option| {
        let is_new = !sent_codes.contains(&option[0]);
        sent_codes.push(option[0].clone());
        is_new
    });
}
