//! Site of the manual in headless Chromium at three widths: nothing is cut off or missing, nothing
//! is loaded from elsewhere, and the search finds words. `cargo xtask book` checks the links.

use std::fs;
use std::path::Path;
use std::process::Command;

use testbed::debian::Debian13;

use crate::chromium::{Browser, chromium};
use crate::common::{TempFolder, is_root, skip};

/// Script that runs mdBook in Debian 13's root folder.
const SCRIPT: &str = include_str!("../../../xtask/src/book/build.sh");

/// Widths of a phone, a tablet and a desktop screen, in pixels.
const WIDTHS: [u32; 3] = [360, 800, 1400];

/// Faults of a page, and the number of its pictures.
const LOOK: &str = r##"(async () => {
  const faults = [];
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) faults.push("it scrolls sideways");
  for (const image of document.images) {
    await image.decode().catch(() => {});
    if (!image.naturalWidth) faults.push(`no picture ${image.src}`);
    if (!image.alt) faults.push(`no words for ${image.src}`);
    const box = image.getBoundingClientRect();
    if (box.right > root.clientWidth + 1) faults.push(`${image.src} is cut off`);
  }
  for (const { name } of performance.getEntriesByType("resource"))
    if (!name.startsWith("file:") && !name.startsWith("data:")) faults.push(`it loads ${name}`);
  const text = document.querySelector("main").getBoundingClientRect();
  if (text.width < 250 || text.height < 200) faults.push("there is no text");
  return faults.join("; ");
})()"##;

/// Makes the site in `folder`; returns false, with a note, if the programs for it are missing.
fn make(folder: &Path) -> bool {
    if !is_root() {
        return false;
    }
    let debian = Debian13::find().filter(|debian| debian.program("mdbook").is_some());
    let Some(debian) = debian else {
        return skip("there is no root folder of Debian 13 with mdbook");
    };
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-euc", SCRIPT, "book"]).arg(debian.root());
    let output = command.arg(sources).arg(folder).output().expect("unshare runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    true
}

/// Adds the pages in `folder` to `pages`, as their paths.
fn collect(folder: &Path, pages: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().expect("it has a name").to_string_lossy().into_owned();
        if path.is_dir() {
            collect(&path, pages);
        } else if name.ends_with(".html") && !["toc.html", "404.html"].contains(&&*name) {
            pages.push(path.display().to_string());
        }
    }
}

#[test]
fn pages_fit_three_widths_and_the_search_finds_words() {
    let Some(program) = chromium() else { return };
    let folder = TempFolder::new("site");
    if !make(folder.path()) {
        return;
    }
    let mut pages = Vec::new();
    collect(folder.path(), &mut pages);
    pages.sort();
    assert!(pages.len() > 60, "{pages:?}");
    let mut browser = Browser::start(&program, "manual");
    let mut faults = Vec::new();
    for width in WIDTHS {
        browser.resize(width);
        for page in &pages {
            browser.open(&format!("file://{page}"));
            let found = browser.run(LOOK);
            let found = found.as_str().expect("it is text");
            if !found.is_empty() {
                faults.push(format!("{page} at {width}: {found}"));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
    browser.open(&format!("file://{}/index.html", folder.path().display()));
    browser.run("document.getElementById('search-toggle').click()");
    browser.run(
        "const bar = document.getElementById('searchbar'); bar.value = 'avalanche'; \
         bar.dispatchEvent(new KeyboardEvent('keyup', { key: 'e', keyCode: 69 })); 0",
    );
    let results = "[...document.querySelectorAll('#searchresults a')].map(link => link.href)";
    browser.wait_for(&format!("{results}.some(link => link.includes('book/perfdhcp.html'))"));
    assert_eq!(browser.complaints(), [""; 0]);
}
