//! Random messages whose options have few values, so that tests are passed sometimes.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};

use base::Random;
use dhcp_config::expression::Term;
use dhcp_engine::InterfaceNames;
use dhcp_engine::classify::{PacketView, PacketView4, PacketView6};
use dhcp_engine::{v4, v6};

/// DHCPv4 or DHCPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageFamily {
    V4,
    V6,
}

/// Values of options and of literals.
pub(crate) const VALUES: [&[u8]; 14] = [
    b"",
    b"a",
    b"ab",
    b"Ab.c",
    b"a%b c",
    b"true",
    b"docsis3.0",
    b"\0",
    b"ab\0\0",
    b"\x01\xff",
    b"\x0a\0\0\x01",
    b"\xff\xff\xff\xff",
    b"1.2.3-4",
    b"\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\x01",
];

/// Codes of options in DHCPv4 messages.
pub(crate) const CODES4: [u16; 6] = [12, 60, 61, 77, 43, 82];
/// Codes of options in DHCPv6 messages.
pub(crate) const CODES6: [u16; 6] = [1, 3, 41, 66, 79, 16];
/// Codes inside of options.
pub(crate) const INNER: [u16; 4] = [1, 2, 6, 5];
/// Enterprise numbers.
pub(crate) const ENTERPRISES: [u32; 3] = [9, 4491, 0x0102_0304];

fn value(random: &mut Random) -> &'static [u8] {
    random.pick(&VALUES).expect("there are some")
}

/// Message in bytes.
#[derive(Debug)]
pub(crate) struct ClassTestMessage {
    octets: Vec<u8>,
    family: MessageFamily,
    is_special: bool,
}

impl ClassTestMessage {
    pub(crate) fn random(family: MessageFamily, random: &mut Random) -> Self {
        let octets = match family {
            MessageFamily::V4 => octets4(random),
            MessageFamily::V6 => octets6(random),
        };
        Self { octets, family, is_special: random.chance(1, 2) }
    }

    /// Calls `see` with the view that expressions have of the message.
    pub(crate) fn view(&self, mut see: impl FnMut(&AnyPacketView<'_>)) {
        let interfaces = InterfaceNames::new([(1, "eth0"), (2, "ab")]);
        let interface = 1 + u32::from(self.is_special);
        match self.family {
            MessageFamily::V4 => {
                let message = dhcp_wire::v4::Message::parse(&self.octets).expect("it is sound");
                let source = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 67);
                let mut ingress = v4::Ingress::routed(source, Ipv4Addr::new(10, 0, 0, 2));
                ingress.is_broadcast = self.is_special;
                ingress.interface = interface;
                let interfaces = &interfaces;
                let stashed = &[];
                see(&AnyPacketView(&PacketView4 {
                    message: &message,
                    ingress: &ingress,
                    interfaces,
                    stored_relay_information: stashed,
                }));
            }
            MessageFamily::V6 => {
                let packet = dhcp_wire::v6::Packet::parse(&self.octets).expect("it is sound");
                let ingress = v6::Ingress {
                    source: SocketAddrV6::new(Ipv6Addr::LOCALHOST, 546, 0, 0),
                    local: Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1),
                    interface,
                    is_multicast: self.is_special,
                    listener_index: 0,
                };
                let interfaces = &interfaces;
                see(&AnyPacketView(&PacketView6 {
                    packet: &packet,
                    ingress: &ingress,
                    interfaces,
                }));
            }
        }
    }
}

/// View of either family.
pub(crate) struct AnyPacketView<'v>(&'v dyn PacketView);

impl PacketView for AnyPacketView<'_> {
    fn is_bootp(&self) -> bool {
        self.0.is_bootp()
    }

    fn has_stored_relay_information(&self) -> bool {
        self.0.has_stored_relay_information()
    }

    fn balance_hash(&self) -> Option<u8> {
        self.0.balance_hash()
    }

    fn read(&self, term: &Term, target: &mut Vec<u8>) -> bool {
        self.0.read(term, target)
    }

    fn vendor_class(&self, nth: usize, target: &mut Vec<u8>) -> bool {
        self.0.vendor_class(nth, target)
    }
}

fn option4(code: u16, value: &[u8]) -> Vec<u8> {
    [&[code as u8, value.len() as u8], value].concat()
}

fn option6(code: u16, value: &[u8]) -> Vec<u8> {
    [&code.to_be_bytes()[..], &(value.len() as u16).to_be_bytes(), value].concat()
}

/// Returns some options with values of [`VALUES`].
fn some(random: &mut Random, codes: &[u16], option: fn(u16, &[u8]) -> Vec<u8>) -> Vec<u8> {
    let codes = codes.iter().filter(|_| random.chance(1, 2)).copied().collect::<Vec<_>>();
    codes.iter().flat_map(|&code| option(code, value(random))).collect()
}

fn enterprise(random: &mut Random) -> [u8; 4] {
    random.pick(&ENTERPRISES).expect("there are some").to_be_bytes()
}

fn octets4(random: &mut Random) -> Vec<u8> {
    let mut octets = vec![0; 236];
    octets[..3].copy_from_slice(&[1, 1, 2 * random.below(4) as u8]);
    octets[7] = random.below(2) as u8;
    octets[12..28].fill(random.below(2) as u8);
    octets[28] = random.below(2) as u8;
    octets.extend([99, 130, 83, 99]);
    octets.extend([53, 1, 1 + 2 * random.below(2) as u8]);
    octets.extend(some(random, &[12, 60, 77], option4));
    if random.chance(1, 2) {
        octets.extend(option4(61, random.pick(&VALUES[2..7]).expect("there are some")));
    }
    for code in [43, 82] {
        if random.chance(1, 2) {
            let inner = some(random, &INNER, option4);
            octets.extend(option4(code, &inner));
        }
    }
    for code in [124, 125] {
        let mut whole = Vec::new();
        for _ in 0..random.below(3) {
            let piece = value(random);
            let data = match code {
                124 => [&[1, b'a', piece.len() as u8][..], piece].concat(),
                _ => some(random, &INNER, option4),
            };
            whole.extend(enterprise(random));
            whole.push(data.len() as u8);
            whole.extend(data);
        }
        if !whole.is_empty() {
            octets.extend(option4(code, &whole));
        }
    }
    octets.push(255);
    octets
}

fn octets6(random: &mut Random) -> Vec<u8> {
    let kind = 1 + 2 * random.below(2) as u8;
    let mut octets = vec![kind, 0, 0, random.below(2) as u8];
    octets.extend(option6(1, b"Ab.c"));
    octets.extend(some(random, &[41, 66, 79], option6));
    if random.chance(1, 2) {
        let address =
            option6(5, &[&[0xfe; 16][..], &[0; 8], &some(random, &[41], option6)].concat());
        octets.extend(option6(3, &[&[0; 12][..], &address].concat()));
    }
    for _ in 0..random.below(3) {
        let options = some(random, &INNER, option6);
        octets.extend(option6(17, &[&enterprise(random)[..], &options].concat()));
        let piece = value(random);
        let piece = [&(piece.len() as u16).to_be_bytes(), piece].concat();
        octets.extend(option6(16, &[&enterprise(random)[..], &[0, 1, b'a'], &piece].concat()));
    }
    for level in 0..random.below(4) as u8 {
        let addresses = [[level; 16], [random.below(2) as u8; 16]].concat();
        let mut relayed = [&[12, level][..], &addresses].concat();
        relayed.extend(some(random, &[18, 38], option6));
        relayed.extend(option6(9, &octets));
        octets = relayed;
    }
    octets
}
