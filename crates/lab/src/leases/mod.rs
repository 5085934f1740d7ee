//! Check that every lease of a client is in the server's lease file, and that no two clients have
//! an equal lease.
//!
//! The generator writes a line per lease; the server's file is Kea's CSV, with rotated files next
//! to it (`.1`, `.2`, `.completed`), or has the format of dhcpd.leases(5) or dnsmasq(8).

mod format;

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::thread;

use crate::family::AddressFamily;
use serde::{Deserialize, Serialize};

use format::{LeaseFileEntry, LeaseLineFormat, LeaseLineParser};

/// Lease file of a server, with its format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseFile {
    path: PathBuf,
    format: LeaseLineFormat,
    version: AddressFamily,
}

impl LeaseFile {
    /// Makes a lease file in Kea's format, which is also Godwit's, at `path`.
    pub fn kea(path: PathBuf, version: AddressFamily) -> Self {
        Self { path, format: LeaseLineFormat::Kea, version }
    }

    /// Makes a lease file in ISC dhcpd's format at `path`.
    pub fn dhcpd(path: PathBuf, version: AddressFamily) -> Self {
        Self { path, format: LeaseLineFormat::Dhcpd, version }
    }

    /// Makes a lease file in dnsmasq's format at `path`.
    pub fn dnsmasq(path: PathBuf, version: AddressFamily) -> Self {
        Self { path, format: LeaseLineFormat::Dnsmasq, version }
    }

    /// Returns the paths of the lease file and of every file next to it whose name continues with a
    /// dot.
    pub(crate) fn companions(&self) -> Vec<PathBuf> {
        companions(&self.path)
    }
}

/// Result of the check of one server's leases.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseCheckResult {
    /// Name of the server that was checked, with its variant (way to run it) if it has one.
    pub server: String,
    /// Number of leases that clients got from the server, each counted once.
    pub given: u64,
    /// Number of the clients' leases that are in the server's file.
    pub found: u64,
    /// First few of the clients' leases that are not in the file, as `address,mac` or
    /// `prefix/length,duid,iaid`.
    pub missing: Vec<String>,
    /// Number of addresses that several clients got from the server, each counted once.
    #[serde(default)]
    pub shared: u64,
    /// First few clients that share an address, as in `missing`.
    #[serde(default)]
    pub sharing: Vec<String>,
}

/// Largest number of missing leases that the result names.
const EXAMPLES_MAX: usize = 10;

impl LeaseCheckResult {
    /// Returns true if no lease is missing and every lease is one client's.
    pub fn is_complete(&self) -> bool {
        self.found == self.given && self.shared == 0
    }

    /// Adds up the lease checks of each server's runs; servers are in the order of their first run.
    #[must_use]
    pub fn by_server(all: Vec<Self>) -> Vec<Self> {
        let mut together: Vec<Self> = Vec::new();
        for one in all {
            let Some(sum) = together.iter_mut().find(|sum| sum.server == one.server) else {
                together.push(one);
                continue;
            };
            sum.given += one.given;
            sum.found += one.found;
            sum.shared += one.shared;
            sum.missing.extend(one.missing);
            sum.sharing.extend(one.sharing);
            sum.missing.truncate(EXAMPLES_MAX);
            sum.sharing.truncate(EXAMPLES_MAX);
        }
        together
    }
}

/// Looks for every lease of `lists` in `lease_file` and its rotated companions. No lease may have
/// ended while the lists were written: the server may have assigned its address to another client.
///
/// # Errors
/// A file cannot be read; the message names it.
pub fn verify(
    server: &str,
    lists: &[PathBuf],
    lease_file: &LeaseFile,
) -> Result<LeaseCheckResult, String> {
    let version = lease_file.version;
    // Millions of leases take seconds to read, so both sides are read at the same time.
    let (server_leases, client_leases) = thread::scope(|scope| {
        let server = scope.spawn(|| read(&lease_file.companions(), lease_file.format, version));
        let clients = read(lists, LeaseLineFormat::List, version);
        (server.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), clients)
    });
    let (server_leases, client_leases) = (server_leases?, client_leases?);
    let mut missing: Vec<&LeaseFileEntry> = client_leases.difference(&server_leases).collect();
    missing.sort_unstable();
    let (shared, sharing) = shared(&client_leases);
    Ok(LeaseCheckResult {
        server: server.to_owned(),
        given: client_leases.len() as u64,
        found: (client_leases.len() - missing.len()) as u64,
        missing: missing.iter().take(EXAMPLES_MAX).map(|lease| lease.show()).collect(),
        shared,
        sharing,
    })
}

/// Returns the number of addresses that are leased to several owners, and the first few of these
/// leases.
fn shared(leases: &HashSet<LeaseFileEntry>) -> (u64, Vec<String>) {
    let mut leases: Vec<&LeaseFileEntry> = leases.iter().collect();
    leases.sort_unstable();
    let resource = |lease: &LeaseFileEntry| (lease.address, lease.prefix_len);
    let several: Vec<&[&LeaseFileEntry]> = leases
        .chunk_by(|a, b| resource(a) == resource(b))
        .filter(|owners| owners.len() > 1)
        .collect();
    let sharing = several.iter().copied().flatten().take(EXAMPLES_MAX).map(|lease| lease.show());
    (several.len() as u64, sharing.collect())
}

fn companions(lease_file: &Path) -> Vec<PathBuf> {
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

fn read(
    paths: &[PathBuf],
    format: LeaseLineFormat,
    version: AddressFamily,
) -> Result<HashSet<LeaseFileEntry>, String> {
    let mut leases = HashSet::new();
    for path in paths {
        let cannot = |e: io::Error| format!("cannot read {}: {e}", path.display());
        let mut reader = BufReader::with_capacity(1 << 20, File::open(path).map_err(cannot)?);
        let (mut line, mut lines) = (Vec::new(), LeaseLineParser::new(format, version));
        while reader.read_until(b'\n', &mut line).map_err(cannot)? > 0 {
            leases.extend(std::str::from_utf8(&line).ok().and_then(|text| lines.parse_line(text)));
            line.clear();
        }
    }
    Ok(leases)
}

#[cfg(test)]
mod tests {
    use testkit::TempFolder;

    use super::*;

    #[test]
    fn runs_of_a_server_are_put_together() {
        let of = |server: &str, given, found, missing: &str| LeaseCheckResult {
            server: server.to_owned(),
            given,
            found,
            missing: missing.split_whitespace().map(str::to_owned).collect(),
            ..LeaseCheckResult::default()
        };
        let all =
            vec![of("a", 5, 4, "x"), of("b", 3, 3, ""), of("a", 7, 7, ""), of("a", 2, 1, "y")];
        assert_eq!(LeaseCheckResult::by_server(all), [of("a", 14, 12, "x y"), of("b", 3, 3, "")]);
    }

    #[test]
    fn missing_leases_are_named_and_rotated_files_count() {
        let temporary = TempFolder::new("leases");
        let folder = temporary.path();
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
             10.1.0.2,02:00:00:00:00:01\n10.1.0.1,02:00:00:00:00:01\n\
             10.1.0.1,02:00:00:00:00:02\n",
        );
        let file = LeaseFile::kea(folder.join("leases.csv"), AddressFamily::V4);
        let result = verify("godwit", &[folder.join("list")], &file).unwrap();
        assert_eq!((result.given, result.found, result.is_complete()), (5, 2, false));
        assert_eq!(
            result.missing,
            [
                "10.1.0.1,02:00:00:00:00:02",
                "10.1.0.2,02:00:00:00:00:01",
                "10.1.0.3,02:00:00:00:00:03"
            ]
        );
        assert_eq!((result.shared, result.sharing.len()), (2, 4));
        assert_eq!(
            result.sharing[..2],
            ["10.1.0.1,02:00:00:00:00:01", "10.1.0.1,02:00:00:00:00:02"]
        );
        let error = verify("godwit", &[folder.join("none")], &file);
        assert!(error.unwrap_err().contains("none"));
    }
}
