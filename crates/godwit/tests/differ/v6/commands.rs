//! Random control commands for DHCPv6.

use base::Random;
use serde_json::{Value, json};

use super::super::choices::{CLIENTS, pick};
use super::generate;

/// Returns a command about the leases or reservations of a sequence, as a step.
pub(super) fn step(random: &mut Random) -> Value {
    let client = 1 + random.below(CLIENTS);
    let subnet = u64::from(random.chance(1, 8));
    let duid = format!("@duid{client}");
    let (name, arguments) = match random.below(12) {
        0 | 1 => ("lease6-add", lease(random, subnet, &duid, false)),
        2 => {
            let has = random.chance(1, 2);
            ("lease6-update", lease(random, subnet, &duid, has))
        }
        3 | 4 => ("lease6-get", leased(random, client)),
        5 => {
            let by = json!({
                "identifier-type": "duid", "identifier": duid, "iaid": 1, "subnet-id": subnet,
            });
            ("lease6-get", by)
        }
        6 => ("lease6-get-by-duid", json!({ "duid": duid })),
        7 | 8 => ("lease6-del", leased(random, client)),
        9 => ("lease6-wipe", json!({ "subnet-id": subnet })),
        10 => match random.below(3) {
            0 => ("lease6-get-all", json!({ "subnets": [subnet] })),
            1 => ("reservation-get-all", json!({ "subnet-id": subnet })),
            _ => {
                let address = format!("@:{subnet}::{:x}", 0x10 + random.below(8));
                ("reservation-get", json!({ "subnet-id": subnet, "ip-address": address }))
            }
        },
        _ => reservation(random, subnet, client, &duid),
    };
    json!({ "client": client, "command": name, "arguments": arguments })
}

/// Returns arguments that name the lease of a client's first association of a kind.
fn leased(random: &mut Random, client: u64) -> Value {
    if random.chance(1, 2) {
        json!({ "ip-address": format!("@naa{client}") })
    } else {
        json!({ "ip-address": format!("@pda{client}"), "type": "IA_PD" })
    }
}

/// Returns a change of a client's reservation in a subnet.
fn reservation(random: &mut Random, subnet: u64, client: u64, duid: &str) -> (&'static str, Value) {
    if random.chance(1, 3) {
        let by = json!({
            "operation-target": "memory", "subnet-id": subnet,
            "identifier-type": "duid", "identifier": duid,
        });
        return ("reservation-del", by);
    }
    let mut host = generate::host(random, subnet, client, client);
    host["subnet-id"] = json!(subnet);
    // Kea 3.0 hangs after some `reservation-update` commands.
    ("reservation-add", json!({ "operation-target": "memory", "reservation": host }))
}

/// Returns the arguments that make a lease, or change the client's lease if it `has` one.
fn lease(random: &mut Random, subnet: u64, duid: &str, has: bool) -> Value {
    let client = &duid["@duid".len()..];
    // An association that has a lease gets no second one.
    let iaid = if has { 1 } else { 7 };
    let mut lease = json!({ "subnet-id": subnet, "duid": duid, "iaid": iaid });
    if random.chance(1, 2) {
        let address = if has {
            format!("@naa{client}")
        } else {
            format!("@:{subnet}::{:x}", 0x10 + random.below(8))
        };
        lease["ip-address"] = json!(address);
    } else {
        let prefix = 0x8000 + 0x100 * subnet + 0x10 * random.below(8);
        let len = *pick(random, &[58, 59, 60, 60, 62, 64]);
        let prefix = prefix & (0xffff << (64 - len));
        lease["type"] = json!("IA_PD");
        lease["prefix-len"] = json!(len);
        lease["ip-address"] =
            json!(if has { format!("@pda{client}") } else { format!("@:{prefix:x}::") });
    }
    if random.chance(1, 4) {
        lease["hostname"] = json!("added.example.");
    }
    if random.chance(1, 2) {
        lease["valid-lft"] = json!(3000);
        lease["preferred-lft"] = json!(2000);
    }
    lease
}
