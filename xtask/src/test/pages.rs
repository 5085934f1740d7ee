//! Command `cargo xtask pages`: checks every HTML page of a folder in headless Chromium, as the
//! test command checks pages of simulated results.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::TestSession;
use super::child;
use super::programs;
use super::tally::read_output;
use crate::output;

const CRATE: &str = "report";
const TEST: &str = "pages::charts_of_every_page_are_whole";
/// Beginning of the output lines of the page test that are for the user.
const USER_LINE_PREFIX: &str = "page: ";
/// Maximum time for checking the pages of any folder.
const LIMIT: Duration = Duration::from_secs(3600);

/// Checks the HTML pages below `folder`, and returns true if it finds nothing wrong.
pub(crate) fn run(root: &Path, folder: &Path) -> Result<bool, String> {
    let folder: PathBuf =
        folder.canonicalize().map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut session = TestSession::begin(root)?;
    session.requires_tools = true;
    let built = programs::build_integration_programs(&session, "build-pages")?;
    let program = built.integration_program(CRATE)?;
    let log = session.log("pages");
    let mut command = Command::new(&program.executable);
    command
        .args(["--exact", "--show-output", TEST])
        .current_dir(&program.folder)
        .envs(session.environment())
        .env("GODWIT_PAGES", &folder);
    let end = child::run(&mut command, &session.marker, &log, LIMIT)?;
    let text = String::from_utf8_lossy(&fs::read(&log).unwrap_or_default()).into_owned();
    let user_lines: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix(USER_LINE_PREFIX)).collect();
    user_lines.iter().for_each(output::print_line);
    let (tally, _) = read_output(&text);
    let is_whole = end.is_success() && tally.passed == 1 && tally.failed == 0;
    if !is_whole && user_lines.is_empty() {
        output::print(child::last_lines(&log, 30));
    }
    Ok(is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = run(Path::new("/"), Path::new("/nonesuch")).unwrap_err();
        assert!(error.contains("/nonesuch"), "{error}");
    }
}
