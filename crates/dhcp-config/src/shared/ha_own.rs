//! Reader of Godwit's own settings of a relationship of high availability, in its user context, and
//! of the name of the server.

use super::godwit;
use super::ha_peer::ReadPeer;
use crate::context::ParseContext;
use crate::fields::MapReader;
use crate::json::JsonValue;
use crate::source::SourcePosition;

/// Maximum of `take-over-delay` in milliseconds: a day.
const MAX_DELAY_MS: i64 = 86_400_000;

/// Godwit's own settings of a relationship, in its user context.
pub(super) struct OwnSettings {
    /// Delay of a take-over, in milliseconds.
    pub(super) take_over_ms: Option<u32>,
    pub(super) heals_clock_skew: bool,
    /// True if the name of the host decides which of the peers the server is.
    is_named_by_host: bool,
}

impl OwnSettings {
    pub(super) fn read(context: Option<&JsonValue>, findings: &mut ParseContext) -> Self {
        let mut own = Self { take_over_ms: None, heals_clock_skew: true, is_named_by_host: false };
        let Some(value) = context.and_then(godwit::inside) else { return own };
        let Some(mut fields) = MapReader::from_value(value, "`user-context.godwit`", findings)
        else {
            return own;
        };
        let delay = fields.integer("take-over-delay", 1..=MAX_DELAY_MS, findings);
        own.take_over_ms = delay.map(|delay| delay.value as u32);
        if let Some(heals) = fields.boolean("heal-clock-skew", findings) {
            own.heals_clock_skew = heals.value;
        }
        if let Some(is_named) = fields.boolean("name-by-host", findings) {
            own.is_named_by_host = is_named.value;
        }
        fields.finish(findings);
        own
    }

    /// Checks that the relationship at `at` has the keys that it needs.
    pub(super) fn check_keys(
        &self,
        fields: &mut MapReader<'_>,
        at: SourcePosition,
        findings: &mut ParseContext,
    ) {
        let is_named = self.is_named_by_host || !findings.server_names.is_empty();
        for key in ["mode", "this-server-name", "peers"] {
            let is_needed = key != "this-server-name" || !is_named;
            if fields.take(key).is_none() && is_needed {
                findings.error(at, format!("'{key}' parameter missing in HA configuration"));
            }
        }
    }

    /// Reads the name of the server in the relationship at `at`, and returns the possible names
    /// with their position: those of the command line, else that of the host, else that of the
    /// configuration.
    pub(super) fn server_names(
        &self,
        fields: &mut MapReader<'_>,
        at: SourcePosition,
        findings: &mut ParseContext,
    ) -> Option<ServerNames> {
        let name = fields.text("this-server-name", findings);
        if !findings.server_names.is_empty() {
            return Some(ServerNames { names: findings.server_names.clone(), at, is_host: false });
        }
        if self.is_named_by_host {
            let names = vec![findings.host_name.clone()];
            return Some(ServerNames { names, at, is_host: true });
        }
        let (at, names) = name.map(|name| (name.at, vec![name.value.to_owned()]))?;
        Some(ServerNames { names, at, is_host: false })
    }
}

/// Possible names of the server in a relationship.
pub(super) struct ServerNames {
    names: Vec<String>,
    /// Position of the name in the configuration, or of the relationship.
    at: SourcePosition,
    /// True if the only name is that of the host.
    is_host: bool,
}

impl ServerNames {
    /// Removes the server itself from `peers` and returns it. `None` with an error if it is not
    /// among them.
    pub(super) fn take_own(
        &self,
        peers: &mut Vec<ReadPeer>,
        findings: &mut ParseContext,
    ) -> Option<ReadPeer> {
        let position = peers.iter().position(|one| self.contains(&one.peer.name));
        if position.is_none() && !peers.is_empty() {
            let names = self.names.join("', '");
            let message = format!("no peer configuration specified for the '{names}'");
            findings.error_help(self.at, message, "use the `name` of an element of `peers`");
        }
        position.map(|position| peers.remove(position))
    }

    /// Returns true if the server may be the peer `peer`. The name of a host may have its domain.
    fn contains(&self, peer: &str) -> bool {
        let is_host = |host: &String| {
            let first = host.split('.').next().unwrap_or_default();
            [host, first].iter().any(|name| name.eq_ignore_ascii_case(peer))
        };
        self.names.iter().any(|name| name == peer || (self.is_host && is_host(name)))
    }
}
