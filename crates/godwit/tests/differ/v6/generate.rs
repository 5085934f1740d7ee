//! Random configurations for DHCPv6.

use base::Random;
use serde_json::{Map, Value, json};

use super::super::choices::{
    CLIENTS, RESTS, add_host, add_lifetimes, add_some, pick, some_options,
};
use super::steps;

/// Returns the common part of all sequences of a batch: the classes, and random globals.
pub(super) fn globals(random: &mut Random) -> Value {
    let mut globals = Map::new();
    globals.insert("valid-lifetime".to_owned(), json!(4000));
    let sources = *pick(random, &["any", "duid", "client-link-addr-option", "ipv6-link-local"]);
    let identifiers = [json!(["hw-address", "duid"]), json!(["hw-address"]), json!(["duid"])];
    let identifiers = pick(random, &identifiers);
    add_some(
        random,
        &mut globals,
        4,
        &[
            ("preferred-lifetime", json!(3000)),
            ("renew-timer", json!(1000)),
            ("rebind-timer", json!(2000)),
            ("calculate-tee-times", json!(false)),
            ("t1-percent", json!(0.25)),
            ("t2-percent", json!(0.75)),
            ("ddns-send-updates", json!(false)),
            ("ddns-qualifying-suffix", json!("example.org")),
            ("ddns-replace-client-name", json!("when-not-present")),
            ("ddns-generated-prefix", json!("made")),
            ("reservations-lookup-first", json!(true)),
            ("relay-supplied-options", json!(["110", "erp-local-domain-name"])),
            ("mac-sources", json!([sources])),
            ("host-reservation-identifiers", json!(identifiers)),
            ("store-extended-info", json!(true)),
        ],
    );
    globals.insert("option-data".to_owned(), Value::Array(options(random)));
    add_bounds(random, &mut globals);
    let tests = [
        ("A", Some("substring(option[15].hex,2,1) == 'a'")),
        ("B", Some("member('A') or option[16].exists")),
        ("C", Some("relay6[0].option[37].exists")),
        ("R", None),
    ];
    let classes = tests.map(|(name, test)| {
        let mut class = Map::new();
        class.insert("name".to_owned(), json!(name));
        if let Some(test) = test {
            class.insert("test".to_owned(), json!(test));
        }
        if random.chance(1, 2) {
            class.insert("option-data".to_owned(), Value::Array(options(random)));
        }
        add_lifetimes(random, &mut class, "valid", 3600);
        add_lifetimes(random, &mut class, "preferred", 1800);
        Value::Object(class)
    });
    globals.insert("client-classes".to_owned(), json!(classes));
    if random.chance(1, 8) {
        globals.insert(RESTS.to_owned(), json!(true));
    }
    Value::Object(globals)
}

/// Adds bounds of the lifetimes that clients may request to some globals.
fn add_bounds(random: &mut Random, globals: &mut Map<String, Value>) {
    if random.chance(1, 4) {
        globals.insert("min-valid-lifetime".to_owned(), json!(1500));
        globals.insert("max-valid-lifetime".to_owned(), json!(8000));
    }
    if random.chance(1, 4) {
        globals.insert("preferred-lifetime".to_owned(), json!(3000));
        globals.insert("min-preferred-lifetime".to_owned(), json!(900));
        globals.insert("max-preferred-lifetime".to_owned(), json!(6000));
    }
}

/// Returns random `option-data`.
fn options(random: &mut Random) -> Vec<Value> {
    let menu = [
        json!({ "name": "dns-servers", "data": "2001:db8:fff1::53, 2001:db8:fff1::54" }),
        json!({ "name": "dns-servers", "data": "2001:db8:fff1::55" }),
        json!({ "name": "domain-search", "data": "a.example, b.example" }),
        json!({ "name": "sntp-servers", "data": "2001:db8:fff1::1", "always-send": true }),
        json!({ "name": "preference", "data": "7" }),
        json!({ "name": "unicast", "data": "2001:db8:fff1::2" }),
        json!({ "name": "sip-server-dns", "data": "sip.example" }),
        json!({ "name": "information-refresh-time", "data": "7200" }),
        json!({ "name": "new-tzdb-timezone", "data": "Europe/Paris" }),
        json!({ "name": "bootfile-url", "data": "tftp://[2001:db8:fff1::3]/boot" }),
        json!({ "name": "erp-local-domain-name", "data": "erp.example" }),
        json!({ "name": "aftr-name", "data": "aftr.example" }),
        json!({ "name": "sntp-servers", "data": "2001:db8:fff1::4", "never-send": true }),
        json!({ "code": 300, "csv-format": false, "data": "CAFE", "always-send": true }),
        json!({ "name": "solmax-rt", "data": "300" }),
        json!({ "name": "vendor-opts", "data": "9" }),
        json!({ "code": 5, "space": "vendor-9", "csv-format": false, "data": "AB" }),
    ];
    some_options(random, &menu)
}

/// Returns a sequence: its scope (a subnet, or a shared network), the levels of its relay agents,
/// and its steps.
pub(super) fn sequence(random: &mut Random) -> Value {
    let scope = if random.chance(1, 4) { network(random) } else { subnet(random, 0, true) };
    let relay = relay(random);
    json!({ "scope": scope, "relay": relay, "steps": steps::steps(random) })
}

/// Returns a sequence on a link of its own: of clients without relay agents, through Lightweight
/// DHCPv6 Relay Agents (RFC 6221), which name no link, or through relay agents that do.
pub(super) fn sequence_on_links(random: &mut Random) -> Value {
    let mut sequence = sequence(random);
    if random.chance(2, 3) {
        // The subnets of a network have to agree, and an interface and its identifier exclude each
        // other.
        let scope = &mut sequence["scope"];
        scope.as_object_mut().map(|members| members.remove("interface-id"));
        match scope.get_mut("subnet6").and_then(Value::as_array_mut) {
            Some(subnets) => {
                subnets.iter_mut().for_each(|subnet| subnet["interface"] = json!("@if"));
            }
            None => scope["interface"] = json!("@if"),
        }
    }
    let is_global = random.chance(1, 4);
    match random.below(4) {
        0 => {}
        1 => sequence["relay"] = json!([]),
        _ => {
            let mut agent = relay(random);
            let link = *pick(random, &["::", "fe80::ff"]);
            for level in agent.as_array_mut().into_iter().flatten() {
                level["link"] = json!(link);
            }
            sequence["relay"] = agent;
        }
    }
    for step in sequence["steps"].as_array_mut().into_iter().flatten() {
        step["global"] = json!(is_global);
    }
    sequence
}

fn network(random: &mut Random) -> Value {
    let mut network = json!({
        "name": "@net", "subnet6": [subnet(random, 0, false), subnet(random, 1, false)],
    });
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
            ("preferred-lifetime", json!(1250)),
            ("renew-timer", json!(700)),
            ("rapid-commit", json!(true)),
            ("reservations-global", json!(true)),
            ("reservations-out-of-pool", json!(true)),
            ("reservations-in-subnet", json!(true)),
            ("interface-id", json!("@net")),
            ("store-extended-info", json!(true)),
        ],
    );
    network
}

/// Returns subnet number `number` of the sequence, which `is_alone` if it is in no network.
fn subnet(random: &mut Random, number: u64, is_alone: bool) -> Value {
    let mut subnet = Map::new();
    subnet.insert("subnet".to_owned(), json!(format!("@:{number}::/64")));
    subnet.insert("pools".to_owned(), pools(random, number));
    if random.chance(2, 3) {
        subnet.insert("pd-pools".to_owned(), pd_pools(random, number));
    }
    if random.chance(1, 2) {
        subnet.insert("option-data".to_owned(), Value::Array(options(random)));
    }
    if random.chance(1, 2) {
        let count = 1 + random.below(2);
        let mut hosts: Vec<Value> =
            (0..count).map(|at| host(random, number, at + 1, at + 1)).collect();
        if random.chance(1, 3) {
            let mut further = host(random, number, 1, CLIENTS);
            if random.chance(1, 2) {
                // The first address of the first pool, which may have only that one.
                further["ip-addresses"] = json!([format!("@:{number}::10")]);
            }
            add_host(&mut hosts, further);
        }
        subnet.insert("reservations".to_owned(), Value::Array(hosts));
    }
    let guard = *pick(random, &["A", "B", "C"]);
    add_some(
        random,
        &mut subnet,
        7,
        &[
            ("renew-timer", json!(500)),
            ("rebind-timer", json!(800)),
            ("calculate-tee-times", json!(true)),
            ("client-class", json!(guard)),
            ("evaluate-additional-classes", json!(["R"])),
            ("ddns-qualifying-suffix", json!("subnet.example")),
            ("store-extended-info", json!(true)),
            ("relay", json!({ "ip-addresses": ["@:f::1"] })),
        ],
    );
    add_lifetimes(random, &mut subnet, "valid", 2000);
    add_lifetimes(random, &mut subnet, "preferred", 1600);
    // The subnets of a network have to agree in the first two. If they differ in the others, Kea
    // takes those of the selected subnet for a client without a lease, later those of the lease's
    // subnet.
    if is_alone {
        let choices = [("rapid-commit", json!(true)), ("interface-id", json!("@net"))];
        add_some(random, &mut subnet, 3, &choices);
        let modes =
            [("reservations-in-subnet", json!(false)), ("reservations-out-of-pool", json!(true))];
        add_some(random, &mut subnet, 7, &modes);
    }
    Value::Object(subnet)
}

/// Adds to one of `count` pools the keys that pools of both kinds may have. With several pools Kea
/// begins at the one that it took from last, even if another one is open to the client, so those
/// pools get no guard.
fn add_pool_terms(random: &mut Random, pool: &mut Map<String, Value>, count: u64) {
    if random.chance(1, 4) {
        pool.insert("option-data".to_owned(), Value::Array(options(random)));
    }
    let guard = *pick(random, &["A", "B", "C", "R", "KNOWN", "UNKNOWN"]);
    let choices = [("client-class", json!(guard)), ("evaluate-additional-classes", json!(["R"]))];
    add_some(random, pool, 6, if count > 1 { &choices[1..] } else { &choices });
}

fn pools(random: &mut Random, number: u64) -> Value {
    let mut pools = Vec::new();
    let mut from = 0x10;
    let count = random.below(3);
    for _ in 0..count {
        // With several pools Kea goes through the last one before it takes released addresses of
        // the first.
        let to = from + if count > 1 { 4 } else { random.below(5) };
        let mut pool = Map::new();
        let text = format!("@:{number}::{from:x} - @:{number}::{to:x}");
        pool.insert("pool".to_owned(), json!(text));
        add_pool_terms(random, &mut pool, count);
        pools.push(Value::Object(pool));
        from = to + 2;
    }
    Value::Array(pools)
}

/// Returns pools of prefixes, with 4 to 16 prefixes each.
fn pd_pools(random: &mut Random, number: u64) -> Value {
    let mut pools = Vec::new();
    let count = 1 + random.below(2);
    for at in 0..count {
        let len = 58 + random.below(3);
        let first = format!("@:{:x}::", 0x8000 + 0x1000 * at + 0x100 * number);
        let mut pool = Map::new();
        pool.insert("prefix".to_owned(), json!(first));
        pool.insert("prefix-len".to_owned(), json!(56 + at));
        pool.insert("delegated-len".to_owned(), json!(len));
        if random.chance(1, 4) {
            pool.insert("excluded-prefix".to_owned(), json!(first));
            pool.insert("excluded-prefix-len".to_owned(), json!(64));
        }
        add_pool_terms(random, &mut pool, count);
        pools.push(Value::Object(pool));
    }
    Value::Array(pools)
}

/// Returns a reservation for client `client`, whose addresses no reservation of another `slot` has.
pub(super) fn host(random: &mut Random, number: u64, client: u64, slot: u64) -> Value {
    let identifiers = [("hw-address", format!("@mac{client}")), ("duid", format!("@duid{client}"))];
    let (kind, value) = pick(random, &identifiers);
    let mut host = Map::new();
    host.insert((*kind).to_owned(), json!(value));
    let address = 0x10 + slot + CLIENTS * random.below(10);
    let prefix = if random.chance(1, 2) { 0x8000 } else { 0xc000 };
    let prefix = prefix + 0x100 * number + 0x40 * slot;
    let len = *pick(random, &[60, 60, 58, 59, 62, 64]);
    add_some(
        random,
        &mut host,
        2,
        &[("ip-addresses", json!([format!("@:{number}::{address:x}")]))],
    );
    add_some(random, &mut host, 3, &[("prefixes", json!([format!("@:{prefix:x}::/{len}")]))]);
    add_some(
        random,
        &mut host,
        4,
        &[("hostname", json!("reserved")), ("client-classes", json!(["R"]))],
    );
    if random.chance(1, 3) {
        host.insert("option-data".to_owned(), Value::Array(options(random)));
    }
    Value::Object(host)
}

/// Returns the levels of one or two relay agents, the one nearest to the client first.
fn relay(random: &mut Random) -> Value {
    let others = ["@:1::1", "@:f::1", "::", "@:e::1"];
    let link = if random.chance(1, 5) { *pick(random, &others) } else { "@:0::1" };
    let mut options = Vec::new();
    for (chance, code, value) in
        [(4, 18, "@id"), (12, 18, "6f74686572"), (4, 37, "00000009.616263"), (8, 53, "0003000161")]
    {
        if random.chance(1, chance) && !options.iter().any(|option: &Value| option[0] == code) {
            options.push(json!([code, value]));
        }
    }
    if random.chance(1, 6) {
        // RFC 6422: an option that a relay agent may supply by default, and two that the
        // configuration has to allow.
        let supplied = ["004100050365727000", "006e0001aa", "00170010$net.00000000000000000077"];
        options.push(json!([66, pick(random, &supplied)]));
    }
    let mut levels = vec![json!({ "link": link, "options": options })];
    if random.chance(1, 3) {
        let links = ["::", "@:0::2", "@:f::1"];
        let mut further = json!({ "link": pick(random, &links), "peer": "@:0::1" });
        let choices = [(3, 18, "@id"), (3, 37, "0000000964")];
        let chosen = choices.into_iter().filter(|(chance, ..)| random.chance(1, *chance));
        let chosen: Vec<Value> = chosen.map(|(_, code, value)| json!([code, value])).collect();
        further["options"] = Value::Array(chosen);
        levels.push(further);
    }
    Value::Array(levels)
}
