//! Tests with messages from real clients and servers, against tshark's reading of them, and against
//! the limits from which on Kea drops them.
//!
//! Each capture has a text counterpart: tshark's reading reduced to the fields compared here, so
//! that the comparison needs no tshark. When tshark is installed, the test compares the counterpart
//! with it first. `GODWIT_REQUIRE_TOOLS=1` makes a missing tshark a failure; `GODWIT_WRITE_TWINS=1`
//! writes the counterparts anew.

mod tshark;
mod v4;
mod v6;

use crate::common::Vectors;

fn hex(octets: impl IntoIterator<Item = u8>) -> String {
    octets.into_iter().map(|octet| format!("{octet:02x}")).collect()
}

/// Returns the bytes of a hexadecimal text; `-` is none.
fn octets(hex: &str) -> Vec<u8> {
    let digits = hex.trim_matches('-').as_bytes();
    let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16);
    digits.chunks(2).map(|pair| octet(pair).unwrap()).collect()
}

/// Asserts that the results of `is_taken` for the datagrams of Kea's verdicts equal those of Kea,
/// with the exceptions named in `different`. Its argument is the columns between verdict and name.
fn check_verdicts(
    vectors: Vectors,
    different: &[(&str, &str)],
    is_taken: impl Fn(&[&str]) -> bool,
) {
    let table = std::fs::read_to_string(vectors.file("kea-verdicts.txt")).unwrap();
    let mut differences = Vec::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split(" | ").collect();
        let [verdict, what @ .., name] = &columns[..] else { panic!("{line}") };
        if is_taken(what) != (*verdict == "answered") {
            differences.push(*name);
        }
    }
    let mut expected: Vec<&str> = different.iter().map(|(name, _)| *name).collect();
    expected.sort_unstable();
    differences.sort_unstable();
    assert_eq!(differences, expected);
}
