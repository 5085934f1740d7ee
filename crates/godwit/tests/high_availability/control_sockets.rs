//! Pairs without a listener of the library (`http-dedicated-listener` false): each server accepts
//! the commands of its partner at an HTTP control socket, with a password.

use scenario::ScenarioFamily;
use serde_json::json;

use super::{PairMode, PairSetup, hot_standby};
use crate::common::has_debian_13;
use crate::subjects::process::{CREDENTIALS, SOCKETS_MARK, ServerMake};

/// Returns the members of a configuration with a Unix control socket and an HTTP one at `address`
/// and `port`.
pub(super) fn members(address: &str, port: u16) -> String {
    let authentication = json!({
        "type": "basic", "realm": "x", "directory": SOCKETS_MARK,
        "clients": [{ "password-file": CREDENTIALS }],
    });
    let sockets = json!([
        { "socket-type": "unix", "socket-name": format!("{SOCKETS_MARK}/control") },
        { "socket-type": "http", "socket-address": address, "socket-port": port,
          "authentication": authentication },
    ]);
    format!("\"control-sockets\": {sockets},")
}

fn a_pair_lives(family: ScenarioFamily, makes: [ServerMake; 2]) {
    let mut setup = PairSetup::new(family, PairMode::HotStandby, 2_000);
    setup.uses_control_sockets = true;
    let pair = setup.start(&makes);
    // The control socket has all commands.
    assert_eq!(pair.status_for_partner(0, "config-get"), 401);
    hot_standby::live(pair);
}

#[test]
fn a_pair_of_godwit_lives_by_control_sockets() {
    for family in [ScenarioFamily::V4, ScenarioFamily::V6] {
        a_pair_lives(family, [ServerMake::Godwit; 2]);
    }
}

#[test]
fn a_pair_with_kea_3_lives_by_control_sockets() {
    if has_debian_13() {
        for family in [ScenarioFamily::V4, ScenarioFamily::V6] {
            a_pair_lives(family, [ServerMake::Godwit, ServerMake::Kea3]);
            a_pair_lives(family, [ServerMake::Kea3, ServerMake::Godwit]);
        }
    }
}
