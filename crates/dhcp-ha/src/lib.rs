//! High availability of two DHCP servers, as Kea's hook library `high_availability` has it: the
//! relationship of a server with its partner and backup servers as a state machine without I/O.
//!
//! A driver asks the [`Relationship`] for the next command to the partner, sends it, and passes the
//! answer back; times are arguments. Changes of state come out with their reason. The same code
//! runs in the daemon and in the simulated world of the tests.
//!
//! Read first: `docs/design/035-high-availability.md`, and Kea's manual on the library for the
//! states.

mod administration;
mod clock;
mod command;
mod copy_pages;
mod decide;
mod metrics;
mod partner;
mod pause;
mod recovery;
mod relationship;
mod request;
mod scopes;
mod state;
mod status;
mod synchronization;
mod unacked;
mod update;

pub use administration::{HaAnswer, HaExecution, MAINTENANCE_NOT_ALLOWED};
pub use command::{AS_ROWS, CHANGES_OF, CommandResult, NOTE_CHANGES, PageRequest, PartnerCommand};
pub use copy_pages::{PageRange, PartnerPage};
pub use metrics::HaMetrics;
pub use partner::{PartnerView, UnsentCount};
pub use relationship::{Relationship, StateChange};
pub use state::HaState;
pub use synchronization::RETURNED_MAX;
pub use unacked::PartnerQuery;
pub use update::{
    HEARS_LATER_LEASE, LATER_LEASE, ROWS, UpdateVerdict, bulk_apply, bulk_apply_rows,
    bulk_verdicts, lease_command, lease_verdict, update_of, with_origin,
};
