//! Cost of classes: time per message of Kea's language compiled, for none, one and a hundred
//! classes that compare one option, and for a hundred classes without equal parts.
//!
//! `cargo run --release -p dhcp-engine --example classes`. Each line is the best of several rounds:
//! other work of the machine can only add time.

use std::fmt::Write;
use std::hint::black_box;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Instant;

use dhcp_config::{NoIncludes, parse_dhcp4};
use dhcp_engine::InterfaceNames;
use dhcp_engine::classify::{ClassSet, Classes, PacketView4, Workspace};
use dhcp_engine::v4::Ingress;
use dhcp_wire::v4::{Dhcp4Header, Message, MessageType, MessageWriter, option};

const ROUNDS: usize = 200;
const MESSAGES: usize = 2_000;

/// Compiles `count` classes; `test(n)` is the test of the `n`th.
fn classes(count: usize, test: impl Fn(usize) -> String) -> Classes {
    let mut list = String::new();
    for n in 0..count {
        let comma = if n == 0 { "" } else { "," };
        write!(list, "{comma}{{ \"name\": \"c{n}\", \"test\": \"{}\" }}", test(n))
            .expect("a string takes everything");
    }
    let text = format!("{{ \"Dhcp4\": {{ \"client-classes\": [ {list} ] }} }}");
    let checked = parse_dhcp4("example", &text, &mut NoIncludes);
    let config = checked.unwrap_or_else(|problems| panic!("{}", problems[0])).config;
    Classes::compile(&config.client_classes, [])
}

/// Returns one of a hundred tests in as many shapes as there are.
fn distinct(n: usize) -> String {
    match n % 5 {
        0 => format!("substring(option[60].hex, {}, {}) == 'x{n}'", n % 7, 1 + n % 11),
        1 => format!("option[{}].exists and pkt4.hlen == {}", 100 + n, n % 9),
        2 => format!("hexstring(substring(pkt4.mac, 0, {}), ':') == 'n{n}'", 1 + n % 6),
        3 => format!("relay4[{}].hex == '{n}' or option[12].text == 'host{n}'", 1 + n % 9),
        _ => format!("not (split(option[60].text, ':', {}) == 'v{n}')", n % 5),
    }
}

/// Returns a DISCOVER of client `n`; a third of the clients are in a configured class.
fn discover(n: usize) -> Vec<u8> {
    let mut chaddr = [0; 16];
    chaddr[..6].copy_from_slice(&[2, 0, 0, 0, (n >> 8) as u8, n as u8]);
    let none = Ipv4Addr::UNSPECIFIED;
    let header = Dhcp4Header {
        op: 1,
        htype: 1,
        hlen: 6,
        hops: 1,
        xid: n as u32,
        secs: 0,
        flags: 0,
        ciaddr: none,
        yiaddr: none,
        siaddr: none,
        giaddr: Ipv4Addr::new(10, 0, 0, 1),
        chaddr,
    };
    let mut buffer = [0; 600];
    let mut writer = MessageWriter::new(&mut buffer, &header);
    writer
        .message_type(MessageType::Discover)
        .option(option::HOST_NAME, b"some-host")
        .option(option::VENDOR_CLASS_IDENTIFIER, format!("vendor:{}", n % 300).as_bytes())
        .option(option::CLIENT_IDENTIFIER, &chaddr[..7])
        .option(option::PARAMETER_REQUEST_LIST, &[1, 3, 6, 15, 42])
        .option(option::RELAY_AGENT_INFORMATION, b"\x01\x04eth0\x02\x06remote");
    let len = writer.finish(300).expect("there is room");
    buffer[..len].to_vec()
}

fn main() {
    let datagrams: Vec<Vec<u8>> = (0..1_000).map(discover).collect();
    let messages: Vec<Message<'_>> =
        datagrams.iter().map(|octets| Message::parse(octets).expect("it is sound")).collect();
    let ingress = Ingress::routed(
        SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 67),
        Ipv4Addr::new(10, 0, 0, 2),
    );
    let interfaces = &InterfaceNames::default();
    let vendor = |n: usize| format!("option[60].hex == 'vendor:{n}'");
    let both = |n: usize| format!("option[60].hex == 'vendor:{n}' and relay4[1].hex == 'eth0'");
    for (name, classes) in [
        ("no classes", classes(0, vendor)),
        ("1 comparison", classes(1, vendor)),
        ("100 comparisons of one option", classes(100, vendor)),
        ("10,000 comparisons of one option", classes(10_000, vendor)),
        ("100 comparisons and another", classes(100, both)),
        ("100 tests of five shapes", classes(100, distinct)),
    ] {
        let (mut set, mut work) = (ClassSet::default(), Workspace::default());
        let mut best = f64::INFINITY;
        let mut members = 0;
        for _ in 0..ROUNDS {
            let begun = Instant::now();
            for message in messages.iter().cycle().take(MESSAGES) {
                let view = PacketView4 {
                    message,
                    ingress: &ingress,
                    interfaces,
                    stored_relay_information: &[],
                };
                classes.evaluate_early(black_box(&view), &mut set, &mut work);
                members += set.iter().len();
            }
            best = best.min(begun.elapsed().as_nanos() as f64 / MESSAGES as f64);
        }
        let members = members as f64 / (ROUNDS * MESSAGES) as f64;
        println!("{name:<34} {best:>8.1} ns per message, in {members:.2} classes");
    }
}
