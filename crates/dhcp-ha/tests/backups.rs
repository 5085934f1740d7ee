//! Servers without a partner: backup servers, and a primary server that has only those.

use dhcp_config::HaMode;
use dhcp_ha::{CommandResult, HaExecution, HaState, PartnerCommand, Relationship};
use serde_json::{Value, json};

use crate::states::{FIRST_PAGE, NOW, at, executed};
use crate::world::{BACKUP, config};

fn success(arguments: &Value) -> Result<CommandResult, String> {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    Ok(CommandResult { code: 0, text: String::new(), arguments })
}

/// Returns server number `own` after its start.
fn started(own: usize, mode: HaMode) -> Relationship {
    let mut one = Relationship::new(config(own, mode), NOW);
    assert_eq!(one.poll(NOW), None, "no heartbeat");
    one
}

#[test]
fn servers_without_a_partner_send_no_heartbeat() {
    for (own, mode, state, serves) in [
        (BACKUP, HaMode::HotStandby, HaState::Backup, false),
        (BACKUP, HaMode::LoadBalancing, HaState::Backup, false),
        (1, HaMode::PassiveBackup, HaState::Backup, false),
        (0, HaMode::PassiveBackup, HaState::PassiveBackup, true),
    ] {
        let mut one = started(own, mode);
        assert_eq!((one.state(), one.served_scopes()), (state, [serves, false]), "{own} {mode}");
        let later = at(100_000);
        assert_eq!((one.poll(later), one.is_interrupted(later)), (None, false), "{own} {mode}");
        assert!(one.due_ns(later) > later.mono_ns, "the driver rests");
        let status = one.status(later);
        assert_eq!(status["ha-servers"]["local"]["state"], state.name());
        assert_eq!(status["ha-servers"].get("remote"), None, "{own} {mode}");
        let reset = executed(&mut one, later, "ha-reset", &json!({}));
        assert_eq!((reset.code, one.state()), (0, HaState::Waiting));
        one.poll(later);
        assert_eq!(one.state(), state, "a reset leads back");
    }
}

#[test]
fn backup_servers_get_updates_in_every_state() {
    let with_backup = config(0, HaMode::HotStandby);
    let (partner, backup) = (with_backup.partner().unwrap(), with_backup.backups().next().unwrap());
    let one = Relationship::new(with_backup.clone(), NOW);
    assert_eq!(one.state(), HaState::Waiting);
    assert!(one.sends_updates_to(backup) && !one.sends_updates_to(partner));
    let own_backup = Relationship::new(config(BACKUP, HaMode::HotStandby), NOW);
    assert!(!own_backup.sends_updates_to(partner));
    let mut silent = with_backup.clone();
    silent.sends_lease_updates = false;
    assert!(!Relationship::new(silent, NOW).sends_updates_to(backup));
}

#[test]
fn maintenance_is_not_for_servers_without_a_partner() {
    let mut backup = started(BACKUP, HaMode::HotStandby);
    let notice = executed(&mut backup, NOW, "ha-maintenance-notify", &json!({ "cancel": false }));
    assert_eq!(notice.code, dhcp_ha::MAINTENANCE_NOT_ALLOWED);
    let start = executed(&mut backup, NOW, "ha-maintenance-start", &Value::Null);
    assert!(start.text.contains("from the backup to partner-in-maintenance"), "{}", start.text);
    let mut primary = started(0, HaMode::PassiveBackup);
    let start = executed(&mut primary, NOW, "ha-maintenance-start", &Value::Null);
    assert_eq!(start.text, "no failover partner server found for this server server0");
}

#[test]
fn a_backup_server_copies_the_leases_of_the_server_that_the_command_names() {
    for name in ["server0", "server1"] {
        let mut backup = started(BACKUP, HaMode::HotStandby);
        let sync = backup.execute(NOW, "ha-sync", &json!({ "server-name": name }));
        assert_eq!(sync, Some(HaExecution::Deferred));
        let empty = json!({ "leases": [] });
        for command in [
            PartnerCommand::Disable(None),
            PartnerCommand::Page(FIRST_PAGE),
            PartnerCommand::SyncComplete,
        ] {
            assert_eq!(backup.poll(NOW), Some(command));
            assert_eq!(backup.target().map(|target| target.name.as_str()), Some(name));
            backup.receive(NOW, success(&empty));
        }
        assert_eq!(backup.poll(NOW), None);
        assert_eq!(backup.take_answer().map(|answer| answer.code), Some(0));
        assert_eq!(backup.state(), HaState::Backup);
    }
}

#[test]
fn a_copy_of_a_backup_server_says_nothing_about_the_partner() {
    let mut one = Relationship::new(config(0, HaMode::HotStandby), NOW);
    one.execute(NOW, "ha-sync", &json!({ "server-name": "server2" }));
    assert_eq!(one.poll(NOW), Some(PartnerCommand::Disable(None)));
    assert_eq!(one.target().map(|target| target.name.as_str()), Some("server2"));
    one.receive(NOW, Err("connection refused".to_owned()));
    assert_eq!(one.take_answer().map(|answer| answer.code), Some(1));
    assert!(one.partner().failure.is_empty() && !one.partner().is_tried);
}
