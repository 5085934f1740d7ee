//! DHCP server as an operator sees it: reloads, refusals and their messages.

use crate::common;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::perfdhcp::{PATIENT, whole_run};
use crate::common::{ServerProcess, TempFolder, configuration, require, run_bounded};

/// Runs `godwit` with `arguments` and a configuration with which the server must refuse to start.
fn refused(arguments: &[&str], config: &Path) -> Output {
    let elsewhere = config.with_file_name("elsewhere");
    fs::create_dir_all(&elsewhere).expect("the test's folder can be written");
    refused_with_files_in(&elsewhere, arguments, config)
}

/// Runs the server, which must refuse to start, with PID files in `folder`.
fn refused_with_files_in(folder: &Path, arguments: &[&str], config: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
    common::confine(&mut command, folder);
    command.env("KEA_DHCP_DATA_DIR", config.parent().expect("it lies in a folder"));
    run_bounded(command.arg("dhcp4").args(arguments).arg(config).stdin(Stdio::null()))
}

fn output_text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_sound_configuration_passes_the_check_and_a_broken_one_names_every_problem() {
    let folder = TempFolder::new("check");
    let config = configuration(folder.path(), "always", 1);
    let output = refused(&["-t"], &config);
    assert!(output.status.success(), "{}", output_text(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("valid, 1 subnet\n"));

    let text = fs::read_to_string(&config).expect("it was written here");
    let broken = text.replace("valid-lifetime", "valid-lifetme").replace("127.1.0.1", "10.0.0.1");
    fs::write(&config, broken).expect("the folder can be written");
    for flag in ["-t", "-c"] {
        let output = refused(&[flag], &config);
        assert_eq!(output.status.code(), Some(2));
        let output_text = output_text(&output);
        let name = config.display().to_string();
        assert!(
            output_text.matches(&name).count() >= 2,
            "both problems, with their place: {output_text}"
        );
        assert!(
            output_text.contains("valid-lifetime"),
            "the right key is suggested: {output_text}"
        );
    }
    let missing = refused(&["-c"], &folder.path().join("none.conf"));
    assert_eq!(missing.status.code(), Some(2));
    assert!(
        output_text(&missing).contains("cannot read configuration"),
        "{}",
        output_text(&missing)
    );
}

#[test]
fn a_port_or_lease_file_in_use_is_one_clear_sentence() {
    let folder = TempFolder::new("in-use");
    let config = configuration(folder.path(), "always", 1);
    let server = ServerProcess::start(&config, folder.path());
    let same_port = refused(&["-p", &server.port.to_string(), "-c"], &config);
    assert_eq!(same_port.status.code(), Some(1));
    assert!(output_text(&same_port).contains("in use"), "{}", output_text(&same_port));
    assert_eq!(output_text(&same_port).lines().filter(|line| line.contains("error")).count(), 1);
    let other_port = common::free_port().to_string();
    let same_file = refused(&["-p", &other_port, "-c"], &config);
    assert_eq!(same_file.status.code(), Some(1));
    assert!(
        output_text(&same_file).contains("in use by another server"),
        "{}",
        output_text(&same_file)
    );
    server.stop();
}

/// Runs exchanges of five clients of perfdhcp.
fn five_clients(server: &ServerProcess, mac: &str, address: &str) -> String {
    let run = |_| {
        let output = run_bounded(
            Command::new("perfdhcp")
                .args(["-4", "-r", "20", "-n", "5", "-n", "5", "-R", "5"])
                .args(PATIENT)
                .args(["-b", mac, "-l", "127.0.0.1", "-L", &server.relay_port.to_string()])
                .args(["-N", &server.port.to_string(), address]),
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    whole_run(5, run).report
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
        let report = five_clients(&server, mac, "127.0.0.1");
        assert_eq!(report.matches("received packets: 5").count(), 2, "{report}");
    };
    lease("mac=00:0c:01:00:00:00");
    let text = fs::read_to_string(&config).expect("it was written here");
    fs::write(&config, text.replace("127.1.0.1 - 127.1.255.254", "127.2.0.1 - 127.2.0.99"))
        .expect("the folder can be written");
    server.signal("HUP");
    server.wait_for("reloaded");
    lease("mac=00:0c:01:00:01:00");
    fs::write(&config, "{ \"Dhcp4\": { \"nonsense\": 1 } }").expect("the folder can be written");
    server.signal("HUP");
    server.wait_for("reload refused");
    lease("mac=00:0c:01:00:02:00");
    server.stop();
    let rows = fs::read_to_string(folder.path().join("leases.csv")).expect("it is there");
    let count = |prefix: &str| rows.lines().filter(|row| row.starts_with(prefix)).count();
    assert!(count("127.1.0.") >= 5 && count("127.2.0.") >= 10, "{rows}");
}

/// Returns `text` with the interfaces and their neighbouring keys replaced.
fn with_interfaces(text: &str, interfaces: &str) -> String {
    let old = r#""interfaces": [ "lo/127.0.0.1" ], "dhcp-socket-type": "udp""#;
    assert!(text.contains(old), "{text}");
    text.replace(old, interfaces)
}

#[test]
fn sockets_that_are_required_and_cannot_be_opened_end_the_server() {
    let folder = TempFolder::new("required");
    let config = configuration(folder.path(), "none", 1);
    let text = fs::read_to_string(&config).expect("it was written here");
    let interfaces = r#""interfaces": [ "lo/127.0.0.1", "no-such0" ],
        "service-sockets-require-all": true, "service-sockets-max-retries": RETRIES,
        "service-sockets-retry-wait-time": 10"#;
    for retries in ["0", "3"] {
        let interfaces = interfaces.replace("RETRIES", retries);
        fs::write(&config, with_interfaces(&text, &interfaces)).expect("the folder can be written");
        let port = common::free_port().to_string();
        let output = refused(&["-p", &port, "-c"], &config);
        assert_eq!(output.status.code(), Some(1), "{}", output_text(&output));
        assert!(
            output_text(&output).contains("no interface `no-such0`"),
            "{}",
            output_text(&output)
        );
    }
}

#[test]
fn an_address_that_is_not_there_is_told_by_the_check_and_as_an_error_by_who_listens_nowhere() {
    let folder = TempFolder::new("nowhere");
    let config = configuration(folder.path(), "none", 1);
    let text = fs::read_to_string(&config).expect("it was written here");
    let absent = "interface `lo` has no address 198.51.100.254";
    for (others, level) in [("", "ERROR"), (r#", "lo/127.0.0.1""#, "WARN")] {
        let interfaces =
            format!(r#""interfaces": [ "lo/198.51.100.254"{others} ], "dhcp-socket-type": "udp""#);
        fs::write(&config, with_interfaces(&text, &interfaces)).expect("the folder can be written");
        let output = refused(&["-t"], &config);
        assert!(output.status.success(), "{}", output_text(&output));
        assert!(
            output_text(&output).contains(&format!("warning: {absent}\n")),
            "{}",
            output_text(&output)
        );

        let log = ServerProcess::start(&config, folder.path()).stop();
        let line = log.lines().find(|line| line.contains(absent)).unwrap_or_default();
        assert!(line.contains(level), "{line:?} in {log}");
    }
}

#[test]
fn a_port_in_use_is_tried_again_until_it_is_free() {
    let (folder, later) = (TempFolder::new("taken"), TempFolder::new("taken-later"));
    let first = configuration(folder.path(), "none", 1);
    let first = ServerProcess::start(&first, folder.path());
    let config = configuration(later.path(), "none", 1);
    let text = fs::read_to_string(&config).expect("it was written here");
    let interfaces = r#""interfaces": [ "lo/127.0.0.1" ], "dhcp-socket-type": "udp",
        "service-sockets-max-retries": 100000, "service-sockets-retry-wait-time": 20"#;
    fs::write(&config, with_interfaces(&text, interfaces)).expect("the folder can be written");
    let ports = [first.port, first.relay_port];
    let second = ServerProcess::start_on_ports(ports, &config, later.path());
    assert!(second.log().contains("in use"), "{}", second.log());
    first.stop();
    second.wait_for("listening on lo, 127.0.0.1");
    second.stop();
}

#[test]
fn a_reload_listens_elsewhere() {
    if !require(&["perfdhcp"]) {
        return;
    }
    let folder = TempFolder::new("elsewhere");
    let config = configuration(folder.path(), "none", 2);
    let server = ServerProcess::start(&config, folder.path());
    let text = fs::read_to_string(&config).expect("it was written here");
    let exchange = |address: &str, mac: &str| {
        five_clients(&server, mac, address).matches("received packets: 5").count() == 2
    };
    assert!(exchange("127.0.0.1", "mac=00:0c:01:00:00:00"));
    // The whole interface: the same port again, with other sockets.
    let other = r#""interfaces": [ "lo" ], "dhcp-socket-type": "udp""#;
    fs::write(&config, with_interfaces(&text, other)).expect("the folder can be written");
    server.signal("HUP");
    server.wait_for("reloaded");
    assert!(exchange("127.0.0.2", "mac=00:0c:01:00:01:00"));
    let wrong = r#""interfaces": [ "lo/127.0.0.1" ], "dhcp-socket-type": "none""#;
    fs::write(&config, with_interfaces(&text, wrong)).expect("the folder can be written");
    server.signal("HUP");
    server.wait_for("reload refused");
    assert!(exchange("127.0.0.2", "mac=00:0c:01:00:02:00"));
    let log = server.stop();
    assert!(log.contains("no longer listening on lo, 127.0.0.1"), "{log}");
}

/// Process with a given name, which ends with the value.
struct NamedProcess(std::process::Child);

impl NamedProcess {
    fn start(folder: &Path, name: &str) -> Self {
        let path = folder.join(name);
        std::os::unix::fs::symlink("/bin/sleep", &path).expect("the folder can be written");
        Self(Command::new(path).arg("86400").spawn().expect("sleep is there"))
    }
}

impl Drop for NamedProcess {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn a_pid_file_tells_who_serves_and_keeps_another_server_away() {
    let folder = TempFolder::new("pid");
    let config = configuration(folder.path(), "none", 1);
    let file = folder.path().join("dhcp4.kea-dhcp4.pid");
    let port = common::free_port().to_string();
    let is_refused_for = |pid: u32| {
        let output = refused_with_files_in(folder.path(), &["-p", &port, "-c"], &config);
        assert_eq!(output.status.code(), Some(1), "{}", output_text(&output));
        let sentence =
            format!("error: process {pid} serves a configuration file of this name already");
        assert!(output_text(&output).contains(&sentence), "{}", output_text(&output));
    };
    let serves = || {
        let server = ServerProcess::start(&config, folder.path());
        let written = fs::read_to_string(&file).expect("it is there");
        assert_eq!(written, format!("{}\n", server.pid()));
        server
    };
    let server = serves();
    is_refused_for(server.pid());
    assert!(file.exists(), "it is not the refused one's to remove");
    server.stop();
    assert!(!file.exists());
    // Kea does not lock its PID file.
    let kea = NamedProcess::start(folder.path(), "kea-dhcp4");
    fs::write(&file, format!("{}\n", kea.0.id())).expect("the folder can be written");
    is_refused_for(kea.0.id());
    drop(kea);
    // Leftovers of a crash: the number of no process, and of a program that got the number since.
    serves().stop();
    let program = NamedProcess::start(folder.path(), "program");
    for left in [format!("{}\n", program.0.id()), "nonsense".to_owned(), String::new()] {
        fs::write(&file, left).expect("the folder can be written");
        serves().stop();
    }
    // Without the folder there is no PID file, with no other effect.
    let mut wrapper = Command::new("env");
    wrapper.arg("KEA_PIDFILE_DIR=/proc/nowhere");
    let server = ServerProcess::start_under(wrapper, "dhcp4", &config, folder.path());
    server.wait_for("DCTL_PID_FILE_ERROR cannot write PID file /proc/nowhere/dhcp4.kea-dhcp4.pid: /proc/nowhere does not exist");
    server.stop();
}

#[test]
fn limits_that_leave_ended_leases_over_are_warned_of() {
    let folder = TempFolder::new("slow");
    let config = configuration(folder.path(), "none", 1);
    let text = fs::read_to_string(&config).expect("it was written here");
    let keys = r#""expired-leases-processing": { "reclaim-timer-wait-time": 1,
        "max-reclaim-leases": 1, "unwarned-reclaim-cycles": 1 }, "valid-lifetime""#;
    fs::write(&config, text.replace("\"valid-lifetime\"", keys)).expect("the folder is there");
    let mut rows = "address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,\
                    hostname,state,user_context,pool_id\n"
        .to_owned();
    for number in 1..=8 {
        rows += &format!("127.1.0.{number},02:00:00:00:00:0{number},,60,1000000000,1,0,0,,0,,0\n");
    }
    fs::write(folder.path().join("leases.csv"), rows).expect("the folder can be written");
    let server = ServerProcess::start(&config, folder.path());
    server.wait_for("WARN  [kea-dhcp4.alloc-engine/");
    server.wait_for("ALLOC_ENGINE_V4_LEASES_RECLAMATION_SLOW lease reclamation is too slow: more than 1 cycles in a row");
    server.stop();
}

#[test]
fn single_messages_are_logged_while_somebody_wants_to_read_them() {
    if !require(&["perfdhcp"]) {
        return;
    }
    let folder = TempFolder::new("messages");
    let config = configuration(folder.path(), "none", 2);
    let text = fs::read_to_string(&config).expect("it was written here");
    let log = folder.path().join("kea.log");
    let write = |severity: &str| {
        let outputs = format!(r#""output-options": [ {{ "output": "{}" }} ]"#, log.display());
        let loggers = format!(
            r#""loggers": [ {{ "name": "kea-dhcp4", "severity": "INFO", {outputs} }},
                {{ "name": "kea-dhcp4.leases", "severity": "{severity}" }} ], "valid-lifetime""#
        );
        fs::write(&config, text.replace("\"valid-lifetime\"", &loggers)).expect("it is writable");
    };
    let logged = |text: &str| {
        fs::read_to_string(&log).unwrap_or_default().lines().filter(|l| l.contains(text)).count()
    };
    write("DEBUG");
    let port = common::free_port();
    let relay_port = common::free_port();
    let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
    common::confine(&mut command, folder.path());
    let child = command
        .args(["dhcp4", "-p", &port.to_string(), "-P", &relay_port.to_string(), "-c"])
        .arg(&config)
        .stdin(Stdio::null())
        .spawn()
        .expect("the server can be started");
    let server = NamedProcess(child);
    assert!(common::waited_until(|| logged("DHCP4_STARTED") == 1));
    let exchange = |mac: &str| {
        let run = |_| {
            let output = run_bounded(
                Command::new("perfdhcp")
                    .args(["-4", "-r", "20", "-n", "5", "-n", "5", "-R", "5"])
                    .args(PATIENT)
                    .args(["-b", mac, "-l", "127.0.0.1", "-L", &relay_port.to_string()])
                    .args(["-N", &port.to_string(), "127.0.0.1"]),
            );
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let report = whole_run(5, run).report;
        assert!(report.contains("received packets: 5"), "{report}");
    };
    exchange("mac=00:0c:01:00:00:00");
    assert!(common::waited_until(|| logged("DHCP4_LEASE_ALLOC [hwtype=1 00:0c:01:") >= 5));
    // Lines come while the file is read: the smaller number first.
    let offers = logged("DHCP4_LEASE_OFFER");
    assert!(logged("INFO  [kea-dhcp4.leases/") >= offers);
    assert_eq!(logged("DHCP4_PACKET_RECEIVED"), 0, "another logger");
    let reload = |severity: &str, count| {
        write(severity);
        let reload = ["-HUP", &server.0.id().to_string()];
        Command::new("kill").args(reload).status().expect("kill runs");
        assert!(common::waited_until(|| logged("DHCP4_CONFIG_COMPLETE") == count));
    };
    // The logger with that name exists at INFO, as in Kea.
    reload("INFO", 1);
    exchange("mac=00:0c:01:00:01:00");
    assert!(common::waited_until(|| logged("DHCP4_LEASE_ALLOC [hwtype=1 00:0c:01:00:01") >= 5));
    reload("WARN", 2);
    exchange("mac=00:0c:01:00:02:00");
    // Messages about the end come after all others.
    let end = ["-TERM", &server.0.id().to_string()];
    Command::new("kill").args(end).status().expect("kill runs");
    assert!(common::waited_until(|| logged(" shard 1") == 1));
    assert_eq!(logged("DHCP4_LEASE_ALLOC [hwtype=1 00:0c:01:00:02"), 0);
}

/// Checks that a warning is one record with an identifier, is in the configured log, and is
/// repeated after a reload only if the reload changes it.
#[test]
fn a_warning_is_one_record_in_the_configured_log_and_not_told_again() {
    let folder = TempFolder::new("warnings");
    let config = configuration(folder.path(), "none", 1);
    let text = fs::read_to_string(&config).expect("it was written here");
    let log = folder.path().join("kea.log");
    let write = |further: &str| {
        let members = format!(
            r#""loggers": [ {{ "name": "kea-dhcp4", "severity": "INFO",
                 "output-options": [ {{ "output": "{}" }} ] }} ],
               {further} "hooks-libraries": [ {{ "library": "libdhcp_ping_check.so" }} ],
               "valid-lifetime""#,
            log.display()
        );
        fs::write(&config, text.replace("\"valid-lifetime\"", &members)).expect("it is writable");
    };
    let lines = |mark: &str| -> Vec<String> {
        let text = fs::read_to_string(&log).unwrap_or_default();
        text.lines().filter(|line| line.contains(mark)).map(str::to_owned).collect()
    };
    write("");
    let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
    common::confine(&mut command, folder.path());
    command.args(["dhcp4", "-p", &common::free_port().to_string(), "-c"]).arg(&config);
    let child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn();
    let server = NamedProcess(child.expect("the server can be started"));
    let reload = || {
        let words = ["-HUP", &server.0.id().to_string()];
        Command::new("kill").args(words).status().expect("kill runs");
    };
    assert!(common::waited_until(|| lines("DHCP4_STARTED").len() == 1));
    let unsupported = lines("DHCP4_CONFIG_UNSUPPORTED");
    let message_start = format!("DHCP4_CONFIG_UNSUPPORTED {}:", config.display());
    assert!(unsupported.len() == 1 && unsupported[0].contains(&message_start), "{unsupported:?}");
    let end = "ping-check: the hook library that pings addresses before offering them is not \
               supported (addresses are offered without a check)";
    assert!(unsupported[0].ends_with(end), "{unsupported:?}");
    // Messages from before the loggers were known are there, too.
    assert_eq!(
        lines("DHCP4_ROOT_USER_SECURITY_WARNING").len(),
        usize::from(common::is_user_root())
    );
    let stray = lines("WARN").into_iter().filter(|line| {
        line.split_once("] ").is_none_or(|(_, text)| !text.starts_with(char::is_uppercase))
    });
    assert_eq!(stray.count(), 0, "{:?}", lines("WARN"));
    for (further, count) in [
        // Only line numbers have changed.
        ("\n\n", 1),
        // Now with a second warning.
        (r#""dhcp4o6-port": 6767,"#, 2),
    ] {
        let before = lines("DHCP4_CONFIG_COMPLETE").len();
        write(further);
        reload();
        assert!(common::waited_until(|| lines("DHCP4_CONFIG_COMPLETE").len() > before));
        assert_eq!(lines("DHCP4_CONFIG_UNSUPPORTED").len(), count, "{further}");
    }
    // Every error of a reload is a record of its own.
    write(r#""valid-lifetim": 1, "renew-time": 2,"#);
    reload();
    assert!(common::waited_until(|| lines("DHCP4_CONFIG_LOAD_FAIL").len() == 1));
    assert_eq!(lines("ERROR [kea-dhcp4.dhcp4/").len(), 3);
    assert_eq!(lines("DHCP4_PARSER_FAIL").len(), 2);
}
