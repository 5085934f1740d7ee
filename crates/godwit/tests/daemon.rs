//! The daemon as an operator meets it: reload, what it refuses and how it says so.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::{ServerProcess, TempFolder, configuration, require, run_bounded};

/// Runs the server where it must refuse to start.
fn refused(arguments: &[&str], config: &Path) -> Output {
    run_bounded(
        Command::new(env!("CARGO_BIN_EXE_godwit"))
            .arg("dhcp4")
            .args(arguments)
            .arg(config)
            .stdin(Stdio::null()),
    )
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn wait_for(server: &ServerProcess, text: &str) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !server.log().contains(text) {
        assert!(Instant::now() < deadline, "no `{text}` in: {}", server.log());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_sound_configuration_passes_the_check_and_a_broken_one_names_every_problem() {
    let folder = TempFolder::new("check");
    let config = configuration(folder.path(), "always", 1);
    let output = refused(&["-t"], &config);
    assert!(output.status.success(), "{}", said(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 subnets"));

    let text = fs::read_to_string(&config).expect("it was written here");
    let broken = text.replace("valid-lifetime", "valid-lifetme").replace("127.1.0.1", "10.0.0.1");
    fs::write(&config, broken).expect("the folder can be written");
    for flag in ["-t", "-c"] {
        let output = refused(&[flag], &config);
        assert_eq!(output.status.code(), Some(2));
        let said = said(&output);
        let name = config.display().to_string();
        assert!(said.matches(&name).count() >= 2, "both problems, with their place: {said}");
        assert!(said.contains("valid-lifetime"), "the right key is suggested: {said}");
    }
    let missing = refused(&["-c"], &folder.path().join("none.conf"));
    assert_eq!(missing.status.code(), Some(2));
    assert!(said(&missing).contains("cannot read the configuration"), "{}", said(&missing));
}

#[test]
fn a_port_or_lease_file_in_use_is_one_clear_sentence() {
    let folder = TempFolder::new("in-use");
    let config = configuration(folder.path(), "always", 1);
    let server = ServerProcess::start(&config, folder.path());
    let same_port = refused(&["-p", &server.port.to_string(), "-c"], &config);
    assert_eq!(same_port.status.code(), Some(1));
    assert!(said(&same_port).contains("in use"), "{}", said(&same_port));
    assert_eq!(said(&same_port).lines().filter(|line| line.contains("error")).count(), 1);
    let other_port = common::free_port().to_string();
    let same_file = refused(&["-p", &other_port, "-c"], &config);
    assert_eq!(same_file.status.code(), Some(1));
    assert!(said(&same_file).contains("in use by another server"), "{}", said(&same_file));
    server.stop();
}

#[test]
fn a_reload_changes_the_pool_and_a_broken_one_changes_nothing() {
    if !require(&["perfdhcp"]) {
        return;
    }
    let folder = TempFolder::new("reload");
    let config = configuration(folder.path(), "always", 2);
    let server = ServerProcess::start(&config, folder.path());
    let lease = |mac: &str| {
        let output = run_bounded(
            Command::new("perfdhcp")
                .args(["-4", "-r", "20", "-n", "5", "-n", "5", "-R", "5", "-W", "2000000"])
                .args(["-b", mac, "-l", "127.0.0.1", "-L", &server.relay_port.to_string()])
                .args(["-N", &server.port.to_string(), "127.0.0.1"]),
        );
        let report = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(report.contains("received packets: 5"), "{report}");
    };
    lease("mac=00:0c:01:00:00:00");
    let text = fs::read_to_string(&config).expect("it was written here");
    fs::write(&config, text.replace("127.1.0.1 - 127.1.255.254", "127.2.0.1 - 127.2.0.99"))
        .expect("the folder can be written");
    server.signal("HUP");
    wait_for(&server, "reloaded");
    lease("mac=00:0c:01:00:01:00");
    fs::write(&config, "{ \"Dhcp4\": { \"nonsense\": 1 } }").expect("the folder can be written");
    server.signal("HUP");
    wait_for(&server, "reload refused");
    lease("mac=00:0c:01:00:02:00");
    server.stop();
    let rows = fs::read_to_string(folder.path().join("leases.csv")).expect("it is there");
    let count = |prefix: &str| rows.lines().filter(|row| row.starts_with(prefix)).count();
    assert!(count("127.1.0.") >= 5 && count("127.2.0.") >= 10, "{rows}");
}
