//! What a run must not leave behind: namespaces, interfaces, processes, files, a changed kernel
//! setting, a changed checkout.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use super::Session;
use super::child;
use super::tally::Tally;

/// The state of the machine as far as tests may touch it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Snapshot {
    things: Vec<(&'static str, BTreeSet<String>)>,
}

/// How often, and how far apart, the machine is looked at again before something counts as left:
/// the kernel takes namespaces down in the background.
const LOOKS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(250);

impl Snapshot {
    /// Looks at the machine.
    pub(crate) fn take(session: &Session) -> Self {
        let processes = child::marked(&session.marker);
        let things = vec![
            ("namespaces", names(Path::new("/run/netns"), "")),
            ("interfaces", names(Path::new("/sys/class/net"), "")),
            ("temporary files", temporary_files(session)),
            ("registered runs", registered_runs()),
            ("processes", processes.iter().map(|p| format!("{} {}", p.pid, p.words)).collect()),
            ("kernel settings", kernel_settings()),
            ("files in the checkout", checkout(&session.root)),
        ];
        Self { things }
    }

    /// What is there in `after` and was not in `self`, kind by kind.
    fn new_in(&self, after: &Self) -> Vec<(&'static str, Vec<String>)> {
        let known = |kind: &str| self.things.iter().find(|(name, _)| *name == kind);
        let fresh = |(kind, now): &(&'static str, BTreeSet<String>)| {
            let before = known(kind).map(|(_, before)| before);
            let is_new = |thing: &&String| before.is_none_or(|before| !before.contains(*thing));
            (*kind, now.iter().filter(is_new).cloned().collect())
        };
        after.things.iter().map(fresh).collect()
    }
}

/// Compares the machine with what it was; ends processes that were left, and removes nothing else.
pub(crate) fn check(session: &Session, before: &Snapshot) -> Tally {
    let mut left = before.new_in(&Snapshot::take(session));
    for _ in 0..LOOKS {
        if left.iter().all(|(_, things)| things.is_empty()) {
            break;
        }
        thread::sleep(PAUSE);
        retain_present(&mut left, &Snapshot::take(session));
    }
    let mut tally = Tally::default();
    for (kind, things) in left {
        tally.check(things.is_empty(), &format!("no {kind} are left: {}", things.join(", ")));
    }
    child::end_all(&child::marked(&session.marker));
    tally
}

/// Drops what has gone since: only what stays all the time is left over, for others may be at work
/// on the same machine.
fn retain_present(left: &mut [(&'static str, Vec<String>)], now: &Snapshot) {
    for (kind, things) in left {
        let present = now.things.iter().find(|(name, _)| name == kind).map(|(_, things)| things);
        things.retain(|thing| present.is_some_and(|present| present.contains(thing)));
    }
}

/// The entries of a folder whose names begin with `start`.
fn names(folder: &Path, start: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with(start))
        .collect()
}

/// Files in the folder that the tests were given, and files that took no notice of it.
fn temporary_files(session: &Session) -> BTreeSet<String> {
    let own = session.temporary.file_name().map(|name| name.to_string_lossy().into_owned());
    let mut found = names(&session.temporary, "");
    let beside = session.temporary.parent().map(|folder| names(folder, "godwit"));
    found.extend(beside.into_iter().flatten().filter(|name| Some(name) != own.as_ref()));
    found
}

/// The files that runs of the lab keep as long as they live.
fn registered_runs() -> BTreeSet<String> {
    let mut found = names(Path::new("/run/godwit"), "");
    found.retain(|name| name.ends_with(".run"));
    found
}

fn kernel_settings() -> BTreeSet<String> {
    let read = |name: &str| {
        let value = fs::read_to_string(Path::new("/proc/sys").join(name)).ok()?;
        Some(format!("{name} = {}", value.trim()))
    };
    ["net/core/netdev_max_backlog", "net/core/rmem_max", "net/core/wmem_max", "net/ipv4/ip_forward"]
        .into_iter()
        .filter_map(read)
        .collect()
}

fn checkout(root: &Path) -> BTreeSet<String> {
    let output = Command::new("git")
        .args(["status", "--porcelain", "--untracked-files=all"])
        .current_dir(root)
        .stdin(Stdio::null())
        .output();
    output.map_or_else(
        |_| BTreeSet::new(),
        |output| String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(namespaces: &[&str]) -> Snapshot {
        let names = namespaces.iter().map(|&name| name.to_owned()).collect();
        Snapshot { things: vec![("namespaces", names)] }
    }

    #[test]
    fn only_what_is_new_counts_as_left() {
        let before = snapshot(&["a", "b"]);
        assert_eq!(before.new_in(&snapshot(&["b"])), [("namespaces", vec![])]);
        assert_eq!(before.new_in(&snapshot(&["b", "c"])), [("namespaces", vec!["c".to_owned()])]);
    }

    #[test]
    fn what_goes_in_the_meantime_is_not_left() {
        let mut left = snapshot(&[]).new_in(&snapshot(&["a", "b"]));
        retain_present(&mut left, &snapshot(&["b", "c"]));
        assert_eq!(left, [("namespaces", vec!["b".to_owned()])]);
    }
}
