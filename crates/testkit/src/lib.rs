//! Set-up of tests: temporary folders, waiting for a condition, and skipping a test where a tool or
//! a privilege is missing. The crate has only the standard library below it, so that the tests of
//! every crate can use it. `CONTRIBUTING.md` has the rules of skipping; ports and servers for the
//! tests of the binary are in `crates/godwit/tests/common`.

use std::fmt::Display;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Deadline of an event that must happen, on a machine with much other load.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// First and longest interval between two checks of a condition; each is twice the one before.
const CHECK_INTERVALS: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(10)];

/// Environment variable that, if set, makes a test fail that would be skipped.
const REQUIRE_VARIABLE: &str = "GODWIT_REQUIRE_TOOLS";

/// Folder that the value removes when it is dropped.
#[derive(Debug)]
pub struct TempFolder(PathBuf);

impl TempFolder {
    /// Makes an empty folder that no other test has, whatever its label. Other users cannot enter
    /// it: control sockets must be in such a folder.
    ///
    /// # Panics
    ///
    /// If the folder for temporary files cannot be written.
    #[must_use]
    pub fn new(label: &str) -> Self {
        Self::with_mode(label, 0o750)
    }

    /// Makes a folder as [`TempFolder::new`], which other users may enter: servers that a test
    /// starts as another user.
    ///
    /// # Panics
    ///
    /// If the folder for temporary files cannot be written.
    #[must_use]
    pub fn open_to_others(label: &str) -> Self {
        Self::with_mode(label, 0o755)
    }

    fn with_mode(label: &str, mode: u32) -> Self {
        static TRIED: AtomicU32 = AtomicU32::new(0);
        let path = loop {
            let (own, number) = (std::process::id(), TRIED.fetch_add(1, Ordering::Relaxed));
            let path = std::env::temp_dir().join(format!("godwit-test-{own}-{number}-{label}"));
            match fs::create_dir(&path) {
                // A killed process with the same number has left it.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                made => {
                    made.expect("the temporary folder can be written");
                    break path;
                }
            }
        };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("it is ours");
        Self(path)
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

/// Waits until `is_done`.
///
/// # Panics
///
/// If `is_done` is still false after [`PATIENCE`].
#[track_caller]
pub fn wait_until(is_done: impl FnMut() -> bool) {
    assert!(waited_until(is_done), "it never came to be");
}

/// Waits until `is_done`, at most [`PATIENCE`], and returns true if it became true.
pub fn waited_until(is_done: impl FnMut() -> bool) -> bool {
    waited_at_most(PATIENCE, is_done)
}

/// Waits until `is_done`, at most `limit`, and returns true if it became true.
pub fn waited_at_most(limit: Duration, mut is_done: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    let [mut interval, longest] = CHECK_INTERVALS;
    while !is_done() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(interval);
        interval = longest.min(2 * interval);
    }
    true
}

/// Prints that the test is skipped for `reason`, in the form that `cargo xtask test` counts, and
/// returns false.
///
/// # Panics
///
/// If `GODWIT_REQUIRE_TOOLS` is set: the test must not be skipped then.
#[track_caller]
pub fn skip(reason: impl Display) -> bool {
    println!("{}", skipped_line(std::env::var_os(REQUIRE_VARIABLE).is_some(), &reason));
    false
}

/// Prints that the test is skipped for `reason`, also if `GODWIT_REQUIRE_TOOLS` is set, and returns
/// false: installing Debian's packages does not remove the reason, such as a kernel without AF_XDP.
pub fn skip_even_if_required(reason: impl Display) -> bool {
    println!("{}", skipped_line(false, &reason));
    false
}

/// Returns the line about a skipped test; panics if it `is_required`.
#[track_caller]
fn skipped_line(is_required: bool, reason: &dyn Display) -> String {
    assert!(!is_required, "{reason}");
    format!("skipped: {reason}")
}

/// Returns true if all `tools` are installed. A missing one skips the test as [`skip`] does.
///
/// # Panics
///
/// If a tool is missing and `GODWIT_REQUIRE_TOOLS` is set.
#[track_caller]
pub fn require(tools: &[&str]) -> bool {
    let missing: Vec<_> = tools.iter().filter(|tool| find_tool(tool).is_none()).collect();
    missing.is_empty() || skip(format_args!("{missing:?} not installed"))
}

/// Returns the path of the program `tool` in the folders of `PATH`, `/usr/sbin` and `/sbin`; `None`
/// if it is not installed.
pub fn find_tool(tool: &str) -> Option<PathBuf> {
    let folders = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    folders.split(':').map(|folder| Path::new(folder).join(tool)).find(|path| path.exists())
}

/// Returns true if the user is root. Any other user skips the test as [`skip`] does.
///
/// # Panics
///
/// If the user is not root and `GODWIT_REQUIRE_TOOLS` is set.
#[track_caller]
pub fn is_root() -> bool {
    is_user_root() || skip("this needs root")
}

/// Returns true if the user of this process is root, without skipping the test.
pub fn is_user_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_one_label_differ_and_go_with_their_values() {
        let folders = [TempFolder::new("same"), TempFolder::open_to_others("same")];
        let [own, open] = [0, 1].map(|index: usize| folders[index].path().to_owned());
        assert_ne!(own, open);
        for (path, mode) in [(&own, 0o750), (&open, 0o755)] {
            fs::create_dir_all(path.join("a/b")).unwrap();
            fs::write(path.join("a/b/file"), "text").unwrap();
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, mode);
        }
        drop(folders);
        assert!(!own.exists() && !open.exists());
    }

    #[test]
    fn a_folder_that_a_killed_process_has_left_is_not_used() {
        let label = "left";
        let number = |folder: &TempFolder| -> u32 {
            let name = folder.path().file_name().unwrap().to_str().unwrap();
            name.split('-').nth(3).unwrap().parse().unwrap()
        };
        let first = TempFolder::new(label);
        // The next numbers are taken, also those that another test uses in the meantime.
        let left: Vec<_> = (1..=20)
            .map(|ahead| {
                let name = format!(
                    "godwit-test-{}-{}-{label}",
                    std::process::id(),
                    number(&first) + ahead
                );
                std::env::temp_dir().join(name)
            })
            .collect();
        left.iter().for_each(|path| fs::create_dir(path).unwrap());
        let next = TempFolder::new(label);
        assert!(number(&next) > number(&first) + 20);
        left.iter().for_each(|path| fs::remove_dir(path).unwrap());
    }

    #[test]
    fn a_condition_is_checked_until_it_holds_or_the_time_is_over() {
        let mut checks = 0;
        let mut third = || {
            checks += 1;
            checks == 3
        };
        assert!(waited_until(&mut third));
        assert!(!waited_at_most(Duration::ZERO, third));
        assert_eq!(checks, 4);
    }

    #[test]
    fn a_test_that_must_run_fails_instead_of_being_skipped() {
        assert_eq!(skipped_line(false, &"no tool"), "skipped: no tool");
        let failed = std::panic::catch_unwind(|| skipped_line(true, &"no tool"));
        assert_eq!(*failed.unwrap_err().downcast::<String>().unwrap(), "no tool");
    }

    #[test]
    fn a_tool_is_found_by_its_name() {
        assert!(find_tool("sh").is_some_and(|path| path.ends_with("sh")));
        assert_eq!(find_tool("no-such-tool-of-godwit"), None);
        assert!(require(&["sh"]) && require(&[]));
    }

    #[test]
    fn root_is_who_owns_the_process() {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let ids = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap();
        assert_eq!(is_user_root(), ids.split_whitespace().nth(1) == Some("0"));
    }
}
