//! Tests of DHCPv4 messages against tshark's reading of them.

mod reading;

use dhcp_wire::OptionParsing;
use dhcp_wire::v4::relay::SubOptions;
use dhcp_wire::v4::{Dhcp4Header, Message, MessageType, MessageWriter, option};
use packet_wire::{ethernet::MacAddress, frame, pcap};
use reading::{HexMessage, HexOption, Values};
use testkit::TempFolder;

use crate::common::V4;
use crate::vectors::tshark::check_twins;
use crate::vectors::{check_verdicts, hex, octets};

/// Returns our reading of a message, in the form of tshark's.
fn ours(message: &Message<'_>) -> HexMessage {
    let fields = [
        ("op", hex([message.op()])),
        ("htype", hex([message.htype()])),
        ("hlen", hex([message.hlen()])),
        ("hops", hex([message.hops()])),
        ("xid", hex(message.xid().to_be_bytes())),
        ("secs", hex(message.secs().to_be_bytes())),
        ("flags", hex(message.flags().to_be_bytes())),
        ("ciaddr", hex(message.ciaddr().octets())),
        ("yiaddr", hex(message.yiaddr().octets())),
        ("siaddr", hex(message.siaddr().octets())),
        ("giaddr", hex(message.giaddr().octets())),
        ("chaddr", hex(message.chaddr().iter().copied())),
        ("sname", hex(message.sname().iter().copied())),
        ("file", hex(message.file().iter().copied())),
    ];
    let subs = |code: u8| match message.relay_agent_information() {
        Some(value) if code == option::RELAY_AGENT_INFORMATION => {
            SubOptions::new(value).map(|(code, value)| (code, hex(value.octets()))).collect()
        }
        _ => Vec::new(),
    };
    HexMessage {
        fields: fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        options: message
            .instances()
            .map(|(code, value)| HexOption {
                code,
                value: hex(value.iter().copied()),
                subs: subs(code),
            })
            .collect(),
    }
}

/// Returns our joined options, in the form of [`HexMessage::joined`].
fn joined(message: &Message<'_>) -> Values<u8> {
    message.options().map(|(code, value)| (code, hex(value.octets()))).collect()
}

fn twin(capture: &str) -> Vec<HexMessage> {
    reading::parse(&std::fs::read_to_string(V4.file(&format!("{capture}.txt"))).unwrap())
}

#[test]
fn the_twins_are_what_tshark_reads() {
    check_twins(V4, reading::render_packets);
}

#[test]
fn we_read_what_tshark_reads() {
    let mut compared = 0;
    for capture in V4.captures {
        let theirs = twin(capture);
        let payloads = V4.payloads(capture);
        assert_eq!(payloads.len(), theirs.len());
        for (number, (payload, theirs)) in payloads.iter().zip(&theirs).enumerate() {
            let message = Message::parse(payload).unwrap();
            assert_eq!(ours(&message), *theirs, "{capture}, packet {}", number + 1);
            assert_eq!(joined(&message), theirs.joined(), "{capture}, packet {}", number + 1);
            compared += 1;
        }
    }
    assert!(compared >= 60, "{compared}");
}

/// Reason: since 3.1.9 Kea drops it, unless it is lenient.
const LONG: &str = "longer than its definition says";

/// Datagrams that Kea 2.2 drops and that lenient parsing accepts, each with the reason.
const LENIENT: [(&str, &str); 1] =
    [("option 54 length 5", "a server identifier in a DISCOVER: for the engine to drop")];

/// Datagrams on which our verdict differs from that of Kea 2.2, each with the reason.
const DIFFERENT: [(&str, &str); 14] = [
    ("option 50 length 5", LONG),
    ("option 50 length 8", LONG),
    ("option 51 length 5", LONG),
    ("option 57 length 3", LONG),
    ("53 len 2", LONG),
    ("53 twice", "it says the same again: Kea 3 takes it"),
    ("op 0", "no such operation"),
    ("op 3", "no such operation"),
    ("hlen 17", "longer than its field"),
    ("hlen 0 no client id", "sound, but nobody to lease to: for the engine to drop"),
    ("53 in file by overload", "Kea does not look into the field"),
    ("50 split 2+2", "Kea does not join the pieces"),
    ("truncated 53 itself", "read as BOOTP: for the engine to drop"),
    ("no 53", "BOOTP: for the engine to drop"),
];

#[test]
fn we_refuse_what_kea_drops_and_take_what_it_answers() {
    check_verdicts(V4, &DIFFERENT, |columns| Message::parse(&datagram(columns)).is_ok());
}

#[test]
fn what_is_too_long_is_taken_where_parsing_is_lenient() {
    let different: Vec<_> =
        DIFFERENT.into_iter().filter(|(_, reason)| *reason != LONG).chain(LENIENT).collect();
    check_verdicts(V4, &different, |columns| {
        Message::parse_as(&datagram(columns), OptionParsing::Lenient).is_ok()
    });
}

/// Returns the datagram that the columns of a verdict describe.
fn datagram(columns: &[&str]) -> Vec<u8> {
    let [op, hlen, hops, cookie, file, options] = columns[..] else { panic!("{columns:?}") };
    let mut datagram = vec![0; 236];
    datagram[..4].copy_from_slice(&[octets(op)[0], 1, octets(hlen)[0], octets(hops)[0]]);
    datagram[24..34].copy_from_slice(&[192, 0, 2, 2, 2, 0, 0x5e, 0x30, 0, 1]);
    datagram[108..108 + octets(file).len()].copy_from_slice(&octets(file));
    datagram.extend(octets(cookie));
    datagram.extend(octets(options));
    datagram
}

/// Checks the contents of the captures, so that a comparison of nothing cannot pass.
#[test]
fn the_captures_hold_what_they_are_for() {
    let types = |capture: &str| -> Vec<MessageType> {
        let payloads = V4.payloads(capture);
        payloads.iter().filter_map(|p| Message::parse(p).unwrap().message_type()).collect()
    };
    use MessageType::{Ack, Discover, Nak, Offer, Release, Request};
    let dora = [Discover, Offer, Request, Ack];
    assert_eq!(types("dhclient"), [&dora[..], &[Request, Ack, Release]].concat());
    assert_eq!(types("dhclient-nak"), [&[Request, Nak], &dora[..]].concat());
    assert_eq!(types("udhcpc"), [&dora[..], &[Request, Ack, Release]].concat());
    let perfdhcp = types("perfdhcp");
    assert!(dora.iter().chain(&[Release]).all(|kind| perfdhcp.contains(kind)));
    let odd = V4.payloads("odd");
    let has = |test: &dyn Fn(&Message<'_>) -> bool| {
        odd.iter().any(|payload| test(&Message::parse(payload).unwrap()))
    };
    assert!(has(&|m| m.option(option::OVERLOAD).is_some() && m.client_id().unwrap().len() == 13));
    assert!(has(&|m| m.option(230).is_some_and(|value| value.len() == 600)));
    assert!(has(&|m| m.vendor_class().is_some_and(|value| value.fragments().count() == 3)));
    assert!(has(&|m| m.option(option::RAPID_COMMIT).is_some_and(|value| value.is_empty())));
    assert!(has(&|m| m.hlen() == 0) && has(&|m| m.hlen() == 16) && has(&|m| m.is_broadcast()));
}

/// Writes a message again from the values of its accessors.
fn emitted(message: &Message<'_>, buffer: &mut [u8]) -> usize {
    let mut writer = MessageWriter::new(buffer, &Dhcp4Header::from_message(message));
    writer.sname(message.sname()).file(message.file());
    for (code, value) in message.options() {
        writer.option_value(code, value);
    }
    writer.finish(300).unwrap()
}

/// Removes option 52, which describes the places of options: these may change, the rest of the
/// meaning may not.
fn meaning(reading: &HexMessage) -> (Values<String>, Values<u8>) {
    let mut joined = reading.joined();
    joined.retain(|&(code, _)| code != option::OVERLOAD);
    (reading.fields.clone(), joined)
}

#[test]
fn what_we_write_means_the_same_to_us_and_to_tshark() {
    let folder = TempFolder::new("v4");
    for capture in V4.captures {
        let mut file = pcap::CaptureWriter::new(
            pcap::LINK_ETHERNET,
            pcap::ByteOrder::Little,
            pcap::Resolution::Microseconds,
        );
        let endpoints = frame::Endpoints {
            source_mac: MacAddress([2, 0, 0, 0, 0, 1]),
            destination_mac: MacAddress::BROADCAST,
            source: "192.0.2.2:67".parse().unwrap(),
            destination: "192.0.2.1:67".parse().unwrap(),
        };
        let twin = twin(capture);
        for (payload, theirs) in V4.payloads(capture).iter().zip(&twin) {
            let mut buffer = [0x5a; 1_500];
            let original = Message::parse(payload).unwrap();
            let len = emitted(&original, &mut buffer[frame::HEADROOM..]);
            let again = Message::parse(&buffer[frame::HEADROOM..][..len]).unwrap();
            assert_eq!(meaning(&ours(&again)), meaning(theirs), "{capture}");
            let frame_len = frame::seal(&mut buffer, len, &endpoints);
            file.packet(0, &buffer[..frame_len]);
        }
        let path = folder.path().join(capture);
        std::fs::write(&path, file.octets()).unwrap();
        if let Some(readings) = reading::read(&path) {
            for (again, theirs) in readings.iter().zip(&twin) {
                assert_eq!(meaning(again), meaning(theirs), "{capture}");
            }
            assert_eq!(readings.len(), twin.len());
        }
    }
}
