//! Check of the legal log after a kill: every acknowledgement has its line, and no line is about a
//! lease that was not granted.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::Path;

use crate::crash::ledger::CrashLedger;
use crate::crash::{CrashFamily, V4, V6, replace};

/// Family DHCPv4, with a legal log next to the lease file.
pub(crate) const LEGAL_V4: CrashFamily = CrashFamily {
    configuration: |folder| with_legal_log((V4.configuration)(folder), "Dhcp4"),
    ..V4
};
/// Family DHCPv6, with a legal log next to the lease file.
pub(crate) const LEGAL_V6: CrashFamily = CrashFamily {
    configuration: |folder| with_legal_log((V6.configuration)(folder), "Dhcp6"),
    ..V6
};

/// Adds the legal log to the configuration file `path`. Without `cache-threshold` a renewal has no
/// row to compare lines with.
fn with_legal_log(path: std::path::PathBuf, server: &str) -> std::path::PathBuf {
    let begin = format!("{{ \"{server}\": {{");
    let library = r#"{ "library": "libdhcp_legal_log.so" }"#;
    let keys = format!(r#"{begin} "cache-threshold": 0.0, "hooks-libraries": [ {library} ],"#);
    replace(&path, &begin, &keys);
    path
}

/// Numbers of grants and of releases, by address and client.
pub(crate) type LeaseCounts = BTreeMap<(IpAddr, u32), u64>;

/// Lines of the legal log.
#[derive(Debug, Default)]
pub(crate) struct LegalLines {
    pub(crate) assigned: LeaseCounts,
    pub(crate) released: LeaseCounts,
}

impl LegalLines {
    /// Reads the lines of all files of the legal log in `folder`.
    pub(crate) fn read(folder: &Path) -> Self {
        let mut lines = Self::default();
        let entries = fs::read_dir(folder).expect("the folder can be read").flatten();
        let paths = entries.map(|entry| entry.path());
        for path in paths.filter(|path| path.extension().is_some_and(|ending| ending == "txt")) {
            let text = fs::read_to_string(path).expect("lines are text");
            // The last line is incomplete if the server was killed while it wrote.
            let whole = text.rfind('\n').map_or("", |end| &text[..end]);
            whole.lines().for_each(|line| lines.count(line));
        }
        lines
    }

    /// Checks that there is a line for each acknowledgement of `after` that `before` does not have.
    pub(crate) fn check(
        &self,
        after: &AcknowledgedCounts,
        before: &AcknowledgedCounts,
    ) -> Result<(), String> {
        for (what, acknowledged, earlier, logged) in [
            ("granted", &after.grants, &before.grants, &self.assigned),
            ("released", &after.releases, &before.releases, &self.released),
        ] {
            for (key, count) in acknowledged {
                let count = count - earlier.get(key).copied().unwrap_or(0);
                let found = logged.get(key).copied().unwrap_or(0);
                if found < count {
                    return Err(format!("{what} {count} times and logged {found} times: {key:?}"));
                }
            }
        }
        Ok(())
    }

    /// Counts a line; the rest of one that a kill cut off is about nothing.
    fn count(&mut self, line: &str) {
        let counted = || {
            let (_, rest) = line.split_once("Address: ").or_else(|| line.split_once("Prefix: "))?;
            let address = rest.split([' ', '/']).next()?.parse().ok()?;
            let (_, identifier) =
                rest.split_once("DUID: ").or_else(|| rest.split_once("hwtype=1 "))?;
            let identifier = identifier.split([' ', ',']).next()?;
            let octets = identifier.split(':').map(|text| u8::from_str_radix(text, 16).ok());
            let octets: Vec<u8> = octets.collect::<Option<_>>()?;
            Some((address, u32::from_be_bytes(*octets.last_chunk()?)))
        };
        let kind = if line.contains(" has been assigned for ") {
            &mut self.assigned
        } else {
            &mut self.released
        };
        if let Some(key) = counted() {
            *kind.entry(key).or_default() += 1;
        }
    }
}

/// Checks that the legal log in `folder` has a line for each acknowledgement in `ledger`, and that
/// each of its grants is in the lease file.
pub(crate) fn check(folder: &Path, ledger: &CrashLedger) -> Result<(), String> {
    check_since(folder, ledger, &AcknowledgedCounts::default())
}

/// Numbers of acknowledgements at a moment.
#[derive(Debug, Default)]
pub(crate) struct AcknowledgedCounts {
    grants: LeaseCounts,
    releases: LeaseCounts,
}

impl AcknowledgedCounts {
    /// Returns the numbers that `ledger` has.
    pub(crate) fn of(ledger: &CrashLedger) -> Self {
        Self { grants: ledger.grants.clone(), releases: ledger.releases.clone() }
    }
}

/// Checks that the legal log in `folder` has a line for each acknowledgement in `ledger` after
/// `before`, and that each of its grants is in the lease file.
pub(crate) fn check_since(
    folder: &Path,
    ledger: &CrashLedger,
    before: &AcknowledgedCounts,
) -> Result<(), String> {
    check_with_repeats(folder, ledger, before, 0)
}

/// Checks as [`check_since`] does. A line may be there `repeats` times more than its lease was
/// granted: a database that is killed may have taken lines that it did not confirm.
pub(crate) fn check_with_repeats(
    folder: &Path,
    ledger: &CrashLedger,
    before: &AcknowledgedCounts,
    repeats: u64,
) -> Result<(), String> {
    let lines = LegalLines::read(folder);
    lines.check(&AcknowledgedCounts::of(ledger), before)?;
    let rows = rows(&folder.join("leases.csv"));
    for (key, count) in &lines.assigned {
        let found = rows.get(key).copied().unwrap_or(0);
        if found + repeats < *count {
            return Err(format!("logged {count} times and granted {found} times: {key:?}"));
        }
    }
    Ok(())
}

/// Returns the numbers of rows in a lease file by which a lease was granted.
fn rows(path: &Path) -> LeaseCounts {
    let text = fs::read_to_string(path).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut rows = whole.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = rows.next().unwrap_or_default();
    let column = |name| header.iter().position(|column| *column == name).unwrap_or(0);
    let [state, lifetime] = ["state", "valid_lifetime"].map(column);
    let mut counts = LeaseCounts::new();
    for row in rows.filter(|row| row.get(state) == Some(&"0") && row.get(lifetime) != Some(&"0")) {
        let octets = row.get(1).copied().unwrap_or_default().split(':');
        let octets: Vec<u8> = octets.filter_map(|text| u8::from_str_radix(text, 16).ok()).collect();
        if let (Ok(address), Some(last)) = (row[0].parse(), octets.last_chunk()) {
            *counts.entry((address, u32::from_be_bytes(*last))).or_default() += 1;
        }
    }
    counts
}
