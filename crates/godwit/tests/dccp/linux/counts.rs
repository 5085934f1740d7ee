//! Messages of both ends about refused connections, and their counts of one run of `perf`.

use std::process::Output;

use super::LinuxRunExtent;
use super::machine::{GUEST, HOST, VirtualMachine};
use super::process::{HostDccpProcess, ours};
use crate::dccp::{document, number};

/// Checks the message of one end about a refused connection, Godwit's first or the kernel's.
pub(super) fn refusals_have_the_same_reason_at_both_ends(
    machine: &mut VirtualMachine,
    extent: LinuxRunExtent,
) -> String {
    let [host, guest_address] = [HOST[0], GUEST[0]];
    let output_text = |output: Output| {
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };

    // No listener, or one for another service.
    let words = format!("dccp send {guest_address} /dev/null --carrier raw");
    let closed = output_text(ours(machine, &words).output().expect("the binary runs"));
    assert!(closed.contains("Reset code 3"), "{closed}");
    let command = "/godwit dccp recv /tmp/got --carrier kernel --service-code SC:ABCD --ccid 2";
    machine.begin("recv", command, "listening");
    let service = output_text(ours(machine, &words).output().expect("the binary runs"));
    assert!(service.contains("Reset code 8"), "{service}");
    machine.run("kill $(pidof godwit)");
    machine.end("recv");

    // In the other direction: the kernel keeps the data after the code.
    let listening = "dccp recv /dev/null --carrier raw --service-code SC:ABCD";
    let receiver = HostDccpProcess::start(machine, listening);
    let command = format!("/godwit dccp send {host} /dev/null --carrier kernel");
    let (code, service) = machine.attempt(&command);
    assert_eq!(code, 1, "{service}");
    assert!(service.contains("Reset code 8"), "{service}");
    let (code, closed) = machine.attempt(&format!("{command} -p 5009"));
    assert_eq!(code, 1, "{closed}");
    assert!(closed.contains("no server listens") || closed.contains("no answer"), "{closed}");
    receiver.stop();

    for (server, client) in extent.choose(vec![(2, 3), (3, 2)], 1) {
        no_common_ccid_is_named(machine, server, client);
    }
    "both ends give the same reason".to_owned()
}

/// Checks the client's message if each end supports one CCID and they differ.
fn no_common_ccid_is_named(machine: &mut VirtualMachine, server: u8, client: u8) {
    let command = format!("/godwit dccp recv /tmp/got --carrier kernel --ccid {server}");
    machine.begin("recv", &command, "listening");
    let words = format!("dccp send {} /dev/null --carrier raw --ccid {client}", GUEST[0]);
    let output = ours(machine, &words).output().expect("the binary runs");
    let output_text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{output_text}");
    assert!(output_text.contains("CCID") && !output_text.contains("no answer"), "{output_text}");
    machine.run("kill $(pidof godwit)");
    machine.end("recv");

    let words = format!("dccp recv /dev/null --carrier raw --ccid {server}");
    let receiver = HostDccpProcess::start(machine, &words);
    let (code, output_text) = machine.attempt(&format!(
        "/godwit dccp send {} /dev/null --carrier kernel --ccid {client}",
        HOST[0]
    ));
    assert_eq!(code, 1, "{output_text}");
    assert!(output_text.contains("Reset code"), "{output_text}");
    receiver.stop();
}

/// Checks that both ends count the same in one run of `perf`, whichever of them is the kernel.
pub(super) fn perf_counts_the_same_at_both_ends(
    machine: &mut VirtualMachine,
    ccid: u8,
    extent: LinuxRunExtent,
) -> String {
    for run in extent.choose(RUNS.to_vec(), 1) {
        let words = format!("{} -t 2 --json --ccid {ccid}", run.words);
        let server = format!("dccp perf -s -1 --json --ccid {ccid}");
        machine.begin("perf", &format!("/godwit {server} --carrier kernel"), "listening");
        let command = format!("dccp perf -c {} {words} --carrier raw", GUEST[0]);
        let client = ours(machine, &command).output().expect("the binary runs");
        let (code, printed) = machine.end("perf");
        assert!(is_result(client.status.code()) && code == 0, "{client:?}; {printed}");
        let start = printed.find('{').unwrap_or_else(|| panic!("no document in {printed}"));
        agree(&client.stdout, &printed.as_bytes()[start..], run, ccid);

        let receiver = HostDccpProcess::start(machine, &format!("{server} --carrier raw"));
        let command = format!("/godwit dccp perf -c {} {words} --carrier kernel", HOST[0]);
        let (code, printed) = machine.attempt(&command);
        assert!(is_result(Some(code)), "{printed}");
        agree(printed.as_bytes(), &receiver.end(), run, ccid);
    }
    "both ends count the same".to_owned()
}

/// Run of `perf` at a constant rate.
#[derive(Clone, Copy)]
struct PerfRun {
    words: &'static str,
    /// Datagrams due in each direction.
    datagrams: f64,
    directions: usize,
}

const RUNS: [PerfRun; 3] = [
    PerfRun { words: "-b 400k -l 500", datagrams: 200.0, directions: 1 },
    PerfRun { words: "-b 2m -l 1000", datagrams: 500.0, directions: 1 },
    PerfRun { words: "--bidir -b 400k -l 500", datagrams: 200.0, directions: 2 },
];

/// Returns true if a client has measured. Exit code 3 says that it sent less than the rate, as on a
/// busy machine.
fn is_result(code: Option<i32>) -> bool {
    matches!(code, Some(0 | 3))
}

/// Asserts that the documents of a client and of its server agree.
fn agree(client: &[u8], server: &[u8], run: PerfRun, ccid: u8) {
    let [client, server] = [client, server].map(document);
    for document in [&client, &server] {
        let directions = document["flows"][0]["directions"].as_array().expect("a list");
        assert_eq!(directions.len(), run.directions, "{document:#}");
        for at in 0..run.directions {
            let count = |name: &str| number(document, &format!("/flows/0/directions/{at}/{name}"));
            let due = count("sent/datagrams") + count("sent/never_sent");
            assert_eq!(due, run.datagrams, "{document:#}");
            let read = count("received/datagrams");
            assert_eq!(read + count("received/lost"), count("sent/datagrams"), "{document:#}");
            assert!(read > 0.0, "{document:#}");
            assert_eq!(count("ccid"), f64::from(ccid), "{document:#}");
        }
    }
    let carriers = [&client["carrier"], &server["carrier"]].map(|name| name.as_str().unwrap());
    assert!(carriers.contains(&"kernel") && carriers.contains(&"raw"), "{carriers:?}");
}
