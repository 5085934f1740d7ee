//! Memory limits for incoming control commands and outgoing answers: one for each command and one
//! for all together.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum size of a control command, in bytes.
const COMMAND_MAX_BYTES: usize = 64 << 20;
/// Maximum total size of all control commands that are being received or executed, in bytes.
const TOTAL_MAX_BYTES: usize = 128 << 20;

/// Maximum size of a command at a control socket without authentication, in bytes.
pub(super) const UNAUTHENTICATED_MAX_BYTES: usize = 1 << 20;
/// Maximum total size of all answers that control clients have not received yet, in bytes; a single
/// answer may be larger.
const ANSWERS_MAX_BYTES: usize = 128 << 20;
/// Size of the memory of a command or answer, in bytes, from which on freed memory goes back to the
/// system at once.
const LARGE_BYTES: usize = 4 << 20;

/// Memory that is left for the commands and answers of all control sockets.
#[derive(Debug)]
pub(super) struct Budget {
    remaining_bytes: Cell<usize>,
    command_max_bytes: usize,
    /// Size of the answers that are being sent, in bytes.
    answers: Arc<AtomicUsize>,
}

/// Control command as far as it has arrived. Dropping it returns its share of the budget.
#[derive(Debug)]
pub(super) struct IncomingCommand {
    octets: Vec<u8>,
    budget: Rc<Budget>,
    max_bytes: usize,
}

/// Error: the memory budget has no room for the rest of a control command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

impl Budget {
    pub(super) fn new() -> Rc<Self> {
        Self::with_limits(COMMAND_MAX_BYTES, TOTAL_MAX_BYTES)
    }

    fn with_limits(command_max_bytes: usize, total: usize) -> Rc<Self> {
        Rc::new(Self {
            remaining_bytes: Cell::new(total),
            command_max_bytes,
            answers: Arc::default(),
        })
    }

    /// Returns true if a control command of `len` bytes fits into the budget.
    pub(super) fn has_room_for(&self, len: u64) -> bool {
        len <= self.command_max_bytes.min(self.remaining_bytes.get()) as u64
    }
}

impl IncomingCommand {
    /// Creates an empty control command with the budget's limit.
    pub(super) fn new(budget: &Rc<Budget>) -> Self {
        Self::within(budget, budget.command_max_bytes)
    }

    /// Creates an empty control command with a limit of `max_bytes`.
    pub(super) fn within(budget: &Rc<Budget>, max_bytes: usize) -> Self {
        let max_bytes = max_bytes.min(budget.command_max_bytes);
        Self { octets: Vec::new(), budget: Rc::clone(budget), max_bytes }
    }

    /// Appends `octets` to the control command.
    ///
    /// # Errors
    ///
    /// [`TooLarge`] if one command or all commands together exceed their limit.
    pub(super) fn put(&mut self, octets: &[u8]) -> Result<(), TooLarge> {
        let remaining_bytes = self.budget.remaining_bytes.get();
        if octets.len() > remaining_bytes || self.octets.len() + octets.len() > self.max_bytes {
            return Err(TooLarge);
        }
        self.budget.remaining_bytes.set(remaining_bytes - octets.len());
        self.octets.extend_from_slice(octets);
        Ok(())
    }

    /// Returns the bytes of the control command that have arrived.
    pub(super) fn octets(&self) -> &[u8] {
        &self.octets
    }
}

impl Drop for IncomingCommand {
    fn drop(&mut self) {
        self.budget.remaining_bytes.set(self.budget.remaining_bytes.get() + self.octets.len());
        if self.octets.len() >= LARGE_BYTES {
            self.octets = Vec::new();
            netio::process::return_memory();
        }
    }
}

/// Answer to be sent to a control client. Dropping it returns its share of the budget.
#[derive(Debug)]
pub(super) struct OutgoingAnswer {
    text: String,
    counted_bytes: usize,
    answers: Arc<AtomicUsize>,
}

impl OutgoingAnswer {
    /// Creates the answer `text` to a control command. If other answers that clients have not
    /// received yet leave no room, the answer is instead `refusal` of the length of `text`.
    pub(super) fn new(
        budget: &Budget,
        text: String,
        refusal: impl FnOnce(usize) -> String,
    ) -> Self {
        let answers = Arc::clone(&budget.answers);
        let before = answers.load(Ordering::Relaxed);
        let is_refused = before > 0 && before + text.len() > ANSWERS_MAX_BYTES;
        let text = if is_refused { refusal(text.len()) } else { text };
        let counted_bytes = text.len();
        answers.fetch_add(counted_bytes, Ordering::Relaxed);
        Self { text, counted_bytes, answers }
    }

    /// Puts the answer into the JSON list that HTTP clients get around it.
    pub(super) fn in_list(mut self) -> Self {
        self.text.insert_str(0, "[ ");
        self.text.push_str(" ]");
        self
    }
}

impl AsRef<[u8]> for OutgoingAnswer {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

impl Drop for OutgoingAnswer {
    fn drop(&mut self) {
        self.answers.fetch_sub(self.counted_bytes, Ordering::Relaxed);
        if self.counted_bytes >= LARGE_BYTES {
            self.text = String::new();
            netio::process::return_memory();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_nobody_takes_leave_no_room_for_more() {
        let budget = Budget::new();
        let large =
            |len: usize| OutgoingAnswer::new(&budget, "x".repeat(len), |_| "refused".to_owned());
        let first = large(ANSWERS_MAX_BYTES + 1);
        assert_eq!(first.as_ref().len(), ANSWERS_MAX_BYTES + 1, "one may be as large as it is");
        let second = large(10).in_list();
        assert_eq!(second.as_ref(), b"[ refused ]");
        drop(first);
        let third = large(ANSWERS_MAX_BYTES - 7);
        assert_eq!(third.as_ref().len(), ANSWERS_MAX_BYTES - 7);
        assert_eq!(large(1).as_ref(), b"refused");
        drop((second, third));
        assert_eq!(budget.answers.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn one_command_and_all_commands_are_bounded_and_give_back() {
        let budget = Budget::with_limits(6, 10);
        let mut first = IncomingCommand::new(&budget);
        assert_eq!(first.put(b"1234567"), Err(TooLarge));
        assert_eq!(first.put(b"123456"), Ok(()));
        assert_eq!(first.put(b"7"), Err(TooLarge));
        assert_eq!(first.octets(), b"123456");
        let mut second = IncomingCommand::new(&budget);
        assert!(budget.has_room_for(4) && !budget.has_room_for(5));
        assert_eq!(second.put(b"12345"), Err(TooLarge));
        drop(first);
        assert_eq!(IncomingCommand::within(&budget, 3).put(b"1234"), Err(TooLarge));
        assert_eq!(second.put(b"12345"), Ok(()));
        drop(second);
        assert!(budget.has_room_for(6) && !budget.has_room_for(7));
        assert_eq!(budget.remaining_bytes.get(), 10);
    }
}
