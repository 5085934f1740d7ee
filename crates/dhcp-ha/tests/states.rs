//! Single rules of the states, by hand-made heartbeats.

use base::Now;
use base::time::{NS_PER_MS, NS_PER_S};
use dhcp_config::HaMode;
use dhcp_ha::{
    CommandResult, HaAnswer, HaExecution, HaState, MAINTENANCE_NOT_ALLOWED, PageRequest,
    PartnerCommand, PartnerQuery,
};
use serde_json::json;

use crate::world::config;

pub(crate) const NOW: Now = Now { mono_ns: 10 * NS_PER_S, wall_us: 1_795_703_492_000_000 };

/// First page of a copy from a silent partner.
pub(crate) const FIRST_PAGE: PageRequest =
    PageRequest::All { after: None, notes_changes: false, as_rows: false };

pub(crate) fn at(ms: u64) -> Now {
    NOW.after_ns(ms * NS_PER_MS)
}

pub(crate) fn heartbeat(state: &str, date: &str) -> Result<CommandResult, String> {
    let arguments = json!({ "state": state, "date-time": date, "scopes": ["server0"] });
    let arguments = arguments.as_object().cloned().expect("it is a map");
    Ok(CommandResult { code: 0, text: String::new(), arguments })
}

/// Returns the relationship of server number `own` of a hot-standby pair, started at [`NOW`].
fn relationship(own: usize) -> dhcp_ha::Relationship {
    dhcp_ha::Relationship::new(config(own, HaMode::HotStandby), NOW)
}

/// Takes `one`, which has just started, to normal operation with a partner in the state `normal`.
pub(crate) fn make_normal(one: &mut dhcp_ha::Relationship, normal: &str) {
    one.poll(NOW);
    one.receive(NOW, heartbeat(normal, DATE));
    // Four commands copy no leases; then the partner is in normal operation.
    assert_eq!(one.poll(NOW), Some(PartnerCommand::Disable(None)));
    one.receive(NOW, heartbeat(normal, DATE));
    assert_eq!(one.poll(NOW), Some(PartnerCommand::Heartbeat));
    one.receive(NOW, heartbeat(normal, DATE));
    for _ in 0..2 {
        assert!(one.poll(NOW).is_some());
        one.receive(
            NOW,
            Ok(CommandResult {
                code: 0,
                text: String::new(),
                arguments: serde_json::Map::from_iter([("leases".to_owned(), json!([]))]),
            }),
        );
    }
    assert_eq!(one.state(), HaState::Ready);
    one.poll(NOW);
    one.receive(NOW, heartbeat(normal, DATE));
}

/// Executes a command that has its answer at once.
pub(crate) fn executed(
    one: &mut dhcp_ha::Relationship,
    now: Now,
    name: &str,
    arguments: &serde_json::Value,
) -> HaAnswer {
    match one.execute(now, name, arguments) {
        Some(HaExecution::Answer(answer)) => answer,
        other => panic!("{name}: {other:?}"),
    }
}

pub(crate) const DATE: &str = "Thu, 26 Nov 2026 14:31:32 GMT";

#[test]
fn the_first_command_is_a_heartbeat_at_once() {
    let mut primary = relationship(0);
    assert_eq!(primary.poll(NOW), Some(PartnerCommand::Heartbeat));
    assert_eq!(primary.poll(NOW), None, "its answer is still to come");
    primary.receive(NOW, heartbeat("waiting", DATE));
    assert_eq!(primary.state(), HaState::Syncing);
    assert_eq!(primary.poll(NOW), Some(PartnerCommand::Disable(None)));
    let change = &primary.take_changes()[0];
    assert_eq!((change.from, change.to), (HaState::Waiting, HaState::Syncing));
    assert!(change.reason.contains("the partner is in waiting"), "{change:?}");
    let mut standby = relationship(1);
    standby.poll(NOW);
    standby.receive(NOW, heartbeat("waiting", DATE));
    assert_eq!(standby.state(), HaState::Waiting, "the primary server goes first");
}

#[test]
fn a_copy_that_a_reset_ends_enables_the_partner_again() {
    for steps in 0..3 {
        let mut primary = relationship(0);
        primary.poll(NOW);
        primary.receive(NOW, heartbeat("waiting", DATE));
        assert_eq!(primary.state(), HaState::Syncing);
        for _ in 0..steps {
            assert!(primary.poll(NOW).is_some());
            primary.receive(NOW, heartbeat("waiting", DATE));
        }
        assert_eq!(executed(&mut primary, NOW, "ha-reset", &json!({})).code, 0);
        if steps > 0 {
            assert_eq!(primary.poll(NOW), Some(PartnerCommand::Enable), "{steps}");
            primary.receive(NOW, Err("no answer".to_owned()));
        }
        assert_eq!(primary.poll(NOW), Some(PartnerCommand::Heartbeat), "{steps}");
        primary.receive(NOW, heartbeat("waiting", DATE));
        assert_eq!(primary.poll(NOW), Some(PartnerCommand::Disable(None)), "a new copy");
    }
}

#[test]
fn a_clock_that_differs_by_more_than_a_minute_terminates() {
    for (date, state) in [
        ("Thu, 26 Nov 2026 14:32:32 GMT", HaState::Syncing),
        ("Thu, 26 Nov 2026 14:32:33 GMT", HaState::Terminated),
        ("Thu, 26 Nov 2026 14:30:31 GMT", HaState::Terminated),
    ] {
        let mut one = relationship(0);
        one.poll(NOW);
        one.receive(NOW, heartbeat("ready", date));
        assert_eq!(one.state(), state, "{date}");
    }
}

#[test]
fn a_terminated_server_waits_for_a_partner_that_heals_too() {
    let skewed = "Thu, 26 Nov 2026 15:31:32 GMT";
    let healing = |state: &str| {
        let mut answer = heartbeat(state, DATE).unwrap();
        answer.arguments.insert("may-heal".to_owned(), json!(true));
        Ok(answer)
    };
    for (answer, heals, state) in [
        (heartbeat("terminated", DATE), true, HaState::Terminated),
        (healing("terminated"), true, HaState::Waiting),
        (healing("terminated"), false, HaState::Terminated),
        (heartbeat("waiting", DATE), true, HaState::Waiting),
        (heartbeat("waiting", "Thu, 26 Nov 2026 14:32:03 GMT"), true, HaState::Terminated),
    ] {
        let mut own = config(0, HaMode::HotStandby);
        own.heals_clock_skew = heals;
        let mut one = dhcp_ha::Relationship::new(own, NOW);
        one.poll(NOW);
        one.receive(NOW, heartbeat("ready", skewed));
        assert_eq!(one.state(), HaState::Terminated);
        let said = executed(&mut one, NOW, "ha-heartbeat", &json!({ "server-name": "server1" }));
        assert_eq!(said.arguments.get("may-heal"), heals.then_some(&json!(true)));
        assert_eq!(one.poll(at(0)), None);
        one.poll(at(600));
        one.receive(NOW, answer.clone());
        // Waiting with the partner waiting, the primary server goes on.
        let healed = [HaState::Waiting, HaState::Syncing].contains(&one.state());
        assert_eq!(healed, state == HaState::Waiting, "{answer:?}");
    }
}

#[test]
fn refusals_are_no_reason_that_passes() {
    let mut one = relationship(0);
    make_normal(&mut one, "hot-standby");
    (0..10).for_each(|client| one.record_refusal(NOW, &client.to_string()));
    assert_eq!(one.state(), HaState::Terminated);
    one.poll(at(600));
    one.receive(at(600), heartbeat("waiting", DATE));
    assert_eq!(one.state(), HaState::Terminated);
}

#[test]
fn numbers_tell_states_lag_and_conflicts() {
    let mut one = relationship(0);
    make_normal(&mut one, "hot-standby");
    one.record_refusal(NOW, "a");
    one.record_refusal(NOW, "a");
    one.count_unsent(3);
    let metrics = one.metrics(at(2_500));
    assert_eq!((metrics.state, metrics.partner), (HaState::HotStandby, Some(HaState::HotStandby)));
    assert_eq!(metrics.entered[HaState::Syncing.index()], 1);
    assert_eq!((metrics.silent_s, metrics.clock_skew_s), (2, Some(0)));
    assert_eq!((metrics.refused_updates, metrics.refused_clients), (2, 1));
    assert_eq!(metrics.unsent_updates, 3);
}

#[test]
fn a_take_over_delay_needs_no_clients() {
    let mut own = config(1, HaMode::HotStandby);
    own.limits.take_over_ms = Some(4_000);
    let mut one = dhcp_ha::Relationship::new(own, NOW);
    make_normal(&mut one, "hot-standby");
    for (ms, state) in [(3_900, HaState::HotStandby), (4_001, HaState::PartnerDown)] {
        one.poll(at(ms));
        one.receive(at(ms), Err("no answer".to_owned()));
        assert_eq!(one.state(), state, "{ms}");
    }
}

#[test]
fn a_bad_heartbeat_is_a_failure() {
    for answer in [
        heartbeat("asleep", DATE),
        heartbeat("ready", "2026-11-26"),
        Ok(CommandResult { code: 1, text: "x".to_owned(), arguments: Default::default() }),
        Err("connection refused".to_owned()),
    ] {
        let mut one = relationship(0);
        one.poll(NOW);
        one.receive(NOW, answer);
        assert_eq!((one.state(), one.partner().state), (HaState::Waiting, None));
        assert!(!one.partner().failure.is_empty());
    }
}

#[test]
fn the_standby_takes_over_only_if_clients_have_no_answer() {
    let mut one = relationship(1);
    make_normal(&mut one, "hot-standby");
    assert_eq!((one.state(), one.served_scopes()), (HaState::HotStandby, [false; 2]));
    for ms in (500..3_500).step_by(500) {
        if one.poll(at(ms)).is_some() {
            one.receive(at(ms), Err("no answer".to_owned()));
        }
    }
    for client in 0..3 {
        one.record_query(at(3_500), PartnerQuery { client, elapsed_ms: 1_001 });
    }
    one.poll(at(3_600));
    assert_eq!(one.state(), HaState::HotStandby, "three clients are not more than three");
    one.record_query(at(3_700), PartnerQuery { client: 9, elapsed_ms: 1_001 });
    one.receive(at(3_700), Err("no answer".to_owned()));
    assert_eq!((one.state(), one.served_scopes()), (HaState::PartnerDown, [true, false]));
}

#[test]
fn both_servers_of_a_balanced_pair_serve_and_take_over() {
    for own in 0..2 {
        let mut one = dhcp_ha::Relationship::new(config(own, HaMode::LoadBalancing), NOW);
        make_normal(&mut one, "load-balancing");
        let mut served = [false; 2];
        served[own] = true;
        assert_eq!((one.state(), one.served_scopes()), (HaState::LoadBalancing, served));
        assert_eq!(one.scopes(), [format!("server{own}")]);
        for ms in (500..3_500).step_by(500) {
            if one.poll(at(ms)).is_some() {
                one.receive(at(ms), Err("no answer".to_owned()));
            }
        }
        // The primary server looks at the clients, too.
        one.poll(at(3_500));
        assert_eq!(one.state(), HaState::LoadBalancing);
        for client in 0..4 {
            one.record_query(at(3_600), PartnerQuery { client, elapsed_ms: 1_001 });
        }
        one.receive(at(3_700), Err("no answer".to_owned()));
        assert_eq!((one.state(), one.served_scopes()), (HaState::PartnerDown, [true; 2]));
        assert_eq!(one.scopes(), ["server0", "server1"]);
    }
}

#[test]
fn a_partner_of_another_mode_is_waited_for() {
    for (mode, other) in
        [(HaMode::HotStandby, "load-balancing"), (HaMode::LoadBalancing, "hot-standby")]
    {
        let mut one = dhcp_ha::Relationship::new(config(0, mode), NOW);
        one.poll(NOW);
        one.receive(NOW, heartbeat(other, DATE));
        assert_eq!(one.state(), HaState::Waiting, "{mode}");
        let mut one = dhcp_ha::Relationship::new(config(0, mode), NOW);
        make_normal(&mut one, mode.name());
        one.poll(at(600));
        one.receive(at(600), heartbeat(other, DATE));
        assert_eq!(one.state(), HaState::Waiting, "{mode}");
        let explained = executed(&mut one, at(700), "ha-explain", &json!({}));
        assert!(explained.text.contains(other), "{}", explained.text);
    }
}

#[test]
fn commands_have_the_answers_of_kea() {
    let mut one = relationship(0);
    let none = json!({});
    let answer = executed(&mut one, NOW, "ha-heartbeat", &none);
    assert_eq!(answer.arguments["state"], "waiting");
    assert_eq!(answer.arguments["date-time"], DATE);
    assert!(one.partner().is_old, "Kea 2.2 sends no name");
    executed(&mut one, NOW, "ha-heartbeat", &json!({ "server-name": "server1" }));
    assert!(!one.partner().is_old);
    let answer = executed(&mut one, NOW, "ha-heartbeat", &json!({ "server-name": "x" }));
    assert_eq!(answer.text, "x matches no configured 'server-name'");
    let answer = executed(&mut one, NOW, "ha-reset", &none);
    assert_eq!((answer.code, answer.text.contains("already")), (0, true));
    let start = json!({ "cancel": false });
    assert_eq!(executed(&mut one, NOW, "ha-maintenance-notify", &start).code, 0);
    assert_eq!(one.state(), HaState::InMaintenance);
    let cancel = json!({ "cancel": true });
    let answer = executed(&mut one, NOW, "ha-maintenance-notify", &cancel);
    assert_eq!((answer.code, &answer.arguments["state"]), (0, &json!("waiting")));
    assert_eq!(executed(&mut one, NOW, "ha-maintenance-notify", &cancel).code, 1);
    // The partner leaves its own state only when it has the answer.
    assert_eq!((one.poll(NOW), one.poll(at(999))), (None, None));
    assert_eq!(one.poll(at(1_000)), Some(PartnerCommand::Heartbeat));
    one.receive(NOW, heartbeat("ready", "Thu, 26 Nov 2026 15:31:32 GMT"));
    assert_eq!(one.state(), HaState::Terminated);
    let answer = executed(&mut one, NOW, "ha-maintenance-notify", &start);
    assert_eq!(answer.code, MAINTENANCE_NOT_ALLOWED);
    let explained = executed(&mut one, NOW, "ha-explain", &none);
    assert!(explained.text.contains("differ by 3600 s"), "{}", explained.text);
    assert!(one.execute(NOW, "config-get", &none).is_none());
}
