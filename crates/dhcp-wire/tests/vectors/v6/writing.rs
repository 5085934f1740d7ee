//! Tests of our writer, byte by byte against others' packets and through tshark.

use dhcp_wire::v6::{
    Dhcp6OptionIterator, IaKind, Message, MessageType, MessageWriter, Packet, RelayWriter,
    StatusCode, option,
};
use packet_wire::{ipv6, pcap, protocol, udp};
use testkit::TempFolder;

use crate::common::V6;
use crate::vectors::tshark;

/// Writes a packet again from the values of its accessors: bytes at its end that no reader looks at
/// are lost, and so is the order of options after Relay Message.
fn emitted(packet: &Packet<'_>, buffer: &mut [u8]) -> usize {
    let levels = match packet.relay_type() {
        Some(MessageType::RelayRepl) => RelayWriter::reply(buffer),
        _ => RelayWriter::forward(buffer),
    };
    let levels = packet.relays().fold(levels, |levels, relay| {
        let level = levels.level(relay.hop_count, relay.link_address, relay.peer_address);
        let others = relay.options.filter(|&(code, _)| code != option::RELAY_MSG);
        others.fold(level, |level, (code, value)| level.option(code, value))
    });
    let message = packet.message();
    let mut writer = levels.message(message.message_type(), message.transaction_id());
    let mut ias = message.ias();
    for (code, value) in message.options() {
        if IaKind::from_code(code).is_none() {
            option_again(&mut writer, code, value);
            continue;
        }
        let ia = ias.next().unwrap();
        let mark = writer.ia(ia.kind, ia.iaid, ia.t1_s, ia.t2_s);
        let (mut addresses, mut prefixes) = (ia.addresses(), ia.prefixes());
        for (code, value) in ia.options {
            let (inner, options) = match code {
                option::IAADDR => {
                    let a = addresses.next().unwrap();
                    (writer.begin_ia_address(a.address, a.preferred_s, a.valid_s), a.options)
                }
                option::IAPREFIX => {
                    let p = prefixes.next().unwrap();
                    let times = (p.preferred_s, p.valid_s);
                    let inner = writer.begin_ia_prefix(p.prefix, p.len, times.0, times.1);
                    if let Some((excluded, len)) = p.excluded() {
                        writer.pd_exclude(p.len, excluded, len);
                        writer.end(inner);
                        continue;
                    }
                    (inner, p.options)
                }
                _ => {
                    option_again(&mut writer, code, value);
                    continue;
                }
            };
            options.for_each(|(code, value)| option_again(&mut writer, code, value));
            writer.end(inner);
        }
        writer.end(mark);
    }
    writer.finish().unwrap()
}

fn option_again(writer: &mut MessageWriter<'_>, code: u16, value: &[u8]) {
    if code == option::STATUS_CODE {
        let status = StatusCode::from_code(u16::from_be_bytes([value[0], value[1]])).unwrap();
        writer.status(status, std::str::from_utf8(&value[2..]).unwrap());
    } else {
        writer.option(code, value);
    }
}

/// Returns true if every byte of the packet is read, in the order in which we write.
fn is_plain(packet: &Packet<'_>) -> bool {
    let is_whole = |mut options: Dhcp6OptionIterator<'_>| {
        options.by_ref().for_each(drop);
        options.octets().is_empty()
    };
    let message = packet.message();
    let is_last = |options: Dhcp6OptionIterator<'_>| options.last().unwrap().0 == option::RELAY_MSG;
    is_whole(message.options())
        && message.ias().all(|ia| is_whole(ia.options))
        && packet.relays().all(|relay| is_whole(relay.options) && is_last(relay.options))
}

#[test]
fn we_write_the_octets_that_others_wrote() {
    let mut plain = 0;
    let payloads = V6.all_payloads();
    for payload in &payloads {
        let packet = Packet::parse(payload).unwrap();
        let mut buffer = [0x5a; 1_500];
        let len = emitted(&packet, &mut buffer);
        if is_plain(&packet) {
            assert_eq!(buffer[..len], payload[..]);
            plain += 1;
        } else {
            assert!(len < payload.len() || packet.relay_count() > 0);
        }
    }
    assert_eq!(payloads.len() - plain, 2, "only the ones made to be odd");
}

#[test]
fn our_answers_have_the_levels_that_kea_writes() {
    let (mut compared, mut levels) = (0, 0);
    let mut waiting: Vec<Vec<u8>> = Vec::new();
    for payload in V6.all_payloads() {
        let packet = Packet::parse(&payload).unwrap();
        if packet.relay_type() != Some(MessageType::RelayRepl) {
            waiting.push(payload);
            continue;
        }
        let is_asked = |query: &&Vec<u8>| {
            let query = Packet::parse(query).unwrap().message();
            query.transaction_id() == packet.message().transaction_id()
                && query.client_id() == packet.message().client_id()
        };
        let query = Packet::parse(waiting.iter().rfind(is_asked).unwrap()).unwrap();
        let mut buffer = [0x5a; 1_500];
        let levels_begun = RelayWriter::reply_to(&mut buffer, &query);
        let len = levels_begun.carry(packet.message().octets()).unwrap();
        assert_eq!(buffer[..len], payload[..]);
        compared += 1;
        levels += packet.relay_count();
    }
    assert!(compared >= 9 && levels >= 11, "{compared} {levels}");
}

/// Returns a packet over IPv6, as in a capture.
fn sealed(payload: &[u8]) -> Vec<u8> {
    let source = "[2001:db8::1]:547".parse().unwrap();
    let destination = "[2001:db8::2]:547".parse().unwrap();
    let mut packet = vec![0; ipv6::HEADER_LEN];
    let header = ipv6::Header::new(
        protocol::UDP,
        "2001:db8::1".parse().unwrap(),
        "2001:db8::2".parse().unwrap(),
    );
    header.emit(udp::HEADER_LEN + payload.len(), &mut base::ByteWriter::new(&mut packet));
    packet.extend(udp::header_for(source, destination, payload));
    packet.extend(payload);
    packet
}

/// Returns a packet with one of everything that the writer can write, in `count` levels.
fn everything(query: &Packet<'_>, buffer: &mut [u8]) -> usize {
    let address = "2001:db8:1::7".parse().unwrap();
    let prefix = "2001:db8:8000:700::".parse().unwrap();
    let mut writer = MessageWriter::reply_to(buffer, query, MessageType::Reply);
    writer.option(option::CLIENTID, &[0, 3, 0, 1, 2, 0, 0x5e, 0x30, 0, 1]);
    writer.option(option::SERVERID, &[0, 2, 0, 0, 0x7e, 0xd9, 1]).option(option::RAPID_COMMIT, &[]);
    let ia = writer.ia(IaKind::Na, 1, 900, 1_440);
    writer.ia_address(address, 1_800, 3_600);
    let inner = writer.begin_ia_address(address, 0, 0);
    writer.status(StatusCode::NotOnLink, "not here").end(inner);
    writer.status(StatusCode::Success, "").end(ia);
    let ia = writer.ia(IaKind::Pd, 2, 900, 1_440);
    let inner = writer.begin_ia_prefix(prefix, 56, 1_800, u32::MAX);
    writer.pd_exclude(56, "2001:db8:8000:780::".parse().unwrap(), 61).end(inner);
    writer.ia_prefix(prefix, 128, 0, 0).end(ia);
    let ia = writer.ia(IaKind::Ta, 3, 0, 0);
    writer.status(StatusCode::NoAddrsAvail, "none").end(ia);
    writer.option_u16(option::ELAPSED_TIME, 9).option_u32(option::INFORMATION_REFRESH_TIME, 600);
    let vendor = writer.begin(option::VENDOR_CLASS);
    writer.octets(&[0, 0, 0x7e, 0xd9, 0, 2, b'v', b'c']).end(vendor);
    writer.status(StatusCode::UnspecFail, "and so on").finish().unwrap()
}

#[test]
fn tshark_finds_nothing_malformed_in_what_we_write() {
    let mut file = pcap::CaptureWriter::new(
        pcap::LINK_RAW_IP,
        pcap::ByteOrder::Little,
        pcap::Resolution::Microseconds,
    );
    let mut levels = Vec::new();
    for count in [0, 1, 2, 5, 32] {
        let mut buffer = [0; 4_000];
        let begun = (0..count).fold(RelayWriter::forward(&mut buffer), |begun, level| {
            let begun = begun.level(count - level, [level; 16].into(), [9; 16].into());
            if level % 2 == 0 { begun.option(option::INTERFACE_ID, b"port") } else { begun }
        });
        let len = begun.message(MessageType::Solicit, 0x12_3456).finish().unwrap();
        file.packet(0, &sealed(&buffer[..len]));
        let query = Packet::parse(&buffer[..len]).unwrap();
        let mut answer = [0x5a; 4_000];
        let len = everything(&query, &mut answer);
        file.packet(0, &sealed(&answer[..len]));
        levels.extend([usize::from(count); 2]);
    }
    let folder = TempFolder::new("v6");
    let path = folder.path().join("written.pcap");
    std::fs::write(&path, file.octets()).unwrap();
    let Some(packets) = tshark::packets(&path) else { return };
    assert_eq!(packets.len(), levels.len());
    for (index, (pdml, levels)) in packets.iter().zip(levels).enumerate() {
        assert!(pdml.contains("<proto name=\"dhcpv6\""), "{index}");
        assert!(!pdml.to_lowercase().contains("malformed"), "{index}: {pdml}");
        assert_eq!(pdml.matches("name=\"dhcpv6.hopcount\"").count(), levels);
        assert_eq!(pdml.matches("name=\"dhcpv6.iaaddr.ip\"").count(), 2 * (index % 2));
        assert_eq!(pdml.matches("name=\"dhcpv6.iaprefix.pref_addr\"").count(), 2 * (index % 2));
        assert_eq!(pdml.matches("name=\"dhcpv6.status_code\"").count(), 4 * (index % 2));
    }
}

/// Checks that the message inside of levels equals the same message without levels.
#[test]
fn levels_change_nothing_in_the_message() {
    let payload = V6.payloads("odd").remove(0);
    let query = Packet::parse(&payload).unwrap();
    let direct = Packet::parse(query.message().octets()).unwrap();
    let (mut with, mut without) = ([0x5a; 1_500], [0xa5; 1_500]);
    let len = everything(&query, &mut with);
    let with = Packet::parse(&with[..len]).unwrap();
    let len = everything(&direct, &mut without);
    let whole: Message<'_> = with.message();
    assert_eq!((with.relay_count(), whole.octets()), (3, &without[..len]));
}
