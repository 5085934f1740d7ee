//! Hosts file: a line for each address with its name, and the name's first label
//! (`hosts(5)`).

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::NamesByAddress;

/// First line of the file.
const HEADING: &str = "# Names of leases and reservations; the DHCP server writes this file.\n";

/// Hosts file that the server writes.
pub(super) struct HostsFile {
    path: PathBuf,
}

impl HostsFile {
    /// Returns the file `path`, whose folder is made if it is missing.
    ///
    /// # Errors
    ///
    /// The folder cannot be made.
    pub(super) fn new(path: PathBuf) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        Ok(Self { path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the names in the file, which an earlier process of the server has written; none if
    /// it cannot be read.
    pub(super) fn read(&self) -> NamesByAddress {
        let text = fs::read(&self.path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let name = |line: &str| {
            let mut words = line.split_ascii_whitespace();
            let address = words.next()?.parse().ok()?;
            Some((address, words.next()?.into()))
        };
        text.lines().filter_map(name).collect()
    }

    /// Replaces the contents of the file by `names`. Readers see the old file or the new one.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub(super) fn write(&self, names: &NamesByAddress) -> io::Result<()> {
        let mut text = String::with_capacity(HEADING.len() + 48 * names.len());
        text.push_str(HEADING);
        for (address, name) in names {
            let label = name.split('.').next().unwrap_or_default();
            let alias = if label.len() < name.len() { label } else { "" };
            // Writing to a `String` cannot fail.
            let _ = writeln!(text, "{}", format!("{address} {name} {alias}").trim_end());
        }
        // Programs that read the whole folder leave out files whose names begin with a dot.
        let next = self.path.with_file_name(".next");
        let mut file = File::create(&next)?;
        file.write_all(text.as_bytes())?;
        fs::rename(next, &self.path)
    }

    /// Removes the file.
    ///
    /// # Errors
    ///
    /// The file cannot be removed.
    pub(super) fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let folder = testkit::TempFolder::new("hosts-file");
        let file = HostsFile::new(folder.path().join("names/dhcp4.hosts")).unwrap();
        assert!(file.read().is_empty());
        let names = [("192.0.2.1", "a.example"), ("192.0.2.10", "b"), ("2001:db8::1", "c.d.e")];
        let names: NamesByAddress =
            names.map(|(address, name)| (address.parse().unwrap(), name.into())).into();
        file.write(&names).unwrap();
        assert_eq!(file.read(), names);
        let text = fs::read_to_string(file.path()).unwrap();
        assert!(text.contains("\n192.0.2.1 a.example a\n192.0.2.10 b\n"), "{text}");
        file.remove().unwrap();
        assert!(file.read().is_empty());
    }
}
