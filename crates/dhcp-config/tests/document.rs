//! The document of a configuration: it gives the same configuration again, and shows what Kea shows.

#[allow(dead_code, reason = "each test file uses its own part")]
mod common;

use base::Random;
use common::{accepted, accepted6, folder, parse, parse6, shipped_includes};
use dhcp_config::{Checked, parse_dhcp4, parse_dhcp6, render};
use serde_json::Value;

const CASES: u64 = 3000;

/// Keys of a scope with values to choose from.
type Choices = &'static [(&'static str, &'static [&'static str])];

/// What the global scope, networks and subnets share.
const TERMS: Choices = &[
    ("valid-lifetime", &["4000", "7200", "7201"]),
    ("min-valid-lifetime", &["0", "600"]),
    ("max-valid-lifetime", &["9000", "4294967295"]),
    ("renew-timer", &["0", "100"]),
    ("rebind-timer", &["200", "7200"]),
    ("calculate-tee-times", &["true", "false"]),
    ("t1-percent", &["0.25", "0.5"]),
    ("t2-percent", &["0.75", "0.999"]),
    ("cache-threshold", &["0", "0.5"]),
    ("cache-max-age", &["0", "77"]),
    ("adaptive-lease-time-threshold", &["1", "0.125"]),
    ("allocator", &["\"random\"", "\"flq\"", "\"iterative\""]),
    ("store-extended-info", &["true", "false"]),
    ("reservation-mode", &["\"all\"", "\"global\"", "\"off\"", "\"out-of-pool\""]),
    ("ddns-use-conflict-resolution", &["true", "false"]),
    ("ddns-qualifying-suffix", &["\"\"", "\"x.\""]),
    ("evaluate-additional-classes", &["[ \"c\" ]"]),
    ("require-client-classes", &["[ ]"]),
    ("client-class", &["\"c\"", "\"\""]),
    ("comment", &["\"c\"", "\"\u{e9} \\n \\\\ \u{ef80}\""]),
    (
        "user-context",
        &["{ }", "{ \"comment\": \"\\u00e9\u{ef80}\", \"a\": { \"comment\": [ null, -1.5e3 ] } }"],
    ),
];

const GLOBAL: Choices = &[
    ("decline-probation-period", &["1", "0"]),
    (
        "client-classes",
        &["[ { \"name\": \"c\", \"test\": \"member('ALL')\", \"valid-lifetime\": 5, \
             \"comment\": \"x\" }, { \"name\": \"d\", \"option-data\": [ { \"code\": 250, \
             \"csv-format\": false, \"data\": \"'a'\", \"client-classes\": [ \"c\" ] } ] } ]"],
    ),
    (
        "option-def",
        &["[ { \"name\": \"own\", \"code\": 251, \"type\": \"uint16\", \"array\": true }, \
           { \"name\": \"r\", \"code\": 252, \"type\": \"record\", \
             \"record-types\": \"uint8, string\" } ]"],
    ),
    (
        "reservations",
        &["[ { \"hw-address\": \"01:02:03:04:05:06\", \"hostname\": \"h\", \
             \"option-data\": [ { \"code\": 250, \"csv-format\": false, \"data\": \"01\" } ] }, \
           { \"flex-id\": \"'\\u00e9'\", \"client-classes\": [ \"c\" ], \"comment\": \"z\" } ]"],
    ),
    ("dhcp-ddns", &["{ \"enable-updates\": true, \"server-ip\": \"::1\" }"]),
    ("dhcp4o6-port", &["0", "8000"]),
    ("early-global-reservations-lookup", &["true"]),
    ("expired-leases-processing", &["{ \"max-reclaim-time\": 3 }", "{ }"]),
    ("host-reservation-identifiers", &["[ \"duid\", \"flex-id\" ]", "[ \"auto\" ]"]),
    (
        "hooks-libraries",
        &["[ { \"library\": \"libdhcp_flex_id.so\", \"parameters\": \
        { \"identifier-expression\": \"'a'\" } }, { \"library\": \"libdhcp_ha.so\" } ]"],
    ),
    ("ip-reservations-unique", &["false"]),
    (
        "lease-database",
        &["{ \"type\": \"memfile\", \"persist\": false }", "{ \"type\": \"mysql\" }"],
    ),
    (
        "loggers",
        &["[ { \"name\": \"k\", \"severity\": \"debug\", \"debuglevel\": 9, \
        \"output_options\": [ { \"output\": \"stderr\" }, { \"output\": \"f\", \"maxver\": 3 } ] } ]"],
    ),
    ("sanity-checks", &["{ \"lease-checks\": \"del\" }", "{ \"extended-info-checks\": \"none\" }"]),
    ("server-tag", &["\"\u{ef}\"", "\"t\""]),
    ("statistic-default-sample-count", &["5"]),
    (
        "interfaces-config",
        &["{ \"interfaces\": [ \"eth0\" ], \"service-sockets-max-retries\": 5 }"],
    ),
    (
        "control-socket",
        &[
            "{ \"socket-type\": \"unix\", \"socket-name\": \"s\" }",
            "{ \"socket-type\": \"http\" }",
            "{ \"socket-type\": \"https\", \"trust-anchor\": \"a\", \"cert-file\": \"c\", \"key-file\": \"k\" }",
        ],
    ),
    ("compatibility", &["{ \"lenient-option-parsing\": true }"]),
    ("multi-threading", &["{ \"enable-multi-threading\": false }"]),
];

/// One family's part of the generator.
struct Family {
    top: &'static str,
    subnets: &'static str,
    /// Further keys: global, of networks and subnets, of subnets.
    global: Choices,
    terms: Choices,
    links: Choices,
    subnet: Choices,
    prefix: fn(u64) -> String,
    pool: fn(u64) -> String,
}

const FAMILY4: Family = Family {
    top: "Dhcp4",
    subnets: "subnet4",
    global: &[
        ("stash-agent-options", &["true"]),
        ("echo-client-id", &["false"]),
        ("authoritative", &["true"]),
        ("server-id", &[]),
    ],
    terms: &[
        ("offer-lifetime", &["0", "60"]),
        ("match-client-id", &["false"]),
        ("next-server", &["\"192.0.2.1\"", "\"\""]),
        ("boot-file-name", &["\"\u{e9}\"", "\"b\""]),
        (
            "option-data",
            &[
                "[ { \"name\": \"routers\", \"data\": \"192.0.2.1\", \"always-send\": true } ]",
                "[ { \"code\": 6, \"data\": \"192.0.2.1, 192.0.2.2\" }, { \"code\": 250, \
             \"csv-format\": false, \"data\": \"0102\", \"never-send\": true } ]",
            ],
        ),
    ],
    links: &[(
        "relay",
        &[
            "{ \"ip-address\": \"192.0.2.9\" }",
            "{ \"ip-addresses\": [ ] }",
            "{ \"ip-address\": \"\" }",
        ],
    )],
    subnet: &[
        ("4o6-subnet", &["\"2001:db8::/32\"", "\"\""]),
        ("4o6-interface-id", &["\"\\u00e9\""]),
    ],
    prefix: |n| format!("10.{}.{}.{}/24", n / 256, n % 256, n % 3),
    pool: |n| {
        format!(
            "10.{0}.{1}.0/26\" }}, {{ \"pool\": \"10.{0}.{1}.200-10.{0}.{1}.210",
            n / 256,
            n % 256
        )
    },
};

const FAMILY6: Family = Family {
    top: "Dhcp6",
    subnets: "subnet6",
    global: &[
        ("allow-address-registration", &["false"]),
        ("mac-sources", &["[ \"duid\", \"any\" ]"]),
        ("relay-supplied-options", &["[ \"100\" ]", "[ ]"]),
        ("server-id", &["{ \"type\": \"EN\", \"enterprise-id\": 9 }", "{ \"type\": \"LL\" }"]),
    ],
    terms: &[
        ("preferred-lifetime", &["0", "3000", "8000"]),
        ("min-preferred-lifetime", &["0"]),
        ("max-preferred-lifetime", &["8500"]),
        ("pd-allocator", &["\"random\""]),
        ("option-data", &["[ { \"name\": \"dns-servers\", \"data\": \"2001:db8::1\" } ]"]),
    ],
    links: &[
        ("relay", &["{ \"ip-address\": \"2001:db8::9\" }", "{ }"]),
        ("interface-id", &["\"\\u00fe\\u0001\"", "\"\"", "\"i\""]),
    ],
    subnet: &[("pd-pools", &["[ ]"])],
    prefix: |n| format!("2001:db8:{n:x}::{:x}/64", n % 3),
    pool: |n| format!("2001:db8:{n:x}::/80"),
};

/// Some keys of each list, in any order, as the inside of a map.
fn some(random: &mut Random, lists: &[Choices], rare: u64) -> Vec<String> {
    let mut keys = Vec::new();
    for (key, values) in lists.iter().copied().flatten() {
        if random.chance(1, rare)
            && let Some(value) = random.pick(values)
        {
            keys.push(format!("\"{key}\": {value}"));
        }
    }
    keys
}

fn subnets(random: &mut Random, family: &Family, first: u64) -> String {
    let subnets = (first..first + random.below(4)).map(|n| {
        let mut keys = some(random, &[TERMS, family.terms, family.links, family.subnet], 8);
        keys.push(format!("\"subnet\": \"{}\"", (family.prefix)(n)));
        if random.chance(3, 4) {
            keys.push(format!("\"id\": {}", 100 + n));
        }
        if random.chance(1, 2) {
            keys.push(format!(
                "\"pools\": [ {{ \"comment\": \"p\", \"pool\": \"{}\" }} ]",
                (family.pool)(n)
            ));
        }
        format!("{{ {} }}", keys.join(", "))
    });
    format!("\"{}\": [ {} ]", family.subnets, subnets.collect::<Vec<_>>().join(", "))
}

fn configuration(random: &mut Random, family: &Family) -> String {
    let mut keys = some(random, &[TERMS, GLOBAL, family.global, family.terms], 6);
    keys.push(subnets(random, family, 0));
    let networks = (1..=random.below(3)).map(|n| {
        let mut keys = some(random, &[TERMS, family.terms, family.links], 8);
        keys.push(format!("\"name\": \"n{n}\""));
        keys.push(subnets(random, family, n * 10));
        format!("{{ {} }}", keys.join(", "))
    });
    keys.push(format!("\"shared-networks\": [ {} ]", networks.collect::<Vec<_>>().join(", ")));
    format!("{{ \"{}\": {{ {} }} }}", family.top, keys.join(",\n"))
}

/// Checks that a configuration survives its document; returns the document.
fn survives<T: PartialEq + core::fmt::Debug>(
    text: &str,
    checked: &Checked<T>,
    again: fn(&str) -> Checked<T>,
) -> Value {
    let document = checked.document.to_json();
    let rendered = render(&document);
    let back = again(&rendered);
    assert_eq!(back.config, checked.config, "{text}\nbecame\n{rendered}");
    // What is complete stays as it is.
    assert_eq!(back.document.to_json(), document, "{text}");
    document
}

fn generated<T: PartialEq + core::fmt::Debug>(
    family: &Family,
    parse: fn(&str) -> Option<Checked<T>>,
    again: fn(&str) -> Checked<T>,
) {
    let lists = [TERMS, GLOBAL, family.global, family.terms, family.links, family.subnet];
    let pairs = lists
        .into_iter()
        .flatten()
        .flat_map(|(key, values)| values.iter().map(move |value| format!("\"{key}\": {value}")));
    let mut unseen: Vec<String> = pairs.collect();
    let mut accepted = 0;
    for seed in 0..CASES {
        let text = configuration(&mut Random::from_seed(seed), family);
        if let Some(checked) = parse(&text) {
            survives(&text, &checked, again);
            unseen.retain(|pair| !text.contains(pair));
            accepted += 1;
        }
    }
    // Each choice is part of some accepted text, or its key is not tested.
    assert_eq!(unseen, [""; 0]);
    assert!(accepted > CASES / 4, "{accepted} of {CASES} are accepted");
}

#[test]
fn generated_configurations_survive_their_documents() {
    generated(&FAMILY4, |text| parse(text).ok(), accepted);
}

#[test]
fn generated_configurations_of_dhcpv6_survive_their_documents() {
    generated(&FAMILY6, |text| parse6(text).ok(), accepted6);
}

#[test]
fn shipped_configurations_survive_their_documents() {
    for (name, text) in folder("accepted") {
        let checked = parse_dhcp4(&name, &text, &mut shipped_includes()).expect("it is accepted");
        survives(&name, &checked, accepted);
    }
    for (name, text) in folder("accepted6") {
        let checked = parse_dhcp6(&name, &text, &mut shipped_includes()).expect("it is accepted");
        survives(&name, &checked, accepted6);
    }
}

/// Where `ours` lacks what `theirs` has, or says something else.
fn differences(path: &str, theirs: &Value, ours: Option<&Value>, found: &mut Vec<String>) {
    match (theirs, ours) {
        (Value::Object(theirs), Some(Value::Object(ours))) => {
            for (key, value) in theirs {
                differences(&format!("{path}/{key}"), value, ours.get(key), found);
            }
        }
        (Value::Array(theirs), Some(Value::Array(ours))) if theirs.len() == ours.len() => {
            for (index, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
                differences(&format!("{path}/{index}"), theirs, Some(ours), found);
            }
        }
        (theirs, ours) if Some(theirs) != ours => {
            let ours = ours.map_or_else(|| "absent".to_owned(), Value::to_string);
            found.push(format!("{path}: {theirs}, here {ours}"));
        }
        _ => {}
    }
}

/// The differences from what Kea 2.2.0 answered to `config-get`.
fn differences_from_kea(document: &Value, answer: &str) -> Vec<String> {
    let mut found = Vec::new();
    let theirs = serde_json::from_str(answer).expect("Kea answers in JSON");
    differences("", &theirs, Some(document), &mut found);
    found
}

#[test]
fn a_document_has_what_kea_shows() {
    let checked = accepted(include_str!("data/config-get/dhcp4.conf"));
    let document = checked.document.to_json();
    let found = differences_from_kea(&document, include_str!("data/config-get/dhcp4.json"));
    // Kea 3 has other keys for two of these and other defaults for two more. The type of an option
    // decides what `csv-format` is when it is not given, so it is not given.
    let expected = [
        r#"/Dhcp4/control-socket: {"socket-name":"/run/kea/s4","socket-type":"unix"}, here absent"#,
        "/Dhcp4/ddns-use-conflict-resolution: true, here absent",
        "/Dhcp4/interfaces-config/re-detect: false, here true",
        "/Dhcp4/multi-threading/enable-multi-threading: false, here true",
        "/Dhcp4/option-data/0/code: 6, here absent",
        "/Dhcp4/option-data/0/csv-format: true, here absent",
        "/Dhcp4/shared-networks/0/min-valid-lifetime: 4000, here absent",
        "/Dhcp4/subnet4/0/pools/0/option-data/0/csv-format: true, here absent",
        "/Dhcp4/subnet4/0/pools/0/option-data/0/name: \"routers\", here absent",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_document_of_dhcpv6_has_what_kea_shows() {
    let checked = accepted6(include_str!("data/config-get/dhcp6.conf"));
    let document = checked.document.to_json();
    let found = differences_from_kea(&document, include_str!("data/config-get/dhcp6.json"));
    let expected = [
        r#"/Dhcp6/control-socket: {"socket-name":"/run/kea/s6","socket-type":"unix"}, here absent"#,
        "/Dhcp6/ddns-use-conflict-resolution: true, here absent",
        "/Dhcp6/interfaces-config/re-detect: false, here true",
        "/Dhcp6/multi-threading/enable-multi-threading: false, here true",
        "/Dhcp6/shared-networks/0/max-preferred-lifetime: 3000, here absent",
        "/Dhcp6/shared-networks/0/max-valid-lifetime: 7200, here absent",
        "/Dhcp6/shared-networks/0/min-preferred-lifetime: 3000, here absent",
        "/Dhcp6/shared-networks/0/min-valid-lifetime: 7200, here absent",
    ];
    assert_eq!(found, expected);
}
