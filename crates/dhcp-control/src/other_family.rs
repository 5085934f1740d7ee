//! Commands of the other address family. As in Kea the hook libraries `lease_cmds`, `stat_cmds` and
//! `subnet_cmds` bring those of both families to each server; there is nothing of the other family
//! that they could find or change.

use dhcp_config::Hook;
use serde_json::json;

use crate::answer::Answer;
use crate::family::IpVersion;

/// The libraries that bring the commands of both families.
pub(crate) const HOOKS: [Hook; 3] = [Hook::LeaseCommands, Hook::StatCommands, Hook::SubnetCommands];

/// Answers the command `name` of the family `version` in a server of the other one.
pub(crate) fn answer(name: &str, version: IpVersion) -> Answer {
    let (digit, family) = match version {
        IpVersion::V4 => ('4', "IPv4"),
        IpVersion::V6 => ('6', "IPv6"),
    };
    let (subject, verb) = name.split_once(digit).unwrap_or((name, ""));
    match (subject, verb) {
        ("lease", "-get") => Answer::empty("Lease not found."),
        ("lease", "-get-page") => Answer::empty(format!("0 {family} lease(s) found."))
            .and(json!({ "count": 0, "leases": [] })),
        ("lease", verb) if verb.starts_with("-get-") => {
            Answer::empty(format!("0 {family} lease(s) found.")).and(json!({ "leases": [] }))
        }
        ("lease", "-add" | "-update") => {
            Answer::conflict(format!("Invalid subnet-id: No {family} subnet currently configured."))
        }
        ("lease", "-del") => Answer::empty(format!("{family} lease not found.")),
        ("lease", "-wipe") => Answer::empty(format!("Deleted 0 {family} lease(s) from subnet(s)")),
        ("lease", "-bulk-apply") => {
            Answer::empty(format!("Bulk apply of 0 {family} leases completed."))
        }
        ("subnet", "-list") => {
            Answer::empty(format!("0 {family} subnets found")).and(json!({ "subnets": [] }))
        }
        ("subnet", "-get" | "-del") => Answer::empty(format!("No {family} subnet found")),
        ("network", "-list") => Answer::empty(format!("0 {family} networks found"))
            .and(json!({ "shared-networks": [] })),
        ("network", "-get" | "-del" | "-subnet-add" | "-subnet-del") => {
            Answer::empty(format!("No {family} shared network found"))
        }
        ("stat-lease", _) => Answer::empty(format!("{name}: no matching data")).and(json!({})),
        _ => {
            Answer::error(format!("this server has nothing of {family}: `{name}` changes nothing"))
        }
    }
}
