//! Hostile input over real sockets: forged Resets, Requests as fast as they go, option bombs and numbers
//! out of the blue, all at once, against an endpoint that serves a connection. What may wait is bounded,
//! nothing forged is delivered, and everything that is sent until it comes back does.
//!
//! Figures of a run: `cargo run --release -p dccp-link --example hostile_input`.

mod forge;
mod relay;
mod scene;
mod senders;

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::common::{PATIENCE, RAW, UDP, in_a_namespace};
use scene::{Pace, Scale, siege};

const SCALE: Scale = Scale {
    pace: Pace::WithTheFlow,
    patience: PATIENCE,
    exchanges: 200,
    packets: 50_000,
    clients: 150,
};

/// One siege at a time: two would mostly show how few processors there are.
fn alone() -> MutexGuard<'static, ()> {
    static SIEGE: Mutex<()> = Mutex::new(());
    SIEGE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn a_connection_inside_of_udp_outlives_all_attacks() {
    let _alone = alone();
    for ccid in [2, 3] {
        let outcome = siege(UDP, ccid, SCALE);
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
            let outcome = siege(RAW, ccid, SCALE);
            println!("ccid {ccid}\n{outcome}");
            assert!(outcome.answers.cookies > 10_000, "the table was hardly full");
            assert!(outcome.answers.restored > 0);
        }
    });
}

/// What is lost while nobody can read so fast is said again, at the pace of congestion control: that is
/// what the patience is for.
#[test]
fn a_connection_outlives_attacks_at_line_rate() {
    let _alone = alone();
    let outcome = siege(UDP, 2, Scale { pace: Pace::LineRate, ..SCALE });
    println!("at line rate\n{outcome}");
    // A Request is answered with a cookie only while the table is full, whenever it is looked at.
    assert!(outcome.answers.cookies > 0, "the table was never full");
}
