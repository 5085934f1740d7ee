//! Memory for commands on their way in: each has a limit, and so have all together.

use std::cell::Cell;
use std::rc::Rc;

/// Octets of one command.
const COMMAND_MAX_BYTES: usize = 64 << 20;
/// Octets of all commands that are under way.
const TOTAL_MAX_BYTES: usize = 128 << 20;

/// What is left for all sockets.
#[derive(Debug)]
pub(super) struct Budget {
    left: Cell<usize>,
    command_max_bytes: usize,
}

/// A command as far as it has come; gives its share back when it goes away.
#[derive(Debug)]
pub(super) struct Command {
    octets: Vec<u8>,
    budget: Rc<Budget>,
}

/// There is no room for the rest of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

impl Budget {
    pub(super) fn new() -> Rc<Self> {
        Self::of(COMMAND_MAX_BYTES, TOTAL_MAX_BYTES)
    }

    fn of(command_max_bytes: usize, total: usize) -> Rc<Self> {
        Rc::new(Self { left: Cell::new(total), command_max_bytes })
    }

    /// Whether a command of `len` octets would be taken.
    pub(super) fn has_room_for(&self, len: u64) -> bool {
        len <= self.command_max_bytes.min(self.left.get()) as u64
    }
}

impl Command {
    /// A command of which nothing has come yet.
    pub(super) fn new(budget: &Rc<Budget>) -> Self {
        Self { octets: Vec::new(), budget: Rc::clone(budget) }
    }

    /// Adds `octets`.
    ///
    /// # Errors
    ///
    /// When they are too many for one command or for all together.
    pub(super) fn put(&mut self, octets: &[u8]) -> Result<(), TooLarge> {
        let left = self.budget.left.get();
        if octets.len() > left || self.octets.len() + octets.len() > self.budget.command_max_bytes {
            return Err(TooLarge);
        }
        self.budget.left.set(left - octets.len());
        self.octets.extend_from_slice(octets);
        Ok(())
    }

    /// What has come.
    pub(super) fn octets(&self) -> &[u8] {
        &self.octets
    }
}

impl Drop for Command {
    fn drop(&mut self) {
        self.budget.left.set(self.budget.left.get() + self.octets.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_command_and_all_commands_are_bounded_and_give_back() {
        let budget = Budget::of(6, 10);
        let mut first = Command::new(&budget);
        assert_eq!(first.put(b"1234567"), Err(TooLarge));
        assert_eq!(first.put(b"123456"), Ok(()));
        assert_eq!(first.put(b"7"), Err(TooLarge));
        assert_eq!(first.octets(), b"123456");
        let mut second = Command::new(&budget);
        assert!(budget.has_room_for(4) && !budget.has_room_for(5));
        assert_eq!(second.put(b"12345"), Err(TooLarge));
        drop(first);
        assert_eq!(second.put(b"12345"), Ok(()));
        drop(second);
        assert!(budget.has_room_for(6) && !budget.has_room_for(7));
        assert_eq!(budget.left.get(), 10);
    }
}
