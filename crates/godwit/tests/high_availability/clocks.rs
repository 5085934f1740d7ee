//! Pairs whose clocks do not agree. One server of Godwit sees the time that libfaketime shows: the
//! time of the machine and a difference, which the test changes while the server runs.

use std::fs;
use std::path::Path;

use scenario::{ScenarioFamily, ScenarioServer};

use super::{EXCHANGES, PairMode, ServerPair};
use crate::common::{TempFolder, has_debian_13, require, waited_until};
use crate::subjects::process::ServerMake;

/// Library that shows a program another time; the loader replaces `$LIB` by the folder of the
/// machine's architecture.
const LIBRARY: &str = "/usr/$LIB/faketime/libfaketimeMT.so.1";
/// Server whose clock is changed.
const FAKED: usize = 0;

/// Clock of a server: the time of the machine and a difference.
pub(super) struct FakedClock {
    folder: TempFolder,
}

impl FakedClock {
    /// Returns a clock that agrees with that of the machine.
    pub(super) fn new() -> Self {
        let clock = Self { folder: TempFolder::new("ha-clock") };
        clock.set(0);
        clock
    }

    /// Makes the clock differ from that of the machine by `seconds`.
    pub(super) fn set(&self, seconds: i32) {
        let file = self.folder.path().join("difference");
        let written = self.folder.path().join("written");
        fs::write(&written, format!("{seconds:+}s\n")).expect("there is room");
        fs::rename(written, file).expect("both are in one folder");
    }

    /// Starts a server again, with this clock.
    pub(super) fn restart(&self, pair: &mut ServerPair, server: usize) {
        let file = self.folder.path().join("difference");
        pair.servers[server].kill();
        pair.servers[server].set_environment(&[
            ("LD_PRELOAD", Path::new(LIBRARY)),
            ("FAKETIME_TIMESTAMP_FILE", &file),
            ("FAKETIME_CACHE_DURATION", Path::new("1")),
            ("FAKETIME_DONT_FAKE_MONOTONIC", Path::new("1")),
        ]);
        pair.servers[server].restart().unwrap();
    }
}

/// Clocks that differ by more than a minute end the relationship. When they agree again, two
/// servers of Godwit go on, and a server of Kea does when it is started again, as its manual says.
/// Both have all leases then, also those of the time without a relationship.
fn clocks_differ_for_a_time(family: ScenarioFamily, makes: [ServerMake; 2]) {
    let mut pair = ServerPair::start(family, PairMode::HotStandby, &makes, 60_000);
    pair.wait_until_normal();
    let clock = FakedClock::new();
    clock.restart(&mut pair, FAKED);
    pair.wait_until_normal();
    for seconds in [90, -90] {
        clock.set(seconds);
        for server in [0, 1] {
            let has_ended = waited_until(|| pair.states(server)[0] == "terminated");
            let states = pair.states(server);
            assert!(has_ended, "{makes:?}: {seconds} s: server {server}: {states:?}");
        }
        pair.clients(FAKED);
        clock.set(0);
        if makes[1].is_kea() {
            for server in [0, 1] {
                pair.servers[server].kill();
            }
            for server in [0, 1] {
                pair.servers[server].restart().unwrap();
            }
        }
        pair.wait_until_normal();
        pair.clients(FAKED);
    }
    let each = if family == ScenarioFamily::V4 { 1 } else { 2 };
    pair.check_leases(each * EXCHANGES * 4);
}

#[test]
fn clocks_of_two_godwits_differ_for_a_time() {
    if require(&["faketime"]) {
        clocks_differ_for_a_time(ScenarioFamily::V4, [ServerMake::Godwit; 2]);
        clocks_differ_for_a_time(ScenarioFamily::V6, [ServerMake::Godwit; 2]);
    }
}

#[test]
fn clocks_of_godwit_and_kea_2_2_differ_for_a_time() {
    if require(&["faketime", "kea-dhcp4"]) {
        clocks_differ_for_a_time(ScenarioFamily::V4, [ServerMake::Godwit, ServerMake::Kea]);
    }
}

#[test]
fn clocks_of_godwit_and_kea_3_differ_for_a_time() {
    if require(&["faketime"]) && has_debian_13() {
        clocks_differ_for_a_time(ScenarioFamily::V6, [ServerMake::Godwit, ServerMake::Kea3]);
    }
}
