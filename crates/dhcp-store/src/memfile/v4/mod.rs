//! DHCPv4 lease files: rows of text, and what is done with whole files.
//!
//! Kea reference §3.4. What Kea does with odd rows was tried on kea-lfc 2.2.0.

mod cleanup;
mod columns;
mod decode;
mod encode;
mod load;
mod open;

pub use cleanup::{Cleaned, Cleanup, CleanupError};
pub use columns::{Columns, Header};
pub use decode::{RowFault, parse_row};
pub use encode::{encode_row, row_of};
pub use load::{LoadReport, RowError};
pub use open::{Memfile, OpenError, OpenOptions, Rotation, Snapshot};
