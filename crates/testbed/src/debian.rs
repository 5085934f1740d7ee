//! Root folder of Debian 13, whose programs are newer than the machine's: Kea 3 with all of its
//! hook libraries. `cargo xtask test` makes it as [`FOLDER`] in the build folder.
//!
//! A server runs in it by chroot(2), in a mount namespace of its own: Kea 3 accepts configurations,
//! leases, control sockets and logs only below its own folders, and each server sees a folder of
//! its starter at all of them. The starter therefore finds the server's files in that folder.

use std::path::{Path, PathBuf};

use crate::CommandLine;

/// Name of Debian 13's root folder in the build folder.
pub const FOLDER: &str = "debian-13";

/// Name of the environment variable with the path of Debian 13's root folder, for tests and for the
/// lab, instead of the one in the build folder.
pub const VARIABLE: &str = "GODWIT_DEBIAN_13";

/// Name of a file that a complete root folder of Debian 13 has, with the packages that it was made
/// of.
pub const PACKAGES_FILE: &str = "packages";

/// Script that mounts the folder of a server over the folders of Kea, and its folder `scripts` over
/// that of Kea's scripts, and runs a program in the root folder. Arguments: root folder, folder of
/// the server, program and its arguments.
const SCRIPT: &str = r#"root=$1 own=$2; shift 2
for place in var/lib/kea run/kea var/log/kea; do
    mount --bind "$own" "$root/$place" || exit 125
done
if [ -d "$own/scripts" ]; then
    mount --bind "$own/scripts" "$root/usr/share/kea/scripts" || exit 125
fi
exec chroot "$root" "$@""#;

/// Path of the folder of leases as a server in Debian 13 sees it; it shows the folder of the
/// server's starter.
pub const LEASES: &str = "/var/lib/kea";
/// Path of the folder of control sockets and PID files as a server in Debian 13 sees it; it shows
/// the folder of the server's starter.
pub const SOCKETS: &str = "/run/kea";
/// Path of the folder of logs as a server in Debian 13 sees it; it shows the folder of the server's
/// starter.
pub const LOGS: &str = "/var/log/kea";
/// Path of the folder of hook scripts as a server in Debian 13 sees it; it shows the folder
/// `scripts` of the server's starter, if there is one.
pub const SCRIPTS: &str = "/usr/share/kea/scripts";

/// Root folder of Debian 13, in which the lab and tests run its programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Debian13 {
    root: PathBuf,
}

impl Debian13 {
    /// Finds the root folder of Debian 13: at [`VARIABLE`], in the folder that `CARGO_TARGET_DIR`
    /// names, or in `target` of the working directory or of a folder above it. Returns `None` if
    /// none is complete.
    pub fn find() -> Option<Self> {
        if let Some(path) = std::env::var_os(VARIABLE) {
            return Self::at(Path::new(&path));
        }
        let build = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        let working = std::env::current_dir().unwrap_or_default();
        let above = working.ancestors().map(|folder| folder.join("target"));
        build.into_iter().chain(above).find_map(|folder| Self::at(&folder.join(FOLDER)))
    }

    /// Returns the root folder of Debian 13 at the path `root`, if that has the file
    /// [`PACKAGES_FILE`].
    pub fn at(root: &Path) -> Option<Self> {
        root.join(PACKAGES_FILE).exists().then(|| Self { root: root.to_owned() })
    }

    /// Returns the path of Debian 13's root folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of a program in Debian 13's root folder, as the machine sees it; `None` if
    /// the folder lacks the program.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        let folders = ["usr/sbin", "usr/bin"].map(|folder| self.root.join(folder).join(name));
        folders.into_iter().find(|path| path.exists())
    }

    /// Returns the version that the program `name` of Debian 13 prints; empty if it does not run.
    pub fn version(&self, name: &str) -> String {
        let root = self.root.to_string_lossy();
        let output = CommandLine::new("chroot").args([&*root, name, "-v"]).to_command().output();
        let printed = output.map(|output| output.stdout).unwrap_or_default();
        String::from_utf8_lossy(&printed).lines().next().unwrap_or("").trim().to_owned()
    }

    /// Returns the command that runs the program `name` with Debian 13's folder as its root folder,
    /// in which the folder `own` is mounted at [`LEASES`], [`SOCKETS`] and [`LOGS`]. Only root may
    /// run it. The started process executes the program, which keeps its process ID.
    pub fn command(&self, own: &Path, name: &str) -> CommandLine {
        let root = self.root.to_string_lossy();
        let own = own.to_string_lossy();
        let words = ["--mount", "sh", "-c", SCRIPT, "debian-13", &root, &own, name];
        CommandLine::new("unshare").args(words)
    }
}

#[cfg(test)]
mod tests {
    use testkit::TempFolder;

    use super::*;

    #[test]
    fn a_root_folder_counts_once_it_is_complete() {
        let temporary = TempFolder::new("debian");
        let folder = temporary.path();
        std::fs::create_dir_all(folder.join("usr/sbin")).unwrap();
        std::fs::write(folder.join("usr/sbin/kea-dhcp4"), "").unwrap();
        assert_eq!(Debian13::at(folder), None);
        std::fs::write(folder.join(PACKAGES_FILE), "").unwrap();
        let debian = Debian13::at(folder).unwrap();
        assert_eq!(debian.program("kea-dhcp4"), Some(folder.join("usr/sbin/kea-dhcp4")));
        assert_eq!(debian.program("kea-dhcp6"), None);
        let command = debian.command(Path::new("/own"), "kea-dhcp4");
        assert!(command.words().ends_with(&["/own".to_owned(), "kea-dhcp4".to_owned()]));
    }
}
