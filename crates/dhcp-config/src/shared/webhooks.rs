//! Reader of `user-context.godwit.webhooks`: HTTP servers that get lease events by POST.

use core::net::Ipv6Addr;

use crate::context::ParseContext;
use crate::fields::MapReader;
use crate::json::JsonValue;
use crate::source::PositionedValue;

/// Maximum number of webhooks of a server.
pub const WEBHOOKS_MAX: usize = 8;
/// File with the certificates of trusted authorities of Debian and its relatives.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// HTTP server that gets lease events by POST.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// URL as configured, for messages.
    pub url: String,
    /// Name or address of the HTTP server, without brackets.
    pub host: String,
    /// TCP port of the HTTP server.
    pub port: u16,
    /// Path of the URL, with its query; begins with a slash.
    pub path: String,
    /// True if the server is reached over TLS.
    pub is_tls: bool,
    /// Path of the file or folder with the certificates of trusted authorities (`trust-anchor`).
    pub trust_anchor: String,
    /// Paths of the client's certificate and of its key (`cert-file`, `key-file`).
    pub identity: Option<(String, String)>,
    /// User, and path of the file with the password, for HTTP Basic authentication.
    pub credentials: Option<(String, String)>,
    /// Number of events that may wait for the HTTP server (`max-backlog`). Default 16384.
    pub backlog_max: u32,
    /// Time limit of a request in milliseconds (`timeout-ms`). Default 10000 ms.
    pub timeout_ms: u32,
}

/// Reads the list `webhooks` of Godwit's settings.
pub(crate) fn read(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> Vec<Webhook> {
    let items = fields.list("webhooks", findings);
    if let Some(item) = items.get(WEBHOOKS_MAX) {
        findings.error(item.at, format!("there are more than {WEBHOOKS_MAX} webhooks"));
    }
    items.iter().filter_map(|item| webhook(item, findings)).collect()
}

fn webhook(item: &JsonValue, findings: &mut ParseContext) -> Option<Webhook> {
    let mut fields = MapReader::from_value(item, "a webhook", findings)?;
    if fields.take("url").is_none() {
        findings.error(fields.at, "a webhook lacks `url`");
    }
    let url = fields.text("url", findings);
    let trust_anchor = fields.text("trust-anchor", findings);
    let identity = pair(&mut fields, ["cert-file", "key-file"], findings);
    let credentials = pair(&mut fields, ["user", "password-file"], findings);
    let backlog_max = fields.integer("max-backlog", 256..=32_768, findings);
    let timeout_ms = fields.integer("timeout-ms", 100..=60_000, findings);
    fields.octets("comment", findings);
    fields.finish(findings);
    let url = url?;
    let Some(parts) = UrlParts::parse(url.value) else {
        let message = format!("`{}` is not a URL of a webhook", url.value);
        findings.error_help(url.at, message, "write `https://HOST:PORT/PATH`");
        return None;
    };
    if let Some(anchor) = trust_anchor.as_ref().filter(|_| !parts.is_tls) {
        findings.warn(anchor.at, "`trust-anchor` has no effect with `http`");
    }
    if credentials.is_some() && !parts.is_tls {
        findings.warn_help(url.at, "the password goes over the network in clear", "use `https`");
    }
    Some(Webhook {
        url: url.value.to_owned(),
        host: parts.host.to_owned(),
        port: parts.port,
        path: parts.path.to_owned(),
        is_tls: parts.is_tls,
        trust_anchor: trust_anchor.map_or(AUTHORITIES, |anchor| anchor.value).to_owned(),
        identity,
        credentials,
        backlog_max: backlog_max.map_or(16_384, |setting| setting.value as u32),
        timeout_ms: timeout_ms.map_or(10_000, |setting| setting.value as u32),
    })
}

/// Reads two texts that need each other.
fn pair(
    fields: &mut MapReader<'_>,
    keys: [&'static str; 2],
    findings: &mut ParseContext,
) -> Option<(String, String)> {
    let own = |text: PositionedValue<&str>| text.value.to_owned();
    let [first, second] = keys.map(|key| fields.text(key, findings));
    match (first, second) {
        (Some(first), Some(second)) => Some((own(first), own(second))),
        (Some(only), None) | (None, Some(only)) => {
            let message = format!("`{}` and `{}` are set together or not at all", keys[0], keys[1]);
            findings.error(only.at, message);
            None
        }
        (None, None) => None,
    }
}

/// Parts of a URL with the scheme `http` or `https`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UrlParts<'u> {
    pub(super) is_tls: bool,
    pub(super) host: &'u str,
    pub(super) port: u16,
    path: &'u str,
}

impl<'u> UrlParts<'u> {
    pub(super) fn parse(url: &'u str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let (is_tls, usual_port) = match scheme {
            "https" => (true, 443),
            "http" => (false, 80),
            _ => return None,
        };
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, "/"),
        };
        let is_plain = |c: char| c.is_ascii_graphic() && c != '#';
        if !path.chars().all(is_plain) {
            return None;
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']')?;
                let _: Ipv6Addr = host.parse().ok()?;
                (host, port.strip_prefix(':').or_else(|| port.is_empty().then_some(""))?)
            }
            None => authority.split_once(':').unwrap_or((authority, "")),
        };
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        if host.is_empty() || !(host.contains(':') || host.chars().all(is_of_name)) {
            return None;
        }
        let port = if port.is_empty() { usual_port } else { port.parse().ok()? };
        (port > 0).then_some(Self { is_tls, host, port, path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_a_host_and_perhaps_a_port_and_a_path() {
        let parts = |url| UrlParts::parse(url).map(|u| (u.is_tls, u.host, u.port, u.path));
        assert_eq!(parts("https://a.example"), Some((true, "a.example", 443, "/")));
        assert_eq!(parts("http://a-b:8080/x?y=1"), Some((false, "a-b", 8080, "/x?y=1")));
        assert_eq!(parts("https://[2001:db8::1]:1/"), Some((true, "2001:db8::1", 1, "/")));
        assert_eq!(parts("http://192.0.2.1/"), Some((false, "192.0.2.1", 80, "/")));
        for url in [
            "",
            "a.example",
            "ftp://a/",
            "https:///x",
            "https://a:0/",
            "https://a:65536/",
            "https://a:b/",
            "https://u@a/",
            "https://[a]/",
            "https://[::1]x/",
            "https://a/b c",
            "https://a/b#c",
            "https://a/\r\nX: y",
            "https://a b/",
        ] {
            assert_eq!(parts(url), None, "{url}");
        }
    }
}
