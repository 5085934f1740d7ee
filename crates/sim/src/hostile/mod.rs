//! DHCP messages of malicious clients, or of clients that were never tested: names too long for a
//! database, empty and very long identifiers, repeated relay agent options. The server accepts each
//! of them, so that their fields reach leases.

pub mod v4;
pub mod v6;

use base::Random;

/// Returns the bytes of a host name or domain name that a client made up: arbitrary bytes, text, or
/// labels (RFC 1035 §3.1).
fn any_name(random: &mut Random) -> Vec<u8> {
    let len =
        *random.pick(&[0, 1, 20, 49, 63, 200, 249, 254]).expect("the list is not empty") as usize;
    let mut octets = vec![0; len];
    match random.below(4) {
        0 => random.fill(&mut octets),
        1 => {
            octets.fill_with(|| *random.pick(b"aZ09-._,&\\\xc3\0 ").expect("the list is not empty"))
        }
        _ => {
            for (at, octet) in octets.iter_mut().enumerate() {
                *octet = if at % 50 == 49 { b'.' } else { b'a' };
            }
        }
    }
    octets
}

/// Returns the bytes of a domain name in labels (RFC 1035 §3.1) that a client made up, whole or
/// without its end.
fn any_labels(random: &mut Random) -> Vec<u8> {
    if random.chance(1, 8) {
        return any_name(random);
    }
    let mut octets = Vec::new();
    for _ in 0..random.below(6) {
        let len = *random.pick(&[1, 10, 40, 49, 63]).expect("the list is not empty");
        octets.push(len);
        octets
            .extend((0..len).map(|_| {
                *random.pick(b"aaaaaaaaaaaaaaZ9-_\0\xff").expect("the list is not empty")
            }));
    }
    if random.chance(1, 2) {
        octets.push(0);
    }
    octets
}

fn any_octets(random: &mut Random, lengths: &[usize]) -> Vec<u8> {
    let mut octets = vec![0; *random.pick(lengths).expect("the list is not empty")];
    if random.chance(3, 4) {
        random.fill(&mut octets);
    }
    octets
}
