//! Reports of the servers to a service manager, for which the test stands.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::process::Command;

use crate::common::{PATIENCE, ServerProcess, TempFolder, configuration};

/// Socket of a service manager.
struct Manager {
    socket: UnixDatagram,
}

impl Manager {
    fn new(folder: &TempFolder) -> (Self, Command) {
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        // The server may run as another user.
        fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut wrapper = Command::new("env");
        wrapper.arg(format!("NOTIFY_SOCKET={}", path.display()));
        (Self { socket }, wrapper)
    }

    /// Returns the lines of the next report, except signs of life.
    fn report(&self) -> Vec<String> {
        loop {
            let report = self.any_report();
            if report != ["WATCHDOG=1"] {
                return report;
            }
        }
    }

    fn any_report(&self) -> Vec<String> {
        let mut octets = [0; 4096];
        let length = self.socket.recv(&mut octets).expect("a report comes");
        String::from_utf8_lossy(&octets[..length]).lines().map(str::to_owned).collect()
    }
}

/// Returns the port that the status of a report names.
fn ready(subnets: &str, server: &ServerProcess) -> Vec<String> {
    vec!["READY=1".to_owned(), format!("STATUS=serving {subnets} on port {}", server.port)]
}

#[test]
fn the_manager_learns_of_start_reload_and_end() {
    let folder = TempFolder::new("notify");
    let config = configuration(folder.path(), "always", 2);
    let (manager, wrapper) = Manager::new(&folder);
    let server = ServerProcess::start_under(wrapper, "dhcp4", &config, folder.path());
    assert_eq!(manager.report(), ready("1 subnet", &server));

    let text = fs::read_to_string(&config).unwrap();
    let second = r#""subnet4": [ { "id": 2, "subnet": "10.0.0.0/8" },"#;
    fs::write(&config, text.replace(r#""subnet4": ["#, second)).unwrap();
    server.signal("HUP");
    let report = manager.report();
    assert_eq!(report[0], "RELOADING=1");
    assert!(report[1].starts_with("MONOTONIC_USEC="), "{report:?}");
    assert_eq!(manager.report(), ready("2 subnets", &server));

    fs::write(&config, "nonsense").unwrap();
    server.signal("HUP");
    assert_eq!(manager.report()[0], "RELOADING=1");
    assert_eq!(manager.report(), ready("2 subnets", &server), "the old configuration stays");
    server.stop();
    assert_eq!(manager.report(), ["STOPPING=1"]);
}

#[test]
fn the_manager_gets_signs_of_life_if_it_expects_them() {
    let folder = TempFolder::new("notify-life");
    let config = configuration(folder.path(), "always", 2);
    let (manager, mut wrapper) = Manager::new(&folder);
    wrapper.arg("WATCHDOG_USEC=400000");
    let server = ServerProcess::start_under(wrapper, "dhcp4", &config, folder.path());
    assert_eq!(manager.any_report()[0], "READY=1");
    for _ in 0..3 {
        assert_eq!(manager.any_report(), ["WATCHDOG=1"]);
    }
    server.stop();
    assert_eq!(manager.report(), ["STOPPING=1"]);
}
