//! Clients of Kea by others, from PyPI: made once in the build folder by pip, beside the build, and again
//! when their list changes. Without a network there are none, and the test of them says so.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::debian::FolderMaking;
use super::tally::Tally;
use super::{Session, build_folder, child};

/// Name of their folder in the build folder.
pub(crate) const FOLDER: &str = "kea-clients";
/// The environment variable by which the test finds it.
pub(crate) const VARIABLE: &str = "GODWIT_KEA_CLIENTS";

/// Virtual environments, each with its packages: not all want the same version of pydantic.
const ENVIRONMENTS: [(&str, &str); 2] = [
    ("first", "kea-exporter==0.7.1 netbox-kea-ng==3.8.4 pyisckea==0.9.2"),
    ("second", "pykeadhcp==0.6.0"),
];
/// File that the folder has once it is complete: the packages.
const PACKAGES_FILE: &str = "packages";
/// Time that it may take: a minute on an idle machine.
const LIMIT: Duration = Duration::from_secs(900);

/// Makes the virtual environment `$1` with the packages `$2`.
const SCRIPT: &str = r#"
set -e
python3 -m venv "$1"
"$1/bin/pip" install -q --disable-pip-version-check --no-input --retries 2 $2
"#;

/// Begins to make the folder, unless there is one of the same packages.
pub(crate) fn start(session: &Session, may_install: bool) -> FolderMaking {
    let (folder, log) = (path(&session.root), session.log(FOLDER));
    let marker = session.marker.clone();
    FolderMaking::start(move || make(&folder, may_install, &marker, &log))
}

/// The packages, as the file names them.
fn packages() -> String {
    ENVIRONMENTS.map(|(_, packages)| packages).join("\n")
}

fn make(folder: &Path, may_install: bool, marker: &str, log: &Path) -> Result<Tally, String> {
    let file = folder.join(PACKAGES_FILE);
    if fs::read_to_string(&file).unwrap_or_default() == packages() {
        return Ok(Tally::one(true));
    }
    if !may_install {
        println!("    no clients of Kea from PyPI, told not to install; their test is left out");
        return Ok(Tally::left_out(1));
    }
    fs::remove_dir_all(folder).ok();
    for (name, packages) in ENVIRONMENTS {
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, FOLDER]).arg(folder.join(name)).arg(packages);
        let end = child::run(&mut command, marker, log, LIMIT)?;
        if !end.is_success() {
            println!(
                "    pip: {}; {}; the test of clients is left out",
                end.describe(),
                log.display()
            );
            return Ok(Tally::left_out(1));
        }
    }
    fs::write(&file, packages()).map_err(|e| format!("{}: {e}", file.display()))?;
    Ok(Tally::one(true))
}

/// Returns the path of the folder in the build folder of `root`.
pub(crate) fn path(root: &Path) -> PathBuf {
    build_folder(root).join(FOLDER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_the_same_packages_stays_and_another_is_left_out_when_nothing_is_installed() {
        let folder = std::env::temp_dir().join(format!("godwit-clients-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let log = folder.join("log");
        fs::write(folder.join(PACKAGES_FILE), packages()).unwrap();
        assert_eq!(make(&folder, true, "none", &log).unwrap(), Tally::one(true));
        fs::write(folder.join(PACKAGES_FILE), "others").unwrap();
        assert_eq!(make(&folder, false, "none", &log).unwrap(), Tally::left_out(1));
        fs::remove_dir_all(folder).unwrap();
    }
}
