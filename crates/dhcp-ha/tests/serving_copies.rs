//! Copies of the leases of a partner that serves clients meanwhile, by hand-made answers.

use dhcp_config::HaMode;
use dhcp_ha::{
    CHANGES_OF, CommandResult, HaState, PageRange, PageRequest, PartnerCommand, PartnerPage,
    Relationship,
};
use serde_json::{Value, json};

use crate::states::{DATE, FIRST_PAGE, NOW, at, executed, heartbeat};
use crate::world::config;

/// First page of a copy from a partner that serves clients.
const FIRST_NOTING: PageRequest =
    PageRequest::All { after: None, notes_changes: true, as_rows: true };
/// Silence, and the number of updates that the copy covers.
const SILENCE: [PartnerCommand; 2] = [PartnerCommand::Disable(None), PartnerCommand::Heartbeat];

fn success(arguments: &Value) -> Result<CommandResult, String> {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    Ok(CommandResult { code: 0, text: String::new(), arguments })
}

/// Returns the answer to a heartbeat of a partner of this make in `state`.
fn heard(state: &str) -> Result<CommandResult, String> {
    let mut answer = heartbeat(state, DATE)?;
    answer.arguments.insert("notes-changes".to_owned(), json!(true));
    answer.arguments.insert("unsent-since".to_owned(), json!(7));
    Ok(answer)
}

/// Returns a server that begins to copy the leases of a partner of this make in `state`.
fn syncing(state: &str) -> Relationship {
    let mut one = Relationship::new(config(0, HaMode::HotStandby), NOW);
    assert_eq!(one.poll(NOW), Some(PartnerCommand::Heartbeat));
    one.receive(NOW, heard(state));
    assert_eq!(one.state(), HaState::Syncing);
    one
}

/// Checks that `command` is the next one, and passes its answer.
fn answer(
    one: &mut Relationship,
    command: PartnerCommand,
    answer: Result<CommandResult, String>,
) -> Option<PartnerPage> {
    assert_eq!(one.poll(NOW), Some(command));
    one.receive(NOW, answer)
}

/// Passes the answer to a page, and returns the content of the page.
fn page(one: &mut Relationship, page: PageRequest, arguments: &Value) -> PartnerPage {
    answer(one, PartnerCommand::Page(page), success(arguments)).expect("it is a page")
}

fn changes(from: u64, is_last_round: bool) -> PageRequest {
    PageRequest::Changes { copy: 7, from, is_last_round }
}

/// Returns the arguments of a page of changes in a round with `total` addresses.
fn changed(total: u64) -> Value {
    json!({ "leases": [], "ended-leases": [ { "ip-address": "9" } ], "changes-total": total })
}

/// Passes the pages of all leases.
fn receive_all(one: &mut Relationship) {
    let leases: Vec<Value> = (0..5).map(|at| json!({ "ip-address": at.to_string() })).collect();
    let first = page(one, FIRST_NOTING, &json!({ "leases": leases, CHANGES_OF: 7 }));
    assert_eq!((first.range, first.leases.len()), (PageRange::After(None), 5));
    let after = Some("4".to_owned());
    let second = PageRequest::All { after: after.clone(), notes_changes: false, as_rows: true };
    let second = page(one, second, &json!({ "leases": [] }));
    assert_eq!((second.range, second.ends_copy), (PageRange::AllAfter(after), false));
}

#[test]
fn rows_of_a_page_are_leases() {
    let mut one = syncing("partner-down");
    let rows: Vec<String> = (0..5).map(|at| format!("10.0.0.{at},x")).collect();
    let first = page(&mut one, FIRST_NOTING, &json!({ "rows": rows, CHANGES_OF: 7 }));
    assert_eq!((first.range, first.leases.len(), first.rows), (PageRange::After(None), 0, rows));
    let after = Some("10.0.0.4".to_owned());
    let second = PageRequest::All { after, notes_changes: false, as_rows: true };
    for (bad, reason) in [
        (json!({ "rows": [5] }), "no text"),
        (json!({ "rows": {} }), "no list"),
        (json!({ "rows": [], "leases": [] }), "no list `leases`"),
    ] {
        let mut one = one.clone();
        assert_eq!(answer(&mut one, PartnerCommand::Page(second.clone()), success(&bad)), None);
        answer(&mut one, PartnerCommand::Enable, success(&Value::Null));
        let failure = &one.partner().failure;
        assert!(failure.contains(reason), "{failure}");
    }
    page(&mut one, second, &json!({ "rows": ["10.0.0.9,x"] }));
    let page = page(
        &mut one,
        changes(0, false),
        &json!({
            "rows": ["10.0.0.9,y"], "ended-leases": [], "changes-total": 1
        }),
    );
    assert_eq!((page.count(), page.range), (1, PageRange::Listed));
}

/// Passes the answers by which the partner is silent.
fn silence(one: &mut Relationship) {
    for command in SILENCE {
        answer(one, command, heard("partner-down"));
    }
}

#[test]
fn a_partner_is_silent_for_the_last_round_only() {
    let mut one = syncing("partner-down");
    receive_all(&mut one);
    for from in [0, 5, 10] {
        let page = page(&mut one, changes(from, false), &changed(12));
        assert_eq!((page.range, page.ended.len()), (PageRange::Listed, 1));
    }
    page(&mut one, changes(0, false), &changed(2));
    // A round that is not shorter is the last one of a partner that serves.
    page(&mut one, changes(0, false), &changed(2));
    silence(&mut one);
    assert!(!page(&mut one, changes(0, true), &changed(6)).ends_copy);
    answer(&mut one, PartnerCommand::Disable(None), success(&Value::Null));
    assert!(page(&mut one, changes(5, true), &changed(6)).ends_copy);
    assert!(one.record_missing_leases(1), "leases go back while the partner is silent");
    answer(&mut one, PartnerCommand::Disable(None), success(&Value::Null));
    one.record_leases_to_return(0);
    answer(&mut one, PartnerCommand::SyncComplete, success(&Value::Null));
    assert_eq!(one.state(), HaState::Ready);
}

#[test]
fn a_short_round_is_followed_by_silence() {
    let mut one = syncing("hot-standby");
    receive_all(&mut one);
    page(&mut one, changes(0, false), &changed(0));
    silence(&mut one);
    assert!(page(&mut one, changes(0, true), &changed(0)).ends_copy);
    answer(&mut one, PartnerCommand::SyncComplete, success(&Value::Null));
    assert_eq!(one.state(), HaState::Ready);
}

#[test]
fn a_partner_that_serves_nobody_is_silent_from_the_beginning() {
    let mut one = syncing("ready");
    silence(&mut one);
    assert_eq!(one.poll(NOW), Some(PartnerCommand::Page(FIRST_PAGE)));
}

/// Checks that `one` copies all leases while the partner is silent.
fn check_whole_copy(mut one: Relationship) {
    silence(&mut one);
    assert!(page(&mut one, FIRST_PAGE, &json!({ "leases": [] })).ends_copy);
    answer(&mut one, PartnerCommand::SyncComplete, success(&Value::Null));
    assert_eq!(one.state(), HaState::Ready);
}

#[test]
fn a_partner_that_does_not_know_all_changes_is_silent_for_a_whole_copy() {
    let unknown = || Ok(CommandResult { code: 1, ..success(&Value::Null)? });
    // The partner is another program than the one that answered the heartbeat.
    let mut one = syncing("partner-down");
    let other = answer(&mut one, PartnerCommand::Page(FIRST_NOTING), success(&json!({})));
    assert_eq!(other, None);
    check_whole_copy(one);
    let mut one = syncing("partner-down");
    receive_all(&mut one);
    let command = PartnerCommand::Page(changes(0, false));
    assert_eq!(answer(&mut one, command, unknown()), None);
    check_whole_copy(one);
    let mut one = syncing("partner-down");
    receive_all(&mut one);
    page(&mut one, changes(0, false), &changed(0));
    silence(&mut one);
    let command = PartnerCommand::Page(changes(0, true));
    assert_eq!(answer(&mut one, command, unknown()), None);
    check_whole_copy(one);
}

#[test]
fn a_copy_that_fails_begins_again_with_its_first_page() {
    let mut one = syncing("partner-down");
    receive_all(&mut one);
    let command = PartnerCommand::Page(changes(0, false));
    assert_eq!(answer(&mut one, command, Err("no answer".to_owned())), None);
    answer(&mut one, PartnerCommand::Enable, success(&Value::Null));
    assert_eq!(one.poll(at(600)), Some(PartnerCommand::Heartbeat));
    one.receive(at(600), heard("partner-down"));
    assert_eq!(one.poll(at(600)), Some(PartnerCommand::Page(FIRST_NOTING)));
}

#[test]
fn a_page_of_a_copy_that_a_reset_has_ended_is_not_stored() {
    let mut one = syncing("partner-down");
    assert_eq!(one.poll(NOW), Some(PartnerCommand::Page(FIRST_NOTING)));
    executed(&mut one, NOW, "ha-reset", &Value::Null);
    let leases = json!({ "leases": [ { "ip-address": "1" } ], CHANGES_OF: 7 });
    assert_eq!(one.receive(NOW, success(&leases)), None);
    answer(&mut one, PartnerCommand::Enable, success(&Value::Null));
}

/// Returns a server in partner-down whose partner says that it has all leases.
fn notified() -> Relationship {
    let mut one = Relationship::new(config(0, HaMode::HotStandby), NOW);
    one.poll(at(3_500));
    one.receive(at(3_500), Err("no answer".to_owned()));
    assert_eq!(one.state(), HaState::PartnerDown);
    let arguments = json!({ "origin-id": 2000, "server-name": "server1" });
    executed(&mut one, at(4_000), "ha-sync-complete-notify", &arguments);
    assert_eq!(one.poll(at(4_000)), Some(PartnerCommand::Heartbeat));
    one.receive(at(4_000), heard("syncing"));
    one
}

#[test]
fn a_server_grants_nothing_until_the_partner_that_has_all_leases_is_ready() {
    let mut one = notified();
    assert!(!one.is_service_enabled());
    assert_eq!(one.poll(at(4_019)), None);
    assert_eq!(one.poll(at(4_020)), Some(PartnerCommand::Heartbeat));
    one.receive(at(4_020), heard("ready"));
    assert_eq!((one.state(), one.is_service_enabled()), (HaState::HotStandby, true));
}

#[test]
fn a_server_serves_again_if_the_partner_does_not_get_ready() {
    for (ms, serves) in [(4_999, false), (5_000, true)] {
        let mut one = notified();
        assert_eq!(one.poll(at(ms)), Some(PartnerCommand::Heartbeat));
        one.receive(at(ms), heard("syncing"));
        assert_eq!((one.state(), one.is_service_enabled()), (HaState::PartnerDown, serves));
    }
    let mut one = notified();
    assert_eq!(one.poll(at(4_020)), Some(PartnerCommand::Heartbeat));
    one.receive(at(4_020), Err("no answer".to_owned()));
    assert!(one.is_service_enabled());
}

#[test]
fn pages_name_the_copy_and_the_round() {
    let own = config(0, HaMode::HotStandby);
    let arguments = |page| PartnerCommand::Page(page).body(&own, "dhcp6")["arguments"].clone();
    let base = json!({ "from": "start", "limit": 5, "origin": "ha-partner" });
    assert_eq!(arguments(FIRST_PAGE), base);
    let mut noting = base.clone();
    noting["note-changes"] = json!(true);
    noting["as-rows"] = json!(true);
    assert_eq!(arguments(FIRST_NOTING), noting);
    let mut round = base;
    round["changes-of"] = json!(7);
    round["changes-from"] = json!(5);
    round["is-last-round"] = json!(true);
    round["as-rows"] = json!(true);
    assert_eq!(arguments(changes(5, true)), round);
}
