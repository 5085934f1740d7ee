//! Output of a benchmark report in forms for people and for programs that read text.

pub mod compat;
mod csv;
mod page;
mod text;

pub use csv::csv;
pub use page::page;
pub use text::text;
