//! Tests of Debian's perfdhcp and Godwit's at one rate against one healthy responder: both report
//! the same counts as the responder.

use std::process::Command;

use super::responder::{ClientTreatment, DhcpResponder};
use super::{TRIES_MAX, figures, measured, send_args, words};
use crate::common::perfdhcp::figures as lines_of;
use crate::common::{free_port, require, run_bounded};

/// Number of exchanges.
const COUNT: u64 = 400;
/// Arguments of both programs.
const LINE: &str = "-4 -r 200 -n 400 -n 400 -R 5000 -d 60 -d 60";

/// Numbers of first requests sent and answered, then of second ones.
type Done = [u64; 4];

fn ours() -> Done {
    let responder = DhcpResponder::start(false, |_| ClientTreatment::Good);
    let (json, code) = measured(LINE, &responder);
    let [sent, received] = figures(&json, 0, ["sent", "on_time"]);
    let [requests, acks] = figures(&json, 1, ["sent", "on_time"]);
    assert_eq!((code, sent, requests), (0, COUNT, COUNT), "{json}");
    assert_eq!(responder.counts(), [sent, requests, 0, 0]);
    [sent, received, requests, acks]
}

/// Runs Debian's program, once more if it sent more than requested, or if its socket, which holds
/// few replies, was full while the program was delayed.
fn debians() -> Done {
    let run = || {
        let responder = DhcpResponder::start(false, |_| ClientTreatment::Good);
        let mut command = Command::new("/usr/sbin/perfdhcp");
        command.args(words(LINE)).args(["-W", "60000000"]).args(send_args(&responder, free_port()));
        let output = run_bounded(&mut command);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (sent, received) =
            (lines_of(&text, "sent packets:"), lines_of(&text, "received packets:"));
        assert_eq!((sent.len(), received.len()), (2, 2), "{text}");
        let [firsts, seconds, ..] = responder.counts();
        assert_eq!(sent, [firsts, seconds], "{text}");
        [sent[0], received[0], sent[1], received[1]]
    };
    let mut done = run();
    for _ in 1..TRIES_MAX {
        if done == [COUNT; 4] {
            break;
        }
        println!("once more: {done:?}");
        done = run();
    }
    done
}

#[test]
fn debians_and_ours_say_the_same_of_a_healthy_server() {
    if require(&["perfdhcp"]) {
        assert_eq!(ours(), debians());
    }
}
