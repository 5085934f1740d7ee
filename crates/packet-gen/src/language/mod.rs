//! The packet description language: a text in, packets or all its problems out. Nothing here reads a
//! file, a clock or the environment.
//!
//! - [`preprocess`] replaces names, if asked to; [`source`] is the cursor, [`expression`] evaluates.
//! - [`parser`] reads packets and elements, [`fields`] the arguments of header functions, [`records`]
//!   those of `dns()`.
//! - [`headers`] stacks headers: what comes below, what names the next, lengths, checksums.
//!
//! By default everything means what the manual of trafgen says; with `quirks` it means what trafgen
//! 0.6.8 does. docs/book/trafgen.md has the table of differences.

mod elements;
mod expression;
mod fields;
mod headers;
mod names;
mod parser;
mod preprocess;
mod problem;
mod protocol;
mod records;
mod source;

use std::net::{Ipv4Addr, Ipv6Addr};

pub use problem::Problem;

use crate::packet::Packet;
use crate::random::LibcRandom;
use source::{Cursor, Fault, Text};

/// The longest frame that a file may describe, in octets: an IP packet of 65,535 with an Ethernet
/// header and two tags.
pub const FRAME_BYTES_MAX: usize = 65_535 + 14 + 2 * 4;

/// How a text is to be read.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What trafgen 0.6.8 does instead of what its manual says.
    pub quirks: bool,
    /// `#define`, `#include` and their kin are taken as such; comments otherwise.
    pub preprocess: bool,
    /// Names and what they stand for, for the preprocessor.
    pub defines: Vec<(String, String)>,
    /// What random numbers begin with.
    pub seed: u32,
    /// The addresses that headers have by default; zeros when the output is no interface.
    pub device: Device,
    /// The output is a file; a quirk depends on it.
    pub is_to_file: bool,
}

/// Addresses of the interface that sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// Hardware address.
    pub mac: [u8; 6],
    /// First IPv4 address.
    pub ip4: Ipv4Addr,
    /// First IPv6 address.
    pub ip6: Ipv6Addr,
}

impl Device {
    /// No device.
    pub const NONE: Self =
        Self { mac: [0; 6], ip4: Ipv4Addr::UNSPECIFIED, ip6: Ipv6Addr::UNSPECIFIED };
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            quirks: false,
            preprocess: false,
            defines: Vec::new(),
            seed: 1,
            device: Device::NONE,
            is_to_file: true,
        }
    }
}

/// A text that was understood.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its packets, at least one.
    pub packets: Vec<Packet>,
    /// Where random numbers go on behind those that the text itself took.
    pub random: LibcRandom,
    /// What may not be meant.
    pub warnings: Vec<Problem>,
}

/// Reads a packet file.
///
/// # Errors
///
/// All that is wrong with it, in order.
pub fn compile(file: &[u8], settings: &Settings) -> Result<Program, Vec<Problem>> {
    let (text, faults) = if settings.preprocess {
        preprocess::run(file, &settings.defines)
    } else {
        (Text::verbatim(file), Vec::new())
    };
    // Faults of the preprocessor are at octets of the file.
    let at = |fault: Fault| Problem::at(file, fault.at, fault.message);
    let mut problems: Vec<Problem> = faults.into_iter().map(at).collect();
    let mut parser = parser::Parser::new(&text, settings);
    parser.packets();
    let cursor = Cursor::new(&text);
    let show = |faults: &[Fault]| -> Vec<Problem> {
        faults.iter().map(|fault| cursor.problem(file, fault)).collect()
    };
    problems.extend(show(&parser.faults));
    if problems.is_empty() && parser.packets.is_empty() {
        problems.push(Problem::at(file, 0, "no packet: packets stand in braces, `{ ... }`"));
    }
    if problems.is_empty() {
        let warnings = show(&parser.warnings);
        Ok(Program { packets: parser.packets, random: parser.random, warnings })
    } else {
        problems.sort_by_key(|problem| (problem.line, problem.column));
        problems.dedup();
        Err(problems)
    }
}
