//! Messages of hostile DHCPv6 clients.

use core::net::Ipv6Addr;

use base::Random;
use dhcp_wire::v6::{MessageType, RelayWriter, option};

use super::{any_labels, any_name, any_octets};

/// Returns a SOLICIT of a hostile DHCPv6 client with Rapid Commit that came through two relay
/// agents on the link of `relay`.
///
/// # Panics
/// Never: the buffer has room for the largest.
pub fn message(random: &mut Random, relay: Ipv6Addr) -> Vec<u8> {
    let mut buffer = vec![0; 65_000];
    let big = if random.chance(1, 50) { 40_000 } else { 300 };
    let mut writer = RelayWriter::forward(&mut buffer).level(1, relay, relay);
    if random.chance(1, 2) {
        writer = writer
            .option(option::REMOTE_ID, &any_octets(random, &[4, 5, 30, big]))
            .option(option::RELAY_ID, &any_octets(random, &[3, 130]))
            .option(option::INTERFACE_ID, &any_octets(random, &[1, 255]));
    }
    let mut writer = writer.level(0, relay, relay);
    if random.chance(1, 2) {
        writer = writer
            .option(option::CLIENT_LINKLAYER_ADDR, &any_octets(random, &[2, 3, 8, 22, 23, 99]))
            .option(option::SUBSCRIBER_ID, &any_octets(random, &[1, 100]));
    }
    let mut writer = writer.message(MessageType::Solicit, random.next_u32() >> 8);
    let duid = match random.below(4) {
        0 => any_octets(random, &[3, 4, 10, 22, 23, 128, 129, 130]),
        1 => vec![0; 3],
        _ => vec![0, 3, 0, 1, 2, 0, 0, 0, 0, random.below(9) as u8],
    };
    writer.option(option::CLIENTID, &duid).option(option::RAPID_COMMIT, &[]);
    let iaid = random.next_u32();
    for code in [option::IA_NA, option::IA_PD] {
        let mut ia = [0; 12];
        ia[..4].copy_from_slice(&iaid.to_be_bytes());
        writer.option(code, &ia);
    }
    if random.chance(2, 3) {
        let name = if random.chance(1, 8) { any_name(random) } else { any_labels(random) };
        writer.option(option::CLIENT_FQDN, &[&[random.below(8) as u8], &name[..]].concat());
    }
    let len = writer.finish().expect("the list is not empty");
    buffer.truncate(len);
    buffer
}
