//! Tables of the manual that compare with Kea, and their letters for the scopes of keys.

use std::fs;
use std::path::Path;

const BOOK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/book");

/// Scopes that have a letter, by the key that contains them.
const SCOPES: [(&str, &str); 9] = [
    ("Dhcp#", "G"),
    ("shared-networks", "N"),
    ("subnet#", "S"),
    ("pools", "P"),
    ("pd-pools", "D"),
    ("client-classes", "C"),
    ("reservations", "H"),
    ("output-options", "output_options"),
    ("hosts-database", "hosts-databases"),
];

/// Keys whose maps do not concern the server: parameters of libraries, notes of operators.
pub(crate) const FREE: [&str; 2] = ["parameters", "user-context"];

/// Returns the scope of the keys in the maps under the key `holder`: a letter, or `holder` itself.
pub(crate) fn scope_below(holder: &str) -> &str {
    let general = holder.replace(['4', '6'], "#");
    let scope = SCOPES.iter().find(|(key, _)| *key == general);
    scope.map_or(holder, |scope| scope.1)
}

/// Returns the text of a page of the manual.
pub(crate) fn page(name: &str) -> String {
    fs::read_to_string(Path::new(BOOK).join(name)).expect("the manual is part of the repository")
}

/// Returns the text of a page of the manual as one line.
pub(crate) fn running_text(name: &str) -> String {
    page(name).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the rows of all tables of `page` whose head begins with `first` and ends with
/// `Compared with Kea`.
pub(crate) fn rows<'a>(page: &'a str, first: &str) -> Vec<Vec<&'a str>> {
    let mut found = Vec::new();
    let mut is_inside = false;
    for line in page.lines() {
        let Some(row) = line.strip_prefix("| ").and_then(|row| row.strip_suffix(" |")) else {
            is_inside &= line.starts_with("|---");
            continue;
        };
        let cells: Vec<&str> = row.split(" | ").collect();
        if is_inside {
            found.push(cells);
        } else {
            is_inside = cells[0] == first && cells.last() == Some(&"Compared with Kea");
        }
    }
    found
}

/// Returns the texts between backquotes.
pub(crate) fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// Key in one scope, as the manual's tables of keys describe it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ManualKey {
    /// Family of the servers that have the key: `4` or `6`.
    pub(crate) family: char,
    pub(crate) key: String,
    /// Scope of the key: a letter, or the key that contains the map.
    pub(crate) scope: String,
    /// Comparison with Kea: `same`, `different` or `not yet`, and a remark.
    pub(crate) status: String,
}

/// Returns every key of `page` in every scope.
pub(crate) fn keys(page: &str) -> Vec<ManualKey> {
    let mut told = Vec::new();
    for row in rows(page, "Key") {
        let [keys, families, scopes, status] = row[..] else { panic!("four cells, not {row:?}") };
        for family in families.chars().filter(char::is_ascii_digit) {
            for key in quoted(keys) {
                for scope in scopes.split(' ').map(|scope| scope.trim_matches('`')) {
                    let (key, scope) = (key.to_owned(), scope.to_owned());
                    told.push(ManualKey { family, key, scope, status: status.to_owned() });
                }
            }
        }
    }
    told
}
