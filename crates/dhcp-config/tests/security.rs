//! Kea 3's rules for paths, sockets and secrets: errors, or warnings under Kea's identifiers.

use dhcp_config::{
    Enforcement, Folders, NoIncludes, Problem, Reading, SecurityPolicy, parse_dhcp4_by,
};

fn reading(enforcement: Enforcement, is_lenient: bool) -> Reading {
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
    };
    Reading { is_lenient, policy }
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
        parse_dhcp4_by(&reading(enforcement, is_lenient), "x", WRONG, &mut NoIncludes)
    };
    let ids = |problems: &[Problem]| {
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
