//! Names of the machine's network interfaces, as subnets refer to them (`interface`), by the index
//! that comes with each message. The caller of the engine, such as the server, looks the names up
//! and passes them in again when they have changed.

/// Names of the machine's network interfaces by index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceNames {
    /// Pairs of interface index and name, ascending by index.
    entries: Box<[(u32, Box<str>)]>,
}

impl InterfaceNames {
    /// Returns the table of the network interfaces with these indexes and names, in any order.
    pub fn new<'n>(interfaces: impl IntoIterator<Item = (u32, &'n str)>) -> Self {
        let mut entries: Vec<(u32, Box<str>)> =
            interfaces.into_iter().map(|(index, name)| (index, name.into())).collect();
        entries.sort_unstable();
        Self { entries: entries.into() }
    }

    /// Returns the name of the network interface with this index.
    #[must_use]
    pub fn name(&self, index: u32) -> Option<&str> {
        let at = self.entries.binary_search_by_key(&index, |&(index, _)| index).ok()?;
        Some(&self.entries[at].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_index() {
        let names = InterfaceNames::new([(7, "eth1"), (2, "eth0")]);
        assert_eq!(
            (names.name(2), names.name(7), names.name(3)),
            (Some("eth0"), Some("eth1"), None)
        );
        assert_eq!(InterfaceNames::default().name(0), None);
    }
}
