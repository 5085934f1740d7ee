//! A hub with a relationship to each of two branch servers: it has the leases of both, serves the
//! clients of a branch server that is killed, and only those, and gives its leases to it when it
//! starts again.

use std::collections::BTreeMap;

use scenario::{ScenarioFamily, ScenarioServer};
use serde_json::{Value, json};

use super::{EXCHANGES, PREFIXES, PairMode, ServerPair};
use crate::common::perfdhcp::figures;
use crate::common::{PATIENCE, free_port, has_debian_13, waited_until};
use crate::crash::LINK6;
use crate::subjects::process::{Daemon, ServerMake, Setup};

/// Number of branch servers, which are the first servers.
const BRANCHES: usize = 2;
/// Position of the hub among the servers.
const HUB: usize = BRANCHES;

/// Returns the relationship of the hub with branch server `branch`, as the server `own` has it.
/// `ports` are those of the branch servers, then those of the hub for each of them.
fn relationship(branch: usize, own: &str, ports: &[u16]) -> Value {
    let peer = |name: &str, port: u16, role: &str| {
        let (name, url) = (format!("{name}{branch}"), format!("http://127.0.0.1:{port}/"));
        json!({ "name": name, "url": url, "role": role })
    };
    json!({
        "this-server-name": format!("{own}{branch}"),
        "mode": "hot-standby",
        "heartbeat-delay": 500,
        "max-response-delay": 2_000,
        "max-unacked-clients": 0,
        "sync-page-limit": 7,
        "multi-threading": {
            "enable-multi-threading": true, "http-dedicated-listener": true,
            "http-listener-threads": 2, "http-client-threads": 2,
        },
        "peers": [
            peer("spoke", ports[branch], "primary"),
            peer("hub", ports[BRANCHES + branch], "standby"),
        ],
    })
}

/// Returns the subnet of the clients of branch server `branch`, which a class tells apart.
fn subnet(family: ScenarioFamily, branch: usize) -> Value {
    let mut subnet = match family {
        ScenarioFamily::V4 => json!({
            "subnet": format!("127.{}.0.0/16", branch + 1),
            "pools": [{ "pool": format!("127.{}.0.0/16", branch + 1) }],
            "relay": { "ip-addresses": [ "127.0.0.1" ] },
        }),
        ScenarioFamily::V6 => json!({
            "subnet": format!("2001:db8:{}::/64", branch + 1),
            "pools": [{ "pool": format!("2001:db8:{}::1:0/112", branch + 1) }],
            "pd-pools": [{ "prefix": PREFIXES[branch], "prefix-len": 37, "delegated-len": 56 }],
            "relay": { "ip-addresses": [ "::1", LINK6.to_string() ] },
        }),
    };
    subnet["id"] = json!(branch + 1);
    subnet["client-class"] = json!(format!("branch{branch}"));
    subnet["user-context"] = json!({ "ha-server-name": format!("spoke{branch}") });
    subnet
}

/// Returns the configuration of a server that is `own` in the relationships with `branches`.
fn configuration(
    family: ScenarioFamily,
    make: ServerMake,
    own: &str,
    branches: &[usize],
    ports: &[u16],
) -> String {
    let relationships: Vec<Value> =
        branches.iter().map(|branch| relationship(*branch, own, ports)).collect();
    let hooks = json!([
        { "library": "libdhcp_lease_cmds.so" },
        { "library": "libdhcp_ha.so", "parameters": { "high-availability": relationships } },
    ]);
    let client = match family {
        ScenarioFamily::V4 => "substring(pkt4.mac, 0, 2)",
        ScenarioFamily::V6 => "substring(option[1].hex, 8, 2)",
    };
    let class = |branch: &usize| {
        let test = format!("{client} == 0x020{branch}");
        json!({ "name": format!("branch{branch}"), "test": test })
    };
    let classes: Vec<Value> = branches.iter().map(class).collect();
    let subnets: Vec<Value> = branches.iter().map(|branch| subnet(family, *branch)).collect();
    let (number, identifier) = match family {
        ScenarioFamily::V4 => (4, ""),
        // Kea's DHCPv6 server makes no identifier if loopback is the only interface.
        ScenarioFamily::V6 => {
            (6, r#""server-id": { "type": "EN", "enterprise-id": 1, "identifier": "0102" },"#)
        }
    };
    let threads = if make == ServerMake::Godwit { "" } else { r#", "thread-pool-size": 2"# };
    format!(
        r#"{identifier} "multi-threading": {{ "enable-multi-threading": true {threads} }},
           "valid-lifetime": 4000, "hooks-libraries": {hooks},
           "client-classes": {}, "subnet{number}": {}"#,
        json!(classes),
        json!(subnets),
    )
}

/// Hub with its branch servers.
struct Hub(ServerPair);

impl Hub {
    /// Starts servers of these makes: the branch servers, then the hub.
    fn start(family: ScenarioFamily, makes: [ServerMake; BRANCHES + 1]) -> Self {
        let ports: Vec<u16> = (0..2 * BRANCHES).map(|_| free_port()).collect();
        let start = |(at, make): (usize, &ServerMake)| {
            let all: Vec<usize> = (0..BRANCHES).collect();
            let (own, branches) =
                if at == HUB { ("hub", &all[..]) } else { ("spoke", &all[at..=at]) };
            let config = &configuration(family, *make, own, branches, &ports);
            let setup = Setup { family, config, has_commands: true, persists: true, link: None };
            Daemon::start(*make, setup, at, PATIENCE)
                .unwrap_or_else(|why| panic!("{make:?}: {why}"))
        };
        let mut servers: Vec<Daemon> = makes.iter().enumerate().map(start).collect();
        let client_ports = servers.iter_mut().map(Daemon::give_up_client_port).collect();
        let (mode, makes, links) = (PairMode::HotStandby, makes.to_vec(), Vec::new());
        let (runs, network) = (0, None);
        Self(ServerPair { servers, makes, family, mode, ports, client_ports, links, runs, network })
    }

    /// Returns the state of a server in its relationship number `relationship`, and that of its
    /// partner.
    fn states(&mut self, server: usize, relationship: usize) -> [String; 2] {
        let answer = self.0.command(server, &json!({ "command": "status-get" }));
        let servers = &answer["arguments"]["high-availability"][relationship]["ha-servers"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        [text(&servers["local"]["state"]), text(&servers["remote"]["last-state"])]
    }

    /// Waits until the relationship of the hub with branch server `branch` is in `state` and knows
    /// its partner in `partner`.
    fn wait_for_hub(&mut self, branch: usize, [state, partner]: [&str; 2]) {
        let mut states = [String::new(), String::new()];
        let has_come = waited_until(|| {
            states = self.states(HUB, branch);
            states == [state, partner]
        });
        let logs: Vec<String> = self.0.servers.iter().map(Daemon::log).collect();
        let logs = logs.join("\n---\n");
        assert!(has_come, "{:?}: branch {branch}: {states:?}: {logs}", self.0.makes);
    }

    fn wait_until_normal(&mut self) {
        for branch in 0..BRANCHES {
            self.wait_for_hub(branch, ["hot-standby"; 2]);
            self.0.wait_for(branch, ["hot-standby"; 2]);
        }
    }

    /// Returns the argument of perfdhcp for new clients of branch server `branch`.
    fn new_clients(&mut self, branch: usize) -> String {
        self.0.runs += 1;
        format!("mac=02:0{branch}:{:02x}:00:00:00", self.0.runs)
    }

    /// Lets new clients of `branch` get leases of `server`, each of which must be acknowledged.
    fn clients(&mut self, branch: usize, server: usize) {
        let base = self.new_clients(branch);
        let output = self.0.run_clients(server, &["-R", "100000", "-b", &base], "20000000");
        self.0.check_all_answered(server, &output);
    }

    /// Checks that no new client of `branch` has an answer of the hub.
    fn no_clients(&mut self, branch: usize) {
        let base = self.new_clients(branch);
        let output = self.0.run_clients(HUB, &["-R", "100000", "-b", &base], "500000");
        let report = String::from_utf8_lossy(&output.stdout);
        let answered = ["on time:", "late:"].map(|label| figures(&report, label)[0]);
        assert_eq!(answered, [0, 0], "{:?}: {report}", self.0.makes);
    }

    /// Checks that each branch server has the leases of its own subnet, that the hub has those of
    /// all, and that there are `runs` runs of clients in each subnet.
    fn check_leases(&mut self, runs: [usize; BRANCHES]) {
        let each = if self.0.family == ScenarioFamily::V4 { 1 } else { 2 };
        let hub = self.0.leases(HUB);
        for (branch, runs) in runs.into_iter().enumerate() {
            let own: BTreeMap<_, _> = hub
                .iter()
                .filter(|(_, lease)| lease["subnet-id"] == json!(branch + 1))
                .map(|(address, lease)| (address.clone(), lease.clone()))
                .collect();
            assert_eq!(own, self.0.leases(branch), "{:?}: branch {branch}", self.0.makes);
            assert_eq!(own.len(), runs * each * EXCHANGES, "{:?}: branch {branch}", self.0.makes);
        }
    }

    /// Checks that the maintenance of a hub's partners is that of all branch servers.
    fn check_maintenance(&mut self) {
        let command = |name: &str| json!({ "command": name });
        let started = self.0.command(HUB, &command("ha-maintenance-start"));
        assert_eq!(started["result"], 0, "{started}");
        for branch in 0..BRANCHES {
            self.wait_for_hub(branch, ["partner-in-maintenance", "in-maintenance"]);
            self.0.wait_for(branch, ["in-maintenance", "partner-in-maintenance"]);
        }
        let canceled = self.0.command(HUB, &command("ha-maintenance-cancel"));
        assert_eq!(canceled["result"], 0, "{canceled}");
        self.wait_until_normal();
    }

    /// Checks that commands select a relationship by the name of a server.
    fn check_commands(&mut self) {
        let heartbeat =
            |name: &str| json!({ "command": "ha-heartbeat", "arguments": { "server-name": name } });
        for (name, state) in [("hub0", "partner-down"), ("spoke1", "hot-standby")] {
            let answer = self.0.command(HUB, &heartbeat(name));
            assert_eq!(answer["arguments"]["state"], state, "{name}: {answer}");
        }
        let unknown = self.0.command(HUB, &heartbeat("hub7"));
        assert_eq!(unknown["text"], "hub7 matches no configured 'server-name'");
    }
}

/// Takes a hub and its branch servers through their life.
fn a_hub_lives(family: ScenarioFamily, makes: [ServerMake; BRANCHES + 1]) {
    let mut hub = Hub::start(family, makes);
    hub.wait_until_normal();
    hub.clients(0, 0);
    hub.clients(1, 1);
    hub.no_clients(0);
    hub.check_leases([1, 1]);
    hub.0.servers[0].kill();
    hub.wait_for_hub(0, ["partner-down", "unavailable"]);
    hub.check_commands();
    hub.clients(0, HUB);
    hub.no_clients(1);
    hub.clients(1, 1);
    hub.0.servers[0].restart().unwrap();
    hub.wait_until_normal();
    hub.check_leases([2, 2]);
    hub.0.servers[HUB].kill();
    for branch in 0..BRANCHES {
        hub.0.wait_for(branch, ["partner-down", "unavailable"]);
        hub.clients(branch, branch);
    }
    hub.0.servers[HUB].restart().unwrap();
    hub.wait_until_normal();
    hub.check_leases([3, 3]);
    hub.no_clients(1);
    hub.check_maintenance();
}

const FAMILIES: [ScenarioFamily; 2] = [ScenarioFamily::V4, ScenarioFamily::V6];

#[test]
fn a_hub_of_godwit_lives() {
    for family in FAMILIES {
        a_hub_lives(family, [ServerMake::Godwit; 3]);
    }
}

#[test]
fn a_hub_of_godwit_lives_with_branch_servers_of_kea_3() {
    if has_debian_13() {
        for family in FAMILIES {
            a_hub_lives(family, [ServerMake::Kea3, ServerMake::Kea3, ServerMake::Godwit]);
        }
    }
}

#[test]
fn a_hub_of_kea_3_lives_with_branch_servers_of_godwit() {
    if has_debian_13() {
        for family in FAMILIES {
            a_hub_lives(family, [ServerMake::Godwit, ServerMake::Godwit, ServerMake::Kea3]);
        }
    }
}
