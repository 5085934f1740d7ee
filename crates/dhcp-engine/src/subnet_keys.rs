//! Subnets found by a key that the configuration has for them: a relay agent's address, an
//! interface.

use core::borrow::Borrow;

use crate::prefixes::SubnetIndex;

/// Table from configured keys to their subnets; several subnets of one key are in configuration
/// order.
#[derive(Debug)]
pub struct SubnetKeys<K>(Vec<(K, SubnetIndex)>);

impl<K: Ord> SubnetKeys<K> {
    /// Returns the table of keys and their subnets.
    pub fn new(entries: impl Iterator<Item = (K, SubnetIndex)>) -> Self {
        let mut entries: Vec<_> = entries.collect();
        entries.sort_unstable();
        Self(entries)
    }

    /// Returns the first subnet in the configuration with this key.
    pub fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Option<SubnetIndex>
    where
        K: Borrow<Q>,
    {
        self.find_where(key, |_| true)
    }

    /// Returns the first subnet in the configuration with this key among those that `admits`
    /// accepts.
    pub fn find_where<Q: Ord + ?Sized>(
        &self,
        key: &Q,
        admits: impl Fn(SubnetIndex) -> bool,
    ) -> Option<SubnetIndex>
    where
        K: Borrow<Q>,
    {
        let at = self.0.partition_point(|(other, _)| other.borrow() < key);
        self.0[at..]
            .iter()
            .take_while(|(other, _)| other.borrow() == key)
            .map(|&(_, subnet)| subnet)
            .find(|&subnet| admits(subnet))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_subnet_of_a_key_is_found() {
        let entries = [("b", 2), ("a", 1), ("b", 0)];
        let keys = SubnetKeys::<Box<str>>::new(entries.into_iter().map(|(k, n)| (k.into(), n)));
        assert_eq!((keys.find("a"), keys.find("b"), keys.find("c")), (Some(1), Some(0), None));
        assert_eq!(keys.find_where("b", |subnet| subnet != 0), Some(2));
        assert_eq!(keys.find_where("a", |subnet| subnet != 1), None);
    }
}
