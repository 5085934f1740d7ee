//! End of a perfdhcp run, as its exit code reports it.

use super::account::ExchangeAccount;
use super::dialect::ExchangeKind;

/// End of a perfdhcp run, for its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerfdhcpRunEnd {
    /// Every request had its reply on time or still awaits it, and no address has two clients.
    Served,
    /// A request had no reply on time, or an address has two clients.
    FellShort,
    /// A signal ended the perfdhcp run.
    Interrupted,
}

impl PerfdhcpRunEnd {
    /// Returns the end of a run with these accounts of exchanges and this number of conflicts
    /// between leases.
    pub fn from_accounts(
        accounts: &[ExchangeAccount; ExchangeKind::COUNT],
        conflicts: u64,
        is_interrupted: bool,
    ) -> Self {
        let failed: u64 = accounts.iter().map(ExchangeAccount::failed).sum();
        if is_interrupted {
            Self::Interrupted
        } else if failed + conflicts > 0 {
            Self::FellShort
        } else {
            Self::Served
        }
    }

    /// Returns the exit code of the process for this end of the run.
    pub fn code(self) -> u8 {
        match self {
            // A reader that has closed the output has got all that it wanted.
            Self::Interrupted if netio::stdout::is_closed() => 0,
            Self::Served => 0,
            Self::FellShort => 3,
            Self::Interrupted => 130,
        }
    }
}
