//! Third-party clients of Kea's control channel from PyPI: pip installs them once in the build
//! folder, in parallel with the build, and again when their list changes. Without a network the
//! clients are missing, and their test reports that.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::debian::FolderMaking;
use super::tally::CheckTally;
use super::{TestSession, build_folder, child};
use crate::output;

/// Name of the folder in the build folder in which the third-party clients of Kea are installed.
pub(crate) const FOLDER: &str = "kea-clients";
/// Name of the environment variable by which the test of Kea's third-party clients finds their
/// folder.
pub(crate) const VARIABLE: &str = "GODWIT_KEA_CLIENTS";

/// Python virtual environments for Kea's third-party clients, each with its packages: not all need
/// the same version of pydantic.
const ENVIRONMENTS: [(&str, &str); 2] = [
    ("first", "kea-exporter==0.7.1 netbox-kea-ng==3.8.4 pyisckea==0.9.2"),
    ("second", "pykeadhcp==0.6.0"),
];
/// Name of the file with the list of packages, which only a complete folder has.
const PACKAGES_FILE: &str = "packages";
/// Maximum time for installing Kea's third-party clients: it takes a minute on an idle machine.
const LIMIT: Duration = Duration::from_secs(900);

/// Shell script that makes the virtual environment `$1` with the packages `$2`.
const SCRIPT: &str = r#"
set -e
python3 -m venv "$1"
"$1/bin/pip" install -q --disable-pip-version-check --no-input --retries 2 $2
"#;

/// Starts the installation of Kea's third-party clients, unless their folder exists with the same
/// packages.
pub(crate) fn start(session: &TestSession, may_install: bool) -> FolderMaking {
    let (folder, log) = (path(&session.root), session.log(FOLDER));
    let marker = session.marker.clone();
    FolderMaking::start(move || make(&folder, may_install, &marker, &log))
}

/// Returns the list of packages as [`PACKAGES_FILE`] has it.
fn packages() -> String {
    ENVIRONMENTS.map(|(_, packages)| packages).join("\n")
}

fn make(folder: &Path, may_install: bool, marker: &str, log: &Path) -> Result<CheckTally, String> {
    let file = folder.join(PACKAGES_FILE);
    if fs::read_to_string(&file).unwrap_or_default() == packages() {
        return Ok(CheckTally::one(true));
    }
    if !may_install {
        output::print_line(
            "    no clients of Kea from PyPI, since installing is switched off; their test is left out",
        );
        return Ok(CheckTally::left_out(1));
    }
    fs::remove_dir_all(folder).ok();
    for (name, packages) in ENVIRONMENTS {
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, FOLDER]).arg(folder.join(name)).arg(packages);
        let end = child::run(&mut command, marker, log, LIMIT)?;
        if !end.is_success() {
            output::print_line(format_args!(
                "    pip: {}; {}; the test of clients is left out",
                end.describe(),
                log.display()
            ));
            return Ok(CheckTally::left_out(1));
        }
    }
    fs::write(&file, packages()).map_err(|e| format!("{}: {e}", file.display()))?;
    Ok(CheckTally::one(true))
}

/// Returns the path of the folder of Kea's third-party clients in the build folder of `root`.
pub(crate) fn path(root: &Path) -> PathBuf {
    build_folder(root).join(FOLDER)
}

#[cfg(test)]
mod tests {
    use testkit::TempFolder;

    use super::*;

    #[test]
    fn a_folder_of_the_same_packages_stays_and_another_is_left_out_when_nothing_is_installed() {
        let temporary = TempFolder::new("clients");
        let folder = temporary.path();
        let log = folder.join("log");
        fs::write(folder.join(PACKAGES_FILE), packages()).unwrap();
        assert_eq!(make(folder, true, "none", &log).unwrap(), CheckTally::one(true));
        fs::write(folder.join(PACKAGES_FILE), "others").unwrap();
        assert_eq!(make(folder, false, "none", &log).unwrap(), CheckTally::left_out(1));
    }
}
