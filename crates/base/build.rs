//! Passes the name of the Cargo profile that the crate is built with to the crate. Cargo itself
//! gives a build script only the profile that it is made from, `release` or `dev`.

use std::env;
use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=GODWIT_BUILD_PROFILE={}", profile());
}

/// Returns the name of the profile, which Cargo uses for the folder of the files that it builds:
/// `…/PROFILE/build/base-HASH/out`. The folder of the profile `dev` is `debug`.
fn profile() -> String {
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let mut folders = out.ancestors().skip(1);
    let of_profile = folders
        .find(|folder| folder.file_name().is_some_and(|name| name == "build"))
        .and_then(|build| build.parent()?.file_name()?.to_str().map(str::to_owned));
    match of_profile.or_else(|| env::var("PROFILE").ok()) {
        Some(name) if name == "debug" => "dev".to_owned(),
        Some(name) => name,
        None => String::new(),
    }
}
