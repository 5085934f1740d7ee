//! Tests with behaviour that RFC 4340 leaves open to an implementation: no case may fail because of
//! it.

use std::cell::RefCell;

use dccp::header::PacketType;

use crate::conformance::faults::{each_option, is, nothing, once, options};
use crate::conformance::relay::{Change, FaultPacketChanges, FaultRelay};
use crate::conformance::{all_pass, udp_target};

/// Variation of the target's behaviour that RFC 4340 permits.
struct Variation {
    what: &'static str,
    changes: FaultPacketChanges,
    /// Names of the cases that once did not allow for this behaviour.
    cases: &'static [&'static str],
}

const DATA_OFFSET_AT: usize = 4;
/// Numbers of Change L and Change R; `CONFIRMS` has Confirm L and Confirm R (RFC 4340 §5.8).
const CHANGES: [u8; 2] = [32, 34];
const CONFIRMS: [u8; 2] = [33, 35];
/// Features that are not server-priority: Sequence Window and Ack Ratio (RFC 4340 §6.4).
const NON_NEGOTIABLE: [u8; 2] = [3, 5];

const fn reads(forward: Change) -> FaultPacketChanges {
    FaultPacketChanges { forward, backward: nothing, copies: once }
}

thread_local! {
    /// Confirm options that wait for the next SyncAck on this thread's path through the relay.
    static WAITING: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Keeps the Confirm options of an Ack, and drops that Ack; the next SyncAck carries them.
fn delay_confirms(octets: &mut Vec<u8>) {
    if is(octets, PacketType::Ack) {
        let mut confirms = Vec::new();
        for kind in CONFIRMS {
            each_option(octets, kind, |_, value| {
                confirms.extend([kind, value.len() as u8 + 2]);
                confirms.extend_from_slice(value);
            });
        }
        if !confirms.is_empty() {
            WAITING.with_borrow_mut(|waiting| waiting.append(&mut confirms));
            octets.clear();
        }
    } else if is(octets, PacketType::SyncAck) {
        let mut confirms = WAITING.take();
        confirms.resize(confirms.len().next_multiple_of(4), 0);
        let at = options(octets).start;
        octets[DATA_OFFSET_AT] += (confirms.len() / 4) as u8;
        octets.splice(at..at, confirms);
    }
}

const VARIATIONS: &[Variation] = &[
    Variation {
        what: "the data of a Request is not taken (§8.1.1)",
        changes: reads(|octets| {
            if is(octets, PacketType::Request) && octets.ends_with(b"early") {
                octets.truncate(octets.len() - 5);
            }
        }),
        cases: &["CON-17"],
    },
    Variation {
        what: "a Confirm waits for a packet that is sent anyway (§6.6.1)",
        changes: FaultPacketChanges { forward: nothing, backward: delay_confirms, copies: once },
        cases: &["FEAT-06", "FEAT-07", "FEAT-08", "FEAT-16", "FEAT-19", "SEQ-16", "ACK-05"],
    },
    Variation {
        what: "a Change of a server-priority feature is looked at during the handshake alone",
        changes: reads(|octets| {
            if !is(octets, PacketType::Request) {
                for kind in CHANGES {
                    each_option(octets, kind, |number, value| {
                        if !NON_NEGOTIABLE.contains(&value[0]) {
                            *number = 50;
                        }
                    });
                }
            }
        }),
        // Linux does so against §6.6.1, and these cases test other rules.
        cases: &[
            "CSUM-04", "CSUM-07", "CSUM-08", "CSUM-09", "SEQ-18", "TFRC-04", "TFRC-06", "TFRC-07",
            "TFRC-13",
        ],
    },
];

#[test]
fn what_is_left_open_turns_nothing_red() {
    for Variation { what, changes, cases } in VARIATIONS {
        println!("{what}");
        let relay = FaultRelay::start(*changes);
        let names: Vec<_> = cases.iter().map(|case| (*case).to_owned()).collect();
        all_pass(udp_target(relay.udp_port), &names, names.len());
    }
}
