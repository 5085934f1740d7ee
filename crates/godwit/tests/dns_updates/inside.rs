//! Updater inside the DHCPv4 server: the zones equal the leases, with a DNS server that comes and
//! goes, and with a server that is killed at any moment.

use std::collections::BTreeSet;
use std::fs;
use std::net::Ipv4Addr;

use base::Random;
use dhcp_wire::v4::Message;
use ncr::{ConflictMode, Dhcid, NameChangeKind, NameChangeRequest, UpdateName};
use scenario::{ScenarioFamily, ScenarioServer};
use serde_json::{Value, json};

use super::life::records_of;
use super::sender::{CLIENTS, ZONES, message};
use super::servers::{DnsServerProcess, KEYS};
use crate::common::{PATIENCE, TempFolder, free_port, require, waited_until};
use crate::subjects::process::{Daemon, ServerMake, Setup};

/// Kills of the server, unless the environment variable `GODWIT_CRASH_MOMENTS` has another number.
const KILLS: u64 = 8;
/// Maximum number of messages between two kills.
const MESSAGES_MAX: u64 = 40;

/// Server with an updater inside, its DNS server, and its clients.
struct NamedClients {
    dns: DnsServerProcess,
    server: Daemon,
    /// Folder of the DNS server and of the key's secret.
    _folder: TempFolder,
    /// Identifier of the last message.
    xid: u32,
}

impl NamedClients {
    /// Starts a server whose updater uses a DNS server that does not run yet.
    fn start(label: &str) -> Self {
        let folder = TempFolder::new(label);
        let dns = DnsServerProcess::bind(&folder, free_port(), &ZONES);
        let key = KEYS.iter().find(|key| key.name == "sha256").expect("the key is in the list");
        let secret = folder.path().join("secret");
        fs::write(&secret, key.secret).expect("the folder is ours");
        let server = json!({ "ip-address": "127.0.0.1", "port": dns.port });
        let domain = |zone: usize| {
            json!({ "ddns-domains": [ { "name": ZONES[zone].name, "key-name": key.name,
                                        "dns-servers": [ server ] } ] })
        };
        let ddns = json!({
            "dns-server-timeout": 200,
            "tsig-keys": [ { "name": key.name, "algorithm": key.algorithm,
                             "secret-file": secret } ],
            "forward-ddns": domain(0), "reverse-ddns": domain(1),
        });
        let config = format!(
            r#""valid-lifetime": 4000, "ddns-qualifying-suffix": "example.",
               "expired-leases-processing": {{ "hold-reclaimed-time": 0 }},
               "hooks-libraries": [ {{ "library": "libdhcp_lease_cmds.so" }} ],
               "dhcp-ddns": {{ "enable-updates": true }},
               "user-context": {{ "godwit": {{ "ddns": {ddns} }} }},
               "subnet4": [ {{ "id": 1, "subnet": "10.1.0.0/16",
                               "pools": [ {{ "pool": "10.1.1.0 - 10.1.1.250" }} ] }} ]"#
        );
        let family = ScenarioFamily::V4;
        let setup =
            Setup { family, config: &config, has_commands: true, persists: true, link: None };
        let server = Daemon::start(ServerMake::Godwit, setup, 0, PATIENCE)
            .unwrap_or_else(|why| panic!("the server does not start: {why}"));
        Self { dns, server, _folder: folder, xid: 0 }
    }

    /// Returns the next message of `client`: a REQUEST with the name `name` and its number, or a
    /// RELEASE.
    fn message(&mut self, name: Option<&str>, client: u8) -> Vec<u8> {
        self.xid += 1;
        let mut message = message(name, client);
        message[4..8].copy_from_slice(&self.xid.to_be_bytes());
        message
    }

    /// Sends `messages` and waits for the reply to `last`.
    fn send(&self, messages: &[Vec<u8>], last: &[u8]) {
        let xid = Message::parse(last).expect("it is ours").xid();
        let is_last = |reply: &[u8]| Message::parse(reply).is_ok_and(|reply| reply.xid() == xid);
        self.server.exchange_all(messages, last, &is_last).expect("a reply");
    }

    fn command(&mut self, command: &Value) -> Value {
        let answer = self.server.command(&command.to_string()).expect("it takes commands");
        serde_json::from_str(&answer).expect("an answer is JSON")
    }

    /// Returns the records that the zone `zone` must hold for the leases.
    fn expected(&mut self, zone: &str) -> BTreeSet<String> {
        let answer = self.command(&json!({ "command": "lease4-get-all" }));
        let leases = answer["arguments"]["leases"].as_array().cloned().unwrap_or_default();
        let records = leases.iter().filter_map(addition_of).flat_map(|one| records_of(&one));
        records.filter(|line| line.split(' ').next().is_some_and(|n| n.ends_with(zone))).collect()
    }

    /// Waits until the zones are those of the leases.
    fn expect_zones(&mut self, about: &str) {
        for zone in ZONES {
            let mut both = (BTreeSet::new(), BTreeSet::new());
            let are_equal = waited_until(|| {
                both = (self.dns.records(zone.name), self.expected(zone.name));
                both.0 == both.1
            });
            let missing: Vec<_> = both.1.difference(&both.0).collect();
            let foreign: Vec<_> = both.0.difference(&both.1).collect();
            let log = self.server.log();
            assert!(are_equal, "{about}: missing {missing:#?}, foreign {foreign:#?}\n{log}");
        }
    }
}

/// Returns the request that adds the name of a lease, as `lease4-get-all` shows it.
fn addition_of(lease: &Value) -> Option<NameChangeRequest> {
    let text = |key: &str| lease[key].as_str().unwrap_or_default().to_owned();
    // A lease that was released has its name until it is reclaimed.
    let is_running = matches!(lease["state"].as_u64(), Some(0 | 3));
    let is_named = is_running && lease["fqdn-fwd"] == true && !text("hostname").is_empty();
    let name = UpdateName::from_text(&text("hostname")).filter(|_| is_named)?;
    let address: Ipv4Addr = text("ip-address").parse().expect("a lease has an address");
    let hardware = [2, 0, 0, 0, 0, address.octets()[3]];
    Some(NameChangeRequest {
        kind: NameChangeKind::Add,
        forward: true,
        reverse: true,
        dhcid: Dhcid::from_hardware(1, &hardware, &name)?,
        name,
        address: address.into(),
        ttl_s: 1_333,
        conflict_mode: ConflictMode::CheckWithDhcid,
    })
}

#[test]
fn a_server_with_an_updater_inside_keeps_the_names_itself() {
    if !require(&["named"]) {
        return;
    }
    let mut world = NamedClients::start("ddns-inside");
    // Leases do not wait for the DNS server, which does not run yet.
    let requests: Vec<_> =
        (1..=CLIENTS).map(|client| world.message(Some("host"), client)).collect();
    let (last, others) = requests.split_last().expect("there are clients");
    world.send(others, last);
    world.dns.start();
    world.expect_zones("after the start of the DNS server");
    assert_eq!(world.dns.records(ZONES[0].name).len(), 2 * usize::from(CLIENTS));
    // Other names, the ends of leases by a RELEASE, and by a command that says nothing of DNS.
    for client in 1..=10 {
        let request = world.message(Some("other"), client);
        world.send(&[], &request);
    }
    let releases: Vec<_> = (11..=20).map(|client| world.message(None, client)).collect();
    let again = world.message(Some("host"), 40);
    world.send(&releases, &again);
    let delete = json!({ "command": "lease4-del", "arguments": { "ip-address": "10.1.1.21" } });
    assert_eq!(world.command(&delete)["result"], 0);
    world.expect_zones("after changes");
    let left = 2 * (usize::from(CLIENTS) - 11);
    assert!(waited_until(|| world.dns.records(ZONES[1].name).len() == left));
    // The updater goes on with the configuration as it is shown, and with another timeout.
    let mut shown = world.command(&json!({ "command": "config-get" }))["arguments"].take();
    shown.as_object_mut().expect("it is a map").remove("hash");
    shown["Dhcp4"]["user-context"]["godwit"]["ddns"]["dns-server-timeout"] = json!(300);
    let set = world.command(&json!({ "command": "config-set", "arguments": shown }));
    assert_eq!(set["result"], 0, "{set}");
    let request = world.message(Some("last"), 30);
    world.send(&[], &request);
    world.expect_zones("after another configuration");
    world.server.end().expect("it ends");
}

#[test]
fn a_server_that_is_killed_has_the_names_of_its_leases_in_the_end() {
    if !require(&["named"]) {
        return;
    }
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let kills = number("GODWIT_CRASH_MOMENTS").unwrap_or(KILLS);
    let seed = number("GODWIT_CRASH_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let repeat = format!(
        "repeat: GODWIT_CRASH_SEED={seed} GODWIT_CRASH_MOMENTS={kills} cargo test -p godwit --test \
         main a_server_that_is_killed_has_the_names"
    );
    let mut random = Random::from_seed(seed);
    let mut world = NamedClients::start("ddns-inside-kill");
    world.dns.start();
    for kill in 0..kills {
        let count = 1 + random.below(MESSAGES_MAX);
        let messages: Vec<_> = (0..count)
            .map(|_| {
                let client = 1 + random.below(u64::from(CLIENTS)) as u8;
                let name = format!("n{}", random.below(3));
                let is_release = random.chance(1, 4);
                world.message((!is_release).then_some(name.as_str()), client)
            })
            .collect();
        // The server is killed when it has answered one of the messages, with others under way.
        let name = format!("k{kill}");
        let answered = world.message(Some(&name), CLIENTS + 1);
        let before = random.below(count + 1) as usize;
        world.send(&messages[..before], &answered);
        let [port, _] = world.server.ports();
        let socket = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        for message in &messages[before..] {
            socket.send_to(message, (Ipv4Addr::LOCALHOST, port)).expect("loopback sends");
        }
        let has_dns_outage = random.chance(1, 3);
        if has_dns_outage && random.chance(1, 2) {
            world.dns.kill();
        }
        world.server.kill();
        if has_dns_outage {
            world.dns.kill();
        }
        world.server.restart().unwrap_or_else(|why| panic!("{why}; {repeat}"));
        if has_dns_outage {
            world.dns.start();
        }
        if random.chance(1, 4) {
            world.expect_zones(&format!("after kill {kill}; {repeat}"));
        }
    }
    world.expect_zones(&repeat);
    world.server.end().expect("it ends");
}
