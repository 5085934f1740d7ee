//! Set of the client classes that one message is in.

/// Position of a class in [`Classes`](super::Classes): the built-in ones first, then those of the
/// configuration in its order, then names that are only referred to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassIndex(pub u16);

/// Set of the client classes of one message, which remembers the order in which they were assigned.
/// The set is reused from message to message, so that it grows while it is new and then allocates
/// nothing.
#[derive(Clone, Debug, Default)]
pub struct ClassSet {
    /// Membership of each class in the set, one bit by [`ClassIndex`].
    present: Vec<u64>,
    /// Classes in the set, in the order of assignment.
    order: Vec<ClassIndex>,
}

impl ClassSet {
    /// Removes every class from the set.
    pub fn clear(&mut self) {
        for class in self.order.drain(..) {
            self.present[usize::from(class.0 / 64)] = 0;
        }
    }

    /// Adds a class to the set, after those assigned before; returns false when the set already
    /// contains it.
    pub fn insert(&mut self, class: ClassIndex) -> bool {
        let word = usize::from(class.0 / 64);
        if self.present.len() <= word {
            self.present.resize(word + 1, 0);
        }
        let bit = 1 << (class.0 % 64);
        let is_new = self.present[word] & bit == 0;
        if is_new {
            self.present[word] |= bit;
            self.order.push(class);
        }
        is_new
    }

    /// Removes from the set the classes for which `keep` returns false.
    pub fn retain(&mut self, keep: impl Fn(ClassIndex) -> bool) {
        let present = &mut self.present;
        self.order.retain(|&class| {
            let stays = keep(class);
            if !stays {
                present[usize::from(class.0 / 64)] &= !(1 << (class.0 % 64));
            }
            stays
        });
    }

    /// Returns true if the set contains the class `class`.
    #[must_use]
    #[inline]
    pub fn contains(&self, class: ClassIndex) -> bool {
        let word = self.present.get(usize::from(class.0 / 64)).copied().unwrap_or(0);
        word & (1 << (class.0 % 64)) != 0
    }

    /// Returns the classes in the set, in the order of assignment.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = ClassIndex> + '_ {
        self.order.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_in_the_order_of_assignment_and_once() {
        let mut set = ClassSet::default();
        for (class, is_new) in [(200, true), (3, true), (200, false), (64, true), (3, false)] {
            assert_eq!(set.insert(ClassIndex(class)), is_new, "{class}");
        }
        assert_eq!(set.iter().map(|class| class.0).collect::<Vec<_>>(), [200, 3, 64]);
        assert!(set.contains(ClassIndex(64)) && !set.contains(ClassIndex(65)));
        assert!(!set.contains(ClassIndex(u16::MAX)));
        set.retain(|class| class != ClassIndex(3));
        assert_eq!(set.iter().map(|class| class.0).collect::<Vec<_>>(), [200, 64]);
        assert!(set.contains(ClassIndex(64)) && !set.contains(ClassIndex(3)));
        set.clear();
        assert!(set.iter().len() == 0 && !set.contains(ClassIndex(200)));
    }
}
