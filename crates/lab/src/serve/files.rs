//! Files of stored runs, which the results server serves unchanged.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// File of a stored run with its content type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ResultFile {
    pub(super) kind: &'static str,
    pub(super) octets: Vec<u8>,
}

/// Reads the file at `below` in the results folder; `None` when there is none, or when it is
/// outside of the folder.
pub(super) fn read(results: &Path, below: &str) -> Option<ResultFile> {
    let path = inside(results, below)?;
    if !path.is_file() {
        return None;
    }
    let octets = fs::read(&path).ok()?;
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let kind = match extension {
        "html" => "text/html; charset=utf-8",
        "json" => "application/json",
        "txt" | "out" | "err" | "conf" | "csv" | "jsonl" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    };
    Some(ResultFile { kind, octets })
}

/// Returns the folder of the run `id`; `None` when there is none, or when it is outside of the
/// results folder.
pub(super) fn folder(results: &Path, id: &str) -> Option<PathBuf> {
    inside(results, id).filter(|path| path.is_dir())
}

/// Returns the path of `below` in the results folder, links followed; `None` if they lead outside
/// of it.
fn inside(results: &Path, below: &str) -> Option<PathBuf> {
    let below = Path::new(below);
    let is_plain = below.components().all(|part| matches!(part, Component::Normal(_)));
    if !is_plain || below.as_os_str().is_empty() {
        return None;
    }
    let path = results.join(below).canonicalize().ok()?;
    path.starts_with(results.canonicalize().ok()?).then_some(path)
}

#[cfg(test)]
mod tests {
    use testkit::TempFolder;

    use super::*;

    #[test]
    fn nothing_outside_of_the_folder_is_shown() {
        let temporary = TempFolder::new("files");
        let base_folder = temporary.path();
        let results = base_folder.join("results");
        fs::create_dir_all(results.join("run")).unwrap();
        fs::write(base_folder.join("secret.json"), "{}").unwrap();
        fs::write(results.join("run/report.html"), "<p>").unwrap();
        std::os::unix::fs::symlink(base_folder.join("secret.json"), results.join("link.json"))
            .unwrap();
        let file = read(&results, "run/report.html").unwrap();
        assert_eq!((file.kind, &file.octets[..]), ("text/html; charset=utf-8", &b"<p>"[..]));
        let secret = base_folder.join("secret.json");
        let absolute = secret.to_str().unwrap();
        for odd in
            ["../secret.json", "run/../../secret.json", absolute, "link.json", "", ".", "run"]
        {
            assert_eq!(read(&results, odd), None, "{odd}");
        }
        assert!(folder(&results, "run").is_some() && folder(&results, "..").is_none());
    }
}
