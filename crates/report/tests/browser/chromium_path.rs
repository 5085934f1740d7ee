//! Search for the browser.

use std::path::PathBuf;

const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Returns the browser; `None`, with a printed note, if none is installed and none is required.
pub(crate) fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path)
        .flat_map(|folder| NAMES.map(|name| folder.join(name)))
        .find(|file| file.is_file());
    if found.is_none() {
        testkit::skip(format_args!("none of {NAMES:?} is installed"));
    }
    found
}
