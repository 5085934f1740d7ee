//! Whether every lease that a client was given is in the server's lease file.
//!
//! The generator writes `address,mac` lines; the server's file is Kea's CSV (address first, hardware
//! address second), with rotated files beside it (`.1`, `.2`, `.completed`), or as dhcpd.leases(5)
//! or dnsmasq(8) have it.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// An address and who has it.
type Lease = (Ipv4Addr, [u8; 6]);

/// How a lease file is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// Address and hardware address are the first two columns.
    Csv,
    /// `lease ADDRESS { binding state active; hardware ethernet MAC; }`.
    Dhcpd,
    /// `expiry MAC ADDRESS host client-id`.
    Dnsmasq,
}

/// A server's lease file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseFile {
    path: PathBuf,
    format: Format,
}

impl LeaseFile {
    /// Kea's, which is also Godwit's.
    #[must_use]
    pub fn kea(path: PathBuf) -> Self {
        Self { path, format: Format::Csv }
    }

    /// ISC dhcpd's.
    #[must_use]
    pub fn dhcpd(path: PathBuf) -> Self {
        Self { path, format: Format::Dhcpd }
    }

    /// Dnsmasq's.
    #[must_use]
    pub fn dnsmasq(path: PathBuf) -> Self {
        Self { path, format: Format::Dnsmasq }
    }

    /// The file and every file beside it whose name continues with a dot.
    pub(crate) fn companions(&self) -> Vec<PathBuf> {
        companions(&self.path)
    }
}

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
pub fn verify(server: &str, lists: &[PathBuf], lease_file: &LeaseFile) -> Result<Verified, String> {
    let mut known: HashSet<Lease> = HashSet::new();
    for path in lease_file.companions() {
        read_into(&path, lease_file.format, &mut known)?;
    }
    let mut given: HashSet<Lease> = HashSet::new();
    for path in lists {
        read_into(path, Format::Csv, &mut given)?;
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

fn read_into(path: &Path, format: Format, leases: &mut HashSet<Lease>) -> Result<(), String> {
    let cannot = |e: io::Error| format!("cannot read {}: {e}", path.display());
    let mut reader = BufReader::with_capacity(1 << 20, File::open(path).map_err(cannot)?);
    let (mut line, mut block) = (Vec::new(), Block::default());
    while reader.read_until(b'\n', &mut line).map_err(cannot)? > 0 {
        let text = std::str::from_utf8(&line).ok();
        leases.extend(text.and_then(|text| match format {
            Format::Csv => parse(text),
            Format::Dhcpd => block.take(text),
            Format::Dnsmasq => parse_dnsmasq(text),
        }));
        line.clear();
    }
    Ok(())
}

/// The first two columns; `None` for headings and rows cut off in the middle.
fn parse(line: &str) -> Option<Lease> {
    let (address, rest) = line.split_once(',')?;
    let mac = parse_mac(rest.split([',', '\n']).next()?.trim())?;
    Some((address.trim().parse().ok()?, mac))
}

/// The third word and the second of a whole line; `None` for those of DHCPv6.
fn parse_dnsmasq(line: &str) -> Option<Lease> {
    let mut words = line.strip_suffix('\n')?.split(' ').skip(1);
    let mac = parse_mac(words.next()?)?;
    Some((words.next()?.parse().ok()?, mac))
}

fn parse_mac(text: &str) -> Option<[u8; 6]> {
    let mut octets = [0; 6];
    let mut parts = text.split(':');
    for octet in &mut octets {
        *octet = u8::from_str_radix(parts.next()?, 16).ok()?;
    }
    parts.next().is_none().then_some(octets)
}

/// What has been read of a block of dhcpd.leases(5), one statement per line.
#[derive(Default)]
struct Block {
    address: Option<Ipv4Addr>,
    mac: Option<[u8; 6]>,
    is_active: bool,
}

impl Block {
    /// Takes a line; the lease at the end of a block in which it is active.
    fn take(&mut self, line: &str) -> Option<Lease> {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("lease ") {
            let address = rest.strip_suffix(" {").and_then(|address| address.parse().ok());
            *self = Self { address, ..Self::default() };
        } else if let Some(rest) = line.strip_prefix("hardware ethernet ") {
            self.mac = rest.strip_suffix(';').and_then(parse_mac);
        } else if line == "binding state active;" {
            self.is_active = true;
        } else if line == "}" {
            let block = std::mem::take(self);
            return block.is_active.then_some((block.address?, block.mac?));
        }
        None
    }
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
        let file = LeaseFile::kea(folder.join("leases.csv"));
        let found = verify("godwit", &[folder.join("list")], &file).unwrap();
        assert_eq!((found.given, found.found, found.is_complete()), (4, 2, false));
        assert_eq!(found.missing, ["10.1.0.2,02:00:00:00:00:01", "10.1.0.3,02:00:00:00:00:03"]);
        let error = verify("godwit", &[folder.join("none")], &file);
        assert!(error.unwrap_err().contains("none"));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn blocks_of_dhcpd_count_when_they_are_whole_and_active() {
        let text = "# The format of this file is documented in the dhcpd.leases(5) manual page.\n\
            authoring-byte-order little-endian;\n\n\
            lease 10.1.0.9 {\n  starts 6 2026/11/21 22:44:01;\n  binding state active;\n  \
            next binding state free;\n  hardware ethernet 02:00:00:00:00:01;\n  \
            uid \"\\001\\002\";\n}\n\
            lease 10.1.0.8 {\n  binding state free;\n  next binding state active;\n  \
            hardware ethernet 02:00:00:00:00:02;\n}\n\
            lease 10.1.0.7 {\n  binding state active;\n}\n\
            lease 10.1.0.6 {\n  binding state active;\n  hardware ethernet 02:00:00:00:00:03;\n";
        let mut block = Block::default();
        let leases: Vec<String> =
            text.lines().filter_map(|line| block.take(line)).map(|lease| show(&lease)).collect();
        assert_eq!(leases, ["10.1.0.9,02:00:00:00:00:01"]);
    }

    #[test]
    fn lines_of_dnsmasq_count_when_they_are_whole() {
        let lease = |line: &str| parse_dnsmasq(line).map(|lease| show(&lease));
        assert_eq!(
            lease("1795300000 02:00:00:00:00:01 10.1.0.9 * 01:02:00:00:00:00:01\n").unwrap(),
            "10.1.0.9,02:00:00:00:00:01"
        );
        for other in [
            "1795300000 02:00:00:00:00:01 10.1.0.9",
            "duid 00:01:00:01:2e:f0\n",
            "1795300000 1 2001:db8::1 * 00:01\n",
            "\n",
        ] {
            assert_eq!(lease(other), None, "{other}");
        }
    }
}
