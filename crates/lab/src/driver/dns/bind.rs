//! Configuration of ISC's BIND (`named`, package `bind9`): an authoritative server without
//! recursion, answers without additional records.

use super::{ZONE, ZONE_FILE};
use crate::driver::deployment::ServerDeployment;

pub(super) const CONFIGURATION: &str = "named.conf";

/// Returns the text of named.conf(5) for BIND as a measured server.
pub(super) fn configuration(deployment: &ServerDeployment) -> String {
    let (folder, address) = (deployment.folder.display(), deployment.address);
    format!(
        "options {{\n\
         \x20   directory \"{folder}\";\n\
         \x20   pid-file \"{folder}/pid\";\n\
         \x20   session-keyfile \"{folder}/session.key\";\n\
         \x20   listen-on port {port} {{ {ip}; }};\n\
         \x20   listen-on-v6 {{ none; }};\n\
         \x20   recursion no;\n\
         \x20   minimal-responses yes;\n\
         \x20   dnssec-validation no;\n\
         \x20   empty-zones-enable no;\n\
         }};\n\
         controls {{ }};\n\
         logging {{\n\
         \x20   channel errors {{ stderr; severity error; }};\n\
         \x20   category default {{ errors; }};\n\
         }};\n\
         zone \"{ZONE}\" {{ type primary; file \"{ZONE_FILE}\"; }};\n",
        ip = address.ip(),
        port = address.port(),
    )
}
