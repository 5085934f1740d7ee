//! Packets of attacks: forged ends of a connection, Requests from random ports, endless options,
//! random numbers.

use std::net::IpAddr;

use base::Random;
use dccp::header::{DccpHeader, Integrity, OPTIONS_LEN_MAX, PacketType, Reset, ResetCode};
use dccp_link::ServiceCode;

/// Content of forged data; no application may ever read it.
pub(crate) const FORGED: &[u8] = b"forged";
/// Largest length of a forged packet, in bytes.
pub(crate) const PACKET_BYTES_MAX: usize = 1_100;

/// Attacks on a connection whose addresses and ports are known, but not its sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attack {
    /// Attack by Resets with every code, in the name of either end.
    Resets,
    /// Attack by Requests from random ports to the server's port.
    Requests,
    /// Attack by packets of the connection with as many options as fit.
    Options,
    /// Attack by packets of the connection with random sequence numbers, and data.
    Sequences,
}

impl Attack {
    pub(crate) const ALL: [Self; 4] =
        [Self::Resets, Self::Requests, Self::Options, Self::Sequences];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Resets => "forged Resets",
            Self::Requests => "Requests from random ports",
            Self::Options => "option bombs",
            Self::Sequences => "sequence attacks",
        }
    }
}

/// Forged sender and receiver of an attack's packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForgedEndpoints {
    /// Addresses of source and destination; `None` inside of UDP, where the checksum does not have
    /// them.
    pub(crate) addresses: Option<(IpAddr, IpAddr)>,
    pub(crate) source_port: u16,
    pub(crate) destination_port: u16,
}

impl ForgedEndpoints {
    pub(crate) const fn integrity(&self) -> Integrity {
        match self.addresses {
            Some((source, destination)) => Integrity::Addresses { source, destination },
            None => Integrity::Carrier,
        }
    }

    /// Writes a packet in the name of these ends. Returns its length.
    pub(crate) fn write(
        &self,
        header: DccpHeader,
        options: &[u8],
        data: &[u8],
        buffer: &mut [u8],
    ) -> usize {
        let (source_port, destination_port) = (self.source_port, self.destination_port);
        let header = DccpHeader { source_port, destination_port, ..header };
        header.write(options, data, self.integrity(), buffer).expect("a packet fits its buffer")
    }
}

/// Writes the next packet of an attack. Returns its length.
pub(crate) fn forge(
    attack: Attack,
    random: &mut Random,
    names: &ForgedEndpoints,
    service: ServiceCode,
    buffer: &mut [u8],
) -> usize {
    match attack {
        Attack::Resets => {
            let header = header_of(PacketType::Reset, random, service);
            names.write(header, &[], &[], buffer)
        }
        Attack::Requests => {
            let service =
                if random.chance(1, 16) { ServiceCode::new(random.next_u32()) } else { service };
            let header = header_of(PacketType::Request, random, service);
            let options = if random.chance(1, 16) { bomb(random) } else { Vec::new() };
            names.write(header, &options, &[], buffer)
        }
        Attack::Options => {
            let packet_type = *random.pick(&PacketType::ALL).expect("there are some");
            let options = bomb(random);
            names.write(header_of(packet_type, random, service), &options, &[], buffer)
        }
        Attack::Sequences => {
            let packet_type = *random.pick(&PacketType::ALL).expect("there are some");
            let header = header_of(packet_type, random, service);
            names.write(header, &[], FORGED, buffer)
        }
    }
}

/// Returns a sequence number that an attacker might try.
fn number(random: &mut Random) -> u64 {
    match random.below(8) {
        0 => 0,
        1 => (1 << 48) - 1,
        2 => random.below(1 << 16),
        3 => (1 << 47) + random.below(4),
        _ => random.below(1 << 48),
    }
}

fn header_of(packet_type: PacketType, random: &mut Random, service: ServiceCode) -> DccpHeader {
    let is_extended = !packet_type.may_be_short() || random.chance(3, 4);
    let mask = if is_extended { u64::MAX } else { 0xff_ffff };
    let code = ResetCode::from_number(random.below(12) as u8);
    DccpHeader {
        ccval: random.below(16) as u8,
        is_extended,
        acknowledgement: packet_type.has_acknowledgement().then(|| number(random) & mask),
        service_code: packet_type.has_service_code().then_some(service),
        reset: (packet_type == PacketType::Reset).then(|| Reset::plain(code)),
        ..DccpHeader::new(packet_type, number(random) & mask)
    }
}

/// Returns as many options as a header has room for, each of a kind that costs its receiver time.
pub(crate) fn bomb(random: &mut Random) -> Vec<u8> {
    let mut options = Vec::with_capacity(OPTIONS_LEN_MAX);
    let len = if random.chance(1, 2) { OPTIONS_LEN_MAX } else { random.below(400) as usize };
    while options.len() < len {
        match random.below(9) {
            // Changes and Confirms of every feature, known or not, with long lists.
            0..=3 => {
                let len = random.below(40) as u8;
                options.extend([32 + random.below(4) as u8, 3 + len, random.below(12) as u8]);
                options.extend((0..len).map(|_| random.below(8) as u8));
            }
            // Mandatory and an unknown option.
            4 => options.extend([1, 120, 2]),
            // Ack Vectors and Data Dropped of a quarter of all packets.
            5 => {
                options.extend([38 + random.below(3) as u8, 255]);
                options.extend([0xff; 253]);
            }
            // Impossible rates, intervals, times and cookies.
            6 => {
                let kind = *random.pick(&[36, 37, 41, 42, 43, 44, 192, 193, 194]).expect("some");
                options.extend([kind, 6, 0xff, 0xff, random.next_u32() as u8, 0]);
            }
            7 => options.extend([1, 1, 1, 1]),
            // Random bytes, with a random length.
            _ => options.extend(random.next_u64().to_be_bytes()),
        }
    }
    options.truncate(len);
    options
}
