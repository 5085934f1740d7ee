//! What can be measured: which store, with which tables, how safe, how many operations at a time.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::UbenchError;

/// Where leases are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// In memory only.
    Memory,
    /// Kea's lease file; with [`Tables::Ubench2012`] the text file of the program of 2012.
    Memfile,
    /// A file of SQLite's.
    Sqlite,
    /// MariaDB or MySQL.
    Mysql,
    /// PostgreSQL.
    Pgsql,
}

impl Backend {
    /// All, those that need no server first.
    pub const ALL: [Self; 5] =
        [Self::Memory, Self::Memfile, Self::Sqlite, Self::Mysql, Self::Pgsql];

    /// As it is called on the command line and in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Memfile => "memfile",
            Self::Sqlite => "sqlite",
            Self::Mysql => "mysql",
            Self::Pgsql => "pgsql",
        }
    }

    /// Whether it runs in this process.
    #[must_use]
    pub const fn is_embedded(self) -> bool {
        matches!(self, Self::Memory | Self::Memfile | Self::Sqlite)
    }

    /// Whether it is asked in SQL.
    #[must_use]
    pub const fn speaks_sql(self) -> bool {
        matches!(self, Self::Sqlite | Self::Mysql | Self::Pgsql)
    }
}

/// Which tables, and with them which path leases take to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Tables {
    /// Kea's, through what the DHCP server uses: the lease table in memory, and behind it the
    /// thread that writes what all have in common at once.
    #[serde(rename = "kea")]
    Kea,
    /// Those of the program of 2012, with one statement per operation.
    #[serde(rename = "ubench-2012")]
    Ubench2012,
}

impl Tables {
    /// As it is called on the command line and in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kea => "kea",
            Self::Ubench2012 => "ubench-2012",
        }
    }
}

/// How safe a change is when it counts as done. What that means is each store's own:
/// [`Subject::setting`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// It survives a power cut.
    Sync,
    /// It does not; what servers are usually run with.
    Async,
    /// A third setting that the store has.
    Other,
}

impl Mode {
    /// As it is called in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Async => "async",
            Self::Other => "other",
        }
    }
}

/// How many operations share a transaction and with it a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sharing {
    /// Whatever is waiting when the writer is free: group commit. Where the tables are those of
    /// 2012, every operation on its own, and what a database's server makes of that.
    Adaptive,
    /// This many, then all of them are waited for.
    Fixed(u32),
}

impl fmt::Display for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Adaptive => f.write_str("adaptive"),
            Self::Fixed(count) => write!(f, "{count}"),
        }
    }
}

/// How SQLite keeps the way back from a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Journal {
    /// A log that is written ahead.
    Wal,
    /// A file that is deleted.
    Delete,
    /// A file that is cut to nothing.
    Truncate,
    /// A file whose head is overwritten.
    Persist,
    /// In memory: a crash may spoil the database.
    Memory,
    /// None, as in 2012: a crash may spoil the database.
    Off,
}

impl Journal {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Wal, Self::Delete, Self::Truncate, Self::Persist, Self::Memory, Self::Off];

    /// As SQLite calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wal => "WAL",
            Self::Delete => "DELETE",
            Self::Truncate => "TRUNCATE",
            Self::Persist => "PERSIST",
            Self::Memory => "MEMORY",
            Self::Off => "OFF",
        }
    }
}

/// One row of a result: a store as it is set up, and how it is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// Where.
    pub backend: Backend,
    /// Which tables.
    pub tables: Tables,
    /// How safe.
    pub mode: Mode,
    /// Statements are prepared once; `None` where that is not a choice.
    pub is_compiled: Option<bool>,
    /// MySQL's storage engine.
    pub engine: Option<String>,
    /// SQLite's journal.
    pub journal: Option<Journal>,
    /// Operations in flight at most.
    pub concurrency: u32,
    /// What shares a transaction.
    pub sharing: Sharing,
}

impl Subject {
    /// `backend` as the server uses it: Kea's tables, one operation at a time.
    #[must_use]
    pub fn kea(backend: Backend, mode: Mode) -> Self {
        Self {
            backend,
            tables: Tables::Kea,
            mode,
            is_compiled: None,
            engine: None,
            journal: (backend == Backend::Sqlite).then_some(Journal::Wal),
            concurrency: 1,
            sharing: Sharing::Adaptive,
        }
    }

    /// `backend` as the program of 2012 used it.
    #[must_use]
    pub fn of_2012(backend: Backend, mode: Mode, is_compiled: bool) -> Self {
        Self {
            tables: Tables::Ubench2012,
            is_compiled: backend.speaks_sql().then_some(is_compiled),
            ..Self::kea(backend, mode)
        }
    }

    /// What the store calls the safety of this subject.
    #[must_use]
    pub fn setting(&self) -> &'static str {
        let is_transactional = self.engine.as_deref().is_none_or(is_transactional);
        match (self.backend, self.mode) {
            (Backend::Memory, _) => "none",
            (Backend::Memfile, mode) if self.tables == Tables::Ubench2012 => match mode {
                Mode::Sync => "written and flushed",
                Mode::Async => "buffered",
                Mode::Other => "written",
            },
            (Backend::Memfile, Mode::Sync) => "always",
            (Backend::Memfile, Mode::Async) => "none",
            (Backend::Memfile, Mode::Other) => "interval 1 s",
            (Backend::Sqlite, Mode::Sync) if self.tables == Tables::Kea => "log flushed",
            (Backend::Sqlite, Mode::Sync) => "synchronous=FULL",
            (Backend::Sqlite, Mode::Async) => "synchronous=OFF",
            (Backend::Sqlite, Mode::Other) => "synchronous=NORMAL",
            (Backend::Mysql, _) if !is_transactional => "no transactions",
            (Backend::Mysql, Mode::Sync) => "innodb_flush_log_at_trx_commit=1",
            (Backend::Mysql, Mode::Async) => "innodb_flush_log_at_trx_commit=2",
            (Backend::Mysql, Mode::Other) => "innodb_flush_log_at_trx_commit=0",
            (Backend::Pgsql, Mode::Sync) => "synchronous_commit=on",
            (Backend::Pgsql, Mode::Async) => "synchronous_commit=off",
            (Backend::Pgsql, Mode::Other) => "unlogged tables",
        }
    }

    /// Operations in flight at most, those of one transaction included.
    #[must_use]
    pub fn window(&self) -> u32 {
        match self.sharing {
            Sharing::Adaptive => self.concurrency,
            Sharing::Fixed(count) => count,
        }
    }

    /// Refuses what cannot be measured.
    ///
    /// # Errors
    ///
    /// What does not go together, and why.
    pub fn check(&self) -> Result<(), UbenchError> {
        let refuse = |why: &str| Err(UbenchError::usage(format!("{self}: {why}")));
        let is_2012 = self.tables == Tables::Ubench2012;
        if self.concurrency == 0 || self.sharing == Sharing::Fixed(0) {
            return refuse("at least one operation at a time");
        }
        if is_2012 && self.backend == Backend::Memory {
            return refuse("the program of 2012 had no store in memory");
        }
        if is_2012 && self.concurrency > 1 && self.backend.is_embedded() {
            return refuse("one writer at a time is all that this store has without rounds");
        }
        if is_2012 && self.backend == Backend::Memfile && self.sharing != Sharing::Adaptive {
            return refuse("the file of 2012 knows no transactions");
        }
        if !is_2012 && self.concurrency > 1 && self.sharing != Sharing::Adaptive {
            return refuse("transactions of a fixed size are done one after the other");
        }
        if !is_2012 && self.engine.as_deref().is_some_and(|engine| !is_innodb(engine)) {
            return refuse("Kea's tables are InnoDB's");
        }
        if !is_2012 && self.journal.is_some_and(|journal| journal != Journal::Wal) {
            return refuse("Kea's tables are kept with the journal WAL");
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

/// `sqlite kea sync, 64 at a time, WAL`.
impl fmt::Display for Subject {
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
            Sharing::Adaptive => Ok(()),
            Sharing::Fixed(count) => write!(f, ", {count} per transaction"),
        }
    }
}
