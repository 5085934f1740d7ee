//! Tests in which Kea 2.2 and Godwit take turns on one configuration file, one folder and one port,
//! with leases in a memfile, in MariaDB and in PostgreSQL: the clients keep their leases with
//! either server, and the server keeps its identity. On one database they also serve at the same
//! time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::common::kea::KeaProcess;
use crate::common::perfdhcp::{PATIENT, whole_run};
use crate::common::ports::is_taken;
use crate::common::trace::{granted_by_ack, granted_by_reply};
use crate::common::{ServerProcess, TempFolder, free_port, require, run_bounded, waited_until};
use dhcp_wire::{v4, v6};
use testbed::database::{DatabaseEngine, PASSWORD, PrivateDatabase, PrivateDatabaseSettings, USER};

/// Number of clients in each run of perfdhcp.
const CLIENTS: usize = 20;
/// Time without a reply after which a client sends its message again.
const RETRANSMISSION: Duration = Duration::from_secs(10);

/// Differences between the families.
struct SwitchFamily {
    /// Name of the server: `dhcp4` or `dhcp6`.
    name: &'static str,
    /// Additions to interface and lease file in the configuration.
    configuration: &'static str,
    /// Loopback address of clients and servers.
    address: IpAddr,
    /// Flags of perfdhcp, and those of some clients and of others: it numbers them in the last six
    /// bytes.
    perfdhcp: &'static [&'static str],
    clients: [&'static str; 2],
    /// Number of rows of the lease file for each client.
    leases: usize,
    /// Index of the column that identifies a client, and indexes of all columns that must not
    /// change.
    identity: usize,
    kept_columns: &'static [usize],
    /// Function that writes the renewal of a client's rows.
    renewal: fn(&mut [u8], &[&Row], &Path) -> usize,
    /// Function that reads the addresses granted in a reply.
    granted: fn(&[u8]) -> Vec<IpAddr>,
}

/// Fields of a row of a lease file.
type Row = Vec<String>;

const V4: SwitchFamily = SwitchFamily {
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
    kept_columns: &[1, 2, 5],
    renewal: renewal_of_v4,
    granted: granted_by_ack,
};

const V6: SwitchFamily = SwitchFamily {
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
    kept_columns: &[1, 4, 6, 7, 8],
    renewal: renewal_of_v6,
    granted: granted_by_reply,
};

/// Folder that two servers share in turn, and the test's own relay agent.
struct SwitchSetup {
    family: &'static SwitchFamily,
    folder: TempFolder,
    config: PathBuf,
    /// Ports of the server and of the relay agent.
    ports: [u16; 2],
    /// Database of the leases, unless they are in a memfile.
    database: Option<PrivateDatabase>,
}

/// Returns the type of a database in Kea, and in `kea-admin`.
const fn names(engine: DatabaseEngine) -> [&'static str; 2] {
    match engine {
        DatabaseEngine::MariaDb => ["mysql", "mysql"],
        DatabaseEngine::PostgreSql => ["postgresql", "pgsql"],
    }
}

/// Starts a private database server with Kea 2.2's tables. Returns `None` if it is not installed.
fn database(engine: DatabaseEngine) -> Option<PrivateDatabase> {
    if let Some(reason) = engine.missing() {
        testkit::skip(reason);
        return None;
    }
    let settings = PrivateDatabaseSettings {
        is_durable: false,
        on_loopback: true,
        ..PrivateDatabaseSettings::default()
    };
    let server = PrivateDatabase::start(engine, settings).expect("the server starts");
    server.create("leases").expect("a database can be made");
    let output = run_bounded(db(&server, "init").args(["--schema", "2.2"]));
    assert!(output.status.success(), "{output:?}");
    Some(server)
}

/// Returns `godwit db` for that database.
fn db(server: &PrivateDatabase, word: &str) -> Command {
    let port = server.port().expect("it listens on loopback").to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
    command.args(["db", word, names(server.engine())[1], "-n", "leases", "-u", USER]);
    command.args(["-h", "127.0.0.1", "-P", &port, "-p", PASSWORD]);
    command
}

impl SwitchSetup {
    fn set(family: &'static SwitchFamily, database: Option<PrivateDatabase>) -> Self {
        let kind = database.as_ref().map_or("memfile", |server| names(server.engine())[0]);
        let folder = TempFolder::new(&format!("switch-{}-{kind}", family.name));
        let path = folder.path().display();
        let data_directory = match family.name {
            "dhcp6" => format!(r#""data-directory": "{path}","#),
            _ => String::new(),
        };
        let leases = match database.as_ref().and_then(PrivateDatabase::port) {
            None => format!(r#""name": "{path}/leases.csv", "lfc-interval": 0"#),
            Some(port) => format!(
                r#""name": "leases", "host": "127.0.0.1", "port": {port}, "user": "{USER}",
                   "password": "{PASSWORD}""#
            ),
        };
        let text = format!(
            r#"{{ "{}": {{ {data_directory}
                "lease-database": {{ "type": "{kind}", {leases} }},
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
        Self { family, folder, config, ports: [free_port(), free_port()], database }
    }

    fn kea(&self) -> KeaProcess {
        let program = format!("kea-{}", self.family.name);
        KeaProcess::start(&program, &self.config, self.folder.path(), self.ports)
    }

    fn godwit(&self) -> ServerProcess {
        self.godwit_on(self.ports, &self.config)
    }

    fn godwit_on(&self, ports: [u16; 2], config: &Path) -> ServerProcess {
        let (env, folder) = (Command::new("env"), self.folder.path());
        ServerProcess::launch_on(env, self.family.name, ports, config, folder)
    }

    /// Runs whole exchanges of perfdhcp's clients that the flags `clients` select.
    fn exchanges(&self, clients: &str) {
        let run = |_| self.run_perfdhcp(self.ports, clients, &PATIENT);
        let report = whole_run(CLIENTS as u64, run).report;
        assert_eq!(report.matches("received packets: 20\n").count(), 2, "{report}");
    }

    /// Runs exchanges of those clients until all are complete. Clients without a reply repeat
    /// theirs: two servers that lease from one pool at the same time sometimes choose the same
    /// address, and the later one's reply does not leave.
    fn exchanges_at_last(&self, ports: [u16; 2], clients: &str) {
        let is_done = |report: &str| report.matches("received packets: 20\n").count() == 2;
        let wait = ["-d", "10", "-d", "10", "-W", "10000000"];
        let mut attempts = (0..5 * CLIENTS).map(|_| self.run_perfdhcp(ports, clients, &wait));
        assert!(attempts.any(|report| is_done(&report)), "{clients} are never all served");
    }

    fn run_perfdhcp(&self, ports: [u16; 2], clients: &str, wait: &[&str]) -> String {
        let [port, relay_port] = ports.map(|port| port.to_string());
        let [count, address] = [CLIENTS.to_string(), self.family.address.to_string()];
        let output = run_bounded(
            Command::new("perfdhcp")
                .args(self.family.perfdhcp)
                .args(["-r", "200", "-R", &count, "-n", &count, "-n", &count, "-b", clients])
                .args(wait)
                .args(["-l", &address, "-L", &relay_port, "-N", &port, &address]),
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Returns the last row of each address and prefix.
    fn rows(&self) -> BTreeMap<String, Row> {
        let path = self.folder.path().join("leases.csv");
        if let Some(server) = &self.database {
            let family = if self.family.name == "dhcp4" { "-4" } else { "-6" };
            let output = run_bounded(db(server, "dump").args([family, "-y", "-o"]).arg(&path));
            assert!(output.status.success(), "{output:?}");
        }
        let text = fs::read_to_string(path).expect("there is a lease file");
        let rows = text.lines().skip(1).map(|row| row.split(',').map(str::to_owned).collect());
        rows.map(|row: Row| (row[0].clone(), row)).collect()
    }

    /// Returns the columns of the leases that must never change.
    fn leases(&self) -> BTreeMap<String, Vec<String>> {
        let kept_columns =
            |row: &Row| self.family.kept_columns.iter().map(|&at| row[at].clone()).collect();
        self.rows().into_iter().map(|(key, row)| (key, kept_columns(&row))).collect()
    }

    /// Makes every client renew all its leases, and checks that the replies grant exactly those.
    fn renewals(&self) {
        self.renewals_on(self.ports);
    }

    fn renewals_on(&self, [port, relay_port]: [u16; 2]) {
        let rows = self.rows();
        let mut clients: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
        for row in rows.values() {
            clients.entry(&row[self.family.identity]).or_default().push(row);
        }
        let relay = UdpSocket::bind((self.family.address, relay_port)).expect("the port is free");
        relay.connect((self.family.address, port)).expect("loopback is connected");
        relay.set_read_timeout(Some(RETRANSMISSION)).expect("a time");
        let mut octets = [0; 1500];
        for (client, rows) in clients {
            let len = (self.family.renewal)(&mut octets, &rows, self.folder.path());
            let request = octets[..len].to_vec();
            let expected = rows.iter().map(|row| row[0].parse().expect("an address"));
            let expected: BTreeSet<IpAddr> = expected.collect();
            // Asked again, as clients ask: who waits too long for a row is not answered. What came
            // last may be an answer to the client before.
            let mut granted = BTreeSet::new();
            let is_granted = waited_until(|| {
                relay.send(&request).expect("the server listens");
                while let Ok(len) = relay.recv(&mut octets) {
                    granted = (self.family.granted)(&octets[..len]).into_iter().collect();
                    if granted == expected {
                        return true;
                    }
                }
                false
            });
            assert!(is_granted, "{client}: {granted:?}, not {expected:?}");
        }
        drop(relay);
        // Programs that other tests have just started may have the socket, too, until they run.
        assert!(waited_until(|| !is_taken(relay_port)), "nobody has port {relay_port} any more");
    }
}

/// Runs Kea, Godwit, and Kea again, which communicate only by files.
fn take_turns(setup: Option<SwitchSetup>) {
    let Some(setup) = setup else { return };
    let family = setup.family;
    let [some, others] = family.clients;
    let kea = setup.kea();
    setup.exchanges(some);
    kea.stop();
    let of_kea = setup.leases();
    assert_eq!(of_kea.len(), family.leases * CLIENTS);

    let godwit = setup.godwit();
    godwit.wait_for(&format!("loaded {} leases", of_kea.len()));
    setup.renewals();
    setup.exchanges(some);
    assert_eq!(setup.leases(), of_kea);
    setup.exchanges(others);
    godwit.stop();
    let of_both = setup.leases();
    assert_eq!(of_both.len(), 2 * of_kea.len());
    assert!(of_kea.iter().all(|(key, client)| of_both.get(key) == Some(client)), "{of_both:?}");

    let kea = setup.kea();
    setup.renewals();
    setup.exchanges(others);
    setup.exchanges(some);
    kea.stop();
    assert_eq!(setup.leases(), of_both);
}

fn has_tools(family: &SwitchFamily) -> bool {
    require(&["perfdhcp", &format!("kea-{}", family.name)])
}

fn memfile(family: &'static SwitchFamily) -> Option<SwitchSetup> {
    has_tools(family).then(|| SwitchSetup::set(family, None))
}

fn in_database(family: &'static SwitchFamily, engine: DatabaseEngine) -> Option<SwitchSetup> {
    if !has_tools(family) {
        return None;
    }
    Some(SwitchSetup::set(family, Some(database(engine)?)))
}

#[test]
fn clients_of_dhcpv4_keep_their_addresses() {
    take_turns(memfile(&V4));
}

#[test]
fn clients_of_dhcpv6_keep_their_addresses_and_prefixes() {
    take_turns(memfile(&V6));
}

#[test]
fn clients_of_dhcpv4_keep_their_addresses_in_mariadb() {
    take_turns(in_database(&V4, DatabaseEngine::MariaDb));
}

#[test]
fn clients_of_dhcpv6_keep_their_addresses_and_prefixes_in_mariadb() {
    take_turns(in_database(&V6, DatabaseEngine::MariaDb));
}

#[test]
fn clients_of_dhcpv4_keep_their_addresses_in_postgresql() {
    take_turns(in_database(&V4, DatabaseEngine::PostgreSql));
}

#[test]
fn clients_of_dhcpv6_keep_their_addresses_and_prefixes_in_postgresql() {
    take_turns(in_database(&V6, DatabaseEngine::PostgreSql));
}

/// Runs Kea and Godwit on one database at the same time: no address is leased twice, and each
/// renews the leases of the other's clients.
fn serve_at_once(setup: Option<SwitchSetup>) {
    let Some(setup) = setup else { return };
    let [some, others] = setup.family.clients;
    // Each has a configuration file of another name, and so a PID file of its own.
    let config = setup.folder.path().join("beside.conf");
    fs::copy(&setup.config, &config).expect("the test's folder can be written");
    let ports = [free_port(), free_port()];
    let (kea, godwit) = (setup.kea(), setup.godwit_on(ports, &config));
    std::thread::scope(|threads| {
        threads.spawn(|| setup.exchanges_at_last(setup.ports, some));
        threads.spawn(|| setup.exchanges_at_last(ports, others));
    });
    let leases = setup.leases();
    assert_eq!(leases.len(), 2 * setup.family.leases * CLIENTS);
    setup.renewals();
    setup.renewals_on(ports);
    godwit.stop();
    kea.stop();
    assert_eq!(setup.leases(), leases);
}

#[test]
fn kea_and_this_server_share_mariadb() {
    serve_at_once(in_database(&V4, DatabaseEngine::MariaDb));
    serve_at_once(in_database(&V6, DatabaseEngine::MariaDb));
}

#[test]
fn kea_and_this_server_share_postgresql() {
    serve_at_once(in_database(&V4, DatabaseEngine::PostgreSql));
    serve_at_once(in_database(&V6, DatabaseEngine::PostgreSql));
}

/// Returns the bytes in `text`, hexadecimal digits with colons.
fn octets(text: &str) -> Vec<u8> {
    let octet = |digits| u8::from_str_radix(digits, 16).expect("two digits");
    text.trim().split(':').map(octet).collect()
}

fn renewal_of_v4(buffer: &mut [u8], rows: &[&Row], _: &Path) -> usize {
    let row = rows[0];
    let mut chaddr = [0; 16];
    chaddr[..6].copy_from_slice(&octets(&row[1]));
    let nowhere = Ipv4Addr::UNSPECIFIED;
    let header = v4::Dhcp4Header {
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
