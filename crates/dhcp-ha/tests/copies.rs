//! Copies of leases and their numbers, by hand-made answers of the partner.

use base::Now;
use dhcp_config::HaMode;
use dhcp_ha::{CommandResult, HaExecution, HaState, PartnerCommand, RETURNED_MAX, Relationship};
use serde_json::{Map, Value, json};

use crate::states::{DATE, NOW, at, executed, heartbeat, make_normal};
use crate::world::config;

/// Returns an answer without leases and with the result code `code`.
fn answer(code: i64) -> Result<CommandResult, String> {
    let arguments = Map::from_iter([("leases".to_owned(), json!([]))]);
    Ok(CommandResult { code, text: String::new(), arguments })
}

/// Returns the answer of a partner in `state` whose answers to heartbeats have the members
/// `further`, too.
fn heard(state: &str, further: &Value) -> Result<CommandResult, String> {
    let mut answer = heartbeat(state, DATE)?;
    answer.arguments.extend(further.as_object().cloned().unwrap_or_default());
    Ok(answer)
}

/// Lets `one` hear its partner at `now` as in [`heard`].
fn hear(one: &mut Relationship, now: Now, state: &str, further: &Value) {
    assert_eq!(one.poll(now), Some(PartnerCommand::Heartbeat));
    one.receive(now, heard(state, further));
}

/// Returns a server that has received the only page of a copy.
fn with_last_page() -> Relationship {
    let mut one = Relationship::new(config(0, HaMode::HotStandby), NOW);
    hear(&mut one, NOW, "ready", &Value::Null);
    for _ in 0..3 {
        assert!(one.poll(NOW).is_some());
        one.receive(NOW, heard("ready", &json!({ "leases": [] })));
    }
    assert_eq!(one.state(), HaState::Syncing);
    one
}

#[test]
fn a_partner_gets_the_leases_that_it_lacks_before_a_copy_ends() {
    let mut one = with_last_page();
    assert!(one.record_missing_leases(300));
    for left in [44, 0] {
        // The partner stays silent for as long as leases follow.
        assert_eq!(one.poll(NOW), Some(PartnerCommand::Disable(None)));
        one.receive(NOW, answer(0));
        assert_eq!(one.poll(NOW), Some(PartnerCommand::ReturnedLeases));
        one.record_leases_to_return(left);
        one.receive(NOW, answer(0));
    }
    assert_eq!(one.poll(NOW), Some(PartnerCommand::SyncComplete));
    one.receive(NOW, answer(0));
    assert_eq!(one.state(), HaState::Ready);
    assert_eq!(one.metrics(NOW).unsent_updates, 0);
}

#[test]
fn a_copy_whose_leases_do_not_get_back_begins_again() {
    let mut one = with_last_page();
    assert!(one.record_missing_leases(1));
    assert_eq!(one.poll(NOW), Some(PartnerCommand::Disable(None)));
    one.receive(NOW, answer(0));
    assert_eq!(one.poll(NOW), Some(PartnerCommand::ReturnedLeases));
    one.receive(NOW, Err("no answer".to_owned()));
    assert_eq!(one.poll(NOW), Some(PartnerCommand::Enable));
    one.receive(NOW, answer(0));
    assert_eq!(one.state(), HaState::Syncing);
    hear(&mut one, at(600), "ready", &Value::Null);
    assert_eq!(one.poll(at(600)), Some(PartnerCommand::Disable(None)), "a new copy");
}

#[test]
fn leases_that_are_too_many_to_return_count_as_unsent() {
    let mut one = with_last_page();
    assert!(!one.record_missing_leases(RETURNED_MAX + 1));
    assert_eq!(one.poll(NOW), Some(PartnerCommand::SyncComplete));
    assert_eq!(one.metrics(NOW).unsent_updates, RETURNED_MAX + 1);
}

#[test]
fn a_server_that_serves_clients_compares_no_leases() {
    let mut one = Relationship::new(config(0, HaMode::HotStandby), NOW);
    make_normal(&mut one, "hot-standby");
    let arguments = json!({ "server-name": "server1" });
    assert_eq!(one.execute(NOW, "ha-sync", &arguments), Some(HaExecution::Deferred));
    for _ in 0..3 {
        assert!(one.poll(NOW).is_some());
        one.receive(NOW, heard("hot-standby", &json!({ "leases": [] })));
    }
    assert!(!one.record_missing_leases(1), "their updates may be on their way");
    assert_eq!(one.poll(NOW), Some(PartnerCommand::SyncComplete));
    assert_eq!(one.metrics(NOW).unsent_updates, 0);
}

#[test]
fn heartbeats_say_whether_a_server_may_have_leases_that_it_does_not_count() {
    let mut one = with_last_page();
    let said = executed(&mut one, NOW, "ha-heartbeat", &json!({}));
    assert_eq!(said.arguments["may-have-more"], true);
    assert_eq!(said.arguments["unsent-since"], NOW.wall_us);
    assert_eq!(one.poll(NOW), Some(PartnerCommand::SyncComplete));
    one.receive(NOW, answer(0));
    let said = executed(&mut one, NOW, "ha-heartbeat", &json!({}));
    assert_eq!(said.arguments.get("may-have-more"), None);
    let mut own = config(0, HaMode::HotStandby);
    own.synchronizes_leases = false;
    let mut never = Relationship::new(own, NOW);
    let said = executed(&mut never, NOW, "ha-heartbeat", &json!({}));
    assert_eq!(said.arguments.get("may-have-more"), None, "it never copies leases");
}

#[test]
fn a_server_in_normal_operation_copies_leases_that_it_does_not_know() {
    let (normal, waits) = (HaState::HotStandby, HaState::Syncing);
    for (partner, members, state) in [
        ("ready", json!({}), normal),
        ("ready", json!({ "unsent-since": 7, "unsent-update-count": 0 }), normal),
        ("ready", json!({ "unsent-since": 7, "unsent-update-count": 2 }), waits),
        ("hot-standby", json!({ "unsent-since": 7, "unsent-update-count": 2 }), waits),
        ("hot-standby", json!({ "unsent-update-count": 2 }), waits),
        ("hot-standby", json!({ "unsent-since": 7, "may-have-more": true }), waits),
        // It does not serve yet, and copies this server's leases first.
        ("syncing", json!({ "unsent-since": 7, "may-have-more": true }), normal),
    ] {
        let mut one = Relationship::new(config(0, HaMode::HotStandby), NOW);
        make_normal(&mut one, "hot-standby");
        hear(&mut one, at(600), partner, &members);
        assert_eq!(one.state(), state, "{partner} {members}");
    }
}

#[test]
fn the_number_of_a_partner_that_has_started_again_is_another_one() {
    let hear_with = |since: u64| {
        let mut one = Relationship::new(config(0, HaMode::HotStandby), NOW);
        let first = json!({ "unsent-since": 1, "unsent-update-count": 5, "leases": [] });
        hear(&mut one, NOW, "hot-standby", &first);
        for _ in 0..4 {
            assert!(one.poll(NOW).is_some());
            one.receive(NOW, heard("hot-standby", &first));
        }
        assert_eq!(one.state(), HaState::Ready);
        hear(&mut one, NOW, "hot-standby", &first);
        assert_eq!(one.state(), HaState::HotStandby);
        let second = json!({ "unsent-since": since, "unsent-update-count": 5 });
        hear(&mut one, at(600), "hot-standby", &second);
        one.state()
    };
    assert_eq!([hear_with(1), hear_with(2)], [HaState::HotStandby, HaState::Syncing]);
}

#[test]
fn a_server_that_has_started_alone_copies_the_leases_of_a_partner_of_another_make() {
    let godwit = json!({ "unsent-since": 7, "unsent-update-count": 0 });
    for (members, state) in [(json!({}), HaState::Syncing), (godwit, HaState::HotStandby)] {
        let mut one = Relationship::new(config(0, HaMode::HotStandby), NOW);
        one.poll(at(3_500));
        one.receive(at(3_500), Err("no answer".to_owned()));
        assert_eq!(one.state(), HaState::PartnerDown);
        hear(&mut one, at(4_100), "ready", &members);
        assert_eq!(one.state(), state, "{members}");
    }
}
