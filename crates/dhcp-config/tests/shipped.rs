//! The configurations under `data`: what godwit says of them, that kea-dhcp4 agrees, and real files.

#[allow(dead_code, reason = "each test file uses its own part")]
mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{data, folder, lines, problems, shipped_includes};
use dhcp_config::{Problem, Severity, parse_dhcp4};

/// A fresh folder that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("godwit-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).expect("the name is fresh");
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).expect("the folder is ours");
    }
}

/// `kea-dhcp4` where it is installed; missing is a failure when `GODWIT_REQUIRE_TOOLS` is set.
fn kea() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    let found = folders.map(|folder| folder.join("kea-dhcp4")).find(|file| file.is_file());
    assert!(
        found.is_some() || std::env::var_os("GODWIT_REQUIRE_TOOLS").is_none(),
        "kea-dhcp4 is not installed"
    );
    found
}

/// Whether `kea-dhcp4 -t` accepts `file`, and what it prints.
fn kea_accepts(kea: &Path, folder: &Path, file: &str) -> (bool, String) {
    let output = Command::new(kea)
        .args(["-t", file])
        .current_dir(folder)
        .env("KEA_PIDFILE_DIR", folder)
        .env("KEA_LOCKFILE_DIR", "none")
        .stdin(Stdio::null())
        .output()
        .expect("kea-dhcp4 starts");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

fn verdicts_agree(kind: &str, accepted: bool) {
    let Some(kea) = kea() else {
        println!("skipped: kea-dhcp4 is not installed");
        return;
    };
    let scratch = Scratch::new(&format!("kea-{kind}"));
    std::fs::create_dir(scratch.0.join("include")).expect("the folder is fresh");
    for (name, text) in folder("include") {
        std::fs::write(scratch.0.join("include").join(name), text).expect("the folder is ours");
    }
    for (name, text) in folder(kind) {
        std::fs::write(scratch.0.join(&name), &text).expect("the folder is ours");
        let (theirs, said) = kea_accepts(&kea, &scratch.0, &name);
        let ours = parse_dhcp4(&name, &text, &mut shipped_includes());
        let shown: Vec<String> =
            ours.as_ref().err().into_iter().flatten().map(Problem::to_string).collect();
        assert_eq!(theirs, accepted, "kea, {name}: {said}");
        assert_eq!(ours.is_ok(), accepted, "godwit, {name}: {shown:?}");
    }
}

#[test]
fn kea_accepts_what_is_accepted() {
    verdicts_agree("accepted", true);
}

#[test]
fn kea_refuses_what_is_refused() {
    verdicts_agree("refused", false);
}

#[test]
fn each_refused_file_has_its_problems_at_their_places() {
    let expected = std::fs::read_to_string(data().join("refused.txt")).unwrap();
    let mut found = String::new();
    for (name, text) in folder("refused") {
        for line in lines(&problems(&text)) {
            found.push_str(&format!("{name}:{line}\n"));
        }
    }
    assert_eq!(found, expected);
}

#[test]
fn the_configuration_that_debian_installs_is_understood() {
    let Ok(text) = std::fs::read_to_string("/etc/kea/kea-dhcp4.conf") else {
        assert!(std::env::var_os("GODWIT_REQUIRE_TOOLS").is_none(), "no /etc/kea/kea-dhcp4.conf");
        return;
    };
    let problems = parse_dhcp4("kea-dhcp4.conf", &text, &mut shipped_includes()).unwrap_err();
    let errors = problems.iter().filter(|problem| problem.severity == Severity::Error);
    let errors: Vec<&str> = errors.map(|problem| problem.message.as_str()).collect();
    let refused = |key: &str| format!("`{key}` is not supported by this version of godwit");
    assert_eq!(errors, [refused("client-classes"), refused("reservations")], "{problems:?}");
}
