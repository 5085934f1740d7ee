//! Tests of the parameters of the hook library high_availability.

use base::V4;
use dhcp_config::{
    ConfigParseOptions, HA_BACKUPS_MAX, HA_RELATIONSHIPS_MAX, HaMode, HaPause, HaRelationship,
    HaRole, NoIncludes, ReadConfig, SecretSource, Severity, TlsFiles,
};
use serde_json::{Value, json};

fn pair() -> Value {
    json!({
        "this-server-name": "server2",
        "mode": "hot-standby",
        "peers": [
            { "name": "server1", "url": "http://192.0.2.1:8005/", "role": "primary" },
            { "name": "server2", "url": "http://[2001:db8::2]:8005/x", "role": "standby",
              "auto-failover": false, "basic-auth-user": "a", "basic-auth-password": "b:c" }
        ]
    })
}

fn balanced() -> Value {
    json!({ "this-server-name": "b", "mode": "load-balancing", "peers": [
        { "name": "a", "url": "http://192.0.2.1:1/", "role": "primary" },
        { "name": "b", "url": "http://192.0.2.2:1/", "role": "secondary" } ] })
}

fn backup(name: &str) -> Value {
    json!({ "name": name, "url": "http://192.0.2.3:1/", "role": "backup" })
}

/// Returns the pair that the server reads from `relationships`, else its first error or warning.
fn read(relationships: &Value) -> Result<HaRelationship, String> {
    read_at("", relationships)
}

/// Reads `relationships` as [`read`] does, on the host with the name `host_name`.
fn read_at(host_name: &str, relationships: &Value) -> Result<HaRelationship, String> {
    let host_name = host_name.to_owned();
    read_with(&ConfigParseOptions { host_name, ..ConfigParseOptions::default() }, relationships)
}

/// Returns a configuration with `relationships`.
fn configuration(relationships: &Value) -> Value {
    let library = json!({ "library": "libdhcp_ha.so",
                          "parameters": { "high-availability": relationships } });
    json!({ "Dhcp4": { "hooks-libraries": [ library ] } })
}

/// Reads `relationships` as [`read`] does, as `options` demands.
fn read_with(
    options: &ConfigParseOptions,
    relationships: &Value,
) -> Result<HaRelationship, String> {
    read_all_with(options, relationships).map(|mut all| all.swap_remove(0))
}

/// Reads `relationships` as `options` demands, and returns all of them, else the errors.
fn read_all_with(
    options: &ConfigParseOptions,
    relationships: &Value,
) -> Result<Vec<HaRelationship>, String> {
    let text = configuration(relationships).to_string();
    match V4::read_config(options, "test", &text, &mut NoIncludes) {
        Ok(read) => {
            let warnings: Vec<_> = read.warnings.iter().map(|one| one.message.clone()).collect();
            let is_inactive = read.config.global.inactive.iter().any(|one| one.is_dangerous);
            let all = read.config.global.high_availability;
            assert_eq!(all.is_empty(), is_inactive);
            if is_inactive { Err(warnings.join("\n")) } else { Ok(all) }
        }
        Err(problems) => {
            let errors = problems.iter().filter(|one| one.severity == Severity::Error);
            Err(errors.map(|one| one.message.clone()).collect::<Vec<_>>().join("\n"))
        }
    }
}

#[test]
fn a_pair_has_the_defaults_of_kea() {
    let read = read(&json!([pair()])).unwrap();
    let partner = read.partner().unwrap();
    assert_eq!((read.own.name.as_str(), partner.name.as_str()), ("server2", "server1"));
    assert!(!read.is_primary() && read.sends_lease_updates && read.synchronizes_leases);
    assert!(read.restricts_commands && partner.has_automatic_failover);
    let own = &read.own;
    assert_eq!((own.address.to_string().as_str(), own.port), ("2001:db8::2", 8005));
    let text = |text: &str| SecretSource::Text(text.to_owned());
    assert_eq!(own.credentials, Some((text("a"), text("b:c"))));
    let limits = read.limits;
    assert_eq!((limits.heartbeat_ms, limits.response_ms, limits.ack_ms), (10_000, 60_000, 10_000));
    assert_eq!((limits.unacked_clients, limits.rejected_updates), (10, 10));
    assert_eq!((limits.sync_ms, limits.page_leases), (60_000, 10_000));
}

fn read_valid(relationship: &Value) -> HaRelationship {
    read(&json!([relationship])).expect("it is supported")
}

#[test]
fn a_balanced_pair_has_a_secondary_server() {
    let read = read(&json!([balanced()])).unwrap();
    assert_eq!((read.mode, read.own.role), (HaMode::LoadBalancing, HaRole::Secondary));
    assert_eq!(read.server(HaRole::Primary).unwrap().name, "a");
    assert_eq!(read.limits.delayed_updates, 100);
    let mut with_backlog = balanced();
    with_backlog["delayed-updates-limit"] = json!(7);
    assert_eq!(read_valid(&with_backlog).limits.delayed_updates, 7);
}

#[test]
fn backup_servers_get_updates_and_send_none() {
    let mut with_backup = pair();
    with_backup["peers"].as_array_mut().unwrap().push(backup("c"));
    let names = |read: &HaRelationship| -> Vec<String> {
        read.backups().map(|backup| backup.name.clone()).collect()
    };
    let standby = read(&json!([with_backup])).unwrap();
    assert_eq!(
        (standby.partner().unwrap().name.as_str(), names(&standby)),
        ("server1", vec!["c".to_owned()])
    );
    with_backup["this-server-name"] = json!("c");
    let own_backup = read(&json!([with_backup])).unwrap();
    assert_eq!((own_backup.partner(), names(&own_backup)), (None, Vec::new()));
}

#[test]
fn replies_wait_for_backup_servers_in_passive_backup_only() {
    let mut passive = json!({ "this-server-name": "a", "mode": "passive-backup", "peers": [
        { "name": "a", "url": "http://192.0.2.1:1/", "role": "primary" }, backup("b") ] });
    assert!(!read(&json!([passive])).unwrap().waits_for_backups);
    passive["wait-backup-ack"] = json!(true);
    let relationship = read(&json!([passive])).unwrap();
    assert!(relationship.waits_for_backups && relationship.partner().is_none());
    passive["peers"][1]["role"] = json!("standby");
    let text = read(&json!([passive])).unwrap_err();
    assert!(text.contains("standby servers not allowed in the passive backup"), "{text}");
}

#[test]
fn a_peer_has_its_own_files_for_tls_or_those_of_the_relationship() {
    let mut with_tls = pair();
    for (key, file) in [("trust-anchor", "ca"), ("cert-file", "cert"), ("key-file", "key")] {
        with_tls[key] = json!(file);
    }
    with_tls["require-client-certs"] = json!(false);
    with_tls["peers"][0]["cert-file"] = json!("other");
    with_tls["peers"][0]["url"] = json!("https://192.0.2.1:8005/");
    let relationship = read(&json!([with_tls])).unwrap();
    let files = |certificate: &str, is_client_certificate_required| TlsFiles {
        trust_anchor: "ca".to_owned(),
        certificate: certificate.to_owned(),
        key: "key".to_owned(),
        is_client_certificate_required,
    };
    assert_eq!(relationship.own.tls, Some(files("cert", false)));
    assert_eq!(relationship.partner().unwrap().tls, Some(files("other", true)));
    with_tls["peers"][0]["key-file"] = json!("");
    let text = read(&json!([with_tls])).unwrap_err();
    assert!(text.contains("bad TLS config for server server1: key-file parameter is"), "{text}");
    for key in ["trust-anchor", "cert-file", "key-file"] {
        with_tls["peers"][0][key] = json!("");
    }
    let text = read(&json!([with_tls])).unwrap_err();
    assert!(text.contains("https scheme is not supported for server server1"), "{text}");
}

#[test]
fn godwit_s_own_settings_are_in_the_user_context() {
    assert!(read(&json!([pair()])).unwrap().heals_clock_skew);
    let mut with_context = pair();
    let own = json!({ "take-over-delay": 30_000, "heal-clock-skew": false });
    with_context["user-context"] = json!({ "godwit": own });
    let relationship = read(&json!([with_context])).unwrap();
    assert_eq!(relationship.limits.take_over_ms, Some(30_000));
    assert!(!relationship.heals_clock_skew);
    with_context["user-context"] = json!({ "godwit": { "take-over-delay": 0 } });
    assert!(read(&json!([with_context])).unwrap_err().contains("take-over-delay"));
    with_context["user-context"] = json!({ "godwit": { "take-over": 1 } });
    assert!(read(&json!([with_context])).unwrap_err().contains("unknown key `take-over`"));
}

#[test]
fn the_name_of_the_host_may_decide_which_peer_the_server_is() {
    let mut by_host = pair();
    by_host["user-context"] = json!({ "godwit": { "name-by-host": true } });
    for with_name in [true, false] {
        if !with_name {
            by_host.as_object_mut().unwrap().remove("this-server-name");
        }
        for (host, own) in [
            ("server1", Some("server1")),
            ("Server2", Some("server2")),
            ("server1.example.org", Some("server1")),
            ("server3", None),
            ("", None),
        ] {
            let read = read_at(host, &json!([by_host]));
            match own {
                Some(own) => assert_eq!(read.unwrap().own.name, own),
                None => assert_eq!(
                    read.unwrap_err(),
                    format!("no peer configuration specified for the '{host}'")
                ),
            }
        }
    }
    by_host["user-context"] = json!({ "godwit": { "name-by-host": false } });
    assert!(read_at("server1", &json!([by_host])).unwrap_err().contains("this-server-name"));
    assert_eq!(read_at("server1", &json!([pair()])).unwrap().own.name, "server2");
}

#[test]
fn the_command_line_may_decide_which_peer_the_server_is() {
    let with_names = |names: &[&str], relationship: &Value| {
        let server_names = names.iter().map(|name| (*name).to_owned()).collect();
        let options = ConfigParseOptions { server_names, ..ConfigParseOptions::default() };
        read_with(&options, &json!([relationship]))
    };
    let mut by_host = pair();
    by_host["user-context"] = json!({ "godwit": { "name-by-host": true } });
    let mut without_name = pair();
    without_name.as_object_mut().unwrap().remove("this-server-name");
    for relationship in [pair(), by_host, without_name] {
        for own in ["server1", "server2"] {
            assert_eq!(with_names(&[own], &relationship).unwrap().own.name, own);
        }
        for wrong in ["server3", "SERVER1", "server1.example.org"] {
            assert_eq!(
                with_names(&[wrong], &relationship).unwrap_err(),
                format!("no peer configuration specified for the '{wrong}'")
            );
        }
    }
}

/// Returns true if the configuration of a relationship without a listener of its own has a warning
/// that no control socket replaces it. It has an HTTP control socket at `address`.
fn lacks_control_socket(key: &str, address: &str) -> bool {
    let mut without_listener = pair();
    without_listener["multi-threading"] = json!({ key: false });
    without_listener["this-server-name"] = json!("server1");
    let mut config = configuration(&json!([without_listener]));
    config["Dhcp4"]["control-sockets"] = json!([
        { "socket-type": "http", "socket-address": address, "socket-port": 8005 } ]);
    let options = ConfigParseOptions::default();
    let read = V4::read_config(&options, "test", &config.to_string(), &mut NoIncludes);
    let read = read.expect("it is valid");
    let relationship = read.config.global.high_availability;
    assert!(relationship.iter().all(|relationship| !relationship.has_listener));
    let text = "no HTTP control socket has this address";
    read.warnings.iter().any(|warning| warning.message.contains(text))
}

#[test]
fn without_a_listener_the_partner_uses_an_http_control_socket() {
    assert!(read_valid(&pair()).has_listener);
    for key in ["http-dedicated-listener", "enable-multi-threading"] {
        for address in ["192.0.2.1", "0.0.0.0", "::"] {
            assert!(!lacks_control_socket(key, address), "{address}");
        }
        assert!(lacks_control_socket(key, "192.0.2.2"));
    }
}

#[test]
fn pauses_are_of_known_states_and_once_each() {
    let states = |states: Value| {
        let mut pair = pair();
        pair["state-machine"] = json!({ "states": states });
        read(&json!([pair]))
    };
    let one = |state: &str, pause: &str| json!({ "state": state, "pause": pause });
    let read =
        states(json!([one("ready", "once"), one("waiting", "never"), one("syncing", "always")]));
    let pauses = [("ready", HaPause::Once), ("syncing", HaPause::Always)];
    assert_eq!(read.unwrap().pauses, pauses.map(|(name, pause)| (name.to_owned(), pause)));
    assert!(states(json!([one("foo", "once")])).unwrap_err().contains("unknown state foo"));
    let twice = states(json!([one("ready", "once"), one("ready", "never")])).unwrap_err();
    assert!(twice.contains("duplicated configuration for the 'ready' state"), "{twice}");
    assert!(states(json!([one("ready", "often")])).unwrap_err().contains("pause"));
}

#[test]
fn each_wrong_parameter_is_an_error() {
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut pair = pair();
        change(&mut pair);
        read(&json!([pair])).unwrap_err()
    };
    type Change<'c> = &'c dyn Fn(&mut Value);
    let cases: [(Change<'_>, &str); 10] = [
        (&|pair| pair["delayed-updates-limit"] = json!(1), "'delayed-updates-limit' must be"),
        (&|pair| pair["this-server-name"] = json!("x"), "no peer configuration specified"),
        (&|pair| pair["peers"][0]["url"] = json!("http://host:1/"), "bad url 'http://host:1/'"),
        (&|pair| pair["peers"][1]["role"] = json!("primary"), "multiple primary servers"),
        (&|pair| pair["peers"][1]["role"] = json!("backup"), "standby server required"),
        (&|pair| pair["peers"][1]["role"] = json!("secondary"), "secondary servers not allowed"),
        (&|pair| pair["peers"][1]["name"] = json!("server1"), "`server1` exists already"),
        (&|pair| pair["heartbeat-delay"] = json!(-1), "heartbeat-delay"),
        (&|pair| pair["wait-backup-ack"] = json!(true), "'wait-backup-ack' must be set to false"),
        (&|pair| pair["heartbeat-dela"] = json!(1), "unknown key `heartbeat-dela`"),
    ];
    for (change, message) in cases {
        let text = changed(change);
        assert!(text.contains(message), "{message}: {text}");
    }
    assert!(read(&json!([])).unwrap_err().contains("must not be empty"));
}

#[test]
fn valid_parameters_that_the_server_cannot_serve_are_named() {
    let mut with_backups = pair();
    let backups = (0..=HA_BACKUPS_MAX).map(|number| backup(&format!("backup{number}")));
    with_backups["peers"].as_array_mut().unwrap().extend(backups);
    assert!(read(&json!([with_backups])).unwrap_err().contains("more than 8 backup servers"));
    let many: Vec<Value> = (0..=HA_RELATIONSHIPS_MAX).map(branch).collect();
    assert!(read(&json!(many)).unwrap_err().contains("more than 64 relationships"));
}

/// Returns the relationship of a hub with its branch server number `number`.
fn branch(number: usize) -> Value {
    let [hub, spoke] = ["hub", "spoke"].map(|name| format!("{name}{number}"));
    let port = 8000 + number;
    json!({ "this-server-name": hub, "mode": "hot-standby", "peers": [
        { "name": spoke, "url": format!("http://192.0.2.9:{port}/"), "role": "primary" },
        { "name": hub, "url": format!("http://192.0.2.1:{port}/"), "role": "standby" } ] })
}

#[test]
fn a_hub_has_a_relationship_with_each_branch_server() {
    let options = ConfigParseOptions::default();
    let all = read_all_with(&options, &json!([branch(1), branch(2)])).unwrap();
    let names = |one: &HaRelationship| (one.number, one.own.name.clone());
    let names: Vec<_> = all.iter().map(names).collect();
    assert_eq!(names, [(0, "hub1".to_owned()), (1, "hub2".to_owned())]);
}

#[test]
fn relationships_of_a_hub_are_of_one_mode_and_have_nothing_in_common() {
    let two = |change: &dyn Fn(&mut Value)| {
        let mut second = branch(2);
        change(&mut second);
        read(&json!([branch(1), second])).unwrap_err()
    };
    let wrong_mode = two(&|second| {
        second["mode"] = json!("load-balancing");
        second["peers"][1]["role"] = json!("secondary");
    });
    assert_eq!(wrong_mode, "multiple HA relationships are only supported for 'hot-standby' mode");
    let same_name = two(&|second| second["peers"][0]["name"] = json!("spoke1"));
    assert!(same_name.contains("server names must be unique for different"), "{same_name}");
    let url = "http://192.0.2.1:8001/";
    let same_address = two(&|second| second["peers"][1]["url"] = json!(url));
    assert!(same_address.contains("is the server itself in another"), "{same_address}");
}

#[test]
fn the_command_line_names_the_server_in_each_relationship() {
    let with_names = |names: &[&str]| {
        let server_names = names.iter().map(|name| (*name).to_owned()).collect();
        let options = ConfigParseOptions { server_names, ..ConfigParseOptions::default() };
        let all = read_all_with(&options, &json!([branch(1), branch(2)]))?;
        Ok::<Vec<String>, String>(all.into_iter().map(|one| one.own.name).collect())
    };
    assert_eq!(with_names(&["spoke2", "spoke1"]).unwrap(), ["spoke1", "spoke2"]);
    let missing = with_names(&["spoke1"]).unwrap_err();
    assert!(missing.contains("no peer configuration specified for the 'spoke1'"), "{missing}");
    let further = with_names(&["spoke1", "spoke2", "spoke3"]).unwrap_err();
    assert!(further.contains("no relationship has the server 'spoke3'"), "{further}");
}

/// Returns the positions of the relationships of two subnets with these user contexts, of which the
/// second is in a shared network with a user context, and the warnings.
fn relationships_of_subnets(
    relationships: &Value,
    contexts: [Value; 3],
) -> (Vec<Option<usize>>, Vec<String>) {
    let mut config = configuration(relationships);
    let [first, second, network] = contexts;
    config["Dhcp4"]["subnet4"] =
        json!([{ "id": 1, "subnet": "10.1.0.0/16", "user-context": first }]);
    config["Dhcp4"]["shared-networks"] = json!([{ "name": "n", "user-context": network,
        "subnet4": [{ "id": 2, "subnet": "10.2.0.0/16", "user-context": second }] }]);
    let options = ConfigParseOptions::default();
    let read = V4::read_config(&options, "test", &config.to_string(), &mut NoIncludes);
    let read = read.expect("it is valid");
    let of_subnets = read.config.subnets.iter().map(|subnet| subnet.relationship).collect();
    (of_subnets, read.warnings.into_iter().map(|warning| warning.message).collect())
}

#[test]
fn subnets_name_their_relationship_by_any_server_of_it() {
    let hub = json!([branch(1), branch(2)]);
    let named = |name: &str| json!({ "ha-server-name": name });
    let both = relationships_of_subnets(&hub, [named("spoke2"), json!({}), named("hub1")]);
    assert_eq!(both, (vec![Some(1), Some(0)], Vec::new()));
    let own = relationships_of_subnets(&hub, [named("hub1"), named("hub2"), named("hub1")]);
    assert_eq!(own, (vec![Some(0), Some(1)], Vec::new()));
    for (context, warning) in [
        (json!({}), "no relationship serves the subnet: it lacks `ha-server-name`"),
        (named("x"), "no relationship serves the subnet: none has the server `x`"),
        (named(""), "'ha-server-name' must be a non-empty string"),
        (json!({ "ha-server-name": 7 }), "'ha-server-name' must be a non-empty string"),
    ] {
        let (of_subnets, warnings) =
            relationships_of_subnets(&hub, [context, named("hub1"), json!({})]);
        assert_eq!((of_subnets, warnings), (vec![None, Some(0)], vec![warning.to_owned()]));
    }
    // The only relationship serves all subnets, whether they name it or not.
    let one = relationships_of_subnets(&json!([branch(1)]), [json!({}), named("x"), json!({})]);
    assert_eq!(one, (vec![None, None], Vec::new()));
}
