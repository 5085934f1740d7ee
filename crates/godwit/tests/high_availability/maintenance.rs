//! Maintenance of one server of a pair, as the chapter about high availability of Kea's manual has
//! it: the other server serves all clients before its partner ends.

use scenario::{ScenarioFamily, ScenarioServer};
use serde_json::json;

use super::{EXCHANGES, PairMode, ServerPair};
use crate::common::{has_debian_13, require, waited_until};
use crate::subjects::process::ServerMake;

/// Server that is maintained, and the one that serves meanwhile.
const MAINTAINED: usize = 0;
const OTHER: usize = 1;

impl ServerPair {
    /// Sends a command without arguments to the server that serves during the maintenance.
    pub(super) fn maintain(&mut self, command: &str) {
        let answer = self.command(OTHER, &json!({ "command": command }));
        assert_eq!(answer["result"], 0, "{:?}: {command}: {answer}", self.makes);
    }

    pub(super) fn wait_for_maintenance(&mut self) {
        for (server, state) in [(OTHER, "partner-in-maintenance"), (MAINTAINED, "in-maintenance")] {
            let has_come = waited_until(|| self.states(server)[0] == state);
            let states = self.states(server);
            assert!(has_come, "{:?}: {state}: {states:?}", self.makes);
        }
    }
}

/// A maintenance that is canceled changes nothing; during another one the server ends, starts again
/// and copies the leases that it lacks.
fn a_server_is_maintained(family: ScenarioFamily, mode: PairMode, makes: [ServerMake; 2]) {
    let mut pair = ServerPair::start(family, mode, &makes, 60_000);
    pair.wait_until_normal();
    pair.maintain("ha-maintenance-start");
    pair.wait_for_maintenance();
    pair.maintain("ha-maintenance-cancel");
    pair.wait_until_normal();
    pair.maintain("ha-maintenance-start");
    pair.wait_for_maintenance();
    pair.clients(OTHER);
    pair.servers[MAINTAINED].kill();
    // The partner is expected to end, so that no client need wait for `max-response-delay`.
    pair.wait_for(OTHER, ["partner-down", "unavailable"]);
    pair.clients(OTHER);
    pair.servers[MAINTAINED].restart().unwrap();
    pair.wait_until_normal();
    let each = if family == ScenarioFamily::V4 { 1 } else { 2 };
    pair.check_leases(each * EXCHANGES * 2);
}

/// Maintains a server of each pair of Godwit with `make`.
fn servers_are_maintained_beside(make: ServerMake) {
    use PairMode::{HotStandby, LoadBalancing};
    use ScenarioFamily::{V4, V6};
    let godwit = ServerMake::Godwit;
    for (family, mode, makes) in [
        (V4, HotStandby, [godwit, make]),
        (V6, HotStandby, [make, godwit]),
        (V6, LoadBalancing, [godwit, make]),
        (V4, LoadBalancing, [make, godwit]),
    ] {
        a_server_is_maintained(family, mode, makes);
    }
}

#[test]
fn a_server_is_maintained_beside_godwit() {
    servers_are_maintained_beside(ServerMake::Godwit);
}

#[test]
fn a_server_is_maintained_beside_kea_2_2() {
    if require(&["kea-dhcp4", "kea-dhcp6"]) {
        servers_are_maintained_beside(ServerMake::Kea);
    }
}

#[test]
fn a_server_is_maintained_beside_kea_3() {
    if has_debian_13() {
        servers_are_maintained_beside(ServerMake::Kea3);
    }
}
