//! Shares of a processor for servers: a control group of the kernel for a server, so that a
//! generator on one processor can load the server far beyond its highest rate.
//!
//! The crate supports both kinds of control groups: `cpu.max` of the unified hierarchy
//! (Documentation/admin-guide/cgroup-v2.rst) and `cpu.cfs_quota_us` of the older one
//! (Documentation/scheduler/sched-bwc.rst).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{TestbedError, TestbedResult};
use crate::registry::RegisteredRun;

/// Mount point of the kernel's hierarchies of control groups.
const MOUNT: &str = "/sys/fs/cgroup";
/// Period after which the kernel renews a share of a processor, in microseconds: the longest wait
/// of a server.
const PERIOD_US: u32 = 10_000;

/// Control group that has a share of one processor. It is removed with its run.
#[derive(Clone, Debug)]
pub struct Quota {
    folder: PathBuf,
}

impl Quota {
    /// Makes a control group whose processes together get `share` of a processor, 0 to 1. `number`
    /// distinguishes the groups of a run.
    ///
    /// # Errors
    /// There is no such hierarchy, or no permission to use it.
    pub fn create(run: &mut RegisteredRun, number: usize, share: f64) -> TestbedResult<Self> {
        let quota_us = (f64::from(PERIOD_US) * share).ceil() as u32;
        let name = format!("godwit-{}-{number}", std::process::id());
        let unified = Path::new(MOUNT);
        let older = unified.join("cpu");
        let failed = |folder: &Path, e| {
            let what = "limit the processor time of servers (control group";
            TestbedError::new(format!("cannot {what} {})", folder.display()), e)
        };
        let (folder, settings) = if has_processors(unified) {
            let _ = fs::write(unified.join("cgroup.subtree_control"), "+cpu");
            (unified.join(name), vec![("cpu.max", format!("{quota_us} {PERIOD_US}"))])
        } else if older.join("cgroup.procs").exists() {
            let period = ("cpu.cfs_period_us", PERIOD_US.to_string());
            (older.join(name), vec![period, ("cpu.cfs_quota_us", quota_us.to_string())])
        } else {
            return Err(failed(unified, io::ErrorKind::Unsupported.into()));
        };
        run.register_quota(&folder)?;
        fs::create_dir(&folder).map_err(|e| failed(&folder, e))?;
        for (file, value) in settings {
            fs::write(folder.join(file), value).map_err(|e| failed(&folder, e))?;
        }
        Ok(Self { folder })
    }

    /// Puts the process `pid`, and the processes that it starts from then on, into the control
    /// group.
    ///
    /// # Errors
    /// It has ended, or the kernel refuses.
    pub fn add_process(&self, pid: u32) -> TestbedResult<()> {
        let file = self.folder.join("cgroup.procs");
        fs::write(&file, pid.to_string())
            .map_err(|e| TestbedError::new(format!("cannot write {}", file.display()), e))
    }
}

/// Returns true if the unified hierarchy of control groups (cgroup v2) at `mount` controls
/// processors.
fn has_processors(mount: &Path) -> bool {
    let controllers = fs::read_to_string(mount.join("cgroup.controllers")).unwrap_or_default();
    controllers.split_whitespace().any(|name| name == "cpu")
}

/// Returns true if `folder` has the name of a control group that [`Quota::create`] makes.
pub(crate) fn is_quota_folder(folder: &Path) -> bool {
    let is_named = |name: &str| name.starts_with("godwit-");
    folder.starts_with(MOUNT)
        && folder.file_name().and_then(|name| name.to_str()).is_some_and(is_named)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use testkit::TempFolder;

    use super::*;
    use crate::registry::Registry;

    #[test]
    fn a_process_gets_its_share_and_the_group_goes_with_the_run() {
        let folder = TempFolder::new("quota");
        let registry = Registry::at(folder.path().join("registry")).unwrap();
        let mut run = registry.begin().unwrap();
        let quota = match Quota::create(&mut run, 1, 0.25) {
            Ok(quota) => quota,
            // Without root, or in a container without control groups.
            Err(e) => {
                testkit::skip_even_if_required(e);
                return;
            }
        };
        let mut child = Command::new("sleep").arg("100000").spawn().unwrap();
        quota.add_process(child.id()).unwrap();
        let processes = fs::read_to_string(quota.folder.join("cgroup.procs")).unwrap();
        assert_eq!(processes.trim(), child.id().to_string());
        let limits = ["cpu.max", "cpu.cfs_quota_us"]
            .into_iter()
            .filter_map(|file| fs::read_to_string(quota.folder.join(file)).ok())
            .collect::<String>();
        assert!(limits.starts_with("2500"), "{limits}");
        child.kill().unwrap();
        child.wait().unwrap();
        run.end().unwrap();
        assert!(!quota.folder.exists());
    }

    #[test]
    fn only_own_groups_are_removed() {
        assert!(is_quota_folder(Path::new("/sys/fs/cgroup/cpu/godwit-1-2")));
        assert!(!is_quota_folder(Path::new("/sys/fs/cgroup/cpu/system")));
        assert!(!is_quota_folder(Path::new("/tmp/godwit-1-2")));
    }
}
