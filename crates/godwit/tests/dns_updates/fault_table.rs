//! Faults of DNS servers, for the updater as a process and for the one inside the DHCPv4 server:
//! each has one line in the log and a counter, requests wait, and leases do not.

use std::collections::VecDeque;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;

use dhcp_wire::v4::Message;
use scenario::ScenarioFamily;
use serde_json::{Value, json};

use super::life::addition;
use super::sender::{ZONES, message};
use super::servers::{DnsServerProcess, KEYS};
use super::updater::{UpdaterMake, UpdaterProcess};
use crate::common::{PATIENCE, TempFolder, free_port, require, waited_until};
use crate::subjects::process::{Daemon, ServerMake, Setup};

/// Identifier of the line about a zone whose servers take no updates.
const PAUSED: &str = "DHCP_DDNS_ZONE_PAUSED";

/// Number of datagrams by which a slow server's answers are late: more than both updaters have
/// under way, so that the oldest attempt is over when so many have come after it.
const LATE_BY: usize = 16;

/// Octets 2 and 3 of the header of a complete answer without an error, besides the flag QR.
const COMPLETE: [u8; 2] = [0, 0];

/// Conduct of a DNS server of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum ServerConduct {
    /// Carries every update out, as far as its answers say.
    Good,
    /// Answers when the updater has given the attempt up: an update with the answer to the one
    /// [`LATE_BY`] datagrams before it.
    Slow,
    /// Answers REFUSED.
    Refusing,
    /// Answers NOTAUTH: the server does not have the zone.
    WithoutZone,
    /// Cuts its answers to datagrams.
    Truncating,
}

impl ServerConduct {
    const ALL: [Self; 5] =
        [Self::Good, Self::Slow, Self::Refusing, Self::WithoutZone, Self::Truncating];

    /// Returns the octets 2 and 3 of an answer's header that say this, besides those of a complete
    /// one: the flag TC, and the response code.
    const fn header_octets(self) -> [u8; 2] {
        match self {
            Self::Good | Self::Slow => COMPLETE,
            Self::Refusing => [0, 5],
            Self::WithoutZone => [0, 9],
            Self::Truncating => [2, 0],
        }
    }
}

/// DNS server whose conduct a test changes.
struct FaultyDnsServer {
    port: u16,
    conduct: Arc<AtomicU8>,
}

fn answer(update: &[u8], [flags, code]: [u8; 2]) -> Vec<u8> {
    let mut answer = update[..12].to_vec();
    answer[2] |= 0x80 | flags;
    answer[3] = code;
    answer[4..12].fill(0);
    answer
}

impl FaultyDnsServer {
    fn start(conduct: ServerConduct) -> Self {
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has ports");
        let address = udp.local_addr().expect("it is bound");
        let tcp = TcpListener::bind(address).expect("the port is free over TCP, too");
        let shared = Arc::new(AtomicU8::new(conduct as u8));
        let conduct = Arc::clone(&shared);
        thread::spawn(move || serve_datagrams(&udp, &conduct));
        thread::spawn(move || {
            for stream in tcp.incoming() {
                let mut stream = stream.expect("a client connects");
                let mut len = [0; 2];
                stream.read_exact(&mut len).expect("the updater sends");
                let mut update = vec![0; usize::from(u16::from_be_bytes(len))];
                stream.read_exact(&mut update).expect("the updater sends");
                let answer = answer(&update, COMPLETE);
                let len = (answer.len() as u16).to_be_bytes();
                stream.write_all(&[&len[..], &answer].concat()).expect("the updater reads");
            }
        });
        Self { port: address.port(), conduct: shared }
    }

    fn mend(&self) {
        self.conduct.store(ServerConduct::Good as u8, Ordering::Relaxed);
    }
}

fn serve_datagrams(udp: &UdpSocket, conduct: &AtomicU8) {
    let mut buffer = [0; 2_048];
    let mut late: VecDeque<(Vec<u8>, SocketAddr)> = VecDeque::new();
    while let Ok((len, from)) = udp.recv_from(&mut buffer) {
        let conduct = ServerConduct::ALL[usize::from(conduct.load(Ordering::Relaxed))];
        let answer = answer(&buffer[..len], conduct.header_octets());
        let due = match conduct {
            ServerConduct::Slow => {
                late.push_back((answer, from));
                if late.len() > LATE_BY { late.pop_front() } else { None }
            }
            _ => Some((answer, from)),
        };
        if let Some((answer, to)) = due {
            udp.send_to(&answer, to).expect("loopback sends");
        }
    }
}

/// Settings of an updater with the zones of the tests at a DNS server; updates are signed if there
/// is the file of a secret.
fn zones(port: u16, secret_file: Option<&str>) -> Value {
    let server = json!({ "ip-address": "127.0.0.1", "port": port });
    let key = KEYS.iter().find(|key| key.name == "sha256").expect("the key is in the list");
    let name = secret_file.map_or("", |_| key.name);
    let domains = |zone: usize| {
        json!({ "ddns-domains": [ { "name": ZONES[zone].name, "key-name": name,
                                    "dns-servers": [ server ] } ] })
    };
    let keys = secret_file.map(
        |secret| json!({ "name": key.name, "algorithm": key.algorithm, "secret-file": secret }),
    );
    json!({
        "dns-server-timeout": 100, "tsig-keys": keys.into_iter().collect::<Vec<_>>(),
        "forward-ddns": domains(0), "reverse-ddns": domains(1),
    })
}

/// Updater of a test, with the log and the counters that an operator sees.
enum TestedUpdater {
    Process(UpdaterProcess),
    Inside(Box<Daemon>),
}

impl TestedUpdater {
    /// Starts both kinds of updaters with the settings `settings`.
    fn start_both(folder: &TempFolder, settings: &Value) -> [Self; 2] {
        let port = free_port();
        let mut own = settings.clone();
        for (key, value) in [
            ("ip-address", json!("127.0.0.1")),
            ("port", json!(port)),
            ("control-socket", json!({ "socket-type": "unix", "socket-name": "ddns.sock" })),
            (
                "loggers",
                json!([ { "name": "kea-dhcp-ddns", "severity": "INFO",
                          "output-options": [ { "output": "ddns.log" } ] } ]),
            ),
        ] {
            own[key] = value;
        }
        let own = json!({ "DhcpDdns": own });
        let mut process = UpdaterProcess::new(UpdaterMake::Godwit, folder, port, &own);
        process.start();
        let config = format!(
            r#""valid-lifetime": 4000, "ddns-qualifying-suffix": "example.",
               "dhcp-ddns": {{ "enable-updates": true }},
               "user-context": {{ "godwit": {{ "ddns": {settings} }} }},
               "subnet4": [ {{ "id": 1, "subnet": "10.1.0.0/16",
                               "pools": [ {{ "pool": "10.1.1.0 - 10.1.1.250" }} ] }} ]"#
        );
        let family = ScenarioFamily::V4;
        let setup =
            Setup { family, config: &config, has_commands: true, persists: true, link: None };
        let inside = Daemon::start(ServerMake::Godwit, setup, 0, PATIENCE)
            .unwrap_or_else(|why| panic!("the server does not start: {why}"));
        // The comparison at the start asks once more for the names of leases that it finds.
        let is_compared = || inside.log().contains("DHCPSRV_DDNS_LEASES_COMPARED");
        assert!(waited_until(is_compared), "{}", inside.log());
        [Self::Process(process), Self::Inside(Box::new(inside))]
    }

    /// Requests the names of five clients. The server inside gives them leases, which do not wait.
    fn request_names(&self) {
        for client in 1..=5 {
            match self {
                Self::Process(process) => {
                    let address = Ipv4Addr::new(10, 1, 1, client).into();
                    let name = format!("host-{client}.example.");
                    process.send(&addition(&name, address, client.into()));
                }
                Self::Inside(server) => {
                    let request = message(Some("host"), client);
                    let xid = Message::parse(&request).expect("it is ours").xid();
                    let is_reply =
                        |reply: &[u8]| Message::parse(reply).is_ok_and(|reply| reply.xid() == xid);
                    server.exchange_all(&[], &request, &is_reply).expect("a reply");
                }
            }
        }
    }

    fn log(&self) -> String {
        match self {
            Self::Process(process) => process.log(),
            Self::Inside(server) => server.log(),
        }
    }

    /// Returns the number of lines of the log with `text`.
    fn lines(&self, text: &str) -> usize {
        self.log().lines().filter(|line| line.contains(text)).count()
    }

    /// Returns the value of a counter, by the name of the process's statistic.
    fn counter(&self, name: &str) -> u64 {
        let server = match self {
            Self::Process(process) => return process.statistic(name),
            Self::Inside(server) => server,
        };
        let reason = if name == "request-completed" { "completed" } else { name };
        let mut stream = UnixStream::connect(server.control_path()).expect("it listens");
        let get = b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        stream.write_all(get).expect("the server reads");
        let mut page = String::new();
        stream.read_to_string(&mut page).expect("the server answers");
        let metric = format!("godwit_name_changes_total{{family=\"dhcp4\",reason=\"{reason}\"}} ");
        let value = page.lines().find_map(|line| line.strip_prefix(&metric));
        value.unwrap_or_else(|| panic!("no {metric}in {page}")).parse().expect("it is a number")
    }

    /// Waits for the line `line` and for `counter`, and checks that there is one line only.
    fn expect_fault(&self, line: &str, counter: &str) {
        assert!(waited_until(|| self.lines(line) > 0), "no {line} in\n{}", self.log());
        assert!(waited_until(|| self.counter(counter) > 0), "no {counter}\n{}", self.log());
        assert_eq!(self.lines(line), 1, "{}", self.log());
    }

    fn end(self) {
        match self {
            Self::Process(mut process) => process.stop(),
            Self::Inside(mut server) => server.end().expect("it ends"),
        }
    }
}

#[test]
fn a_server_that_is_slow_refuses_or_lacks_the_zone_has_a_line_and_a_counter() {
    for (conduct, line, counter) in [
        (ServerConduct::Slow, "takes updates: there is no answer", "update-timeout"),
        (ServerConduct::Refusing, "takes updates: the server answers REFUSED", "update-refused"),
        (ServerConduct::WithoutZone, "takes updates: the server answers NOTAUTH", "update-refused"),
    ] {
        let server = FaultyDnsServer::start(conduct);
        let folder = TempFolder::new("ddns-faults");
        let updaters = TestedUpdater::start_both(&folder, &zones(server.port, None));
        for updater in &updaters {
            updater.request_names();
            updater.expect_fault(line, counter);
            assert_eq!(updater.counter("request-completed"), 0, "{conduct:?}");
        }
        server.mend();
        for updater in updaters {
            let is_done = || updater.counter("request-completed") == 5;
            assert!(waited_until(is_done), "{conduct:?}: {}", updater.log());
            assert_eq!(updater.lines(PAUSED), 1, "{conduct:?}: {}", updater.log());
            assert_eq!(updater.lines("DHCP_DDNS_ZONE_RESUMED"), 1, "{conduct:?}");
            updater.end();
        }
    }
}

#[test]
fn a_server_that_is_down_has_a_line_and_a_counter() {
    let folder = TempFolder::new("ddns-faults");
    for updater in TestedUpdater::start_both(&folder, &zones(free_port(), None)) {
        updater.request_names();
        updater.expect_fault("takes updates: there is no answer", "update-timeout");
        updater.end();
    }
}

#[test]
fn a_server_that_cuts_answers_has_a_line_and_a_counter() {
    let server = FaultyDnsServer::start(ServerConduct::Truncating);
    let folder = TempFolder::new("ddns-faults");
    for updater in TestedUpdater::start_both(&folder, &zones(server.port, None)) {
        updater.request_names();
        let is_done = || updater.counter("request-completed") == 5;
        assert!(waited_until(is_done), "{}", updater.log());
        updater.expect_fault("DHCP_DDNS_ANSWER_TRUNCATED", "update-truncated");
        assert_eq!(updater.lines(PAUSED), 0, "{}", updater.log());
        updater.end();
    }
}

#[test]
fn a_wrong_key_has_a_line_and_a_counter() {
    if !require(&["named"]) {
        return;
    }
    let folder = TempFolder::new("ddns-faults");
    let mut server = DnsServerProcess::bind(&folder, free_port(), &ZONES);
    server.start();
    let secret = folder.path().join("secret");
    fs::write(&secret, "b3RoZXIgc2VjcmV0IHRoYW4gdGhlcmU=").expect("the folder is ours");
    let settings = zones(server.port, Some(&secret.display().to_string()));
    for updater in TestedUpdater::start_both(&folder, &settings) {
        updater.request_names();
        let line = "takes updates: the server refuses the key: BADSIG";
        updater.expect_fault(line, "update-error");
        updater.end();
    }
}
