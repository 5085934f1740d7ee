//! Order of the pools from which a prefix is delegated when the client requests a length: those of
//! exactly that length, then shorter prefixes, which give more than the client requested, then
//! longer ones; the closest first (Kea reference §5.1).

use dhcp_lease::PoolIndex;

/// Returns the rank of a delegated length `len` for a client that requests `requested_len` bits:
/// the lowest rank suits best.
pub(super) const fn rank(len: u8, requested_len: u8) -> (bool, u8) {
    (len > requested_len, len.abs_diff(requested_len))
}

/// Orders of the prefix pools of one link, by the length that clients request.
#[derive(Debug, Default)]
pub(super) struct PrefixOrder {
    /// Delegated lengths in bits, ascending, each with the pool order for clients that request it.
    /// Empty when all pools delegate the same length.
    by_len: Vec<(u8, Vec<PoolIndex>)>,
}

impl PrefixOrder {
    /// Returns the orders of `pools`, each given with the length that it delegates, in
    /// configuration order.
    pub(super) fn new(pools: &[(PoolIndex, u8)]) -> Self {
        let mut lens: Vec<u8> = pools.iter().map(|&(_, len)| len).collect();
        lens.sort_unstable();
        lens.dedup();
        if lens.len() < 2 {
            return Self::default();
        }
        let order_for = |requested_len: u8| {
            let mut order = pools.to_vec();
            order.sort_by_key(|&(_, len)| rank(len, requested_len));
            order.into_iter().map(|(pool, _)| pool).collect()
        };
        Self { by_len: lens.into_iter().map(|len| (len, order_for(len))).collect() }
    }

    /// Returns the pool order for clients that request `len` bits; `None` when the configured order
    /// will do.
    pub(super) fn for_len(&self, len: u8) -> Option<&[PoolIndex]> {
        // Between two lengths, the order is that of the lower one.
        let after = self.by_len.partition_point(|&(other, _)| other <= len);
        self.by_len.get(after.saturating_sub(1)).map(|(_, order)| &**order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_asked_for_comes_first_then_more_then_less() {
        let pools = [(0, 64), (1, 56), (2, 60), (3, 56)].map(|(pool, len)| (PoolIndex(pool), len));
        let order = PrefixOrder::new(&pools);
        let of =
            |len| -> Vec<u32> { order.for_len(len).unwrap().iter().map(|pool| pool.0).collect() };
        assert_eq!(of(56), [1, 3, 2, 0]);
        assert_eq!(of(60), [2, 1, 3, 0]);
        assert_eq!(of(62), [2, 1, 3, 0]);
        assert_eq!(of(64), [0, 2, 1, 3]);
        assert_eq!(of(48), [1, 3, 2, 0]);
        assert_eq!(of(128), [0, 2, 1, 3]);
        assert!(PrefixOrder::new(&pools[3..]).for_len(56).is_none());
    }
}
