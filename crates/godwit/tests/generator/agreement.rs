//! Debian's perfdhcp and ours at one rate against one healthy responder: they say the same, and the
//! responder too.

use std::process::Command;

use super::responder::{Act, Responder, free_port};
use super::{TRIES_MAX, figures, measured, way, words};
use crate::common::perfdhcp::figures as lines_of;
use crate::common::{require, run_bounded};

/// Exchanges a second and how long.
const LINE: &str = "-4 -r 500 -p 4 -R 5000 -d 2 -d 2";

/// What one generator did: first requests sent and answered, second ones, rate at the responder.
#[derive(Clone, Copy, Debug)]
struct Done {
    counts: [u64; 4],
    per_s: f64,
}

impl Done {
    fn is_near(self, other: Self) -> bool {
        let pairs = self.counts.into_iter().zip(other.counts);
        let counts = pairs.map(|(mine, its)| (mine as f64, its as f64));
        let rates = std::iter::once((self.per_s, other.per_s));
        counts.chain(rates).all(|(mine, its)| (mine / its - 1.0).abs() <= 0.01)
    }
}

fn ours() -> Done {
    let responder = Responder::start(false, |_| Act::Good);
    let (json, code) = measured(LINE, &responder);
    let [sent, received] = figures(&json, 0, ["sent", "on_time"]);
    let [requests, acks] = figures(&json, 1, ["sent", "on_time"]);
    assert_eq!((code, sent, requests), (0, 2_000, 2_000), "{json}");
    assert_eq!(responder.counts(), [sent, requests, 0, 0]);
    Done { counts: [sent, received, requests, acks], per_s: responder.first_requests_per_s() }
}

fn debians() -> Done {
    let responder = Responder::start(false, |_| Act::Good);
    let mut command = Command::new("/usr/sbin/perfdhcp");
    command.args(words(LINE)).args(["-W", "1000000"]).args(way(&responder, free_port(false)));
    let output = run_bounded(&mut command);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (sent, received) = (lines_of(&text, "sent packets:"), lines_of(&text, "received packets:"));
    assert_eq!((sent.len(), received.len()), (2, 2), "{text}");
    let [firsts, seconds, ..] = responder.counts();
    assert_eq!(sent, [firsts, seconds], "{text}");
    let counts = [sent[0], received[0], sent[1], received[1]];
    Done { counts, per_s: responder.first_requests_per_s() }
}

#[test]
fn debians_and_ours_agree_within_one_per_cent_on_a_healthy_server() {
    if !require(&["perfdhcp"]) {
        return;
    }
    let mut done = [ours(), debians()];
    // A machine that stands still for a moment changes the rate of whoever runs.
    for _ in 1..TRIES_MAX {
        if done[0].is_near(done[1]) {
            break;
        }
        println!("once more: {done:?}");
        done = [ours(), debians()];
    }
    assert!(done[0].is_near(done[1]), "{done:?}");
}
