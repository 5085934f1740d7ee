//! Tests of the examples that Debian's package `kea-doc` installs: each is accepted.

use core::fmt::Debug;
use std::path::Path;

use crate::common::lines;
use dhcp_config::{
    CheckedConfig, ConfigProblem, Dhcp4, Dhcp6, NoIncludes, parse_dhcp4, parse_dhcp6, render,
};

/// Returns the examples of a family, by name.
fn examples(folder: &str) -> Vec<(String, String)> {
    let folder = Path::new("/usr/share/doc/kea/examples").join(folder);
    let Ok(entries) = std::fs::read_dir(&folder) else {
        testkit::skip("kea-doc is not installed");
        return Vec::new();
    };
    let mut files: Vec<(String, String)> = entries
        .map(|entry| entry.expect("the folder is readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| {
            let text = std::fs::read_to_string(&path).expect("the file is text");
            (path.display().to_string(), text)
        })
        .collect();
    files.sort();
    assert!(files.len() > 15, "{} has {} files", folder.display(), files.len());
    files
}

type Parse<T> = fn(&str, &str) -> Result<CheckedConfig<T>, Vec<ConfigProblem>>;

/// Checks that examples are accepted and survive their documents.
fn are_accepted<T: PartialEq + Debug>(folder: &str, parse: Parse<T>) {
    let must = |name: &str, text: &str| {
        parse(name, text).unwrap_or_else(|problems| panic!("{name}: {:?}", lines(&problems)))
    };
    for (name, text) in examples(folder) {
        let checked = must(&name, &text);
        let again = must(&name, &render(&checked.document.to_json()));
        assert_eq!(again.config, checked.config, "{name}");
    }
}

#[test]
fn the_examples_of_dhcpv4_are_accepted() {
    are_accepted::<Dhcp4>("kea4", |name, text| parse_dhcp4(name, text, &mut NoIncludes));
}

#[test]
fn the_examples_of_dhcpv6_are_accepted() {
    are_accepted::<Dhcp6>("kea6", |name, text| parse_dhcp6(name, text, &mut NoIncludes));
}
