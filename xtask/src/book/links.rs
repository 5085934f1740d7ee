//! Links of a site's pages: each leads to a file of the site, and to a place that the page has.
//! Addresses of other sites are not looked at, since that would need a network.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Page of errors, which a server shows at any address: its links begin at the site's root.
const ERROR_PAGE: &str = "404.html";

/// Page that a server shows for the site's root.
const FIRST_PAGE: &str = "index.html";

/// Links and places of a page.
#[derive(Debug, Default)]
struct SitePage {
    /// Values of `href` and `src`, in order.
    targets: Vec<String>,
    /// Values of `id`.
    places: BTreeSet<String>,
}

/// Returns a line for each link of the pages below `site` that leads nowhere.
pub(super) fn faults(site: &Path) -> Result<Vec<String>, String> {
    let mut pages = BTreeMap::new();
    collect(site, Path::new(""), &mut pages)?;
    let mut faults = Vec::new();
    for (name, page) in &pages {
        for target in page.targets.iter().collect::<BTreeSet<_>>() {
            if let Some(fault) = fault(site, &pages, name, target) {
                faults.push(format!("{}: {target}: {fault}", name.display()));
            }
        }
    }
    Ok(faults)
}

/// Adds the pages in the folder `folder` of the site, and below it, to `pages`.
fn collect(
    site: &Path,
    folder: &Path,
    pages: &mut BTreeMap<PathBuf, SitePage>,
) -> Result<(), String> {
    let path = site.join(folder);
    let failed = |error| format!("{}: {error}", path.display());
    for entry in fs::read_dir(&path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = folder.join(entry.file_name());
        if entry.path().is_dir() {
            collect(site, &name, pages)?;
        } else if name.extension().is_some_and(|ending| ending == "html") {
            let text = fs::read_to_string(entry.path()).map_err(failed)?;
            pages.insert(name, read(&text));
        }
    }
    Ok(())
}

/// Returns the reason why `target` of the page `name` leads nowhere; `None` if it leads somewhere.
fn fault(
    site: &Path,
    pages: &BTreeMap<PathBuf, SitePage>,
    name: &Path,
    target: &str,
) -> Option<&'static str> {
    if has_scheme(target) {
        return None;
    }
    let (file, place) = target.split_once('#').unwrap_or((target, ""));
    let file = file.split('?').next().unwrap_or_default();
    let path = match file {
        "" => name.to_owned(),
        "/" => PathBuf::from(FIRST_PAGE),
        _ if name == Path::new(ERROR_PAGE) => PathBuf::from(file.trim_start_matches('/')),
        _ => match resolve(name, file) {
            Some(path) => path,
            None => return Some("is outside of the site"),
        },
    };
    if !site.join(&path).is_file() {
        return Some("no such file");
    }
    let page = pages.get(&path)?;
    (!place.is_empty() && !page.places.contains(place)).then_some("no such place in the page")
}

/// Returns true if `target` is an address with a scheme, such as `https:`.
fn has_scheme(target: &str) -> bool {
    target.split_once(':').is_some_and(|(scheme, _)| {
        !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphabetic())
    })
}

/// Returns the path from the site's root of the file `file`, as the page `name` calls it; `None` if
/// it is above the root.
fn resolve(name: &Path, file: &str) -> Option<PathBuf> {
    let mut path = name.parent().unwrap_or_else(|| Path::new("")).to_owned();
    for component in Path::new(file).components() {
        match component {
            Component::Normal(part) => path.push(part),
            Component::ParentDir => {
                if !path.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

/// Returns the links and places of the page `html`. mdBook writes attributes in double quotes, and
/// escapes quotes in text.
fn read(html: &str) -> SitePage {
    let mut page = SitePage::default();
    for (attribute, rest) in attributes(html) {
        let Some((value, _)) = rest.split_once('"') else { continue };
        let value = value.replace("&amp;", "&");
        match attribute {
            "id" => {
                page.places.insert(value);
            }
            _ => page.targets.push(value),
        }
    }
    page
}

/// Returns `id`, `href` or `src` for each such attribute in `html`, with the text from its value
/// on.
fn attributes(html: &str) -> impl Iterator<Item = (&'static str, &str)> {
    ["id", "href", "src"].into_iter().flat_map(move |name| {
        let begins = |before: &str| before.ends_with(char::is_whitespace);
        html.match_indices(name).filter_map(move |(at, _)| {
            let (before, from) = html.split_at(at);
            let value = from.strip_prefix(name)?.strip_prefix("=\"")?;
            begins(before).then_some((name, value))
        })
    })
}

#[cfg(test)]
mod tests {
    use testkit::TempFolder;

    use super::*;

    #[test]
    fn links_and_places_of_a_page_are_found() {
        let page = read(
            "<a href=\"x.html?a=1&amp;b#c\">href=\"no\"</a>\n<img\n  src=\"y.png\"><h1 id=\"h\">\
             <code>&quot; src=&quot;z&quot;</code><p data-id=\"w\">",
        );
        assert_eq!(page.targets, ["x.html?a=1&b#c", "y.png"]);
        assert_eq!(page.places.into_iter().collect::<Vec<_>>(), ["h"]);
    }

    #[test]
    fn links_that_lead_nowhere_are_reported() {
        let folder = TempFolder::new("links");
        let site = folder.path();
        fs::create_dir(site.join("below")).unwrap();
        fs::write(site.join("a.html"), "<p id=\"place\"> <a href=\"below/b.html#there\">").unwrap();
        fs::write(site.join("404.html"), "<a href=\"/a.html\"> <a href=\"/none.html\">").unwrap();
        let links = ["../a.html#place", "../a.html#none", "c.png", "../../out", "https://x.y/z"];
        let text: String = links.iter().map(|link| format!("<a href=\"{link}\">\n")).collect();
        fs::write(site.join("below/b.html"), format!("<p id=\"there\">{text}")).unwrap();
        let expected = [
            "404.html: /none.html: no such file",
            "below/b.html: ../../out: is outside of the site",
            "below/b.html: ../a.html#none: no such place in the page",
            "below/b.html: c.png: no such file",
        ];
        assert_eq!(faults(site).unwrap(), expected);
    }
}
