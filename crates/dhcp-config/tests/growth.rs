//! Time to check a configuration: it grows with the number of entries of each list, not with its
//! square. A control command may have a list of a million entries.
//!
//! The test compares times of the processor that this thread took, within one run, so that other
//! programs on the machine do not matter. Four times the entries take four times as long, and
//! somewhat more where memory or a sorted map is larger; with the square, sixteen times.

use std::fmt::Write as _;
use std::fs;

use dhcp_config::NoIncludes;

/// Number of entries of the shorter list.
const COUNT: usize = 3_000;
/// Number of times that the longer list is as long.
const GROWTH: usize = 4;
/// Maximum number of further measurements of a list that seems to grow too fast.
const REPETITIONS_MAX: u32 = 8;
/// Largest growth of the time: half-way between the growth and its square.
const LIMIT: f64 = 9.0;
/// Time that the longer list takes at least before its growth counts, in nanoseconds: below, what
/// does not depend on the list matters.
const LEAST_NS: u64 = 60_000_000;

/// List of a configuration: its name, and the configuration with so many entries.
struct List {
    name: &'static str,
    text: fn(usize) -> String,
}

/// Returns `count` entries, separated by commas.
fn entries(count: usize, entry: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    for number in 0..count {
        let comma = if number == 0 { "" } else { ", " };
        write!(text, "{comma}{}", entry(number)).expect("a string takes everything");
    }
    text
}

/// Returns a DHCPv4 configuration with `members`.
fn with(members: &str) -> String {
    format!("{{ \"Dhcp4\": {{ {members} }} }}")
}

/// Returns a DHCPv4 configuration with one subnet that has `members`.
fn with_subnet(members: &str) -> String {
    with(&format!("\"subnet4\": [ {{ \"id\": 1, \"subnet\": \"10.0.0.0/8\", {members} }} ]"))
}

fn address(number: usize) -> String {
    let [_, high, middle, low] = u32::try_from(number).expect("a small number").to_be_bytes();
    format!("10.{high}.{middle}.{low}")
}

fn reservation(number: usize) -> String {
    format!(
        "{{ \"hw-address\": \"02:00:00:{:02x}:{:02x}:{:02x}\", \"ip-address\": \"{}\", \
         \"hostname\": \"h{number}\" }}",
        number >> 16 & 255,
        number >> 8 & 255,
        number & 255,
        address(number + 1)
    )
}

fn class(number: usize) -> String {
    format!("{{ \"name\": \"c{number}\", \"test\": \"pkt4.hlen == {}\" }}", number % 200)
}

const LISTS: [List; 12] = [
    List {
        name: "names of additional classes",
        text: |count| {
            let names = entries(count, |number| format!("\"x{number}\""));
            with_subnet(&format!("\"evaluate-additional-classes\": [ {names} ]"))
        },
    },
    List {
        name: "names of client classes",
        text: |count| {
            let names = entries(count, |number| format!("\"x{number}\""));
            with_subnet(&format!("\"client-classes\": [ {names} ]"))
        },
    },
    List {
        name: "classes",
        text: |count| with(&format!("\"client-classes\": [ {} ]", entries(count, class))),
    },
    List {
        name: "definitions of options",
        text: |count| {
            let definition = |number| {
                format!(
                    "{{ \"name\": \"o{number}\", \"code\": {}, \"space\": \"s{}\", \
                     \"type\": \"uint8\" }}",
                    number % 200 + 1,
                    number / 200
                )
            };
            with(&format!("\"option-def\": [ {} ]", entries(count, definition)))
        },
    },
    List {
        name: "options of one code",
        text: |count| {
            let option = |number| {
                format!("{{ \"code\": 200, \"csv-format\": false, \"data\": \"{:08x}\" }}", number)
            };
            with(&format!("\"option-data\": [ {} ]", entries(count, option)))
        },
    },
    List {
        name: "subnets",
        text: |count| {
            let subnet = |number| {
                let base = address(number * 256);
                format!(
                    "{{ \"id\": {}, \"subnet\": \"{base}/24\", \"pools\": [ {{ \"pool\": \
                     \"{base}/24\" }} ] }}",
                    number + 1
                )
            };
            with(&format!("\"subnet4\": [ {} ]", entries(count, subnet)))
        },
    },
    List {
        name: "pools",
        text: |count| {
            let pool = |number| {
                let first = address(number * 2 + 2);
                format!("{{ \"pool\": \"{first} - {first}\" }}")
            };
            with_subnet(&format!("\"pools\": [ {} ]", entries(count, pool)))
        },
    },
    List {
        name: "reservations of a subnet",
        text: |count| {
            with_subnet(&format!("\"reservations\": [ {} ]", entries(count, reservation)))
        },
    },
    List {
        name: "global reservations",
        text: |count| with(&format!("\"reservations\": [ {} ]", entries(count, reservation))),
    },
    List {
        name: "subnets of a shared network",
        text: |count| {
            let subnet = |number| {
                format!(
                    "{{ \"id\": {}, \"subnet\": \"{}/24\" }}",
                    number + 1,
                    address(number * 256)
                )
            };
            let subnets = entries(count, subnet);
            with(&format!(
                "\"shared-networks\": [ {{ \"name\": \"n\", \"subnet4\": [ {subnets} ] }} ]"
            ))
        },
    },
    List {
        name: "shared networks",
        text: |count| {
            let network = |number| format!("{{ \"name\": \"n{number}\" }}");
            with(&format!("\"shared-networks\": [ {} ]", entries(count, network)))
        },
    },
    List {
        name: "problems on one line",
        text: |count| with(&entries(count, |number| format!("\"é{number}\": 0"))),
    },
];

/// Returns the time that this thread has run, in nanoseconds.
fn thread_ns() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").expect("Linux has it");
    let first = text.split_whitespace().next().expect("three numbers");
    first.parse().expect("a number")
}

/// Returns the least time that a check of `text` takes, in nanoseconds.
fn check_ns(text: &str) -> u64 {
    let one = || {
        let begin_ns = thread_ns();
        let _ = dhcp_config::parse_dhcp4("x", text, &mut NoIncludes);
        thread_ns() - begin_ns
    };
    (0..3).map(|_| one()).min().expect("three times")
}

#[test]
fn a_check_takes_a_time_that_grows_with_the_list() {
    let mut slow = String::new();
    for List { name, text } in LISTS {
        // A list that is checked quickly is made longer until its time can be compared.
        let mut count = COUNT;
        let (mut short_ns, mut long_ns) = (check_ns(&text(count)), check_ns(&text(GROWTH * count)));
        while long_ns < LEAST_NS && count < 16 * COUNT {
            count *= 2;
            (short_ns, long_ns) = (check_ns(&text(count)), check_ns(&text(GROWTH * count)));
        }
        // Other programs take the processor's caches; a check of the square of its list stays slow.
        for _ in 0..REPETITIONS_MAX {
            if long_ns as f64 <= LIMIT * short_ns as f64 {
                break;
            }
            short_ns = check_ns(&text(count));
            long_ns = check_ns(&text(GROWTH * count));
        }
        let growth = long_ns as f64 / short_ns as f64;
        println!("{name}: {count} entries in {short_ns} ns, {GROWTH} times as many: {growth:.1}");
        if growth > LIMIT {
            writeln!(slow, "{name}: {growth:.1} times as long").expect("a string takes everything");
        }
    }
    assert!(slow.is_empty(), "for {GROWTH} times as many entries:\n{slow}");
}
