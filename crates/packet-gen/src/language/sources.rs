//! Files that a packet text comes from: the packet file and the files that it includes. A byte's
//! origin is its position in the concatenation of all of them.

use std::rc::Rc;

use super::problem::PacketTextProblem;

/// File of a packet text: the packet file or an included one.
#[derive(Clone, Debug)]
struct SourceFile {
    /// Name of an included file; `None` for the packet file itself.
    name: Option<String>,
    octets: Rc<[u8]>,
    /// Origin of the file's first byte, its position in the concatenation of all files.
    base: usize,
}

/// Packet file and all files that it includes, numbered in the order of their inclusion.
#[derive(Clone, Debug)]
pub(crate) struct PacketTextFiles {
    files: Vec<SourceFile>,
}

impl PacketTextFiles {
    /// Creates a list with only the packet file, whose content is `octets`.
    pub(crate) fn new(octets: &[u8]) -> Self {
        Self { files: vec![SourceFile { name: None, octets: octets.into(), base: 0 }] }
    }

    /// Adds an included file with its name and content; returns its number.
    pub(crate) fn add(&mut self, name: String, octets: Vec<u8>) -> usize {
        let base = self.bytes();
        self.files.push(SourceFile { name: Some(name), octets: octets.into(), base });
        self.files.len() - 1
    }

    /// Returns the size of all files together in bytes, with one byte more for the end of each.
    pub(crate) fn bytes(&self) -> usize {
        self.files.last().map_or(0, |file| file.base + file.octets.len() + 1)
    }

    /// Returns the content of file `number`, which [`PacketTextFiles::add`] returned, or 0 for the
    /// packet file.
    pub(crate) fn octets(&self, number: usize) -> Rc<[u8]> {
        Rc::clone(&self.files[number].octets)
    }

    /// Returns the origin of the first byte of file `number`: its position in the concatenation of
    /// all files.
    pub(crate) fn base(&self, number: usize) -> usize {
        self.files[number].base
    }

    /// Returns the name of file `number`; `None` for the packet file.
    pub(crate) fn name(&self, number: usize) -> Option<&str> {
        self.files[number].name.as_deref()
    }

    /// Creates a problem with the description `message` at the byte with the origin `origin`.
    pub(crate) fn problem(&self, origin: usize, message: impl Into<String>) -> PacketTextProblem {
        let number = self.files.partition_point(|file| file.base <= origin).saturating_sub(1);
        let SourceFile { name, octets, base } = &self.files[number];
        let problem = PacketTextProblem::at(octets, origin - base, message);
        PacketTextProblem { file: name.clone(), ..problem }
    }
}
