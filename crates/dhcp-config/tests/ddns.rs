//! Tests of configurations of the DNS updater.

use dhcp_config::{
    CheckedConfig, ConfigParseOptions, ConfigProblem, DdnsConfig, Dhcp4, Enforcement,
    SecurityPolicy, TsigAlgorithm, parse_ddns, parse_dhcp4,
};
use serde_json::json;

use crate::common::{IncludeFiles, check_marked};

fn files() -> IncludeFiles {
    let files = [("good", "c2VjcmV0IG9mIGEga2V5\n"), ("bad", "not base 64!"), ("empty", " \n")];
    IncludeFiles(files.map(|(name, text)| (name.to_owned(), text.to_owned())).into())
}

fn parse(text: &str) -> Result<DdnsConfig, Vec<ConfigProblem>> {
    let options = ConfigParseOptions::default();
    parse_ddns(&options, "t", text, &mut files()).map(|checked| checked.config)
}

fn problems(text: &str) -> Vec<ConfigProblem> {
    let options = ConfigParseOptions::default();
    match parse_ddns(&options, "t", text, &mut files()) {
        Ok(checked) => checked.warnings,
        Err(problems) => problems,
    }
}

fn check(marked: &str, expected: &[&str]) {
    check_marked(problems, &format!("{{ \"DhcpDdns\": {{\n {marked}\n}} }}"), expected);
}

#[test]
fn the_example_of_the_manual_is_read() {
    let config = parse(
        r#"{ "DhcpDdns": {
            "ip-address": "127.0.0.1", "port": 53001, "dns-server-timeout": 100,
            "control-socket": { "socket-type": "unix", "socket-name": "ddns.sock" },
            "tsig-keys": [
                { "name": "d2.md5.key", "algorithm": "HMAC-MD5",
                  "secret": "LSWXnfkKZjdPJI5QxlpnfQ==" },
                { "name": "sha1.key", "algorithm": "hmac-sha1", "digest-bits": 80,
                  "secret-file": "good" } ],
            "forward-ddns": { "ddns-domains": [
                { "name": "example.com.", "key-name": "d2.md5.key", "comment": "x",
                  "dns-servers": [ { "ip-address": "172.16.1.1" },
                                   { "ip-address": "2001:db8::1", "port": 5353,
                                     "key-name": "SHA1.key." } ] } ] },
            "reverse-ddns": { "ddns-domains": [
                { "name": "2.0.192.in-addr.arpa", "dns-servers": [
                    { "ip-address": "172.16.1.1" } ] } ] },
            "loggers": [ { "name": "kea-dhcp-ddns" } ] } }"#,
    )
    .unwrap();
    assert_eq!((config.port, config.zones.server_timeout_ms), (53_001, 100));
    assert_eq!((config.control_sockets.len(), config.loggers.len()), (1, 1));
    let [md5, sha1] = &config.zones.keys[..] else { panic!("{config:?}") };
    assert_eq!((md5.algorithm, md5.cut_bytes, md5.secret.len()), (TsigAlgorithm::Md5, None, 16));
    assert_eq!((sha1.algorithm, sha1.cut_bytes), (TsigAlgorithm::Sha1, Some(10)));
    assert_eq!(sha1.secret, b"secret of a key");
    let servers = &config.zones.forward[0].servers;
    assert_eq!(servers[0].address, "172.16.1.1:53".parse().unwrap());
    assert_eq!(servers[1].address, "[2001:db8::1]:5353".parse().unwrap());
    assert_eq!((servers[0].key, servers[1].key), (Some(0), Some(1)));
    assert_eq!(config.zones.reverse[0].servers[0].key, None);
    assert_eq!(config.zones.reverse[0].name.as_ref().unwrap().to_string(), "2.0.192.in-addr.arpa.");
    assert!(!format!("{config:?}").contains("secret"), "secrets are not printed");
    let empty = parse(r#"{ "DhcpDdns": {} }"#).unwrap();
    assert_eq!(
        (empty.address.to_string(), empty.zones.server_timeout_ms),
        ("127.0.0.1".into(), 500)
    );
}

#[test]
fn all_problems_are_reported_at_once() {
    check(
        r#""port": ^0, "dns-server-timeout": ^0, "ncr-protocol": ^"TCP", "ncr-format": ^"XML",
           ^"unknown": 1, "hooks-libraries": [ { "library": ^"/x/libddns_gss_tsig.so" } ],
           "tsig-keys": [
              ^{ "algorithm": "HMAC-SHA256", "secret": "c2Vj" },
              { "name": "a", "algorithm": ^"HMAC-SHA3", "secret": "c2Vj" },
              { "name": "b", "algorithm": "HMAC-SHA256", "secret": ^"%" },
              { "name": ^"B.", "algorithm": "HMAC-SHA256", "secret": "c2Vj" },
              { "name": "c", "algorithm": "HMAC-SHA512", "secret": "c2Vj", "digest-bits": ^128 },
              { "name": "d", "algorithm": "HMAC-SHA1", "secret-file": ^"bad" },
              { "name": "e", "algorithm": "HMAC-SHA1", "secret-file": ^"empty" },
              { "name": "f", "algorithm": "HMAC-SHA1", "secret-file": ^"none" },
              ^{ "name": "g", "algorithm": "HMAC-SHA1" } ],
           "forward-ddns": { "ddns-domains": [
              { "name": ^"a..b", "dns-servers": [ { "ip-address": "10.0.0.1" } ] },
              ^{ "name": "c." },
              { "name": "d.", "dns-servers": ^[] },
              { "name": "e.", "key-name": ^"h", "dns-servers": [
                 { "hostname": ^"x" }, ^{ "port": 53 }, { "ip-address": ^"10.0.0" },
                 { "ip-address": "10.0.0.1", "port": ^65536, "key-name": "b" } ] },
              { "name": ^"E", "dns-servers": [ { "ip-address": "10.0.0.1" } ] },
              { "name": ^"*", "dns-servers": [ { "ip-address": "10.0.0.1" } ] } ] }"#,
        &[
            "error `port` is 0; it must be from 1 to 65535",
            "error `dns-server-timeout` is 0; it must be from 1 to 2147483647",
            "error `ncr-protocol`: `TCP` is not supported",
            "error `ncr-format` cannot be `XML`",
            "error unknown key `unknown` in `DhcpDdns`",
            "error the hook library gss_tsig is not supported",
            "error a TSIG key lacks `name`",
            "error `algorithm` cannot be `HMAC-SHA3`",
            "error `secret`: the secret is no Base64",
            "error there is a key `B.` already",
            "error `digest-bits` cannot be 128 for this algorithm",
            "error `secret-file`: the secret is no Base64",
            "error `secret-file`: the secret is empty",
            "error cannot read the secret in none: no such file",
            "error a TSIG key lacks `secret-file` or `secret`",
            "error `name`: `a..b` is no domain name",
            "error a domain has no list of servers, `dns-servers`",
            "error a domain has an empty list of servers, `dns-servers`",
            "error there is no TSIG key `h`",
            "error `hostname` of a DNS server is not supported",
            "error a DNS server lacks `ip-address`",
            "error `ip-address`: `10.0.0` is not an address",
            "error `port` is 65536; it must be from 1 to 65535",
            "error there is a domain of this name already",
            "warning updates for `*` go to a zone of that name, which no server has",
        ],
    );
}

#[test]
fn other_servers_have_files_of_their_own() {
    let of = |text: &str| problems(text).iter().map(|p| p.message.clone()).collect::<Vec<_>>();
    assert_eq!(of("{}"), ["there is no `DhcpDdns` here"]);
    let both = of(r#"{ "DhcpDdns": {}, "Dhcp4": {} }"#);
    assert_eq!(both, ["`Dhcp4` is the configuration of another server"]);
}

#[test]
fn clear_secrets_are_refused_by_the_security_rules() {
    let text = r#"{ "DhcpDdns": { "tsig-keys": [
        { "name": "a", "algorithm": "HMAC-MD5", "secret": "c2Vj" } ] } }"#;
    let parsed = |enforcement| {
        let policy = SecurityPolicy { enforcement, ..SecurityPolicy::default() };
        let options = ConfigParseOptions { policy, ..ConfigParseOptions::default() };
        parse_ddns(&options, "t", text, &mut files())
    };
    let problems = parsed(Enforcement::Refuse).unwrap_err();
    assert_eq!(problems[0].message, "use of clear text TSIG 'secret' is NOT SECURE");
    let checked = parsed(Enforcement::Warn).unwrap();
    assert_eq!(checked.warnings[0].id, Some("DHCP_DDNS_TSIG_SECRET_SECURITY_WARNING"));
    let ddns = &checked.document["DhcpDdns"];
    assert_eq!(ddns["tsig-keys"][0]["digest-bits"], json!(0));
    assert_eq!(ddns["forward-ddns"], json!({ "ddns-domains": [] }));
}

fn inside(text: &str) -> Result<CheckedConfig<Dhcp4>, Vec<ConfigProblem>> {
    parse_dhcp4("t", text, &mut files())
}

fn problems_of_server(text: &str) -> Vec<ConfigProblem> {
    match inside(text) {
        Ok(checked) => checked.warnings,
        Err(problems) => problems,
    }
}

/// Compares the problems of a DHCPv4 configuration with the expected ones.
fn check_server(marked: &str, expected: &[&str]) {
    let marked = format!("{{ \"Dhcp4\": {{\n {marked}\n}} }}");
    check_marked(problems_of_server, &marked, expected);
}

#[test]
fn an_updater_inside_a_server_has_the_same_keys() {
    let text = r#"{ "Dhcp4": { "dhcp-ddns": { "enable-updates": true },
        "user-context": { "godwit": { "ddns": {
            "dns-server-timeout": 70,
            "tsig-keys": [ { "name": "k", "algorithm": "HMAC-SHA1", "secret-file": "good" } ],
            "forward-ddns": { "ddns-domains": [
                { "name": "example.org", "key-name": "k",
                  "dns-servers": [ { "ip-address": "10.0.0.1" } ] } ] } } } } } }"#;
    let global = inside(text).unwrap().config.global;
    let zones = global.godwit.ddns.unwrap();
    assert_eq!((zones.server_timeout_ms, zones.reverse.len()), (70, 0));
    assert_eq!(zones.keys[0].secret, b"secret of a key");
    assert_eq!(zones.forward[0].servers[0].key, Some(0));
}

#[test]
fn an_updater_inside_a_server_needs_zones_and_leases_of_its_own() {
    check_server(
        r#""user-context": { "godwit": { "ddns": ^^{ } } }"#,
        &["error `ddns` has no effect without `enable-updates`", "error `ddns` has no zones"],
    );
    check_server(
        r#""dhcp-ddns": { "enable-updates": true }, "user-context": { "godwit": { "ddns": {
             ^"port": 5,
             "tsig-keys": [ { "name": "k", "algorithm": "HMAC-SHA1", "secret-file": ^"bad" } ],
             "reverse-ddns": { "ddns-domains": [ ^{ "name": "x." } ] } } } }"#,
        &[
            "error unknown key `port` in `ddns` of `godwit`",
            "error `secret-file`: the secret is no Base64",
            "error a domain has no list of servers, `dns-servers`",
        ],
    );
    let zones = r#""dhcp-ddns": { "enable-updates": true },
        "user-context": { "godwit": { "ddns": { "forward-ddns": { "ddns-domains": [
            { "name": "x.", "dns-servers": [ { "ip-address": "10.0.0.1" } ] } ] } } } },"#;
    let shared = "error `ddns` of `godwit` does not work with a lease database that servers share";
    check_server(
        &format!(r#"{zones} ^"lease-database": {{ "type": "mysql", "name": "kea" }}"#),
        &[shared],
    );
}
