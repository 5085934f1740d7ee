//! Reader of `user-context.godwit.local-names`: names of leases and reservations for resolvers on
//! the server's machine.

use base::HostName;

use crate::context::ParseContext;
use crate::fields::MapReader;
use crate::json::JsonValue;

/// Longest TTL that resolvers may be given, in seconds: a day.
const TTL_MAX_S: i64 = 86_400;

/// Settings of the names for local resolvers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalNames {
    /// Domain of names of one label, without dots at its ends (`domain`). Default none.
    pub domain: String,
    /// Path of Unbound's control socket (`unbound-control-socket`); `None` if there is no Unbound.
    pub unbound_socket: Option<String>,
    /// TTL of the records in Unbound, in seconds (`ttl`). Default 60 s.
    pub ttl_s: u32,
}

/// Reads the map `local-names` of Godwit's settings.
pub(crate) fn read(value: &JsonValue, findings: &mut ParseContext) -> Option<LocalNames> {
    let mut fields = MapReader::from_value(value, "`local-names` of `godwit`", findings)?;
    let domain = fields.text("domain", findings);
    let unbound_socket = fields.text("unbound-control-socket", findings);
    let ttl = fields.integer("ttl", 0..=TTL_MAX_S, findings);
    fields.octets("comment", findings);
    fields.finish(findings);
    let mut names = LocalNames {
        domain: String::new(),
        unbound_socket: unbound_socket.map(|path| path.value.to_owned()),
        ttl_s: ttl.map_or(60, |ttl| ttl.value as u32),
    };
    if let Some(domain) = domain {
        let text = domain.value.trim_matches('.');
        if HostName::check(text).is_err() || text.split('.').any(|label| !is_local_label(label)) {
            let message = format!("`{}` is not a domain", domain.value);
            findings.error_help(domain.at, message, "write `lan.example`");
        } else {
            names.domain = text.to_ascii_lowercase();
        }
    }
    if let Some(path) = unbound_socket.filter(|path| !path.value.starts_with('/')) {
        let message = format!("`{}` is not the path of a socket", path.value);
        let help = "write the path of `control-interface` in unbound.conf: `/run/unbound.ctl`";
        findings.error_help(path.at, message, help);
    }
    if let (Some(ttl), None) = (ttl, unbound_socket) {
        findings.warn(ttl.at, "`ttl` has no effect without `unbound-control-socket`");
    }
    Some(names)
}

/// Returns true if `label` may be a part of a name for local resolvers.
#[must_use]
pub fn is_local_label(label: &str) -> bool {
    let is_permitted = |octet: u8| octet.is_ascii_alphanumeric() || octet == b'-' || octet == b'_';
    (1..=63).contains(&label.len()) && label.bytes().all(is_permitted)
}
