//! Search for the browser.

use std::path::PathBuf;

const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Returns the path of Chromium; `None`, with a printed note, if none is installed and none is
/// required.
pub(crate) fn chromium() -> Option<PathBuf> {
    let found = NAMES.into_iter().find_map(testkit::find_tool);
    if found.is_none() {
        testkit::skip(format_args!("none of {NAMES:?} is installed"));
    }
    found
}
