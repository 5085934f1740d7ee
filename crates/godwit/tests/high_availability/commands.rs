//! Commands about a pair, next to Kea 3: their answers and refusals.

use scenario::{ScenarioFamily, ScenarioServer};
use serde_json::Value;

use super::{PairMode, PairSetup, configuration};
use crate::common::{PATIENCE, free_port, has_debian_13};
use crate::subjects::process::{Daemon, ServerMake, Setup};

/// Commands of partners and operators, each with its arguments, in the order in which they are sent
/// to a server whose partner does not run.
const COMMANDS: [(&str, &str); 31] = [
    ("ha-scopes", ""),
    ("ha-scopes", "{}"),
    ("ha-scopes", "[]"),
    ("ha-scopes", r#"{ "scopes": "server1" }"#),
    ("ha-scopes", r#"{ "scopes": [ 1 ] }"#),
    ("ha-scopes", r#"{ "scopes": [ "server3" ], "server-name": "server1" }"#),
    ("ha-scopes", r#"{ "scopes": [], "server-name": "server9" }"#),
    ("ha-scopes", r#"{ "scopes": [], "server-name": "server1" }"#),
    ("ha-continue", ""),
    ("ha-continue", "{}"),
    ("ha-continue", r#"{ "server-name": "server9" }"#),
    ("ha-sync-complete-notify", r#"{ "origin-id": "server2" }"#),
    ("ha-sync-complete-notify", r#"{ "origin": "server2" }"#),
    ("ha-sync-complete-notify", r#"{ "origin-id": 2000, "server-name": "server1" }"#),
    ("ha-maintenance-notify", ""),
    ("ha-maintenance-notify", "{}"),
    ("ha-maintenance-notify", r#"{ "server-name": "server1" }"#),
    ("ha-maintenance-notify", r#"{ "cancel": 1 }"#),
    ("ha-maintenance-notify", r#"{ "cancel": true, "state": 1 }"#),
    ("ha-maintenance-notify", r#"{ "cancel": true, "server-name": "server1" }"#),
    ("ha-maintenance-notify", r#"{ "cancel": true, "server-name": "server9" }"#),
    ("ha-reset", r#"{ "server-name": 1 }"#),
    ("ha-reset", ""),
    ("ha-reset", "{}"),
    ("ha-sync", ""),
    ("ha-sync", "{}"),
    ("ha-sync", r#"{ "server-name": 1 }"#),
    ("ha-sync", r#"{ "server-name": "server2", "max-period": "x" }"#),
    ("ha-maintenance-cancel", ""),
    ("ha-maintenance-start", r#"{ "server-name": "server9" }"#),
    ("ha-maintenance-start", ""),
];

/// Returns the answers to `COMMANDS` of a primary server whose partner does not run.
fn answers_without_partner(family: ScenarioFamily, make: ServerMake) -> Vec<String> {
    let pair = PairSetup::new(family, PairMode::HotStandby, 60_000);
    let config = &configuration(&pair, 0, make, &[free_port(), free_port()]);
    let setup = Setup { family, config, has_commands: true, persists: true, link: None };
    let mut server = Daemon::start(make, setup, 0, PATIENCE).expect("it starts");
    let answers = COMMANDS.iter().map(|(name, arguments)| {
        let key = if arguments.is_empty() { "" } else { r#", "arguments": "# };
        let command = format!(r#"{{ "command": "{name}"{key}{arguments} }}"#);
        let answer = server.command(&command).expect("it takes commands");
        let answer: Value = serde_json::from_str(&answer).expect("answers are JSON");
        format!("{name} {arguments}: {answer}")
    });
    answers.collect()
}

#[test]
fn commands_are_answered_as_by_kea_3() {
    if has_debian_13() {
        for family in [ScenarioFamily::V4, ScenarioFamily::V6] {
            let [ours, keas] = [ServerMake::Godwit, ServerMake::Kea3]
                .map(|make| answers_without_partner(family, make));
            assert_eq!(ours, keas, "{family:?}");
        }
    }
}
