//! Tests of reservations in databases, as a Kea operator has them: in MariaDB with the tables of
//! Kea 2.2 and in PostgreSQL with the current ones, some of them written by plain SQL while the
//! server runs.

use std::cell::Cell;
use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

use crate::common::{ServerProcess, TempFolder, free_port, run_bounded, waited_until};
use dhcp_wire::v4::{self, option};
use dhcp_wire::v6;
use serde_json::{Value, json};
use testbed::database::{DatabaseEngine, PASSWORD, PrivateDatabase, PrivateDatabaseSettings, USER};

/// Time without a reply after which a client sends its message again.
const RETRANSMISSION: Duration = Duration::from_secs(10);

/// Name of the databases.
const NAME: &str = "hosts";

/// Starts a private database server with Kea's tables. Returns `None` if it is not installed.
fn database(engine: DatabaseEngine, schema: &str) -> Option<PrivateDatabase> {
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
    server.create(NAME).expect("a database can be made");
    let [_, admin] = names(engine);
    let port = server.port().expect("it listens on loopback").to_string();
    let mut init = Command::new(env!("CARGO_BIN_EXE_godwit"));
    init.args(["db", "init", admin, "-n", NAME, "-u", USER, "-p", PASSWORD, "-h", "127.0.0.1"]);
    let output = run_bounded(init.args(["-P", &port, "--schema", schema]));
    assert!(output.status.success(), "{output:?}");
    Some(server)
}

/// Returns the type of a database in Kea, and in `kea-admin`.
const fn names(engine: DatabaseEngine) -> [&'static str; 2] {
    match engine {
        DatabaseEngine::MariaDb => ["mysql", "mysql"],
        DatabaseEngine::PostgreSql => ["postgresql", "pgsql"],
    }
}

/// Returns an entry of `hosts-databases`.
fn entry(server: &PrivateDatabase, keys: &str) -> String {
    let port = server.port().expect("it listens on loopback");
    format!(
        r#"{{ "type": "{}", "name": "{NAME}", "host": "127.0.0.1", "port": {port},
             "user": "{USER}", "password": "{PASSWORD}"{keys} }}"#,
        names(server.engine())[0]
    )
}

/// Writes a host with plain SQL: a client, by a hardware address or a DUID.
fn write(server: &PrivateDatabase, identifier: &str, kind: u8, columns: &str, values: &str) {
    let octets = match server.engine() {
        DatabaseEngine::MariaDb => format!("UNHEX('{identifier}')"),
        DatabaseEngine::PostgreSql => format!("decode('{identifier}', 'hex')"),
    };
    let statement = format!(
        "INSERT INTO hosts (dhcp_identifier, dhcp_identifier_type, {columns}) \
         VALUES ({octets}, {kind}, {values})"
    );
    server.query(NAME, &statement).expect("it is written");
}

/// DHCP server with a relay agent.
struct HostDatabaseServer {
    server: ServerProcess,
    relay: UdpSocket,
    /// Number of messages so far, which is the transaction identifier of the last one.
    requests: Cell<u32>,
    folder: TempFolder,
}

/// Time for which a shard may remember hosts, in tests of rows that are written by hand.
const SHORT_MS: u32 = 100;

impl HostDatabaseServer {
    fn start(family: &str, here: IpAddr, databases: &[String], inner: &str) -> Self {
        Self::start_with(family, here, databases, inner, SHORT_MS)
    }

    /// Starts the server; its shards remember hosts for `lifetime_ms`.
    fn start_with(
        family: &str,
        here: IpAddr,
        databases: &[String],
        inner: &str,
        lifetime_ms: u32,
    ) -> Self {
        let folder = TempFolder::new(&format!("hosts-{family}"));
        let config = folder.path().join("kea.conf");
        let leases = folder.path().join("leases.csv");
        let (top, data_directory) = match family {
            "dhcp4" => ("Dhcp4", String::new()),
            _ => ("Dhcp6", format!(r#""data-directory": "{}","#, folder.path().display())),
        };
        let text = format!(
            r#"{{ "{top}": {{ {data_directory}
                "lease-database": {{ "type": "memfile", "name": "{}", "lfc-interval": 0 }},
                "hosts-databases": [ {} ], "valid-lifetime": 4000,
                "hooks-libraries": [ {{ "library": "libdhcp_host_cmds.so" }} ],
                "control-socket": {{ "socket-type": "unix", "socket-name": "{}/control" }},
                "user-context": {{ "godwit": {{ "durability": "none", "hosts-databases":
                    {{ "cache-lifetime-ms": {lifetime_ms} }} }} }}, {inner} }} }}"#,
            leases.display(),
            databases.join(", "),
            folder.path().display()
        );
        fs::write(&config, text).expect("the test's folder can be written");
        let ports = [free_port(), free_port()];
        let env = Command::new("env");
        let server = ServerProcess::launch_on(env, family, ports, &config, folder.path());
        let relay = UdpSocket::bind((here, server.relay_port)).expect("the port is free");
        relay.connect((here, server.port)).expect("loopback is connected");
        relay.set_read_timeout(Some(RETRANSMISSION)).expect("a time");
        Self { server, relay, requests: Cell::new(0), folder }
    }

    /// Returns the next transaction identifier of the test's messages.
    fn next_xid(&self) -> u32 {
        self.requests.set(self.requests.get() + 1);
        self.requests.get()
    }

    /// Returns the reply to the message `octets`, for which `is_answer` returns true. The message
    /// is sent again while none comes, because the server drops a message that waits too long for a
    /// database. Other replies are late ones to earlier messages.
    fn ask(&self, octets: &[u8], is_answer: impl Fn(&[u8]) -> bool) -> Vec<u8> {
        let mut reply = vec![0; 1500];
        let mut len = 0;
        let is_answered = waited_until(|| {
            self.relay.send(octets).expect("the server listens");
            while let Ok(received) = self.relay.recv(&mut reply) {
                if is_answer(&reply[..received]) {
                    len = received;
                    return true;
                }
            }
            false
        });
        assert!(is_answered, "there is no answer: {}", self.server.log());
        reply.truncate(len);
        reply
    }

    /// Sends a control command and returns its result code and its text.
    fn command(&self, name: &str, arguments: Value) -> (i64, String) {
        let mut stream =
            UnixStream::connect(self.folder.path().join("control")).expect("the server listens");
        let command = json!({ "command": name, "arguments": arguments });
        stream.write_all(command.to_string().as_bytes()).expect("the server reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the server answers");
        let answer: Value = serde_json::from_str(&answer).expect("an answer is JSON");
        let text = answer["text"].as_str().unwrap_or_default().to_owned();
        (answer["result"].as_i64().expect("it has a result"), text)
    }

    /// Returns the server's reply to client `n` that requests the address `requested`, or its offer
    /// if that is `None`.
    fn ask4(&self, n: u8, requested: Option<Ipv4Addr>) -> (Option<v4::MessageType>, Ipv4Addr) {
        let mut chaddr = [0; 16];
        chaddr[..6].copy_from_slice(&[2, 0, 0, 0, 0, n]);
        let nowhere = Ipv4Addr::UNSPECIFIED;
        let header = v4::Dhcp4Header {
            op: 1,
            htype: 1,
            hlen: 6,
            hops: 1,
            xid: self.next_xid(),
            secs: 0,
            flags: 0,
            ciaddr: nowhere,
            yiaddr: nowhere,
            siaddr: nowhere,
            giaddr: Ipv4Addr::LOCALHOST,
            chaddr,
        };
        let mut octets = [0; 600];
        let mut writer = v4::MessageWriter::new(&mut octets, &header);
        let kind = match requested {
            Some(_) => v4::MessageType::Request,
            None => v4::MessageType::Discover,
        };
        writer.option(option::MESSAGE_TYPE, &[kind.code()]);
        if let Some(address) = requested {
            writer.option(option::REQUESTED_IP_ADDRESS, &address.octets());
            writer.option(option::SERVER_IDENTIFIER, &Ipv4Addr::LOCALHOST.octets());
        }
        let len = writer.finish(300).expect("the buffer is large");
        let is_answer =
            |reply: &[u8]| v4::Message::parse(reply).expect("a reply parses").xid() == header.xid;
        let reply = self.ask(&octets[..len], is_answer);
        let reply = v4::Message::parse(&reply).expect("a reply parses");
        (reply.message_type(), reply.yiaddr())
    }

    /// Returns the address offered to client `n`.
    fn offered6(&self, n: u8) -> Ipv6Addr {
        let mut octets = [0; 600];
        let here = Ipv6Addr::LOCALHOST;
        let levels = v6::RelayWriter::forward(&mut octets).level(0, here, here);
        let xid = self.next_xid();
        let mut writer = levels.message(v6::MessageType::Solicit, xid);
        writer.option(v6::option::CLIENTID, &[0, 3, 0, 1, 2, 0, 0, 0, 0, n]);
        let mark = writer.ia(v6::IaKind::Na, 1, 0, 0);
        writer.end(mark);
        let len = writer.finish().expect("the buffer is large");
        let is_answer = |reply: &[u8]| {
            let packet = v6::Packet::parse(reply).expect("a reply parses");
            packet.message().transaction_id() == xid
        };
        let reply = self.ask(&octets[..len], is_answer);
        let packet = v6::Packet::parse(&reply).expect("a reply parses");
        let ia = packet.message().ias().next().expect("it is answered");
        ia.addresses().next().expect("something is offered").address
    }
}

const POOL4: Ipv4Addr = Ipv4Addr::new(127, 1, 0, 1);

#[test]
fn clients_of_dhcpv4_get_what_is_reserved_in_two_databases() {
    let Some(maria) = database(DatabaseEngine::MariaDb, "2.2") else { return };
    let Some(postgres) = database(DatabaseEngine::PostgreSql, "current") else { return };
    let columns = "dhcp4_subnet_id, ipv4_address";
    let at = |address: &str| address.parse::<Ipv4Addr>().unwrap().to_bits();
    let value = |address: &str| format!("1, {}", at(address));
    write(&maria, "020000000001", 0, columns, &value("127.2.0.1"));
    write(&postgres, "020000000002", 0, columns, &value("127.2.0.2"));
    // The first database takes precedence over the second one.
    write(&postgres, "020000000001", 0, columns, &value("127.2.0.99"));
    // A lease keeps only a part of this name: Kea's column takes characters, not bytes.
    let long = format!("{columns}, hostname");
    let named = format!("{}, '{}'", value("127.2.0.4"), "\u{fc}.".repeat(120));
    write(&postgres, "020000000004", 0, &long, &named);
    // The first address of the pool is reserved for another client.
    write(&postgres, "020000000077", 0, columns, &value("127.1.0.1"));
    let database_server = HostDatabaseServer::start(
        "dhcp4",
        Ipv4Addr::LOCALHOST.into(),
        &[entry(&maria, ""), entry(&postgres, r#", "readonly": true"#)],
        r#""interfaces-config": { "interfaces": [ "lo/127.0.0.1" ], "dhcp-socket-type": "udp" },
           "subnet4": [ { "id": 1, "subnet": "127.0.0.0/8",
                          "pools": [ { "pool": "127.1.0.1 - 127.1.0.254" } ] } ]"#,
    );
    let offer = |n| {
        let (kind, address) = database_server.ask4(n, None);
        assert_eq!(kind, Some(v4::MessageType::Offer));
        address
    };
    assert_eq!(offer(1), Ipv4Addr::new(127, 2, 0, 1));
    assert_eq!(offer(2), Ipv4Addr::new(127, 2, 0, 2));
    assert_eq!(offer(4), Ipv4Addr::new(127, 2, 0, 4));
    database_server
        .server
        .wait_for("of a hosts database (hw-address 020000000004): `hostname`: host name has");
    let (kind, _) = database_server.ask4(3, Some(POOL4));
    assert_eq!(kind, Some(v4::MessageType::Nak));
    let dynamic = offer(3);
    assert!(dynamic > POOL4 && dynamic <= Ipv4Addr::new(127, 1, 0, 254), "{dynamic}");
    let (kind, leased) = database_server.ask4(3, Some(dynamic));
    assert_eq!((kind, leased), (Some(v4::MessageType::Ack), dynamic));
    // An operator writes a row while the server runs.
    write(&maria, "020000000003", 0, columns, &value("127.2.0.3"));
    assert!(waited_until(|| offer(3) == Ipv4Addr::new(127, 2, 0, 3)));
    let (kind, leased) = database_server.ask4(3, Some(Ipv4Addr::new(127, 2, 0, 3)));
    assert_eq!((kind, leased), (Some(v4::MessageType::Ack), Ipv4Addr::new(127, 2, 0, 3)));
    database_server.server.stop();
}

/// Returns the reservation of `address` for client `n` in subnet 1.
fn reservation(n: u8, address: &str) -> Value {
    let hardware = format!("02:00:00:00:00:{n:02x}");
    json!({ "reservation": { "subnet-id": 1, "hw-address": hardware, "ip-address": address } })
}

/// Tests that a command counts for the next message although shards remember hosts for an hour,
/// in databases with tables of both versions.
#[test]
fn commands_change_reservations_in_every_database_at_once() {
    let Some(maria) = database(DatabaseEngine::MariaDb, "2.2") else { return };
    let Some(postgres) = database(DatabaseEngine::PostgreSql, "current") else { return };
    let server = HostDatabaseServer::start_with(
        "dhcp4",
        Ipv4Addr::LOCALHOST.into(),
        &[entry(&maria, ""), entry(&postgres, "")],
        r#""interfaces-config": { "interfaces": [ "lo/127.0.0.1" ], "dhcp-socket-type": "udp" },
           "subnet4": [ { "id": 1, "subnet": "127.0.0.0/8",
                          "pools": [ { "pool": "127.1.0.1 - 127.1.0.254" } ] } ]"#,
        3_600_000,
    );
    let count = |database: &PrivateDatabase| {
        let rows = database.query(NAME, "SELECT COUNT(*) FROM hosts").expect("it answers");
        rows.trim().to_owned()
    };
    let counts = || [count(&maria), count(&postgres)];
    let offer = |n| server.ask4(n, None).1;
    let done = |text: &str| (0, text.to_owned());
    assert_eq!(offer(1), POOL4);
    assert_eq!(server.command("reservation-add", reservation(1, "127.2.0.1")), done("Host added."));
    assert_eq!(counts(), ["1", "1"]);
    assert_eq!(offer(1), Ipv4Addr::new(127, 2, 0, 1));
    let changed = server.command("reservation-update", reservation(1, "127.2.0.2"));
    assert_eq!(changed, done("Host updated."));
    assert_eq!(counts(), ["1", "1"]);
    assert_eq!(offer(1), Ipv4Addr::new(127, 2, 0, 2));
    let named = json!({ "subnet-id": 1, "ip-address": "127.2.0.2" });
    assert_eq!(server.command("reservation-del", named.clone()), done("Host deleted."));
    assert_eq!(counts(), ["0", "0"]);
    assert_eq!(offer(1), POOL4);
    assert_eq!(server.command("reservation-del", named).0, 3);
    // An address of the pool that another client gets leaves the pool, and returns.
    let (kind, _) = server.ask4(1, Some(POOL4));
    assert_eq!(kind, Some(v4::MessageType::Ack));
    let next = offer(2);
    server.command("reservation-add", reservation(3, &next.to_string()));
    assert_ne!(offer(2), next);
    assert_eq!(offer(3), next);
    server.command("reservation-del", json!({ "subnet-id": 1, "ip-address": next.to_string() }));
    assert_eq!(counts(), ["0", "0"]);
    server.server.stop();
}

#[test]
fn a_database_that_is_gone_fails_a_command_and_not_the_server() {
    let Some(maria) = database(DatabaseEngine::MariaDb, "current") else { return };
    let mut maria = maria;
    let server = HostDatabaseServer::start(
        "dhcp4",
        Ipv4Addr::LOCALHOST.into(),
        &[entry(&maria, "")],
        r#""interfaces-config": { "interfaces": [ "lo/127.0.0.1" ], "dhcp-socket-type": "udp" },
           "subnet4": [ { "id": 1, "subnet": "127.0.0.0/8",
                          "pools": [ { "pool": "127.1.0.1 - 127.1.0.254" } ] } ]"#,
    );
    let (result, _) = server.command("reservation-add", reservation(1, "127.2.0.1"));
    assert_eq!(result, 0);
    maria.stop().expect("it ends");
    let (result, text) = server.command("reservation-add", reservation(2, "127.2.0.2"));
    assert_eq!(result, 1);
    assert!(text.starts_with("cannot "), "{text}");
    assert!(!text.contains(PASSWORD), "{text}");
    let (result, _) = server.command("reservation-get-all", json!({ "subnet-id": 1 }));
    assert_eq!(result, 1);
    maria.launch().expect("it starts");
    let (result, _) = server.command("reservation-add", reservation(2, "127.2.0.2"));
    assert_eq!(result, 0);
    assert_eq!(server.ask4(2, None).1, Ipv4Addr::new(127, 2, 0, 2));
    server.server.stop();
}

#[test]
fn clients_of_dhcpv6_get_what_is_reserved_in_two_databases() {
    let Some(maria) = database(DatabaseEngine::MariaDb, "2.2") else { return };
    let Some(postgres) = database(DatabaseEngine::PostgreSql, "current") else { return };
    let reserve = |server: &PrivateDatabase, n: u8, address: &str| {
        write(server, &format!("000300010200000000{n:02x}"), 1, "dhcp6_subnet_id", "1");
        let owner = "SELECT MAX(host_id) FROM hosts";
        let statement = format!(
            "INSERT INTO ipv6_reservations (address, prefix_len, type, host_id) \
             VALUES ('{address}', 128, 0, ({owner}))"
        );
        server.query(NAME, &statement).expect("it is written");
    };
    reserve(&maria, 1, "2001:db8:1::a");
    reserve(&postgres, 2, "2001:db8:1::b");
    reserve(&postgres, 77, "2001:db8:1::1:0");
    let database_server = HostDatabaseServer::start(
        "dhcp6",
        Ipv6Addr::LOCALHOST.into(),
        &[entry(&maria, ""), entry(&postgres, "")],
        r#""interfaces-config": { "interfaces": [ "lo/::1" ] }, "server-id": { "type": "EN" },
           "subnet6": [ { "id": 1, "subnet": "2001:db8:1::/64",
                          "relay": { "ip-addresses": [ "::1" ] },
                          "pools": [ { "pool": "2001:db8:1::1:0 - 2001:db8:1::1:ff" } ] } ]"#,
    );
    assert_eq!(database_server.offered6(1).to_string(), "2001:db8:1::a");
    assert_eq!(database_server.offered6(2).to_string(), "2001:db8:1::b");
    assert_eq!(database_server.offered6(3).to_string(), "2001:db8:1::1:1");
    reserve(&postgres, 3, "2001:db8:1::c");
    assert!(waited_until(|| database_server.offered6(3).to_string() == "2001:db8:1::c"));
    database_server.server.stop();
}

#[test]
fn a_hosts_database_without_tables_is_one_clear_sentence() {
    let Some(maria) = database(DatabaseEngine::MariaDb, "current") else { return };
    maria.create("nothing").expect("a database can be made");
    let folder = TempFolder::new("hosts-nothing");
    let config = folder.path().join("kea.conf");
    let database = entry(&maria, "").replace(r#""name": "hosts""#, r#""name": "nothing""#);
    let text = format!(
        r#"{{ "Dhcp4": {{ "hosts-database": {database}, "interfaces-config":
            {{ "interfaces": [ "lo/127.0.0.1" ], "dhcp-socket-type": "udp" }},
            "lease-database": {{ "type": "memfile", "persist": false }} }} }}"#
    );
    fs::write(&config, text).expect("the test's folder can be written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
    crate::common::confine(&mut command, config.parent().expect("it lies in a folder"));
    let port = free_port().to_string();
    let output = run_bounded(command.args(["dhcp4", "-p", &port, "-c"]).arg(&config));
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("cannot connect to a hosts database: "), "{text}");
    assert!(text.contains("has no lease tables"), "{text}");
    assert!(!text.contains(PASSWORD), "{text}");
}
