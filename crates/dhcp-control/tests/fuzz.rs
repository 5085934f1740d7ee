//! Tests of commands that no client would send: any JSON value gets an answer.

use crate::common::Fake;
use base::Random;
use dhcp_control::CommandFamily;
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use serde_json::{Map, Value, json};

/// Keys that commands read.
const KEYS: [&str; 46] = [
    "ip-address",
    "hw-address",
    "duid",
    "client-id",
    "iaid",
    "subnet-id",
    "pool-id",
    "type",
    "prefix-len",
    "valid-lft",
    "preferred-lft",
    "expire",
    "state",
    "hostname",
    "fqdn-fwd",
    "user-context",
    "comment",
    "force-create",
    "identifier-type",
    "identifier",
    "from",
    "limit",
    "subnets",
    "leases",
    "deleted-leases",
    "filename",
    "remove",
    "name",
    "max-samples",
    "duration",
    "subnet-range",
    "first-subnet-id",
    "reservation",
    "operation-target",
    "subnet4",
    "subnet6",
    "shared-networks",
    "subnets-action",
    "client-classes",
    "id",
    "pools",
    "option-data",
    "interfaces",
    "origin",
    "Dhcp4",
    "Dhcp6",
];

/// Texts that have a meaning in commands.
const TEXTS: [&str; 24] = [
    "",
    "x",
    "192.0.2.11",
    "2001:db8::11",
    "2001:db8:8000::",
    "01:02:03",
    "1:",
    "zz",
    "'a'",
    "0x",
    "IA_NA",
    "IA_PD",
    "start",
    "memory",
    "duid",
    "hw-address",
    "floor",
    "keep",
    "declined",
    "192.0.2.0/24",
    "10.0.0.1 - 10.0.0.9",
    "\u{e9}\u{0}:\u{1f600}",
    "subnet[1].assigned-nas",
    "pkt4-received",
];

fn one_of<'a>(random: &mut Random, list: &[&'a str]) -> &'a str {
    list[random.below(list.len() as u64) as usize]
}

fn value(random: &mut Random, depth: u32) -> Value {
    match random.below(if depth == 0 { 8 } else { 12 }) {
        0 => Value::Null,
        1 => json!(random.below(2) == 0),
        2 => json!(random.below(10)),
        3 => json!(-(random.below(1 << 40) as i64)),
        4 => json!(random.next_u64()),
        5 => json!(0.5),
        6 | 7 => json!(one_of(random, &TEXTS)),
        8 | 9 => (0..random.below(3)).map(|_| value(random, depth - 1)).collect(),
        _ => {
            let keys = random.below(8);
            let pairs =
                (0..keys).map(|_| (one_of(random, &KEYS).to_owned(), value(random, depth - 1)));
            Value::Object(pairs.collect::<Map<_, _>>())
        }
    }
}

/// Returns arguments that are almost valid: those of a good lease, subnet or host with one change.
fn nearly(random: &mut Random) -> Value {
    let mut arguments = match random.below(5) {
        0 => json!({ "ip-address": "192.0.2.11", "hw-address": "01:02", "subnet-id": 1 }),
        1 => json!({ "ip-address": "2001:db8::11", "duid": "01:02:03", "iaid": 1, "subnet-id": 1 }),
        2 => {
            json!({ "reservation": { "duid": "01:02:03", "subnet-id": 1 }, "operation-target": "memory" })
        }
        3 => json!({ "name": "floor", "id": 1 }),
        _ => json!({ "leases": [{ "ip-address": "2001:db8::11", "duid": "01:02:03", "iaid": 1 }],
                     "deleted-leases": [{ "ip-address": "2001:db8::11" }] }),
    };
    arguments[one_of(random, &KEYS)] = value(random, 2);
    arguments
}

fn run<F: CommandFamily>(seed: u64) {
    let mut random = Random::from_seed(seed);
    let mut server = Fake::<F>::with_subnets();
    let names = server.run(&json!({ "command": "list-commands" }))["arguments"].clone();
    let names: Vec<&str> = names.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let mut results = [0; 6];
    for _ in 0..20_000 {
        let arguments = match random.below(3) {
            0 => value(&mut random, 3),
            _ => nearly(&mut random),
        };
        let mut command = json!({ "command": one_of(&mut random, &names), "arguments": arguments });
        if random.chance(1, 20) {
            command = value(&mut random, 4);
        }
        let before = server.document.clone();
        let answer = server.run(&command);
        let result = answer["result"].as_u64().unwrap() as usize;
        results[result] += 1;
        assert!(result == 0 || !answer["text"].as_str().unwrap().is_empty(), "{command}");
        if result != 0 {
            assert_eq!(server.document, before, "{command}");
        }
        // A configuration whose lists contain arbitrary values is invalid; the real reader refuses
        // it.
        if serde_json::to_string(&server.document).unwrap().len() > 4000 {
            server.document = Fake::<F>::with_subnets().document;
        }
    }
    for (result, least) in [(0, 500), (1, 5000), (3, 200), (4, 10)] {
        assert!(results[result] >= least, "{results:?}");
    }
}

#[test]
fn whatever_comes_is_answered() {
    run::<V4>(1);
    run::<V6>(2);
}
