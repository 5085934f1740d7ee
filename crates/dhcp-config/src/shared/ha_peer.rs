//! Reader of the servers of a relationship of high availability: the elements of `peers`, with
//! Kea's checks of their roles and of their files for TLS.

use core::net::IpAddr;

use super::control::{SecretSource, TlsFiles};
use super::high_availability::{HaMode, HaPeer, HaRole};
use super::sockets;
use super::webhooks::UrlParts;
use crate::context::ParseContext;
use crate::fields::{MapReader, wrong_kind};
use crate::json::{JsonContent, JsonValue};
use crate::source::{PositionedValue, SourcePosition};

/// Keys of the files for TLS.
const TLS_KEYS: [&str; 3] = ["trust-anchor", "cert-file", "key-file"];

/// Peer with the position of its map.
pub(super) struct ReadPeer {
    pub(super) peer: HaPeer,
    pub(super) at: SourcePosition,
}

/// Paths of the files for TLS in a map, in the order of [`TLS_KEYS`]; `None` for keys that are not
/// set.
#[derive(Clone, Copy)]
pub(super) struct TlsPaths<'v>([Option<PositionedValue<&'v str>>; 3]);

impl<'v> TlsPaths<'v> {
    pub(super) fn read(fields: &mut MapReader<'v>, findings: &mut ParseContext) -> Self {
        Self(TLS_KEYS.map(|key| fields.text(key, findings)))
    }

    /// Returns the files of the peer `name`, which the relationship sets if the peer does not;
    /// `None` without TLS. All three must be set, or none.
    fn files_of(self, others: &Self, name: &str, findings: &mut ParseContext) -> Option<TlsFiles> {
        let [mut own, others] = [self.0, others.0];
        for (own, other) in own.iter_mut().zip(others) {
            *own = own.or(other).filter(|path| !path.value.is_empty());
        }
        let at = own.iter().flatten().next()?.at;
        for (key, _) in TLS_KEYS.iter().zip(&own).filter(|(_, path)| path.is_none()) {
            let message = format!(
                "bad TLS config for server {name}: {key} parameter is missing or empty: all or \
                 none of TLS parameters must be set"
            );
            findings.error(at, message);
        }
        let [Some(anchor), Some(certificate), Some(key)] = own else { return None };
        Some(TlsFiles {
            trust_anchor: anchor.value.to_owned(),
            certificate: certificate.value.to_owned(),
            key: key.value.to_owned(),
            is_client_certificate_required: true,
        })
    }
}

impl ReadPeer {
    /// Reads the element `item` of `peers`; `files` are those of the relationship for TLS.
    pub(super) fn read(
        item: &JsonValue,
        files: &TlsPaths<'_>,
        findings: &mut ParseContext,
    ) -> Option<Self> {
        if !matches!(item.kind, JsonContent::Map(_)) {
            return wrong_kind(item.at, "peers", "a list of maps", &item.kind, findings);
        }
        let mut fields = MapReader::from_value(item, "a peer", findings)?;
        for key in ["name", "url", "role"] {
            if fields.take(key).is_none() {
                findings.error(item.at, format!("a peer lacks `{key}`"));
            }
        }
        let name = fields.text("name", findings);
        if let Some(name) = name.filter(|name| name.value.is_empty()) {
            findings.error(name.at, "a peer's `name` is empty");
        }
        let url = fields.text("url", findings);
        let roles = HaRole::ALL.map(|role| (role.name(), role));
        let role = fields.word("role", &roles, false, findings);
        let failover = fields.boolean("auto-failover", findings);
        let own_files = TlsPaths::read(&mut fields, findings);
        let user =
            sockets::secret(&mut fields, ["basic-auth-user", "basic-auth-user-file"], findings);
        let password = sockets::secret(
            &mut fields,
            ["basic-auth-password", "basic-auth-password-file"],
            findings,
        );
        fields.context(findings);
        fields.finish(findings);
        let (name, url, role) = (name?, url?, role?);
        let is_anonymous = |user: &SecretSource| *user == SecretSource::Text(String::new());
        let user = user.map(|user| user.value).filter(|user| !is_anonymous(user));
        let password =
            password.map_or(SecretSource::Text(String::new()), |password| password.value);
        let parts = UrlParts::parse(url.value);
        let address = parts.as_ref().and_then(|parts| parts.host.parse::<IpAddr>().ok());
        let (Some(parts), Some(address)) = (parts, address) else {
            let message = format!("bad url '{}' for server {}", url.value, name.value);
            findings.error_help(
                url.at,
                message,
                "write `http://ADDRESS:PORT/`, without a host name",
            );
            return None;
        };
        let tls = own_files.files_of(files, name.value, findings);
        if parts.is_tls && tls.is_none() {
            let message = format!(
                "bad url '{}': https scheme is not supported for server {} where TLS is disabled",
                url.value, name.value
            );
            findings.error_help(url.at, message, "set `trust-anchor`, `cert-file` and `key-file`");
        }
        let peer = HaPeer {
            name: name.value.to_owned(),
            role,
            url: url.value.to_owned(),
            address,
            port: parts.port,
            has_automatic_failover: failover.is_none_or(|setting| setting.value),
            credentials: user.map(|user| (user, password)),
            tls,
        };
        Some(Self { peer, at: item.at })
    }
}

/// Checks that names are unique and that each mode has the roles that it needs, as Kea does.
pub(super) fn check_roles(
    at: SourcePosition,
    mode: HaMode,
    peers: &[ReadPeer],
    findings: &mut ParseContext,
) {
    for (index, one) in peers.iter().enumerate() {
        if let Some(other) = peers[..index].iter().find(|other| other.peer.name == one.peer.name) {
            let message = format!("a server named `{}` exists already", one.peer.name);
            findings.error_with_second_position(one.at, message, "the other is at", other.at);
        }
    }
    let count = |role| peers.iter().filter(|one| one.peer.role == role).count();
    for role in [HaRole::Primary, HaRole::Secondary, HaRole::Standby] {
        if count(role) > 1 {
            findings.error(at, format!("multiple {} servers specified", role.name()));
        }
    }
    let (required, forbidden): (&[HaRole], &[HaRole]) = match mode {
        HaMode::HotStandby => (&[HaRole::Primary, HaRole::Standby], &[HaRole::Secondary]),
        HaMode::LoadBalancing => (&[HaRole::Primary, HaRole::Secondary], &[HaRole::Standby]),
        HaMode::PassiveBackup => (&[HaRole::Primary], &[HaRole::Secondary, HaRole::Standby]),
    };
    let words = match mode {
        HaMode::HotStandby => "hot standby",
        HaMode::LoadBalancing => "load balancing",
        HaMode::PassiveBackup => "passive backup",
    };
    for role in required.iter().filter(|role| count(**role) == 0) {
        let message = format!("{} server required in the {words} configuration", role.name());
        findings.error(at, message);
    }
    for role in forbidden.iter().filter(|role| count(**role) > 0) {
        let message = format!("{} servers not allowed in the {words} configuration", role.name());
        findings.error(at, message);
    }
}
