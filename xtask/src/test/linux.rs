//! Virtual machine with the last Linux of Debian 12, which still has DCCP: its kernel and root file
//! system, made once in the build folder from Debian's packages. Tests start the machine with QEMU.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::debian::FolderMaking;
use super::privilege::Privilege;
use super::tally::CheckTally;
use super::{TestSession, build_folder, child};
use crate::output;

/// Name of the virtual machine's folder in the build folder.
pub(crate) const FOLDER: &str = "linux-dccp";
/// Name of the environment variable by which tests find the virtual machine's folder.
pub(crate) const VARIABLE: &str = "GODWIT_LINUX_DCCP";

/// Names of the kernel modules that the virtual machine loads.
const MODULES: &str = "virtio_pci virtio_net virtio_console dccp_ipv4 dccp_ipv6 sch_netem sch_ingress ifb \
     act_mirred cls_u32";
/// Names of the host's programs that are copied into the virtual machine.
const PROGRAMS: &str = "ip tc";
/// Shell script that makes the virtual machine's folder; the next constant is the script of the
/// virtual machine's first process.
const SCRIPT: &str = include_str!("linux/make.sh");
const INIT: &str = include_str!("linux/init.sh");
/// Maximum time for making the virtual machine's folder: it takes 10 s on an idle machine close to
/// its mirror.
const LIMIT: Duration = Duration::from_secs(900);

/// Starts to make the virtual machine's folder, unless it exists with the same contents.
pub(crate) fn start(session: &TestSession, may_install: bool) -> FolderMaking {
    let (folder, privilege) = (path(&session.root), session.privilege);
    let (marker, log) = (session.marker.clone(), session.log(FOLDER));
    let init = session.temporary.join("linux-init");
    FolderMaking::start(move || {
        let written = fs::write(&init, INIT);
        written.map_err(|error| format!("cannot write {}: {error}", init.display()))?;
        make(&folder, may_install, privilege, &init, &marker, &log)
    })
}

fn make(
    folder: &Path,
    may_install: bool,
    privilege: Privilege,
    init: &Path,
    marker: &str,
    log: &Path,
) -> Result<CheckTally, String> {
    if is_current(folder, init) {
        return Ok(CheckTally::one(true));
    }
    let reason = if !may_install {
        "installing is switched off"
    } else if !privilege.is_root() {
        "that needs root or passwordless sudo"
    } else {
        let mut command = privilege.command("sh", &[]);
        command.args(["-c", SCRIPT, FOLDER]).args([folder, init]).args([MODULES, PROGRAMS]);
        let end = child::run(&mut command, marker, log, LIMIT)?;
        if !end.is_success() {
            output::print_line(format_args!(
                "    making it: {}; {}",
                end.describe(),
                log.display()
            ));
            output::print(child::last_lines(log, 20));
        }
        return Ok(CheckTally::one(end.is_success()));
    };
    output::print_line(format_args!(
        "    no virtual machine with Linux's DCCP is made, {reason}; tests that need it are left out"
    ));
    Ok(CheckTally::left_out(1))
}

/// Returns true if `folder` was made from the first process's script `init` and the present modules
/// and programs.
fn is_current(folder: &Path, init: &Path) -> bool {
    let sources = fs::read_to_string(folder.join("made-of")).unwrap_or_default();
    let sum = Command::new("cksum").arg(init).output().map(|output| output.stdout);
    let sum = String::from_utf8_lossy(&sum.unwrap_or_default()).into_owned();
    let sum: Vec<&str> = sum.split_whitespace().take(2).collect();
    sources == format!("{}\n{MODULES} {PROGRAMS}\n", sum.join(" "))
}

/// Returns the path of the virtual machine's folder in the build folder of `root`.
pub(crate) fn path(root: &Path) -> PathBuf {
    build_folder(root).join(FOLDER)
}
