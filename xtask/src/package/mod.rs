//! Command `cargo xtask package`: the program as packages of Debian and RPM, as an archive and as
//! the root of a container image, each from the same lists of files (`contrib/packaging`).
//!
//! Programs of others write the formats: debhelper, rpmbuild, tar, umoci. What differs between two
//! builds (times, users, orders, paths) is fixed, so that two builds of one commit are identical.

mod check;
mod formats;
mod generated;
mod image;
mod layout;
mod machine;
mod sbom;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::output;
use crate::test::child;
use crate::test::tally::CheckTally;
use crate::test::{TestSession, build_folder, setup};
use layout::{PackageSources, read, write};

pub(crate) use check::run_suite;
pub(crate) use machine::run as run_in_machine;

/// Options of the command `cargo xtask package`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PackageOptions {
    /// Program to package; built with the profile `dist` if there is none.
    pub(crate) binary: Option<PathBuf>,
    /// Folder of the packages.
    pub(crate) output: Option<PathBuf>,
    /// Version of the packages instead of the workspace's.
    pub(crate) version: Option<String>,
    /// True if the machine's packages stay as they are.
    pub(crate) is_install_skipped: bool,
    /// True if the packages are made fast and large, for a test of them.
    pub(crate) is_test: bool,
}

/// Debian packages that making and checking packages needs, by name, each with its purpose.
pub(crate) const TOOLS: [(&str, &str); 14] = [
    ("binutils", "symbols of the program"),
    ("build-essential", "dpkg-buildpackage and the compiler of C code"),
    ("debhelper", "Debian packages"),
    ("dh-apparmor", "their AppArmor profile"),
    ("apparmor", "apparmor_parser, which checks the profile"),
    ("lintian", "faults of Debian packages"),
    ("rpm", "RPM packages"),
    ("umoci", "container images without a daemon"),
    ("xz-utils", "the archive"),
    ("mandoc", "faults of manual pages"),
    ("logrotate", "faults of its settings"),
    ("bash-completion", "completions in bash"),
    ("zsh", "completions in zsh"),
    ("fish", "completions in fish"),
];

/// Maximum time for one step, the build of the program apart.
const STEP_LIMIT: Duration = Duration::from_secs(900);
/// Maximum time for a build of the program with the profile `dist`.
const BUILD_LIMIT: Duration = Duration::from_secs(7200);
/// Cargo profile of packages.
const PROFILE: &str = "dist";
/// Name of the checksums' file.
pub(super) const SUMS: &str = "SHA256SUMS";

/// Making of the packages of one program.
pub(super) struct PackageRun<'s> {
    session: &'s TestSession,
    /// Path of the program, with its symbols.
    binary: PathBuf,
    version: String,
    /// Time of the newest commit in seconds since 1970, which all files in packages have.
    epoch_s: u64,
    /// Level at which xz compresses, from 0 to 9.
    compression_level: u8,
    /// Folder of intermediate files, empty at first.
    work: PathBuf,
    /// Folder of the packages.
    output: PathBuf,
}

impl PackageRun<'_> {
    fn root(&self) -> &Path {
        &self.session.root
    }

    fn generated(&self) -> PathBuf {
        self.work.join("generated")
    }

    fn sources<'r>(&'r self, binary: &'r Path, generated: &'r Path) -> PackageSources<'r> {
        PackageSources { root: self.root(), binary, generated }
    }

    /// Runs `command` as the step `name`; its output goes to a log.
    fn step(&self, name: &str, command: &mut Command) -> Result<(), String> {
        run_step(self.session, name, command, STEP_LIMIT)
    }

    /// Returns a command for the shell script `script` in the folder `folder`, with what makes its
    /// results the same everywhere. `$1` and so on are `arguments`.
    fn shell(&self, script: &str, folder: &Path, arguments: &[&Path]) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-euc", &format!("umask 022\n{script}"), "sh"])
            .args(arguments)
            .current_dir(folder)
            .env("SOURCE_DATE_EPOCH", self.epoch_s.to_string())
            .env("VERSION", &self.version)
            .env("TAR_OPTIONS", self.tar_options())
            .env("COMPRESSION_LEVEL", self.compression_level.to_string())
            .env("XZ_DEFAULTS", format!("--threads=1 -{}", self.compression_level))
            .envs([("LC_ALL", "C.UTF-8"), ("TZ", "UTC")]);
        command
    }

    /// Returns the options with which tar writes the same archive of the same files.
    fn tar_options(&self) -> String {
        format!(
            "--sort=name --mtime=@{} --owner=0 --group=0 --numeric-owner --format=gnu",
            self.epoch_s
        )
    }
}

/// Runs `command` as the step `name` of at most `limit`; its output goes to a log.
fn run_step(
    session: &TestSession,
    name: &str,
    command: &mut Command,
    limit: Duration,
) -> Result<(), String> {
    let log = session.log(&format!("package-{name}"));
    let end = child::run(command, &session.marker, &log, limit)?;
    if end.is_success() {
        return Ok(());
    }
    let last = child::last_lines(&log, 30);
    Err(format!("{name}: {}; {}\n{last}", end.describe(), log.display()))
}

/// Makes all packages by `options`, and returns true.
pub(crate) fn run(root: &Path, options: &PackageOptions) -> Result<bool, String> {
    let session = TestSession::begin(root)?;
    let tools = setup::install(&session, &TOOLS, !options.is_install_skipped)?;
    if tools.failed + tools.skipped > 0 {
        return Err("programs that make packages are missing".to_owned());
    }
    let folder = options.output.clone().unwrap_or_else(|| build_folder(root).join("package"));
    make(&session, options, &folder)?;
    let mut paths = files_of(&folder)?;
    paths.sort();
    for path in paths {
        let bytes = fs::metadata(&path).map_or(0, |data| data.len());
        output::print_line(format_args!("{bytes:>12} bytes  {}", path.display()));
    }
    Ok(true)
}

/// Checks the packages of the program that `options` name, as `cargo xtask test` does, and returns
/// true if nothing is wrong.
pub(crate) fn check(root: &Path, options: &PackageOptions) -> Result<bool, String> {
    let mut session = TestSession::begin(root)?;
    session.requires_tools = true;
    setup::install(&session, &TOOLS, !options.is_install_skipped)?;
    let tally = run_suite(&session, Some(&program(&session, options)?))?;
    output::print_line(tally);
    Ok(tally.failed == 0)
}

/// Makes the packages twice, from two copies of the sources in folders of different names, and
/// returns true if they are identical.
pub(crate) fn check_reproducible(root: &Path, options: &PackageOptions) -> Result<bool, String> {
    let session = TestSession::begin(root)?;
    setup::install(&session, &TOOLS, !options.is_install_skipped)?;
    let folder = build_folder(root).join("package-twice");
    let names = ["first", "the-second-time"];
    let mut programs = Vec::new();
    for name in names {
        programs.push(match &options.binary {
            // The packages alone are made twice.
            Some(binary) => binary.clone(),
            None => build_copy(&session, &folder.join(name))?,
        });
    }
    let mut sums = Vec::new();
    for (name, binary) in names.into_iter().zip(programs) {
        let options = PackageOptions { binary: Some(binary), ..options.clone() };
        let made = folder.join(format!("{name}-packages"));
        make(&session, &options, &made)?;
        sums.push(read(&made.join(SUMS))?);
    }
    let mut tally = CheckTally::default();
    for (first, second) in sums[0].lines().zip(sums[1].lines()) {
        tally.check(first == second, &format!("the same twice: {first} and {second}"));
    }
    tally.check(sums[0].lines().count() == sums[1].lines().count(), "as many files");
    output::print_line(tally);
    Ok(tally.failed == 0)
}

/// Builds the program from a copy of the committed sources in `folder`, and returns its path.
fn build_copy(session: &TestSession, folder: &Path) -> Result<PathBuf, String> {
    let sources = folder.join("sources");
    let mut command = Command::new("sh");
    let script = "rm -rf \"$1\" && mkdir -p \"$1\" && git archive HEAD | tar -x -C \"$1\"";
    command.args(["-euc", script, "sh"]).arg(&sources).current_dir(&session.root);
    run_step(session, "copy", &mut command, STEP_LIMIT)?;
    build(session, &sources, &folder.join("target"))
}

/// Builds the program of the workspace `sources` with the profile of packages in the build folder
/// `target`, and returns its path.
fn build(session: &TestSession, sources: &Path, target: &Path) -> Result<PathBuf, String> {
    output::print_line(format_args!("building with the profile {PROFILE} in {}", target.display()));
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let user = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let home = home.unwrap_or_else(|| user.join(".cargo"));
    // Texts of panics have paths of sources. LLVM orders the operands of some instructions by
    // chance, and otherwise names symbols by the hash of the module that has them.
    let flags = format!(
        "--remap-path-prefix={}=/usr/src/godwit --remap-path-prefix={}=/usr/src/cargo \
         -Cllvm-args=-use-source-filename-for-promoted-locals",
        sources.display(),
        home.display()
    );
    let mut command = session.cargo();
    command
        .args(["build", "--locked", "--profile", PROFILE, "--package", "godwit", "--bin", "godwit"])
        .current_dir(sources)
        .env("CARGO_TARGET_DIR", target)
        .env("RUSTFLAGS", flags);
    run_step(session, "build", &mut command, BUILD_LIMIT)?;
    Ok(target.join(PROFILE).join("godwit"))
}

/// Returns the path of the program that `options` name, or of one that it builds.
fn program(session: &TestSession, options: &PackageOptions) -> Result<PathBuf, String> {
    let failed = |path: &Path, error| format!("{}: {error}", path.display());
    match &options.binary {
        Some(binary) => binary.canonicalize().map_err(|error| failed(binary, error)),
        None => build(session, &session.root, &build_folder(&session.root).join("package-build")),
    }
}

/// Makes the packages of the program in the folder `output`, which is emptied first.
fn make(session: &TestSession, options: &PackageOptions, output: &Path) -> Result<(), String> {
    let binary = program(session, options)?;
    let work = session.temporary.join("package");
    for folder in [&work, output] {
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
        fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    let output = output.canonicalize().map_err(|e| format!("{}: {e}", output.display()))?;
    let version = options.version.clone().unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned());
    let epoch_s = commit_time(&session.root)?;
    let compression_level = if options.is_test { 0 } else { 6 };
    let run = PackageRun { session, binary, version, epoch_s, compression_level, work, output };
    generated::make(&run)?;
    formats::make_debian(&run)?;
    formats::make_rpm(&run)?;
    formats::make_archive(&run)?;
    image::make(&run)?;
    sum(&run)
}

/// Writes the checksums of all packages.
fn sum(run: &PackageRun<'_>) -> Result<(), String> {
    let script = format!("sha256sum -- * >\"$1\"; mv \"$1\" {SUMS}");
    let sums = run.work.join(SUMS);
    run.step("sums", &mut run.shell(&script, &run.output, &[&sums]))
}

/// Returns the time of the newest commit of the workspace `root` in seconds since 1970, or that of
/// the variable `SOURCE_DATE_EPOCH`.
fn commit_time(root: &Path) -> Result<u64, String> {
    let given = std::env::var("SOURCE_DATE_EPOCH").ok();
    let text = match given {
        Some(text) => text,
        None => {
            let mut command = Command::new("git");
            command.args(["log", "-1", "--format=%ct"]).current_dir(root);
            let output = command.output().map_err(|error| format!("cannot run git: {error}"))?;
            String::from_utf8_lossy(&output.stdout).into_owned()
        }
    };
    let unknown = |_| "set SOURCE_DATE_EPOCH: git does not know the time of a commit".to_owned();
    text.trim().parse().map_err(unknown)
}

/// Returns the paths of the files in `folder`.
fn files_of(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect())
}

/// Writes the list `paths`, one path on each line with `begin` before it, to the file `path`.
fn write_list(path: &Path, paths: &[String], begin: &str) -> Result<(), String> {
    write(path, paths.iter().map(|each| format!("{begin}{each}\n")).collect::<String>())
}
