//! Whether every lease that a client was given is in the server's lease file.
//!
//! The generator writes `address,mac` lines; the server's file is Kea's CSV (address first, hardware
//! address second), with rotated files beside it (`.1`, `.2`, `.completed`).

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// An address and who has it.
type Lease = (Ipv4Addr, [u8; 6]);

/// What the comparison of one server found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// The server and its variant.
    pub server: String,
    /// Leases that clients were given, each counted once.
    pub given: u64,
    /// Those that are in the server's file.
    pub found: u64,
    /// The first few that are not, as `address,mac`.
    pub missing: Vec<String>,
}

/// How many missing leases are named.
const NAMED: usize = 10;

impl Verified {
    /// True when nothing is missing.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.found == self.given
    }
}

/// Looks for every lease of `lists` in `lease_file` and its rotated companions.
///
/// # Errors
/// A file cannot be read; the message names it.
pub fn verify(server: &str, lists: &[PathBuf], lease_file: &Path) -> Result<Verified, String> {
    let mut known: HashSet<Lease> = HashSet::new();
    for path in companions(lease_file) {
        read_into(&path, &mut known)?;
    }
    let mut given: HashSet<Lease> = HashSet::new();
    for path in lists {
        read_into(path, &mut given)?;
    }
    let mut missing: Vec<Lease> = given.difference(&known).copied().collect();
    missing.sort_unstable();
    Ok(Verified {
        server: server.to_owned(),
        given: given.len() as u64,
        found: (given.len() - missing.len()) as u64,
        missing: missing.iter().take(NAMED).map(show).collect(),
    })
}

/// The lease file and every file beside it whose name continues with a dot.
pub(crate) fn companions(lease_file: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (lease_file.parent(), lease_file.file_name()) else {
        return Vec::new();
    };
    let name = name.to_string_lossy();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| {
            let other = path.file_name().unwrap_or_default().to_string_lossy();
            other.strip_prefix(&*name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    files
}

fn read_into(path: &Path, leases: &mut HashSet<Lease>) -> Result<(), String> {
    let cannot = |e: io::Error| format!("cannot read {}: {e}", path.display());
    let mut reader = BufReader::with_capacity(1 << 20, File::open(path).map_err(cannot)?);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).map_err(cannot)? > 0 {
        leases.extend(std::str::from_utf8(&line).ok().and_then(parse));
        line.clear();
    }
    Ok(())
}

/// The first two columns; `None` for headings and rows cut off in the middle.
fn parse(line: &str) -> Option<Lease> {
    let (address, rest) = line.split_once(',')?;
    let mac = rest.split([',', '\n']).next()?.trim();
    let mut octets = [0; 6];
    let mut parts = mac.split(':');
    for octet in &mut octets {
        *octet = u8::from_str_radix(parts.next()?, 16).ok()?;
    }
    parts.next().is_none().then_some((address.trim().parse().ok()?, octets))
}

fn show((address, mac): &Lease) -> String {
    let mac: Vec<String> = mac.iter().map(|octet| format!("{octet:02x}")).collect();
    format!("{address},{}", mac.join(":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_leases_are_named_and_rotated_files_count() {
        let folder = std::env::temp_dir().join(format!("godwit-leases-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        write(
            "leases.csv",
            "address,hwaddr,client_id,valid_lifetime\n10.1.0.1,02:00:00:00:00:01,,3600\n",
        );
        write("leases.csv.2", "10.1.0.2,02:00:00:00:00:02,,3600\n10.1.0.9,02:00:00:00:0");
        write("leases.csvx", "10.1.0.3,02:00:00:00:00:03,,3600\n");
        write(
            "list",
            "10.1.0.1,02:00:00:00:00:01\n10.1.0.2,02:00:00:00:00:02\n10.1.0.3,02:00:00:00:00:03\n\
             10.1.0.2,02:00:00:00:00:01\n10.1.0.1,02:00:00:00:00:01\n",
        );
        let found = verify("godwit", &[folder.join("list")], &folder.join("leases.csv")).unwrap();
        assert_eq!((found.given, found.found, found.is_complete()), (4, 2, false));
        assert_eq!(found.missing, ["10.1.0.2,02:00:00:00:00:01", "10.1.0.3,02:00:00:00:00:03"]);
        let error = verify("godwit", &[folder.join("none")], &folder.join("leases.csv"));
        assert!(error.unwrap_err().contains("none"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
