//! Counts of the conversations' contents: a test of servers that send no replies would prove
//! nothing.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

#[derive(Debug, Default)]
pub(crate) struct ComparisonCounts {
    pub(crate) configurations: u64,
    pub(crate) messages: u64,
    pub(crate) rows: u64,
    /// Number of replies that granted a reserved address.
    reserved: u64,
    replies: BTreeMap<&'static str, u64>,
    /// Number of configurations that have a key.
    keys: BTreeMap<String, u64>,
}

impl ComparisonCounts {
    pub(crate) fn replied(&mut self, kind: &'static str, is_reserved: bool) {
        *self.replies.entry(kind).or_default() += 1;
        self.reserved += u64::from(is_reserved);
    }

    /// Counts the keys of a configuration.
    pub(crate) fn configured(&mut self, text: &str) {
        self.configurations += 1;
        let quoted: Vec<&str> = text.split('"').collect();
        let mut keys: Vec<&str> = quoted
            .windows(2)
            .filter(|pair| pair[1].starts_with(": "))
            .map(|pair| pair[0])
            .collect();
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            *self.keys.entry(key.to_owned()).or_default() += 1;
        }
    }

    /// Fails unless most messages were answered, in every way, and each key was often configured. A
    /// short repeated run need not have all of them.
    pub(crate) fn check(&self, kinds: &[&str], keys: &[&str]) {
        if self.configurations < 300 {
            return;
        }
        let replies: u64 = self.replies.values().sum();
        assert!(replies * 10 > self.messages * 6, "{self}");
        assert!(self.reserved * 20 > replies, "{self}");
        assert!(self.rows * 5 > self.messages, "{self}");
        for kind in kinds {
            let share = self.replies.get(kind).copied().unwrap_or(0) * 200;
            assert!(share > self.messages, "{kind}: {self}");
        }
        for &key in keys {
            let count = self.keys.get(key).copied().unwrap_or(0);
            assert!(count * 20 > self.configurations, "{key} in {count}: {self}");
        }
    }
}

impl Display for ComparisonCounts {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{} configurations, {} messages, {:?}, {} of reserved, {} rows",
            self.configurations, self.messages, self.replies, self.reserved, self.rows
        )
    }
}
