//! Basic authentication (RFC 7617) of clients that send commands over HTTP. Credentials are
//! compared in constant time.

use std::path::Path;

use base64ct::{Base64, Encoding};
use dhcp_config::{BasicAuthentication, SecretSource};
use dhcp_store::regular_file;
use subtle::{Choice, ConstantTimeEq};

/// Maximum length of a `user:password` that the server compares, in bytes.
const CREDENTIALS_MAX_BYTES: usize = 1_024;

/// Credentials of the clients that may send commands over HTTP, with secrets read from their files.
#[derive(PartialEq, Eq)]
pub(super) struct HttpCredentials {
    realm: String,
    /// Credentials of each client, as `user:password`.
    credentials: Vec<Vec<u8>>,
}

impl HttpCredentials {
    /// Reads the credentials from the files that `config` names.
    ///
    /// # Errors
    ///
    /// A text that names the file that cannot be read, and the reason.
    pub(super) fn open(config: &BasicAuthentication) -> Result<Self, String> {
        let folder = config.directory.as_deref();
        let credentials = config.clients.iter().map(|client| {
            let user = content(&client.user, folder)?;
            let password = content(&client.password, folder)?;
            // A password file without a user holds both, as `user:password`.
            let is_whole = user.is_empty() && matches!(client.password, SecretSource::File(_));
            let pair = if is_whole { password } else { format!("{user}:{password}") };
            match pair.len() {
                ..=CREDENTIALS_MAX_BYTES => Ok(pair.into_bytes()),
                len => Err(format!("a user and password of {len} bytes are too long")),
            }
        });
        Ok(Self {
            realm: config.realm.clone(),
            credentials: credentials.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the value of the `WWW-Authenticate` header, which requests credentials from an HTTP
    /// client.
    pub(super) fn challenge(&self) -> String {
        let escaped = self.realm.replace('\\', "\\\\").replace('"', "\\\"");
        format!("Basic realm=\"{escaped}\"")
    }

    /// Returns true if the value of an `Authorization` header has the credentials of a known
    /// client. As in Kea, every request is admitted if no clients are configured.
    pub(super) fn admits(&self, authorization: Option<&[u8]>) -> bool {
        if self.credentials.is_empty() {
            return true;
        }
        let Some(pair) = authorization.and_then(decode_pair) else { return false };
        // Every pair is compared in full, so that the time shows neither which pair fits nor how
        // much of it.
        let mut is_known = Choice::from(0);
        for expected in &self.credentials {
            is_known |=
                padded(expected)[..].ct_eq(&padded(&pair)[..]) & expected.len().ct_eq(&pair.len());
        }
        is_known.into()
    }
}

/// Decodes `user:password` from the value of an `Authorization` header.
fn decode_pair(value: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(value).ok()?.trim();
    let (scheme, rest) = text.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let octets = Base64::decode_vec(rest.trim()).ok()?;
    (octets.len() <= CREDENTIALS_MAX_BYTES).then_some(octets)
}

fn padded(octets: &[u8]) -> [u8; CREDENTIALS_MAX_BYTES] {
    let mut padded = [0; CREDENTIALS_MAX_BYTES];
    padded[..octets.len()].copy_from_slice(octets);
    padded
}

fn content(secret: &SecretSource, folder: Option<&str>) -> Result<String, String> {
    match secret {
        SecretSource::Text(text) => Ok(text.clone()),
        SecretSource::File(name) => {
            let path = Path::new(folder.unwrap_or_default()).join(name);
            let text = regular_file::read_text(&path)
                .map_err(|cause| format!("cannot read {}: {cause}", path.display()))?;
            Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use testkit::TempFolder;

    use super::*;
    use dhcp_config::AuthenticatedClient;

    fn text(text: &str) -> SecretSource {
        SecretSource::Text(text.to_owned())
    }

    fn credentials_of(
        clients: Vec<AuthenticatedClient>,
        directory: Option<String>,
    ) -> HttpCredentials {
        let config = BasicAuthentication { realm: "the \"lab\"".into(), directory, clients };
        HttpCredentials::open(&config).unwrap()
    }

    fn header(pair: &str) -> Vec<u8> {
        format!("Basic {}", Base64::encode_string(pair.as_bytes())).into_bytes()
    }

    #[test]
    fn only_a_whole_pair_opens() {
        let client =
            |user, password| AuthenticatedClient { user: text(user), password: text(password) };
        let credentials = credentials_of(vec![client("admin", "1234"), client("foo", "")], None);
        assert_eq!(credentials.challenge(), r#"Basic realm="the \"lab\"""#);
        for pair in ["admin:1234", "foo:"] {
            assert!(credentials.admits(Some(&header(pair))), "{pair}");
        }
        for pair in
            ["admin:123", "admin:12345", "admin:1234\0", "admin:", "", ":", "foo", "foo:1234"]
        {
            assert!(!credentials.admits(Some(&header(pair))), "{pair}");
        }
        // The first value is RFC 7617's own example of the header's form; the others are malformed.
        assert!(credentials.admits(Some(b"bAsIc  YWRtaW46MTIzNA== ")));
        for value in [&b"Basic"[..], b"Basic YWRtaW46MTIzNA", b"Bearer YWRtaW46MTIzNA==", b"\xff"] {
            assert!(!credentials.admits(Some(value)));
        }
        assert!(!credentials.admits(None));
        assert!(!credentials.admits(Some(&header(&format!("admin:{}", "x".repeat(4_000))))));
    }

    #[test]
    fn secrets_come_from_files_too() {
        let temporary = TempFolder::new("auth");
        let folder = temporary.path();
        fs::write(folder.join("user"), "admin").unwrap();
        fs::write(folder.join("password"), "12:34\n").unwrap();
        fs::write(folder.join("pair"), "foo:bar").unwrap();
        let file = |name: &str| SecretSource::File(name.to_owned());
        let clients = vec![
            AuthenticatedClient { user: file("user"), password: file("password") },
            AuthenticatedClient { user: text(""), password: file("pair") },
        ];
        let directory = folder.to_str().map(str::to_owned);
        let open = credentials_of(clients, directory.clone());
        assert!(open.admits(Some(&header("admin:12:34"))) && open.admits(Some(&header("foo:bar"))));
        let clients = vec![AuthenticatedClient { user: text("x"), password: file("none") }];
        let config = BasicAuthentication { realm: String::new(), directory, clients };
        let problem = HttpCredentials::open(&config).err().unwrap();
        assert!(problem.contains("cannot read") && problem.contains("none"), "{problem}");
        assert!(credentials_of(Vec::new(), None).admits(None), "without clients everyone may");
    }
}
