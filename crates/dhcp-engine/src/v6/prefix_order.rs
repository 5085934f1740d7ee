//! Which pools a prefix is delegated from when the client asks for a length: those of just that
//! length, then shorter prefixes, which give more than was asked for, then longer ones; the
//! closest first (Kea reference §5.1).

use dhcp_lease::PoolIndex;

/// Ranks how well `len` suits a client that asks for `wanted` bits: the least suits best.
pub(super) const fn rank(len: u8, wanted: u8) -> (bool, u8) {
    (len > wanted, len.abs_diff(wanted))
}

/// The orders of one link, by the length asked for.
#[derive(Debug, Default)]
pub(super) struct PrefixOrder {
    /// (delegated length, order for those who ask for it), ascending. Empty when all pools
    /// delegate the same length.
    by_len: Vec<(u8, Vec<PoolIndex>)>,
}

impl PrefixOrder {
    /// The orders of `pools`, each with the length that it delegates, in configuration order.
    pub(super) fn new(pools: &[(PoolIndex, u8)]) -> Self {
        let mut lens: Vec<u8> = pools.iter().map(|&(_, len)| len).collect();
        lens.sort_unstable();
        lens.dedup();
        if lens.len() < 2 {
            return Self::default();
        }
        let order_for = |wanted: u8| {
            let mut order = pools.to_vec();
            order.sort_by_key(|&(_, len)| rank(len, wanted));
            order.into_iter().map(|(pool, _)| pool).collect()
        };
        Self { by_len: lens.into_iter().map(|len| (len, order_for(len))).collect() }
    }

    /// The order for who asks for `len` bits; `None` when the configured one will do.
    pub(super) fn of(&self, len: u8) -> Option<&[PoolIndex]> {
        // Between two lengths the order is that of the lower one.
        let after = self.by_len.partition_point(|&(known, _)| known <= len);
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
        let of = |len| -> Vec<u32> { order.of(len).unwrap().iter().map(|pool| pool.0).collect() };
        assert_eq!(of(56), [1, 3, 2, 0]);
        assert_eq!(of(60), [2, 1, 3, 0]);
        assert_eq!(of(62), [2, 1, 3, 0]);
        assert_eq!(of(64), [0, 2, 1, 3]);
        assert_eq!(of(48), [1, 3, 2, 0]);
        assert_eq!(of(128), [0, 2, 1, 3]);
        assert!(PrefixOrder::new(&pools[3..]).of(56).is_none());
    }
}
