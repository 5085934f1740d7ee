//! Tests of classes with verdicts from Kea, which got the message in the same file.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};

use dhcp_config::{ClientClass, NoIncludes, parse_dhcp4, parse_dhcp6};
use dhcp_engine::classify::{ClassSet, Classes, PacketView, PacketView4, PacketView6, Workspace};
use dhcp_engine::{InterfaceNames, v4, v6};

/// Verdict of Kea, verdict of godwit, and the test.
struct Vector {
    kea: bool,
    godwit: bool,
    test: String,
}

/// Reads the message and the verdicts of a file.
fn read(name: &str) -> (Vec<u8>, Vec<Vector>) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let text = std::fs::read_to_string(path).expect("the file is shipped");
    let mut lines = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let mut columns = line.splitn(3, '\t');
        [(); 3].map(|()| columns.next().expect("three columns"))
    });
    let [_, _, message] = lines.next().expect("the message comes first");
    let digits = message.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("ASCII"));
    let message = digits.map(|pair| u8::from_str_radix(pair, 16).expect("digits")).collect();
    let vectors = lines.map(|[kea, godwit, test]| {
        let kea = kea == "yes";
        let godwit = if godwit == "=" { kea } else { godwit == "yes" };
        Vector { kea, godwit, test: test.to_owned() }
    });
    (message, vectors.collect())
}

/// Returns `client-classes` with one class for each test.
fn configuration(family: &str, vectors: &[Vector]) -> String {
    let class = |(number, vector): (usize, &Vector)| {
        let test = vector.test.replace('\\', "\\\\");
        format!("{{ \"name\": \"{number}\", \"test\": \"{test}\" }}")
    };
    let classes: Vec<String> = vectors.iter().enumerate().map(class).collect();
    format!("{{ \"{family}\": {{ \"client-classes\": [ {} ] }} }}", classes.join(",\n"))
}

fn check<C, B>(configured: &[ClientClass<C, B>], vectors: &[Vector], view: &impl PacketView) {
    let classes = Classes::compile(configured, []);
    let (mut set, mut work) = (ClassSet::default(), Workspace::default());
    classes.evaluate_early(view, &mut set, &mut work);
    set.insert(Classes::UNKNOWN);
    classes.evaluate_late(view, &mut set, &mut work);
    for (number, vector) in vectors.iter().enumerate() {
        let class = classes.index(&number.to_string()).expect("it is configured");
        assert_eq!(set.contains(class), vector.godwit, "{}", vector.test);
    }
    let same = vectors.iter().filter(|vector| vector.kea == vector.godwit).count();
    assert!(same * 20 > vectors.len() * 17, "{same} of {}", vectors.len());
}

#[test]
fn dhcpv4_messages_are_in_the_classes_that_kea_puts_them_in() {
    let (octets, vectors) = read("classes4-kea.txt");
    let config = parse_dhcp4("t", &configuration("Dhcp4", &vectors), &mut NoIncludes)
        .unwrap_or_else(|problems| panic!("{}", problems[0]));
    let message = dhcp_wire::v4::Message::parse(&octets).expect("Kea took it");
    let source = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 67);
    let mut ingress = v4::Ingress::routed(source, Ipv4Addr::new(10, 0, 0, 2));
    ingress.interface = 1;
    let interfaces = &InterfaceNames::new([(1, "lo")]);
    let view = PacketView4 {
        message: &message,
        ingress: &ingress,
        interfaces,
        stored_relay_information: &[],
    };
    check(&config.config.client_classes, &vectors, &view);
}

#[test]
fn dhcpv6_messages_are_in_the_classes_that_kea_puts_them_in() {
    let (octets, vectors) = read("classes6-kea.txt");
    let config = parse_dhcp6("t", &configuration("Dhcp6", &vectors), &mut NoIncludes)
        .unwrap_or_else(|problems| panic!("{}", problems[0]));
    let packet = dhcp_wire::v6::Packet::parse(&octets).expect("Kea took it");
    let address = |last| Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last);
    let ingress = v6::Ingress {
        source: SocketAddrV6::new(address(1), 547, 0, 0),
        local: address(2),
        interface: 1,
        is_multicast: false,
        listener_index: 0,
    };
    let interfaces = &InterfaceNames::new([(1, "lo")]);
    let view = PacketView6 { packet: &packet, ingress: &ingress, interfaces };
    check(&config.config.client_classes, &vectors, &view);
}
