//! Random sequences for DHCPv4.

use base::Random;
use serde_json::{Map, Value, json};

use super::super::choices::{
    CLIENTS, RESTS, STEPS_MAX, add_commands, add_host, add_lifetimes, add_some, pick, some_options,
};
use super::super::names;
use super::commands;

/// Returns the common part of all sequences of a batch: the classes, and random globals.
pub(super) fn globals(random: &mut Random) -> Value {
    let mut globals = Map::new();
    globals.insert("valid-lifetime".to_owned(), json!(4000));
    let mode = *pick(random, &["when-not-present", "when-present", "always", "never"]);
    let characters = *pick(random, &["[^A-Za-z0-9.-]", "[^a-z]", "[.]", "", "[ _]", "x"]);
    let replacement = *pick(random, &["x", "", ".", "-ab"]);
    add_some(
        random,
        &mut globals,
        4,
        &[
            ("renew-timer", json!(1000)),
            ("rebind-timer", json!(2000)),
            ("calculate-tee-times", json!(true)),
            ("authoritative", json!(true)),
            ("match-client-id", json!(false)),
            ("echo-client-id", json!(false)),
            ("next-server", json!("192.0.2.9")),
            ("server-hostname", json!("global.example")),
            ("boot-file-name", json!("global.boot")),
            ("ddns-send-updates", json!(false)),
            ("ddns-qualifying-suffix", json!("example.org")),
            ("ddns-replace-client-name", json!(mode)),
            ("hostname-char-set", json!(characters)),
            ("hostname-char-replacement", json!(replacement)),
            ("reservations-lookup-first", json!(true)),
        ],
    );
    globals.insert("option-data".to_owned(), Value::Array(options(random)));
    add_some(random, &mut globals, 12, &[("offer-lifetime", json!(60))]);
    if random.chance(1, 4) {
        globals.insert("min-valid-lifetime".to_owned(), json!(1500));
        globals.insert("max-valid-lifetime".to_owned(), json!(8000));
    }
    let mut first = json!({ "name": "A", "test": "substring(option[60].hex,0,1) == 'a'" });
    class_members(random, first.as_object_mut().expect("a map"));
    let mut second = json!({ "name": "B", "test": "member('A') or option[77].exists" });
    class_members(random, second.as_object_mut().expect("a map"));
    let mut third = json!({ "name": "R" });
    if random.chance(1, 3) {
        third["test"] = json!("not option[60].exists");
        third["only-if-required"] = json!(true);
    }
    class_members(random, third.as_object_mut().expect("a map"));
    globals.insert("client-classes".to_owned(), json!([first, second, third]));
    if random.chance(1, 8) {
        globals.insert(RESTS.to_owned(), json!(true));
    }
    Value::Object(globals)
}

fn class_members(random: &mut Random, class: &mut Map<String, Value>) {
    if random.chance(1, 2) {
        class.insert("option-data".to_owned(), Value::Array(options(random)));
    }
    add_some(
        random,
        class,
        5,
        &[
            ("next-server", json!("192.0.2.7")),
            ("server-hostname", json!("class.example")),
            ("boot-file-name", json!("class.boot")),
        ],
    );
    add_lifetimes(random, class, "valid", 3600);
}

/// Returns random `option-data`.
fn options(random: &mut Random) -> Vec<Value> {
    let menu = [
        json!({ "name": "routers", "data": "192.0.2.1" }),
        json!({ "name": "domain-name-servers", "data": "192.0.2.2, 192.0.2.3" }),
        json!({ "name": "domain-name", "data": "example.com" }),
        json!({ "name": "ntp-servers", "data": "192.0.2.4" }),
        json!({ "name": "domain-search", "data": "a.example, b.example" }),
        json!({ "name": "host-name", "data": "configured" }),
        json!({ "name": "broadcast-address", "data": "192.0.2.255" }),
        json!({ "name": "interface-mtu", "data": "1400" }),
        json!({ "name": "log-servers", "data": "192.0.2.8", "always-send": true }),
        json!({ "name": "time-offset", "data": "-3600", "always-send": true }),
        json!({ "name": "boot-file-name", "data": "option.boot" }),
        json!({ "name": "tftp-server-name", "data": "tftp.example" }),
        json!({ "code": 43, "csv-format": false, "data": "0104C0000201" }),
        json!({ "code": 224, "csv-format": false, "data": "CAFE", "always-send": true }),
        json!({ "name": "log-servers", "data": "192.0.2.8", "never-send": true }),
        json!({ "name": "v6-only-preferred", "data": "1800" }),
        json!({ "name": "auto-config", "data": "0" }),
        json!({ "name": "classless-static-route", "data": "10.0.0.0/8 - 192.0.2.1" }),
    ];
    some_options(random, &menu)
}

/// Returns a sequence: its scope (a subnet, or a shared network), its relay agent's address, and
/// its steps.
pub(super) fn sequence(random: &mut Random) -> Value {
    let scope = if random.chance(1, 4) { network(random) } else { subnet(random, 0, 24) };
    let relay = if random.chance(1, 8) { "@.129" } else { "@.1" };
    let clients: Vec<Vec<Value>> = (0..CLIENTS).map(|_| client_options(random)).collect();
    let count = 2 + random.below(STEPS_MAX - 1);
    let mut steps: Vec<Value> = (0..count).map(|at| step(random, &clients, at)).collect();
    add_commands(random, &mut steps, commands::step);
    json!({ "scope": scope, "relay": relay, "steps": steps })
}

/// Returns a sequence of clients that send their messages without a relay agent: as a broadcast, or
/// to the server.
pub(super) fn direct_sequence(random: &mut Random) -> Value {
    let mut sequence = sequence(random);
    if random.chance(1, 3) {
        // The first of a network's subnets counts.
        let scope = &mut sequence["scope"];
        match scope.get_mut("subnet4") {
            Some(subnets) => subnets[0]["interface"] = json!("@if"),
            None => scope["interface"] = json!("@if"),
        }
    }
    for step in sequence["steps"].as_array_mut().into_iter().flatten() {
        let is_own = step["ciaddr"].is_string();
        step["unicast"] = json!(random.chance(if is_own { 5 } else { 1 }, 10));
    }
    sequence
}

fn network(random: &mut Random) -> Value {
    let mut network =
        json!({ "name": "@net", "subnet4": [subnet(random, 0, 25), subnet(random, 128, 25)] });
    let map = network.as_object_mut().expect("a map");
    if random.chance(1, 3) {
        map.insert("option-data".to_owned(), Value::Array(options(random)));
    }
    add_some(
        random,
        map,
        6,
        &[
            ("valid-lifetime", json!(2500)),
            ("authoritative", json!(true)),
            ("match-client-id", json!(false)),
            ("next-server", json!("192.0.2.5")),
            ("renew-timer", json!(700)),
            ("reservations-global", json!(true)),
        ],
    );
    network
}

/// Returns a subnet that begins at address `first` of the sequence's addresses.
fn subnet(random: &mut Random, first: u64, length: u64) -> Value {
    let mut pools = Vec::new();
    let mut from = first + 10;
    for _ in 0..random.below(3) {
        let to = from + random.below(5);
        let mut pool = json!({ "pool": format!("@.{from} - @.{to}") });
        let map = pool.as_object_mut().expect("a map");
        if random.chance(1, 4) {
            map.insert("option-data".to_owned(), Value::Array(options(random)));
        }
        let guard = *pick(random, &["A", "B", "R", "KNOWN", "UNKNOWN"]);
        add_some(random, map, 5, &[("client-class", json!(guard))]);
        pools.push(pool);
        from = to + 2;
    }
    let mut subnet = json!({ "subnet": format!("@.{first}/{length}"), "pools": pools });
    let map = subnet.as_object_mut().expect("a map");
    if random.chance(1, 2) {
        map.insert("option-data".to_owned(), Value::Array(options(random)));
    }
    if random.chance(1, 2) {
        let count = 1 + random.below(2);
        let mut hosts: Vec<Value> =
            (0..count).map(|at| host(random, first, at + 1, at + 1)).collect();
        if random.chance(1, 3) {
            add_host(&mut hosts, host(random, first, 1, CLIENTS));
        }
        map.insert("reservations".to_owned(), Value::Array(hosts));
        if random.chance(1, 6) {
            reserve_twice(random, map, first);
        }
    }
    let guard = *pick(random, &["A", "B"]);
    add_some(
        random,
        map,
        7,
        &[
            ("renew-timer", json!(500)),
            ("rebind-timer", json!(800)),
            ("calculate-tee-times", json!(true)),
            ("match-client-id", json!(false)),
            ("next-server", json!("192.0.2.6")),
            ("server-hostname", json!("subnet.example")),
            ("boot-file-name", json!("subnet.boot")),
            ("client-class", json!(guard)),
            ("require-client-classes", json!(["R"])),
            ("reservations-in-subnet", json!(false)),
            ("reservations-out-of-pool", json!(true)),
            ("ddns-qualifying-suffix", json!("subnet.example")),
            ("store-extended-info", json!(true)),
            ("relay", json!({ "ip-addresses": ["@.1"] })),
        ],
    );
    add_lifetimes(random, map, "valid", 2000);
    // The subnets of a network have to agree on it.
    if length == 24 {
        add_some(random, map, 7, &[("authoritative", json!(true))]);
    }
    subnet
}

/// Gives client 1 two reservations, of which the second has all addresses of the subnet's pool.
fn reserve_twice(random: &mut Random, subnet: &mut Map<String, Value>, first: u64) {
    let pool = first + 10;
    let to = pool + random.below(2);
    subnet.insert("pools".to_owned(), json!([{ "pool": format!("@.{pool} - @.{to}") }]));
    let hosts = json!([
        { "hw-address": "@mac1", "hostname": "reserved" },
        { "client-id": "01:@mac1", "ip-address": format!("@.{pool}") },
    ]);
    subnet.insert("reservations".to_owned(), hosts);
}

/// Returns a reservation for client `client`, whose address no reservation of another `slot` has.
pub(super) fn host(random: &mut Random, first: u64, client: u64, slot: u64) -> Value {
    let identifier = [
        ("hw-address", format!("@mac{client}")),
        ("client-id", format!("01:@mac{client}")),
        ("circuit-id", format!("'c{client}'")),
    ];
    let (kind, value) = pick(random, &identifier);
    let mut host = Map::new();
    host.insert((*kind).to_owned(), json!(value));
    let address = first + 10 + slot + CLIENTS * random.below(10);
    add_some(random, &mut host, 2, &[("ip-address", json!(format!("@.{address}")))]);
    add_some(
        random,
        &mut host,
        4,
        &[
            ("hostname", json!("reserved")),
            ("next-server", json!("192.0.2.11")),
            ("server-hostname", json!("host.example")),
            ("boot-file-name", json!("host.boot")),
            ("client-classes", json!(["R"])),
        ],
    );
    if random.chance(1, 3) {
        host.insert("option-data".to_owned(), Value::Array(options(random)));
    }
    Value::Object(host)
}

/// Returns the options of each of a client's messages.
fn client_options(random: &mut Random) -> Vec<Value> {
    let requested_options =
        ["01030f060c2a", "010306", "0f7787", "2b420ce0", "3342436c74", "79ff", ""];
    let identifiers = ["01$mac", "ff00000001000100$mac", "00616263$net", "0102$net"];
    let mut options = vec![json!([55, pick(random, &requested_options)])];
    for (chance, code, values) in [
        (2, 61, &identifiers[..]),
        (3, 60, &["6162", "62"][..]),
        (8, 77, &["0178"][..]),
        (6, 57, &["0240", "0600"][..]),
        (10, 51, &["000003e8", "00001388", "00000e10"][..]),
        (12, 116, &["01"][..]),
        (10, 93, &["0007"][..]),
        (12, 80, &[""][..]),
        (15, 118, &["$net.01", "c0000201"][..]),
    ] {
        if random.chance(1, chance) {
            options.push(json!([code, pick(random, values)]));
        }
    }
    if random.chance(1, 3) {
        options.push(json!([12, names::host_name(random)]));
    }
    if random.chance(1, 5) {
        options.push(json!([81, names::full_name(random)]));
    }
    if random.chance(1, 3) {
        let agents = ["01026331", "01026332020172", "0504$net.01", "0b04$net.02", "970100"];
        options.push(json!([82, pick(random, &agents)]));
    }
    options
}

/// Returns a message of one of `clients`, the sequence's message number `at`.
fn step(random: &mut Random, clients: &[Vec<Value>], at: u64) -> Value {
    let client = if at < 2 || random.chance(2, 3) { 0 } else { random.below(CLIENTS) };
    let mut options = clients[client as usize].clone();
    // DHCP message types of RFC 2131 §3.1: mostly the usual exchange.
    let usual: &[u64] = match at {
        0 => &[1],
        1 => &[3],
        _ => &[1, 3, 3, 3],
    };
    let kind =
        if random.chance(4, 5) { *pick(random, usual) } else { *pick(random, &[1, 3, 4, 7]) };
    let mut step = json!({ "client": client + 1, "type": kind });
    let address = if random.chance(5, 6) {
        "$address"
    } else {
        *pick(random, &["$net.0b", "$net.c8", "c0000299"])
    };
    match (kind, random.below(4)) {
        (1, 0) => options.push(json!([50, address])),
        // Selecting (RFC 2131 §4.3.2), sometimes with another server's identifier.
        (3, 0 | 1) => {
            options.push(json!([50, address]));
            options.push(json!([54, if random.chance(9, 10) { "$server" } else { "c0000263" }]));
        }
        // A restarted client.
        (3, 2) => options.push(json!([50, address])),
        (4, _) => {
            options.push(json!([50, address]));
            options.push(json!([54, "$server"]));
        }
        (7, _) => {
            step["ciaddr"] = json!(address);
            options.push(json!([54, "$server"]));
        }
        // Renewal, or INFORM.
        (3 | 8, _) => step["ciaddr"] = json!(address),
        _ => {}
    }
    if random.chance(1, 10) {
        step["flags"] = json!(0x8000);
    }
    if random.chance(1, 20) {
        // A repeated option.
        let type_again = json!([53, format!("{kind:02x}")]);
        let again = options.iter().find(|option| option[0] == 50).unwrap_or(&type_again).clone();
        options.push(again);
    }
    // The agent's option comes last (RFC 3046 §2.1).
    options.sort_by_key(|option| option[0] == json!(82));
    step["options"] = Value::Array(options);
    step
}
