//! File with the next hop of each delegated prefix, from which the routes are made again when the
//! machine has started: a lease has no next hop.
//!
//! A line is `PREFIX/LENGTH NEXT-HOP INTERFACE`, or `PREFIX/LENGTH -` when the prefix has none any
//! more; the last line of a prefix counts. The file is written anew when most lines are outdated.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};

use super::DelegatedPrefix;

/// Number of outdated lines that the file may have in addition to as many as it has prefixes.
const OUTDATED_MAX: usize = 1_000;

/// Next hop of a prefix, with the interface by its name: indexes change when a machine starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedHop {
    pub(super) address: Ipv6Addr,
    /// Name of the interface; `-` if the next hop needs none.
    pub(super) interface: String,
}

/// File of next hops.
pub(super) struct HopJournal {
    path: PathBuf,
    lines: usize,
    /// Lines that are not written yet.
    pending: String,
}

impl HopJournal {
    /// Reads the file `path`, and returns it with its next hops. Lines that it cannot read are left
    /// out; a file that is missing has none.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub(super) fn open(path: PathBuf) -> io::Result<(Self, BTreeMap<DelegatedPrefix, NamedHop>)> {
        let text = match fs::read(&path) {
            Ok(octets) => String::from_utf8_lossy(&octets).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        // A machine that stopped may have left half a line.
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let pending = if whole.len() == text.len() { String::new() } else { "\n".to_owned() };
        let mut hops = BTreeMap::new();
        for line in whole.lines() {
            let mut words = line.split_ascii_whitespace();
            let Some(prefix) = words.next().and_then(parsed_prefix) else { continue };
            let address = words.next().and_then(|word| word.parse().ok());
            match address.zip(words.next()) {
                Some((address, name)) => {
                    hops.insert(prefix, NamedHop { address, interface: name.to_owned() });
                }
                None => {
                    hops.remove(&prefix);
                }
            }
        }
        Ok((Self { path, lines: text.lines().count(), pending }, hops))
    }

    /// Notes the next hop of `prefix`; `None` if it has none any more.
    pub(super) fn note(&mut self, prefix: &DelegatedPrefix, hop: Option<&NamedHop>) {
        self.pending.push_str(&line_of(prefix, hop));
        self.lines += 1;
    }

    /// Writes the notes since the last call; `hops` are all next hops, for a file that is written
    /// anew.
    ///
    /// # Errors
    ///
    /// The file cannot be written; the notes stay for the next call.
    pub(super) fn write(&mut self, hops: &BTreeMap<DelegatedPrefix, NamedHop>) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        if self.lines > 2 * hops.len() + OUTDATED_MAX {
            let text: String =
                hops.iter().map(|(prefix, hop)| line_of(prefix, Some(hop))).collect();
            write_anew(&self.path, &text)?;
            self.lines = hops.len();
        } else {
            let mut file = OpenOptions::new().append(true).create(true).open(&self.path)?;
            file.write_all(self.pending.as_bytes())?;
        }
        self.pending.clear();
        Ok(())
    }
}

fn line_of(prefix: &DelegatedPrefix, hop: Option<&NamedHop>) -> String {
    let hop =
        hop.map_or_else(|| "-".to_owned(), |hop| format!("{} {}", hop.address, hop.interface));
    format!("{prefix} {hop}\n")
}

fn parsed_prefix(word: &str) -> Option<DelegatedPrefix> {
    let (address, len) = word.split_once('/')?;
    let len = len.parse().ok().filter(|len| *len <= 128)?;
    Some(DelegatedPrefix { address: address.parse().ok()?, len })
}

fn write_anew(path: &Path, text: &str) -> io::Result<()> {
    let next = path.with_extension("next");
    let mut file = File::create(&next)?;
    file.write_all(text.as_bytes())?;
    file.sync_data()?;
    fs::rename(&next, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(number: u16) -> DelegatedPrefix {
        DelegatedPrefix { address: Ipv6Addr::new(0x2001, 0xdb8, number, 0, 0, 0, 0, 0), len: 48 }
    }

    fn hop(number: u16) -> NamedHop {
        NamedHop {
            address: Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, number),
            interface: format!("eth{}", number % 3),
        }
    }

    #[test]
    fn the_last_line_of_each_prefix_counts_whatever_is_left_of_the_file() {
        let folder = testkit::TempFolder::new("prefix-routes");
        let path = folder.path().join("hops");
        let (mut journal, mut hops) = HopJournal::open(path.clone()).unwrap();
        assert!(hops.is_empty());
        for round in 0..500_u16 {
            for number in [round % 40, round % 7] {
                let hop = (round % 3 != 0).then(|| hop(round));
                journal.note(&prefix(number), hop.as_ref());
                match hop {
                    Some(hop) => hops.insert(prefix(number), hop),
                    None => hops.remove(&prefix(number)),
                };
            }
            if round % 5 == 0 {
                journal.write(&hops).unwrap();
            }
        }
        (0..600).for_each(|_| journal.note(&prefix(50), None));
        journal.write(&hops).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), hops.len(), "the file was written anew");
        // A machine that stops leaves half a line, and the next one is whole again.
        fs::write(&path, text + "2001:db8:1::/48 fe80::").unwrap();
        let (mut journal, read) = HopJournal::open(path.clone()).unwrap();
        assert_eq!(read, hops);
        journal.note(&prefix(60), Some(&hop(60)));
        hops.insert(prefix(60), hop(60));
        journal.write(&hops).unwrap();
        assert_eq!(HopJournal::open(path).unwrap().1, hops);
    }
}
