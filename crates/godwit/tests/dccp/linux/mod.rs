//! Our DCCP with that of Linux 6.1, in a virtual machine: the own stack over IP at this end, the kernel's
//! sockets at the other. The same binary runs at both, there with `--carrier kernel`.
//!
//! One machine serves all parts. A sample of the cells is part of the test command. `cargo xtask dccp-linux` plays all of them;
//! `GODWIT_DCCP_LINUX_ROUNDS` says how often, `GODWIT_SIM_SEED` which cells the sample has.

mod conformance;
mod machine;

use std::fmt;
use std::io::{BufRead, BufReader, Read, read_to_string};
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use base::Random;

use crate::crash::from_environment;
use machine::{GUEST, HOST, Machine};

/// Datagrams of a cell, and octets of each.
const DATAGRAMS: usize = 400;
const OCTETS: usize = 256;
/// Cells in the test command.
const SAMPLE: usize = 6;
/// Datagrams that the kernel may lose on its own: its Sequence Window is 50 packets, and what is
/// outside of it is answered by a Sync and dropped (RFC 4340 §7.5.2 wants a wider one).
const KERNEL_DROPS_MAX: usize = 4;

/// Which end is the client and sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sender {
    Ours,
    Kernel,
}

/// What the path does, each way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Impairment {
    None,
    Loss,
    Reorder,
}

impl Impairment {
    /// For netem of Linux, tc-netem(8).
    const fn netem(self) -> &'static str {
        match self {
            Self::None => "delay 1ms",
            Self::Loss => "delay 10ms loss 1%",
            Self::Reorder => "delay 10ms reorder 3% 25% duplicate 2%",
        }
    }
}

/// One run between the two.
#[derive(Clone, Copy, Debug)]
struct Cell {
    sender: Sender,
    /// Of both directions; `None` where no flag says.
    ccid: Option<u8>,
    is_v6: bool,
    impairment: Impairment,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sender, ccid, is_v6, impairment } = self;
        let ccid = ccid.map_or("no CCID said".to_owned(), |ccid| format!("CCID {ccid}"));
        let family = if *is_v6 { "IPv6" } else { "IPv4" };
        write!(f, "sender {sender:?}, {ccid}, {family}, path {}", impairment.netem())
    }
}

fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for sender in [Sender::Ours, Sender::Kernel] {
        for ccid in [Some(2), Some(3), None] {
            for is_v6 in [false, true] {
                for impairment in [Impairment::None, Impairment::Loss, Impairment::Reorder] {
                    cells.push(Cell { sender, ccid, is_v6, impairment });
                }
            }
        }
    }
    cells
}

/// The datagram with a number: the number, then octets that follow from it.
fn datagram(number: u32) -> Vec<u8> {
    let pattern = (4..OCTETS as u32).map(|place| ((number + place) % 251) as u8);
    number.to_be_bytes().into_iter().chain(pattern).collect()
}

/// The numbers of the datagrams in what was received, in their order; every octet must be as sent.
fn numbers(received: &[u8]) -> Vec<u32> {
    let (datagrams, rest) = received.as_chunks::<OCTETS>();
    assert!(rest.is_empty(), "{} octets behind the last datagram", rest.len());
    let number = |octets: &[u8; OCTETS]| {
        let [a, b, c, d, ..] = *octets;
        let number = u32::from_be_bytes([a, b, c, d]);
        assert_eq!(octets[..], datagram(number)[..], "datagram {number} was altered");
        number
    };
    datagrams.iter().map(number).collect()
}

fn flags(cell: Cell) -> String {
    let ccid = cell.ccid.map_or(String::new(), |ccid| format!(" --ccid {ccid}"));
    let family = if cell.is_v6 { "-6" } else { "-4" };
    format!("{family} -p 5001{ccid}")
}

/// Plays a cell; the numbers of the datagrams that arrived.
fn play(machine: &mut Machine, cell: Cell) -> Vec<u32> {
    let netem = cell.impairment.netem();
    for device in ["eth0", "ifb0"] {
        machine.run(&format!("/bin/tc qdisc replace dev {device} root netem {netem} limit 10000"));
    }
    let family = usize::from(cell.is_v6);
    let flags = flags(cell);
    match cell.sender {
        Sender::Ours => {
            let command = format!("/godwit dccp recv /tmp/got --carrier kernel {flags}");
            machine.begin("recv", &command, "listening");
            let file = machine.folder.path().join("sent");
            let words = format!(
                "dccp send {} {} --carrier raw -l {OCTETS} {flags}",
                GUEST[family],
                file.display()
            );
            let output = ours(machine, &words).output().expect("the binary runs");
            let (code, printed) = machine.end("recv");
            assert!(output.status.success(), "{cell}: {output:?}; the kernel's end: {printed}");
            assert_eq!(code, 0, "{cell}: {printed}");
            numbers(&machine.read("/tmp/got"))
        }
        Sender::Kernel => {
            let file = machine.folder.path().join("got");
            let words = format!("dccp recv {} --carrier raw {flags}", file.display());
            let receiver = Receiver::start(machine, &words);
            let (code, printed) = machine.attempt(&format!(
                "/godwit dccp send {} /sent --carrier kernel -l {OCTETS} {flags}",
                HOST[family]
            ));
            assert_eq!(code, 0, "{cell}: {printed}");
            receiver.end();
            numbers(&std::fs::read(file).expect("recv wrote it"))
        }
    }
}

/// A process of the binary at this end that waits for a connection.
struct Receiver {
    child: Child,
    errors: BufReader<ChildStderr>,
}

impl Receiver {
    /// Starts it and waits until it listens.
    fn start(machine: &Machine, words: &str) -> Self {
        let mut command = ours(machine, words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        let mut errors = BufReader::with_capacity(1, child.stderr.take().expect("it is piped"));
        let mut line = String::new();
        errors.read_line(&mut line).expect("it is text");
        assert!(line.contains("istening"), "{line}");
        Self { child, errors }
    }

    /// Waits for its end, which must be a good one; what it printed to the standard output.
    fn end(mut self) -> Vec<u8> {
        let mut output = Vec::new();
        self.child.stdout.take().expect("it is piped").read_to_end(&mut output).expect("a pipe");
        let errors = read_to_string(&mut self.errors).unwrap_or_default();
        let status = self.child.wait().expect("it was started here");
        assert!(status.success(), "{status}: {errors}");
        output
    }

    /// Ends it.
    fn stop(mut self) {
        self.child.kill().expect("it was started here");
        self.child.wait().expect("it was started here");
    }
}

/// The binary at this end.
fn ours(machine: &Machine, words: &str) -> Command {
    let mut command = machine.here();
    command.arg(env!("CARGO_BIN_EXE_godwit")).args(words.split(' '));
    command
}

fn check(cell: Cell, received: &[u32]) {
    let mut distinct = received.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    if cell.sender == Sender::Kernel {
        assert_eq!(distinct.len(), received.len(), "{cell}: ours delivered a datagram twice");
    }
    let missing: Vec<u32> =
        (0..DATAGRAMS as u32).filter(|number| distinct.binary_search(number).is_err()).collect();
    let lost = missing.len();
    let lost_max = match (cell.impairment, cell.sender) {
        // Far more than 1 % of the packets would have to be lost.
        (Impairment::Loss, _) => DATAGRAMS / 8,
        (_, Sender::Ours) => KERNEL_DROPS_MAX,
        (_, Sender::Kernel) => 0,
    };
    assert!(lost <= lost_max, "{cell}: datagrams {missing:?} are missing");
}

/// A machine with the file that is sent, at both ends, and ingress that netem can impair.
fn machine() -> Option<Machine> {
    let sent: Vec<u8> = (0..DATAGRAMS as u32).flat_map(datagram).collect();
    let mut machine = Machine::start(&[("sent", &sent)])?;
    std::fs::write(machine.folder.path().join("sent"), &sent).expect("there is room");
    machine.run(
        "/bin/ip link set ifb0 up; /bin/tc qdisc add dev eth0 handle ffff: ingress; \
         /bin/tc filter add dev eth0 parent ffff: protocol all u32 match u32 0 0 \
         action mirred egress redirect dev ifb0",
    );
    Some(machine)
}

#[test]
fn our_dccp_and_that_of_linux_work_together() {
    let Some(mut machine) = machine() else { return };
    datagrams_travel_both_ways(&mut machine);
    for device in ["eth0", "ifb0"] {
        machine.run(&format!("/bin/tc qdisc replace dev {device} root pfifo"));
    }
    refusals_have_the_same_reason_at_both_ends(&mut machine);
    perf_counts_the_same_at_both_ends(&mut machine);
    conformance::the_verdict_of_each_case_is_known(&mut machine);
}

fn datagrams_travel_both_ways(machine: &mut Machine) {
    let rounds = from_environment("GODWIT_DCCP_LINUX_ROUNDS", 0);
    let mut chosen = cells();
    if rounds == 0 {
        let seed = from_environment("GODWIT_SIM_SEED", 1);
        println!("seed {seed}; all cells: cargo xtask dccp-linux");
        let mut random = Random::from_seed(seed);
        while chosen.len() > SAMPLE {
            chosen.swap_remove(random.below(chosen.len() as u64) as usize);
        }
    }
    for round in 0..rounds.max(1) {
        for cell in &chosen {
            let received = play(machine, *cell);
            println!("dccp-linux: round {round}, {cell}: {} of {DATAGRAMS}", received.len());
            check(*cell, &received);
        }
    }
}

/// What one end says of a connection that is refused, ours first or the kernel's.
fn refusals_have_the_same_reason_at_both_ends(machine: &mut Machine) {
    let [host, guest] = [HOST[0], GUEST[0]];
    let said = |output: Output| {
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };

    // Nobody listens, or for another service.
    let words = format!("dccp send {guest} /dev/null --carrier raw");
    let closed = said(ours(machine, &words).output().expect("the binary runs"));
    assert!(closed.contains("Reset code 3"), "{closed}");
    let command = "/godwit dccp recv /tmp/got --carrier kernel --service-code SC:ABCD --ccid 2";
    machine.begin("recv", command, "listening");
    let service = said(ours(machine, &words).output().expect("the binary runs"));
    assert!(service.contains("Reset code 8"), "{service}");
    // Another CCID than the only one there: either end ends it, and the message names the feature.
    let words = format!("{words} --service-code SC:ABCD --ccid 3");
    let ccid = said(ours(machine, &words).output().expect("the binary runs"));
    assert!(ccid.contains("CCID"), "{ccid}");
    machine.run("kill $(pidof godwit)");
    machine.end("recv");

    // The same from there: the kernel keeps what is behind the code.
    let listening = "dccp recv /dev/null --carrier raw --service-code SC:ABCD";
    let receiver = Receiver::start(machine, listening);
    let command = format!("/godwit dccp send {host} /sent --carrier kernel");
    let (code, service) = machine.attempt(&command);
    assert_eq!(code, 1, "{service}");
    assert!(service.contains("Reset code 8"), "{service}");
    let (code, closed) = machine.attempt(&format!("{command} -p 5009"));
    assert_eq!(code, 1, "{closed}");
    assert!(closed.contains("nobody listens") || closed.contains("no answer"), "{closed}");
    receiver.stop();
}

/// What both ends count of one run of `perf` agrees, whichever of them is the kernel.
fn perf_counts_the_same_at_both_ends(machine: &mut Machine) {
    let words = "-t 2 -b 400k -l 500 --json";
    for ccid in [2, 3] {
        let server = format!("dccp perf -s -1 --json --ccid {ccid}");
        machine.begin("perf", &format!("/godwit {server} --carrier kernel"), "listening");
        let command = format!("dccp perf -c {} {words} --carrier raw --ccid {ccid}", GUEST[0]);
        let client = ours(machine, &command).output().expect("the binary runs");
        let (code, printed) = machine.end("perf");
        assert_eq!((client.status.code(), code), (Some(0), 0), "{client:?}; {printed}");
        let start = printed.find('{').unwrap_or_else(|| panic!("no document in {printed}"));
        agree(&client.stdout, &printed.as_bytes()[start..], ccid);

        let receiver = Receiver::start(machine, &format!("{server} --carrier raw"));
        let command =
            format!("/godwit dccp perf -c {} {words} --carrier kernel --ccid {ccid}", HOST[0]);
        let (code, printed) = machine.attempt(&command);
        assert_eq!(code, 0, "{printed}");
        agree(printed.as_bytes(), &receiver.end(), ccid);
    }
}

/// Asserts that documents of a client, which sent, and of its server tell the same.
fn agree(client: &[u8], server: &[u8], ccid: u8) {
    let [client, server] = [client, server].map(super::document);
    for document in [&client, &server] {
        let count = |name: &str| super::number(document, &format!("/flows/0/directions/0/{name}"));
        assert_eq!(count("sent/datagrams") + count("sent/never_sent"), 200.0, "{document:#}");
        let read = count("received/datagrams");
        assert_eq!(read + count("received/lost"), count("sent/datagrams"), "{document:#}");
        assert!(read > 0.0, "{document:#}");
        assert_eq!(count("ccid"), f64::from(ccid), "{document:#}");
    }
    let carriers = [&client["carrier"], &server["carrier"]].map(|name| name.as_str().unwrap());
    assert!(carriers.contains(&"kernel") && carriers.contains(&"raw"), "{carriers:?}");
}
