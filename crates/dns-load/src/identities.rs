//! Source port and identifier of each DNS query. Both follow from its number, so an answer leads to
//! its query by arithmetic alone, and no two queries that are watched share both.

use base::Random;

/// Number of consecutive queries that leave by one source port, so that one system call can send
/// several.
pub(crate) const RUN: u64 = 16;

/// Source ports and identifiers of one generator thread, whose queries are numbered 0, 1, 2 …
#[derive(Clone, Copy, Debug)]
pub struct QueryIdentities {
    /// Number of source ports of this thread.
    pub ports: u64,
    /// Identifier of the first query of each source port.
    pub id_base: u16,
}

impl QueryIdentities {
    /// Returns the identifier of the first query in runs with `seed`.
    pub fn id_base_of(seed: u64) -> u16 {
        Random::from_seed(seed).fork(0x6964).next_u32() as u16
    }

    /// Returns the index of the port, counted from 0, that query `number` leaves by.
    pub const fn port(&self, number: u64) -> usize {
        (number / RUN % self.ports) as usize
    }

    /// Returns the identifier of query `number`: unique among 65,536 consecutive queries of its
    /// port.
    pub const fn id(&self, number: u64) -> u16 {
        let round = number / (RUN * self.ports);
        self.id_base.wrapping_add((round * RUN + number % RUN) as u16)
    }

    /// Returns the number of the latest query below `next_number` that left by `port` with the
    /// identifier `id`; `None` when none did.
    pub fn number_of(&self, port: usize, id: u16, next_number: u64) -> Option<u64> {
        let (round_len, first) = (RUN * self.ports, port as u64 * RUN);
        let begun = (next_number % round_len).saturating_sub(first).min(RUN);
        let sent = next_number / round_len * RUN + begun;
        let back = (sent as u16).wrapping_sub(id.wrapping_sub(self.id_base));
        let back = if back == 0 { 1 << 16 } else { u64::from(back) };
        let turn = sent.checked_sub(back)?;
        Some(turn / RUN * round_len + first + turn % RUN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_and_identifier_lead_back_to_the_number() {
        let mut random = Random::from_seed(1);
        for ports in [1, 2, 3, 16, 60] {
            let identities = QueryIdentities { ports, id_base: random.next_u32() as u16 };
            let within = (1_u64 << 16) * ports;
            for _ in 0..20_000 {
                let number = random.below(10 * within);
                // No later query of the port has reached the identifier again.
                let next = number + 1 + random.below(within - RUN * ports);
                let (port, id) = (identities.port(number), identities.id(number));
                assert_eq!(identities.number_of(port, id, next), Some(number), "{ports} {next}");
            }
            assert_eq!(identities.number_of(0, identities.id_base, 0), None);
            assert_eq!(identities.number_of(0, identities.id_base, 1), Some(0));
            assert_eq!(identities.number_of(0, identities.id_base.wrapping_add(1), 1), None);
        }
    }

    #[test]
    fn ports_take_turns_in_runs() {
        let identities = QueryIdentities { ports: 3, id_base: 7 };
        assert_eq!([0, 15, 16, 47, 48].map(|number| identities.port(number)), [0, 0, 1, 2, 0]);
        assert_eq!([0, 15, 16, 47, 48].map(|number| identities.id(number)), [7, 22, 7, 22, 23]);
    }
}
