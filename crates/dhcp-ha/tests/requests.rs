//! Commands of an administrator that need the partner's answer, and pauses of the state machine.

use dhcp_config::{HaMode, HaPause};
use dhcp_ha::{CommandResult, HaAnswer, HaExecution, HaState, PartnerCommand, Relationship};
use serde_json::{Value, json};

use crate::states::{DATE, FIRST_PAGE, NOW, at, executed, heartbeat, make_normal};
use crate::world::config;

/// Returns a server in normal operation in load balancing.
fn normal() -> Relationship {
    let mut one = Relationship::new(config(0, HaMode::LoadBalancing), NOW);
    make_normal(&mut one, "load-balancing");
    one
}

fn result(code: i64, text: &str, arguments: &Value) -> Result<CommandResult, String> {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    Ok(CommandResult { code, text: text.to_owned(), arguments })
}

/// Executes the command `name`, which `one` defers, with the answer of its partner to the one
/// command that it needs. Returns that command and the answer.
fn deferred(
    one: &mut Relationship,
    name: &str,
    answer: Result<CommandResult, String>,
) -> (PartnerCommand, HaAnswer) {
    assert_eq!(one.execute(at(10), name, &Value::Null), Some(HaExecution::Deferred));
    assert_eq!(one.take_answer(), None);
    let command = one.poll(at(10)).expect("it needs its partner");
    one.receive(at(20), answer);
    (command, one.take_answer().expect("it has ended"))
}

#[test]
fn each_relationship_disables_the_partner_by_a_number_of_its_own() {
    for number in [0, 3] {
        let mut config = config(0, HaMode::HotStandby);
        config.number = number;
        let origin = json!(2000 + number);
        for command in
            [PartnerCommand::Disable(None), PartnerCommand::Enable, PartnerCommand::SyncComplete]
        {
            let body = command.body(&config, "dhcp4");
            assert_eq!(body["arguments"]["origin-id"], origin, "{body}");
        }
    }
}

#[test]
fn the_start_of_a_maintenance_ends_in_one_of_three_ways() {
    let cases = [
        (result(0, "", &Value::Null), HaState::PartnerInMaintenance, 0, "can be now safely shut"),
        (result(1, "x", &Value::Null), HaState::PartnerDown, 0, "appears to be offline"),
        (Err("refused".to_owned()), HaState::PartnerDown, 0, "appears to be offline"),
        (
            result(1001, "no", &Value::Null),
            HaState::LoadBalancing,
            1,
            "ha-maintenance-notify command: no (error code 1001).",
        ),
    ];
    for (of_partner, state, code, text) in cases {
        let mut one = normal();
        let (command, answer) = deferred(&mut one, "ha-maintenance-start", of_partner);
        let notice =
            PartnerCommand::NotifyMaintenance { is_cancel: false, state: HaState::LoadBalancing };
        assert_eq!(command, notice);
        assert_eq!((one.state(), answer.code), (state, code));
        assert!(answer.text.contains(text), "{}", answer.text);
        let serves_all = state != HaState::LoadBalancing;
        assert_eq!(one.served_scopes(), [true, serves_all], "{state}");
    }
}

#[test]
fn a_server_without_automatic_failover_serves_during_a_maintenance() {
    let mut with_hands = config(0, HaMode::LoadBalancing);
    with_hands.own.has_automatic_failover = false;
    let mut one = Relationship::new(with_hands, NOW);
    make_normal(&mut one, "load-balancing");
    deferred(&mut one, "ha-maintenance-start", Err("refused".to_owned()));
    assert_eq!((one.state(), one.served_scopes()), (HaState::PartnerDown, [true; 2]));
}

#[test]
fn the_end_of_a_maintenance_restores_the_state_and_asks_the_partner() {
    let mut one = normal();
    let refused = executed_later(&mut one, "ha-maintenance-cancel");
    assert!(refused.text.contains("not in the partner-in-maintenance state"), "{}", refused.text);
    deferred(&mut one, "ha-maintenance-start", result(0, "", &Value::Null));
    let again = executed_later(&mut one, "ha-maintenance-start");
    let text = "Unable to transition the server from the partner-in-maintenance to \
                partner-in-maintenance state.";
    assert_eq!((again.code, again.text.as_str()), (1, text));
    let no = result(1, "no", &Value::Null);
    let (command, answer) = deferred(&mut one, "ha-maintenance-cancel", no);
    let notice =
        PartnerCommand::NotifyMaintenance { is_cancel: true, state: HaState::LoadBalancing };
    assert_eq!((command, answer.code), (notice, 1));
    assert_eq!(one.state(), HaState::PartnerInMaintenance);
    let yes = result(0, "", &json!({ "state": "load-balancing" }));
    let (_, answer) = deferred(&mut one, "ha-maintenance-cancel", yes);
    assert_eq!(answer.text, "Server maintenance successfully canceled.");
    assert_eq!(one.state(), HaState::LoadBalancing);
    assert_eq!(one.poll(at(30)), Some(PartnerCommand::Heartbeat));
}

#[test]
fn a_maintenance_ends_when_the_partner_has_started_again() {
    for (state, own) in [
        ("in-maintenance", HaState::PartnerInMaintenance),
        ("waiting", HaState::PartnerDown),
        ("syncing", HaState::PartnerDown),
        ("ready", HaState::LoadBalancing),
    ] {
        let mut one = normal();
        deferred(&mut one, "ha-maintenance-start", result(0, "", &Value::Null));
        assert_eq!(one.partner().state, Some(HaState::InMaintenance));
        assert_eq!(one.poll(at(1_000)), Some(PartnerCommand::Heartbeat));
        one.receive(at(1_000), heartbeat(state, DATE));
        assert_eq!(one.state(), own, "{state}");
    }
}

/// Executes a command that the server refuses at once.
fn executed_later(one: &mut Relationship, name: &str) -> HaAnswer {
    executed(one, at(10), name, &Value::Null)
}

#[test]
fn a_copy_that_an_administrator_demands_changes_no_state() {
    let mut one = normal();
    let arguments = json!({ "server-name": "server1", "max-period": 7 });
    assert_eq!(one.execute(at(10), "ha-sync", &arguments), Some(HaExecution::Deferred));
    let busy = executed(&mut one, at(10), "ha-sync", &arguments);
    assert_eq!(busy.text, "the command ha-sync is under way");
    assert_eq!(one.poll(at(10)), Some(PartnerCommand::Disable(Some(7))));
    one.receive(at(20), result(0, "", &Value::Null));
    assert_eq!(one.poll(at(20)), Some(PartnerCommand::Heartbeat));
    one.receive(at(30), heartbeat("load-balancing", DATE));
    assert_eq!(one.poll(at(30)), Some(PartnerCommand::Page(FIRST_PAGE)));
    one.receive(at(40), result(3, "", &json!({ "leases": [] })));
    assert_eq!(one.poll(at(40)), Some(PartnerCommand::SyncComplete));
    one.receive(at(50), result(0, "", &Value::Null));
    let answer = one.take_answer().expect("the copy has ended");
    assert_eq!(answer.text, "Lease database synchronization complete.");
    assert_eq!(one.state(), HaState::LoadBalancing);
    // The partner is enabled again after a failure.
    assert_eq!(one.execute(at(60), "ha-sync", &arguments), Some(HaExecution::Deferred));
    assert_eq!(one.poll(at(60)), Some(PartnerCommand::Disable(Some(7))));
    one.receive(at(70), Err("no answer".to_owned()));
    assert_eq!(one.take_answer().map(|answer| (answer.code, answer.text)), {
        Some((1, "no answer".to_owned()))
    });
}

#[test]
fn wrong_arguments_of_a_copy_are_refused_with_kea_s_texts() {
    let mut one = normal();
    for (arguments, text) in [
        (Value::Null, "arguments not found in the 'ha-sync' command"),
        (json!([]), "arguments in the 'ha-sync' command are not a map"),
        (json!({}), "'server-name' is mandatory for the 'ha-sync' command"),
        (json!({ "server-name": 1 }), "'server-name' must be a string in the 'ha-sync' command"),
        (json!({ "server-name": "x" }), "x matches no configured 'server-name'"),
        (
            json!({ "server-name": "server0" }),
            "'server0' points to local server but should point to a partner",
        ),
        (
            json!({ "server-name": "server1", "max-period": 0 }),
            "'max-period' must be a positive integer in the 'ha-sync' command",
        ),
    ] {
        let answer = executed(&mut one, at(10), "ha-sync", &arguments);
        assert_eq!((answer.code, answer.text.as_str()), (1, text));
    }
}

#[test]
fn a_paused_server_stays_in_its_state_until_it_may_continue() {
    let mut pausing = config(0, HaMode::LoadBalancing);
    pausing.pauses = vec![("syncing".to_owned(), HaPause::Once)];
    let mut one = Relationship::new(pausing, NOW);
    one.poll(NOW);
    one.receive(NOW, heartbeat("load-balancing", DATE));
    assert_eq!((one.state(), one.is_paused()), (HaState::Syncing, true));
    assert_eq!(one.poll(at(100)), None);
    assert_eq!(one.poll(at(500)), Some(PartnerCommand::Heartbeat));
    one.receive(at(500), heartbeat("load-balancing", DATE));
    assert_eq!(one.poll(at(600)), None, "it does not copy");
    let text = |one: &mut Relationship| executed(one, at(700), "ha-continue", &Value::Null).text;
    assert_eq!(text(&mut one), "HA state machine continues.");
    assert_eq!(text(&mut one), "HA state machine is not paused.");
    assert_eq!(one.poll(at(700)), Some(PartnerCommand::Disable(None)));
}
