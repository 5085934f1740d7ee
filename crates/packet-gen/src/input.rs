//! What is to be sent: a packet file through the language, or a capture with its times.

use std::io::Read;
use std::path::Path;

use packet_wire::pcap::{self, PcapError};

use crate::error::GeneratorError;
use crate::language::{self, Include, Included, Problem, Program, Settings};
use crate::pace::Schedule;
use crate::packet::Packet;
use crate::random::LibcRandom;

/// The folder of netsniff-ng, in which `#include <NAME>` finds files.
const SYSTEM_FOLDER: &str = "/etc/netsniff-ng";

/// Where packets come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Text on the command line.
    Text(String),
    /// A file, `-` for the standard input; a capture when its name has `.pcap`.
    File(String),
}

/// What was read.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) program: Program,
    /// The times of a capture.
    pub(crate) times: Option<Schedule>,
}

impl Source {
    /// What problems are shown with.
    fn name(&self) -> &str {
        match self {
            Self::Text(_) => "packet",
            Self::File(name) if name == "-" => "standard input",
            Self::File(name) => name,
        }
    }

    /// Reads and understands everything.
    ///
    /// # Errors
    ///
    /// The file cannot be read; all problems of a packet file; what is wrong with a capture.
    pub(crate) fn read(&self, settings: &Settings) -> Result<Input, GeneratorError> {
        let octets = match self {
            Self::Text(text) => text.clone().into_bytes(),
            Self::File(name) if name == "-" => {
                let mut octets = Vec::new();
                let read = std::io::stdin().lock().read_to_end(&mut octets);
                read.map_err(GeneratorError::cannot("read", "the standard input"))?;
                octets
            }
            Self::File(name) => std::fs::read(name)
                .map_err(|error| GeneratorError::Usage(format!("cannot read {name}: {error}")))?,
        };
        if matches!(self, Self::File(name) if name.contains(".pcap")) {
            return capture(&octets, settings.seed)
                .map_err(|error| GeneratorError::Usage(format!("{}: {error}", self.name())));
        }
        match language::compile_with(&octets, settings, &|include| self.included(include)) {
            Ok(program) => Ok(Input { program, times: None }),
            Err(problems) => Err(GeneratorError::Usage(self.shown(&problems))),
        }
    }

    /// Problems as text, each with the name of the file that it is in.
    pub(crate) fn shown(&self, problems: &[Problem]) -> String {
        let shown: Vec<String> = problems
            .iter()
            .map(|problem| {
                format!("{}:{problem}", problem.file.as_deref().unwrap_or_else(|| self.name()))
            })
            .collect();
        shown.join("\n")
    }

    /// Reads what an `#include` asks for: a name in quotes beside the file that includes it, other names
    /// in trafgen's folder of the system.
    fn included(&self, include: Include<'_>) -> Result<Included, String> {
        let Include { name, is_system, from } = include;
        let beside = match (from, self) {
            (Some(from), _) => Path::new(from).parent(),
            (None, Self::File(file)) if file != "-" => Path::new(file).parent(),
            (None, _) => None,
        };
        let beside = (!is_system).then(|| beside.unwrap_or_else(|| Path::new("")).join(name));
        let of_system = Path::new(SYSTEM_FOLDER).join(name);
        let mut problems = Vec::new();
        for path in beside.into_iter().chain([of_system]) {
            match std::fs::read(&path) {
                Ok(octets) => return Ok(Included { path: path.display().to_string(), octets }),
                Err(error) => problems.push(format!("{}: {error}", path.display())),
            }
        }
        Err(format!("`{name}` cannot be included: {}", problems.join("; ")))
    }
}

/// The packets of a capture. When they are sent again and again, the mean gap lies between the last and
/// the first.
fn capture(octets: &[u8], seed: u32) -> Result<Input, String> {
    let reader = pcap::Reader::new(octets).map_err(|error| error.to_string())?;
    if reader.link_type() != pcap::LINK_ETHERNET {
        return Err(format!("link type {}, not Ethernet", reader.link_type()));
    }
    let (mut packets, mut offsets_ns, mut first_ns) = (Vec::new(), Vec::new(), None);
    for record in reader {
        let record = match record {
            Ok(record) => record,
            // What a capture that was cut short holds before is good.
            Err(PcapError::Truncated) if !packets.is_empty() => break,
            Err(error) => return Err(error.to_string()),
        };
        if record.octets.is_empty() {
            continue;
        }
        let first_ns = *first_ns.get_or_insert(record.time_ns);
        let last_ns = offsets_ns.last().copied().unwrap_or(0);
        // Clocks that went back hold nothing up.
        offsets_ns.push(record.time_ns.saturating_sub(first_ns).max(last_ns));
        packets.push(Packet { octets: record.octets.to_vec(), ..Packet::default() });
    }
    let Some(last_ns) = offsets_ns.last().copied() else {
        return Err("a capture without packets".to_owned());
    };
    let gaps = (offsets_ns.len() as u64 - 1).max(1);
    let times = Schedule::Times { offsets_ns, round_ns: last_ns + last_ns / gaps };
    let random = LibcRandom::from_seed(seed);
    let program = Program { packets, random, warnings: Vec::new() };
    Ok(Input { program, times: Some(times) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet_wire::pcap::{ByteOrder, LINK_ETHERNET, Resolution, Writer};

    #[test]
    fn a_capture_gives_packets_and_times() {
        let mut writer = Writer::new(LINK_ETHERNET, ByteOrder::Big, Resolution::Nanoseconds);
        for (time_ns, octet) in [(1_000, 1), (1_400, 2), (1_200, 3), (1_800, 4)] {
            writer.packet(time_ns, &[octet; 20]);
        }
        let input = capture(writer.octets(), 1).unwrap();
        assert_eq!(input.program.packets.len(), 4);
        assert_eq!(input.program.packets[2].octets, [3; 20]);
        let times = input.times.unwrap();
        let due: Vec<_> = (0..5).map(|number| times.due_ns(number).unwrap()).collect();
        assert_eq!(due, [0, 400, 400, 800, 800 + 266]);
        assert!(capture(b"no capture at all, really", 1).is_err());
    }

    #[test]
    fn a_capture_of_the_newer_format_gives_the_same() {
        // As editcap 4.0 writes it, without the names of programs: 20 octets, and 0.88 s later 19.
        let words: [u32; 41] = [
            0x0a0d_0d0a,
            28,
            0x1a2b_3c4d,
            1,
            0xffff_ffff,
            0xffff_ffff,
            28,
            1,
            32,
            1,
            0x0004_0000,
            0x0001_0009,
            9,
            0,
            32,
            6,
            52,
            0,
            0x1797_9cfe,
            0x3d85_cd15,
            20,
            23,
            0x0302_0100,
            0x0706_0504,
            0x0b0a_0908,
            0x0f0e_0d0c,
            0x1312_1110,
            52,
            6,
            52,
            0,
            0x1797_9cfe,
            0x71c4_ca01,
            19,
            22,
            0xaaaa_aaaa,
            0xaaaa_aaaa,
            0xaaaa_aaaa,
            0x6568_aaaa,
            0x006f_6c6c,
            52,
        ];
        let file: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let input = capture(&file, 1).unwrap();
        let octets: Vec<_> = input.program.packets.iter().map(|packet| &packet.octets).collect();
        assert_eq!(octets[0][..], (0..20).collect::<Vec<u8>>());
        assert_eq!((octets[1].len(), &octets[1][14..]), (19, &b"hello"[..]));
        let times = input.times.unwrap();
        assert_eq!(times.due_ns(1), Some(0x71c4_ca01 - 0x3d85_cd15));
    }
}
