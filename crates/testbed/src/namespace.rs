//! Network namespaces of the lab, by name. Names of the lab's own are `gwt`, the owner's process id
//! in hexadecimal digits, `s` (server), `c` (client) or a letter of [`FURTHER_SIDES`]; the lab
//! never touches any other.

use crate::command::CommandLine;
use crate::error::TestbedResult;
use crate::registry::ip;

/// Letters in the names of the lab's network namespaces for further servers, each of which has a
/// namespace to itself.
pub const FURTHER_SIDES: [char; 10] = ['g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p'];

/// Returns the name of the lab's network namespace of `side` (`'s'`, `'c'` or a letter of
/// [`FURTHER_SIDES`]) of the run of process `pid`.
pub fn namespace_name(pid: u32, side: char) -> String {
    format!("gwt{pid:x}{side}")
}

/// Returns the process ID in the name of one of the lab's own network namespaces; `None` for any
/// other name.
pub fn owner(name: &str) -> Option<u32> {
    let side = name.chars().last()?;
    let digits = name.strip_prefix("gwt")?.strip_suffix(side)?;
    let pid = u32::from_str_radix(digits, 16).ok()?;
    let is_side = side == 's' || side == 'c' || FURTHER_SIDES.contains(&side);
    (is_side && name == namespace_name(pid, side)).then_some(pid)
}

/// Returns the names of all network namespaces of the machine, the lab's and others'; empty if `ip`
/// is missing.
pub fn list() -> Vec<String> {
    let listing = ip().args(["netns", "list"]).run().unwrap_or_default();
    listing.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// Creates the network namespace `name`.
///
/// # Errors
/// `ip` is missing, or the kernel refuses.
pub fn create(name: &str) -> TestbedResult<()> {
    ip().args(["netns", "add", name]).run().map(drop)
}

/// Kills the processes in the network namespace `name`, which must be one of the lab's own, and
/// removes it with the interfaces inside.
///
/// # Errors
/// The kernel refuses.
pub fn remove(name: &str) -> TestbedResult<()> {
    assert!(owner(name).is_some(), "only our own namespaces are removed, not {name}");
    let pids = ip().args(["netns", "pids", name]).run().unwrap_or_default();
    let pids: Vec<&str> = pids.split_whitespace().collect();
    if !pids.is_empty() {
        let script = format!("kill -KILL {}", pids.join(" "));
        let _ = CommandLine::new("sh").arg("-c").arg(script).to_command().output();
    }
    ip().args(["netns", "del", name]).run().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_names_have_an_owner() {
        assert_eq!(owner(&namespace_name(0xbeef, 's')), Some(0xbeef));
        assert_eq!(owner("gwt1c"), Some(1));
        assert_eq!(
            FURTHER_SIDES.map(|side| owner(&namespace_name(0xbeef, side))),
            [Some(0xbeef); 10]
        );
        for foreign in [
            "gwts", "gwt0xs", "gwt01s", "gwt1", "gwt1f", "gwt1t", "gwté", "gwt+1s", "xgwt1s",
            "gwtBEs", "gwttest",
        ] {
            assert_eq!(owner(foreign), None, "{foreign}");
        }
    }
}
