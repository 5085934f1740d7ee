//! Tests of Kea 3's rules for paths, sockets and secrets: errors, or warnings with Kea's
//! identifiers.

use base::V4;
use dhcp_config::{
    ConfigParseOptions, ConfigProblem, Enforcement, Folders, NoIncludes, ReadConfig as _,
    SecurityPolicy,
};

fn reading(enforcement: Enforcement, is_lenient: bool) -> ConfigParseOptions {
    let folder = |name: &str| Folders::new([name.to_owned()]);
    let policy = SecurityPolicy {
        enforcement,
        data: folder("/data"),
        logs: folder("/logs"),
        sockets: folder("/sockets"),
        relaxed_sockets: folder("/sockets"),
        hooks: folder("/hooks"),
        scripts: folder("/scripts"),
        legal_log: folder("/legal"),
        own_files: vec![
            ("the configuration file", "/data/kea.conf".to_owned()),
            ("the server's identifier", "/data/duid".to_owned()),
        ],
    };
    ConfigParseOptions { is_lenient, policy, ..ConfigParseOptions::default() }
}

const WRONG: &str = r#"{ "Dhcp4": {
    "lease-database": { "type": "memfile", "name": "/else/leases" },
    "loggers": [ { "name": "kea-dhcp4", "output-options": [ { "output": "/else/log" } ] } ],
    "control-sockets": [
        { "socket-type": "unix", "socket-name": "/sockets/ctl" },
        { "socket-type": "http" },
        { "socket-type": "http", "socket-port": 1, "authentication": { "type": "basic",
          "clients": [ { "user": "u", "password": "p" } ] } } ],
    "hooks-libraries": [ { "library": "/else/libdhcp_stat_cmds.so" },
        { "library": "libdhcp_legal_log.so", "parameters": { "path": "/else" } } ] } }"#;

const IDS: [&str; 8] = [
    "DHCPSRV_MEMFILE_PATH_SECURITY_WARNING",
    "DCTL_LOG_PATH_SECURITY_WARNING",
    "COMMAND_UNIX_SOCKET_PERMISSIONS_SECURITY_WARNING",
    "COMMAND_HTTP_SOCKET_SECURITY_WARNING",
    "HTTP_CLIENT_USER_SECURITY_WARNING",
    "HTTP_CLIENT_PASSWORD_SECURITY_WARNING",
    "HOOKS_LIBPATH_SECURITY_WARNING",
    "LEGAL_LOG_PATH_SECURITY_WARNING",
];

#[test]
fn every_rule_is_an_error_or_a_warning_with_keas_identifier() {
    let parse = |enforcement, is_lenient| {
        V4::read_config(&reading(enforcement, is_lenient), "x", WRONG, &mut NoIncludes)
    };
    let ids = |problems: &[ConfigProblem]| {
        let of_rules = problems.iter().filter_map(|p| p.id);
        of_rules.filter(|id| id.ends_with("_SECURITY_WARNING")).collect::<Vec<_>>()
    };
    assert_eq!(ids(&parse(Enforcement::Warn, false).unwrap().warnings), IDS);
    assert_eq!(ids(&parse(Enforcement::Warn, true).unwrap().warnings), IDS);
    assert!(ids(&parse(Enforcement::Unchecked, false).unwrap().warnings).is_empty());
    for is_lenient in [false, true] {
        let problems = parse(Enforcement::Refuse, is_lenient).unwrap_err();
        let errors = problems.iter().filter(|p| p.severity == dhcp_config::Severity::Error);
        assert_eq!(errors.count(), IDS.len(), "{problems:?}");
    }
}

/// Returns the problems of a server whose files are all in one folder.
fn in_one_folder(enforcement: Enforcement, keys: &str) -> Vec<String> {
    let mut reading = reading(enforcement, false);
    let folder = Folders::new(["/data".to_owned()]);
    let policy = &mut reading.policy;
    (policy.logs, policy.sockets) = (folder.clone(), folder);
    policy.relaxed_sockets = Folders::default();
    let text = format!("{{ \"Dhcp4\": {{ {keys} }} }}");
    let problems = match V4::read_config(&reading, "x", &text, &mut NoIncludes) {
        Ok(checked) => checked.warnings,
        Err(problems) => problems,
    };
    let errors = problems.into_iter().filter(|p| p.severity == dhcp_config::Severity::Error);
    errors.map(|problem| problem.message).collect()
}

#[test]
fn no_file_has_two_uses() {
    let leases =
        |name: &str| format!(r#""lease-database": {{ "type": "memfile", "name": "{name}" }}"#);
    let log = |name: &str| {
        format!(
            r#""loggers": [ {{ "name": "a", "output-options": [ {{ "output": "{name}" }} ] }},
                     {{ "name": "b", "output-options": [ {{ "output": "{name}" }} ] }} ]"#
        )
    };
    let socket = |name: &str| {
        format!(r#""control-sockets": [ {{ "socket-type": "unix", "socket-name": "{name}" }} ]"#)
    };
    for (keys, message) in [
        (
            leases("kea.conf"),
            "`name` is `/data/kea.conf`, but `/data/kea.conf` is the configuration file",
        ),
        (
            leases("/data/duid"),
            "`name` is `/data/duid`, but `/data/duid` is the server's identifier",
        ),
        (
            socket("kea.conf"),
            "`socket-name` is `/data/kea.conf`, but `/data/kea.conf` is the configuration file",
        ),
        (
            log("kea.conf"),
            "`output` is `/data/kea.conf`, but `/data/kea.conf` is the configuration file",
        ),
    ] {
        for enforcement in [Enforcement::Refuse, Enforcement::Warn] {
            let errors = in_one_folder(enforcement, &keys);
            assert_eq!(errors.first().map(String::as_str), Some(message), "{keys}");
        }
        assert_eq!(in_one_folder(Enforcement::Unchecked, &keys).len(), 0, "for tools");
    }
    for (first, second) in [
        (leases("x"), log("/data/x")),
        (leases("x"), log("x.2")),
        (leases("x"), socket("x.lock")),
        (leases("x.pid"), log("x.pid")),
        (socket("x"), log("x.lock")),
        (leases("x.lock"), socket("x")),
    ] {
        let errors = in_one_folder(Enforcement::Refuse, &format!("{first}, {second}"));
        assert!(
            errors.iter().any(|error| error.ends_with("for something else")),
            "{first} {second}"
        );
    }
    let apart = [leases("x"), log("x.log"), socket("x.ctl")].join(", ");
    assert_eq!(in_one_folder(Enforcement::Refuse, &apart), Vec::<String>::new());
}

/// Returns the errors of a configuration with these classes.
fn of_classes(test: impl Fn(usize) -> String, count: usize) -> Vec<ConfigProblem> {
    let class = |n| format!(r#"{{ "name": "class-number-{n}", "test": "{}" }}"#, test(n));
    let classes: Vec<String> = (0..count).map(class).collect();
    let text = format!(r#"{{ "Dhcp4": {{ "client-classes": [ {} ] }} }}"#, classes.join(","));
    match dhcp_config::parse_dhcp4("x", &text, &mut NoIncludes) {
        Ok(_) => Vec::new(),
        Err(problems) => problems,
    }
}

#[test]
fn near_names_are_looked_for_a_few_times_only() {
    let problems = of_classes(|n| format!("member('klass-number-{n}')"), 400);
    assert_eq!(problems.len(), 400);
    let suggesting = |problem: &&ConfigProblem| problem.message.contains("did you mean");
    let suggested = problems.iter().filter(suggesting).count();
    assert!((10..=50).contains(&suggested), "each looks at all names before it: {suggested}");
}

#[test]
fn regular_expressions_have_a_bound_together() {
    let same = of_classes(|_| "match('[ab]*a[ab]{9}', option[12].text)".to_owned(), 300);
    assert_eq!(same.len(), 0, "{:?}", same.first());
    // Each counts as much as an expression that can be compiled.
    let problems = of_classes(|n| format!("match('({n}', option[12].text)"), 60);
    assert!(
        problems[59].message.contains("32 mebibytes of memory together"),
        "{}",
        problems[59].message
    );
}

#[test]
fn a_thousand_problems_are_shown_and_the_others_counted() {
    let keys: String = (0..3_000).map(|n| format!("\"é{n}\": 0, ")).collect();
    let text = format!("{{ \"Dhcp4\": {{ {keys} \"valid-lifetime\": 1 }} }}");
    let problems = dhcp_config::parse_dhcp4("x", &text, &mut NoIncludes).unwrap_err();
    assert_eq!(problems.len(), 1_001);
    assert_eq!(problems[1_000].message, "2000 more problems are not shown");
    let column = |number: usize| {
        let at = text.find(&format!("\"é{number}\"")).unwrap();
        text[..at].chars().count() as u32 + 1
    };
    assert_eq!((problems[0].column, problems[999].column), (column(0), column(999)));
}
