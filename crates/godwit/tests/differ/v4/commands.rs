//! Random control commands for DHCPv4.

use base::Random;
use serde_json::{Value, json};

use super::super::choices::{CLIENTS, pick};
use super::generate;

/// Returns a command about the leases or reservations of a sequence, as a step.
pub(super) fn step(random: &mut Random) -> Value {
    let client = 1 + random.below(CLIENTS);
    let subnet = u64::from(random.chance(1, 8));
    let first = 128 * subnet;
    let leased = format!("@address{client}");
    let address = format!("@.{}", first + 10 + random.below(8));
    let mac = format!("@mac{client}");
    let (name, arguments) = match random.below(12) {
        0 | 1 => ("lease4-add", lease(random, subnet, &address, &mac)),
        2 => {
            let chosen = pick(random, &[leased, address]).clone();
            ("lease4-update", lease(random, subnet, &chosen, &mac))
        }
        3 | 4 => ("lease4-get", json!({ "ip-address": leased })),
        5 => {
            let by = json!({
                "identifier-type": "hw-address", "identifier": mac, "subnet-id": subnet,
            });
            ("lease4-get", by)
        }
        6 => ("lease4-get-by-hw-address", json!({ "hw-address": mac })),
        7 | 8 => ("lease4-del", json!({ "ip-address": leased })),
        9 => ("lease4-wipe", json!({ "subnet-id": subnet })),
        10 => match random.below(3) {
            0 => ("lease4-get-all", json!({ "subnets": [subnet] })),
            1 => ("reservation-get-all", json!({ "subnet-id": subnet })),
            _ => ("reservation-get", json!({ "subnet-id": subnet, "ip-address": address })),
        },
        _ => reservation(random, subnet, client, &mac),
    };
    json!({ "client": client, "command": name, "arguments": arguments })
}

/// Returns a change of a client's reservation in a subnet.
fn reservation(random: &mut Random, subnet: u64, client: u64, mac: &str) -> (&'static str, Value) {
    if random.chance(1, 3) {
        let by = json!({
            "operation-target": "memory", "subnet-id": subnet,
            "identifier-type": "hw-address", "identifier": mac,
        });
        return ("reservation-del", by);
    }
    let mut host = generate::host(random, 128 * subnet, client, client);
    host["subnet-id"] = json!(subnet);
    let name = *pick(random, &["reservation-add", "reservation-add", "reservation-update"]);
    (name, json!({ "operation-target": "memory", "reservation": host }))
}

/// Returns the arguments that make a lease.
fn lease(random: &mut Random, subnet: u64, address: &str, mac: &str) -> Value {
    let mut lease = json!({ "subnet-id": subnet, "ip-address": address, "hw-address": mac });
    if random.chance(1, 2) {
        lease["client-id"] = json!(format!("01:{mac}"));
    }
    if random.chance(1, 4) {
        lease["hostname"] = json!("added.example.");
    }
    if random.chance(1, 2) {
        lease["valid-lft"] = json!(3000);
    }
    lease
}
