//! Configuration of NSD (package `nsd`): processes instead of threads. Debian's NSD limits each
//! source to 200 answers a second by default; without another setting the lab would measure that
//! limit instead of the server.

use super::{ZONE, ZONE_FILE};
use crate::driver::deployment::ServerDeployment;

pub(super) const CONFIGURATION: &str = "nsd.conf";

/// Returns the text of nsd.conf(5) for NSD as a measured server.
pub(super) fn configuration(deployment: &ServerDeployment) -> String {
    let (folder, address) = (deployment.folder.display(), deployment.address);
    format!(
        "server:\n\
         \x20   server-count: {processes}\n\
         \x20   ip-address: {ip}@{port}\n\
         \x20   username: \"\"\n\
         \x20   chroot: \"\"\n\
         \x20   zonesdir: \"{folder}\"\n\
         \x20   database: \"\"\n\
         \x20   logfile: \"\"\n\
         \x20   pidfile: \"{folder}/pid\"\n\
         \x20   xfrdfile: \"{folder}/xfrd.state\"\n\
         \x20   xfrdir: \"{folder}\"\n\
         \x20   zonelistfile: \"{folder}/zone.list\"\n\
         \x20   cookie-secret-file: \"{folder}/cookies\"\n\
         \x20   reuseport: yes\n\
         \x20   minimal-responses: yes\n\
         \x20   rrl-ratelimit: 0\n\
         \x20   rrl-whitelist-ratelimit: 0\n\
         remote-control:\n\
         \x20   control-enable: no\n\
         zone:\n\
         \x20   name: \"{ZONE}\"\n\
         \x20   zonefile: \"{ZONE_FILE}\"\n",
        processes = deployment.threads,
        ip = address.ip(),
        port = address.port(),
    )
}
