//! Hostile input over real sockets: forged Resets, Requests as fast as possible, option bombs and
//! random numbers, all at once, against an endpoint that serves a connection. Queues stay bounded,
//! no forged data is delivered, and every datagram that is repeated until it comes back does come
//! back.
//!
//! Figures of a run: `cargo run --release -p dccp-link --example hostile_input`.

mod attack_run;
mod forge;
mod relay;
mod senders;

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::common::{PATIENCE, RAW, UDP, in_a_namespace};
use attack_run::{AttackRunSize, AttackSpeed, run_attacks};

const SCALE: AttackRunSize = AttackRunSize {
    speed: AttackSpeed::WithTheFlow,
    patience: PATIENCE,
    exchanges: 200,
    packets: 50_000,
    clients: 150,
};

/// Returns a lock that lets one attack run work at a time: two would mostly measure the lack of
/// processors.
fn alone() -> MutexGuard<'static, ()> {
    static SIEGE: Mutex<()> = Mutex::new(());
    SIEGE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn a_connection_inside_of_udp_outlives_all_attacks() {
    let _alone = alone();
    for ccid in [2, 3] {
        let outcome = run_attacks(UDP, ccid, SCALE);
        println!("ccid {ccid}\n{outcome}");
        assert_eq!(outcome.abusers, SCALE.clients, "some never connected to abuse it");
        assert!(outcome.most.time_wait > 0, "nothing was over");
        assert!(outcome.answers.cookies > 10_000 && outcome.answers.restored > 0);
    }
}

#[test]
fn a_connection_over_ip_outlives_all_attacks() {
    in_a_namespace(|| {
        let _alone = alone();
        for ccid in [2, 3] {
            let outcome = run_attacks(RAW, ccid, SCALE);
            println!("ccid {ccid}\n{outcome}");
            assert!(outcome.answers.cookies > 10_000, "the table was hardly full");
            assert!(outcome.answers.restored > 0);
        }
    });
}

/// Checks that a connection outlives attacks at line rate. Datagrams that are lost while the server
/// cannot read that fast are repeated, at the pace of congestion control; the patience is for that.
#[test]
fn a_connection_outlives_attacks_at_line_rate() {
    let _alone = alone();
    let outcome = run_attacks(UDP, 2, AttackRunSize { speed: AttackSpeed::LineRate, ..SCALE });
    println!("at line rate\n{outcome}");
    // A Request is answered with a cookie only while the table is full.
    assert!(outcome.answers.cookies > 0, "the table was never full");
}
