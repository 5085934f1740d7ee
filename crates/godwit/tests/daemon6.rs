//! DHCPv6 server as an operator sees it: refusals and their messages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::link::{CLIENT_END, LinkNamespaces, SERVER_ADDRESS, SERVER_END};
use crate::common::ports::is_taken;
use crate::common::{ServerProcess, TempFolder, configuration6, run_bounded, waited_until};

const SUBNET: &str = r#"{ "id": 1, "subnet": "2001:db8:1::/64", "interface": "sv0",
    "pools": [ { "pool": "2001:db8:1::10 - 2001:db8:1::ff" } ],
    "pd-pools": [ { "prefix": "2001:db8:100::", "prefix-len": 48, "delegated-len": 56 } ] }"#;

fn configuration(folder: &Path) -> PathBuf {
    configuration6(folder, &format!("\"{SERVER_END}\""), r#""renew-timer": 900,"#, SUBNET)
}

/// Runs the server by `wrapper`, which must refuse to start, and returns its exit code and its
/// output.
fn refused(mut wrapper: Command, flags: &[&str], config: &Path) -> (Option<i32>, String) {
    let binary = env!("CARGO_BIN_EXE_godwit");
    let folder = config.parent().expect("it lies in a folder");
    // The folder itself contains another server's PID file.
    wrapper.env("KEA_PIDFILE_DIR", folder.join("elsewhere"));
    crate::common::confine(&mut wrapper, folder);
    let output: Output = run_bounded(wrapper.arg(binary).arg("dhcp6").args(flags).arg(config));
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn the_check_names_every_problem() {
    let folder = TempFolder::new("check6");
    let config = configuration(folder.path());
    let (code, output_text) = refused(Command::new("env"), &["-t"], &config);
    let absent = "warning: this machine has no interface `sv0`\n";
    assert_eq!((code, output_text.as_str()), (Some(0), absent));
    let broken = [
        ("renew-timer", "renew-timr", "did you mean `renew-timer`"),
        ("2001:db8:1::10 -", "2001:db8:2::10 -", "2001:db8:2::10"),
        ("\"delegated-len\": 56", "\"delegated-len\": 40", "`delegated-len` (40)"),
    ];
    let mut text = fs::read_to_string(&config).expect("it was written here");
    for (right, wrong, _) in broken {
        text = text.replace(right, wrong);
    }
    fs::write(&config, text).expect("the folder can be written");
    let (code, output_text) = refused(Command::new("env"), &["-t"], &config);
    assert_eq!(code, Some(2));
    assert_eq!(output_text.matches("error:").count(), broken.len(), "{output_text}");
    for (_, _, words) in broken {
        assert!(output_text.contains(words), "no `{words}`: {output_text}");
    }
}

#[test]
fn what_the_machine_refuses_is_one_clear_sentence() {
    let Some(link) = LinkNamespaces::new() else { return };
    link.join_by_ipv6(SERVER_END, CLIENT_END);
    let folder = TempFolder::new("refused6");
    let config = configuration(folder.path());
    let sentence = |wrapper: Command, config: &Path| {
        let (code, output_text) = refused(wrapper, &["-c"], config);
        assert_eq!(code, Some(1), "{output_text}");
        let errors: Vec<&str> =
            output_text.lines().filter(|line| line.contains("error:")).collect();
        assert_eq!(errors.len(), 1, "{output_text}");
        errors[0].to_owned()
    };
    let mut unprivileged = link.at_server();
    unprivileged.args(["setpriv", "--bounding-set=-net_bind_service"]);
    let output_text = sentence(unprivileged, &config);
    assert!(output_text.contains("CAP_NET_BIND_SERVICE"), "{output_text}");

    // Another server has the link's address and the clients' group, though not the one of relay
    // agents, so this server could not reply to clients.
    let groups = [SERVER_ADDRESS, "ff02::1:2"];
    let squatters = groups.map(|address| link.squat(SERVER_END, address, 547));
    let output_text = sentence(link.at_server(), &config);
    assert!(output_text.contains("Address already in use"), "{output_text}");
    drop(squatters);
    // Programs that other tests have just started may have their sockets, too, until they run.
    let is_free = || link.opened_at_server(|| !is_taken(547));
    assert!(waited_until(is_free), "nobody has port 547 any more");

    let text = fs::read_to_string(&config).expect("it was written here");
    let folder_words = folder.path().display().to_string();
    let elsewhere = text.replace(&folder_words, "/proc/missing");
    let elsewhere_config = folder.path().join("elsewhere.conf");
    fs::write(&elsewhere_config, elsewhere).expect("the folder can be written");
    // No user can make such a folder.
    let mut data_folder = link.at_server();
    data_folder.args(["env", "KEA_DHCP_DATA_DIR=/proc/missing"]);
    let output_text = sentence(data_folder, &elsewhere_config);
    assert!(output_text.contains("/proc/missing/kea-dhcp6-serverid"), "{output_text}");

    // With everything in place, it starts.
    let server =
        ServerProcess::start_on_standard_ports(link.at_server(), "dhcp6", &config, folder.path());
    let output_text = sentence(link.at_server(), &config);
    assert!(output_text.contains("Address already in use"), "{output_text}");
    // With a free port, the leases are still in use.
    let (code, output_text) = refused(link.at_server(), &["-p", "1547", "-c"], &config);
    assert_eq!(code, Some(1), "{output_text}");
    assert!(output_text.contains("in use by another server"), "{output_text}");
    server.stop();
}
