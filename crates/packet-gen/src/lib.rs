//! The packet generator.
mod packet;
mod random;
mod stream;
pub mod language;
pub use stream::Stream;
pub use random::LibcRandom;
