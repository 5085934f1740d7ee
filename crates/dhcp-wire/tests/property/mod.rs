//! Tests with datagrams of every kind, half a million of each family by default, against a second
//! implementation of the RFCs that is plain and slow.
//!
//! `GODWIT_FUZZ_CASES` sets the number of cases, `GODWIT_FUZZ_SEED` the seed; a failure prints the
//! command that repeats it alone.

mod v4;
mod v6;

use std::panic::{AssertUnwindSafe, catch_unwind};

const SEED: u64 = 0x676f_6477_6974;
const CASES: u64 = 1_000_000;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}

/// Runs the cases of a test, each with its seed; `run` returns true if its datagram was accepted.
fn run_cases(test: &str, mut run: impl FnMut(u64) -> bool) {
    let cases = number("GODWIT_FUZZ_CASES", CASES);
    let seed = number("GODWIT_FUZZ_SEED", SEED);
    println!("{cases} cases from seed {seed}");
    let mut accepted = 0;
    for case in 0..cases {
        let seed = seed.wrapping_add(case);
        match catch_unwind(AssertUnwindSafe(|| run(seed))) {
            Ok(is_accepted) => accepted += u64::from(is_accepted),
            Err(_) => panic!(
                "case {case} failed; repeat: GODWIT_FUZZ_SEED={seed} GODWIT_FUZZ_CASES=1 cargo \
                 test -p dhcp-wire --test main property::{test}"
            ),
        }
    }
    println!("{accepted} accepted");
    assert!(cases < 1_000 || accepted * 10 >= cases * 3, "{accepted} of {cases} accepted");
}
