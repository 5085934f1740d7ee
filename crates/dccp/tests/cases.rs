//! Tests that the table of conformance cases names existing tests, and has all cases of the list.

use std::collections::BTreeSet;
use std::path::Path;

/// Number of conformance cases in each group; together there are 147.
const GROUPS: [(&str, usize); 12] = [
    ("HDR", 12),
    ("CSUM", 11),
    ("OPT", 13),
    ("FEAT", 23),
    ("SEQ", 18),
    ("CON", 20),
    ("CLS", 10),
    ("ACK", 15),
    ("TFRC", 17),
    ("PMTU", 3),
    ("ENC", 3),
    ("DOS", 2),
];

#[test]
fn every_case_is_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = std::fs::read_to_string(root.join("tests/conformance/CASES.md")).unwrap();
    let mut listed = BTreeSet::new();
    for row in table.lines().filter(|line| line.starts_with("| ") && line.contains('`')) {
        let cells: Vec<_> = row.split(" | ").collect();
        let case = cells[0].trim_start_matches("| ");
        assert!(listed.insert(case.to_owned()), "{case} stands twice");
        let prefix = format!("{}_", case.to_lowercase().replace('-', "_"));
        let names: Vec<_> = cells[3].split('`').skip(1).step_by(2).collect();
        for pair in names.chunks(2) {
            let source = std::fs::read_to_string(root.join(pair[0])).unwrap();
            assert!(pair[1].starts_with(&prefix), "{case}: {}", pair[1]);
            let declaration = format!("#[test]\nfn {}()", pair[1]);
            let indented = format!("#[test]\n    fn {}()", pair[1]);
            let exists = source.contains(&declaration) || source.contains(&indented);
            assert!(exists, "{case}: {} is not in {}", pair[1], pair[0]);
        }
    }
    let expected: BTreeSet<_> = GROUPS
        .into_iter()
        .flat_map(|(group, count)| (1..=count).map(move |number| format!("{group}-{number:02}")))
        .collect();
    assert_eq!(listed, expected);
    assert_eq!(listed.len(), 147);
}
