//! Tests of reading frames in which a kernel has left out checksums or joined segments.

use std::net::SocketAddrV4;

use netio::frame::{PendingChecksum, Train};

use super::*;

const SERVER_MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
const CLIENT_MAC: MacAddress = MacAddress([0, 0x0c, 1, 2, 3, 4]);

fn endpoints() -> Endpoints {
    Endpoints {
        source_mac: SERVER_MAC,
        destination_mac: CLIENT_MAC,
        source: SocketAddrV4::new(Ipv4Addr::new(10, 77, 0, 1), 67),
        destination: SocketAddrV4::new(Ipv4Addr::new(10, 77, 0, 10), 68),
    }
}

/// Returns the bytes of a frame with `payload`.
fn sealed(payload: &[u8]) -> Vec<u8> {
    let mut octets = vec![0; frame::HEADROOM + payload.len()];
    octets[frame::HEADROOM..].copy_from_slice(payload);
    frame::seal(&mut octets, payload.len(), &endpoints());
    octets
}

/// Returns the messages read in a frame: payload, source and destination, and true if damaged.
fn read(frame: ReceivedFrame<'_>) -> Vec<(Vec<u8>, Option<Endpoints>, bool)> {
    let mut all = Vec::new();
    for_each_message(&frame, |MessagePosition { at, len, endpoints, is_damaged, .. }| {
        all.push((frame.octets[at..at + len].to_vec(), endpoints, is_damaged));
    });
    all
}

const fn plain(octets: &[u8]) -> ReceivedFrame<'_> {
    ReceivedFrame { octets, checksum: None, train: None }
}

#[test]
fn a_frame_is_read_with_who_it_is_from_and_for_and_without_its_padding() {
    let mut octets = sealed(b"an offer");
    octets.resize(60, 0xee);
    assert_eq!(read(plain(&octets)), [(b"an offer".to_vec(), Some(endpoints()), false)]);
}

#[test]
fn a_wrong_checksum_is_damage_unless_it_was_left_to_a_device() {
    let mut octets = sealed(b"an offer");
    *octets.last_mut().unwrap() ^= 1;
    let damaged = [(b"an offes".to_vec(), Some(endpoints()), true)];
    assert_eq!(read(plain(&octets)), damaged);
    let checksum = Some(PendingChecksum { start: 34, offset: 6 });
    let sound = [(b"an offes".to_vec(), Some(endpoints()), false)];
    assert_eq!(read(ReceivedFrame { octets: &octets, checksum, train: None }), sound);
    // The checksum of the IPv4 header, which every kernel fills in.
    octets[24] ^= 1;
    assert_eq!(
        read(ReceivedFrame { octets: &octets, checksum, train: None }),
        [(vec![], None, true)]
    );
}

#[test]
fn a_train_is_as_many_messages_as_it_has_segments() {
    let octets = sealed(b"one of fivetwo of fivelast");
    let train = Some(Train { kind: TrainKind::Udp, payload_bytes: 11 });
    let all = read(ReceivedFrame { octets: &octets, checksum: None, train });
    let payloads: Vec<&[u8]> = all.iter().map(|message| &message.0[..]).collect();
    assert_eq!(payloads, [&b"one of five"[..], b"two of five", b"last"]);
    assert!(all.iter().all(|message| message.1 == Some(endpoints()) && !message.2));
}

/// Returns a broadcast frame with an ARP message.
fn arp(message: arp::ArpMessage) -> Vec<u8> {
    let mut octets = vec![0; 60];
    let mut writer = ByteWriter::new(&mut octets);
    let header = ethernet::EthernetHeader {
        destination: MacAddress::BROADCAST,
        source: message.sender_mac,
        tags: [None; ethernet::TAGS_MAX],
        ether_type: ethernet::TYPE_ARP,
    };
    header.emit(&mut writer);
    message.emit(&mut writer);
    octets
}

#[test]
fn questions_are_taken_with_probes_and_without_announcements_and_answers() {
    let arp_request = arp::ArpMessage {
        operation: arp::REQUEST,
        sender_mac: SERVER_MAC,
        sender: Ipv4Addr::new(10, 77, 0, 1),
        target_mac: MacAddress::default(),
        target: Ipv4Addr::new(10, 77, 0, 10),
    };
    assert_eq!(question(&arp(arp_request)), Some(arp_request));
    let probe = arp::ArpMessage { sender: Ipv4Addr::UNSPECIFIED, ..arp_request };
    assert_eq!(question(&arp(probe)), Some(probe));
    let announced = arp::ArpMessage { sender: arp_request.target, ..arp_request };
    for other in [announced, arp_request.answered_by(CLIENT_MAC)] {
        assert_eq!(question(&arp(other)), None);
        assert_eq!(read(plain(&arp(other))), [], "no message, and none that is damaged");
    }
    assert_eq!(question(&sealed(&[0; 60])), None);
}
