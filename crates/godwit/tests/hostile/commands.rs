//! Tests of hostile commands over the unix socket and over HTTP: the server ends every connection,
//! survives, and answers honest commands all the time.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use base::Random;
use serde_json::{Value, json};

use crate::common::{PATIENCE, ServerProcess, TempFolder, configuration, free_port};
use crate::crash::from_environment;

/// Number of hostile commands in the test command, unless `GODWIT_HOSTILE_COMMANDS` sets another.
const COMMANDS: u64 = 1_500;
/// Number of hostile commands between two honest ones.
const BURST: u64 = 25;
/// Commands that end the server, or replace the configuration that the test needs, by design.
const LEFT_OUT: [&str; 2] = ["shutdown", "config-set"];
/// Libraries that add commands.
const HOOKS: [&str; 5] = ["class_cmds", "host_cmds", "lease_cmds", "stat_cmds", "subnet_cmds"];
/// Values that replace arguments.
const VALUES: [&str; 20] = [
    "null",
    "true",
    "-1",
    "4294967295",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "\"2001:db8::ffff:ffff:ffff:ffff/129\"",
    "1e400",
    "\"\"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\"127.0.0.1/999\"",
    "\"2001:db8::1\"",
    "[]",
    "[[[[[[[[]]]]]]]]",
    "{}",
    "{\"\": null}",
    "{\"ip-address\": \"127.1.0.1\", \"hw-address\": \"zz\"}",
    "[1, \"a\", null, {\"x\": []}]",
];
/// Names that commands take as arguments.
const ARGUMENTS: [&str; 14] = [
    "ip-address",
    "subnet-id",
    "subnets",
    "limit",
    "from",
    "identifier-type",
    "identifier",
    "type",
    "filename",
    "name",
    "reservation",
    "leases",
    "operation-target",
    "Dhcp4",
];

/// Sockets of a server.
struct ControlSocketAddresses {
    unix: PathBuf,
    http_port: u16,
}

impl ControlSocketAddresses {
    /// Sends `octets` to the unix socket, and returns the answer up to the end of the connection.
    fn ask_unix(&self, octets: &[u8]) -> Vec<u8> {
        let mut stream = UnixStream::connect(&self.unix).expect("the server takes commands");
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // A refusal may come before all data is written.
        let _ = stream.write_all(octets);
        let _ = stream.shutdown(Shutdown::Write);
        read_to_end(&mut stream)
    }

    /// Sends `octets` over HTTP and returns the answer. A server need not answer a client that has
    /// ended its side, so only an incomplete request ends its side.
    fn ask_http(&self, octets: &[u8], is_whole: bool) -> Vec<u8> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.http_port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let _ = stream.write_all(octets);
        if !is_whole {
            let _ = stream.shutdown(Shutdown::Write);
        }
        read_to_end(&mut stream)
    }

    /// Sends an honest command to each socket, and returns the names of all commands.
    fn honest(&self) -> Vec<String> {
        let body = json!({ "command": "list-commands" }).to_string();
        let answer = self.ask_unix(body.as_bytes());
        let answer: Value = serde_json::from_slice(&answer).expect("an answer is JSON");
        assert_eq!(answer["result"], 0, "{answer}");
        let by_http = self.ask_http(&request(body.as_bytes()), true);
        let text = String::from_utf8_lossy(&by_http);
        assert!(text.starts_with("HTTP/1.1 200") && text.contains("version-get"), "{text}");
        let names = answer["arguments"].as_array().expect("a list of names");
        let names = names.iter().filter_map(|name| Some(name.as_str()?.to_owned()));
        names.filter(|name| !LEFT_OUT.contains(&name.as_str())).collect()
    }
}

/// Reads until the server ends the connection, possibly by a reset.
fn read_to_end(stream: &mut impl Read) -> Vec<u8> {
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Err(e) if e.kind() == ErrorKind::WouldBlock => panic!("the connection is not ended"),
        _ => answer,
    }
}

fn request(body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn one_of<T: Copy>(random: &mut Random, values: &[T]) -> T {
    values[random.below(values.len() as u64) as usize]
}

/// Returns one of the commands `names`, with arguments that it may or may not have, of any type.
fn body(random: &mut Random, names: &[String]) -> Vec<u8> {
    let name = &names[random.below(names.len() as u64) as usize];
    let arguments: Vec<String> = (0..random.below(5))
        .map(|_| format!("\"{}\": {}", one_of(random, &ARGUMENTS), one_of(random, &VALUES)))
        .collect();
    let arguments = match random.below(6) {
        0 => one_of(random, &VALUES).to_owned(),
        _ => format!("{{ {} }}", arguments.join(", ")),
    };
    format!("{{ \"command\": \"{name}\", \"arguments\": {arguments} }}").into_bytes()
}

/// Damages some bytes of a command, or none.
fn damage(random: &mut Random, octets: &mut Vec<u8>) {
    for _ in 0..random.below(4) {
        let at = random.below(octets.len() as u64) as usize;
        match random.below(5) {
            0 => octets[at] = random.next_u64() as u8,
            1 => octets[at] ^= 1 << random.below(8),
            2 => octets.truncate(at.max(1)),
            3 => octets.splice(at..at, b"[".repeat(random.below(3_000) as usize)).for_each(drop),
            _ => {
                let copy = octets[at..].to_vec();
                octets.extend(copy);
            }
        }
    }
}

#[test]
fn hostile_commands_do_no_harm() {
    let count = from_environment("GODWIT_HOSTILE_COMMANDS", COMMANDS);
    let seed = from_environment("GODWIT_SIM_SEED", 1);
    println!(
        "seed {seed}; repeat with: GODWIT_SIM_SEED={seed} GODWIT_HOSTILE_COMMANDS={count} \
         cargo test -p godwit --test main hostile::commands::"
    );
    let folder = TempFolder::new("hostile-commands");
    let config = configuration(folder.path(), "always", 2);
    let sockets =
        ControlSocketAddresses { unix: folder.path().join("socket"), http_port: free_port() };
    let entries = json!([
        { "socket-type": "unix", "socket-name": sockets.unix },
        { "socket-type": "http", "socket-address": "127.0.0.1", "socket-port": sockets.http_port },
    ]);
    let text = fs::read_to_string(&config).unwrap();
    let hooks = HOOKS.map(|name| json!({ "library": format!("libdhcp_{name}.so") }));
    let hooks = json!(hooks);
    let key =
        format!("\"control-sockets\": {entries}, \"hooks-libraries\": {hooks}, \"valid-lifetime\"");
    fs::write(&config, text.replacen("\"valid-lifetime\"", &key, 1)).unwrap();
    let mut server = ServerProcess::start(&config, folder.path());
    let names = sockets.honest();
    for family in ["lease4-get", "reservation-get", "subnet4-get", "class-get", "stat-lease4-get"] {
        assert!(names.iter().any(|name| name == family), "{family} is not among {names:?}");
    }
    let mut random = Random::from_seed(seed);
    let (mut answered, mut carried_out) = (0_u64, 0_u64);
    for number in 0..count {
        let mut octets = body(&mut random, &names);
        let answer = if random.below(2) == 0 {
            damage(&mut random, &mut octets);
            sockets.ask_unix(&octets)
        } else {
            let mut octets = request(&octets);
            let is_whole = random.below(2) == 0;
            if !is_whole {
                damage(&mut random, &mut octets);
            }
            sockets.ask_http(&octets, is_whole)
        };
        let text = String::from_utf8_lossy(&answer);
        answered += u64::from(!answer.is_empty());
        carried_out += u64::from(text.contains("\"result\": 0") || text.contains("\"result\":0"));
        assert!(!server.has_ended(), "{}", server.log());
        if number % BURST == 0 {
            sockets.honest();
        }
    }
    sockets.honest();
    // A failure that the server contained makes this stop fail.
    server.stop();
    println!("{count} commands: {answered} answered, {carried_out} carried out");
    let is_plausible = answered * 2 > count && carried_out * 50 > count;
    assert!(count < 1_000 || is_plausible, "{answered} {carried_out}");
}
