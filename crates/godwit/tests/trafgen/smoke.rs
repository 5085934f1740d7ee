//! Smoke test: the command notices a host that falls silent, and reports the frame before the
//! silence.

use std::fs;
use std::process::Command;

use netio::{PollFd, poll};
use packet_gen::language::{PacketParserSettings, compile};
use serde_json::Value;

use super::{GODWIT, MOMENT_NS, PACKET, TrafgenLink, outcome, take, trafgen};

/// Returns a link whose namespace pings itself.
fn link() -> Option<TrafgenLink> {
    let link = TrafgenLink::new()?;
    link.inside("sh -ec", &["echo 0 >/proc/sys/net/ipv6/conf/lo/disable_ipv6"]);
    link.inside("ip link set lo up", &[]);
    Some(link)
}

#[test]
fn a_host_that_answers_is_sent_every_frame() {
    let Some(link) = link() else { return };
    for host in ["127.0.0.1", "::1"] {
        for path in ["ring", "sendmmsg", "sendmmsg -q"] {
            let words = format!("-o out0 -n 20 --path {path} -s {host}");
            let total = link.trafgen(&words, PACKET);
            assert_eq!(total["sent"], 20, "{total}");
            let smoke_test = &total["smoke_test"];
            assert_eq!(smoke_test["host"], host);
            assert_eq!(smoke_test["answers"], 21, "one before the first frame: {total}");
            assert!(smoke_test["pings"].as_u64() >= Some(21), "{total}");
            assert!(smoke_test["silent_after"].is_null(), "{total}");
        }
    }
    assert!(link.trafgen("-o out0 -n 1", PACKET)["smoke_test"].is_null());
}

#[test]
fn the_last_frame_before_the_silence_is_told() {
    let Some(link) = link() else { return };
    let mut receiver = link.receiver();
    let mut command = Command::new("ip");
    command
        .args(["netns", "exec", &link.0[0], GODWIT, "trafgen", "--json", "-o", "out0", "-E", "7"]);
    // More than it sends while the host answers, so that it ends if it does not notice the silence.
    command.args(["-n", "3000000", "-s", "127.0.0.1", PACKET]);
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = child.spawn().expect("ip starts");
    let (mut arrived, mut dropped) = (Vec::new(), 0);
    std::thread::scope(|scope| {
        let mut silencer = None;
        loop {
            let ready = poll(&mut [PollFd::readable(&receiver)], Some(MOMENT_NS)).expect("it can");
            dropped += receiver.take_drops().expect("it tells");
            let frame_count = if ready > 0 { receiver.receive().expect("it stays") } else { 0 };
            let octets = |index| receiver.frame(index).map(|frame| frame.octets.to_vec());
            arrived.extend((0..frame_count).filter_map(octets));
            if arrived.len() >= 5 && silencer.is_none() {
                // In parallel, so that the test receives data meanwhile.
                let silence = "echo 1 >/proc/sys/net/ipv4/icmp_echo_ignore_all";
                silencer = Some(scope.spawn(|| link.inside("sh -ec", &[silence])));
            }
            if ready == 0 && child.try_wait().expect("it was started here").is_some() {
                break;
            }
        }
    });
    let output = child.wait_with_output().expect("it ends by itself");
    let report: Value = serde_json::from_slice(&output.stdout[line_before_last(&output.stdout)..])
        .expect("the last line is a report");
    let sent = report["sent"].as_u64().expect("a count");
    let missing = sent.saturating_sub(arrived.len() as u64 + dropped);
    dropped += take(&mut receiver, missing, |frame| arrived.push(frame.octets.to_vec()));
    let last = arrived.last().expect("frames came before the silence");
    let silent_after = &report["smoke_test"]["silent_after"];
    assert_eq!((&silent_after["number"], arrived.len() as u64 + dropped), (&sent.into(), sent));
    let text = silent_after["text"].as_str().expect("the frame");
    let program =
        compile(text.as_bytes(), &PacketParserSettings::default()).expect("it is of the language");
    assert_eq!(program.packets[0].octets, *last);
    let (error, code) = outcome(&output);
    assert!(error.contains("127.0.0.1 stopped answering pings after packet"), "{error}");
    assert_eq!(code, Some(1));

    // A host that is silent from the start is not silenced by a frame.
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &link.0[0], GODWIT, "trafgen", "-o", "out0", "-s", "127.0.0.1"]);
    let (error, code) = outcome(&command.arg(PACKET).output().expect("ip starts"));
    assert!(error.contains("does not answer pings before the first packet"), "{error}");
    assert_eq!(code, Some(1));
    assert_eq!(take(&mut receiver, 0, |_| panic!("a frame was sent")), 0);
}

/// Returns the beginning of the last line that is not empty.
fn line_before_last(text: &[u8]) -> usize {
    let text = text.trim_ascii_end();
    text.iter().rposition(|octet| *octet == b'\n').map_or(0, |at| at + 1)
}

#[test]
fn what_cannot_be_pinged_after_each_frame_is_refused() {
    for (words, complaint) in [
        (&["-o", "x.pcap", "-s", "127.0.0.1", "{ 1 }"][..], "-o is a file"),
        (&["-o", "lo", "-s", "127.0.0.1", "-P", "2", "{ 1 }"], "needs one processor"),
        (&["-o", "lo", "-s", "nobody", "{ 1 }"], "an address is expected"),
        (&["--dry-run", "-s", "127.0.0.1", "{ 1 }"], "cannot be used with"),
    ] {
        let (error, code) = outcome(&trafgen(words));
        assert!(error.contains(complaint), "{words:?}: {error}");
        assert_eq!(code, Some(2));
    }
    assert!(fs::metadata("x.pcap").is_err(), "nothing is written");
}
