//! Kea 2.2 and this server take turns on one configuration file, one folder and one port: the
//! clients keep what they have, whichever of the two they ask, and so does the server its identity.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use common::kea::KeaProcess;
use common::perfdhcp::exact_run;
use common::trace::{granted_by_ack, granted_by_reply};
use common::{ServerProcess, TempFolder, free_port, require, run_bounded};
use dhcp_wire::{v4, v6};

/// Clients that each run of perfdhcp plays.
const CLIENTS: usize = 20;

/// What differs between the families.
struct Family {
    /// `dhcp4` or `dhcp6`.
    name: &'static str,
    /// What the configuration has beyond interface and lease file.
    configuration: &'static str,
    /// Clients and servers are here.
    address: IpAddr,
    /// perfdhcp's flags, and those of some clients and some others: it numbers them in the last six
    /// octets.
    perfdhcp: &'static [&'static str],
    clients: [&'static str; 2],
    /// Rows for each client.
    leases: usize,
    /// The columns that tell a client from others, the rest of those that must not change.
    identity: usize,
    kept: &'static [usize],
    /// Writes the renewal of a client's rows.
    renewal: fn(&mut [u8], &[&Row], &Path) -> usize,
    /// Reads what a reply grants.
    granted: fn(&[u8]) -> Vec<IpAddr>,
}

/// The values of a row of a lease file.
type Row = Vec<String>;

const V4: Family = Family {
    name: "dhcp4",
    configuration: r#"
        "interfaces-config": { "interfaces": [ "lo/127.0.0.1" ], "dhcp-socket-type": "udp" },
        "subnet4": [ { "id": 1, "subnet": "127.0.0.0/8",
                       "pools": [ { "pool": "127.1.0.1 - 127.1.255.254" } ] } ]"#,
    address: IpAddr::V4(Ipv4Addr::LOCALHOST),
    perfdhcp: &["-4"],
    clients: ["mac=02:00:00:00:01:00", "mac=02:00:00:00:02:00"],
    leases: 1,
    identity: 1,
    kept: &[1, 2, 5],
    renewal: renewal_of_v4,
    granted: granted_by_ack,
};

const V6: Family = Family {
    name: "dhcp6",
    configuration: r#"
        "interfaces-config": { "interfaces": [ "lo/::1" ] }, "server-id": { "type": "EN" },
        "subnet6": [ { "id": 1, "subnet": "2001:db8:1::/64",
                       "relay": { "ip-addresses": [ "::1" ] },
                       "pools": [ { "pool": "2001:db8:1::/112" } ],
                       "pd-pools": [ { "prefix": "2001:db8:8000::", "prefix-len": 40,
                                       "delegated-len": 56 } ] } ]"#,
    address: IpAddr::V6(Ipv6Addr::LOCALHOST),
    perfdhcp: &["-6", "-A", "1", "-e", "address-and-prefix"],
    clients: ["duid=0002000009bf01000000000000", "duid=0002000009bf02000000000000"],
    leases: 2,
    identity: 1,
    kept: &[1, 4, 6, 7, 8],
    renewal: renewal_of_v6,
    granted: granted_by_reply,
};

/// A folder that two servers share in turn, and a relay agent of ours.
struct Scene {
    family: &'static Family,
    folder: TempFolder,
    config: PathBuf,
    /// The server's, and the relay agent's.
    ports: [u16; 2],
}

impl Scene {
    fn set(family: &'static Family) -> Self {
        let folder = TempFolder::new(&format!("switch-{}", family.name));
        let path = folder.path().display();
        let data_directory = match family.name {
            "dhcp6" => format!(r#""data-directory": "{path}","#),
            _ => String::new(),
        };
        let text = format!(
            r#"{{ "{}": {{ {data_directory}
                "lease-database": {{ "type": "memfile", "name": "{path}/leases.csv",
                                     "lfc-interval": 0 }},
                "loggers": [ {{ "name": "kea-{}", "severity": "INFO",
                                "output_options": [ {{ "output": "{path}/kea.log" }},
                                                    {{ "output": "stderr" }} ] }} ],
                {} }} }}"#,
            family.name.replace("dhcp", "Dhcp"),
            family.name,
            family.configuration,
        );
        let config = folder.path().join("kea.conf");
        fs::write(&config, text).expect("the test's folder can be written");
        Self { family, folder, config, ports: [free_port(), free_port()] }
    }

    fn kea(&self) -> KeaProcess {
        let program = format!("kea-{}", self.family.name);
        KeaProcess::start(&program, &self.config, self.folder.path(), self.ports)
    }

    fn godwit(&self) -> ServerProcess {
        let (env, folder) = (Command::new("env"), self.folder.path());
        ServerProcess::launch_on(env, self.family.name, self.ports, &self.config, folder)
    }

    /// Whole exchanges of those clients of perfdhcp.
    fn exchanges(&self, clients: &str) {
        let report = exact_run(CLIENTS as u64, |_| self.run_perfdhcp(clients)).report;
        assert_eq!(report.matches("received packets: 20\n").count(), 2, "{report}");
    }

    fn run_perfdhcp(&self, clients: &str) -> String {
        let [port, relay_port] = self.ports.map(|port| port.to_string());
        let [count, address] = [CLIENTS.to_string(), self.family.address.to_string()];
        let output = run_bounded(
            Command::new("perfdhcp")
                .args(self.family.perfdhcp)
                .args(["-r", "200", "-R", &count, "-n", &count, "-n", &count, "-b", clients])
                .args(["-d", "5", "-d", "5", "-W", "3000000", "-l", &address])
                .args(["-L", &relay_port, "-N", &port, &address]),
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The last row of each address and prefix.
    fn rows(&self) -> BTreeMap<String, Row> {
        let path = self.folder.path().join("leases.csv");
        let text = fs::read_to_string(path).expect("there is a lease file");
        let rows = text.lines().skip(1).map(|row| row.split(',').map(str::to_owned).collect());
        rows.map(|row: Row| (row[0].clone(), row)).collect()
    }

    /// What must stay of the leases, whatever happens.
    fn leases(&self) -> BTreeMap<String, Vec<String>> {
        let kept = |row: &Row| self.family.kept.iter().map(|&at| row[at].clone()).collect();
        self.rows().into_iter().map(|(key, row)| (key, kept(&row))).collect()
    }

    /// Every client asks to keep all that it has, and is granted just that.
    fn renewals(&self) {
        let rows = self.rows();
        let mut clients: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
        for row in rows.values() {
            clients.entry(&row[self.family.identity]).or_default().push(row);
        }
        let [port, relay_port] = self.ports;
        let relay = UdpSocket::bind((self.family.address, relay_port)).expect("the port is free");
        relay.connect((self.family.address, port)).expect("loopback is connected");
        relay.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
        let mut octets = [0; 1500];
        for (client, rows) in clients {
            let len = (self.family.renewal)(&mut octets, &rows, self.folder.path());
            relay.send(&octets[..len]).expect("the server listens");
            let len = relay.recv(&mut octets).unwrap_or_else(|error| panic!("{client}: {error}"));
            let granted: BTreeSet<_> = (self.family.granted)(&octets[..len]).into_iter().collect();
            let expected = rows.iter().map(|row| row[0].parse().expect("an address"));
            assert_eq!(granted, expected.collect(), "{client}");
        }
    }
}

/// Kea, this server, and Kea again; in between each tells the other nothing but by files.
fn take_turns(family: &'static Family) {
    if !require(&["perfdhcp", &format!("kea-{}", family.name)]) {
        return;
    }
    let [some, others] = family.clients;
    let scene = Scene::set(family);
    let kea = scene.kea();
    scene.exchanges(some);
    kea.stop();
    let of_kea = scene.leases();
    assert_eq!(of_kea.len(), family.leases * CLIENTS);

    let godwit = scene.godwit();
    godwit.wait_for(&format!("loaded {} leases", of_kea.len()));
    scene.renewals();
    scene.exchanges(some);
    assert_eq!(scene.leases(), of_kea);
    scene.exchanges(others);
    godwit.stop();
    let of_both = scene.leases();
    assert_eq!(of_both.len(), 2 * of_kea.len());
    assert!(of_kea.iter().all(|(key, client)| of_both.get(key) == Some(client)), "{of_both:?}");

    let kea = scene.kea();
    scene.renewals();
    scene.exchanges(others);
    scene.exchanges(some);
    kea.stop();
    assert_eq!(scene.leases(), of_both);
}

#[test]
fn clients_of_dhcpv4_keep_their_addresses() {
    take_turns(&V4);
}

#[test]
fn clients_of_dhcpv6_keep_their_addresses_and_prefixes() {
    take_turns(&V6);
}

/// The octets that `text` has in hexadecimal digits with colons.
fn octets(text: &str) -> Vec<u8> {
    let octet = |digits| u8::from_str_radix(digits, 16).expect("two digits");
    text.trim().split(':').map(octet).collect()
}

fn renewal_of_v4(buffer: &mut [u8], rows: &[&Row], _: &Path) -> usize {
    let row = rows[0];
    let mut chaddr = [0; 16];
    chaddr[..6].copy_from_slice(&octets(&row[1]));
    let nowhere = Ipv4Addr::UNSPECIFIED;
    let header = v4::Header {
        op: 1,
        htype: 1,
        hlen: 6,
        hops: 1,
        xid: u32::from(chaddr[5]),
        secs: 0,
        flags: 0,
        ciaddr: row[0].parse().expect("an address"),
        yiaddr: nowhere,
        siaddr: nowhere,
        giaddr: Ipv4Addr::LOCALHOST,
        chaddr,
    };
    let mut writer = v4::MessageWriter::new(buffer, &header);
    writer.option(v4::option::MESSAGE_TYPE, &[v4::MessageType::Request.code()]);
    writer.option(v4::option::CLIENT_ID, &octets(&row[2]));
    writer.finish(300).expect("the buffer is large")
}

fn renewal_of_v6(buffer: &mut [u8], rows: &[&Row], folder: &Path) -> usize {
    let server_id = fs::read_to_string(folder.join("kea-dhcp6-serverid")).expect("Kea made it");
    let here = Ipv6Addr::LOCALHOST;
    let levels = v6::RelayWriter::forward(buffer).level(0, here, here);
    let mut writer = levels.message(v6::MessageType::Renew, 7);
    writer.option(v6::option::CLIENTID, &octets(&rows[0][1]));
    writer.option(v6::option::SERVERID, &octets(&server_id));
    for row in rows {
        let iaid = row[7].parse().expect("a number");
        let leased = row[0].parse().expect("an address");
        if row[6] == "2" {
            let mark = writer.ia(v6::IaKind::Pd, iaid, 0, 0);
            writer.ia_prefix(leased, row[8].parse().expect("a length"), 0, 0);
            writer.end(mark);
        } else {
            let mark = writer.ia(v6::IaKind::Na, iaid, 0, 0);
            writer.ia_address(leased, 0, 0);
            writer.end(mark);
        }
    }
    writer.finish().expect("the buffer is large")
}
