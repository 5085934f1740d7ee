//! Reader of the settings of DNS updates: the map `dhcp-ddns`, and the keys of the global scope,
//! networks, subnets and pools that decide which names of clients are registered, and how.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use ncr::ConflictMode;

use super::family::ConfigFamily;
use super::{godwit, names};
use crate::context::ParseContext;
use crate::fields::{MapReader, U32};
use crate::json::JsonValue;
use crate::source::PositionedValue;

/// Part of a lease's lifetime that a name may be cached for, unless configured, as in Kea (RFC 4702
/// §5).
const TTL_PART: f64 = 0.33333;
/// Shortest time for which a name may be cached, unless configured, in seconds (RFC 4702 §5).
const TTL_MIN_S: u32 = 600;
/// UDP port of `kea-dhcp-ddns` by default.
const SERVER_PORT: u16 = 53_001;
/// Default number of name change requests that may wait.
const QUEUE_MAX: u32 = 1_024;
const PORT: core::ops::RangeInclusive<i64> = 0..=65_535;

/// Settings of a scope for the DNS updates of its clients' names; `None` inherits from the scope
/// around it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameUpdateKeys {
    /// True if names of the scope are registered at all (`ddns-send-updates`).
    pub sends: Option<bool>,
    /// True if names of clients are registered that ask for no update (`ddns-override-no-update`).
    pub overrides_no_update: Option<bool>,
    /// True if names of clients are registered that want to do so themselves
    /// (`ddns-override-client-update`).
    pub overrides_client_update: Option<bool>,
    /// True if a renewal registers an unchanged name again (`ddns-update-on-renew`).
    pub updates_on_renew: Option<bool>,
    /// Treatment of records of others under the name (`ddns-conflict-resolution-mode`, or the older
    /// `ddns-use-conflict-resolution`).
    pub conflict_mode: Option<ConflictMode>,
    /// Time to live of the records in seconds (`ddns-ttl`); 0 calculates it.
    pub ttl_s: Option<u32>,
    /// Time to live of the records as part of the lifetime (`ddns-ttl-percent`); 0 is the default.
    pub ttl_part: Option<LifetimePart>,
    /// Shortest calculated time to live in seconds (`ddns-ttl-min`); 0 is the default.
    pub ttl_min_s: Option<u32>,
    /// Longest calculated time to live in seconds (`ddns-ttl-max`); 0 is no limit.
    pub ttl_max_s: Option<u32>,
}

/// Part of a lifetime. Two parts are equal if they have the same bits.
#[derive(Clone, Copy, Debug)]
pub struct LifetimePart(pub f64);

impl PartialEq for LifetimePart {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for LifetimePart {}

impl NameUpdateKeys {
    /// Returns Kea's defaults; those of the times to live are in [`Self::ttl_of_lifetime_s`].
    pub(super) fn usual() -> Self {
        Self {
            sends: Some(true),
            overrides_no_update: Some(false),
            overrides_client_update: Some(false),
            updates_on_renew: Some(false),
            conflict_mode: Some(ConflictMode::default()),
            ..Self::default()
        }
    }

    /// Returns the settings of this scope with unset ones taken from `outer`.
    #[must_use]
    pub fn inside(self, outer: &Self) -> Self {
        Self {
            sends: self.sends.or(outer.sends),
            overrides_no_update: self.overrides_no_update.or(outer.overrides_no_update),
            overrides_client_update: self.overrides_client_update.or(outer.overrides_client_update),
            updates_on_renew: self.updates_on_renew.or(outer.updates_on_renew),
            conflict_mode: self.conflict_mode.or(outer.conflict_mode),
            ttl_s: self.ttl_s.or(outer.ttl_s),
            ttl_part: self.ttl_part.or(outer.ttl_part),
            ttl_min_s: self.ttl_min_s.or(outer.ttl_min_s),
            ttl_max_s: self.ttl_max_s.or(outer.ttl_max_s),
        }
    }

    /// Returns the time to live, in seconds, of the records of a lease for `lifetime_s`, by the
    /// rules of Kea.
    #[must_use]
    pub fn ttl_of_lifetime_s(&self, lifetime_s: u32) -> u32 {
        let set = |value: Option<u32>| value.filter(|&seconds| seconds > 0);
        if let Some(fixed) = set(self.ttl_s) {
            return fixed;
        }
        let part = self.ttl_part.map(|part| part.0).filter(|&part| part > 0.0);
        // The conversion saturates.
        let ttl_s = (part.unwrap_or(TTL_PART) * f64::from(lifetime_s)).round() as u32;
        let least = set(self.ttl_min_s).unwrap_or(TTL_MIN_S);
        match set(self.ttl_max_s) {
            _ if ttl_s < least => least,
            Some(most) if ttl_s > most => most,
            _ => ttl_s,
        }
    }
}

/// Addresses and limits of the sender of name change requests, from the map `dhcp-ddns` with
/// `enable-updates`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameUpdateSender {
    /// Address and port of the DNS updater (`server-ip`, `server-port`).
    pub server: SocketAddr,
    /// Address and port that requests are sent from (`sender-ip`, `sender-port`); port 0 is any.
    pub sender: SocketAddr,
    /// Maximum number of requests that wait to be sent (`max-queue-size`).
    pub queue_max: u32,
}

/// Reads the settings of a scope for the DNS updates of its clients' names.
pub(super) fn read(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> NameUpdateKeys {
    let mut flag = |key| fields.boolean(key, findings).map(|setting| setting.value);
    let mut keys = NameUpdateKeys {
        sends: flag("ddns-send-updates"),
        overrides_no_update: flag("ddns-override-no-update"),
        overrides_client_update: flag("ddns-override-client-update"),
        updates_on_renew: flag("ddns-update-on-renew"),
        ..NameUpdateKeys::default()
    };
    keys.conflict_mode = conflict_mode(fields, findings);
    times(fields, &mut keys, findings);
    keys
}

fn conflict_mode(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> Option<ConflictMode> {
    let modes = ConflictMode::ALL.map(|mode| (mode.name(), mode));
    let old = fields.boolean("ddns-use-conflict-resolution", findings);
    let new = fields.take("ddns-conflict-resolution-mode").map(|entry| entry.at);
    let mode = fields.word("ddns-conflict-resolution-mode", &modes, false, findings);
    if let (Some(old), Some(new)) = (old, new) {
        let message = "`ddns-use-conflict-resolution` is the older form of \
                       `ddns-conflict-resolution-mode`";
        findings.error_with_second_position(old.at, message, "the other is at", new);
    }
    let by_old = old.map(|old| {
        if old.value { ConflictMode::CheckWithDhcid } else { ConflictMode::NoCheckWithDhcid }
    });
    mode.or(by_old)
}

/// Reads the times for which DNS resolvers may cache a name: `ddns-ttl`, or `ddns-ttl-percent` of
/// the lifetime with its bounds.
fn times(fields: &mut MapReader<'_>, keys: &mut NameUpdateKeys, findings: &mut ParseContext) {
    let fixed = fields.u32("ddns-ttl", findings);
    let percent = fields.float("ddns-ttl-percent", findings);
    let least = fields.u32("ddns-ttl-min", findings);
    let most = fields.u32("ddns-ttl-max", findings);
    let others = [
        ("ddns-ttl-percent", percent.map(|setting| setting.at)),
        ("ddns-ttl-min", least.map(|setting| setting.at)),
        ("ddns-ttl-max", most.map(|setting| setting.at)),
    ];
    for (key, at) in others {
        if let (Some(fixed), Some(at)) = (fixed, at) {
            let message = format!("`{key}` and `ddns-ttl` exclude each other");
            findings.error_with_second_position(at, message, "`ddns-ttl` is at", fixed.at);
        }
    }
    if let (Some(least), Some(most)) = (least, most)
        && most.value < least.value
    {
        let (min, max) = (least.value, most.value);
        let message = format!("`ddns-ttl-max` ({max} s) is below `ddns-ttl-min` ({min} s)");
        findings.error_with_second_position(most.at, message, "`ddns-ttl-min` is at", least.at);
    }
    keys.ttl_s = fixed.map(|setting| setting.value);
    keys.ttl_part = percent.map(|setting| LifetimePart(setting.value));
    keys.ttl_min_s = least.map(|setting| setting.value);
    keys.ttl_max_s = most.map(|setting| setting.value);
}

/// Reads the map `dhcp-ddns`; `None` if it switches updates off.
pub(super) fn dhcp_ddns<F: ConfigFamily>(
    value: &JsonValue,
    findings: &mut ParseContext,
) -> Option<NameUpdateSender> {
    let mut fields = MapReader::from_value(value, "`dhcp-ddns`", findings)?;
    let enable = fields.boolean("enable-updates", findings);
    if fields.take("enable-updates").is_none() {
        let help = "must be `true` or `false`";
        findings.error_help(value.at, "`dhcp-ddns` lacks `enable-updates`", help);
    }
    let server = names::address(&mut fields, "server-ip", findings);
    let sender = names::address(&mut fields, "sender-ip", findings);
    let server_port = port(&mut fields, "server-port", findings).unwrap_or(SERVER_PORT);
    let sender_port = port(&mut fields, "sender-port", findings).unwrap_or(0);
    let queue_max = fields.integer("max-queue-size", U32, findings);
    fields.word("ncr-protocol", &[("UDP", ())], true, findings);
    fields.word("ncr-format", &[("JSON", ())], true, findings);
    names::old_keys(&mut fields, findings);
    godwit::refuse_inside::<F>(fields.context(findings), findings);
    fields.finish(findings);

    let server = server.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |server| server.value);
    if let Some(sender) = sender {
        check_sender(sender, server, server_port == sender_port, findings);
    }
    let any = match server {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let sender = sender.map_or(any, |sender| sender.value);
    enable.is_some_and(|enable| enable.value).then(|| NameUpdateSender {
        server: SocketAddr::new(server, server_port),
        sender: SocketAddr::new(sender, sender_port),
        queue_max: queue_max.and_then(|max| u32::try_from(max.value).ok()).unwrap_or(QUEUE_MAX),
    })
}

fn port(fields: &mut MapReader<'_>, key: &'static str, findings: &mut ParseContext) -> Option<u16> {
    fields.integer(key, PORT, findings).and_then(|port| u16::try_from(port.value).ok())
}

/// Checks that the sender's address fits that of the server.
fn check_sender(
    sender: PositionedValue<IpAddr>,
    server: IpAddr,
    is_same_port: bool,
    findings: &mut ParseContext,
) {
    if sender.value.is_ipv4() != server.is_ipv4() {
        let message = format!(
            "`sender-ip` {} and `server-ip` {server} are of different \
                     families",
            sender.value
        );
        findings.error(sender.at, message);
    }
    if sender.value == server && is_same_port {
        findings.error(sender.at, "`sender-ip` and `server-ip` are the same address and port");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_to_live_are_those_of_kea() {
        let of = |keys: NameUpdateKeys, lifetime_s| keys.ttl_of_lifetime_s(lifetime_s);
        let none = NameUpdateKeys::default;
        assert_eq!(of(none(), 4_000), 1_333);
        assert_eq!(of(none(), 1_000), 600);
        assert_eq!(of(none(), u32::MAX), 1_431_641_448);
        assert_eq!(of(NameUpdateKeys { ttl_s: Some(7), ..none() }, 4_000), 7);
        let half = || NameUpdateKeys { ttl_part: Some(LifetimePart(0.5)), ..none() };
        assert_eq!(of(half(), 4_001), 2_001);
        assert_eq!(of(NameUpdateKeys { ttl_max_s: Some(900), ..half() }, 4_000), 900);
        assert_eq!(of(NameUpdateKeys { ttl_min_s: Some(5), ..half() }, 100), 50);
        assert_eq!(of(NameUpdateKeys { ttl_min_s: Some(3_000), ..half() }, 4_000), 3_000);
        let twice = NameUpdateKeys { ttl_part: Some(LifetimePart(2.0)), ..none() };
        assert_eq!(of(twice, u32::MAX), u32::MAX);
    }
}
