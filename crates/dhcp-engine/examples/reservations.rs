//! Cost of loading a configuration with many reservations: seconds and memory of each step, from
//! the text to the tables in which the packet path looks hosts up.
//!
//! `cargo run --release -p dhcp-engine --example reservations -- [COUNT] [4|6]`; the default is a
//! million DHCPv4 hosts.

use std::fmt::Write;
use std::fs;
use std::hint::black_box;
use std::time::Instant;

use dhcp_config::{ConfigProblem, NoIncludes, parse_dhcp4, parse_dhcp6};
use dhcp_lease::LeaseTable;

/// Number of hosts of each subnet, which has 16 bits for them.
const PER_SUBNET: usize = 50_000;

/// Bytes of the server's DUID.
const SERVER_DUID: [u8; 4] = [0, 3, 0, 1];

/// Runs a step and prints its duration, its processor time, and the memory of the process after it.
fn step<T>(name: &str, work: impl FnOnce() -> T) -> T {
    let (began, running) = (Instant::now(), processor_s());
    let done = work();
    let (elapsed_s, used_s) = (began.elapsed().as_secs_f64(), processor_s() - running);
    let [now, most] = ["VmRSS:", "VmHWM:"].map(memory_mib);
    println!(
        "{name:<16} {elapsed_s:>7.3} s, {used_s:>7.3} s of a processor, \
         {now:>6} MiB held, {most:>6} MiB at most"
    );
    done
}

/// Returns the processor time of this process, in seconds; 0 where the kernel does not report it.
fn processor_s() -> f64 {
    let times = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let running_ns = times.split(' ').next().and_then(|field| field.parse().ok());
    running_ns.unwrap_or(0.0) / 1e9
}

/// Returns a figure of the kernel about this process, in mebibytes; 0 where there is none.
fn memory_mib(key: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse().ok()).unwrap_or(0_u64) / 1024
}

/// Appends a host: a tenth of the hosts each by DUID, client identifier and flexible identifier,
/// the others by hardware address; some have a name, few an option.
fn host(text: &mut String, number: usize, address: &str) {
    let (key, start) = match number % 10 {
        0 => ("duid", "00030001020000"),
        1 => ("flex-id", "706f72742d"),
        2 => ("client-id", "01020000"),
        _ => ("hw-address", "0200"),
    };
    write!(text, "{{ \"{key}\": \"{start}{number:08x}\", {address}").expect("to a string");
    if number.is_multiple_of(4) {
        write!(text, ", \"hostname\": \"host-{number}\"").expect("to a string");
    }
    if number.is_multiple_of(100) {
        text.push_str(
            ", \"option-data\": [ { \"code\": 240, \"csv-format\": false, \"data\": \"0a\" } ]",
        );
    }
    text.push_str(" },\n");
}

fn configuration(count: usize, family: u8) -> String {
    let mut text = format!(
        "{{ \"Dhcp{family}\": {{ \"host-reservation-identifiers\": [ \"hw-address\", \"duid\" ],\n\
         \"subnet{family}\": [\n"
    );
    for (index, first) in (0..count).step_by(PER_SUBNET).enumerate() {
        let prefix = match family {
            4 => format!("10.{index}.0.0/16"),
            _ => format!("2001:db8:{index:x}::/64"),
        };
        writeln!(text, "{{ \"id\": {}, \"subnet\": \"{prefix}\", \"reservations\": [", index + 1)
            .expect("to a string");
        for number in first..count.min(first + PER_SUBNET) {
            let at = number - first + 1;
            let address = match family {
                4 => format!("\"ip-address\": \"10.{index}.{}.{}\"", at >> 8, at & 0xff),
                _ => format!("\"ip-addresses\": [ \"2001:db8:{index:x}::{at:x}\" ]"),
            };
            host(&mut text, number, &address);
        }
        text.truncate(text.len() - 2);
        text.push_str(" ] },\n");
    }
    text.truncate(text.len() - 2);
    text.push_str("] } }");
    // DHCPv6 has no client identifiers but DUIDs.
    if family == 6 { text.replace("client-id", "hw-address") } else { text }
}

fn must<T>(parsed: Result<T, Vec<ConfigProblem>>) -> T {
    parsed.unwrap_or_else(|problems| panic!("{}", problems[0]))
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<usize>().ok());
    let count = arguments.next().flatten().unwrap_or(1_000_000);
    let is_v6 = arguments.next().flatten() == Some(6);
    let text = step("generate", || configuration(count, if is_v6 { 6 } else { 4 }));
    println!("{count} hosts in {} MiB of text", text.len() >> 20);
    if is_v6 {
        let checked = must(step("parse and check", || parse_dhcp6("v6", &text, &mut NoIncludes)));
        let table = LeaseTable::new(1);
        let snapshot = step("compile", || {
            dhcp_engine::v6::Snapshot::compile(&checked.config, &SERVER_DUID, |pools, aside| {
                table.configure(pools, aside)
            })
        });
        black_box(step("document", || checked.document.to_json()));
        black_box(snapshot);
    } else {
        let checked = must(step("parse and check", || parse_dhcp4("v4", &text, &mut NoIncludes)));
        let table = LeaseTable::new(1);
        let snapshot = step("compile", || {
            dhcp_engine::v4::Snapshot::compile(&checked.config, |pools, aside| {
                table.configure(pools, aside)
            })
        });
        black_box(step("document", || checked.document.to_json()));
        black_box(snapshot);
    }
}
