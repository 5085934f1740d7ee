//! Messages of hostile DHCPv4 clients.

use core::net::Ipv4Addr;

use base::Random;
use dhcp_wire::v4::{Message, MessageType};

use super::{any_labels, any_name, any_octets};

/// Returns a relayed message of a hostile DHCPv4 client for the server at `server`: a DISCOVER, or,
/// after an OFFER in `reply`, the REQUEST of the same client.
pub fn message(
    random: &mut Random,
    reply: Option<&[u8]>,
    relay: Ipv4Addr,
    server: Ipv4Addr,
) -> Vec<u8> {
    let offer = reply.and_then(|reply| Message::parse(reply).ok());
    let offer = offer.filter(|offer| offer.message_type() == Some(MessageType::Offer));
    let mut octets = vec![0; 236];
    octets[..4].copy_from_slice(&[1, 1, 6, 1]);
    octets[24..28].copy_from_slice(&relay.octets());
    octets.extend([0x63, 0x82, 0x53, 0x63]);
    let mut put = |code: u8, value: &[u8]| {
        octets.extend([code, value.len().min(255) as u8]);
        octets.extend(&value[..value.len().min(255)]);
    };
    let mut head = [1, 1, 6];
    let mut chaddr = [2, 0, 0, 0, 0, random.below(6) as u8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    match &offer {
        Some(offer) => {
            put(53, &[3]);
            put(50, &offer.yiaddr().octets());
            put(54, &server.octets());
            head = [1, offer.htype(), offer.hlen()];
            chaddr[..offer.chaddr().len()].copy_from_slice(offer.chaddr());
            if let Some(id) = offer.client_id() {
                put(61, &id.octets().collect::<Vec<u8>>());
            }
        }
        None => {
            put(53, &[1]);
            if random.chance(1, 4) {
                head = [
                    1,
                    *random.pick(&[1, 6, 255]).expect("the list is not empty"),
                    random.below(17) as u8,
                ];
                random.fill(&mut chaddr);
                chaddr[usize::from(head[2])..].fill(0);
            }
            if random.chance(1, 2) {
                put(61, &any_octets(random, &[1, 2, 7, 22, 23, 128, 129, 200, 255]));
            }
        }
    }
    if random.chance(1, 2) {
        put(12, &any_name(random));
    }
    if random.chance(1, 2) {
        let flags = random.below(16) as u8;
        let name = if flags & 4 == 0 { any_name(random) } else { any_labels(random) };
        put(81, &[&[flags, 0, 0], &name[..name.len().min(252)]].concat());
    }
    let repeats = *random.pick(&[0, 1, 1, 2, 3]).expect("the list is not empty");
    let repeats = if random.chance(1, 50) { 80 } else { repeats };
    for code in (0..repeats).map(|at| [1, 2, 12, 151, 0][at % 5]) {
        let value = any_octets(random, &[0, 1, 4, 100, 253]);
        put(82, &[&[code, value.len() as u8], &value[..]].concat());
    }
    octets[..3].copy_from_slice(&head);
    random.fill(&mut octets[4..8]);
    octets[28..44].copy_from_slice(&chaddr);
    octets.push(255);
    octets
}
