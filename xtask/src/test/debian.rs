//! The root folder of Debian 13 with Kea 3, in which servers of tests run by chroot(2): made once in
//! the build folder by mmdebstrap, beside the build, and again when its packages change.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use super::privilege::Privilege;
use super::tally::Tally;
use super::{Session, build_folder, child};

/// Name of the root folder in the build folder.
pub(crate) const FOLDER: &str = "debian-13";
/// The environment variable by which tests find it.
pub(crate) const VARIABLE: &str = "GODWIT_DEBIAN_13";

/// Packages in it: Kea from the backports, which have 3.0, and what its programs call.
const PACKAGES: &str = "kea-dhcp4-server,kea-dhcp6-server,kea-dhcp-ddns-server,kea-admin,\
                        kea-ctrl-agent,iproute2,procps";
/// Folders of Kea's, made before its servers run as nobody else than root.
const FOLDERS: &str = "var/lib/kea run/kea var/log/kea";
/// Debian's mirror where the machine's own sources name none.
const MIRROR: &str = "http://deb.debian.org/debian";
/// Time that it may take: 40 s on an idle machine beside its mirror.
const LIMIT: Duration = Duration::from_secs(1800);

/// Makes the root folder `$1` from the mirror `$2` with the packages `$3`, and the folders `$4`.
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

/// The making of a folder in the build folder, under way.
#[derive(Debug)]
pub(crate) struct FolderMaking {
    made: JoinHandle<Result<Tally, String>>,
}

impl FolderMaking {
    /// Begins with `make` beside the caller.
    pub(super) fn start(make: impl FnOnce() -> Result<Tally, String> + Send + 'static) -> Self {
        Self { made: std::thread::spawn(make) }
    }

    /// Waits until it is made.
    pub(crate) fn finish(self) -> Result<Tally, String> {
        self.made.join().unwrap_or_else(|_| Err("making it panicked".to_owned()))
    }
}

/// Begins to make the root folder, unless there is one of the same packages.
pub(crate) fn start(session: &Session, may_install: bool) -> FolderMaking {
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
) -> Result<Tally, String> {
    let kept = fs::read_to_string(root.join("packages")).unwrap_or_default();
    if kept.trim_end() == PACKAGES {
        return Ok(Tally::one(true));
    }
    let reason = if !may_install {
        "told not to install"
    } else if !privilege.is_root() {
        "that needs root or passwordless sudo"
    } else {
        let mut command = privilege.command("sh", &[]);
        command.args(["-c", SCRIPT, FOLDER]).arg(root).args([&mirror(), PACKAGES, FOLDERS]);
        let end = child::run(&mut command, marker, log, LIMIT)?;
        if !end.is_success() {
            println!("    mmdebstrap: {}; {}", end.describe(), log.display());
            print!("{}", child::last_lines(log, 20));
        }
        return Ok(Tally::one(end.is_success()));
    };
    println!("    no root folder of Debian 13 is made, {reason}; tests that need it are left out");
    Ok(Tally::left_out(1))
}

/// Returns the mirror of Debian that the machine takes its own packages from.
fn mirror() -> String {
    let listed = Command::new("apt-get")
        .args(["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian"])
        .stdin(Stdio::null())
        .output();
    let listed = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    first_mirror(&listed.unwrap_or_default()).unwrap_or_else(|| MIRROR.to_owned())
}

/// The first address over a network in a list of apt's.
fn first_mirror(listed: &str) -> Option<String> {
    let mut lines = listed.lines().map(|line| line.trim_end_matches('/'));
    lines.find(|line| line.starts_with("http")).map(str::to_owned)
}

/// Returns the path of the root folder in the build folder of `root`.
pub(crate) fn path(root: &Path) -> PathBuf {
    build_folder(root).join(FOLDER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_the_machines_own() {
        let listed = "file:/media/\nhttp://mirror.example/debian/\nhttp://other.example/debian\n";
        assert_eq!(first_mirror(listed).as_deref(), Some("http://mirror.example/debian"));
        assert_eq!(first_mirror("cdrom:disk\n"), None);
    }

    #[test]
    fn a_folder_of_the_same_packages_stays_and_others_are_left_out_without_root() {
        let root = std::env::temp_dir().join(format!("godwit-debian-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        let log = root.join("log");
        fs::write(root.join("packages"), format!("{PACKAGES}\n")).unwrap();
        let same = make(&root, true, Privilege::None, "none", &log).unwrap();
        assert_eq!(same, Tally::one(true));
        fs::write(root.join("packages"), "others\n").unwrap();
        let other = make(&root, true, Privilege::None, "none", &log).unwrap();
        assert_eq!(other, Tally::left_out(1));
        fs::remove_dir_all(root).unwrap();
    }
}
