//! Tests of the IP packets found after the headers of all links.

use alloc::vec;
use alloc::vec::Vec;

use super::*;

const PACKET: [u8; 3] = [0x45, 1, 2];

/// Returns a radiotap header with a time and flags, and after it a wireless header (IEEE 802.11) of
/// 26 bytes, padded to 28.
fn padded_radiotap() -> Vec<u8> {
    let mut head = vec![0, 0, 17, 0, 3, 0, 0, 0];
    head.extend([0; 8]);
    head.push(0x20);
    head.extend([0x88, 0x01]);
    head.extend([0; 26]);
    head.extend([0xaa, 0xaa, 3, 0, 0, 0, 8, 0]);
    head
}

/// Returns link types that few captures have, each with the bytes in front of a packet of IPv4.
fn rare_heads() -> Vec<(u32, Vec<u8>)> {
    let ethernet = |tail: &[u8]| [&[2; 12][..], tail].concat();
    let snap = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
    let wireless = [&[8, 1][..], &[0; 22], &snap].concat();
    let mut tap = [0; 108];
    (tap[0], tap[8]) = (108, 1);
    vec![
        (1, ethernet(&[0x92, 0, 0, 5, 8, 0])),
        (TOKEN_RING, [&[0x10; 14][..], &snap].concat()),
        (TOKEN_RING, [&[0x10; 8][..], &[0x90; 6], &[6, 0, 0, 1, 0, 2], &snap].concat()),
        (ARCNET, vec![1, 2, 212, 0, 0, 1]),
        (ARCNET, vec![1, 2, 240]),
        (ARCNET_OF_LINUX, vec![1, 2, 0, 0, 212, 0, 0, 1]),
        (SLIP, vec![0; 16]),
        (ATM, snap.to_vec()),
        (ATM, vec![]),
        (FRAME_RELAY, vec![0x18, 0x41, 3, 0xcc]),
        (FRAME_RELAY, vec![0x18, 0x41, 3, 0, 0x80, 0, 0, 0, 8, 0]),
        (FRAME_RELAY, vec![0x18, 0x40, 0x00, 0x41, 8, 0]),
        (SYMANTEC_FIREWALL, [&[0; 6][..], &[8, 0], &[0; 36]].concat()),
        (ATM, vec![0xfe, 0xfe, 3, 0xcc]),
        (ATM_OF_LINUX, snap.to_vec()),
        (SLIP_OF_BSD_OS, vec![0; 16]),
        (SUN_ATM, [&[2, 1, 0, 7][..], &snap].concat()),
        (SUN_ATM, [&[1, 1, 0, 7, 0, 0][..], &ethernet(&[8, 0])].concat()),
        (MULTILINK_FRAME_RELAY, vec![0xc1, 0, 0x18, 0x41, 3, 0xcc]),
        (FIBRE_CHANNEL, [&[0x10; 16][..], &snap].concat()),
        (INFINIBAND, [&[0; 40][..], &[8, 0, 0, 0]].concat()),
        (SOLARIS_IPNET, [&[1, 2][..], &[0; 22]].concat()),
        (NET_ANALYZER, [&[0; 4][..], &ethernet(&[8, 0])].concat()),
        (NET_ANALYZER_TRANSPARENT, [&[0; 12][..], &ethernet(&[8, 0])].concat()),
        (PRISM, [&[0x44, 0, 0, 0, 16, 0, 0, 0][..], &[0; 8], &wireless].concat()),
        (AVS, [&[0x80, 0x21, 0x10, 1, 0, 0, 0, 12][..], &[0; 4], &wireless].concat()),
        (PACKET_TAP_OLD, [&tap[..], &ethernet(&[8, 0])].concat()),
        (RADIOTAP, padded_radiotap()),
    ]
}

/// Returns link types of Juniper's routers, each with the bytes in front of a packet of IPv4.
fn juniper_heads() -> Vec<(u32, Vec<u8>)> {
    let ethernet = [&[2; 12][..], &[8, 0]].concat();
    let snap = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
    let heads: [(u32, &[u8], &[u8]); 20] = [
        (juniper::ETHERNET, b"\0", &ethernet),
        (juniper::ETHERNET, b"\x80\0\x02ab", &ethernet),
        (juniper::ETHERNET, b"\x02", &[0; 4]),
        (juniper::PPPOE, b"\0", &ethernet),
        (juniper::PPPOE_ON_ATM, b"\0", &[0x88, 0x64, 0x11, 0, 0, 1, 0, 5, 0, 0x21]),
        (juniper::PPP, b"\0", &[0xff, 3, 0, 0x21]),
        (juniper::FRAME_RELAY, b"\0", &[0x18, 0x41, 3, 0xcc]),
        (juniper::CISCO_HDLC, b"\0", &[0x0f, 0, 8, 0]),
        (juniper::MONITOR, b"\0", &[0; 8]),
        (juniper::SERVICES, b"\0", &[0x47, 0, 0, 0, 0, 0, 0, 0]),
        (juniper::MOBILE_GATEWAY, b"\0", &[1, 0, 2, 0, 0, 0, 0, 0]),
        (juniper::ENCRYPTION, b"\0", &[0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        (juniper::ATM_1, b"\0", &[&[0; 4][..], &snap].concat()),
        (juniper::ATM_2, b"\0", &[&[0; 8][..], &snap].concat()),
        (juniper::ATM_2, b"\0", &[&[0, 0, 0, 1, 0, 0, 0, 0][..], &ethernet].concat()),
        (juniper::ATM_2, b"\x01", &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0x21]),
        (juniper::MULTILINK_PPP, b"\0", &[0x47, 0, 0, 0, 0, 0, 0, 0]),
        (juniper::MULTILINK_PPP, b"\0", &[0x54, 0, 0, 0, 0, 0x21]),
        (juniper::MULTILINK_FRAME_RELAY, b"\0", &[0x54, 0, 0, 0, 3, 0xcc]),
        (juniper::FRAGMENTED_FRAME_RELAY, b"\0", &[0xc1, 0, 0x18, 0x41, 3, 0xcc]),
    ];
    let head = |(link_type, flags, tail)| (link_type, [&b"MGC"[..], flags, tail].concat());
    heads.into_iter().map(head).collect()
}

/// Returns each link type with the bytes in front of a packet of IPv4.
fn heads() -> Vec<(u32, Vec<u8>)> {
    let macs = [2; 12];
    let ethernet = |tail: &[u8]| [&macs[..], tail].concat();
    let radiotap = [0, 0, 10, 0, 0, 0, 0, 0, 0, 0];
    let snap = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
    let wireless = |control: [u8; 2], len: usize| {
        let mut head = vec![0; len];
        head[..2].copy_from_slice(&control);
        [&head[..], &snap].concat()
    };
    let tap_head = |bytes: usize, link_type: u8| {
        let mut head = vec![0; bytes];
        head[0] = bytes as u8;
        head[8] = link_type;
        head
    };
    vec![
        (NULL, vec![2, 0, 0, 0]),
        (LOOP, vec![0, 0, 0, 2]),
        (RAW, vec![]),
        (RAW_OF_BSD, vec![]),
        (RAW_OF_OPENBSD, vec![]),
        (IPV4, vec![]),
        (IPSEC, vec![0; 12]),
        (1, ethernet(&[8, 0])),
        (1, ethernet(&[0x81, 0, 0, 5, 8, 0])),
        (1, ethernet(&[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 8, 0])),
        (1, ethernet(&[0x91, 0, 0, 5, 0x81, 0, 0, 6, 0x81, 0, 0, 7, 8, 0])),
        (1, ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 5, 0, 0x21])),
        (1, ethernet(&[0x88, 0x47, 0, 0, 0, 64, 0, 1, 1, 64])),
        (1, [&ethernet(&[0, 11])[..], &snap].concat()),
        (COOKED, [&[0; 14][..], &[8, 0]].concat()),
        (COOKED, [&[0; 14][..], &[0x81, 0, 0, 5, 8, 0]].concat()),
        (COOKED_2, [&[8, 0][..], &[0; 18]].concat()),
        (FIREWIRE, [&[0; 16][..], &[8, 0]].concat()),
        (CISCO_HDLC, vec![0x0f, 0, 8, 0]),
        (PPP, vec![0xff, 3, 0, 0x21]),
        (PPP, vec![0, 0x21]),
        (PPP, vec![0x21]),
        (PPP_SERIAL, vec![0xff, 3, 0, 0x21]),
        (PPP_SERIAL, vec![0x8f, 0, 8, 0]),
        (PPP_ETHER, vec![0x11, 0, 0, 1, 0, 5, 0, 0x21]),
        (LLC, snap.to_vec()),
        (FDDI, [&[0x50; 13][..], &snap].concat()),
        (WIRELESS, wireless([0x08, 0x01], 24)),
        (WIRELESS, wireless([0x08, 0x03], 30)),
        (WIRELESS, wireless([0x88, 0x01], 26)),
        (WIRELESS, wireless([0x88, 0x81], 30)),
        (RADIOTAP, [&radiotap[..], &wireless([0x08, 0x02], 24)].concat()),
        (PER_PACKET, [&[0, 0, 8, 0, 1, 0, 0, 0][..], &ethernet(&[8, 0])].concat()),
        (PACKET_TAP, [&tap_head(108, 1)[..], &ethernet(&[8, 0])].concat()),
        (PACKET_TAP, [&tap_head(108, 0)[..], &[2, 0, 0, 0]].concat()),
        (PACKET_FILTER_LOG, [&[61][..], &[0; 63]].concat()),
        (NETFILTER_LOG, vec![2, 0, 0, 1, 6, 0, 10, 0, 1, 2, 0, 0, 7, 0, 9, 0]),
        (NETFILTER_LOG, vec![2, 0, 0, 1, 0, 6, 0, 10, 1, 2, 0, 0, 0, 7, 0, 9]),
        (SWITCH_BROADCOM, ethernet(&[1, 2, 3, 4, 8, 0])),
        (SWITCH_BROADCOM_FIRST, [&[1, 2, 3, 4][..], &ethernet(&[8, 0])].concat()),
        (SWITCH_MARVELL, ethernet(&[1, 2, 3, 4, 8, 0])),
        (SWITCH_MARVELL_TYPED, ethernet(&[1, 2, 3, 4, 5, 6, 7, 8, 8, 0])),
    ]
}

#[test]
fn a_packet_is_found_behind_the_header_of_every_link() {
    for (link_type, head) in heads().into_iter().chain(rare_heads()).chain(juniper_heads()) {
        let frame = [&head[..], &PACKET].concat();
        assert_eq!(ip_packet(link_type, &frame), Ok(&PACKET[..]), "{link_type}: {head:?}");
        for cut in 0..head.len() {
            let found = ip_packet(link_type, &frame[..cut]);
            assert!(found.is_err(), "{link_type}: {cut} octets of {head:?}");
        }
    }
}

#[test]
fn other_protocols_and_links_are_told_apart() {
    let arp = [&[2; 12][..], &[8, 6, 0, 1]].concat();
    assert_eq!(ip_packet(1, &arp), Err(LinkError::NotIp));
    assert_eq!(ip_packet(147, &PACKET), Err(LinkError::LinkType(147)));
    let encrypted = [&[0x08, 0x41][..], &[0; 40]].concat();
    assert_eq!(ip_packet(WIRELESS, &encrypted), Err(LinkError::Header));
    let several = [&[0x88, 0x01][..], &[0; 22], &[0x80], &[0; 40]].concat();
    assert_eq!(ip_packet(WIRELESS, &several), Err(LinkError::Header));
    let itself = [8, 0, 8, 0, 192, 0, 0, 0].repeat(20);
    assert_eq!(ip_packet(PER_PACKET, &itself), Err(LinkError::Header));
    let tags = [&[2; 12][..], &[0x81, 0, 0, 1].repeat(20)].concat();
    assert_eq!(ip_packet(1, &tags), Err(LinkError::Header));
}

#[test]
fn no_octets_at_all_end_the_reading() {
    let mut state = 1_u64;
    for link_type in 0..300 {
        for len in 0..60 {
            let frame: Vec<u8> = (0..len)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state >> 56) as u8
                })
                .collect();
            let _ = ip_packet(link_type, &frame);
        }
    }
}
