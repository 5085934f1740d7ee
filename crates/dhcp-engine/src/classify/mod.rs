//! Client classes of a message.

mod set;

pub use set::{ClassIndex, ClassSet};
