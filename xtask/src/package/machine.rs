//! Command `cargo xtask package-test`: the packages in a virtual machine with a fresh Debian 12
//! that systemd has booted: install, serve, hang, upgrade, change over from Kea and back, purge.
//!
//! The machine's disk is made once in the build folder. Each run starts QEMU on a snapshot of it
//! and hands the packages and the script over as a second disk; the script prints its checks to a
//! serial port.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::layout::write;
use super::{PackageOptions, STEP_LIMIT, TOOLS, files_of, make, run_step};
use crate::output;
use crate::test::tally::CheckTally;
use crate::test::{TestSession, build_folder, child, debian, setup};

/// Name of the machine's folder in the build folder.
const FOLDER: &str = "debian-12-machine";
/// Debian packages of the fresh machine beside the required ones.
const PACKAGES: &str = "systemd-sysv,dbus,linux-image-cloud-amd64,iproute2,procps,isc-dhcp-client,\
                        apparmor,logrotate,adduser,udev,zstd";
/// Debian packages of Kea that the machine installs later.
const KEA: &str = "kea-dhcp4-server";
/// Debian packages that making and running the machine needs.
const MACHINE_TOOLS: [(&str, &str); 3] = [
    ("mmdebstrap", "a fresh Debian 12"),
    ("e2fsprogs", "its disk"),
    ("qemu-system-x86", "the virtual machine"),
];
/// Scripts that make the machine's folder, and its unit that runs the test.
const MAKE: &str = include_str!("machine/make.sh");
const UNIT: &str = include_str!("machine/package-test.service");
/// Script that runs in the machine.
const TEST: &str = include_str!("machine/run.sh");
/// Maximum time of a run of the machine: it takes some minutes on an idle machine.
const RUN_LIMIT: Duration = Duration::from_secs(3600);
/// Version of the packages from which the machine upgrades.
const OLD_VERSION: &str = "0.0.1";

/// Makes the packages by `options` in two versions, and runs the test of them in the machine.
pub(crate) fn run(root: &Path, options: &PackageOptions) -> Result<bool, String> {
    let session = TestSession::begin(root)?;
    let may_install = !options.is_install_skipped;
    let tools: Vec<_> = TOOLS.into_iter().chain(MACHINE_TOOLS).collect();
    let installed = setup::install(&session, &tools, may_install)?;
    if installed.failed + installed.skipped > 0 || !session.privilege.is_root() {
        return Err("the machine needs root and the packages named above".to_owned());
    }
    let machine = build_folder(root).join(FOLDER);
    prepare(&session, &machine)?;
    let disk = session.temporary.join("disk");
    let old = PackageOptions { version: Some(OLD_VERSION.to_owned()), ..options.clone() };
    make_debian_only(&session, &old, &disk.join("1"))?;
    make_debian_only(&session, options, &disk.join("2"))?;
    write(&disk.join("run.sh"), TEST)?;
    let started = Instant::now();
    let printed = boot(&session, &machine, &disk)?;
    let tally = judge(&printed);
    output::print_line(format_args!("{:>7.1} s   {tally}", started.elapsed().as_secs_f64()));
    Ok(tally.failed == 0)
}

/// Makes the packages by `options` in `folder`, and leaves only those that the machine installs.
fn make_debian_only(
    session: &TestSession,
    options: &PackageOptions,
    folder: &Path,
) -> Result<(), String> {
    make(session, options, folder)?;
    for path in files_of(folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.ends_with(".deb") || name.contains("-dbgsym_") {
            fs::remove_file(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        }
    }
    Ok(())
}

/// Makes the machine's folder, unless it is there with the same contents.
fn prepare(session: &TestSession, folder: &Path) -> Result<(), String> {
    let contents = format!("{MAKE}{UNIT}{PACKAGES} {KEA}\n");
    if fs::read_to_string(folder.join("contents")).is_ok_and(|kept| kept == contents) {
        return Ok(());
    }
    output::print_line("making a fresh Debian 12");
    let unit = session.temporary.join("package-test.service");
    write(&unit, UNIT)?;
    let mut command = session.privilege.command("sh", &[]);
    command.args(["-c", MAKE, FOLDER]).arg(folder).args([&debian::mirror(), PACKAGES]);
    command.arg(&unit).arg(KEA);
    run_step(session, "machine", &mut command, STEP_LIMIT)?;
    write(&folder.join("contents"), contents)
}

/// Runs the machine with the files below `disk` until it ends, and returns what the test printed.
fn boot(session: &TestSession, machine: &Path, disk: &Path) -> Result<String, String> {
    let archive = session.temporary.join("disk.tar");
    let mut command = Command::new("tar");
    // A disk consists of whole sectors.
    command.args(["-b", "128", "-cf"]).arg(&archive).arg("-C").arg(disk).args(["1", "2", "run.sh"]);
    run_step(session, "disk", &mut command, STEP_LIMIT)?;
    let console = session.log("package-console");
    output::print_line(format_args!("starting the machine; its console: {}", console.display()));
    let mut command = qemu(machine, &archive, &console);
    let log = session.log("package-test");
    let show = |line: &str| output::print_line(format_args!("    {}", line.trim_end()));
    let end = child::run_watched(&mut command, &session.marker, &log, RUN_LIMIT, show, || ())?;
    if !end.is_success() {
        return Err(format!("QEMU: {}\n{}", end.describe(), child::last_lines(&log, 20)));
    }
    let octets = fs::read(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    Ok(String::from_utf8_lossy(&octets).into_owned())
}

/// Returns the command that runs the machine with `archive` as its second disk. The test's serial
/// port is the standard output.
fn qemu(machine: &Path, archive: &Path, console: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command
        // The machine ends with this process, in whatever way that ends.
        .args(["--pdeathsig", "KILL", "qemu-system-x86_64"])
        // Hardware support hangs where the machine itself is virtual.
        .args(["-M", "pc,accel=tcg", "-cpu", "max"])
        .args(["-m", "1024", "-smp", "2", "-nodefaults", "-display", "none", "-no-reboot"])
        .arg("-kernel")
        .arg(machine.join("vmlinuz"))
        .arg("-initrd")
        .arg(machine.join("initrd.img"))
        .args(["-append", "root=/dev/vda rw console=ttyS0 panic=-1 random.trust_cpu=on"]);
    let disk = |path: &Path, further: &str| {
        format!("file={},if=virtio,format=raw,{further}", path.display())
    };
    command.args(["-drive", &disk(&machine.join("disk"), "snapshot=on")]);
    command.args(["-drive", &disk(archive, "readonly=on")]);
    command.args(["-serial", &format!("file:{}", console.display())]);
    command.args(["-chardev", "stdio,id=test,signal=off", "-serial", "chardev:test"]);
    command
}

/// Counts the checks that the test in the machine printed; one that did not reach its end has
/// failed.
fn judge(printed: &str) -> CheckTally {
    let mut tally = CheckTally::default();
    let mut is_done = false;
    for line in printed.lines().map(str::trim_end) {
        if line.starts_with("ok ") {
            tally += CheckTally::one(true);
        } else if line.starts_with("not ok ") {
            tally += CheckTally::one(false);
        }
        is_done |= line == "done";
    }
    tally.check(is_done, "the test in the machine reached its end");
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_ends_early_has_failed() {
        let whole = "kernel\r\nok a\r\nnot ok b\r\n    why\r\nok c\r\ndone\r\n";
        assert_eq!(judge(whole), CheckTally { passed: 3, failed: 1, skipped: 0 });
        assert_eq!(judge("ok a\n"), CheckTally { passed: 1, failed: 1, skipped: 0 });
    }
}
