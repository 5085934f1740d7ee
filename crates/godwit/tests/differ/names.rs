//! Names that clients send, of any characters: host names (option 12) and domain names (options 81
//! and, in DHCPv6, 39).

use base::Random;

use super::choices::pick;
use super::value::hex;

/// Characters of names, usual ones more often.
const CHARACTERS: &[u8] = b"abcxyzABZ0019-ab.-_. ab9\t!@*\\\"/\xc3\xa4\xff\0";

/// Lengths of names and labels.
const LENGTHS: [u64; 8] = [1, 2, 3, 5, 8, 20, 63, 64];

/// Longest label of a domain name (RFC 1035 §2.3.4).
const LABEL_LEN_MAX: usize = 63;

/// Returns a host name in hexadecimal digits.
pub(super) fn host_name(random: &mut Random) -> String {
    let usual =
        ["686f7374", "686f73742e6578616d706c652e", "62c3a464", "2e", "5f78", "00", "2009", "6800"];
    if random.chance(1, 2) {
        return (*pick(random, &usual)).to_owned();
    }
    hex(&characters(random))
}

/// Returns the value of an option 81 in hexadecimal digits.
pub(super) fn full_name(random: &mut Random) -> String {
    let usual = [
        "000000686f7374",
        "0100006c6f6e672e6578616d706c65",
        "04000004686f7374076578616d706c6500",
        "050000",
        "040000016100",
    ];
    if random.chance(1, 2) {
        return (*pick(random, &usual)).to_owned();
    }
    // Flags S, O, E, N (RFC 4702 §2.1) and bits that are not defined.
    let flags = *pick(random, &[0, 1, 2, 3, 4, 5, 8, 12, 9, 13, 0x14, 0x80]);
    let codes = *pick(random, &[[0, 0], [0, 0], [255, 255], [1, 2]]);
    let mut octets = vec![flags, codes[0], codes[1]];
    if flags & 4 == 0 {
        octets.extend(characters(random));
    } else {
        octets.extend(labels(random, &[]));
    }
    octets.truncate(255);
    hex(&octets)
}

/// Returns the value of a DHCPv6 option 39 in hexadecimal digits. As in option 81, Kea takes some
/// characters of labels for more than characters.
pub(super) fn full_name6(random: &mut Random) -> String {
    // Flags S, O, N (RFC 4704 §4.1) and bits that are not defined.
    let mut octets = vec![*pick(random, &[0, 1, 2, 3, 4, 5, 8, 0x80])];
    octets.extend(labels(random, b".\\\0\t \""));
    if octets.len() > 250 {
        return "000161".to_owned();
    }
    hex(&octets)
}

/// Returns random labels without the bytes `without`.
fn labels(random: &mut Random, without: &[u8]) -> Vec<u8> {
    let mut octets = Vec::new();
    for _ in 0..1 + random.below(4) {
        let mut label = characters(random);
        if !without.is_empty() {
            label.retain(|octet| !without.contains(octet));
            label.truncate(LABEL_LEN_MAX - 1);
            // Kea drops a message if nothing is left of a label.
            if !label.iter().any(u8::is_ascii_alphanumeric) {
                label.insert(0, b'a');
            }
        }
        octets.push(label.len() as u8);
        octets.extend(label);
    }
    if random.chance(3, 4) {
        octets.push(0);
    }
    octets
}

fn characters(random: &mut Random) -> Vec<u8> {
    let count = *pick(random, &LENGTHS);
    (0..count).map(|_| *pick(random, CHARACTERS)).collect()
}
