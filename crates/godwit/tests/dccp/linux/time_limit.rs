//! Time limit of a part: what hangs in it is ended, so that the part fails and says where.

use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use crate::common::link::inside;
use crate::common::namespaces::Namespaces;
use crate::common::{is_root, require};

/// Runs `play`. After `limit` it prints and kills the processes in `namespace`, which the part and
/// its machine have started, so that `play` ends, too.
pub(super) fn limited<T>(namespace: &str, limit: Duration, play: impl FnOnce() -> T) -> T {
    let (ended, has_ended) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if has_ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                println!("dccp-linux: not done after {limit:?}; its processes are killed:");
                kill_all(namespace);
            }
        });
        let played = play();
        drop(ended);
        played
    })
}

fn kill_all(namespace: &str) {
    let output = Command::new("ip").args(["netns", "pids", namespace]).output();
    let pids = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    for pid in pids.unwrap_or_default().split_whitespace() {
        let command_line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        println!("    {pid} {}", String::from_utf8_lossy(&command_line).replace('\0', " "));
        Command::new("kill").args(["-KILL", pid]).status().ok();
    }
}

#[test]
fn a_part_that_hangs_is_ended() {
    if !(is_root() && require(&["ip"])) {
        return;
    }
    let namespaces = Namespaces::<1>::make();
    let namespace = &namespaces[0];
    let mut child = inside(namespace).args(["sleep", "300"]).spawn().expect("sleep runs");
    let status = limited(namespace, Duration::from_millis(200), || child.wait());
    assert!(!status.expect("it is ours").success());
    // A part that ends in time ends the watch.
    limited(namespace, Duration::from_secs(300), || ());
}
