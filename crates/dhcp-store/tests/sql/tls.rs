//! Tests of TLS to private servers: which servers are trusted, the reasons why others are not, and
//! that nothing is sent in the clear.

use std::path::Path;

use dhcp_store::sql::{Database, DatabaseSslMode, SqlDatabaseKind, SqlSettings};

use crate::sql::SqlTestDatabases;
use crate::sql::authority::Authority;

/// Cipher weaker than the one that would be chosen otherwise, so that it shows if the list had an
/// effect.
const CIPHER: &str = "ECDHE-ECDSA-AES128-GCM-SHA256";

/// Server with a certificate for `localhost`, which is not for `127.0.0.1`.
struct SqlTlsFixture {
    databases: SqlTestDatabases,
    settings: SqlSettings,
    own: Authority,
    other: Authority,
}

impl SqlTlsFixture {
    fn new(backend: SqlDatabaseKind) -> Option<Self> {
        let mut authorities = None;
        let databases = SqlTestDatabases::with(backend, "tls", |folder| {
            let own = Authority::new(folder, "own");
            let (certificate, key) = own.issue("server", "localhost", 2);
            authorities = Some((own, Authority::new(folder, "other")));
            options(backend, folder, &certificate, &key)
        });
        let databases = databases?;
        let settings = databases.create("leases");
        let server = databases.server();
        let (own, other) = authorities.unwrap();
        // The server accepts these users only with certain kinds of connections.
        let users = match backend {
            SqlDatabaseKind::Mysql => [
                ("shown", "X509".to_owned()),
                ("strict", "SSL".to_owned()),
                ("weak", format!("CIPHER '{CIPHER}'")),
            ]
            .map(|(user, demand)| {
                format!("GRANT ALL ON *.* TO '{user}'@'%' IDENTIFIED BY 'x' REQUIRE {demand};")
            })
            .concat(),
            _ => "CREATE ROLE shown LOGIN PASSWORD 'x'; CREATE ROLE weak LOGIN PASSWORD 'x'".into(),
        };
        server
            .query(if backend == SqlDatabaseKind::Mysql { "mysql" } else { "postgres" }, &users)
            .unwrap();
        Some(Self { databases, settings, own, other })
    }

    fn settings(
        &self,
        host: &str,
        mode: DatabaseSslMode,
        anchor: Option<&Authority>,
    ) -> SqlSettings {
        SqlSettings {
            host: host.to_owned(),
            ssl_mode: Some(mode),
            trust_anchor: anchor.map(Authority::certificate),
            ..self.settings.clone()
        }
    }

    /// Returns true if a working connection is encrypted, as the server reports it.
    fn is_encrypted(&self, settings: &SqlSettings) -> bool {
        let open = Database::open(settings).unwrap_or_else(|error| panic!("{error}"));
        if settings.backend == SqlDatabaseKind::Postgresql {
            let is_encrypted = self.sessions().starts_with("t\t");
            drop(open);
            return is_encrypted;
        }
        // The server accepts this user only over TLS.
        let strict =
            SqlSettings { user: "strict".to_owned(), password: "x".to_owned(), ..settings.clone() };
        match Database::open(&strict) {
            Ok(_) => true,
            Err(error) if error.to_string().contains("Access denied") => false,
            Err(error) => panic!("{error}"),
        }
    }

    /// Returns PostgreSQL's sessions of the database, with their encryption.
    fn sessions(&self) -> String {
        let ask = "SELECT ssl, cipher FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                   WHERE datname = 'leases' ORDER BY backend_start DESC LIMIT 1";
        self.databases.server().query("postgres", ask).unwrap()
    }

    fn refusal(settings: &SqlSettings) -> String {
        let error = Database::open(settings).map(drop).unwrap_err();
        assert!(!error.is_connection_lost(), "trying again does not help: {error}");
        error.to_string()
    }
}

fn options(backend: SqlDatabaseKind, folder: &Path, certificate: &Path, key: &Path) -> Vec<String> {
    let authority = folder.join("own.pem");
    let (authority, certificate, key) = (authority.display(), certificate.display(), key.display());
    if backend == SqlDatabaseKind::Mysql {
        return vec![
            format!("ssl-ca={authority}"),
            format!("ssl-cert={certificate}"),
            format!("ssl-key={key}"),
        ];
    }
    let rules = folder.join("rules");
    let text = "local all all trust\n\
                hostssl all shown 127.0.0.1/32 scram-sha-256 clientcert=verify-ca\n\
                host all all 127.0.0.1/32 scram-sha-256\n";
    std::fs::write(&rules, text).unwrap();
    vec![
        "ssl=on".to_owned(),
        format!("ssl_ca_file={authority}"),
        format!("ssl_cert_file={certificate}"),
        format!("ssl_key_file={key}"),
        format!("hba_file={}", rules.display()),
    ]
}

fn fixture(backend: SqlDatabaseKind) -> Option<SqlTlsFixture> {
    if testbed::command::find_program("openssl").is_none() {
        testkit::skip("openssl: not found");
        return None;
    }
    SqlTlsFixture::new(backend)
}

/// Checks which servers are trusted, by mode, and that the session is encrypted.
fn the_right_ones_are_believed(fixture: &SqlTlsFixture) {
    let own = Some(&fixture.own);
    for (host, mode, anchor) in [
        ("localhost", DatabaseSslMode::VerifyFull, own),
        ("127.0.0.1", DatabaseSslMode::VerifyCa, own),
        ("127.0.0.1", DatabaseSslMode::Require, None),
        ("127.0.0.1", DatabaseSslMode::Prefer, own),
        ("127.0.0.1", DatabaseSslMode::Prefer, None),
    ] {
        assert!(fixture.is_encrypted(&fixture.settings(host, mode, anchor)), "{host} {mode:?}");
    }
    let implied = SqlSettings {
        ssl_mode: None,
        ..fixture.settings("127.0.0.1", DatabaseSslMode::Require, own)
    };
    assert!(fixture.is_encrypted(&implied));
    for settings in [
        fixture.settings("localhost", DatabaseSslMode::Disable, own),
        // PostgreSQL's own library does the same: it continues without TLS if that does not work.
        fixture.settings("localhost", DatabaseSslMode::Prefer, Some(&fixture.other)),
    ] {
        assert!(!fixture.is_encrypted(&settings), "{:?}", settings.ssl_mode);
    }
}

fn the_wrong_ones_are_refused(fixture: &mut SqlTlsFixture) {
    let (own, other) = (Some(&fixture.own), Some(&fixture.other));
    let other_file = fixture.other.certificate().display().to_string();
    for (host, mode, anchor, words) in [
        ("localhost", DatabaseSslMode::VerifyFull, other, other_file.as_str()),
        ("localhost", DatabaseSslMode::VerifyCa, other, "does not come from an authority in "),
        ("localhost", DatabaseSslMode::Require, other, other_file.as_str()),
        ("127.0.0.1", DatabaseSslMode::VerifyFull, own, "is not for 127.0.0.1"),
        (
            "localhost",
            DatabaseSslMode::VerifyFull,
            None,
            "ssl-mode verify-full needs a trust-anchor",
        ),
    ] {
        let text = SqlTlsFixture::refusal(&fixture.settings(host, mode, anchor));
        assert!(text.contains(words), "{text}");
    }
    let strict = fixture.settings("localhost", DatabaseSslMode::VerifyFull, own);
    let missing = SqlSettings { trust_anchor: Some("/no/such.pem".into()), ..strict.clone() };
    assert!(SqlTlsFixture::refusal(&missing).contains("/no/such.pem"));
    let alone = SqlSettings { cert_file: Some("/my.pem".into()), ..strict.clone() };
    assert!(SqlTlsFixture::refusal(&alone).contains("/my.pem cannot be used alone"));
    // The server is the same, with a certificate that has expired.
    fixture.databases.server_mut().stop().unwrap();
    fixture.own.issue("server", "localhost", -1);
    fixture.databases.server_mut().launch().unwrap();
    let text = SqlTlsFixture::refusal(&strict);
    let anchor = fixture.own.certificate().display().to_string();
    assert!(text.contains("has expired") && text.contains(&anchor), "{text}");
}

/// Checks a client that has to present a certificate.
fn a_client_shows_itself(fixture: &SqlTlsFixture) {
    let settings = SqlSettings {
        user: "shown".to_owned(),
        password: "x".to_owned(),
        ..fixture.settings("127.0.0.1", DatabaseSslMode::VerifyCa, Some(&fixture.own))
    };
    let text = SqlTlsFixture::refusal(&settings);
    assert!(text.contains("certificate") || text.contains("Access denied"), "{text}");
    let (certificate, key) = fixture.own.issue("client", "client", 2);
    let known =
        SqlSettings { cert_file: Some(certificate), key_file: Some(key), ..settings.clone() };
    Database::open(&known).unwrap_or_else(|error| panic!("{error}"));
    let (certificate, _) = fixture.own.issue("another", "another", 2);
    let mixed = SqlSettings { cert_file: Some(certificate), ..known };
    let text = SqlTlsFixture::refusal(&mixed);
    assert!(text.contains("cannot be used together"), "{text}");
}

/// Checks that the list of ciphers has an effect.
fn ciphers_are_chosen(fixture: &SqlTlsFixture) {
    let user = |list: &str| SqlSettings {
        user: "weak".to_owned(),
        password: "x".to_owned(),
        cipher_list: Some(list.to_owned()),
        ..fixture.settings("127.0.0.1", DatabaseSslMode::VerifyCa, Some(&fixture.own))
    };
    let open = Database::open(&user(CIPHER)).unwrap_or_else(|error| panic!("{error}"));
    if fixture.settings.backend == SqlDatabaseKind::Postgresql {
        assert_eq!(fixture.sessions(), format!("t\t{CIPHER}\n"));
    } else {
        // The server accepts this user with no other cipher.
        let text = SqlTlsFixture::refusal(&user("ECDHE-ECDSA-AES256-GCM-SHA384"));
        assert!(text.contains("Access denied"), "{text}");
    }
    drop(open);
    assert!(SqlTlsFixture::refusal(&user("RC4")).contains("cipher-list `RC4`"));
}

fn all_of(backend: SqlDatabaseKind) {
    let Some(mut fixture) = fixture(backend) else { return };
    the_right_ones_are_believed(&fixture);
    a_client_shows_itself(&fixture);
    ciphers_are_chosen(&fixture);
    the_wrong_ones_are_refused(&mut fixture);
}

#[test]
fn mariadb_is_believed_by_its_certificate() {
    all_of(SqlDatabaseKind::Mysql);
}

#[test]
fn postgresql_is_believed_by_its_certificate() {
    all_of(SqlDatabaseKind::Postgresql);
}

#[test]
fn a_server_without_tls_is_refused_where_there_has_to_be_some() {
    for backend in [SqlDatabaseKind::Mysql, SqlDatabaseKind::Postgresql] {
        let Some(databases) = SqlTestDatabases::with(backend, "clear", |_| match backend {
            SqlDatabaseKind::Mysql => vec!["skip-ssl".to_owned()],
            _ => Vec::new(),
        }) else {
            continue;
        };
        let settings = databases.create("leases");
        let strict = SqlSettings { ssl_mode: Some(DatabaseSslMode::Require), ..settings.clone() };
        let text = SqlTlsFixture::refusal(&strict);
        assert!(text.contains("TLS"), "{text}");
        let lenient = SqlSettings { ssl_mode: Some(DatabaseSslMode::Prefer), ..settings };
        Database::open(&lenient).unwrap_or_else(|error| panic!("{error}"));
    }
}
