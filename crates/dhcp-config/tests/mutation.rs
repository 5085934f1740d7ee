//! Broken texts: whatever stands in a file, parsing ends, does not panic and explains itself.

#[allow(dead_code, reason = "each test file uses its own part")]
mod common;

use base::Random;
use common::{Files, folder, shipped_includes};
use dhcp_config::{Dhcp4, Problem, Severity, parse_dhcp4};

const CASES: u32 = 200_000;

const SCRAPS: [&str; 40] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "/*",
    "*/",
    "//",
    "#",
    "\n",
    "\t",
    "0",
    "-",
    "+1",
    "1e9",
    "4294967296",
    "99999999999999999999",
    "true",
    "False",
    "null",
    "\\u00ff",
    "\\u",
    "<?include \"include/subnets.json\"?>",
    "<?include \"main\"?>",
    "\"id\":0",
    "\"subnet\"",
    "\"10.0.0.0/0\"",
    "255.255.255.255",
    "\"pools\":[{\"pool\":\"0.0.0.0-255.255.255.255\"}]",
    "\"option-data\":[{\"code\":119,\"csv-format\":false,\"data\":\"c000\"}]",
    "'",
    "\u{0}",
    "ü",
    "\"user-context\":{\"godwit\":{\"shards\":70000}}",
    "[[[[[[[[[[[[[[[[",
    "e",
    ".",
];

fn mutate(random: &mut Random, text: &mut Vec<u8>) {
    for _ in 0..=random.below(3) {
        let length = text.len() as u64;
        let at = random.below(length + 1) as usize;
        let end = (at + random.below(20) as usize).min(text.len());
        match random.below(5) {
            0 => drop(text.drain(at..end)),
            1 => {
                let copy: Vec<u8> = text[at..end].to_vec();
                let to = random.below(length + 1) as usize;
                text.splice(to..to, copy);
            }
            2 => {
                let scrap = random.pick(&SCRAPS).expect("there are scraps").bytes();
                text.splice(at..end, scrap);
            }
            3 if at < text.len() => text[at] = random.next_u32() as u8,
            _ if random.chance(1, 8) => text.truncate(at),
            _ => {
                let scrap = random.pick(&SCRAPS).expect("there are scraps").bytes();
                text.splice(at..at, scrap);
            }
        }
    }
}

fn check_config(config: &Dhcp4) {
    let mut ids: Vec<u32> = config.subnets.iter().map(|subnet| subnet.id).collect();
    ids.sort_unstable();
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]) && ids.first() != Some(&0));
    for subnet in &config.subnets {
        let life = subnet.valid_lifetime;
        assert!(life.min_s <= life.default_s && life.default_s <= life.max_s);
        assert!(subnet.options.windows(2).all(|pair| pair[0].code < pair[1].code));
        assert!(subnet.server_hostname.len() < 64 && subnet.boot_file_name.len() < 128);
        assert!((0.0..1.0).contains(&subnet.cache_threshold));
        let mask = u32::MAX.checked_shl(32 - u32::from(subnet.prefix.1)).unwrap_or(0);
        for pool in &subnet.pools {
            assert!(pool.first <= pool.last);
            assert_eq!(pool.first.to_bits() & mask, subnet.prefix.0.to_bits());
            assert_eq!(pool.last.to_bits() & mask, subnet.prefix.0.to_bits());
        }
    }
}

fn check_problems(text: &str, problems: &[Problem]) {
    let lines = text.split('\n').count() as u32;
    for problem in problems {
        assert!(problem.line >= 1 && problem.column >= 1 && !problem.message.is_empty());
        assert!(problem.file != "main" || problem.line <= lines, "{problem}");
        assert!(problem.to_string().lines().count() <= 4, "{problem}");
    }
}

#[test]
fn broken_texts_are_explained() {
    let mut random = Random::from_seed(0x6b65_615f_636f_6e66);
    let shipped = folder("accepted");
    let mut files: Files = shipped_includes();
    let (mut accepted, mut refused) = (0_u32, 0_u32);
    for _ in 0..CASES {
        let mut text = random.pick(&shipped).expect("there are files").1.clone().into_bytes();
        mutate(&mut random, &mut text);
        let text = String::from_utf8_lossy(&text);
        match parse_dhcp4("main", &text, &mut files) {
            Ok(checked) => {
                accepted += 1;
                check_config(&checked.config);
                assert!(checked.warnings.iter().all(|p| p.severity == Severity::Warning));
                check_problems(&text, &checked.warnings);
            }
            Err(problems) => {
                refused += 1;
                assert!(problems.iter().any(|p| p.severity == Severity::Error), "{text}");
                check_problems(&text, &problems);
            }
        }
    }
    // Both outcomes have to occur often, or the mutations test nothing.
    assert!(accepted > CASES / 50 && refused > CASES / 4, "{accepted} {refused}");
}
