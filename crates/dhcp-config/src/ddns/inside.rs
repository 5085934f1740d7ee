//! Reader of `user-context.godwit.ddns`: the settings of an updater inside a DHCP server, which are
//! the keys of `DhcpDdns` for zones.

use std::collections::BTreeMap;

use super::{UpdateZones, read};
use crate::IncludeResolver;
use crate::context::ParseContext;
use crate::fields::MapReader;
use crate::json::{JsonContent, JsonValue};
use crate::shared::godwit::member;

/// Texts of the files of secrets that a configuration names, or the reasons why they cannot be
/// read. They are read before the configuration, whose readers have no files.
#[derive(Clone, Debug, Default)]
pub(crate) struct SecretFiles(BTreeMap<String, Result<String, String>>);

impl SecretFiles {
    /// Reads the files that the keys of the settings `ddns` name, as included by the file `file`.
    pub(crate) fn read(ddns: &JsonValue, file: &str, resolver: &mut dyn IncludeResolver) -> Self {
        let mut files = Self::default();
        let Some(JsonContent::List(keys)) = member(ddns, "tsig-keys").map(|keys| &keys.kind) else {
            return files;
        };
        for path in keys.iter().filter_map(|key| member(key, "secret-file")) {
            let JsonContent::Text(path) = &path.kind else { continue };
            if let Ok(path) = core::str::from_utf8(path) {
                let text = resolver.read(file, path);
                files.0.insert(path.to_owned(), text);
            }
        }
        files
    }
}

impl IncludeResolver for SecretFiles {
    fn read(&mut self, _including: &str, path: &str) -> Result<String, String> {
        let unread = || Err("files are not available here".to_owned());
        self.0.get(path).cloned().unwrap_or_else(unread)
    }
}

/// Reads the settings `value` of an updater inside the server. `has_requests` if the server makes
/// name change requests.
pub(crate) fn read(
    value: &JsonValue,
    has_requests: bool,
    findings: &mut ParseContext,
) -> Option<UpdateZones> {
    let mut fields = MapReader::from_value(value, "`ddns` of `godwit`", findings)?;
    let mut files = findings.secret_files.clone();
    let zones = read::zones(&mut fields, "", &mut files, findings);
    fields.octets("comment", findings);
    fields.finish(findings);
    if !has_requests {
        let help = "set `\"dhcp-ddns\": { \"enable-updates\": true }`";
        findings.error_help(value.at, "`ddns` has no effect without `enable-updates`", help);
    }
    if zones.forward.is_empty() && zones.reverse.is_empty() {
        let help = "name zones in `forward-ddns` and `reverse-ddns`";
        findings.error_help(value.at, "`ddns` has no zones", help);
    }
    Some(zones)
}
