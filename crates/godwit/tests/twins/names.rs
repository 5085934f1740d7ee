//! Twins about the names of clients, made from tables: each kind of client is served in a subnet
//! for each kind of settings, and replies and name change requests are those of Kea 3.

use scenario::ComparisonScenario;

use super::NamedTwin;

/// Settings of subnets that decide about names, each for a subnet of its own.
const SETTINGS: [&str; 18] = [
    "",
    r#""ddns-override-client-update": true"#,
    r#""ddns-override-no-update": true"#,
    r#""ddns-override-client-update": true, "ddns-override-no-update": true"#,
    r#""ddns-replace-client-name": "always""#,
    r#""ddns-replace-client-name": "when-present", "ddns-generated-prefix": "host""#,
    r#""ddns-replace-client-name": "when-not-present", "ddns-generated-prefix": "n""#,
    r#""ddns-replace-client-name": "always", "ddns-override-no-update": true"#,
    r#""ddns-send-updates": false, "ddns-override-no-update": true"#,
    r#""ddns-send-updates": false, "ddns-replace-client-name": "always""#,
    r#""ddns-qualifying-suffix": "Sub.Example.", "ddns-ttl": 77"#,
    r#""ddns-qualifying-suffix": "", "ddns-ttl-percent": 0.5"#,
    r#""ddns-conflict-resolution-mode": "no-check-with-dhcid", "ddns-ttl-min": 2000"#,
    r#""ddns-conflict-resolution-mode": "check-exists-with-dhcid", "ddns-ttl-max": 1000"#,
    r#""ddns-conflict-resolution-mode": "no-check-without-dhcid",
       "ddns-ttl-percent": 0.1, "ddns-ttl-min": 5, "ddns-ttl-max": 300"#,
    r#""ddns-use-conflict-resolution": false, "hostname-char-set": """#,
    r#""ddns-update-on-renew": true, "hostname-char-replacement": "x""#,
    r#""hostname-char-set": "[a-m]", "hostname-char-replacement": "0""#,
];

/// Options with names of DHCPv4 clients, each for a client of its own: flags of option 81 without a
/// form and with labels, names that are partial, complete, empty and unusual, and option 12.
const CLIENTS_4: [&str; 24] = [
    r#"81 = "hex:00 00 00 41 6d""#,
    r#"81 = "hex:01 00 00 41 6d""#,
    r#"81 = "hex:08 00 00 41 6d""#,
    r#"81 = "hex:04 00 00 02 61 6d""#,
    r#"81 = "hex:05 00 00 02 61 6d""#,
    r#"81 = "hex:0c 00 00 02 61 6d""#,
    r#"81 = "hex:04 00 00 01 61 01 5a 00""#,
    r#"81 = "hex:05 00 00 01 61 01 5a 00""#,
    r#"81 = "hex:0c 00 00 01 61 01 5a 00""#,
    r#"81 = "hex:01 00 00 61 2e 62 2e""#,
    r#"81 = "hex:04 00 00""#,
    r#"81 = "hex:05 00 00""#,
    r#"81 = "hex:0c 00 00""#,
    r#"81 = "hex:05 00 00 00""#,
    r#"81 = "hex:07 01 02 02 61 6d""#,
    r#"81 = "hex:f5 ff ff 02 61 6d""#,
    r#"81 = "hex:05 00 00 04 61 20 5f 62""#,
    r#"81 = "hex:05 00 00 02 61 6d", 12 = "text:other""#,
    r#"12 = "text:Am""#,
    r#"12 = "text:a.Mb.c""#,
    r#"12 = "text:a b_c""#,
    r#"12 = "text:.""#,
    r#"12 = "text:m.""#,
    r#"60 = "text:x""#,
];

/// Options with names of DHCPv6 clients, as [`CLIENTS_4`].
const CLIENTS_6: [&str; 14] = [
    r#"39 = "hex:00 02 41 6d""#,
    r#"39 = "hex:01 02 41 6d""#,
    r#"39 = "hex:04 02 41 6d""#,
    r#"39 = "hex:00 01 61 01 5a 00""#,
    r#"39 = "hex:01 01 61 01 5a 00""#,
    r#"39 = "hex:04 01 61 01 5a 00""#,
    r#"39 = "hex:00""#,
    r#"39 = "hex:01""#,
    r#"39 = "hex:04""#,
    r#"39 = "hex:03 02 61 6d""#,
    r#"39 = "hex:f9 02 61 6d""#,
    r#"39 = "hex:01 04 61 20 5f 62""#,
    r#"39 = "hex:01 00""#,
    r#"16 = "hex:00 00 00 09 00 01 78""#,
];

/// Beginning of the name of the last client.
const LAST: &str = "zz-last";

const TIMES: &str = r#""valid-lifetime": 4000, "renew-timer": 900, "rebind-timer": 1800"#;

/// Returns a configuration with a subnet for each of [`SETTINGS`]; `subnet` is the subnet with a
/// number, without the settings.
fn config(family: char, further: &str, subnet: impl Fn(usize) -> String) -> String {
    let subnets = (1..).zip(SETTINGS).map(|(number, settings)| {
        let comma = if settings.is_empty() { "" } else { ", " };
        format!("{{ \"id\": {number}, {}{comma}{settings} }}", subnet(number))
    });
    let subnets: Vec<String> = subnets.collect();
    format!(
        "{TIMES}, \"cache-threshold\": 0.0, {further}\n\
         \"dhcp-ddns\": {{ \"enable-updates\": true, \"server-port\": @requests@ }},\n\
         \"ddns-qualifying-suffix\": \"example.org\",\n\
         \"subnet{family}\": [ {} ]",
        subnets.join(",\n")
    )
}

/// Settings of a configuration, a shared network, one of its subnets and that one's pool, all
/// different from each other.
const SCOPES: [[&str; 4]; 5] = [
    [
        r#""ddns-override-client-update": true, "ddns-ttl": 70"#,
        r#""ddns-override-client-update": false, "ddns-ttl": 71"#,
        r#""ddns-override-client-update": true, "ddns-ttl": 72"#,
        r#""ddns-override-client-update": false, "ddns-ttl": 73"#,
    ],
    [
        r#""ddns-override-no-update": true, "ddns-ttl-percent": 0.5"#,
        r#""ddns-override-no-update": false, "ddns-ttl-percent": 0.6"#,
        r#""ddns-override-no-update": true, "ddns-ttl-percent": 0.7"#,
        r#""ddns-override-no-update": false, "ddns-ttl-percent": 0.8"#,
    ],
    [
        r#""ddns-send-updates": false, "ddns-ttl-min": 3000"#,
        r#""ddns-send-updates": true, "ddns-ttl-min": 3001"#,
        r#""ddns-send-updates": false, "ddns-ttl-min": 3002"#,
        r#""ddns-send-updates": true, "ddns-ttl-min": 3003"#,
    ],
    [
        r#""ddns-update-on-renew": true, "ddns-ttl-max": 700,
           "ddns-conflict-resolution-mode": "check-exists-with-dhcid""#,
        r#""ddns-update-on-renew": false, "ddns-ttl-max": 701,
           "ddns-conflict-resolution-mode": "no-check-with-dhcid""#,
        r#""ddns-update-on-renew": true, "ddns-ttl-max": 702,
           "ddns-conflict-resolution-mode": "no-check-without-dhcid""#,
        r#""ddns-update-on-renew": false, "ddns-ttl-max": 703,
           "ddns-conflict-resolution-mode": "check-with-dhcid""#,
    ],
    [
        r#""ddns-use-conflict-resolution": false"#,
        r#""ddns-use-conflict-resolution": true"#,
        r#""ddns-use-conflict-resolution": false"#,
        // Kea does not take it in a pool.
        "",
    ],
];

/// Returns the twin of the `number`th of [`SCOPES`]: four subnets, of which the first has the
/// settings of the configuration, the second also those of its network, and so on.
fn scope_twin(family: char, number: usize) -> NamedTwin {
    let [global, network, subnet, pool] = SCOPES[number];
    let is_v4 = family == '4';
    let address = |at: usize, host: &str| {
        if is_v4 { format!("10.0.{at}.{host}") } else { format!("2001:db8:{at}::{host}") }
    };
    let in_subnet = |at: usize, own: &str, of_pool: &str| {
        let comma = |text: &str| if text.is_empty() { "" } else { ", " };
        let length = if is_v4 { 24 } else { 64 };
        let base = if is_v4 { address(at, "0") } else { address(at, "") };
        let (first, last) = (address(at, "10"), address(at, "99"));
        format!(
            "{{ \"id\": {at}, \"subnet\": \"{base}/{length}\"{}{own}, \"pools\": [ {{ \
             \"pool\": \"{first} - {last}\"{}{of_pool} }} ] }}",
            comma(own),
            comma(of_pool)
        )
    };
    let in_network = |at: usize, own: &str, of_pool: &str| {
        let subnet = in_subnet(at, own, of_pool);
        format!("{{ \"name\": \"n{at}\", {network}, \"subnet{family}\": [ {subnet} ] }}")
    };
    let networks =
        [in_network(2, "", ""), in_network(3, subnet, ""), in_network(4, subnet, pool)].join(",\n");
    let config = format!(
        "{TIMES}, \"cache-threshold\": 0.0, {global},\n\
         \"dhcp-ddns\": {{ \"enable-updates\": true, \"server-port\": @requests@ }},\n\
         \"ddns-qualifying-suffix\": \"example.org\",\n\
         \"shared-networks\": [ {networks} ],\n\"subnet{family}\": [ {} ]",
        in_subnet(1, "", "")
    );
    let config = if is_v4 { config } else { config + ", \"preferred-lifetime\": 3000" };
    let mut steps = String::new();
    for subnet in 1..=4 {
        for at in 0..3 {
            let client = subnet * 100 + at;
            if is_v4 {
                steps += &lease_4(subnet, client, CLIENTS_4[at]);
                steps += &renewal_4(subnet, client, CLIENTS_4[at]);
            } else {
                let host = format!("2{at}");
                steps += &lease_6(subnet, client, &host, CLIENTS_6[at], &[CLIENTS_6[at]]);
            }
        }
    }
    // In the second subnet, all scopes have the names of clients requested.
    steps += &if is_v4 { last_steps_4(2) } else { last_steps_6(2) };
    let family = format!("v{family}");
    NamedTwin {
        name: format!("{family}/generated/scopes-{number}"),
        ..twin(&family, &config, &steps)
    }
}

fn twin(family: &str, config: &str, steps: &str) -> NamedTwin {
    let text = format!(
        "title = \"Names of clients and name change requests\"\nfamily = \"{family}\"\n\
         look = [\"names\", \"requests\"]\nrequested = \"{LAST}\"\nconfig = '''\n{config}\n'''\n\
         {steps}"
    );
    let mut comparison = ComparisonScenario::parse(&text).unwrap_or_else(|error| panic!("{error}"));
    comparison.look_from = comparison.steps.len();
    NamedTwin { name: format!("{family}/generated/names"), comparison, engine: None }
}

/// Returns the steps of a DHCPv4 client that gets a lease in the subnet `subnet`.
fn lease_4(subnet: usize, client: usize, options: &str) -> String {
    let head = format!("client = {client}\nrelay = \"10.0.{subnet}.1\"");
    format!(
        "[[step]]\nsend = \"DISCOVER\"\n{head}\noptions = {{ {options} }}\nget = \"OFFER\"\n\
         [[step]]\nsend = \"REQUEST\"\n{head}\n\
         options = {{ 50 = \"ip:$yiaddr\", 54 = \"ip:$server\", {options} }}\nget = \"ACK\"\n"
    )
}

/// Returns the step of a DHCPv4 client that renews its lease, with other options.
fn renewal_4(subnet: usize, client: usize, options: &str) -> String {
    format!(
        "[[step]]\nsend = \"REQUEST\"\nclient = {client}\nrelay = \"10.0.{subnet}.1\"\n\
         with = {{ ciaddr = \"$yiaddr\" }}\noptions = {{ {options} }}\nget = \"ACK\"\n"
    )
}

fn steps_4() -> String {
    let mut steps = String::new();
    for subnet in 1..=SETTINGS.len() {
        for (at, options) in CLIENTS_4.into_iter().enumerate() {
            let client = subnet * 100 + at;
            steps += &lease_4(subnet, client, options);
            if at % 4 == 1 {
                steps += &renewal_4(subnet, client, options);
                steps += &renewal_4(subnet, client, r#"12 = "text:changed""#);
                steps += &renewal_4(subnet, client, r#"60 = "text:x""#);
                steps += &renewal_4(subnet, client, options);
            }
        }
    }
    steps + &last_steps_4(1)
}

/// Returns the steps of the last DHCPv4 client, in the subnet `subnet`.
fn last_steps_4(subnet: usize) -> String {
    lease_4(subnet, 99, &format!("12 = \"text:{LAST}\""))
}

/// Returns the steps of a DHCPv6 client that gets a lease in the subnet `subnet`, and renews it.
fn lease_6(subnet: usize, client: usize, host: &str, options: &str, renewals: &[&str]) -> String {
    let head = format!("client = {client}\nrelay = \"2001:db8:{subnet:x}::1\"");
    let address = format!("2001:db8:{subnet:x}::{host}");
    let step = |send: &str, get: &str, options: &str| {
        format!(
            "[[step]]\nsend = \"{send}\"\n{head}\nna = {{ 1 = [\"{address}\"] }}\n\
             options = {{ {options} }}\nget = \"{get}\"\n"
        )
    };
    let renewals = renewals.iter().map(|options| step("RENEW", "REPLY", options));
    step("SOLICIT", "ADVERTISE", options)
        + &step("REQUEST", "REPLY", options)
        + &renewals.collect::<String>()
}

fn steps_6() -> String {
    let mut steps = String::new();
    for subnet in 1..=SETTINGS.len() {
        for (at, options) in CLIENTS_6.into_iter().enumerate() {
            let changed = r#"39 = "hex:01 07 63 68 61 6e 67 65 64""#;
            let renewals = [options, changed, options];
            // Without a name in the renewal, Kea leaves the records where they are.
            let renews = at % 4 == 1 && at < 12;
            let renewals = if renews { &renewals[..] } else { &[] };
            let client = subnet * 100 + at;
            steps += &lease_6(subnet, client, &format!("{client:x}"), options, renewals);
        }
    }
    steps + &last_steps_6(1)
}

/// Returns the steps of the last DHCPv6 client, in the subnet `subnet`.
fn last_steps_6(subnet: usize) -> String {
    let name: Vec<String> = LAST.bytes().map(|octet| format!("{octet:02x}")).collect();
    let option = format!("39 = \"hex:01 {:02x} {}\"", LAST.len(), name.join(" "));
    lease_6(subnet, 99, "63", &option, &[])
}

/// Returns the twins.
pub(super) fn twins() -> Vec<NamedTwin> {
    let subnet_4 = |number| {
        format!(
            "\"subnet\": \"10.0.{number}.0/24\", \
             \"pools\": [ {{ \"pool\": \"10.0.{number}.10 - 10.0.{number}.200\" }} ]"
        )
    };
    let subnet_6 = |number| {
        format!(
            "\"subnet\": \"2001:db8:{number:x}::/64\", \
             \"pools\": [ {{ \"pool\": \"2001:db8:{number:x}::/64\" }} ]"
        )
    };
    let scopes = ['4', '6']
        .into_iter()
        .flat_map(|family| (0..SCOPES.len()).map(move |number| scope_twin(family, number)));
    let mut twins: Vec<NamedTwin> = scopes.collect();
    twins.push(twin("v4", &config('4', "", subnet_4), &steps_4()));
    let preferred = r#""preferred-lifetime": 3000,"#;
    twins.push(twin("v6", &config('6', preferred, subnet_6), &steps_6()));
    twins
}
