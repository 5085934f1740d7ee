//! Root folder of Debian 13 with Kea 3 and mdBook, which tests run by chroot(2): mmdebstrap makes
//! it once in the build folder, in parallel with the build, and again when its packages change.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use super::privilege::Privilege;
use super::tally::CheckTally;
use super::{TestSession, build_folder, child};
use crate::output;

/// Name of the folder in the build folder that is Debian 13's root folder.
pub(crate) const FOLDER: &str = "debian-13";
/// Name of the environment variable by which tests find Debian 13's root folder.
pub(crate) const VARIABLE: &str = "GODWIT_DEBIAN_13";

/// Names of the packages in Debian 13's root folder: Kea 3.0 from the backports, the programs that
/// it calls, and mdBook, which Debian 12 does not have.
const PACKAGES: &str = "kea-dhcp4-server,kea-dhcp6-server,kea-dhcp-ddns-server,kea-admin,\
                        kea-ctrl-agent,iproute2,procps,mdbook";
/// Folders of Kea in Debian 13's root folder, made before its servers run as another user than
/// root.
const FOLDERS: &str = "var/lib/kea run/kea var/log/kea";
/// Address of Debian's mirror, if the machine's own sources name none.
const MIRROR: &str = "http://deb.debian.org/debian";
/// Maximum time for making Debian 13's root folder: it takes 40 s on an idle machine close to its
/// mirror.
const LIMIT: Duration = Duration::from_secs(1800);

/// Shell script that makes the root folder `$1` from the mirror `$2` with the packages `$3`, and
/// the folders `$4`.
const SCRIPT: &str = r#"
set -e
root=$1 mirror=$2 packages=$3 folders=$4
rm -rf --one-file-system "$root" "$root.new"
pin='Package: kea* python3-kea*\nPin: release n=trixie-backports\nPin-Priority: 990\n'
mmdebstrap --variant=apt --include="$packages" \
    --setup-hook='mkdir -p "$1/etc/apt/preferences.d"' \
    --setup-hook="printf '$pin' >\"\$1/etc/apt/preferences.d/kea\"" \
    trixie "$root.new" "deb $mirror trixie main" "deb $mirror trixie-backports main"
cd "$root.new"
mkdir -p $folders
printf '%s\n' "$packages" >packages
mv "$root.new" "$root"
"#;

/// Making of a folder in the build folder, in progress on a thread.
#[derive(Debug)]
pub(crate) struct FolderMaking {
    made: JoinHandle<Result<CheckTally, String>>,
}

impl FolderMaking {
    /// Runs `make`, which makes a folder, on a new thread.
    pub(super) fn start(
        make: impl FnOnce() -> Result<CheckTally, String> + Send + 'static,
    ) -> Self {
        Self { made: std::thread::spawn(make) }
    }

    /// Waits until the folder is made, and returns the result as counts of checks.
    pub(crate) fn finish(self) -> Result<CheckTally, String> {
        self.made.join().unwrap_or_else(|_| Err("making it panicked".to_owned()))
    }
}

/// Starts to make Debian 13's root folder, unless it exists with the same packages.
pub(crate) fn start(session: &TestSession, may_install: bool) -> FolderMaking {
    let root = path(&session.root);
    let (marker, log) = (session.marker.clone(), session.log(FOLDER));
    let privilege = session.privilege;
    FolderMaking::start(move || make(&root, may_install, privilege, &marker, &log))
}

fn make(
    root: &Path,
    may_install: bool,
    privilege: Privilege,
    marker: &str,
    log: &Path,
) -> Result<CheckTally, String> {
    let kept = fs::read_to_string(root.join("packages")).unwrap_or_default();
    if kept.trim_end() == PACKAGES {
        return Ok(CheckTally::one(true));
    }
    let reason = if !may_install {
        "installing is switched off"
    } else if !privilege.is_root() {
        "that needs root or passwordless sudo"
    } else {
        let mut command = privilege.command("sh", &[]);
        command.args(["-c", SCRIPT, FOLDER]).arg(root).args([&mirror(), PACKAGES, FOLDERS]);
        let end = child::run(&mut command, marker, log, LIMIT)?;
        if !end.is_success() {
            output::print_line(format_args!(
                "    mmdebstrap: {}; {}",
                end.describe(),
                log.display()
            ));
            output::print(child::last_lines(log, 20));
        }
        return Ok(CheckTally::one(end.is_success()));
    };
    output::print_line(format_args!(
        "    no root folder of Debian 13 is made, {reason}; tests that need it are left out"
    ));
    Ok(CheckTally::left_out(1))
}

/// Returns the Debian mirror that the machine takes its own packages from.
pub(crate) fn mirror() -> String {
    let listed = Command::new("apt-get")
        .args(["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian"])
        .stdin(Stdio::null())
        .output();
    let listed = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    first_mirror(&listed.unwrap_or_default()).unwrap_or_else(|| MIRROR.to_owned())
}

/// Returns the first network address in apt's list of sources `listed`.
fn first_mirror(listed: &str) -> Option<String> {
    let mut lines = listed.lines().map(|line| line.trim_end_matches('/'));
    lines.find(|line| line.starts_with("http")).map(str::to_owned)
}

/// Returns the path of Debian 13's root folder in the build folder of `root`.
pub(crate) fn path(root: &Path) -> PathBuf {
    build_folder(root).join(FOLDER)
}

#[cfg(test)]
mod tests {
    use testkit::TempFolder;

    use super::*;

    #[test]
    fn the_mirror_is_the_machines_own() {
        let listed = "file:/media/\nhttp://mirror.example/debian/\nhttp://other.example/debian\n";
        assert_eq!(first_mirror(listed).as_deref(), Some("http://mirror.example/debian"));
        assert_eq!(first_mirror("cdrom:disk\n"), None);
    }

    #[test]
    fn a_folder_of_the_same_packages_stays_and_others_are_left_out_without_root() {
        let temporary = TempFolder::new("debian");
        let root = temporary.path();
        let log = root.join("log");
        fs::write(root.join("packages"), format!("{PACKAGES}\n")).unwrap();
        let same = make(root, true, Privilege::None, "none", &log).unwrap();
        assert_eq!(same, CheckTally::one(true));
        fs::write(root.join("packages"), "others\n").unwrap();
        let other = make(root, true, Privilege::None, "none", &log).unwrap();
        assert_eq!(other, CheckTally::left_out(1));
    }
}
