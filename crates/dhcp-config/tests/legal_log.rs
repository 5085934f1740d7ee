//! Tests of the parameters of the hook library `legal_log`: values, defaults and Kea's errors.

use dhcp_config::{
    GodwitLegalLog, LegalLog, LegalLogDestination, LegalLogFailure, LegalLogFiles, LegalLogSyslog,
    OnFail, RotationUnit, SqlKind,
};

use crate::common::{accepted, accepted6, check_marked, problems};

/// Returns the legal log of a DHCPv4 configuration with `parameters`.
fn legal_log(parameters: &str) -> LegalLog {
    let library = r#""library": "libdhcp_legal_log.so""#;
    let text = format!(
        r#"{{ "Dhcp4": {{ "hooks-libraries": [ {{ {library}, "parameters": {parameters} }} ] }} }}"#
    );
    accepted(&text).config.global.legal_log.expect("the library is named")
}

fn files(parameters: &str) -> LegalLogFiles {
    match legal_log(parameters).destination {
        LegalLogDestination::Files(files) => files,
        other => panic!("{other:?}"),
    }
}

#[test]
fn keas_defaults_of_the_legal_log_hold() {
    let default = LegalLogFiles {
        folder: None,
        base_name: "kea-legal".to_owned(),
        time_unit: RotationUnit::Day,
        count: 1,
        prerotate: None,
        postrotate: None,
    };
    for parameters in [
        "{ }",
        r#"{ "type": "logfile" }"#,
        r#"{ "path": "", "prerotate": "", "timestamp-format": "", "request-parser-format": "" }"#,
    ] {
        assert_eq!(files(parameters), default, "{parameters}");
        let log = legal_log(parameters);
        assert_eq!(log.timestamp_format, "%Y-%m-%d %H:%M:%S %Z");
        assert_eq!((log.request_format, log.response_format), (None, None));
    }
    let older =
        r#"{ "Dhcp6": { "hooks-libraries": [ { "library": "libdhcp_forensic_log.so" } ] } }"#;
    let older = accepted6(older).config.global;
    assert_eq!(older.legal_log.unwrap().destination, LegalLogDestination::Files(default));
    assert_eq!(older.godwit.legal_log, GodwitLegalLog::default());
    let without = accepted(r#"{ "Dhcp4": { } }"#).config.global;
    assert_eq!(without.legal_log, None);
}

#[test]
fn parameters_of_each_destination_are_read() {
    let set = files(
        r#"{ "path": "/legal", "base-name": "x", "time-unit": "month", "count": 0,
             "prerotate": "/scripts/a", "postrotate": "/scripts/b" }"#,
    );
    let expected = LegalLogFiles {
        folder: Some("/legal".to_owned()),
        base_name: "x".to_owned(),
        time_unit: RotationUnit::Month,
        count: 0,
        prerotate: Some("/scripts/a".to_owned()),
        postrotate: Some("/scripts/b".to_owned()),
    };
    assert_eq!(set, expected);
    let syslog = legal_log(r#"{ "type": "syslog", "facility": "daemon", "pattern": "%m" }"#);
    let expected = LegalLogSyslog { facility: Some("daemon".to_owned()), pattern: "%m".to_owned() };
    assert_eq!(syslog.destination, LegalLogDestination::Syslog(expected));
    let database = legal_log(
        r#"{ "type": "postgresql", "name": "logs", "host": "h", "port": 9, "user": "u",
             "password": "p", "timestamp-format": "%Q", "request-parser-format": "pkt4.mac",
             "response-parser-format": "'x'" }"#,
    );
    let LegalLogDestination::Database(settings) = &database.destination else { panic!() };
    assert_eq!((settings.kind, &settings.name[..]), (SqlKind::Postgresql, "logs"));
    assert_eq!((settings.port, settings.on_fail), (Some(9), OnFail::ServeRetryContinue));
    assert_eq!(database.timestamp_format, "%Q");
    assert!(database.request_format.is_some() && database.response_format.is_some());
}

#[test]
fn subnets_and_the_global_context_have_settings_of_the_legal_log() {
    let subnet = |id: u32, context: &str| {
        format!(r#"{{ "id": {id}, "subnet": "10.{id}.0.0/16", "user-context": {context} }}"#)
    };
    let subnets = [
        subnet(1, r#"{ "legal-logging": false }"#),
        subnet(2, r#"{ "legal-logging": true }"#),
        subnet(3, r#"{ "legal-logging": "no" }"#),
        subnet(4, r#"{ "legal-logging": false }"#),
    ];
    let [first, rest @ ..] = &subnets;
    let text = format!(
        r#"{{ "Dhcp4": {{ "hooks-libraries": [ {{ "library": "libdhcp_legal_log.so" }} ],
             "user-context": {{ "godwit": {{ "legal-log":
                 {{ "flush": true, "on-failure": "serve" }} }} }},
             "shared-networks": [ {{ "name": "n", "subnet4": [ {first} ] }} ],
             "subnet4": [ {} ] }} }}"#,
        rest.join(", ")
    );
    let global = accepted(&text).config.global;
    assert_eq!(global.legal_log.unwrap().silent_subnets, [1, 4]);
    let own = GodwitLegalLog { is_flushed: true, on_failure: LegalLogFailure::Serve };
    assert_eq!(global.godwit.legal_log, own);
}

#[test]
fn errors_of_the_legal_log_are_keas() {
    let check = |parameters: &str, expected: &[&str]| {
        let text = format!(
            r#"{{ "Dhcp4": {{ "hooks-libraries": [ {{ "library": "libdhcp_legal_log.so",
                 "parameters": {parameters} }} ] }} }}"#
        );
        check_marked(problems, &text, expected);
    };
    for (parameters, expected) in [
        ("^1", "error the parameters of legal_log must be a map, not an integer"),
        (r#"{ "base-name": ^"" }"#, "error file name cannot be blank"),
        (r#"{ "base-name": ^"a/b" }"#, "error `base-name` is `a/b`"),
        (r#"{ "path": ^1 }"#, "error `path` must be a string, not an integer"),
        (
            r#"{ "time-unit": ^"hour" }"#,
            "error unknown time unit type: hour, expected one of: second, day, month, year",
        ),
        (
            r#"{ "count": ^-1 }"#,
            "error count value: -1 is out of range, expected value: 0..4294967295",
        ),
        (
            r#"{ "type": ^"sqlite" }"#,
            "error The type of the forensic log backend: 'sqlite' is not supported",
        ),
        (r#"{ "request-parser-format": "pkt4.^what" }"#, "error `w` is not allowed here"),
        (r#"{ ^"what": 1, "facility": 1 }"#, "warning the legal log has no parameter `what`"),
    ] {
        check(parameters, &[expected]);
    }
}
