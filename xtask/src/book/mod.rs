//! Command `cargo xtask book`: the manual as a site. mdBook makes the pages of `docs`, which
//! `docs/SUMMARY.md` lists; then the links of the pages are checked ([`links`]), without a network.
//!
//! mdBook is the machine's own, or Debian 13's in the root folder that `cargo xtask test` makes
//! (`docs/design/036-manual.md`).

mod links;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::output;
use crate::test::privilege::Privilege;
use crate::test::{build_folder, debian};

/// Script that runs the mdBook of another root folder.
const SCRIPT: &str = include_str!("build.sh");
/// Name of mdBook's program.
const PROGRAM: &str = "mdbook";
/// Name of the list of pages, which is no page itself.
const SUMMARY: &str = "SUMMARY.md";

/// Builds the site in the folder `site`, or in `book` of the build folder, and returns true if
/// nothing is wrong with it.
pub(crate) fn run(root: &Path, site: Option<&Path>) -> Result<bool, String> {
    let site = site.map_or_else(|| build_folder(root).join("book"), Path::to_owned);
    let Some(mdbook) = MdBook::find(root) else {
        return Err("mdbook is missing, and there is no root folder of Debian 13 that has it: \
                    `cargo xtask test setup` as root makes one"
            .to_owned());
    };
    let faults = build_and_check(&mdbook, &root.join("docs"), &site)?;
    faults.iter().for_each(output::print_line);
    let count = faults.len();
    output::print_line(format_args!("{}: {count} faults", site.join("index.html").display()));
    Ok(faults.is_empty())
}

/// Place of mdBook's program.
#[derive(Clone, Debug, PartialEq, Eq)]
enum MdBook {
    /// Program of the machine, in the search path.
    OfMachine,
    /// Program in the root folder at this path, which only root may run.
    InRoot(PathBuf),
}

impl MdBook {
    /// Finds mdBook on the machine, then in Debian 13's root folder.
    fn find(root: &Path) -> Option<Self> {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        if std::env::split_paths(&folders).any(|folder| folder.join(PROGRAM).exists()) {
            return Some(Self::OfMachine);
        }
        let named = std::env::var_os(debian::VARIABLE).map(PathBuf::from);
        let debian = named.unwrap_or_else(|| debian::path(root));
        let has_it = debian.join("usr/bin").join(PROGRAM).exists();
        (has_it && Privilege::detect().is_root()).then_some(Self::InRoot(debian))
    }

    /// Returns the command that makes the site `site` of the sources `sources`.
    fn command(&self, sources: &Path, site: &Path) -> Command {
        match self {
            Self::OfMachine => {
                let mut command = Command::new(PROGRAM);
                command.arg("build").arg("--dest-dir").args([site, sources]);
                command
            }
            Self::InRoot(root) => {
                let mut command = Privilege::detect().command("unshare", &[]);
                command.args(["--mount", "sh", "-euc", SCRIPT, "book"]).args([root, sources, site]);
                command
            }
        }
    }
}

/// Makes the site `site` of the sources `sources`, and returns what is wrong with it.
fn build_and_check(mdbook: &MdBook, sources: &Path, site: &Path) -> Result<Vec<String>, String> {
    fs::create_dir_all(site).map_err(|error| format!("{}: {error}", site.display()))?;
    let site = site.canonicalize().map_err(|error| format!("{}: {error}", site.display()))?;
    let mut command = mdbook.command(sources, &site);
    let made = command.output().map_err(|error| format!("cannot run {command:?}: {error}"))?;
    let said = String::from_utf8_lossy(&made.stderr).into_owned();
    if !made.status.success() {
        return Err(format!("mdbook: {}\n{said}", made.status));
    }
    let is_remark = |line: &&str| line.contains("[WARN]") || line.contains("[ERROR]");
    let mut faults: Vec<String> = said.lines().filter(is_remark).map(str::to_owned).collect();
    faults.extend(unlisted(sources, sources, &site)?);
    faults.extend(links::faults(&site)?);
    Ok(faults)
}

/// Returns a line for each page below `folder`, of the sources `sources`, that the site lacks.
fn unlisted(sources: &Path, folder: &Path, site: &Path) -> Result<Vec<String>, String> {
    let mut faults = Vec::new();
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        let Ok(name) = path.strip_prefix(sources) else { continue };
        if path.is_dir() {
            faults.extend(unlisted(sources, &path, site)?);
        } else if path.extension().is_some_and(|ending| ending == "md")
            && name != Path::new(SUMMARY)
            && !site.join(name).with_extension("html").exists()
        {
            faults.push(format!("{}: {SUMMARY} does not list the page", name.display()));
        }
    }
    faults.sort();
    Ok(faults)
}

#[cfg(test)]
mod tests {
    use testkit::TempFolder;

    use super::*;
    use crate::workspace_root;

    fn mdbook() -> Option<MdBook> {
        let found = MdBook::find(workspace_root());
        if found.is_none() {
            testkit::skip("mdbook, or root and Debian 13's root folder with it, is missing");
        }
        found
    }

    #[test]
    fn the_manual_is_a_site_without_faults() {
        let Some(mdbook) = mdbook() else { return };
        let folder = TempFolder::new("book");
        let sources = workspace_root().join("docs");
        let faults = build_and_check(&mdbook, &sources, folder.path()).unwrap();
        assert_eq!(faults, [""; 0]);
        for file in ["index.html", "book/lab.html", "searchindex.js", "searcher.js"] {
            assert!(folder.path().join(file).exists(), "{file}");
        }
    }

    #[test]
    fn the_chart_shows_figures_that_are_stated() {
        /// Leases per second for each unit of the chart's width.
        const SCALE: f64 = 150.0;
        let docs = workspace_root().join("docs");
        let read = |path: PathBuf| fs::read_to_string(path).unwrap();
        let chart = read(docs.join("images/leases-per-second.svg"));
        let stated = [docs.join("README.md"), docs.join("design/003-measurement.md")].map(read);
        let value = |tag: &str, name: &str| -> f64 {
            let (_, rest) = tag.split_once(&format!(" {name}=\"")).unwrap();
            rest.split_once('"').unwrap().0.parse().unwrap()
        };
        let bars: Vec<&str> = chart.lines().filter(|line| line.contains(" data-rate=")).collect();
        assert_eq!(bars.len(), 3);
        for bar in bars {
            let rate = value(bar, "data-rate");
            assert!((value(bar, "width") - rate / SCALE).abs() < 0.01, "{bar}");
            let words = format!("{},{:03}", rate as u32 / 1000, rate as u32 % 1000);
            assert!(chart.contains(&format!(">{words}<")), "{words} is next to its bar");
            assert!(stated.iter().all(|text| text.contains(&words)), "{words} is stated");
        }
    }

    #[test]
    fn faults_of_a_site_are_found() {
        let Some(mdbook) = mdbook() else { return };
        let folder = TempFolder::new("book-faults");
        let sources = folder.path().join("sources");
        let site = folder.path().join("site");
        fs::create_dir(&sources).unwrap();
        fs::write(sources.join("book.toml"), "[book]\nsrc = \".\"\n").unwrap();
        fs::write(sources.join(SUMMARY), "[One](one.md)\n").unwrap();
        fs::write(sources.join("one.md"), "# One\n\n[a](two.md) [b](#none) [c](#one)\n").unwrap();
        fs::write(sources.join("two.md"), "# Two\n").unwrap();
        let faults = build_and_check(&mdbook, &sources, &site).unwrap();
        for fault in [
            "two.md: SUMMARY.md does not list the page",
            "one.html: two.html: no such file",
            "one.html: #none: no such place in the page",
        ] {
            assert!(faults.iter().any(|found| found == fault), "{fault}: {faults:#?}");
        }
        assert!(!faults.iter().any(|found| found.contains("#one")), "{faults:#?}");
    }
}
