//! Kea's database tables as SQL statements: the tables of Kea 2.2, which Debian 12 has, and the
//! current ones.
//!
//! The current tables are made from those of 2.2 by the same statements that upgrade a database, as
//! in Kea. Godwit creates the tables of leases, reservations, their options and the legal log, with
//! the triggers that count leases and the functions that Kea's servers and `kea-admin` call; it
//! does not create those of Kea's configuration backend, so that only `kea-admin` can upgrade a
//! database that has them.

use std::fmt;

use super::settings::SqlDatabaseKind;

/// Version of Kea's database tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Schema {
    /// Tables as in Kea 2.2.
    Kea22,
    /// Tables as in Kea 3.3.
    #[default]
    Current,
}

/// Version number of Kea's tables, as in the table `schema_version`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SchemaVersion {
    /// Major number of the tables' version; Kea's servers refuse any other than theirs.
    pub major: u32,
    /// Minor number of the tables' version; nothing depends on it.
    pub minor: u32,
}

impl fmt::Display for SchemaVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl Schema {
    /// All known versions of the tables, the oldest first.
    pub const ALL: [Self; 2] = [Self::Kea22, Self::Current];

    /// Returns the number of the tables' version. SQLite, which Kea does not have, has the numbers
    /// of MySQL.
    #[must_use]
    pub const fn version(self, backend: SqlDatabaseKind) -> SchemaVersion {
        let major = match (backend, self) {
            (SqlDatabaseKind::Mysql | SqlDatabaseKind::Sqlite, Self::Kea22) => 14,
            (SqlDatabaseKind::Mysql | SqlDatabaseKind::Sqlite, Self::Current) => 35,
            (SqlDatabaseKind::Postgresql, Self::Kea22) => 13,
            (SqlDatabaseKind::Postgresql, Self::Current) => 34,
        };
        SchemaVersion { major, minor: 0 }
    }

    /// Returns the table layout by which leases are read and written in a database of version
    /// `version`. No change of Kea's schema since 29.0, which added the state of registered
    /// addresses (RFC 9686), has affected the lease tables.
    #[must_use]
    pub fn for_version(backend: SqlDatabaseKind, version: SchemaVersion) -> Option<Self> {
        const STATES: u32 = 29;
        let major_of = |schema: Self| schema.version(backend).major;
        match version.major {
            major if major == major_of(Self::Kea22) && backend != SqlDatabaseKind::Sqlite => {
                Some(Self::Kea22)
            }
            major if (STATES..=major_of(Self::Current)).contains(&major) => Some(Self::Current),
            _ => None,
        }
    }

    /// Returns the statements that create the tables of this version in an empty database; `None`
    /// if this version does not exist for `backend`.
    #[must_use]
    pub fn statements(self, backend: SqlDatabaseKind) -> Option<Vec<&'static str>> {
        let (older, newer) = match (backend, self) {
            (SqlDatabaseKind::Mysql, _) => (MYSQL_KEA22, MYSQL_CURRENT),
            (SqlDatabaseKind::Postgresql, _) => (POSTGRESQL_KEA22, POSTGRESQL_CURRENT),
            (SqlDatabaseKind::Sqlite, Self::Current) => ("", SQLITE),
            (SqlDatabaseKind::Sqlite, Self::Kea22) => return None,
        };
        let newer = if self == Self::Current { newer } else { "" };
        Some(split(older).chain(split(newer)).collect())
    }

    /// Returns the statements that upgrade a database from the tables of Kea 2.2 to the current
    /// version.
    #[must_use]
    pub fn upgrade(backend: SqlDatabaseKind) -> Vec<&'static str> {
        match backend {
            SqlDatabaseKind::Mysql => split(MYSQL_CURRENT).collect(),
            SqlDatabaseKind::Postgresql => split(POSTGRESQL_CURRENT).collect(),
            SqlDatabaseKind::Sqlite => Vec::new(),
        }
    }
}

const MYSQL_KEA22: &str = include_str!("mysql_2_2.sql");
const MYSQL_CURRENT: &str = include_str!("mysql_current.sql");
const POSTGRESQL_KEA22: &str = include_str!("postgresql_2_2.sql");
const POSTGRESQL_CURRENT: &str = include_str!("postgresql_current.sql");
const SQLITE: &str = include_str!("sqlite.sql");

/// Splits a text into SQL statements, which end at blank lines; skips a first block of comments.
fn split(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split("\n\n")
        .map(str::trim)
        .filter(|statement| !statement.is_empty() && !statement.starts_with("--"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_whole() {
        for backend in SqlDatabaseKind::ALL {
            for schema in Schema::ALL {
                let Some(statements) = schema.statements(backend) else {
                    assert_eq!((backend, schema), (SqlDatabaseKind::Sqlite, Schema::Kea22));
                    continue;
                };
                assert!(statements.len() > 20, "{backend:?} {schema:?}");
                for statement in &statements {
                    let first = statement.split_whitespace().next().unwrap();
                    let keywords = ["CREATE", "INSERT", "UPDATE", "DELETE", "ALTER", "DROP"];
                    assert!(keywords.contains(&first), "{statement}");
                    assert_eq!(statement.matches("$$").count() % 2, 0, "{statement}");
                }
                // The last statement sets the version, so that an interrupted upgrade does not look
                // complete.
                assert!(statements.last().unwrap().contains("schema_version"));
            }
        }
    }

    #[test]
    fn versions_that_are_known_are_read() {
        let of = |backend, major| Schema::for_version(backend, SchemaVersion { major, minor: 0 });
        assert_eq!(of(SqlDatabaseKind::Mysql, 14), Some(Schema::Kea22));
        assert_eq!(of(SqlDatabaseKind::Mysql, 28), None);
        assert_eq!(of(SqlDatabaseKind::Mysql, 29), Some(Schema::Current));
        assert_eq!(of(SqlDatabaseKind::Mysql, 35), Some(Schema::Current));
        assert_eq!(of(SqlDatabaseKind::Mysql, 36), None);
        assert_eq!(of(SqlDatabaseKind::Postgresql, 13), Some(Schema::Kea22));
        assert_eq!(of(SqlDatabaseKind::Postgresql, 34), Some(Schema::Current));
        assert_eq!(of(SqlDatabaseKind::Sqlite, 14), None);
    }
}
