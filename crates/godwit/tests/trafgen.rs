//! Tests of `godwit trafgen` as a user sees it: frames over a veth pair, counted by the tool, by
//! both interfaces and by a receiver; files in and out; messages about mistakes.

mod segmentation;
mod smoke;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use crate::common::namespaces::Namespaces;
use crate::common::{PATIENCE, TempFolder, is_root, require, waited_until};
use netio::{FrameReceiver, PollFd, ReceivedFrame, RingSize, XdpSender, interface, poll};
use packet_wire::pcap::{ByteOrder, CaptureReader, CaptureWriter, LINK_ETHERNET, Resolution};
use serde_json::Value;

const GODWIT: &str = env!("CARGO_BIN_EXE_godwit");
/// Frame of 82 bytes of a type that no station answers, with a byte that counts.
const PACKET: &str = "{ eth(da=02:00:00:00:00:05, sa=02:00:00:00:00:01, type=0x88b5), dinc(0,255), \
                      drnd(3), fill(7,64) }";
/// Time that a receiver waits for one more frame.
const MOMENT_NS: u64 = 200_000_000;

/// Namespace with a veth pair, which the value removes when it is dropped.
struct TrafgenLink(Namespaces<1>);

impl TrafgenLink {
    /// Makes the link. Returns `None`, with a message, if that is not possible.
    fn new() -> Option<Self> {
        if !require(&["ip", "tc"]) || !is_root() {
            return None;
        }
        let link = Self(Namespaces::make());
        // The link carries only the test's frames.
        link.inside("sh -ec", &["echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6"]);
        link.inside("ip link add out0 type veth peer name in0", &[]);
        link.inside("ip link set out0 address 02:00:00:00:00:01 up", &[]);
        link.inside("ip link set in0 up", &[]);
        Some(link)
    }

    fn inside(&self, words: &str, further: &[&str]) -> String {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.0[0]]).args(words.split(' ')).args(further);
        let output = command.output().expect("ip starts");
        assert!(output.status.success(), "{words} {further:?}: {output:?}");
        String::from_utf8(output.stdout).expect("plain text")
    }

    /// Waits until the kernel has noticed that both ends of each veth pair are up.
    fn wait_until_up(&self) {
        let is_down = |line: &str| line.contains("@") && !line.contains("state UP");
        let is_up = || !self.inside("ip -o link show", &[]).lines().any(is_down);
        assert!(waited_until(is_up), "{}", self.inside("ip -o link show", &[]));
    }

    /// Returns a counter of an interface.
    fn count(&self, end: &str, counter: &str) -> u64 {
        let path = format!("cat /sys/class/net/{end}/statistics/{counter}");
        self.inside(&path, &[]).trim().parse().expect("a number")
    }

    /// Returns a socket that receives all frames.
    fn receiver(&self) -> FrameReceiver {
        self.enter(|| {
            FrameReceiver::open(&interface::named("in0").expect("it is there")).expect("root may")
        })
    }

    /// Returns the result of `open` inside the namespace.
    fn enter<T: Send>(&self, open: impl FnOnce() -> T + Send) -> T {
        let path = PathBuf::from(format!("/run/netns/{}", self.0[0]));
        let inside = || {
            netio::namespace::enter(&path).expect("root may");
            open()
        };
        std::thread::scope(|scope| scope.spawn(inside).join()).expect("it opens")
    }

    /// Runs `godwit trafgen --json`, and returns its last line.
    fn trafgen(&self, words: &str, packet: &str) -> Value {
        self.wait_until_up();
        let words = format!("{GODWIT} trafgen --json {words}");
        let output_text = self.inside(&words, &[packet]);
        serde_json::from_str(output_text.lines().last().expect("a report")).expect("JSON")
    }
}

/// Returns true if the kernel has AF_XDP, and prints a message if not.
fn has_af_xdp() -> bool {
    let size = RingSize { bytes: 1 << 14, slot_bytes: 2_048 };
    let opened = XdpSender::open(&interface::named("lo").expect("it is there"), 0, size);
    let code = opened.err().and_then(|error| error.cause().raw_os_error());
    // EAFNOSUPPORT
    let has = code != Some(97);
    has || testkit::skip_even_if_required("the kernel has no AF_XDP")
}

/// Receives frames of the length `len` until `count` have come or been dropped by the socket, and
/// no more come. Returns their number.
fn drain(receiver: &mut FrameReceiver, len: usize, count: u64) -> u64 {
    let mut taken = 0;
    take(receiver, count, |frame| {
        assert_eq!(frame.octets.len(), len);
        taken += 1;
    }) + taken
}

/// Calls `take` with frames until `count` have come or been dropped by the socket, and no more
/// come. Returns the number of dropped frames.
fn take(receiver: &mut FrameReceiver, count: u64, mut take: impl FnMut(ReceivedFrame<'_>)) -> u64 {
    let (mut taken, mut dropped) = (0, 0);
    let ends = Instant::now() + PATIENCE;
    loop {
        let ready = poll(&mut [PollFd::readable(receiver)], Some(MOMENT_NS)).expect("it can");
        dropped += receiver.take_drops().expect("it tells");
        if ready == 0 {
            if taken + dropped >= count || Instant::now() >= ends {
                return dropped;
            }
            continue;
        }
        for index in 0..receiver.receive().expect("the interface stays") {
            take(receiver.frame(index).expect("it fits"));
            taken += 1;
        }
    }
}

fn trafgen(words: &[&str]) -> Output {
    let mut command = Command::new(GODWIT);
    command.arg("trafgen").args(words).stdin(Stdio::null()).output().expect("the binary starts")
}

fn outcome(output: &Output) -> (String, Option<i32>) {
    (String::from_utf8_lossy(&output.stderr).into_owned(), output.status.code())
}

#[test]
fn every_path_sends_as_many_frames_as_it_says() {
    let Some(link) = TrafgenLink::new() else { return };
    let mut receiver = link.receiver();
    let has_af_xdp = has_af_xdp();
    for words in [
        "-P 1 --path ring",
        "-P 1 --path ring -q",
        "-P 1 --path sendmmsg",
        "-P 1 --path sendmmsg -q",
        "-P 1 --path xdp",
        "--path xdp",
        "-b 20kpps --path xdp",
        "-b 20kpps",
        "-P 1",
        "-b 10kpps..40kpps/200ms,5kpps -P 1",
    ] {
        if words.contains("xdp") && !has_af_xdp {
            continue;
        }
        let before = (link.count("out0", "tx_packets"), link.count("in0", "rx_packets"));
        let report = link.trafgen(&format!("-o out0 -n 3001 {words}"), PACKET);
        let after = (link.count("out0", "tx_packets"), link.count("in0", "rx_packets"));
        assert_eq!(report["kind"], "total", "{words}");
        assert_eq!(report["schema"], "godwit.trafgen.v1");
        assert_eq!(
            (report["sent"].as_u64(), report["sent_bytes"].as_u64()),
            (Some(3_001), Some(3_001 * 82))
        );
        assert_eq!((after.0 - before.0, after.1 - before.1), (3_001, 3_001), "{words}");
        assert_eq!(drain(&mut receiver, 82, 3_001), 3_001, "{words}: {report}");
        assert_eq!(report["unsent"], 0);
        assert_eq!(report["late"].is_object(), words.starts_with("-b"), "{words}");
        assert_eq!(report["gaps"].is_object(), words.starts_with("-b"), "{words}");
        assert!(report["segmentation"].is_null(), "{words}");
        // The path that is chosen by default.
        let best = if has_af_xdp { "xdp" } else { "ring" };
        let path = words.split(' ').skip_while(|word| *word != "--path").nth(1).unwrap_or(best);
        assert!(report["path"].as_str().is_some_and(|shown| shown.starts_with(path)), "{report}");
    }
}

#[test]
fn processors_share_the_frames_and_draw_different_numbers() {
    let Some(link) = TrafgenLink::new() else { return };
    if netio::thread::allowed_cpus().expect("they are known").len() < 2 {
        testkit::skip_even_if_required("it takes two processors");
        return;
    }
    let mut receiver = link.receiver();
    let packet = "{ eth(type=0x88b5), drnd(8) }";
    let report = link.trafgen("-o out0 -n 101 -P 2 -E 5", packet);
    let shares: Vec<_> = (0..2).map(|at| report["processors"][at]["sent"].as_u64()).collect();
    assert_eq!(shares, [Some(51), Some(50)]);
    let mut seen = std::collections::BTreeSet::new();
    take(&mut receiver, 101, |frame| {
        seen.insert(frame.octets.to_vec());
    });
    assert_eq!(seen.len(), 101, "different frames");
}

#[test]
fn a_queue_that_is_full_is_waited_for() {
    let Some(link) = TrafgenLink::new() else { return };
    link.inside(
        "tc qdisc replace dev out0 root handle 1: tbf burst 20480 limit 20480 rate 800kbit",
        &[],
    );
    for path in ["ring", "sendmmsg"] {
        let before = link.count("in0", "rx_packets");
        // The bucket holds 250 frames; the others leave as it fills.
        let report = link.trafgen(&format!("-o out0 -n 2000 -P 1 -q --path {path}"), PACKET);
        assert_eq!((report["sent"].as_u64(), report["refused"].as_u64()), (Some(2_000), Some(0)));
        assert!(report["stalled"].as_u64() > Some(0), "{report}");
        // Frames that the bucket holds at the end leave after the report.
        let have_come = || link.count("in0", "rx_packets") - before >= 2_000;
        assert!(waited_until(have_come), "{path}: frames were lost");
    }
}

#[test]
fn counts_agree_when_the_receiver_is_slower_than_the_sender() {
    let Some(link) = TrafgenLink::new() else { return };
    let cpus = netio::thread::allowed_cpus().expect("they are known");
    let [first, second, ..] = cpus[..] else {
        testkit::skip_even_if_required("it takes two processors");
        return;
    };
    // Another processor than the sender's receives, for several sockets; more frames can wait for
    // it than its backlog holds (netdev_max_backlog, 1,000 by default).
    let mask = format!("echo {:x} >/sys/class/net/in0/queues/rx-0/rps_cpus", 1_u64 << second);
    link.inside("sh -ec", &[&mask]);
    let mut receivers: Vec<_> = (0..8).map(|_| link.receiver()).collect();
    for path in ["ring", "sendmmsg", "xdp"] {
        if path == "xdp" && !has_af_xdp() {
            continue;
        }
        let before = (link.count("out0", "tx_packets"), link.count("in0", "rx_packets"));
        let dropped = link.count("out0", "tx_dropped");
        let words = format!("-o out0 -n 200000 -S 8MiB -P {first}-{first} --path {path}");
        let report = link.trafgen(&words, PACKET);
        let after = (link.count("out0", "tx_packets"), link.count("in0", "rx_packets"));
        let dropped = link.count("out0", "tx_dropped") - dropped;
        println!("{path}: {dropped} attempts found the backlog full; {report}");
        assert_eq!((report["sent"].as_u64(), report["unsent"].as_u64()), (Some(200_000), Some(0)));
        assert_eq!((after.0 - before.0, after.1 - before.1), (200_000, 200_000), "{path}");
        for receiver in &mut receivers {
            assert_eq!(drain(receiver, 82, 200_000), 200_000, "{path}: {report}");
        }
    }
}

#[test]
fn af_xdp_sends_from_a_processor_for_each_queue() {
    let Some(link) = TrafgenLink::new() else { return };
    if !has_af_xdp() {
        return;
    }
    let refused = |words: &str, packet: &str| {
        let words = format!("netns exec {} {words}", link.0[0]);
        let mut command = Command::new("ip");
        outcome(&command.args(words.split(' ')).arg(packet).output().expect("ip starts"))
    };
    for (words, packet, complaint) in [
        ("-o out0 -n 1 -q", PACKET, "-q: AF_XDP bypasses the queueing discipline"),
        (
            "-o out0 -n 1 -P 2",
            PACKET,
            "a transmit queue for each processor, and out0 has 1; use -P 1",
        ),
        ("-o out0 -n 1", "{ fill(2,4097) }", "4097 bytes; AF_XDP accepts at most 4096"),
    ] {
        let (text, code) = refused(&format!("{GODWIT} trafgen --path xdp {words}"), packet);
        assert!(text.contains(complaint) && text.lines().count() == 1, "{text}");
        assert_eq!(code, Some(2), "{text}");
    }
    if require(&["setpriv"]) {
        let words = format!("setpriv --bounding-set=-all {GODWIT} trafgen --path xdp -o out0 -n 1");
        let (text, code) = refused(&words, PACKET);
        assert!(text.contains("root, or CAP_NET_RAW") && text.lines().count() == 1, "{text}");
        assert_eq!(code, Some(1), "{text}");
    }
    let count = netio::thread::allowed_cpus().expect("they are known").len().min(2);
    let queues = "numtxqueues 2 numrxqueues 2";
    let words = format!("ip link add out1 {queues} type veth peer name in1 {queues}");
    link.inside(&words, &[]);
    link.inside("ip link set out1 up", &[]);
    link.inside("ip link set in1 up", &[]);
    let report = link.trafgen(&format!("-o out1 -n 3001 --path xdp -P {count}"), PACKET);
    assert_eq!(report["processors"].as_array().map(Vec::len), Some(count));
    assert_eq!(report["sent"], 3_001);
    let counts = (link.count("out1", "tx_packets"), link.count("in1", "rx_packets"));
    assert_eq!(counts, (3_001, 3_001));
}

#[test]
fn captures_are_written_and_sent_again() {
    let Some(link) = TrafgenLink::new() else { return };
    let folder = TempFolder::new("trafgen-captures");
    let (file, again) = (folder.path().join("a.pcap"), folder.path().join("b.pcap"));
    let shown = |path: &PathBuf| path.to_str().expect("plain text").to_owned();
    let output = trafgen(&["-o", &shown(&file), "-n", "5", "-E", "1", "-b", "1kpps", PACKET]);
    assert!(output.status.success(), "{output:?}");
    let octets = fs::read(&file).expect("it was written");
    let records: Vec<_> = CaptureReader::new(&octets).expect("a capture").flatten().collect();
    assert_eq!(records.len(), 5);
    assert_eq!(records[0].octets[14..18], [1, 0x67, 0xc6, 0x69], "the octets of the reference");
    assert_eq!(records[4].time_ns - records[0].time_ns, 4_000_000);
    assert!(trafgen(&["-i", &shown(&file), "-o", &shown(&again), "-n", "5"]).status.success());
    let copied = fs::read(&again).expect("it was written");
    let copied: Vec<_> = CaptureReader::new(&copied).expect("a capture").flatten().collect();
    assert!(std::iter::zip(&records, &copied).all(|(one, other)| one.octets == other.octets));
    assert_eq!(copied[4].time_ns - copied[0].time_ns, 4_000_000);
    // Out of the interface: at the recorded times, once.
    let mut writer = CaptureWriter::new(LINK_ETHERNET, ByteOrder::Little, Resolution::Nanoseconds);
    for number in 0..3 {
        writer.packet(number * 20_000_000, records[0].octets);
        // As a machine captures its own packets before the interface cuts them up.
        writer.packet(number * 20_000_000, &[0; 3_000]);
        writer.packet(number * 20_000_000, &[0; 10]);
    }
    fs::write(&file, writer.octets()).expect("the folder can be written");
    let mut receiver = link.receiver();
    let output_text =
        link.inside(GODWIT, &["trafgen", "--json", "-o", "out0", "-i", &shown(&file)]);
    let report: Value =
        serde_json::from_str(output_text.lines().last().expect("a report")).expect("JSON");
    assert_eq!(report["sent"], 3);
    assert!(report["elapsed_s"].as_f64() >= Some(0.04), "{report}");
    assert_eq!(drain(&mut receiver, 82, 3), 3);
}

#[test]
fn a_dry_run_shows_frames_and_needs_no_right() {
    let output = trafgen(&["--dry-run", "-n", "2", "{ udp(sp=dinc(1,9)), \"hi\" }"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for line in ["frame 1, 44 bytes", "UDP 1 -> 0 length 10 checksum right", "UDP 2 -> 0", "68 69"]
    {
        assert!(text.contains(line), "{line}: {text}");
    }
    let example = trafgen(&["-e"]);
    let folder = TempFolder::new("trafgen-example");
    let file = folder.path().join("example.cfg");
    fs::write(&file, &example.stdout).expect("the folder can be written");
    let output = trafgen(&["--dry-run", "-i", file.to_str().expect("plain text")]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("additional 1"), "{output:?}");
}

#[test]
fn the_examples_of_the_help_work() {
    let folder = TempFolder::new("trafgen-examples");
    fs::write(folder.path().join("packets.cfg"), PACKET).expect("the folder can be written");
    let help = String::from_utf8(trafgen(&["--help"]).stdout).expect("plain text");
    let (_, examples) = help.split_once("Examples:\n").expect("there are some");
    let lines: Vec<&str> = examples.lines().map(str::trim).collect();
    assert!(lines.len() >= 3, "{help}");
    for line in lines {
        // Frames are shown here, since there is no such interface.
        let line = line.replace("godwit", GODWIT).replace("-o eth1", "--dry-run");
        let mut command = Command::new("sh");
        let output = command.args(["-c", &line]).current_dir(folder.path()).output();
        let output = output.expect("a shell starts");
        assert!(output.status.success(), "{line}: {output:?}");
    }
}

#[test]
fn packet_text_may_be_parted_by_the_shell() {
    let frames = |words: &[&str]| {
        let output = trafgen(&[&["--dry-run", "--json", "-n", "1"], words].concat());
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("plain text")
    };
    assert_eq!(frames(&["{", "1,", "2", "}"]), frames(&["{ 1, 2 }"]));
    let (text, code) = outcome(&trafgen(&["--dry-run", "Cargo.toml"]));
    assert!(text.contains("write `-i Cargo.toml`"), "{text}");
    assert_eq!(code, Some(2));
}

#[test]
fn with_json_nothing_but_documents_is_on_the_standard_output() {
    let folder = TempFolder::new("trafgen-json");
    for name in ["a.cfg", "a.pcap"] {
        let file = folder.path().join(name);
        let file = file.to_str().expect("plain text");
        let output = trafgen(&["--json", "-V", "-J", "-n", "3", "-E", "1", "-o", file, PACKET]);
        let lines: Vec<Value> = String::from_utf8_lossy(&output.stdout)
            .lines()
            .map(|line| serde_json::from_str(line).expect("a document a line"))
            .collect();
        let [report] = &lines[..] else { panic!("{lines:?}") };
        let [schema, kind] = ["schema", "kind"].map(|name| report[name].as_str());
        assert_eq!((schema, kind), (Some("godwit.trafgen.v1"), Some("total")));
        assert_eq!((&report["sent"], &report["sent_bytes"]), (&3.into(), &246.into()));
        let (text, _) = outcome(&output);
        assert!(text.contains("-J has no effect") && text.contains("packet 1, 82"), "{text}");
    }
    let output = trafgen(&["--dry-run", "-V", "-J", "-n", "1", PACKET]);
    let text = String::from_utf8_lossy(&output.stdout);
    let parts = ["-J has no effect", "\npacket 1, 82 bytes", "\nframe 1, 82 bytes"];
    let found = parts.map(|part| text.find(part));
    assert!(found[0] == Some(0) && found.is_sorted() && found[2].is_some(), "{text}");
}

#[test]
fn mistakes_are_one_message_each_and_end_with_2() {
    let (text, code) = outcome(&trafgen(&["-o", "nosuch0", "{ udp() }"]));
    assert!(text.contains("interface nosuch0") && text.contains("lo"), "{text}");
    assert_eq!(code, Some(2));
    let (text, code) = outcome(&trafgen(&["--dry-run", "{ udp(speed=1), bogus() }"]));
    assert!(text.contains("packet:1:7: udp() has no field `speed`"), "{text}");
    assert!(
        text.contains("          ^") && text.contains("1:17: unknown function `bogus`"),
        "{text}"
    );
    assert_eq!(code, Some(2));
    for words in
        [&["{ 1 }"][..], &["-i", "/nonexistent", "--dry-run"], &["-P", "0", "--dry-run", "{ 1 }"]]
    {
        assert_eq!(trafgen(words).status.code(), Some(2), "{words:?}");
    }
    if let Some(link) = TrafgenLink::new() {
        let words = format!("netns exec {} {GODWIT} trafgen -o out0 -n 1", link.0[0]);
        for (packet, complaint) in
            [("{ fill(0,1515) }", "accepts 14 to 1514"), ("{ 1 }", "packet 1 has 1 bytes")]
        {
            let mut command = Command::new("ip");
            let output = command.args(words.split(' ')).arg(packet).output().expect("ip starts");
            assert!(outcome(&output).0.contains(complaint), "{output:?}");
            assert_eq!(output.status.code(), Some(2));
        }
    }
}
