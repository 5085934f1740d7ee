//! The files that a text comes from: the packet file and what it includes. An octet's origin is its place
//! when all of them stand one behind the other.

use std::rc::Rc;

use super::problem::Problem;

/// One file.
#[derive(Clone, Debug)]
struct SourceFile {
    /// Its name; `None` for the packet file itself.
    name: Option<String>,
    octets: Rc<[u8]>,
    /// The origin of its first octet.
    base: usize,
}

/// All files of a text.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    files: Vec<SourceFile>,
}

impl Sources {
    /// The packet file alone.
    pub(crate) fn new(octets: &[u8]) -> Self {
        Self { files: vec![SourceFile { name: None, octets: octets.into(), base: 0 }] }
    }

    /// Adds a file that is included; returns its number.
    pub(crate) fn add(&mut self, name: String, octets: Vec<u8>) -> usize {
        let base = self.bytes();
        self.files.push(SourceFile { name: Some(name), octets: octets.into(), base });
        self.files.len() - 1
    }

    /// Octets of all files, with one more for the end of each.
    pub(crate) fn bytes(&self) -> usize {
        self.files.last().map_or(0, |file| file.base + file.octets.len() + 1)
    }

    /// The octets of file `number`, which [`Sources::add`] gave, or 0 for the packet file.
    pub(crate) fn octets(&self, number: usize) -> Rc<[u8]> {
        Rc::clone(&self.files[number].octets)
    }

    /// The origin of the first octet of file `number`.
    pub(crate) fn base(&self, number: usize) -> usize {
        self.files[number].base
    }

    /// The name of file `number`; `None` for the packet file.
    pub(crate) fn name(&self, number: usize) -> Option<&str> {
        self.files[number].name.as_deref()
    }

    /// A problem at the octet with this origin.
    pub(crate) fn problem(&self, origin: usize, message: impl Into<String>) -> Problem {
        let number = self.files.partition_point(|file| file.base <= origin).saturating_sub(1);
        let SourceFile { name, octets, base } = &self.files[number];
        let problem = Problem::at(octets, origin - base, message);
        Problem { file: name.clone(), ..problem }
    }
}
