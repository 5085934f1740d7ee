//! Identities of the simulated clients: a client is a number, and its identities follow from that
//! number, so equal numbers are equal clients in every run, for any seed.

use std::fmt::Write as _;

use base::Random;

/// Returns the hardware address of simulated client `client`: locally administered, `02:67` and the
/// client's number.
pub const fn mac_of(client: u32) -> [u8; 6] {
    let [a, b, c, d] = client.to_be_bytes();
    [0x02, 0x67, a, b, c, d]
}

/// Returns `octets`, such as a hardware address, as colon-separated hexadecimal digits.
pub(crate) fn colon_hex(octets: &[u8]) -> String {
    let mut text = String::with_capacity(3 * octets.len());
    for (index, octet) in octets.iter().enumerate() {
        let separator = if index == 0 { "" } else { ":" };
        write!(text, "{separator}{octet:02x}").expect("a string takes everything");
    }
    text
}

/// Clients and transaction identifiers that one thread of a run uses.
///
/// Exchanges are numbered 0, 1, 2 … per thread. Number n of thread t of T threads is exchange
/// k = n × T + t of the run.
#[derive(Clone, Copy, Debug)]
pub struct ExchangeIdentities {
    /// Number of this thread, from 0.
    pub thread: u64,
    /// Number of all threads of the run.
    pub threads: u64,
    /// Number of the run's first client.
    pub client_offset: u32,
    /// Number of simulated clients, which the exchanges use in turn; 0 makes every exchange a new
    /// client.
    pub clients: u32,
    /// Transaction identifier of the run's exchange 0, of which the lowest
    /// [`ExchangeIdentities::xid_bits`] count.
    pub xid_base: u32,
    /// Number of bits of a transaction identifier that distinguish exchanges.
    pub xid_bits: u32,
}

impl ExchangeIdentities {
    /// Returns the transaction identifier of exchange 0 in runs with `seed`.
    pub fn xid_base_of(seed: u64) -> u32 {
        Random::from_seed(seed).fork(0x7869_6400).next_u32()
    }

    const fn xid_mask(&self) -> u32 {
        u32::MAX >> (32 - self.xid_bits)
    }

    const fn exchange(&self, number: u64) -> u64 {
        number * self.threads + self.thread
    }

    /// Returns the number of the client of exchange `number` of this thread.
    pub const fn client(&self, number: u64) -> u32 {
        let k = self.exchange(number);
        let turn = if self.clients == 0 { k } else { k % self.clients as u64 };
        self.client_offset.wrapping_add(turn as u32)
    }

    /// Returns the transaction identifier of exchange `number` of this thread: unique among
    /// 2^[`ExchangeIdentities::xid_bits`] consecutive exchanges of the run.
    pub const fn xid(&self, number: u64) -> u32 {
        self.xid_base.wrapping_add(self.exchange(number) as u32) & self.xid_mask()
    }

    /// Returns the number, below `next_number`, of the latest exchange of this thread that the
    /// transaction identifier `xid` may belong to; `None` when `xid` belongs to no exchange.
    pub const fn number_of(&self, xid: u32, next_number: u64) -> Option<u64> {
        let next = self.exchange(next_number);
        let back = (next as u32).wrapping_sub(xid.wrapping_sub(self.xid_base)) & self.xid_mask();
        let back = back as u64;
        if back == 0 || back > next || !back.is_multiple_of(self.threads) {
            return None;
        }
        Some((next - back) / self.threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identities(thread: u64, threads: u64, clients: u32, xid_base: u32) -> ExchangeIdentities {
        ExchangeIdentities { thread, threads, client_offset: 100, clients, xid_base, xid_bits: 32 }
    }

    #[test]
    fn an_identifier_leads_back_to_its_exchange_and_to_no_other_thread() {
        let mut random = Random::from_seed(31);
        for _ in 0..2_000 {
            let threads = random.below(5) + 1;
            let base = random.next_u32();
            let number = random.below(1 << 34);
            let xid_bits = if random.chance(1, 2) { 24 } else { 32 };
            for thread in 0..threads {
                let mine = ExchangeIdentities { xid_bits, ..identities(thread, threads, 0, base) };
                let xid = mine.xid(number);
                assert_eq!(xid >> (xid_bits - 1) >> 1, 0);
                let ahead = random.below(1 << 20) + 1;
                assert_eq!(mine.number_of(xid, number + ahead), Some(number));
                assert_eq!(mine.number_of(xid, number), None, "not begun yet");
                for other in (0..threads).filter(|&other| other != thread) {
                    let other = ExchangeIdentities { thread: other, ..mine };
                    assert_eq!(other.number_of(xid, number + ahead), None);
                }
            }
        }
        assert_eq!(identities(0, 1, 0, 7).number_of(6, 10), None, "before the first");
    }

    #[test]
    fn clients_take_turns_over_all_threads() {
        let threads = [0, 1].map(|thread| identities(thread, 2, 3, 0));
        let turns: Vec<u32> = (0..4).flat_map(|n| threads.map(|ids| ids.client(n))).collect();
        assert_eq!(turns, [100, 101, 102, 100, 101, 102, 100, 101]);
        assert_eq!(identities(0, 1, 0, 0).client(70_000), 70_100);
        assert_eq!(mac_of(0x0102_0304), [0x02, 0x67, 1, 2, 3, 4]);
    }
}
