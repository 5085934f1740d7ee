//! Input of the packet generator: a packet file in trafgen's language, or a capture with its times.

use std::io::Read;
use std::path::Path;

use base::{ToolError, ToolResult};

use crate::capture;
use crate::language::{
    self, Include, IncludedFile, PacketParserSettings, PacketProgram, PacketTextProblem,
};
use crate::schedule::FrameSchedule;

/// Folder of netsniff-ng, in which `#include <NAME>` finds files.
const SYSTEM_FOLDER: &str = "/etc/netsniff-ng";

/// Source of the packets to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PacketSource {
    /// Packet text on the command line.
    Text(String),
    /// Name of a file, `-` for the standard input; the file is a capture if its name has `.pcap`.
    File(String),
}

/// Packets of the generator's input, with their times.
#[derive(Debug)]
pub(crate) struct GeneratorInput {
    pub(crate) program: PacketProgram,
    /// Due times of the frames of a capture; `None` for a packet file.
    pub(crate) times: Option<FrameSchedule>,
    /// Sentences about packets of a capture that are left out or are not sent as they were.
    pub(crate) notices: Vec<String>,
}

impl PacketSource {
    /// Returns the name of the source with which problems are shown.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Text(_) => "packet",
            Self::File(name) if name == "-" => "standard input",
            Self::File(name) => name,
        }
    }

    /// Returns true if the source is a capture.
    pub(crate) fn is_capture(&self) -> bool {
        matches!(self, Self::File(name) if name.contains(".pcap"))
    }

    /// Reads and compiles the whole input. Leaves out frames of a capture that are too long for an
    /// interface with `mtu_bytes`.
    ///
    /// # Errors
    ///
    /// The file cannot be read; all problems of a packet file; what is wrong with a capture.
    pub(crate) fn read(
        &self,
        settings: &PacketParserSettings,
        mtu_bytes: Option<usize>,
    ) -> ToolResult<GeneratorInput> {
        let octets = match self {
            Self::Text(text) => text.clone().into_bytes(),
            Self::File(name) if name == "-" => {
                let mut octets = Vec::new();
                let read = std::io::stdin().lock().read_to_end(&mut octets);
                read.map_err(ToolError::cannot("read", "the standard input"))?;
                octets
            }
            Self::File(name) => std::fs::read(name)
                .map_err(|error| ToolError::Usage(format!("cannot read {name}: {error}")))?,
        };
        if self.is_capture() {
            return capture::read(&octets, settings, mtu_bytes)
                .map_err(|error| ToolError::Usage(format!("{}: {error}", self.name())));
        }
        match language::compile_with(&octets, settings, &|include| self.included(include)) {
            Ok(program) => Ok(GeneratorInput { program, times: None, notices: Vec::new() }),
            Err(problems) => Err(ToolError::Usage(self.problem_lines(&problems))),
        }
    }

    /// Formats `problems` of a packet text, each with the name of its file.
    pub(crate) fn problem_lines(&self, problems: &[PacketTextProblem]) -> String {
        let lines: Vec<String> = problems
            .iter()
            .map(|problem| {
                format!("{}:{problem}", problem.file.as_deref().unwrap_or_else(|| self.name()))
            })
            .collect();
        lines.join("\n")
    }

    /// Reads the file that an `#include` names: a name in quotes from the folder of the including
    /// file, other names from netsniff-ng's folder of the system.
    fn included(&self, include: Include<'_>) -> Result<IncludedFile, String> {
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
                Ok(octets) => return Ok(IncludedFile { path: path.display().to_string(), octets }),
                Err(error) => problems.push(format!("{}: {error}", path.display())),
            }
        }
        Err(format!("`{name}` cannot be included: {}", problems.join("; ")))
    }
}
