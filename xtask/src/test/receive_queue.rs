//! Length of the kernel's queue of received packets, of which each processor has one
//! (`net.core.netdev_max_backlog`), during a test run.
//!
//! All network namespaces share these queues, so a flood of one test fills the queue in which
//! another test's datagrams wait, and the kernel drops what does not fit. Tests that expect every
//! datagram on loopback then fail without a fault. A run therefore lengthens the queues if it may,
//! and restores the length at its end.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use super::privilege::Privilege;

const LENGTH_FILE: &str = "/proc/sys/net/core/netdev_max_backlog";
/// Length of the queue during a test run, in packets: more than the buffers of a hundred sockets
/// hold together.
const LENGTH: u64 = 100_000;
/// Name of the file with the length to restore, in the folder of temporary files.
const LENGTH_COPY_NAME: &str = "receive-queue-length";

/// Lengthens the kernel's queues of received packets and keeps the former length in `temporary`.
/// Does nothing without the privilege, in a container that does not show the length, or if the
/// queues are long enough.
pub(crate) fn lengthen(privilege: Privilege, temporary: &Path) {
    let Some(length) = read(Path::new(LENGTH_FILE)).filter(|length| *length < LENGTH) else {
        return;
    };
    let is_stored = fs::write(temporary.join(LENGTH_COPY_NAME), length.to_string()).is_ok();
    if is_stored && privilege.is_root() {
        set(privilege, LENGTH);
    }
}

/// Restores the length of the kernel's queues from the copy in `temporary`, if there is one.
pub(crate) fn restore(privilege: Privilege, temporary: &Path) {
    if let Some(length) = read(&temporary.join(LENGTH_COPY_NAME)) {
        set(privilege, length);
    }
}

fn read(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn set(privilege: Privilege, length: u64) {
    let mut command = privilege.shell(&format!("echo {length} >{LENGTH_FILE}"));
    // Without the longer queues a run is only less certain to lose no datagram.
    drop(command.stdin(Stdio::null()).stderr(Stdio::null()).status());
}
