//! Packet generator `godwit trafgen`: sends frames from trafgen's packet description language or
//! from a capture through an interface, or writes them to a capture or as text.
//!
//! - [`language`] turns text into packets, without I/O; [`FrameStream`] turns packets into frames;
//!   both use the random numbers of [`LibcRandom`].
//! - [`schedule`] computes the due times of frames.
//! - [`TrafgenArgs`] is the command: it reads the input, opens the output, and starts the sending
//!   threads.
//!
//! `netio` sends the frames. The generator ignores replies, except that it can ping a host after
//! each frame. References: packet(7), docs/book/trafgen.md.

mod args;
mod capture;
mod decode;
mod error;
mod flows;
mod input;
pub mod language;
mod output;
mod pacer;
mod packet;
mod path;
mod random;
mod report;
mod run;
pub mod schedule;
mod send;
mod smoke;
mod stream;
mod train;
mod worker;

use std::process::ExitCode;

pub use args::TrafgenArgs;
pub use decode::describe;
pub use packet::PacketTemplate;
pub use path::PathKind;
pub use random::LibcRandom;
pub use report::{
    Gaps, LastFrame, LatenessSummary, ProcessorFigures, SCHEMA, SegmentationFigures, SmokeTest,
    TrafgenReport,
};
pub use stream::FrameStream;

impl TrafgenArgs {
    /// Runs `godwit trafgen` as its flags describe, and returns its exit code.
    #[must_use]
    pub fn run(&self) -> ExitCode {
        netio::stderr::exit_code(run::run(self).map(|()| ExitCode::SUCCESS))
    }
}
