//! Tests with broken texts: for any contents, parsing ends, does not panic and reports the problem.

use core::fmt::Debug;
use core::net::Ipv6Addr;

use crate::common::{IncludeFiles, folder, parse_leniently, shipped_includes};
use base::Random;
use dhcp_config::{
    CheckedConfig, ConfigProblem, Dhcp4, Dhcp6, Lifetime, OptionData, Severity, parse_dhcp4,
    parse_dhcp6, render,
};

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

/// Pieces of text that only DHCPv6 has.
const SCRAPS6: [&str; 12] = [
    "\"2001:db8::/0\"",
    "::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "\"pools\":[{\"pool\":\"::-::1\"}]",
    "\"pd-pools\":[{\"prefix\":\"::\",\"prefix-len\":1,\"delegated-len\":128}]",
    "\"prefix-len\":129",
    "\"delegated-len\":0",
    "\"excluded-prefix\":\"3001:db8:8000::\",\"excluded-prefix-len\":57",
    "\"preferred-lifetime\":4294967295",
    "\"max-preferred-lifetime\":0",
    "\"rapid-commit\":true",
    "\"interface-id\":\"\\u00ff\"",
    "\"option-data\":[{\"code\":67,\"csv-format\":false,\"data\":\"81\"}]",
];

fn mutate(random: &mut Random, scraps: &[&str], text: &mut Vec<u8>) {
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
                let scrap = random.pick(scraps).expect("there are scraps").bytes();
                text.splice(at..end, scrap);
            }
            3 if at < text.len() => text[at] = random.next_u32() as u8,
            _ if random.chance(1, 8) => text.truncate(at),
            _ => {
                let scrap = random.pick(scraps).expect("there are scraps").bytes();
                text.splice(at..at, scrap);
            }
        }
    }
}

fn check_ids(ids: impl Iterator<Item = u32>) {
    let mut ids: Vec<u32> = ids.collect();
    ids.sort_unstable();
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]) && ids.first() != Some(&0));
}

fn check_lifetime(life: Lifetime) {
    assert!(life.min_s <= life.default_s && life.default_s <= life.max_s);
}

/// Asserts that options are ordered by space and code; of one code at most one is without class
/// tags, the last.
fn check_options<C: Ord>(options: &[OptionData<C>]) {
    assert!(options.windows(2).all(|pair| {
        let [one, two] = pair else { panic!("windows of two") };
        (one.space, &one.code) < (two.space, &two.code)
            || (one.space, &one.code) == (two.space, &two.code) && !one.client_classes.is_empty()
    }));
}

fn check_config(config: &Dhcp4) {
    check_options(&config.options);
    check_ids(config.subnets.iter().map(|subnet| subnet.id));
    for subnet in &config.subnets {
        check_lifetime(subnet.valid_lifetime);
        check_options(&subnet.options);
        assert!(subnet.own.server_hostname.len() < 64 && subnet.own.boot_file_name.len() < 128);
        assert!((0.0..1.0).contains(&subnet.cache_threshold));
        let mask = u32::MAX.checked_shl(32 - u32::from(subnet.prefix.1)).unwrap_or(0);
        for pool in &subnet.pools {
            assert!(pool.first <= pool.last);
            assert_eq!(pool.first.to_bits() & mask, subnet.prefix.0.to_bits());
            assert_eq!(pool.last.to_bits() & mask, subnet.prefix.0.to_bits());
        }
    }
}

fn masked(address: Ipv6Addr, length: u8) -> Ipv6Addr {
    let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
    Ipv6Addr::from_bits(address.to_bits() & mask)
}

fn check_config6(config: &Dhcp6) {
    check_options(&config.options);
    check_ids(config.subnets.iter().map(|subnet| subnet.id));
    assert!(config.own.relay_supplied_options.contains(&65));
    assert!(config.own.relay_supplied_options.windows(2).all(|pair| pair[0] < pair[1]));
    for network in &config.networks {
        let members = || network.subnets.iter().map(|&index| &config.subnets[index]);
        assert!(members().all(|subnet| subnet.own.rapid_commit == network.own.rapid_commit));
    }
    let mut delegated = Vec::new();
    for subnet in &config.subnets {
        check_lifetime(subnet.valid_lifetime);
        check_lifetime(subnet.own.preferred_lifetime);
        check_options(&subnet.options);
        assert!((0.0..1.0).contains(&subnet.cache_threshold));
        assert_eq!(masked(subnet.prefix.0, subnet.prefix.1), subnet.prefix.0);
        for pool in &subnet.pools {
            assert!(pool.first <= pool.last);
            for address in [pool.first, pool.last] {
                assert_eq!(masked(address, subnet.prefix.1), subnet.prefix.0);
            }
        }
        for pool in &subnet.own.pd_pools {
            let (network, length) = pool.prefix;
            assert!((1..=pool.delegated_len).contains(&length) && pool.delegated_len <= 128);
            assert_eq!(masked(pool.prefix.0, pool.prefix.1), network);
            delegated.push((network, length));
            if let Some((excluded, length)) = pool.excluded {
                assert!(length > pool.delegated_len && length <= 128);
                assert_eq!(masked(excluded, pool.delegated_len), network);
                assert_eq!(masked(excluded, length), excluded);
            }
        }
    }
    delegated.sort_unstable();
    let apart = |pair: &[(Ipv6Addr, u8)]| masked(pair[1].0, pair[0].1) != pair[0].0;
    assert!(delegated.windows(2).all(apart), "{delegated:?}");
}

fn check_problems(text: &str, problems: &[ConfigProblem]) {
    let lines = text.split('\n').count() as u32;
    for problem in problems {
        assert!(problem.line >= 1 && problem.column >= 1 && !problem.message.is_empty());
        assert!(problem.file != "main" || problem.line <= lines, "{problem}");
        assert!(problem.to_string().lines().count() <= 4, "{problem}");
    }
}

/// Parser of one family.
type Parse<T> = fn(&str, &str, &mut IncludeFiles) -> Result<CheckedConfig<T>, Vec<ConfigProblem>>;

/// Returns true if the document of a configuration gives the same configuration again.
fn check_document<T: PartialEq + Debug>(checked: &CheckedConfig<T>, parse: Parse<T>) {
    let text = render(&checked.document.to_json());
    match parse("main", &text, &mut IncludeFiles::default()) {
        Ok(again) => assert_eq!(again.config, checked.config, "{text}"),
        Err(problems) => panic!("{problems:?}\n{text}"),
    }
}

fn break_texts<T: PartialEq + Debug>(
    cases: u32,
    shipped: &str,
    scraps: &[&str],
    [parse, lenient]: [Parse<T>; 2],
    check: fn(&T),
) {
    let mut random = Random::from_seed(0x6b65_615f_636f_6e66);
    let shipped = folder(shipped);
    let mut files: IncludeFiles = shipped_includes();
    let (mut accepted, mut refused, mut rescued) = (0_u32, 0_u32, 0_u32);
    for case in 0..cases {
        let mut text = random.pick(&shipped).expect("there are files").1.clone().into_bytes();
        mutate(&mut random, scraps, &mut text);
        let text = String::from_utf8_lossy(&text);
        match parse("main", &text, &mut files) {
            Ok(checked) => {
                accepted += 1;
                check(&checked.config);
                assert!(checked.warnings.iter().all(|p| p.severity == Severity::Warning));
                check_problems(&text, &checked.warnings);
                if case % 64 == 0 {
                    check_document(&checked, parse);
                }
            }
            Err(problems) => {
                refused += 1;
                assert!(problems.iter().any(|p| p.severity == Severity::Error), "{text}");
                check_problems(&text, &problems);
                let what_is_right = (case % 64 == 0).then(|| lenient("main", &text, &mut files));
                if let Some(Ok(checked)) = what_is_right {
                    rescued += 1;
                    check(&checked.config);
                    check_problems(&text, &checked.warnings);
                    assert!(checked.warnings.iter().all(|p| p.severity == Severity::Warning));
                    assert!(checked.warnings.iter().any(|p| p.message.contains(" is left out: ")));
                    check_document(&checked, parse);
                }
            }
        }
    }
    // Both outcomes must occur often, or the mutations test nothing.
    assert!(accepted > cases / 50 && refused > cases / 4, "{accepted} {refused}");
    assert!(rescued > cases / 10_000, "{rescued}");
}

#[test]
fn broken_texts_are_explained() {
    break_texts(
        CASES,
        "accepted",
        &SCRAPS,
        [
            |name, text, files| parse_dhcp4(name, text, files),
            |name, text, files| parse_leniently(name, text, files),
        ],
        check_config,
    );
}

#[test]
fn broken_texts_of_dhcpv6_are_explained() {
    let scraps = [&SCRAPS[..], &SCRAPS6].concat();
    break_texts(
        CASES / 4,
        "accepted6",
        &scraps,
        [
            |name, text, files| parse_dhcp6(name, text, files),
            |name, text, files| parse_leniently(name, text, files),
        ],
        check_config6,
    );
}
