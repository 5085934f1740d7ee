//! Random messages for DHCPv6.

use base::Random;
use serde_json::{Value, json};

use super::super::choices::{CLIENTS, STEPS_MAX, add_commands, pick};
use super::super::names;
use super::commands;

/// Types of messages (RFC 9915 §7.3).
const SOLICIT: u64 = 1;
const REQUEST: u64 = 3;
const CONFIRM: u64 = 4;
const RENEW: u64 = 5;
const REBIND: u64 = 6;
const RELEASE: u64 = 8;
const DECLINE: u64 = 9;
const INFORMATION_REQUEST: u64 = 11;

/// Kind, IAID and name of the learned value of an association.
type Association = (&'static str, u32, &'static str);

/// Contents of each of a client's messages.
struct ClientMessageContents {
    associations: &'static [Association],
    options: Vec<Value>,
    relay_options: Vec<Value>,
}

/// Returns the messages of a sequence.
pub(super) fn steps(random: &mut Random) -> Value {
    let clients: Vec<ClientMessageContents> = (0..CLIENTS).map(|_| client(random)).collect();
    let count = 2 + random.below(STEPS_MAX - 1);
    let steps = (0..count).map(|at| {
        let client = if at < 2 || random.chance(2, 3) { 0 } else { random.below(CLIENTS) };
        step(random, client + 1, &clients[client as usize], at)
    });
    let mut steps: Vec<Value> = steps.collect();
    add_commands(random, &mut steps, commands::step);
    Value::Array(steps)
}

fn client(random: &mut Random) -> ClientMessageContents {
    let associations: [&'static [Association]; 8] = [
        &[("na", 1, "naa")],
        &[("na", 1, "naa")],
        &[("na", 1, "naa"), ("pd", 1, "pda")],
        &[("na", 1, "naa"), ("pd", 1, "pda")],
        &[("pd", 1, "pda")],
        &[("na", 1, "naa"), ("na", 2, "nab")],
        &[("pd", 1, "pda"), ("pd", 2, "pdb")],
        &[("na", 1, "naa"), ("na", 2, "nab"), ("pd", 1, "pda"), ("pd", 2, "pdb")],
    ];
    let requested_options =
        ["00170018", "0017", "00180015001f0020", "000700110043", "003b0040012c", ""];
    let names =
        ["0004686f7374076578616d706c6500", "0104686f7374", "0504686f7374", "0205625f7ec3a4", "00"];
    let mut options = vec![json!([6, pick(random, &requested_options)])];
    for (chance, code, values) in [
        (2, 8, &["0000"][..]),
        (3, 15, &["000161", "00026162", "000178"][..]),
        (4, 16, &["000000090003666f6f", "000000010000"][..]),
        (4, 39, &names[..]),
        (10, 20, &[""][..]),
        (10, 17, &["0000000900010000"][..]),
        (12, 82, &["0000"][..]),
    ] {
        if random.chance(1, chance) {
            options.push(json!([code, pick(random, values)]));
        }
    }
    if random.chance(1, 6) && !options.iter().any(|option| option[0] == 39) {
        options.push(json!([39, names::full_name6(random)]));
    }
    let mut relay_options = Vec::new();
    for (code, value) in [(79, "0001$mac"), (38, "737562")] {
        if random.chance(1, 6) {
            relay_options.push(json!([code, value]));
        }
    }
    let associations: &&[Association] = pick(random, &associations);
    ClientMessageContents { associations, options, relay_options }
}

/// Returns a message of client `number`, the sequence's message `at`.
fn step(random: &mut Random, number: u64, client: &ClientMessageContents, at: u64) -> Value {
    let usual: &[u64] = match at {
        0 => &[SOLICIT],
        1 => &[REQUEST],
        _ => &[SOLICIT, REQUEST, REQUEST, RENEW, RENEW, RENEW, REBIND],
    };
    let any = [
        SOLICIT,
        REQUEST,
        CONFIRM,
        CONFIRM,
        RENEW,
        REBIND,
        RELEASE,
        RELEASE,
        DECLINE,
        INFORMATION_REQUEST,
    ];
    let kinds = if random.chance(4, 5) { usual } else { &any };
    let kind = *pick(random, kinds);
    let mut options = client.options.clone();
    if kind == SOLICIT && random.chance(1, 4) {
        options.push(json!([14, ""]));
    }
    let server = if random.chance(19, 20) { "$server" } else { "000200007ed9ff" };
    if matches!(kind, REQUEST | RENEW | RELEASE | DECLINE) {
        options.push(json!([2, server]));
    }
    if kind == INFORMATION_REQUEST {
        if random.chance(1, 4) {
            options.push(json!([1, "none"]));
        }
        if random.chance(1, 4) {
            options.push(json!([2, server]));
        }
    }
    let mut step = json!({ "client": number, "type": kind, "options": options });
    if !client.relay_options.is_empty() {
        step["relay-options"] = json!(client.relay_options);
    }
    if kind != INFORMATION_REQUEST {
        step["ias"] = Value::Array(associations(random, kind, client.associations));
    }
    step
}

/// Returns the associations of a message: mostly all of the client's.
fn associations(random: &mut Random, kind: u64, own: &[Association]) -> Vec<Value> {
    let is_partial = random.chance(1, 10);
    let mut associations = Vec::new();
    for (ia_kind, iaid, learned) in own {
        if (is_partial && random.chance(1, 2)) || (kind == CONFIRM && *ia_kind == "pd") {
            continue;
        }
        let names = if kind == SOLICIT { random.chance(1, 4) } else { random.chance(19, 20) };
        let mut items = Vec::new();
        if names {
            let named = format!("${learned}");
            let foreign = if *ia_kind == "na" {
                [
                    "$net.00000000000000000011",
                    "$net.000000000000000000c8",
                    "$net.00070000000000000001",
                ]
            } else {
                // A hint for a length, a prefix of a pool, one of no pool. Kea releases the prefix
                // with that address, whatever its length.
                let is_release = kind == RELEASE;
                [
                    "3c.00000000000000000000000000000000",
                    if is_release {
                        "3c$net.e0000000000000000000"
                    } else {
                        "3a$net.80000000000000000000"
                    },
                    "3c$net.d0000000000000000000",
                ]
            };
            let named =
                if random.chance(9, 10) { named } else { (*pick(random, &foreign)).to_owned() };
            let mut item = json!({ "named": named });
            if random.chance(1, 3) {
                let lifetimes = *pick(random, &[(1000, 1500), (0, 0), (5000, 9000), (300, 200)]);
                item["preferred"] = json!(lifetimes.0);
                item["valid"] = json!(lifetimes.1);
            }
            items.push(item);
        }
        associations.push(json!({ "kind": ia_kind, "iaid": iaid, "items": items }));
    }
    associations
}
