//! Check that a server does not write one file for two purposes. Otherwise a log could overwrite
//! the lease file, or a lease file the configuration file.

use std::collections::BTreeMap;

use super::security::{Enforcement, PathPurpose, SecurityPolicy};
use crate::context::ParseContext;
use crate::source::{PositionedValue, SourcePosition};

/// Files that the server writes with a configuration, by path: for each its purpose and the
/// position of its name.
pub(crate) type WrittenFiles = BTreeMap<String, (PathPurpose, SourcePosition)>;

/// Purposes of all files that the server writes.
const KINDS: [PathPurpose; 3] = [PathPurpose::Leases, PathPurpose::Log, PathPurpose::Socket];

/// Returns the suffixes of the files that the server keeps next to a file of the purpose `kind`.
const fn companions(kind: PathPurpose) -> &'static [&'static str] {
    match kind {
        PathPurpose::Leases => &[
            ".1",
            ".2",
            ".completed",
            ".output",
            ".tmp",
            ".lock",
            ".pid",
            "-wal",
            "-shm",
            "-journal",
        ],
        PathPurpose::Socket => &[".lock"],
        PathPurpose::Log => &[".1"],
        PathPurpose::HookLibrary | PathPurpose::Script => &[],
    }
}

/// Returns true if `path` is the file `other`, or one of the files that the server keeps next to
/// it.
fn is_of(path: &str, other: &str, companions: &[&str]) -> bool {
    path.strip_prefix(other).is_some_and(|rest| rest.is_empty() || companions.contains(&rest))
}

/// Returns the path that the file name `name` refers to; `None` when it is not known, or when the
/// server does not write the file.
fn resolved(kind: PathPurpose, name: &str, policy: &SecurityPolicy) -> Option<String> {
    let folders = match kind {
        PathPurpose::Leases => &policy.data,
        PathPurpose::Log => &policy.logs,
        PathPurpose::Socket => &policy.sockets,
        PathPurpose::HookLibrary | PathPurpose::Script => return None,
    };
    if name.contains('/') {
        Some(name.to_owned())
    } else {
        folders.iter().next().map(|folder| format!("{folder}/{name}"))
    }
}

/// Reports that the server uses the file `name`, the value of `key`, for another purpose already.
/// Several logs may share one file.
pub(super) fn check(
    kind: PathPurpose,
    key: &str,
    name: PositionedValue<&str>,
    findings: &mut ParseContext,
) {
    let policy = &findings.security;
    if policy.enforcement == Enforcement::Unchecked {
        return;
    }
    let Some(path) = resolved(kind, name.value, policy) else { return };
    let own_file = policy.own_files.iter().find(|(_, own_file)| {
        is_of(&path, own_file, &[".tmp"]) || is_of(own_file, &path, companions(kind))
    });
    if let Some((use_of, own_file)) = own_file {
        let message = format!("`{key}` is `{path}`, but `{own_file}` is {use_of}");
        findings.error_help(name.at, message, "name another file");
        return;
    }
    let is_shared_log = |other: PathPurpose| (kind, other) == (PathPurpose::Log, PathPurpose::Log);
    if let Some((other, at)) = clash(kind, &path, &findings.written)
        // A value that is read twice has the same position both times.
        && at != name.at
        && !is_shared_log(findings.written[&other].0)
    {
        let message =
            format!("`{key}` is `{path}`, but the configuration uses `{other}` for something else");
        findings.error_with_second_position(name.at, message, "that is at", at);
        return;
    }
    findings.written.entry(path).or_insert((kind, name.at));
}

/// Returns the file among `written` that is `path`, that the server keeps next to `path`, or next
/// to which it keeps `path`.
fn clash(
    kind: PathPurpose,
    path: &str,
    written: &WrittenFiles,
) -> Option<(String, SourcePosition)> {
    let same = written.get(path).map(|(_, at)| (path.to_owned(), *at));
    let next_to = |suffix: &&str| {
        let other = format!("{path}{suffix}");
        written.get(&other).map(|(_, at)| (other, *at))
    };
    let main_file = |other_kind: &PathPurpose| {
        companions(*other_kind).iter().find_map(|suffix| {
            let other = path.strip_suffix(suffix)?;
            let (purpose, at) = written.get(other)?;
            (purpose == other_kind).then(|| (other.to_owned(), *at))
        })
    };
    same.or_else(|| companions(kind).iter().find_map(next_to))
        .or_else(|| KINDS.iter().find_map(main_file))
}
