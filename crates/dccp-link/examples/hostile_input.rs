//! Measurement of an endpoint under attack, on loopback: `hostile_input [PACKETS]` sends that many
//! packets of each attack. The part over IP needs the right to create a network namespace.

#![allow(clippy::unwrap_used, reason = "a failed step ends the run")]

#[path = "../tests/hostile/attack_run.rs"]
mod attack_run;
#[allow(dead_code, unused_imports, unused_macros, reason = "the tests need more of it")]
#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/hostile/forge.rs"]
mod forge;
#[path = "../tests/hostile/relay.rs"]
mod relay;
#[path = "../tests/hostile/senders.rs"]
mod senders;

use std::time::Duration;

use attack_run::{AttackRunSize, AttackSpeed, run_attacks};
use common::{RAW, UDP, in_a_namespace};

fn main() {
    let packets = std::env::args().nth(1).map_or(300_000, |word| word.parse().unwrap());
    // At line rate most packets are lost, and TFRC may then wait for a minute between two.
    let patience = Duration::from_secs(600);
    let scale = AttackRunSize {
        speed: AttackSpeed::WithTheFlow,
        patience,
        exchanges: 2_000,
        packets,
        clients: 500,
    };
    for (speed, words) in
        [(AttackSpeed::WithTheFlow, "as fast as is read"), (AttackSpeed::LineRate, "line rate")]
    {
        let scale = AttackRunSize { speed, ..scale };
        for ccid in [2, 3] {
            println!("inside of UDP, CCID {ccid}, {words}\n{}", run_attacks(UDP, ccid, scale));
        }
        in_a_namespace(|| {
            for ccid in [2, 3] {
                println!("over IP, CCID {ccid}, {words}\n{}", run_attacks(RAW, ccid, scale));
            }
        });
    }
}
