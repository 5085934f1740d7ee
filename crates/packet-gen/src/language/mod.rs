//! Packet description language of trafgen: parses a text into packets, or reports all its problems.
//! No code of this module reads a file, a clock or the environment.
//!
//! - `preprocess` replaces names, if enabled; `source` is the cursor, `expression` evaluates.
//! - `parser` reads packets and elements, `fields` the arguments of header functions,
//!   `records` those of `dns()`.
//! - `headers` stacks headers: headers below, fields that name the next, lengths, checksums.
//!
//! By default everything has the meaning of trafgen's manual; with `quirks` the meaning of trafgen
//! 0.6.8. docs/book/trafgen.md has the table of differences.

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
mod sources;

use std::net::{Ipv4Addr, Ipv6Addr};

use base::text_file;

pub use preprocess::{Include, IncludeReader, IncludedFile};
pub use problem::PacketTextProblem;

use crate::packet::PacketTemplate;
use crate::random::LibcRandom;
use preprocess::Preprocessed;
use source::{Cursor, MappedText, PacketTextFault};
use sources::PacketTextFiles;

/// Length of the longest frame that a packet file may describe, in bytes: an IP packet of 65,535
/// with an Ethernet header and two tags.
pub const FRAME_BYTES_MAX: usize = 65_535 + 14 + 2 * 4;

/// Settings of the packet language's parser.
#[derive(Clone, Debug)]
pub struct PacketParserSettings {
    /// True to imitate trafgen 0.6.8 instead of its manual.
    pub quirks: bool,
    /// True to treat `#define`, `#include` and similar lines as directives, not as comments.
    pub preprocess: bool,
    /// Names and their replacements, defined for the preprocessor.
    pub defines: Vec<(String, String)>,
    /// Name of the packet file, for the macro `__FILE__`.
    pub file_name: String,
    /// Seed of the random numbers in packets.
    pub seed: u32,
    /// Addresses that headers have by default; zeros if the output is no interface.
    pub device: InterfaceAddresses,
    /// True if the output is a file; a quirk of trafgen 0.6.8 depends on it.
    pub is_to_file: bool,
}

/// Addresses of the sending interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceAddresses {
    /// Hardware address of the sending interface.
    pub mac: [u8; 6],
    /// First IPv4 address of the sending interface.
    pub ip4: Ipv4Addr,
    /// First IPv6 address of the sending interface.
    pub ip6: Ipv6Addr,
}

impl InterfaceAddresses {
    /// Addresses of zeros, for an output that is no interface.
    pub const NONE: Self =
        Self { mac: [0; 6], ip4: Ipv4Addr::UNSPECIFIED, ip6: Ipv6Addr::UNSPECIFIED };
}

impl Default for PacketParserSettings {
    fn default() -> Self {
        Self {
            quirks: false,
            preprocess: false,
            defines: Vec::new(),
            file_name: String::new(),
            seed: 1,
            device: InterfaceAddresses::NONE,
            is_to_file: true,
        }
    }
}

/// Packet program: the packets of a parsed packet text.
#[derive(Clone, Debug)]
pub struct PacketProgram {
    /// Packets that the text describes, at least one.
    pub packets: Vec<PacketTemplate>,
    /// Random numbers that follow those which the text itself used.
    pub random: LibcRandom,
    /// Warnings about constructs of the packet text that may not be intended.
    pub warnings: Vec<PacketTextProblem>,
}

/// Parses a packet file that includes no other file into a packet program.
///
/// # Errors
///
/// The errors of [`compile_with`].
pub fn compile(
    file: &[u8],
    settings: &PacketParserSettings,
) -> Result<PacketProgram, Vec<PacketTextProblem>> {
    let reader = |include: Include<'_>| Err(format!("{} cannot be included here", include.name));
    compile_with(file, settings, &reader)
}

/// Parses a packet file, whose included files `reader` finds and reads, into a packet program.
///
/// # Errors
///
/// All problems, in order.
pub fn compile_with(
    file: &[u8],
    settings: &PacketParserSettings,
    reader: &IncludeReader<'_>,
) -> Result<PacketProgram, Vec<PacketTextProblem>> {
    if let Some(advice) = text_file::utf16_advice(file) {
        return Err(vec![PacketTextProblem::at(b"", 0, advice)]);
    }
    let file = text_file::without_byte_order_mark(file);
    let Preprocessed { text, sources, faults, gaps } = if settings.preprocess {
        preprocess::run(file, &settings.file_name, &settings.defines, reader)
    } else {
        let (text, sources) = (MappedText::verbatim(file), PacketTextFiles::new(file));
        Preprocessed { text, sources, faults: Vec::new(), gaps: Vec::new() }
    };
    let mut parser = parser::Parser::new(&text, settings);
    parser.packets();
    let cursor = Cursor::new(&text);
    let placed = |fault: &PacketTextFault| PacketTextFault {
        at: cursor.origin(fault, file.len()),
        ..fault.clone()
    };
    // What the preprocessor left out is no second fault of the packet.
    let own = parser.faults.iter().filter(|fault| !gaps.contains(&fault.at));
    let mut faults: Vec<PacketTextFault> = faults.into_iter().chain(own.map(placed)).collect();
    faults.sort_by_key(|fault| fault.at);
    let show = |fault: &PacketTextFault| sources.problem(fault.at, fault.message.clone());
    let mut problems: Vec<PacketTextProblem> = faults.iter().map(show).collect();
    problems.dedup();
    if problems.is_empty() && parser.packets.is_empty() {
        problems.push(sources.problem(0, "no packet: a packet is written in braces, `{ ... }`"));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let warnings = parser.warnings.iter().map(|fault| show(&placed(fault))).collect();
    Ok(PacketProgram { packets: parser.packets, random: parser.random, warnings })
}
