//! Register of the resources that the lab's runs have created, so that a later `godwit lab clean`
//! can remove the leftovers of a killed run, and nothing else.
//!
//! Each run keeps one file, named by its process id and locked as long as it lives (the kernel
//! drops the lock with the process, so a reused process id cannot mislead). A run registers every
//! resource before it creates it.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::command::CommandLine;
use crate::error::{TestbedError, TestbedResult};
use crate::namespace;
use crate::process::signal_group;
use crate::quota;

/// Maximum time that killed processes of a run may take to leave their control group.
const GROUP_PATIENCE: Duration = Duration::from_secs(60);
/// Maximum time that a process just forked by a killed run may take to execute its program.
const FORK_PATIENCE: Duration = Duration::from_secs(60);
const GROUP_PAUSE: Duration = Duration::from_millis(10);

/// Folder in which the lab's runs register, one per user.
#[derive(Clone, Debug)]
pub struct Registry {
    folder: PathBuf,
    /// Path of the kernel's setting `netdev_max_backlog`.
    backlog_setting: PathBuf,
}

/// Resource that a run of the lab created and must remove.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CreatedResource {
    /// Network namespace of a run, by name, with the veth end inside.
    Namespace(String),
    /// Folder of a run's temporary files.
    Folder(PathBuf),
    /// Control group of a run, by its folder.
    Quota(PathBuf),
    /// Process group of a run, with the start time of its leader in clock ticks since boot.
    Group(u32, u64),
}

/// Registered, living run of the lab. Dropping it removes every resource that is still registered.
#[derive(Debug)]
pub struct RegisteredRun {
    registry: Registry,
    path: PathBuf,
    file: File,
    resources: Vec<CreatedResource>,
}

/// Result of [`Registry::clean`]: the leftovers of dead runs, and the living runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleaningResult {
    /// Lines about the resources of dead runs that were removed, one each.
    pub removed: Vec<String>,
    /// Sentences about the resources of dead runs that could not be removed, one each.
    pub failed: Vec<String>,
    /// Process IDs of the living runs, whose resources were left alone.
    pub alive: Vec<u32>,
}

impl Registry {
    /// Opens the register of the calling user: `/run/godwit` for root, else a folder of the session
    /// (`XDG_RUNTIME_DIR`) or of the user in the folder for temporary files.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn open() -> TestbedResult<Self> {
        Self::at(Self::users_folder())
    }

    fn users_folder() -> PathBuf {
        let user = user_id();
        if user == 0 {
            return PathBuf::from("/run/godwit");
        }
        match std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|p| p.is_dir()) {
            Some(session) => session.join("godwit"),
            None => std::env::temp_dir().join(format!("godwit-{user}")),
        }
    }

    /// Opens the register of runs in `folder`.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn at(folder: PathBuf) -> TestbedResult<Self> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .map_err(|e| TestbedError::new(format!("cannot create {}", folder.display()), e))?;
        Ok(Self { folder, backlog_setting: PathBuf::from(BACKLOG) })
    }

    /// Returns the register with the file `path` instead of the kernel's setting
    /// `netdev_max_backlog`, so that a test changes nothing that the whole machine shares.
    #[must_use]
    pub fn with_backlog_setting(self, path: PathBuf) -> Self {
        Self { backlog_setting: path, ..self }
    }

    /// Registers the calling process as a run of the lab.
    ///
    /// # Errors
    /// The file cannot be written, or this process has registered already.
    pub fn begin(&self) -> TestbedResult<RegisteredRun> {
        let path = self.folder.join(format!("{}.run", std::process::id()));
        let _guard = self.lock()?;
        let file = open_file(&path)?;
        file.try_lock()
            .map_err(|e| TestbedError::new(format!("cannot lock {}", path.display()), e))?;
        let _ = file.set_len(0);
        Ok(RegisteredRun { registry: self.clone(), path, file, resources: Vec::new() })
    }

    /// Removes the leftovers of the lab's dead runs: namespaces, process groups, control groups,
    /// temporary folders, a raised `netdev_max_backlog`.
    ///
    /// # Errors
    /// The register itself cannot be read. The result names resources that cannot be removed.
    pub fn clean(&self) -> TestbedResult<CleaningResult> {
        let _guard = self.lock()?;
        let mut cleaned = CleaningResult::default();
        for (pid, path) in self.run_files()? {
            let Ok(mut file) = File::open(&path) else { continue };
            if is_run_alive(pid, &file, || std::thread::sleep(GROUP_PAUSE)) {
                cleaned.alive.push(pid);
                continue;
            }
            let mut text = String::new();
            let _ = file.read_to_string(&mut text);
            let failed_before = cleaned.failed.len();
            for thing in text.lines().rev().filter_map(CreatedResource::parse) {
                thing.remove(&mut cleaned);
            }
            if cleaned.failed.len() == failed_before {
                let _ = fs::remove_file(&path);
            }
        }
        // What the register of a test does not know may be known to that of the user.
        if self.folder == Self::users_folder() {
            self.clean_unregistered(&mut cleaned);
        }
        if cleaned.alive.is_empty() {
            self.restore_backlog(&mut cleaned);
        }
        Ok(cleaned)
    }

    /// Removes network namespaces with the lab's names whose owner is gone and that no register
    /// contains (it is in memory, like the namespaces, but an administrator may have emptied it).
    fn clean_unregistered(&self, cleaned: &mut CleaningResult) {
        for name in namespace::list() {
            let Some(pid) = namespace::owner(&name) else { continue };
            if !Path::new(&format!("/proc/{pid}")).exists() {
                CreatedResource::Namespace(name).remove(cleaned);
            }
        }
    }

    /// Raises `net.core.netdev_max_backlog` to at least `wanted` packets. The first run to raise it
    /// stores the original value; the last one to end restores it.
    ///
    /// Only the host's own network namespace has the setting. In another one (a container) it stays
    /// as the host has it; trials in which a packet found the backlog full are void in any case.
    ///
    /// # Errors
    /// The value cannot be read or written.
    pub fn raise_backlog(&self, wanted: u32) -> TestbedResult<()> {
        let _guard = self.lock()?;
        if !self.backlog_setting.exists() {
            return Ok(());
        }
        let current = self.read_backlog()?;
        if current < wanted {
            let note = self.backlog_file();
            if !note.exists() {
                fs::write(&note, current.to_string()).map_err(|e| {
                    TestbedError::new(format!("cannot write {}", note.display()), e)
                })?;
            }
            self.write_backlog(wanted)?;
        }
        Ok(())
    }

    /// Restores `net.core.netdev_max_backlog` if a run has raised it. A network namespace without
    /// the setting leaves it to the next run or `clean` of the host's own.
    fn restore_backlog(&self, cleaned: &mut CleaningResult) {
        if !self.backlog_setting.exists() {
            return;
        }
        let note = self.backlog_file();
        let Some(original) = fs::read_to_string(&note).ok().and_then(|s| s.trim().parse().ok())
        else {
            return;
        };
        match self.write_backlog(original) {
            Ok(()) => {
                cleaned
                    .removed
                    .push(format!("change of netdev_max_backlog, which is {original} again"));
                let _ = fs::remove_file(&note);
            }
            Err(e) => cleaned.failed.push(e.to_string()),
        }
    }

    fn read_backlog(&self) -> TestbedResult<u32> {
        let path = &self.backlog_setting;
        let failed = || format!("cannot read {}", path.display());
        let text = fs::read_to_string(path).map_err(|e| TestbedError::new(failed(), e))?;
        text.trim().parse().map_err(|e| TestbedError::new(failed(), e))
    }

    fn write_backlog(&self, packets: u32) -> TestbedResult<()> {
        let path = &self.backlog_setting;
        fs::write(path, packets.to_string())
            .map_err(|e| TestbedError::new(format!("cannot write {}", path.display()), e))
    }

    fn backlog_file(&self) -> PathBuf {
        self.folder.join("netdev_max_backlog")
    }

    /// Returns the register's files of runs with the runs' process IDs, in order.
    fn run_files(&self) -> TestbedResult<Vec<(u32, PathBuf)>> {
        let entries = fs::read_dir(&self.folder)
            .map_err(|e| TestbedError::new(format!("cannot read {}", self.folder.display()), e))?;
        let mut files: Vec<(u32, PathBuf)> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|e| e == "run"))
            .filter_map(|path| Some((path.file_stem()?.to_str()?.parse().ok()?, path)))
            .collect();
        files.sort();
        Ok(files)
    }

    /// Takes the register's lock, which a run holds while it begins or ends, so that two runs see
    /// each other.
    fn lock(&self) -> TestbedResult<File> {
        let path = self.folder.join("lock");
        let file = open_file(&path)?;
        file.lock().map_err(|e| TestbedError::new(format!("cannot lock {}", path.display()), e))?;
        Ok(file)
    }
}

/// Returns true if the run of process `pid` with the register's file `file` is alive; if not, takes
/// the lock of the file. A child that a killed run has just forked holds the lock until it executes
/// its program; so if process `pid` no longer exists, the function waits for the lock, and calls
/// `pause` between tries.
fn is_run_alive(pid: u32, file: &File, mut pause: impl FnMut()) -> bool {
    let until = Instant::now() + FORK_PATIENCE;
    while file.try_lock().is_err() {
        if Path::new(&format!("/proc/{pid}")).exists() || Instant::now() >= until {
            return true;
        }
        pause();
    }
    false
}

impl RegisteredRun {
    /// Registers the network namespace `name` of this run before its creation.
    ///
    /// # Errors
    /// The register cannot be written.
    pub fn register_namespace(&mut self, name: &str) -> TestbedResult<()> {
        self.register(CreatedResource::Namespace(name.to_owned()))
    }

    /// Registers the folder `path` of this run before its creation.
    ///
    /// # Errors
    /// The register cannot be written.
    pub fn register_folder(&mut self, path: &Path) -> TestbedResult<()> {
        self.register(CreatedResource::Folder(path.to_owned()))
    }

    /// Registers the control group `folder` of this run before its creation.
    ///
    /// # Errors
    /// The register cannot be written.
    pub(crate) fn register_quota(&mut self, folder: &Path) -> TestbedResult<()> {
        self.register(CreatedResource::Quota(folder.to_owned()))
    }

    /// Registers a process group of this run, named by its leader.
    ///
    /// # Errors
    /// The register cannot be written.
    pub fn register_group(&mut self, leader: u32) -> TestbedResult<()> {
        let started = crate::proc::process_stat(leader).map_or(0, |stat| stat.started_ticks);
        self.register(CreatedResource::Group(leader, started))
    }

    /// Removes the folder `path` from the register: it is no longer temporary and stays when the
    /// run ends.
    pub fn unregister_folder(&mut self, path: &Path) {
        self.resources.retain(|thing| *thing != CreatedResource::Folder(path.to_owned()));
        self.write_again();
    }

    /// Returns the register that contains this run.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    fn register(&mut self, thing: CreatedResource) -> TestbedResult<()> {
        writeln!(self.file, "{}", thing.line())
            .map_err(|e| TestbedError::new(format!("cannot write {}", self.path.display()), e))?;
        self.resources.push(thing);
        Ok(())
    }

    fn write_again(&mut self) {
        let text: String = self.resources.iter().map(|thing| thing.line() + "\n").collect();
        let _ = self.file.set_len(0);
        let _ = self.file.rewind();
        let _ = self.file.write_all(text.as_bytes());
    }

    /// Removes all resources of this run, newest first, and removes the run from the register.
    ///
    /// # Errors
    /// One sentence per resource that could not be removed; those stay in the register.
    pub fn end(mut self) -> Result<(), Vec<String>> {
        let failed = self.remove_all();
        if failed.is_empty() { Ok(()) } else { Err(failed) }
    }

    fn remove_all(&mut self) -> Vec<String> {
        let guard = self.registry.lock();
        let mut cleaned = CleaningResult::default();
        let mut left = Vec::new();
        while let Some(thing) = self.resources.pop() {
            let failed_before = cleaned.failed.len();
            thing.remove(&mut cleaned);
            if cleaned.failed.len() > failed_before {
                left.push(thing);
            }
        }
        left.reverse();
        if left.is_empty() {
            let _ = fs::remove_file(&self.path);
        } else {
            self.resources = left;
            self.write_again();
            self.resources.clear();
        }
        let others = self
            .registry
            .run_files()
            .is_ok_and(|files| files.iter().any(|(_, path)| *path != self.path && is_alive(path)));
        if !others {
            self.registry.restore_backlog(&mut cleaned);
        }
        drop(guard);
        cleaned.failed
    }
}

impl Drop for RegisteredRun {
    fn drop(&mut self) {
        if self.path.exists() {
            self.remove_all();
        }
    }
}

impl CreatedResource {
    fn line(&self) -> String {
        match self {
            Self::Namespace(name) => format!("namespace {name}"),
            Self::Folder(path) => format!("folder {}", path.display()),
            Self::Quota(folder) => format!("quota {}", folder.display()),
            Self::Group(leader, started) => format!("group {leader} {started}"),
        }
    }

    fn parse(line: &str) -> Option<Self> {
        match line.split_once(' ')? {
            ("namespace", name) => namespace::owner(name).map(|_| Self::Namespace(name.to_owned())),
            ("folder", path) => Some(Self::Folder(PathBuf::from(path))),
            ("quota", path) => {
                let folder = PathBuf::from(path);
                quota::is_quota_folder(&folder).then_some(Self::Quota(folder))
            }
            ("group", rest) => {
                let (leader, started) = rest.split_once(' ')?;
                Some(Self::Group(leader.parse().ok()?, started.parse().ok()?))
            }
            _ => None,
        }
    }

    fn remove(&self, cleaned: &mut CleaningResult) {
        match self {
            Self::Namespace(name) => {
                if !namespace::list().contains(name) {
                    return;
                }
                match namespace::remove(name) {
                    Ok(()) => cleaned.removed.push(format!("namespace {name}")),
                    Err(e) => cleaned.failed.push(e.to_string()),
                }
            }
            Self::Folder(path) => match fs::remove_dir_all(path) {
                Ok(()) => cleaned.removed.push(format!("folder {}", path.display())),
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
                Err(e) => {
                    cleaned.failed.push(format!("cannot remove folder {}: {e}", path.display()));
                }
            },
            Self::Quota(folder) => match remove_group(folder) {
                Ok(()) => cleaned.removed.push(format!("control group {}", folder.display())),
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
                Err(e) => {
                    let what = format!("cannot remove control group {}: {e}", folder.display());
                    cleaned.failed.push(what);
                }
            },
            Self::Group(leader, started) => {
                // The kernel does not reuse a group's number while one of its processes lives, so
                // only a leader with another start time shows that the group is no longer the
                // run's.
                let leader_now = crate::proc::process_stat(*leader);
                let another = leader_now.is_some_and(|times| times.started_ticks != *started);
                if !another && crate::proc::group_exists(*leader) {
                    signal_group(*leader, "KILL");
                    cleaned.removed.push(format!("process group {leader}"));
                }
            }
        }
    }
}

/// Removes the control group `folder`, whose processes may have just been killed.
fn remove_group(folder: &Path) -> std::io::Result<()> {
    let until = Instant::now() + GROUP_PATIENCE;
    loop {
        match fs::remove_dir(folder) {
            Err(e) if e.kind() == std::io::ErrorKind::ResourceBusy && Instant::now() < until => {
                std::thread::sleep(GROUP_PAUSE);
            }
            done => return done,
        }
    }
}

/// Returns the number of the user that runs this process.
pub fn user_id() -> u32 {
    fs::metadata("/proc/self").map_or(u32::MAX, |m| m.uid())
}

fn is_alive(run_file: &Path) -> bool {
    File::open(run_file).is_ok_and(|file| file.try_lock().is_err())
}

fn open_file(path: &Path) -> TestbedResult<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(|e| TestbedError::new(format!("cannot open {}", path.display()), e))
}

const BACKLOG: &str = "/proc/sys/net/core/netdev_max_backlog";

/// Returns the command `ip` of iproute2. It is here so that the register works without a topology.
pub(crate) fn ip() -> CommandLine {
    CommandLine::new("ip")
}

#[cfg(test)]
mod tests {
    use testkit::TempFolder;

    use super::*;

    fn registry(folder: &TempFolder) -> Registry {
        Registry::at(folder.path().join("registry")).unwrap()
    }

    #[test]
    fn a_run_that_ends_leaves_no_file_and_no_folder() {
        let folder = TempFolder::new("registry-end");
        let registry = registry(&folder);
        let mut run = registry.begin().unwrap();
        let (temporary, unregistered) =
            (registry.folder.join("temporary"), registry.folder.join("kept"));
        for folder in [&temporary, &unregistered] {
            run.register_folder(folder).unwrap();
            fs::create_dir(folder).unwrap();
        }
        run.unregister_folder(&unregistered);
        run.end().unwrap();
        assert!(!temporary.exists() && unregistered.exists());
        assert!(registry.run_files().unwrap().is_empty());
    }

    #[test]
    fn a_namespace_without_the_backlog_leaves_it_to_the_next_run() {
        let folder = TempFolder::new("registry-backlog");
        let setting = folder.path().join("netdev_max_backlog");
        fs::write(&setting, "1000").unwrap();
        let registry = registry(&folder).with_backlog_setting(setting.clone());
        registry.raise_backlog(5_000).unwrap();
        fs::remove_file(&setting).unwrap();
        let cleaned = registry.clean().unwrap();
        assert_eq!((cleaned.removed, cleaned.failed), (Vec::new(), Vec::new()));
        fs::write(&setting, "5000").unwrap();
        registry.clean().unwrap();
        assert_eq!(fs::read_to_string(&setting).unwrap(), "1000");
    }

    #[test]
    fn clean_leaves_the_living_alone_and_removes_what_the_dead_left() {
        let folder = TempFolder::new("registry-clean");
        let registry = registry(&folder);
        let mut run = registry.begin().unwrap();
        let (mine, orphan) = (registry.folder.join("mine"), registry.folder.join("orphan"));
        run.register_folder(&mine).unwrap();
        fs::create_dir(&mine).unwrap();
        fs::create_dir(&orphan).unwrap();
        let line = CreatedResource::Folder(orphan.clone()).line();
        fs::write(registry.folder.join("4194305.run"), line + "\n").unwrap();

        let cleaned = registry.clean().unwrap();
        assert_eq!(cleaned.alive, [std::process::id()]);
        assert!(cleaned.removed.contains(&format!("folder {}", orphan.display())), "{cleaned:?}");
        assert!(mine.exists() && !orphan.exists());
        drop(run);
        assert!(!mine.exists());
    }

    #[test]
    fn a_lock_that_outlives_its_run_is_waited_for() {
        let folder = TempFolder::new("registry-lock");
        let registry = registry(&folder);
        let path = registry.folder.join("4194305.run");
        let mut lock_file = Some(open_file(&path).unwrap());
        lock_file.as_ref().unwrap().lock().unwrap();
        let file = File::open(&path).unwrap();
        let own = std::process::id();
        assert!(is_run_alive(own, &file, || panic!("the lock of a living process is not awaited")));
        assert!(!is_run_alive(4_194_305, &file, || drop(lock_file.take())));
        assert!(lock_file.is_none());
    }

    #[test]
    fn the_backlog_is_raised_once_and_put_back() {
        let folder = TempFolder::new("registry-backlog");
        let registry = registry(&folder);
        let setting = registry.folder.join("setting");
        let registry = registry.with_backlog_setting(setting.clone());
        registry.raise_backlog(2000).unwrap();
        assert!(!setting.exists(), "a namespace without the setting has none afterwards either");
        fs::write(&setting, "1000\n").unwrap();
        for wanted in [2000, 1500] {
            registry.raise_backlog(wanted).unwrap();
            assert_eq!(fs::read_to_string(&setting).unwrap(), "2000");
        }
        registry.clean().unwrap();
        assert_eq!(fs::read_to_string(&setting).unwrap(), "1000");
        assert!(!registry.backlog_file().exists());
    }

    #[test]
    fn things_survive_the_register() {
        for thing in [
            CreatedResource::Namespace("gwt1fs".to_owned()),
            CreatedResource::Folder(PathBuf::from("/tmp/a b")),
            CreatedResource::Group(12, 34),
        ] {
            assert_eq!(CreatedResource::parse(&thing.line()), Some(thing));
        }
        assert_eq!(CreatedResource::parse("namespace another"), None);
        assert_eq!(CreatedResource::parse("nonsense"), None);
    }
}
