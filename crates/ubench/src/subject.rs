//! Benchmark subjects: a store, its tables, its safety, and the number of operations at a time.

use std::fmt;

use base::{ToolError, ToolResult};
use serde::{Deserialize, Serialize};

base::recorded! {
    /// Kind of a lease store in the benchmark. Names are those of the command line and of results.
    #[derive(Serialize, Deserialize)]
    pub enum SubjectBackend {
        /// Lease table in memory, without a file or database.
        Memory = "memory",
        /// Lease file in Kea's format; with [`Tables::Ubench2012`] the text file of `dhcp-ubench`
        /// of 2012.
        Memfile = "memfile",
        /// SQLite database in a file.
        Sqlite = "sqlite",
        /// MariaDB or MySQL server.
        Mysql = "mysql",
        /// PostgreSQL server.
        Pgsql = "pgsql",
    }
}

impl SubjectBackend {
    /// Returns true if the store runs in this process, without a server.
    pub const fn is_embedded(self) -> bool {
        matches!(self, Self::Memory | Self::Memfile | Self::Sqlite)
    }

    /// Returns true if the store is a database with SQL.
    pub const fn speaks_sql(self) -> bool {
        matches!(self, Self::Sqlite | Self::Mysql | Self::Pgsql)
    }
}

base::recorded! {
    /// Kind of a store's tables, and with them the path of leases to the store. Names are those of
    /// the command line and of results.
    #[derive(Serialize, Deserialize)]
    pub enum Tables {
        /// Tables of Kea, through the code that the DHCP server uses: the lease table in memory,
        /// and the thread that writes the rows of all shards at once.
        Kea = "kea",
        /// Tables of the benchmark program `dhcp-ubench` of 2012, with one statement per operation.
        Ubench2012 = "ubench-2012",
    }
}

base::recorded! {
    /// Safety of a change at the time when it counts as done. [`BenchmarkSubject::setting`] is its
    /// meaning for each store. Names are those of results.
    #[derive(Serialize, Deserialize)]
    pub enum ChangeSafety {
        /// Change that survives a power cut.
        Sync = "sync",
        /// Change that may not survive a power cut; most DHCP servers run with this setting.
        Async = "async",
        /// Third safety setting that the store has; [`BenchmarkSubject::setting`] names it.
        Other = "other",
    }
}

/// Number of operations that share a transaction, and with it a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TransactionSharing {
    /// All operations that wait when the writer is free: group commit. With the tables of 2012 each
    /// operation has its own transaction, and the database's server may combine transactions.
    Adaptive,
    /// This many operations; the next ones wait until all of them are done.
    Fixed(u32),
}

impl fmt::Display for TransactionSharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Adaptive => f.write_str("adaptive"),
            Self::Fixed(count) => write!(f, "{count}"),
        }
    }
}

base::recorded! {
    /// Journal mode of SQLite: its method to undo a transaction. Names are SQLite's.
    #[derive(Serialize, Deserialize)]
    pub enum SqliteJournalMode {
        /// Log that is written ahead of the database (`WAL`).
        Wal = "WAL",
        /// Journal file that is deleted at the end of a transaction.
        Delete = "DELETE",
        /// Journal file that is truncated to length zero at the end of a transaction.
        Truncate = "TRUNCATE",
        /// Journal file whose header is overwritten at the end of a transaction.
        Persist = "PERSIST",
        /// Journal in memory: a crash may corrupt the database.
        Memory = "MEMORY",
        /// No journal, as in 2012: a crash may corrupt the database.
        Off = "OFF",
    }
}

/// Benchmark subject: a lease store with its settings and the number of operations at a time; a row
/// of the result table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BenchmarkSubject {
    /// Kind of the measured store.
    pub backend: SubjectBackend,
    /// Tables in the measured store.
    pub tables: Tables,
    /// Safety of the store's changes.
    pub mode: ChangeSafety,
    /// True if statements are prepared once; `None` where the store has no choice.
    pub is_compiled: Option<bool>,
    /// Storage engine of MySQL's table.
    pub engine: Option<String>,
    /// Journal mode of SQLite.
    pub journal: Option<SqliteJournalMode>,
    /// Greatest number of operations in flight.
    pub concurrency: u32,
    /// Number of operations that share a transaction, and with it a flush.
    pub sharing: TransactionSharing,
}

impl BenchmarkSubject {
    /// Returns the subject for `backend` as the DHCP server uses it: Kea's tables, one operation at
    /// a time.
    pub fn kea(backend: SubjectBackend, mode: ChangeSafety) -> Self {
        Self {
            backend,
            tables: Tables::Kea,
            mode,
            is_compiled: None,
            engine: None,
            journal: (backend == SubjectBackend::Sqlite).then_some(SqliteJournalMode::Wal),
            concurrency: 1,
            sharing: TransactionSharing::Adaptive,
        }
    }

    /// Returns the subject for `backend` as `dhcp-ubench` of 2012 used it.
    pub fn for_2012(backend: SubjectBackend, mode: ChangeSafety, is_compiled: bool) -> Self {
        Self {
            tables: Tables::Ubench2012,
            is_compiled: backend.speaks_sql().then_some(is_compiled),
            ..Self::kea(backend, mode)
        }
    }

    /// Returns the store's own name for the safety of this subject, such as `synchronous=FULL`.
    pub fn setting(&self) -> &'static str {
        let is_transactional = self.engine.as_deref().is_none_or(is_transactional);
        match (self.backend, self.mode) {
            (SubjectBackend::Memory, _) => "none",
            (SubjectBackend::Memfile, mode) if self.tables == Tables::Ubench2012 => match mode {
                ChangeSafety::Sync => "written and flushed",
                ChangeSafety::Async => "buffered",
                ChangeSafety::Other => "written",
            },
            (SubjectBackend::Memfile, ChangeSafety::Sync) => "always",
            (SubjectBackend::Memfile, ChangeSafety::Async) => "none",
            (SubjectBackend::Memfile, ChangeSafety::Other) => "interval 1 s",
            (SubjectBackend::Sqlite, ChangeSafety::Sync) if self.tables == Tables::Kea => {
                "log flushed"
            }
            (SubjectBackend::Sqlite, ChangeSafety::Sync) => "synchronous=FULL",
            (SubjectBackend::Sqlite, ChangeSafety::Async) => "synchronous=OFF",
            (SubjectBackend::Sqlite, ChangeSafety::Other) => "synchronous=NORMAL",
            (SubjectBackend::Mysql, _) if !is_transactional => "no transactions",
            (SubjectBackend::Mysql, ChangeSafety::Sync) => "innodb_flush_log_at_trx_commit=1",
            (SubjectBackend::Mysql, ChangeSafety::Async) => "innodb_flush_log_at_trx_commit=2",
            (SubjectBackend::Mysql, ChangeSafety::Other) => "innodb_flush_log_at_trx_commit=0",
            (SubjectBackend::Pgsql, ChangeSafety::Sync) => "synchronous_commit=on",
            (SubjectBackend::Pgsql, ChangeSafety::Async) => "synchronous_commit=off",
            (SubjectBackend::Pgsql, ChangeSafety::Other) => "unlogged tables",
        }
    }

    /// Returns the limit on operations in flight; each operation of a transaction counts as one.
    pub fn window(&self) -> u32 {
        match self.sharing {
            TransactionSharing::Adaptive => self.concurrency,
            TransactionSharing::Fixed(count) => count,
        }
    }

    /// Returns an error if the subject cannot be measured.
    ///
    /// # Errors
    ///
    /// Names the settings that exclude each other, and the reason.
    pub fn check(&self) -> ToolResult<()> {
        let refuse = |why: &str| Err(ToolError::usage(format!("{self}: {why}")));
        let is_2012 = self.tables == Tables::Ubench2012;
        if self.concurrency == 0 || self.sharing == TransactionSharing::Fixed(0) {
            return refuse("must run at least one operation at a time");
        }
        if is_2012 && self.backend == SubjectBackend::Memory {
            return refuse("dhcp-ubench of 2012 had no store in memory");
        }
        if is_2012 && self.concurrency > 1 && self.backend.is_embedded() {
            return refuse(
                "with --schema ubench-2012 this store has only one writer at a time: --concurrency \
                 must be 1",
            );
        }
        if is_2012
            && self.backend == SubjectBackend::Memfile
            && self.sharing != TransactionSharing::Adaptive
        {
            return refuse("the lease file of dhcp-ubench of 2012 has no transactions");
        }
        if !is_2012 && self.concurrency > 1 && self.sharing != TransactionSharing::Adaptive {
            return refuse(
                "transactions of a fixed size (--per-transaction) run one after the other: \
                 --concurrency must be 1",
            );
        }
        if !is_2012 && self.engine.as_deref().is_some_and(|engine| !is_innodb(engine)) {
            return refuse("Kea's tables need the engine InnoDB");
        }
        if !is_2012 && self.journal.is_some_and(|journal| journal != SqliteJournalMode::Wal) {
            return refuse("Kea's tables need the journal mode WAL");
        }
        Ok(())
    }
}

fn is_innodb(engine: &str) -> bool {
    engine.eq_ignore_ascii_case("innodb")
}

fn is_transactional(engine: &str) -> bool {
    !["myisam", "aria", "memory", "csv"].iter().any(|name| engine.eq_ignore_ascii_case(name))
}

/// Formats the subject, for example `sqlite kea sync, 64 at a time, WAL`.
impl fmt::Display for BenchmarkSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.backend.name(), self.tables.name(), self.mode.name())?;
        match self.is_compiled {
            Some(true) => f.write_str(" compiled")?,
            Some(false) => f.write_str(" plain")?,
            None => {}
        }
        if let Some(engine) = &self.engine {
            write!(f, " {engine}")?;
        }
        if let Some(journal) = self.journal {
            write!(f, " {}", journal.name())?;
        }
        write!(f, ", {} at a time", self.concurrency)?;
        match self.sharing {
            TransactionSharing::Adaptive => Ok(()),
            TransactionSharing::Fixed(count) => write!(f, ", {count} per transaction"),
        }
    }
}
