//! Search for the browser.

use std::path::PathBuf;

const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Returns the path of Chromium; `None`, with a printed note, if none is installed and none is
/// required.
pub(crate) fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path)
        .flat_map(|folder| NAMES.map(|name| folder.join(name)))
        .find(|file| file.is_file());
    if found.is_none() {
        let is_required = std::env::var_os("GODWIT_REQUIRE_TOOLS").is_some_and(|v| v == "1");
        assert!(!is_required, "none of {NAMES:?} is installed");
        println!("skipped: none of {NAMES:?} is installed");
    }
    found
}
