//! Links that few captures have: token ring, ARCNET, ATM, frame relay, those that drivers put in
//! front of another link, and those of Juniper's routers.

use super::{CorpusPacket, Link, MACS, ether_type, ethernet, ppp_type, pppoe, snap, wireless};

/// Identifier of the network protocol of a packet (ISO/IEC TR 9577).
fn network_protocol(packet: &CorpusPacket) -> u8 {
    if packet.is_ipv6 { 0x8e } else { 0xcc }
}

fn frame_relay(packet: &CorpusPacket) -> Vec<u8> {
    [&[0x18, 0x41, 3, network_protocol(packet)][..], &packet.octets].concat()
}

/// Returns the header of a capture of Juniper's with its flags, before `rest`.
fn juniper(flags: u8, rest: &[&[u8]]) -> Vec<u8> {
    [&b"MGC"[..], &[flags], &rest.concat()].concat()
}

/// Links by the names of their captures, with their types.
pub(super) const LINKS: &[(&str, u32, Link)] = &[
    ("vlan-9200", 1, |packet| ethernet(&[0x92, 0, 0, 5], packet)),
    ("token-ring", 6, |packet| [&[0x10, 0x40][..], &MACS, &snap(packet)].concat()),
    ("arcnet", 129, |packet| {
        let kind = if packet.is_ipv6 { 196 } else { 212 };
        [&[1, 2, 0, 0, kind, 0, 0, 1][..], &packet.octets].concat()
    }),
    ("slip", 8, |packet| [&[0; 16][..], &packet.octets].concat()),
    ("slip-bsd-os", 102, |packet| [&[0; 16][..], &packet.octets].concat()),
    ("symantec", 99, |packet| {
        [&[0; 6][..], &ether_type(packet), &[0; 36], &packet.octets].concat()
    }),
    ("atm", 11, snap),
    ("atm-linux", 106, snap),
    ("atm-alone", 106, |packet| packet.octets.clone()),
    ("frame-relay", 107, frame_relay),
    ("frame-relay-snap", 107, |packet| {
        let head = [0x18, 0x41, 3, 0, 0x80, 0, 0, 0];
        [&head[..], &ether_type(packet), &packet.octets].concat()
    }),
    ("frame-relay-links", 182, |packet| [&[0xc1, 0][..], &frame_relay(packet)].concat()),
    ("prism", 119, |packet| {
        let mut head = [0; 144];
        (head[0], head[4]) = (0x44, 144);
        [&head[..], &wireless(0x08, &[], packet)].concat()
    }),
    ("avs", 163, |packet| {
        let head = [&[0x80, 0x21, 0x10, 1, 0, 0, 0, 64][..], &[0; 56]].concat();
        [&head[..], &wireless(0x08, &[], packet)].concat()
    }),
    ("fibre-channel", 122, |packet| {
        [&[0x10, 0][..], &MACS[..6], &[0x10, 0], &MACS[6..], &snap(packet)].concat()
    }),
    ("sun-atm", 123, |packet| [&[2, 1, 0, 0x64][..], &snap(packet)].concat()),
    ("ipnet", 226, |packet| {
        let family = if packet.is_ipv6 { 26 } else { 2 };
        [&[1, family][..], &[0; 22], &packet.octets].concat()
    }),
    ("infiniband", 242, |packet| {
        [&[0; 40][..], &ether_type(packet), &[0, 0], &packet.octets].concat()
    }),
    ("net-analyzer", 240, |packet| [&[0, 0, 0, 0][..], &ethernet(&[], packet), &[0; 4]].concat()),
    ("radiotap-padded", 127, |packet| {
        let head = [0, 0, 9, 0, 2, 0, 0, 0, 0x20];
        [&head[..], &wireless(0x88, &[0, 0, 0, 0], packet)].concat()
    }),
    ("juniper-ethernet", 178, |packet| juniper(0, &[&ethernet(&[], packet)])),
    ("juniper-extended", 178, |packet| {
        juniper(0x80, &[&[0, 6, 3, 1, 4, 1, 0, 0], &ethernet(&[], packet)])
    }),
    ("juniper-no-link", 178, |packet| juniper(2, &[&[0; 4], &packet.octets])),
    ("juniper-pppoe", 167, |packet| juniper(0, &[&ethernet(&[], packet)])),
    ("juniper-pppoe-atm", 168, |packet| juniper(0, &[&[0x88, 0x64], &pppoe(packet)])),
    ("juniper-ppp", 179, |packet| juniper(0, &[&[0xff, 3, 0, ppp_type(packet)], &packet.octets])),
    ("juniper-frame-relay", 180, |packet| juniper(0, &[&frame_relay(packet)])),
    ("juniper-hdlc", 181, |packet| juniper(0, &[&[0x0f, 0], &ether_type(packet), &packet.octets])),
    ("juniper-monitor", 164, |packet| juniper(0, &[&[0; 8], &packet.octets])),
    ("juniper-services", 136, |packet| juniper(0, &[&[0; 8], &packet.octets])),
    ("juniper-ggsn", 133, |packet| {
        let protocol = if packet.is_ipv6 { 6 } else { 2 };
        juniper(0, &[&[1, 0, protocol, 0, 0, 0, 0, 0], &packet.octets])
    }),
    ("juniper-atm-1", 137, |packet| juniper(0, &[&[0; 4], &snap(packet)])),
    ("juniper-atm-2", 135, |packet| juniper(1, &[&[0; 8], &snap(packet)])),
    ("juniper-mlppp", 130, |packet| {
        juniper(0, &[&[0x54, 0, 0, 0], &[0, ppp_type(packet)], &packet.octets])
    }),
    ("juniper-mlfr", 131, |packet| {
        juniper(0, &[&[0x54, 0, 0, 0], &[3, network_protocol(packet)], &packet.octets])
    }),
];
