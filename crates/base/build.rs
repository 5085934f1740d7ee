//! Gives the crate the name of the Cargo profile that it is built with. Cargo itself tells a build
//! script only which of `release` and `dev` the profile is made from.

use std::env;
use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=GODWIT_BUILD_PROFILE={}", profile());
}

/// Returns the profile's name, after which Cargo calls the folder of what it builds:
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
