//! How a run ended, as its exit code tells it.

use super::account::Account;
use super::dialect::Kind;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every request was answered on time or is still awaited, and no address has two clients.
    Served,
    /// Some request was not, or some address has.
    FellShort,
    /// A signal ended it.
    Interrupted,
}

impl Ending {
    /// The end of a run with these accounts and so many conflicts between leases.
    #[must_use]
    pub fn of(accounts: &[Account; Kind::COUNT], conflicts: u64, is_interrupted: bool) -> Self {
        let failed: u64 = accounts.iter().map(Account::failed).sum();
        if is_interrupted {
            Self::Interrupted
        } else if failed + conflicts > 0 {
            Self::FellShort
        } else {
            Self::Served
        }
    }

    /// The exit code.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            // A reader that has closed the output has all that it wanted.
            Self::Interrupted if netio::stdout::is_closed() => 0,
            Self::Served => 0,
            Self::FellShort => 3,
            Self::Interrupted => 130,
        }
    }
}
