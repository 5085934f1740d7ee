//! Stores of leases, and the words for them in the names of the result table's lines.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Plan, ServerDurability, plan_section};
use crate::record::Purpose;

base::recorded! {
    /// Store in which a server keeps its leases; the words are those of Kea's `type` in
    /// `lease-database`, and `sqlite`, which Kea does not have. Names are words of plans, of
    /// configurations and of the names of the result table's lines.
    #[derive(Default, Serialize, Deserialize, JsonSchema)]
    pub enum LeaseStoreKind {
        /// Leases in the server's memory, with a lease file.
        #[default]
        Memfile = "memfile",
        /// Leases in a MariaDB or MySQL database.
        Mysql = "mysql",
        /// Leases in a PostgreSQL database.
        Postgresql = "postgresql",
        /// Leases in an SQLite file.
        Sqlite = "sqlite",
    }
}

impl LeaseStoreKind {
    /// Returns true for a store in a database server, which decides by itself when a row is on the
    /// disk, and to which other programs may write as well.
    pub const fn is_database(self) -> bool {
        matches!(self, Self::Mysql | Self::Postgresql)
    }
}

base::recorded! {
    /// Way in which servers reach and use a database of leases. Names are words of plans and of the
    /// names of the result table's lines.
    #[derive(Default, Serialize, Deserialize, JsonSchema)]
    pub enum DatabaseAccess {
        /// One DHCP server, which expects that other servers write to the database as well.
        #[default]
        Open = "open",
        /// One DHCP server, configured as the only one that writes to the database.
        Exclusive = "exclusive",
        /// Two DHCP servers on the same database, with half of the load each.
        TwoServers = "two-servers",
        /// One DHCP server as in `Open`, with a round trip of 1 ms between the server and the
        /// database.
        Away1Ms = "1-ms-away",
        /// One DHCP server as in `Open`, with a round trip of 5 ms between the server and the
        /// database.
        Away5Ms = "5-ms-away",
        /// One DHCP server as in `Open`, with a round trip of 20 ms between the server and the
        /// database.
        Away20Ms = "20-ms-away",
    }
}

impl DatabaseAccess {
    /// Returns the round trip between a server and its database, in milliseconds; `None` where both
    /// are on one machine.
    pub fn round_trip_ms(self) -> Option<u32> {
        self.name().strip_suffix("-ms-away")?.parse().ok()
    }
}

plan_section! {
    /// Settings of restart trials, in whose middle the lab ends a database server and starts it
    /// again; one trial per DHCP server that has a database.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct RestartPlan in "restart." {
        /// Way in which the lab ends database servers in restart trials.
        database: Restarts = Restarts::None, "\"none\"", Choice(&["none", "stop", "kill", "both"]),
            "End and restart of the database in the middle of a separate trial: none; stop, in \
             order; kill, by SIGKILL; both, in one trial each.";
        /// Constant load of a restart trial, as a fraction of the server's highest rate.
        fraction: f64 = 0.5, "0.5", Number(0.01, 1.0),
            "Constant load of the trial with the restart of the database, as a fraction of the \
             highest rate found.";
        /// Length of a restart trial, in seconds.
        dwell_s: f64 = 20.0, "20.0", Number(1.0, 3_600.0),
            "Length of the trial with the restart of the database.";
        /// Time at which the lab ends the database server, in seconds from the beginning of the
        /// restart trial.
        at_s: f64 = 6.0, "6.0", Number(0.1, 3_600.0),
            "Time at which the database is ended, from the beginning of its trial.";
    }
}

/// Way in which the lab ends database servers in restart trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Restarts {
    /// No restart of databases: the plan has no restart trials.
    #[default]
    None,
    /// Orderly stop of the database server in the middle of a restart trial.
    Stop,
    /// Kill of the database server's processes in the middle of a restart trial.
    Kill,
    /// One restart trial with an orderly stop, and one with a kill.
    Both,
}

impl Restarts {
    /// Returns the purposes of a server's restart trials, one per trial.
    pub const fn purposes(self) -> &'static [Purpose] {
        match self {
            Self::None => &[],
            Self::Stop => &[Purpose::DatabaseStop],
            Self::Kill => &[Purpose::DatabaseKill],
            Self::Both => &[Purpose::DatabaseStop, Purpose::DatabaseKill],
        }
    }
}

/// Name of the server, Godwit, whose lines in the result table differ by durability.
const DURABLE_SERVER: &str = "godwit";

impl Plan {
    /// Returns true if the plan measures stores of leases, so that stores are in the names of the
    /// result table's lines.
    pub fn names_stores(&self) -> bool {
        self.server.stores != [LeaseStoreKind::Memfile]
    }

    /// Returns the store in the name of a line of the result table (`mysql` of `kea-mysql`); `None`
    /// when the plan does not name stores, and for lines of other servers.
    pub fn line_store(&self, line: &str) -> Option<LeaseStoreKind> {
        let rest = self.line_suffix(line)?;
        LeaseStoreKind::ALL.into_iter().find(|store| rest.split('-').next() == Some(store.name()))
    }

    /// Returns the part of the name of a line of the result table after the name of its server:
    /// `mysql-exclusive` of `godwit-mysql-exclusive`.
    fn line_suffix<'n>(&self, line: &'n str) -> Option<&'n str> {
        if !self.names_stores() {
            return None;
        }
        self.servers.iter().find_map(|server| line.strip_prefix(server.as_str())?.strip_prefix('-'))
    }

    /// Returns true if the ratio of line `a` of the result table over line `b` is meaningful: both
    /// servers keep their leases in the same store, or differ by one feature only, or the plan
    /// names neither.
    pub fn is_pair(&self, a: &str, b: &str) -> bool {
        if self.names_features() {
            return self.is_feature_pair(a, b);
        }
        self.line_store(a) == self.line_store(b)
    }

    /// Returns true if the plan was made for the ratio of the lines `a` and `b` of the result
    /// table: its first server over its second one, in each store, or each feature over its
    /// baseline.
    pub fn is_main_pair(&self, a: &str, b: &str) -> bool {
        if self.names_features() {
            return self.is_feature_pair(a, b);
        }
        let [first, second, ..] = self.servers.as_slice() else { return false };
        match (self.main_server_and_store(a), self.main_server_and_store(b)) {
            (Some((of, at)), Some((to, other))) => of == first && to == second && at == other,
            _ => false,
        }
    }

    /// Returns the server and the store in the name of a line of the result table, if the line is
    /// the one of its server that is compared with other servers: for Godwit, the line with the
    /// plan's first durability.
    fn main_server_and_store<'n>(&'n self, line: &'n str) -> Option<(&'n str, &'n str)> {
        let is_durable = |server: &str| server == DURABLE_SERVER;
        let (whole, durability) = ServerDurability::split_line(line);
        self.servers.iter().find_map(|server| {
            let rest =
                if is_durable(server) { whole } else { line }.strip_prefix(server.as_str())?;
            let rest = match rest {
                "" => "",
                rest if self.names_stores() => rest.strip_prefix('-')?,
                _ => return None,
            };
            let is_database = self.line_store(line).is_some_and(LeaseStoreKind::is_database);
            let is_main =
                !is_durable(server) || is_database || durability == self.server.durability[0];
            is_main.then_some((server.as_str(), rest))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_are_read_from_the_names_of_lines_and_pair_only_with_themselves() {
        let mut plan = Plan { servers: vec!["godwit".into(), "kea".into()], ..Plan::default() };
        assert_eq!((plan.line_store("godwit-mysql"), plan.names_stores()), (None, false));
        assert!(plan.is_pair("godwit", "kea") && plan.is_main_pair("godwit-none", "kea"));
        assert!(!plan.is_main_pair("godwit", "kea") && !plan.is_main_pair("kea", "godwit-none"));
        plan.server.stores = LeaseStoreKind::ALL.to_vec();
        assert_eq!(plan.line_store("kea-postgresql"), Some(LeaseStoreKind::Postgresql));
        assert_eq!(plan.line_store("godwit-memfile-none"), Some(LeaseStoreKind::Memfile));
        assert_eq!((plan.line_store("limit"), plan.line_store("kea-x")), (None, None));
        assert!(plan.is_pair("godwit-mysql-exclusive", "kea-mysql"));
        assert!(!plan.is_pair("godwit-mysql", "kea-postgresql"));
        assert!(plan.is_main_pair("godwit-mysql", "kea-mysql"));
        assert!(plan.is_main_pair("godwit-memfile-none", "kea-memfile"));
        for (a, b) in [
            ("godwit-memfile", "kea-memfile"),
            ("godwit-mysql", "kea-postgresql"),
            ("godwit-mysql", "godwit-mysql-exclusive"),
        ] {
            assert!(!plan.is_main_pair(a, b), "{a} {b}");
        }
    }

    #[test]
    fn round_trips_are_those_of_the_names() {
        let round_trips = DatabaseAccess::ALL.map(DatabaseAccess::round_trip_ms);
        assert_eq!(round_trips, [None, None, None, Some(1), Some(5), Some(20)]);
    }
}
