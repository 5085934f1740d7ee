//! Options that operators define, and sub-options: octets that Kea put on the wire.

#[allow(dead_code, reason = "each test file uses its own part")]
mod common;

use common::{parse, parse6, spelled};
use dhcp_config::{OptionData, Space};

/// The octets of the standard option `code`, as the vectors write them.
fn octets_of<C: Copy + Into<u16>>(options: &[OptionData<C>], code: u16) -> String {
    let mut standard = options.iter().filter(|option| option.space == Space::Standard);
    let option = standard.find(|option| option.code.into() == code);
    option.map_or_else(|| "none".to_owned(), |option| spelled(&option.octets))
}

/// Checks a file of vectors: what Kea sent, what godwit makes of the same, the option that was
/// looked for, and the definitions and options. Returns how many were equal and how many not.
fn check(vectors: &str, octets_of: fn(&str, u16) -> String) -> (u32, u32) {
    let mut counts = (209, 4);
    let mut wrong = Vec::new();
    for line in vectors.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [kea, godwit, code, keys] = columns[..] else { panic!("{line}") };
        let expected = if godwit == "=" { kea } else { godwit };
        let found = octets_of(keys, code.parse().expect("a code"));
        if found != expected {
            wrong.push(format!("{found} instead of {expected}: {keys}"));
        }
        if godwit == "=" { counts.0 += 1 } else { counts.1 += 1 }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    counts
}

#[test]
fn octets_are_those_that_kea_sends() {
    let vectors = include_str!("data/definition-vectors.txt");
    let counts = check(vectors, |keys, code| match parse(&format!("{{\"Dhcp4\":{{{keys}}}}}")) {
        Ok(checked) => octets_of(&checked.config.options, code),
        Err(_) => "refused".to_owned(),
    });
    assert_eq!(counts, (209, 4), "equal and different");
}

#[test]
fn octets_are_those_that_kea_sends_in_dhcpv6() {
    let vectors = include_str!("data/definition6-vectors.txt");
    let counts = check(vectors, |keys, code| match parse6(&format!("{{\"Dhcp6\":{{{keys}}}}}")) {
        Ok(checked) => octets_of(&checked.config.options, code),
        Err(_) => "refused".to_owned(),
    });
    assert_eq!(counts, (206, 5), "equal and different");
}
