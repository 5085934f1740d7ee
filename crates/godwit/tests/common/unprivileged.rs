//! Servers with the rights that operators should give them: as `nobody`, with only the capabilities
//! for packet sockets and for ports below 1024.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use testbed::nobody::{can_reach, give_away};

const CAPABILITIES: &str = "-all,+net_bind_service,+net_raw";

/// Adds the server's program to `wrapper`, run as `nobody` if the caller is root, and makes the
/// server own everything in `folder`. `sets_routes`: the server also needs the capability for
/// routes.
pub(crate) fn serve_without_privilege(wrapper: &mut Command, folder: &Path, sets_routes: bool) {
    let binary = Path::new(env!("CARGO_BIN_EXE_godwit"));
    if !super::is_user_root() {
        wrapper.arg(binary);
        return;
    }
    let routes = if sets_routes { ",+net_admin" } else { "" };
    let [inheritable, ambient, bounding] = ["inh-caps", "ambient-caps", "bounding-set"]
        .map(|set| format!("--{set}={CAPABILITIES}{routes}"));
    wrapper
        .args(["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--no-new-privs"])
        .args([&inheritable, &ambient, &bounding])
        .arg(reachable(binary, folder));
    give_all_away(folder);
}

/// Returns the program, or a copy of it in `folder` if `nobody` could not reach it.
fn reachable(binary: &Path, folder: &Path) -> PathBuf {
    if can_reach(binary.parent().expect("a program lies in a folder")) {
        return binary.to_owned();
    }
    let copy = folder.join("godwit");
    if !copy.exists() {
        fs::copy(binary, &copy).expect("the test's folder can be written");
    }
    copy
}

/// Makes `nobody` own `path` and its contents. Files may vanish meanwhile.
fn give_all_away(path: &Path) {
    let Ok(metadata) = fs::symlink_metadata(path) else { return };
    if metadata.is_symlink() {
        return;
    }
    if let Err(error) = give_away(path) {
        assert!(!path.exists(), "{error}");
    }
    if metadata.is_dir() {
        match fs::read_dir(path) {
            Ok(entries) => entries.flatten().for_each(|entry| give_all_away(&entry.path())),
            Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound, "{}", path.display()),
        }
    }
}
