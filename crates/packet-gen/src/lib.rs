//! The packet generator: frames out of trafgen's packet description language or a capture, into an
//! interface, a capture or words.
//!
//! - [`language`] turns text into packets, without I/O; [`Stream`] turns packets into frames; the random
//!   numbers of both are [`LibcRandom`]'s.
//! - [`pace`] says when frames are due.
//! - [`Args`] is the command: it reads the input, opens the output, and has threads send.
//!
//! How frames get into an interface is `netio`'s; what happens to answers is nobody's, but that a host may
//! be pinged after each frame. To have read:
//! packet(7), docs/book/trafgen.md.

mod args;
mod capture;
mod decode;
mod error;
mod flows;
mod input;
pub mod language;
mod output;
pub mod pace;
mod pacer;
mod packet;
mod path;
mod random;
mod report;
mod run;
mod send;
mod smoke;
mod stream;
mod train;
mod worker;

use std::process::ExitCode;

pub use args::Args;
pub use decode::describe;
pub use error::GeneratorError;
pub use packet::Packet;
pub use path::PathKind;
pub use random::LibcRandom;
pub use report::{Gaps, LastFrame, Lateness, Processor, Report, SCHEMA, Segmentation, SmokeTest};
pub use stream::Stream;

impl Args {
    /// Does what the flags ask for.
    #[must_use]
    pub fn run(&self) -> ExitCode {
        match run::run(self) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                netio::stderr::print_line(format_args!("error: {error}"));
                ExitCode::from(error.exit_code())
            }
        }
    }
}
