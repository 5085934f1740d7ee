//! Configuration of Knot DNS (`knotd`, package `knot`): the zone from its file alone, no journal.

use super::{ZONE, ZONE_FILE};
use crate::driver::deployment::ServerDeployment;

pub(super) const CONFIGURATION: &str = "knot.conf";

/// Name of the control socket, short: the path of a socket has at most 107 bytes (unix(7)), and
/// folders of results may be deep.
const CONTROL: &str = "ctl";

/// Returns the text of knot.conf(5) for Knot DNS as a measured server.
pub(super) fn configuration(deployment: &ServerDeployment) -> String {
    let (folder, address) = (deployment.folder.display(), deployment.address);
    format!(
        "server:\n\
         \x20   rundir: \"{folder}\"\n\
         \x20   listen: {ip}@{port}\n\
         \x20   udp-workers: {threads}\n\
         \x20   tcp-workers: 1\n\
         \x20   background-workers: 1\n\
         control:\n\
         \x20   listen: \"{folder}/{CONTROL}\"\n\
         database:\n\
         \x20   storage: \"{folder}\"\n\
         log:\n\
         \x20 - target: stderr\n\
         \x20   any: error\n\
         template:\n\
         \x20 - id: default\n\
         \x20   storage: \"{folder}\"\n\
         \x20   zonefile-sync: -1\n\
         \x20   zonefile-load: whole\n\
         \x20   journal-content: none\n\
         zone:\n\
         \x20 - domain: {ZONE}\n\
         \x20   file: {ZONE_FILE}\n",
        ip = address.ip(),
        port = address.port(),
        threads = deployment.threads,
    )
}
