//! Subjects of scenarios: the engine on a virtual clock, and servers (Godwit and Kea) behind
//! sockets on loopback.

pub(crate) mod engine;
pub(crate) mod process;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use scenario::{Scenario, ScenarioFamily};

/// Maximum of seconds that a scenario may wait on the real clock; only the virtual clock plays
/// longer ones.
pub(crate) const REAL_WAIT_MAX_S: u64 = 6;

/// Scenario and its name: its path below `conformance/scenarios`, without the extension.
pub(crate) struct NamedScenario {
    pub(crate) name: String,
    pub(crate) scenario: Scenario,
}

/// Returns every scenario of the repository, ordered by name; only those whose name contains
/// `GODWIT_SCENARIO` if that is set.
pub(crate) fn all() -> Vec<NamedScenario> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/scenarios");
    let mut paths = Vec::new();
    collect(&root, &mut paths);
    paths.sort();
    let wanted = std::env::var("GODWIT_SCENARIO").unwrap_or_default();
    let mut scenarios = Vec::new();
    for path in paths {
        let relative = path.strip_prefix(&root).expect("it was found below it");
        let name = relative.with_extension("").display().to_string();
        let text = std::fs::read_to_string(&path).expect("it was just listed");
        let scenario = Scenario::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        if name.contains(&wanted) {
            scenarios.push(NamedScenario { name, scenario });
        }
    }
    scenarios
}

/// Adds the TOML files below `folder` to `paths`.
pub(crate) fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder is part of the repository") {
        let path = entry.expect("the folder can be listed").path();
        if path.is_dir() {
            collect(&path, paths);
        } else if path.extension().is_some_and(|ending| ending == "toml") {
            paths.push(path);
        }
    }
}

/// Returns a whole document around the scenario's map; `further` are members that the subject adds.
pub(crate) fn document(family: ScenarioFamily, config: &str, further: &str) -> String {
    let top = match family {
        ScenarioFamily::V4 => "Dhcp4",
        ScenarioFamily::V6 => "Dhcp6",
    };
    format!("{{ \"{top}\": {{ {further} {config} }} }}")
}

/// Returns the result of `judge` for each scenario and its number, in their order. At most
/// `at_once` run at a time.
pub(crate) fn in_parallel<S: Sync, T: Send>(
    scenarios: &[S],
    at_once: usize,
    judge: impl Fn(&S, usize) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let mut judged: BTreeMap<usize, T> = BTreeMap::new();
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            let (sender, next, judge) = (sender.clone(), &next, &judge);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(named) = scenarios.get(index) else { break };
                    sender.send((index, judge(named, index))).expect("the receiver stays");
                }
            });
        }
        drop(sender);
        judged.extend(receiver);
    });
    judged.into_values().collect()
}
