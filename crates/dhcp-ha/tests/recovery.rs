//! Rules of the state communication-recovery, by hand-made heartbeats.

use base::Now;
use dhcp_config::HaMode;
use dhcp_ha::{CommandResult, HaState, PartnerCommand, Relationship};
use serde_json::json;

use crate::states::{DATE, at, executed, heartbeat, make_normal};
use crate::world::config;

fn success(code: i64) -> Result<CommandResult, String> {
    Ok(CommandResult { code, text: String::new(), arguments: serde_json::Map::new() })
}

/// Returns the primary server of a load balancing pair in the state communication-recovery.
fn in_recovery() -> Relationship {
    let mut config = config(0, HaMode::LoadBalancing);
    config.limits.delayed_updates = 3;
    let mut one = Relationship::new(config, crate::states::NOW);
    make_normal(&mut one, "load-balancing");
    assert!(!one.delays_updates());
    one.record_update_failure(at(100), "no answer".to_owned());
    assert_eq!(one.state(), HaState::CommunicationRecovery);
    assert!(one.delays_updates() && one.is_service_enabled());
    assert_eq!(one.served_scopes(), [true, false]);
    one
}

/// Lets `one` hear its partner in the state `state`.
fn hear(one: &mut Relationship, now: Now, state: &str) {
    assert_eq!(one.poll(now), Some(PartnerCommand::Heartbeat));
    one.receive(now, heartbeat(state, DATE));
}

#[test]
fn updates_that_have_waited_are_sent_before_normal_operation() {
    let mut one = in_recovery();
    one.record_delayed_updates(2, 0);
    hear(&mut one, at(1_200), "load-balancing");
    assert_eq!(one.state(), HaState::CommunicationRecovery);
    assert_eq!(one.poll(at(1_200)), Some(PartnerCommand::DelayedUpdates));
    // One more has come meanwhile.
    one.record_delayed_updates(1, 0);
    one.receive(at(1_210), success(0));
    assert_eq!(one.poll(at(1_210)), Some(PartnerCommand::DelayedUpdates));
    one.record_delayed_updates(0, 0);
    one.receive(at(1_220), success(0));
    assert_eq!(one.state(), HaState::LoadBalancing);
    let answer = executed(&mut one, at(1_230), "ha-heartbeat", &json!({}));
    assert_eq!(answer.arguments["unsent-update-count"], 0);
}

#[test]
fn a_partner_gets_a_reset_if_too_many_updates_came_or_it_refuses_one() {
    for is_refused in [false, true] {
        let mut one = in_recovery();
        one.record_delayed_updates(3, if is_refused { 0 } else { 2 });
        hear(&mut one, at(1_200), "communication-recovery");
        if is_refused {
            assert_eq!(one.poll(at(1_200)), Some(PartnerCommand::DelayedUpdates));
            one.receive(at(1_210), success(4));
        }
        assert_eq!(one.poll(at(1_210)), Some(PartnerCommand::Reset));
        one.receive(at(1_220), success(0));
        assert_eq!((one.state(), one.delayed_updates()), (HaState::Waiting, 0));
        let answer = executed(&mut one, at(1_230), "ha-heartbeat", &json!({}));
        let lacked = if is_refused { 3 } else { 5 };
        assert_eq!(answer.arguments["unsent-update-count"], lacked);
    }
}

#[test]
fn a_partner_that_does_not_take_updates_or_a_reset_is_asked_again_after_a_heartbeat() {
    for dropped in [0, 1] {
        let mut one = in_recovery();
        one.record_delayed_updates(3, dropped);
        hear(&mut one, at(1_200), "load-balancing");
        assert!(one.poll(at(1_200)).is_some());
        one.receive(at(1_210), Err("no answer".to_owned()));
        assert_eq!(one.state(), HaState::CommunicationRecovery);
        assert_eq!((one.poll(at(1_220)), one.delayed_updates()), (None, 3));
        hear(&mut one, at(2_300), "load-balancing");
        assert!(one.poll(at(2_300)).is_some());
    }
}

#[test]
fn a_partner_that_starts_gets_what_has_waited_when_it_is_normal() {
    let mut one = in_recovery();
    one.record_delayed_updates(1, 0);
    for (seconds, state) in [(2, "waiting"), (3, "syncing"), (4, "ready")] {
        hear(&mut one, at(seconds * 1_000), state);
        assert_eq!(one.state(), HaState::CommunicationRecovery, "{state}");
        assert_eq!(one.poll(at(seconds * 1_000)), None, "{state}");
    }
    one.record_delayed_updates(3, 1);
    assert_eq!(one.poll(at(4_100)), Some(PartnerCommand::Disable(None)));
    assert_eq!(one.state(), HaState::Syncing, "the partner lacks leases, and copies follow");
}

#[test]
fn other_states_of_the_partner_end_the_recovery() {
    for (heard, state) in [
        // It waits first, and goes on at once.
        ("partner-down", HaState::Syncing),
        ("in-maintenance", HaState::PartnerInMaintenance),
        ("partner-in-maintenance", HaState::InMaintenance),
        ("terminated", HaState::Terminated),
    ] {
        let mut one = in_recovery();
        hear(&mut one, at(1_200), heard);
        assert_eq!(one.state(), state, "{heard}");
        assert!(!one.delays_updates());
    }
}
