//! Identities of perfdhcp's clients: a base address to which the client's number is added (`-b`,
//! `-R`), or a list of hardware addresses (`-M`).

use base::Random;

use super::part::GeneratorPart;

/// Largest length of a client's DUID (`-b duid=`), in bytes.
pub const DUID_MAX: usize = 64;

/// Identities (personas) of the simulated clients of a run: hardware addresses and DUIDs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Personas {
    /// Hardware address of client 0, from which the addresses of the other clients count up.
    pub base_mac: [u8; 6],
    /// DUID of client 0, from which the DUIDs of the other clients count up.
    pub base_duid: Vec<u8>,
    /// Number of simulated clients, which the exchanges of the run use in turn (`-R`).
    pub clients: u32,
    /// Part of the clients that this generator simulates.
    pub part: GeneratorPart,
    /// Hardware addresses of the clients (`-M`), of which each exchange uses a random one; empty:
    /// the addresses count from the base.
    pub list: Vec<[u8; 6]>,
}

/// Adds `number` to `octets` byte by byte from the last one on, without carry, as perfdhcp does:
/// the numbers 0 to 2^32 - 1 give different results for any base.
fn add(octets: &mut [u8], number: u32) {
    for (octet, digit) in octets.iter_mut().rev().zip(number.to_le_bytes()) {
        *octet = octet.wrapping_add(digit);
    }
}

impl Personas {
    /// Returns the number of the client of exchange `number` of this generator.
    pub fn client(&self, number: u64, random: &mut Random) -> u32 {
        let position = if self.list.is_empty() {
            number % self.part.share(self.clients.into()).max(1)
        } else {
            random.below(self.part.share(self.list.len() as u64))
        };
        self.part.number(position as u32)
    }

    /// Returns the hardware address of client `client`.
    pub fn mac(&self, client: u32) -> [u8; 6] {
        if let Some(mac) = self.list.get(client as usize) {
            return *mac;
        }
        let mut mac = self.base_mac;
        add(&mut mac, client);
        mac
    }

    /// Returns true if `mac` is the address of a client that this generator simulates and whose
    /// address counts from the base.
    pub fn counts(&self, mac: [u8; 6]) -> bool {
        let (vendor, own) = mac.split_at(2);
        let (base_vendor, base) = self.base_mac.split_at(2);
        let mut number = [0; 4];
        for (digit, (own, base)) in number.iter_mut().zip(own.iter().zip(base)) {
            *digit = own.wrapping_sub(*base);
        }
        let number = u32::from_be_bytes(number);
        let is_own = number < self.clients && number % self.part.of == self.part.index;
        is_own && vendor == base_vendor
    }

    /// Returns the hardware addresses of the list whose clients this generator simulates.
    pub fn own_list(&self) -> Vec<[u8; 6]> {
        let own = self.list.iter().skip(self.part.index as usize);
        own.step_by(self.part.of as usize).copied().collect()
    }

    /// Returns the number of clients that this generator simulates.
    pub fn own_count(&self) -> u64 {
        let all = if self.list.is_empty() { self.clients as usize } else { self.list.len() };
        self.part.share(all as u64)
    }

    /// Returns the length of every client's DUID, in bytes.
    pub fn duid_len(&self) -> usize {
        if self.list.is_empty() { self.base_duid.len() } else { 10 }
    }

    /// Writes the DUID of client `client` into `buffer` and returns it. A client of a list has a
    /// DUID-LL (RFC 9915 §11.4).
    pub fn duid<'b>(&self, client: u32, buffer: &'b mut [u8; DUID_MAX]) -> &'b [u8] {
        let len = self.duid_len();
        let duid = &mut buffer[..len];
        if self.list.is_empty() {
            duid.copy_from_slice(&self.base_duid);
            add(duid, client);
        } else {
            duid[..4].copy_from_slice(&[0, 3, 0, 1]);
            duid[4..].copy_from_slice(&self.mac(client));
        }
        duid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_added_without_carry_and_stay_different() {
        let mut personas = Personas {
            base_mac: [0, 12, 1, 2, 3, 0xff],
            base_duid: vec![0, 3, 0, 1, 0, 12, 1, 2, 3, 0xff],
            clients: 300,
            part: GeneratorPart::WHOLE,
            list: Vec::new(),
        };
        let mut all: Vec<_> = (0..300).map(|client| personas.mac(client)).collect();
        assert_eq!(all[..2], [[0, 12, 1, 2, 3, 0xff], [0, 12, 1, 2, 3, 0]]);
        assert_eq!(all[256], [0, 12, 1, 2, 4, 0xff]);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 300);
        let mut buffer = [0; DUID_MAX];
        assert_eq!(personas.duid(1, &mut buffer)[4..], personas.mac(1));
        let mut random = Random::from_seed(1);
        assert_eq!([0, 299, 300, 301].map(|n| personas.client(n, &mut random)), [0, 299, 0, 1]);
        personas.list = vec![[1; 6], [2; 6]];
        let drawn: Vec<u32> = (0..100).map(|n| personas.client(n, &mut random)).collect();
        assert!(drawn.contains(&0) && drawn.contains(&1) && !drawn.contains(&2));
        assert_eq!(personas.duid(1, &mut buffer), [0, 3, 0, 1, 2, 2, 2, 2, 2, 2]);
    }

    #[test]
    fn several_generators_play_different_clients_and_all_of_them() {
        let mut random = Random::from_seed(2);
        for clients in [7_u32, 12, 64] {
            for list in [Vec::new(), (0..clients).map(|n| [2, 0, 0, 0, 0, n as u8]).collect()] {
                let mut all = Vec::new();
                for index in 0..5 {
                    let part = GeneratorPart { index, of: 5 };
                    let (base_mac, base_duid) = ([2; 6], vec![2; 10]);
                    let personas =
                        Personas { base_mac, base_duid, clients, part, list: list.clone() };
                    let drawn = (0..2_000).map(|n| personas.client(n, &mut random));
                    let mut macs: Vec<_> = drawn.map(|client| personas.mac(client)).collect();
                    macs.sort_unstable();
                    macs.dedup();
                    assert_eq!(macs.len() as u32, part.share_u32(clients));
                    all.extend(macs);
                }
                all.sort_unstable();
                all.dedup();
                assert_eq!(all.len() as u32, clients);
            }
        }
    }
}
