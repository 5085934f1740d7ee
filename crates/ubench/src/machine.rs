//! Description of the machine that a measurement ran on.

use std::fs;
use std::path::Path;

use crate::result::UbenchMachine;

/// Returns the description of this machine by its kernel; `folder` has the files of the
/// measurement.
pub(crate) fn describe(folder: &Path) -> UbenchMachine {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name"));
    let model = model.and_then(|rest| rest.split_once(':')).map(|(_, name)| name.trim().to_owned());
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    UbenchMachine {
        cpu_model: model.unwrap_or_default(),
        cpus: cpuinfo.lines().filter(|line| line.starts_with("processor")).count() as u32,
        kernel: kernel.trim().to_owned(),
        folder: folder.display().to_string(),
        databases: Vec::new(),
    }
}
