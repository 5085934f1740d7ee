//! Partners that answer wrongly: each fault is one clear line in the log, and the server goes on:
//! it serves clients, answers commands, and needs no memory for what the partner sends.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use scenario::ScenarioFamily;

use super::large_copies::memory_mib;
use super::{PairMode, PairSetup, ServerPair};
use crate::common::{free_port, waited_until};
use crate::subjects::process::ServerMake;

/// Answer of the partner to each command.
#[derive(Clone, Copy, Debug)]
enum FaultyAnswer {
    /// These bytes, and then the end of the connection.
    Text(&'static str),
    /// A success of HTTP with this body.
    Body(&'static str),
    /// These bytes, and then letters without an end.
    Endless(&'static str),
    /// Nothing, but the connection stays open.
    Nothing,
}

/// Answers, each with a part of the line that the log has about it.
const FAULTS: [(FaultyAnswer, &str); 20] = [
    (FaultyAnswer::Text(""), "connection closed before message completed"),
    (FaultyAnswer::Text("\x16\x03\x03\r\n\r\n"), "invalid HTTP version"),
    (
        FaultyAnswer::Text("HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n"),
        "status 500 Internal Server Error",
    ),
    (FaultyAnswer::Text("HTTP/1.1 401 x\r\nContent-Length: 0\r\n\r\n"), "status 401 Unauthorized"),
    (
        FaultyAnswer::Text("HTTP/1.1 301 x\r\nContent-Length: 0\r\n\r\n"),
        "status 301 Moved Permanently",
    ),
    (
        FaultyAnswer::Text("HTTP/1.1 200 x\r\nContent-Length: 9\r\n\r\n[ ]"),
        "end of file before message length reached",
    ),
    (
        FaultyAnswer::Text("HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"),
        "Invalid chunk size line",
    ),
    (
        FaultyAnswer::Endless("HTTP/1.1 200 x\r\nContent-Length: 99999999999\r\n\r\n"),
        "more than 67108864 bytes",
    ),
    (FaultyAnswer::Endless("HTTP/1.1 200 x\r\nX: "), "message head is too large"),
    (FaultyAnswer::Nothing, "no answer within 2000 ms"),
    (FaultyAnswer::Body("hello"), "the answer is not JSON"),
    (FaultyAnswer::Body("[]"), "the answer has no map in a list"),
    (FaultyAnswer::Body("{ \"result\": 1, \"text\": \"broken\" }"), "the partner reports: broken"),
    (FaultyAnswer::Body("[ { \"text\": \"x\" } ]"), "the answer has no `result`"),
    (
        FaultyAnswer::Body("[ { \"result\": 1, \"text\": \"busy\" } ]"),
        "the partner answers 1: busy",
    ),
    (FaultyAnswer::Body("[ { \"result\": 0 } ]"), "the heartbeat has no `state`"),
    (
        FaultyAnswer::Body("[ { \"result\": 0, \"arguments\": { \"state\": \"flying\" } } ]"),
        "the heartbeat has the unknown state `flying`",
    ),
    (
        FaultyAnswer::Body("[ { \"result\": 0, \"arguments\": { \"state\": \"ready\" } } ]"),
        "the heartbeat has no `date-time`",
    ),
    (
        FaultyAnswer::Body(
            "[ { \"result\": 0, \"arguments\": { \"state\": \"ready\", \
             \"date-time\": \"noon\" } } ]",
        ),
        "the heartbeat has the bad time `noon`",
    ),
    (
        FaultyAnswer::Body(
            "[ { \"result\": 0, \"arguments\": { \"state\": \"ready\", \"date-time\": \
             \"Mon, 30 Nov 2026 12:00:00 GMT\", \"unsent-update-count\": -1 } } ]",
        ),
        "`unsent-update-count` is not an integer",
    ),
];

/// Partner that answers as the test demands.
struct BadPartner {
    port: u16,
    answer: Arc<Mutex<FaultyAnswer>>,
    /// Number of commands that have come.
    commands: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
}

impl BadPartner {
    fn new() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has ports");
        let port = listener.local_addr().expect("it is bound").port();
        let partner = Self {
            port,
            answer: Arc::new(Mutex::new(FaultyAnswer::Nothing)),
            commands: Arc::default(),
            is_over: Arc::default(),
        };
        let (answer, commands) = (Arc::clone(&partner.answer), Arc::clone(&partner.commands));
        let is_over = Arc::clone(&partner.is_over);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if is_over.load(Ordering::Acquire) {
                    return;
                }
                let answer = *answer.lock().unwrap();
                let (commands, is_over) = (Arc::clone(&commands), Arc::clone(&is_over));
                thread::spawn(move || serve(stream, answer, &commands, &is_over));
            }
        });
        partner
    }
}

impl Drop for BadPartner {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        // The thread that accepts connections sees the end.
        TcpStream::connect(("127.0.0.1", self.port)).ok();
    }
}

/// Reads the beginning of a command, and answers it.
fn serve(
    mut stream: TcpStream,
    answer: FaultyAnswer,
    commands: &AtomicUsize,
    is_over: &AtomicBool,
) {
    let mut octets = [0; 16 << 10];
    if stream.read(&mut octets).is_err() {
        return;
    }
    commands.fetch_add(1, Ordering::AcqRel);
    let text = match answer {
        FaultyAnswer::Text(text) => text.to_owned(),
        FaultyAnswer::Body(body) => {
            format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
        }
        FaultyAnswer::Endless(text) => {
            let mut is_sent = stream.write_all(text.as_bytes());
            while is_sent.is_ok() && !is_over.load(Ordering::Acquire) {
                is_sent = stream.write_all(&[b'a'; 64 << 10]);
            }
            return;
        }
        FaultyAnswer::Nothing => {
            stream.set_read_timeout(Some(Duration::from_millis(50))).ok();
            while !is_over.load(Ordering::Acquire) {
                match stream.read(&mut octets) {
                    Ok(0) => return,
                    Err(error) if matches!(error.kind(), ErrorKind::WouldBlock) => {}
                    _ => return,
                }
            }
            return;
        }
    };
    stream.write_all(text.as_bytes()).ok();
}

/// Returns the lines of the server's log after the first `from` bytes about failures to reach the
/// partner.
fn failures(pair: &ServerPair, from: usize) -> Vec<String> {
    let log = pair.servers[0].log();
    let lines = log.get(from..).unwrap_or_default().lines();
    let is_failure = |line: &&str| line.contains("HA_HEARTBEAT_COMMUNICATIONS_FAILED");
    lines.filter(is_failure).map(str::to_owned).collect()
}

/// A server goes on while its partner makes each of the faults in turn.
fn faults_of_a_partner_are_one_line_each(family: ScenarioFamily) {
    let partner = BadPartner::new();
    let mode = PairMode::HotStandby;
    let ports = vec![free_port(), partner.port];
    let make = ServerMake::Godwit;
    let mut server = PairSetup::new(family, mode, 2_000).start_server(0, make, &ports);
    let client_ports = vec![server.give_up_client_port()];
    let (servers, makes, links) = (vec![server], vec![make], Vec::new());
    let (runs, network) = (0, None);
    let mut pair =
        ServerPair { servers, makes, family, mode, ports, client_ports, links, runs, network };
    pair.wait_for(0, ["partner-down", "unavailable"]);
    let before_mib = memory_mib(pair.servers[0].pid());
    for (answer, text) in FAULTS {
        let from = pair.servers[0].log().len();
        *partner.answer.lock().unwrap() = answer;
        let mut lines = Vec::new();
        // A command that was under way may end with the fault before.
        let has_come = waited_until(|| {
            lines = failures(&pair, from);
            lines.iter().any(|line| line.contains(text))
        });
        assert!(has_come, "{answer:?}: {lines:?}");
        // Further commands with the same fault have no line.
        let commands = partner.commands.load(Ordering::Acquire);
        assert!(waited_until(|| partner.commands.load(Ordering::Acquire) > commands + 1));
        let lines = failures(&pair, from);
        let of_fault = lines.iter().filter(|line| line.contains(text)).count();
        assert!(of_fault == 1 && lines.len() <= 2, "{answer:?}: {lines:?}");
        assert_eq!(pair.states(0)[0], "partner-down", "{answer:?}");
    }
    pair.clients(0);
    let growth_mib = memory_mib(pair.servers[0].pid()).saturating_sub(before_mib);
    assert!(growth_mib < 300, "{growth_mib} MiB more");
}

#[test]
fn faults_of_a_dhcpv4_partner_are_one_line_each() {
    faults_of_a_partner_are_one_line_each(ScenarioFamily::V4);
}

#[test]
fn faults_of_a_dhcpv6_partner_are_one_line_each() {
    faults_of_a_partner_are_one_line_each(ScenarioFamily::V6);
}
