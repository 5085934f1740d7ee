//! Version of this DHCP server. Programs that manage Kea depend on its version, so the version is
//! the number of the Kea version that this server corresponds to (`docs/design/025-kea-level.md`),
//! followed by this server's own number.

use dhcp_control::IpVersion;
use dhcp_store::sql::{Schema, SqlDatabaseKind};

/// Version of this server, without the version of Kea that it corresponds to.
pub(crate) const OWN: &str = env!("CARGO_PKG_VERSION");

/// Version of Kea that programs may take this server for: the one that the tests run next to it.
pub const KEA_LEVEL: &str = "3.0.3";

/// Version of the driver for MySQL and MariaDB, the crate `mysql`.
const MYSQL_DRIVER: &str = "28.0.4";
/// Version of the driver for PostgreSQL, the crate `tokio-postgres`.
const POSTGRESQL_DRIVER: &str = "0.7.18";
/// Version of the driver for SQLite, the crate `rusqlite`.
const SQLITE_DRIVER: &str = "0.41.1";

/// Returns the text of the server's extended version: the level of Kea, this server's own version,
/// and its backends of leases and reservations, in several lines. Kea names the backends of the
/// libraries that it has loaded in the same form; here all are built in.
#[must_use]
pub fn extended_version(family: IpVersion) -> String {
    // Version of the columns of lease files, as Kea counts it.
    let columns = match family {
        IpVersion::V4 => "3.0",
        IpVersion::V6 => "5.0",
    };
    let [mysql, postgresql, sqlite] = [
        (SqlDatabaseKind::Mysql, "MySQL", MYSQL_DRIVER),
        (SqlDatabaseKind::Postgresql, "PostgreSQL", POSTGRESQL_DRIVER),
        (SqlDatabaseKind::Sqlite, "SQLite", SQLITE_DRIVER),
    ]
    .map(|(kind, name, driver)| {
        format!("\n- {name} backend {}, library {driver}", Schema::Current.version(kind))
    });
    format!(
        "{KEA_LEVEL} (godwit {OWN}, compatible with Kea {KEA_LEVEL})\npremium: no\nlinked with:\n\
         - rustls with ring\nlease backends:\n- Memfile backend {columns}{mysql}{postgresql}\
         {sqlite}\nhost backends:{mysql}{postgresql}"
    )
}

/// Returns the text of the DNS updater's extended version, in several lines.
#[must_use]
pub fn updater_extended_version() -> String {
    format!(
        "{KEA_LEVEL} (godwit {OWN}, compatible with Kea {KEA_LEVEL})\npremium: no\nlinked with:\n\
         - rustls with ring"
    )
}

/// Returns a description of the server's build, in several lines.
#[must_use]
pub fn build_report() -> String {
    format!(
        "godwit {OWN}\ncompatible with: Kea {KEA_LEVEL}\ntarget: {} {}\nbuild: profile {}\n\
         leases: memfile, mysql, postgresql, sqlite\n\
         control sockets: unix, http, https (rustls with ring)\n",
        std::env::consts::ARCH,
        std::env::consts::OS,
        base::BUILD_PROFILE
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_drivers_are_those_of_the_build() {
        let lock = include_str!("../../../Cargo.lock");
        for (name, version) in [
            ("mysql", MYSQL_DRIVER),
            ("tokio-postgres", POSTGRESQL_DRIVER),
            ("rusqlite", SQLITE_DRIVER),
        ] {
            let package = format!("name = \"{name}\"\nversion = \"{version}\"\n");
            assert!(lock.contains(&package), "{name}");
        }
    }
}
