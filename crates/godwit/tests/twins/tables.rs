//! Tables of leases and reservations: Kea's own schema in a private database server, and the rows
//! of a table as a view.

use std::fs;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use testbed::Debian13;
use testbed::database::{DatabaseEngine, PASSWORD, PrivateDatabase, PrivateDatabaseSettings, USER};

use super::rules::ViewRules;

/// Database servers of the twins, each started for the first twin that needs it.
#[derive(Default)]
pub(crate) struct TwinDatabaseServers {
    mariadb: OnceLock<PrivateDatabase>,
    postgresql: OnceLock<PrivateDatabase>,
    count: AtomicUsize,
}

impl TwinDatabaseServers {
    /// Makes an empty database on `engine` with the tables of Debian 13's Kea.
    pub(crate) fn make_tables(&self, engine: DatabaseEngine) -> LeaseTables<'_> {
        let cell = match engine {
            DatabaseEngine::MariaDb => &self.mariadb,
            DatabaseEngine::PostgreSql => &self.postgresql,
        };
        let server = cell.get_or_init(|| {
            let settings = PrivateDatabaseSettings {
                is_durable: false,
                on_loopback: true,
                ..PrivateDatabaseSettings::default()
            };
            PrivateDatabase::start(engine, settings).expect("the database server starts")
        });
        let name = format!("twin{}", self.count.fetch_add(1, Ordering::Relaxed));
        server.create(&name).expect("a database can be made");
        let tables = LeaseTables { server, name };
        let debian = Debian13::find().expect("the caller has looked for it");
        let (script, command) = match engine {
            DatabaseEngine::MariaDb => {
                ("usr/share/kea/scripts/mysql/dhcpdb_create.mysql", "source")
            }
            DatabaseEngine::PostgreSql => {
                ("usr/share/kea/scripts/pgsql/dhcpdb_create.pgsql", "\\i")
            }
        };
        // The client may run as a user who cannot enter the root folder.
        let own = server.folder().join(&tables.name);
        fs::copy(debian.root().join(script), &own).expect("the root folder has Kea's scripts");
        tables.query(&format!("{command} {}", own.display()));
        tables
    }
}

/// Mark in a configuration that is replaced by the members of a map that name the database and the
/// access to it.
const DATABASE_MARK: &str = "@database@";

/// Database with Kea's tables.
pub(crate) struct LeaseTables<'s> {
    server: &'s PrivateDatabase,
    name: String,
}

/// Column of a table, with the type of its values.
struct TableColumn {
    name: String,
    kind: String,
}

impl LeaseTables<'_> {
    fn query(&self, statements: &str) -> String {
        self.server.query(&self.name, statements).expect("the database answers")
    }

    /// Returns members of a configuration that use the database: where `config` has
    /// [`DATABASE_MARK`], else for leases. `config` has the other members, whose hook libraries are
    /// kept.
    pub(crate) fn add_to(&self, config: &str) -> String {
        let (kind, library) = match self.server.engine() {
            DatabaseEngine::MariaDb => ("mysql", "libdhcp_mysql.so"),
            DatabaseEngine::PostgreSql => ("postgresql", "libdhcp_pgsql.so"),
        };
        let port = self.server.port().expect("it listens on loopback");
        let name = &self.name;
        let access = format!(
            r#""type": "{kind}", "name": "{name}", "host": "127.0.0.1", "port": {port},
               "user": "{USER}", "password": "{PASSWORD}""#
        );
        let (database, config) = if config.contains(DATABASE_MARK) {
            (String::new(), config.replace(DATABASE_MARK, &access))
        } else {
            (format!(r#""lease-database": {{ {access} }}, "#), config.to_owned())
        };
        let library = format!(r#"{{ "library": "{library}" }}"#);
        const LIBRARIES: &str = "\"hooks-libraries\": [";
        if config.contains(LIBRARIES) {
            let libraries = format!("{LIBRARIES} {library}, ");
            return database + &config.replacen(LIBRARIES, &libraries, 1);
        }
        format!("{database}{LIBRARIES} {library} ], {config}")
    }

    fn columns(&self, table: &str) -> Vec<TableColumn> {
        let schema = match self.server.engine() {
            DatabaseEngine::MariaDb => self.name.as_str(),
            DatabaseEngine::PostgreSql => "public",
        };
        let rows = self.query(&format!(
            "SELECT column_name, data_type FROM information_schema.columns \
             WHERE table_schema = '{schema}' AND table_name = '{table}' ORDER BY ordinal_position"
        ));
        let column = |line: &str| {
            let (name, kind) = line.split_once('\t')?;
            Some(TableColumn { name: name.to_owned(), kind: kind.to_owned() })
        };
        rows.lines().filter_map(column).collect()
    }

    /// Returns the names of the columns of `table`, and its rows in their order, values separated
    /// by commas: octets in hexadecimal digits, times in seconds since 1970, `NULL` for none.
    pub(super) fn rows(&self, table: &str, rules: &ViewRules) -> Vec<String> {
        let mut columns = self.columns(table);
        // The database sets the time of the last change, which differs between any two runs.
        columns.retain(|column| column.name != "modification_ts");
        assert!(!columns.is_empty(), "there is no table {table}");
        let values: Vec<String> = columns
            .iter()
            .map(|TableColumn { name, kind }| {
                let value = match kind.as_str() {
                    "binary" | "varbinary" | "blob" => format!("HEX({name})"),
                    "bytea" => format!("UPPER(ENCODE({name}, 'hex'))"),
                    "timestamp" => format!("UNIX_TIMESTAMP({name})"),
                    "timestamp with time zone" => {
                        format!("CAST(EXTRACT(EPOCH FROM {name}) AS BIGINT)")
                    }
                    "boolean" => format!("CAST({name} AS INT)"),
                    "inet" => format!("HOST({name})"),
                    // No classes: Kea 3.0 leaves NULL, which its later versions do not allow.
                    _ if name == "client_classes" => format!("NULLIF({name}, '[  ]')"),
                    _ => name.clone(),
                };
                match self.server.engine() {
                    DatabaseEngine::MariaDb => format!("COALESCE(CONVERT({value}, CHAR), 'NULL')"),
                    DatabaseEngine::PostgreSql => {
                        format!("COALESCE(CAST({value} AS TEXT), 'NULL')")
                    }
                }
            })
            .collect();
        let order: Vec<String> = (1..=columns.len()).map(|number| number.to_string()).collect();
        let text = self.query(&format!(
            "SELECT {} FROM {table} ORDER BY {}",
            values.join(", "),
            order.join(", ")
        ));
        let names: Vec<String> = columns.into_iter().map(|column| column.name).collect();
        let lines = names.join(",") + "\n" + &text.replace('\t', ",");
        rules.file(table, &lines)
    }
}
