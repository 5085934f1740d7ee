//! Configuration of Unbound (package `unbound`): a resolver that answers from local data, so that
//! nothing is resolved. Its answers have the flag RA (recursion available, RFC 1035 section 4.1.1).

use super::{ANSWER, NAME, ZONE};
use crate::driver::deployment::ServerDeployment;

pub(super) const CONFIGURATION: &str = "unbound.conf";

/// Returns the text of unbound.conf(5) for Unbound as a measured server.
pub(super) fn configuration(deployment: &ServerDeployment) -> String {
    let (folder, address) = (deployment.folder.display(), deployment.address);
    format!(
        "server:\n\
         \x20   directory: \"{folder}\"\n\
         \x20   chroot: \"\"\n\
         \x20   username: \"\"\n\
         \x20   pidfile: \"\"\n\
         \x20   interface: {ip}@{port}\n\
         \x20   access-control: 0.0.0.0/0 allow\n\
         \x20   num-threads: {threads}\n\
         \x20   so-reuseport: yes\n\
         \x20   use-syslog: no\n\
         \x20   verbosity: 0\n\
         \x20   do-ip6: no\n\
         \x20   module-config: \"iterator\"\n\
         \x20   local-zone: \"{ZONE}.\" static\n\
         \x20   local-data: \"{NAME}. 300 IN A 192.0.2.1\"\n\
         \x20   local-data: \"{NAME}. 300 IN AAAA {ANSWER}\"\n\
         remote-control:\n\
         \x20   control-enable: no\n",
        ip = address.ip(),
        port = address.port(),
        threads = deployment.threads,
    )
}
