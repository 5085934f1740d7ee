//! Reader of `control-sockets`, whose values are in [`control`](super::control). RFCs to read
//! first: 7617 for Basic authentication, 9110 for header fields.

use core::net::{IpAddr, Ipv4Addr};
use std::collections::BTreeMap;

use super::control::{
    AuthenticatedClient, BasicAuthentication, ControlSocket, HttpPurpose, HttpSocket, SecretSource,
    TlsFiles,
};
use super::family::ConfigServer;
use super::security::PathPurpose;
use super::{godwit, names, security};
use crate::context::ParseContext;
use crate::fields::{MapReader, wrong_kind};
use crate::json::{JsonContent, JsonValue};
use crate::source::{PositionedValue, SourcePosition};

/// Default port of an HTTP control socket.
const DEFAULT_PORT: u16 = 8000;

/// Configuration keys of HTTP sockets that a Unix socket must not have.
const OF_HTTP: [&str; 8] = [
    "socket-address",
    "socket-port",
    "authentication",
    "trust-anchor",
    "cert-file",
    "key-file",
    "cert-required",
    "http-headers",
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kinds {
    Unix,
    Http,
    Https,
}

/// Reads the control sockets of a server: `control-sockets`, and the single `control-socket` of Kea
/// before 3.
pub(crate) fn read<S: ConfigServer>(
    fields: &mut MapReader<'_>,
    findings: &mut ParseContext,
) -> Vec<ControlSocket> {
    let old = fields.take("control-socket");
    let new = fields.take("control-sockets");
    if let (Some(old), Some(new)) = (old, new) {
        let message = "`control-socket` is the older form of `control-sockets`";
        findings.error_with_second_position(old.at, message, "the other is at", new.at);
    }
    let items: &[JsonValue] = match old {
        // Kea takes an empty map as "no socket".
        Some(old) => match &old.value.kind {
            JsonContent::Map(_) => core::slice::from_ref(&old.value),
            kind => {
                wrong_kind::<()>(old.value.at, "control-socket", "a map", kind, findings);
                &[]
            }
        },
        None => &[],
    };
    let items = items.iter().chain(fields.list("control-sockets", findings));
    let mut sockets = Vec::new();
    let mut positions: BTreeMap<Option<(IpAddr, u16)>, SourcePosition> = BTreeMap::new();
    for item in items {
        let Some(socket) = socket::<S>(item, findings) else { continue };
        if let Some(&position) = positions.get(&listener_address(&socket)) {
            let message = match &socket {
                ControlSocket::Unix(_) => "there is a `unix` control socket already".to_owned(),
                ControlSocket::Http(http) => {
                    format!("a control socket has {} and port {} already", http.address, http.port)
                }
            };
            findings.error_with_second_position(item.at, message, "the other is at", position);
        }
        findings.control_addresses.extend(listener_address(&socket));
        positions.entry(listener_address(&socket)).or_insert(item.at);
        sockets.push(socket);
    }
    sockets
}

/// Returns the address and port that no two control sockets share, or `None` for a Unix socket, of
/// which there is one at most, as in Kea.
fn listener_address(socket: &ControlSocket) -> Option<(IpAddr, u16)> {
    match socket {
        ControlSocket::Unix(_) => None,
        ControlSocket::Http(http) => Some((http.address, http.port)),
    }
}

fn socket<S: ConfigServer>(item: &JsonValue, findings: &mut ParseContext) -> Option<ControlSocket> {
    let mut fields = MapReader::from_value(item, "a control socket", findings)?;
    let kinds = [("unix", Kinds::Unix), ("http", Kinds::Http), ("https", Kinds::Https)];
    if fields.take("socket-type").is_none() {
        let help = "must be one of: unix, http, https";
        findings.error_help(item.at, "a control socket lacks `socket-type`", help);
    }
    let kind = fields.word("socket-type", &kinds, false, findings);
    let socket = match kind? {
        Kinds::Unix => unix(&mut fields, findings),
        kind => http::<S>(&mut fields, kind, findings).map(ControlSocket::Http),
    };
    godwit::refuse_inside::<S>(fields.context(findings), findings);
    fields.finish(findings);
    socket
}

fn unix(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> Option<ControlSocket> {
    for key in OF_HTTP {
        if let Some(entry) = fields.take(key) {
            findings.error(entry.at, format!("`{key}` has no meaning for a `unix` control socket"));
        }
    }
    if fields.take("socket-name").is_none() {
        findings.error(fields.at, "a `unix` control socket lacks `socket-name`");
    }
    let name = fields.text("socket-name", findings)?;
    if name.value.is_empty() {
        findings.error(name.at, "`socket-name` is empty");
        return None;
    }
    security::path(PathPurpose::Socket, "socket-name", name, findings);
    Some(ControlSocket::Unix(name.value.to_owned()))
}

fn http<S: ConfigServer>(
    fields: &mut MapReader<'_>,
    kind: Kinds,
    findings: &mut ParseContext,
) -> Option<HttpSocket> {
    if let Some(entry) = fields.take("socket-name") {
        findings.error(entry.at, "`socket-name` is for a `unix` control socket");
    }
    let address = names::address(fields, "socket-address", findings);
    let port = fields.integer("socket-port", 0..=65_535, findings);
    let headers = headers::<S>(fields, findings);
    let before = findings.errors();
    let authentication = fields.take("authentication");
    let authentication = authentication.and_then(|e| basic::<S>(&e.value, findings));
    let is_valid = findings.errors() == before;
    let tls = tls(fields, kind, findings);
    let address = address.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |setting| setting.value);
    if is_valid && authentication.is_none() && tls.is_none() {
        security::open_socket(fields.at, findings);
    }
    if is_valid && authentication.is_none() && tls.is_none() && !address.is_loopback() {
        let message = format!("every client that can reach {address} may send commands");
        findings.warn_help(fields.at, message, "set `authentication`, or `https` with its files");
    }
    let port = port.and_then(|port| u16::try_from(port.value).ok()).unwrap_or(DEFAULT_PORT);
    let purpose = HttpPurpose::Control;
    Some(HttpSocket { address, port, tls, headers, authentication, purpose })
}

/// Reads the certificate files of an HTTP socket for TLS: all or none. Kea uses TLS on an `http`
/// socket, too, when they are set.
fn tls(fields: &mut MapReader<'_>, kind: Kinds, findings: &mut ParseContext) -> Option<TlsFiles> {
    let mut read = |key| fields.text(key, findings).filter(|text| !text.value.is_empty());
    let keys = ["trust-anchor", "cert-file", "key-file"];
    let files = keys.map(|key| (key, read(key)));
    let required = fields.boolean("cert-required", findings).is_none_or(|setting| setting.value);
    if let [(_, Some(anchor)), (_, Some(certificate)), (_, Some(key))] = files {
        return Some(TlsFiles {
            trust_anchor: anchor.value.to_owned(),
            certificate: certificate.value.to_owned(),
            key: key.value.to_owned(),
            is_client_certificate_required: required,
        });
    }
    let uses_tls = kind == Kinds::Https || files.iter().any(|(_, text)| text.is_some());
    if uses_tls {
        let missing: Vec<String> = files
            .iter()
            .filter(|file| file.1.is_none())
            .map(|file| format!("`{}`", file.0))
            .collect();
        let message = format!("a control socket with TLS lacks {}", missing.join(", "));
        findings.error_help(fields.at, message, "set all three files or none");
    }
    None
}

/// Reads the headers that an HTTP socket adds to answers (`http-headers`): names and values as in
/// RFC 9110 §5.
fn headers<S: ConfigServer>(
    fields: &mut MapReader<'_>,
    findings: &mut ParseContext,
) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    for item in fields.list("http-headers", findings) {
        let Some(mut fields) = MapReader::from_value(item, "a header", findings) else { continue };
        let name = required(&mut fields, "name", findings);
        let value = required(&mut fields, "value", findings);
        godwit::refuse_inside::<S>(fields.context(findings), findings);
        fields.finish(findings);
        let (Some(name), Some(value)) = (name, value) else { continue };
        let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if name.value.is_empty() || !name.value.chars().all(is_token) {
            findings.error(name.at, format!("`{}` is not the name of a header", name.value));
        } else if value.value.chars().any(char::is_control) {
            findings.error(value.at, "the value of a header cannot hold control characters");
        } else {
            headers.push((name.value.to_owned(), value.value.to_owned()));
        }
    }
    headers
}

fn required<'v>(
    fields: &mut MapReader<'v>,
    key: &'static str,
    findings: &mut ParseContext,
) -> Option<PositionedValue<&'v str>> {
    if fields.take(key).is_none() {
        findings.error(fields.at, format!("a header lacks `{key}`"));
    }
    fields.text(key, findings)
}

/// Reads the map `authentication` of an HTTP socket.
fn basic<S: ConfigServer>(
    value: &JsonValue,
    findings: &mut ParseContext,
) -> Option<BasicAuthentication> {
    let mut fields = MapReader::from_value(value, "`authentication`", findings)?;
    fields.word("type", &[("basic", ())], false, findings);
    let realm = fields.text("realm", findings).map_or("", |realm| realm.value).to_owned();
    let directory = fields.text("directory", findings).filter(|text| !text.value.is_empty());
    let items = fields.list("clients", findings).iter();
    let clients: Vec<_> = items.filter_map(|item| client::<S>(item, findings)).collect();
    godwit::refuse_inside::<S>(fields.context(findings), findings);
    fields.finish(findings);
    if clients.is_empty() {
        // As in Kea, an empty list permits every client.
        let message = "`authentication` names no `clients`: every client may send commands";
        findings.warn(value.at, message);
        return None;
    }
    let directory = directory.map(|directory| directory.value.to_owned());
    Some(BasicAuthentication { realm, directory, clients })
}

/// Reads one user in the list `clients` of an authentication.
fn client<S: ConfigServer>(
    item: &JsonValue,
    findings: &mut ParseContext,
) -> Option<AuthenticatedClient> {
    let mut fields = MapReader::from_value(item, "a client", findings)?;
    let user = secret(&mut fields, ["user", "user-file"], findings);
    let password = secret(&mut fields, ["password", "password-file"], findings);
    for (key, secret) in [("user", &user), ("password", &password)] {
        if let Some(PositionedValue { value: SecretSource::Text(_), at }) = secret {
            security::clear_text(key, *at, findings);
        }
    }
    godwit::refuse_inside::<S>(fields.context(findings), findings);
    fields.finish(findings);
    let password = password.map_or(SecretSource::Text(String::new()), |password| password.value);
    let user = match user {
        Some(PositionedValue { value: SecretSource::Text(user), at })
            if user.is_empty() || user.contains(':') =>
        {
            let message = "`user` must not be empty and cannot hold `:`";
            findings.error(at, message);
            return None;
        }
        Some(user) => user.value,
        // One file has both, `user:password`.
        None if matches!(password, SecretSource::File(_)) => SecretSource::Text(String::new()),
        None => {
            findings.error(item.at, "a client lacks `user`");
            return None;
        }
    };
    Some(AuthenticatedClient { user, password })
}

/// Reads a user name or password under the first key, or the name of its file under the second.
pub(super) fn secret(
    fields: &mut MapReader<'_>,
    [text_key, file_key]: [&'static str; 2],
    findings: &mut ParseContext,
) -> Option<PositionedValue<SecretSource>> {
    let text = fields.text(text_key, findings);
    let file = fields.text(file_key, findings);
    if let (Some(text), Some(file)) = (text, file) {
        let message = format!("`{file_key}` and `{text_key}` exclude each other");
        findings.error_with_second_position(file.at, message, "the other is at", text.at);
    }
    let text = text.map(|text| PositionedValue {
        value: SecretSource::Text(text.value.to_owned()),
        at: text.at,
    });
    let file = file.map(|file| PositionedValue {
        value: SecretSource::File(file.value.to_owned()),
        at: file.at,
    });
    text.or(file)
}
