//! Goodput of both stacks over one machine: from Godwit to Linux, from Linux to Godwit, and from
//! Linux to itself, in turn, over paths that lose packets in the direction of the data.

use measure::statistics::{ratio_of_means, trimmed_interval};

use super::machine::{GUEST, HOST, VirtualMachine};
use super::process::{HostDccpProcess, ours};
use crate::dccp::{document, number};

/// Bytes of a datagram: the space that Linux leaves next to its options in a packet of 1,500 bytes.
const OCTETS: usize = 1_392;
/// Queue length that makes a sender behave like a UDP sender.
const QUEUE: &str = "--set tx_qlen=5";
/// Seconds of a run, and of a run that only shows that the command works.
const RUN_S: u32 = 45;
const SHORT_RUN_S: u32 = 3;
/// Addresses of the second and the third interface of the machine, which are joined. The third is
/// in a namespace of its own, with this name.
const INNER: [&str; 2] = ["10.34.0.1", "10.34.0.2"];
const INNER_MAC: [&str; 2] = ["02:67:77:34:00:01", "02:67:77:34:00:02"];
const PEER: &str = "peer";

/// Returns the arguments of QEMU for two interfaces joined by a wire.
pub(super) fn interfaces() -> Vec<String> {
    let mut arguments = Vec::new();
    for (name, mac) in ["inner1", "inner2"].into_iter().zip(INNER_MAC) {
        arguments.extend(["-netdev".to_owned(), format!("hubport,id={name},hubid=1")]);
        let device = format!("virtio-net-pci,netdev={name},mac={mac}");
        arguments.extend(["-device".to_owned(), device]);
    }
    arguments
}

/// Stacks at the sending and the receiving end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GoodputEnds {
    OursToLinux,
    LinuxToOurs,
    LinuxToLinux,
}

impl GoodputEnds {
    const ALL: [Self; 3] = [Self::OursToLinux, Self::LinuxToOurs, Self::LinuxToLinux];

    const fn words(self) -> &'static str {
        match self {
            Self::OursToLinux => "ours to Linux",
            Self::LinuxToOurs => "Linux to ours",
            Self::LinuxToLinux => "Linux to Linux",
        }
    }

    /// Returns the interfaces of the machine through which data leaves its link, and through which
    /// acknowledgements do.
    const fn devices(self) -> [&'static str; 2] {
        match self {
            Self::OursToLinux => ["ifb0", "eth0"],
            Self::LinuxToOurs => ["eth0", "ifb0"],
            Self::LinuxToLinux => ["eth1", "eth2"],
        }
    }
}

/// Path with its round-trip time in milliseconds, and its loss in percent.
#[derive(Clone, Copy, Debug)]
struct GoodputPath {
    round_trip_ms: u32,
    loss_percent: u32,
}

const PATHS: [GoodputPath; 2] = [
    GoodputPath { round_trip_ms: 40, loss_percent: 1 },
    GoodputPath { round_trip_ms: 150, loss_percent: 10 },
];

/// Measures all paths and ends in `rounds` rounds, and calls `say` for each run and finally for the
/// table.
pub(super) fn compare(
    machine: &mut VirtualMachine,
    rounds: u64,
    is_short: bool,
    say: &dyn Fn(&str),
) -> String {
    join(machine);
    let seconds = if is_short { SHORT_RUN_S } else { RUN_S };
    let rows: Vec<(GoodputPath, u8)> =
        PATHS.into_iter().flat_map(|path| [3, 2].map(|ccid| (path, ccid))).collect();
    let mut rates = vec![[const { Vec::new() }; GoodputEnds::ALL.len()]; rows.len()];
    let mut round_trips = rates.clone();
    for round in 0..rounds {
        for (row, &(path, ccid)) in rows.iter().enumerate() {
            for turn in 0..GoodputEnds::ALL.len() {
                // Rotate, so that no ends are always first.
                let column = (turn + round as usize) % GoodputEnds::ALL.len();
                let ends = GoodputEnds::ALL[column];
                let run = measure(machine, path, ccid, ends, seconds);
                let rtt = run.rtt_ms.map(|rtt_ms| format!(", rtt {rtt_ms:.1} ms"));
                say(&format!(
                    "goodput: {}, {}: {:.0} kbit/s{}",
                    title(path, ccid),
                    ends.words(),
                    run.kbit_per_s,
                    rtt.unwrap_or_default()
                ));
                rates[row][column].push(run.kbit_per_s);
                round_trips[row][column].extend(run.rtt_ms);
            }
        }
    }
    for (((path, ccid), rates), round_trips) in rows.iter().zip(&rates).zip(&round_trips) {
        say(&format!("goodput of {rounds} rounds of {seconds} s: {}", title(*path, *ccid)));
        for ((ends, of_ends), rtt_ms) in GoodputEnds::ALL.into_iter().zip(rates).zip(round_trips) {
            let rtt = trimmed_interval(rtt_ms, 0).map(|rtt| format!("; rtt {:.1} ms", rtt.mean));
            let described = described(of_ends, &rates[2]);
            say(&format!("  {:<15}{described}{}", ends.words(), rtt.unwrap_or_default()));
        }
    }
    let least = rates.iter().flatten().flatten().copied().fold(f64::INFINITY, f64::min);
    assert!(least > 0.0, "nothing arrived in a run: {rates:?}");
    format!("{} runs", rates.iter().flatten().map(Vec::len).sum::<usize>())
}

fn title(path: GoodputPath, ccid: u8) -> String {
    let GoodputPath { round_trip_ms, loss_percent } = path;
    format!("{loss_percent} % lost, {round_trip_ms} ms, CCID {ccid}")
}

/// Returns the mean with its 95 % interval, the ratio to Linux with itself, and every run.
fn described(rates: &[f64], of_linux: &[f64]) -> String {
    let Some(mean) = trimmed_interval(rates, 0) else { return String::new() };
    let runs: Vec<String> = rates.iter().map(|rate| format!("{rate:.0}")).collect();
    let mut text = format!("{:>6.0} kbit/s", mean.mean);
    if mean.has_interval() {
        text += &format!(" [{:.0}, {:.0}]", mean.low, mean.high);
    }
    if let Some(ratio) = ratio_of_means(rates, of_linux, 0) {
        text += &format!(", {:.2}", ratio.ratio);
        if mean.has_interval() {
            text += &format!(" [{:.2}, {:.2}]", ratio.low, ratio.high);
        }
        text += " of Linux";
    }
    format!("{text}; runs: {}", runs.join(", "))
}

/// Joins the second interface of the machine to the third.
fn join(machine: &mut VirtualMachine) {
    machine.run(&format!(
        "mkdir -p /var/run; /bin/ip netns add {PEER} && /bin/ip link set eth2 netns {PEER} && \
         /bin/ip addr add {client}/24 dev eth1 && /bin/ip link set eth1 up && \
         /bin/ip neigh replace {server} lladdr {server_mac} dev eth1 nud permanent && \
         /bin/ip -n {PEER} addr add {server}/24 dev eth2 && /bin/ip -n {PEER} link set eth2 up && \
         /bin/ip -n {PEER} link set lo up && \
         /bin/ip -n {PEER} neigh replace {client} lladdr {client_mac} dev eth2 nud permanent",
        client = INNER[0],
        server = INNER[1],
        client_mac = INNER_MAC[0],
        server_mac = INNER_MAC[1],
    ));
}

/// Sets up the path: half of the delay in each direction, the loss in the direction of the data.
fn impair(machine: &mut VirtualMachine, path: GoodputPath, ends: GoodputEnds) {
    let GoodputPath { round_trip_ms, loss_percent } = path;
    let losses = [format!(" loss {loss_percent}%"), String::new()];
    for (device, loss) in ends.devices().into_iter().zip(losses) {
        let tc = if device == "eth2" { format!("/bin/tc -n {PEER}") } else { "/bin/tc".to_owned() };
        machine.run(&format!(
            "{tc} qdisc del dev {device} root 2>/dev/null; {tc} qdisc add dev {device} root netem \
             delay {}ms{loss} limit 10000",
            round_trip_ms / 2
        ));
    }
}

/// Rate and round-trip time of a run.
#[derive(Clone, Copy, Debug)]
struct GoodputRun {
    /// Rate that the receiver read, in kbit/s.
    kbit_per_s: f64,
    /// Last round-trip time that the sender measured; `None` if it reports none, as Linux with CCID
    /// 2.
    rtt_ms: Option<f64>,
}

/// Measures a run.
fn measure(
    machine: &mut VirtualMachine,
    path: GoodputPath,
    ccid: u8,
    ends: GoodputEnds,
    seconds: u32,
) -> GoodputRun {
    impair(machine, path, ends);
    let server = format!("dccp perf -s -1 --plain --json --ccid {ccid}");
    let client = |host: &str| {
        format!(
            "dccp perf -c {host} --plain --json --ccid {ccid} -l {OCTETS} {QUEUE} -t {seconds} -i 1"
        )
    };
    let (sent, received) = match ends {
        GoodputEnds::OursToLinux => {
            machine.begin("perf", &format!("/godwit {server} --carrier kernel"), "listening");
            let words = format!("{} --carrier raw", client(GUEST[0]));
            let output = ours(machine, &words).output().expect("the binary runs");
            assert!(output.status.success(), "{output:?}");
            (output.stdout, machine.end("perf").1.into_bytes())
        }
        GoodputEnds::LinuxToOurs => {
            let receiver = HostDccpProcess::start(machine, &format!("{server} --carrier raw"));
            let sent = machine.run(&format!("/godwit {} --carrier kernel", client(HOST[0])));
            (sent.into_bytes(), receiver.end())
        }
        GoodputEnds::LinuxToLinux => {
            let server = format!("/bin/ip netns exec {PEER} /godwit {server} --carrier kernel");
            machine.begin("perf", &server, "listening");
            let sent = machine.run(&format!("/godwit {} --carrier kernel", client(INNER[1])));
            (sent.into_bytes(), machine.end("perf").1.into_bytes())
        }
    };
    let printed = |octets: &[u8]| {
        let begin = octets.iter().position(|octet| *octet == b'{').unwrap_or(0);
        document(&octets[begin..])
    };
    let intervals = printed(&sent)["intervals"].as_array().cloned().unwrap_or_default();
    let rtt_ms = intervals.iter().rev().find_map(|interval| interval["rtt_ms"].as_f64());
    let kbit_per_s = number(&printed(&received), "/flows/0/directions/0/bits_per_s") / 1e3;
    GoodputRun { kbit_per_s, rtt_ms }
}

#[test]
fn a_row_tells_the_mean_its_interval_and_the_ratio_to_linux() {
    let text = described(&[200.0, 220.0, 240.0], &[270.0, 290.0, 280.0]);
    assert_eq!(text, "   220 kbit/s [170, 270], 0.78 [0.64, 0.95] of Linux; runs: 200, 220, 240");
    let text = described(&[100.0], &[200.0]);
    assert_eq!(text, "   100 kbit/s, 0.50 of Linux; runs: 100");
}
