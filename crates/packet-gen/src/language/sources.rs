//! Files that a text comes from: the packet file and its includes. A byte's origin is its position
//! in the concatenation of all of them.

use std::rc::Rc;

use super::problem::PacketTextProblem;

/// One file.
#[derive(Clone, Debug)]
struct SourceFile {
    /// Name of the file; `None` for the packet file itself.
    name: Option<String>,
    octets: Rc<[u8]>,
    /// Origin of the first byte.
    base: usize,
}

/// All files of a text.
#[derive(Clone, Debug)]
pub(crate) struct PacketTextFiles {
    files: Vec<SourceFile>,
}

impl PacketTextFiles {
    /// Creates a list with the packet file only.
    pub(crate) fn new(octets: &[u8]) -> Self {
        Self { files: vec![SourceFile { name: None, octets: octets.into(), base: 0 }] }
    }

    /// Adds an included file; returns its number.
    pub(crate) fn add(&mut self, name: String, octets: Vec<u8>) -> usize {
        let base = self.bytes();
        self.files.push(SourceFile { name: Some(name), octets: octets.into(), base });
        self.files.len() - 1
    }

    /// Returns the size of all files in bytes, with one more for the end of each.
    pub(crate) fn bytes(&self) -> usize {
        self.files.last().map_or(0, |file| file.base + file.octets.len() + 1)
    }

    /// Returns the bytes of file `number`, which [`PacketTextFiles::add`] returned, or 0 for the
    /// packet file.
    pub(crate) fn octets(&self, number: usize) -> Rc<[u8]> {
        Rc::clone(&self.files[number].octets)
    }

    /// Returns the origin of the first byte of file `number`.
    pub(crate) fn base(&self, number: usize) -> usize {
        self.files[number].base
    }

    /// Returns the name of file `number`; `None` for the packet file.
    pub(crate) fn name(&self, number: usize) -> Option<&str> {
        self.files[number].name.as_deref()
    }

    /// Creates a problem at the byte with this origin.
    pub(crate) fn problem(&self, origin: usize, message: impl Into<String>) -> PacketTextProblem {
        let number = self.files.partition_point(|file| file.base <= origin).saturating_sub(1);
        let SourceFile { name, octets, base } = &self.files[number];
        let problem = PacketTextProblem::at(octets, origin - base, message);
        PacketTextProblem { file: name.clone(), ..problem }
    }
}
