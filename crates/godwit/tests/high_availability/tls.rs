//! Pairs that know each other by certificates.

use std::path::Path;
use std::process::Command;

use scenario::ScenarioFamily;
use serde_json::{Value, json};

use super::{PairMode, PairSetup, hot_standby};
use crate::common::{TempFolder, has_debian_13, require};
use crate::subjects::process::{SOCKETS_MARK, ServerMake};

/// Makes an authority `name` in `folder`, and a certificate of it for another host than that of the
/// servers, whose names no server checks.
fn make_certificate(folder: &Path, name: &str) {
    let script = format!(
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={name}-authority \
             -keyout {name}.ca.key -out {name}.ca.crt
         openssl req -newkey rsa:2048 -nodes -subj /CN={name} \
             -addext subjectAltName=DNS:elsewhere.example -keyout {name}.key -out {name}.csr
         openssl x509 -req -in {name}.csr -CA {name}.ca.crt -CAkey {name}.ca.key -days 2 \
             -copy_extensions copy -out {name}.crt"
    );
    let status = Command::new("sh").args(["-ec", &script]).current_dir(folder).output();
    assert!(status.expect("sh runs").status.success());
}

/// Returns the parameters of a server with the certificate `own` that trusts the authority
/// `trusted`.
pub(super) fn parameters(trusted: &str, own: &str) -> Value {
    json!({
        "trust-anchor": format!("{SOCKETS_MARK}/{trusted}.ca.crt"),
        "cert-file": format!("{SOCKETS_MARK}/{own}.crt"),
        "key-file": format!("{SOCKETS_MARK}/{own}.key"),
    })
}

/// Makes a folder with certificates of two authorities, `right` and `wrong`.
pub(super) fn certificates() -> TempFolder {
    let folder = TempFolder::new("ha-certificates");
    ["right", "wrong"].iter().for_each(|name| make_certificate(folder.path(), name));
    folder
}

/// Returns the setup of servers with these parameters, and the folder of their certificates.
fn setup(family: ScenarioFamily, further: Vec<Value>) -> (PairSetup, TempFolder) {
    let folder = certificates();
    let files = Some(folder.path().to_owned());
    let usual = PairSetup::new(family, PairMode::HotStandby, 2_000);
    (PairSetup { further, files, ..usual }, folder)
}

fn a_pair_with_certificates_lives(family: ScenarioFamily, makes: [ServerMake; 2]) {
    let (setup, _folder) = setup(family, vec![parameters("right", "right"); 2]);
    hot_standby::live(setup.start(&makes));
}

#[test]
fn a_pair_of_godwit_with_certificates_lives() {
    if require(&["openssl"]) {
        a_pair_with_certificates_lives(ScenarioFamily::V4, [ServerMake::Godwit; 2]);
        a_pair_with_certificates_lives(ScenarioFamily::V6, [ServerMake::Godwit; 2]);
    }
}

#[test]
fn a_pair_with_kea_3_and_certificates_lives() {
    if has_debian_13() && require(&["openssl"]) {
        for makes in
            [[ServerMake::Godwit, ServerMake::Kea3], [ServerMake::Kea3, ServerMake::Godwit]]
        {
            a_pair_with_certificates_lives(ScenarioFamily::V4, makes);
        }
    }
}

#[test]
fn a_pair_with_kea_2_2_and_certificates_lives() {
    if require(&["openssl", "kea-dhcp4"]) {
        for makes in [[ServerMake::Godwit, ServerMake::Kea], [ServerMake::Kea, ServerMake::Godwit]]
        {
            a_pair_with_certificates_lives(ScenarioFamily::V4, makes);
        }
    }
}

/// A partner whose certificate, or whose trust, is another one counts as failed: each server serves
/// its clients, and one line of the log says why it does not reach the other, which was not there
/// yet at first.
fn a_wrong_certificate_keeps_servers_apart(other: ServerMake, further: Value) {
    let all = vec![parameters("right", "right"), further];
    let (setup, _folder) = setup(ScenarioFamily::V4, all);
    let mut pair = setup.start(&[ServerMake::Godwit, other]);
    for server in [0, 1] {
        pair.wait_for(server, ["partner-down", "unavailable"]);
    }
    pair.clients(0);
    let log = pair.servers[0].log();
    let lines: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("cannot reach the partner"))
        .filter(|line| !line.contains("Connection refused"))
        .collect();
    assert_eq!(lines.len(), 1, "{log}");
    let has_reason = ["UnknownIssuer", "UnknownCA", "BadSignature", "invalid peer certificate"]
        .iter()
        .any(|word| lines[0].contains(word));
    assert!(has_reason, "{}", lines[0]);
}

#[test]
fn a_partner_with_a_wrong_certificate_counts_as_failed() {
    if require(&["openssl"]) {
        a_wrong_certificate_keeps_servers_apart(ServerMake::Godwit, parameters("right", "wrong"));
        a_wrong_certificate_keeps_servers_apart(ServerMake::Godwit, parameters("wrong", "right"));
        if has_debian_13() {
            a_wrong_certificate_keeps_servers_apart(ServerMake::Kea3, parameters("right", "wrong"));
        }
    }
}
