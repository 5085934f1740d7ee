//! Benchmark by the method of 2012: the tables of `dhcp-ubench`, one SQL statement for each
//! operation, on one or several connections, each of which waits for the result of its statement.

mod file;
mod mysql;
mod pgsql;
mod sqlite;
mod statement;

use std::sync::{Arc, Barrier};

use base::{ToolError, ToolResult};
use netio::Clock;

use crate::flush::{CountedStorage, StoreWriteCounters};
use crate::open::SubjectEnvironment;
use crate::subject::{BenchmarkSubject, SubjectBackend, TransactionSharing};
use crate::tally::StepRunResult;
use crate::workload::WorkloadStep;
use file::TextFile;
pub(crate) use mysql::options as mysql_options;
pub(crate) use pgsql::Pgsql;
use statement::{StatementArguments, StatementTemplate};

/// Connection to a database, or a file that needs none. Each method returns when its work is
/// complete.
pub(crate) trait StoreConnection: Send {
    /// Begins a transaction on the connection.
    fn begin(&mut self) -> ToolResult<()>;

    /// Commits the transaction of the connection.
    fn commit(&mut self) -> ToolResult<()>;

    /// Executes the operation of `step` on record `number`; returns true if it found or changed
    /// anything.
    fn operate(&mut self, step: WorkloadStep, number: u32) -> ToolResult<bool>;
}

/// Driver of a database's SQL, which [`DriverConnection`] uses.
pub(crate) trait StatementDriver: Send {
    /// Executes an SQL statement without values.
    fn run(&mut self, statement: &str) -> ToolResult<()>;

    /// Executes an SQL statement that changes rows; returns the number of rows that it affected.
    fn change(
        &mut self,
        statement: &StatementTemplate,
        arguments: StatementArguments<'_>,
    ) -> ToolResult<u64>;

    /// Executes an SQL query; returns the number of rows that it found.
    fn find(
        &mut self,
        statement: &StatementTemplate,
        arguments: StatementArguments<'_>,
    ) -> ToolResult<u64>;
}

/// Connection to a database through SQL statements.
struct DriverConnection<D> {
    driver: D,
    texts: statement::StepStatements,
}

impl<D: StatementDriver> StoreConnection for DriverConnection<D> {
    fn begin(&mut self) -> ToolResult<()> {
        self.driver.run("BEGIN")
    }

    fn commit(&mut self) -> ToolResult<()> {
        self.driver.run("COMMIT")
    }

    fn operate(&mut self, step: WorkloadStep, number: u32) -> ToolResult<bool> {
        let values = statement::values(step, number, Clock::now().wall_s());
        let prepared = self.texts.statement(step);
        let rows = if step.is_search() {
            self.driver.find(prepared, StatementArguments(&values))
        } else {
            self.driver.change(prepared, StatementArguments(&values))
        };
        Ok(rows? > 0)
    }
}

/// Store with the tables of `dhcp-ubench` of 2012: connections on which operations run in parallel.
pub(crate) struct PlainStore {
    connections: Vec<Box<dyn StoreConnection>>,
    per_transaction: u32,
    counts: Option<Arc<StoreWriteCounters>>,
}

/// Opens as many connections to the store as `subject` has operations at a time, and creates the
/// table anew.
pub(crate) fn open(
    subject: &BenchmarkSubject,
    environment: &SubjectEnvironment<'_>,
    counts: &Arc<StoreWriteCounters>,
) -> ToolResult<PlainStore> {
    let is_compiled = subject.is_compiled.unwrap_or(false);
    let connect = |is_first: bool| -> ToolResult<Box<dyn StoreConnection>> {
        let texts = statement::StepStatements::new(subject.backend, is_compiled);
        match (subject.backend, environment.server) {
            (SubjectBackend::Mysql, Some(server)) => {
                let settings = server.plain_settings(subject)?;
                let driver = mysql::MysqlDriver::connect(&settings, subject, is_first)?;
                Ok(Box::new(DriverConnection { driver, texts }))
            }
            (SubjectBackend::Pgsql, Some(server)) => {
                let settings = server.plain_settings(subject)?;
                let driver = Pgsql::connect(&settings, subject, is_first)?;
                Ok(Box::new(DriverConnection { driver, texts }))
            }
            (SubjectBackend::Sqlite, _) => {
                let driver = sqlite::SqliteDriver::open(subject, environment)?;
                Ok(Box::new(DriverConnection { driver, texts }))
            }
            _ => {
                let storage = CountedStorage::new(counts.clone(), environment.delay);
                Ok(Box::new(TextFile::create(subject.mode, environment, &storage)?))
            }
        }
    };
    let connections =
        (0..subject.concurrency).map(|at| connect(at == 0)).collect::<Result<_, _>>()?;
    let per_transaction = match subject.sharing {
        TransactionSharing::Adaptive => 1,
        TransactionSharing::Fixed(count) => count,
    };
    let counts = subject.backend.speaks_sql().then(|| counts.clone());
    Ok(PlainStore { connections, per_transaction, counts })
}

impl PlainStore {
    /// Runs the operations of `step` on the records with these numbers, which the connections share
    /// in turn.
    pub(crate) fn step(
        &mut self,
        step: WorkloadStep,
        numbers: &[u32],
        tally: &mut StepRunResult,
    ) -> ToolResult<()> {
        let per_transaction = self.per_transaction as usize;
        let threads = self.connections.len();
        let transactions = if step.is_search() {
            0
        } else {
            stripes(numbers, threads).map(|own| own.len().div_ceil(per_transaction)).sum::<usize>()
        };
        if let [connection] = &mut self.connections[..] {
            let first_ns = Clock::mono_ns();
            operate(&mut **connection, step, numbers, per_transaction, tally)?;
            tally.time_ns = Clock::mono_ns() - first_ns;
        } else {
            let keeps_marks = tally.marks.is_some();
            let start = Barrier::new(threads);
            let done: Vec<ToolResult<StepRunResult>> = std::thread::scope(|scope| {
                let workers: Vec<_> = self
                    .connections
                    .iter_mut()
                    .zip(stripes(numbers, threads))
                    .map(|(connection, own)| {
                        let start = &start;
                        scope.spawn(move || {
                            let mut tally = StepRunResult::new(keeps_marks);
                            start.wait();
                            let first_ns = Clock::mono_ns();
                            operate(&mut **connection, step, &own, per_transaction, &mut tally)?;
                            tally.time_ns = Clock::mono_ns() - first_ns;
                            Ok(tally)
                        })
                    })
                    .collect();
                let panicked = || ToolError::from_message("a thread has panicked");
                workers
                    .into_iter()
                    .map(|worker| worker.join().unwrap_or_else(|_| Err(panicked())))
                    .collect()
            });
            for own in done {
                tally.merge(&own?);
            }
        }
        if let Some(counts) = &self.counts {
            counts.note_transactions(transactions);
        }
        Ok(())
    }

    /// Closes all connections of the store.
    pub(crate) fn close(self) -> ToolResult<()> {
        drop(self.connections);
        Ok(())
    }
}

/// Returns the record numbers for each of `threads` connections, dealt in turn.
fn stripes(numbers: &[u32], threads: usize) -> impl Iterator<Item = Vec<u32>> {
    (0..threads).map(move |thread| numbers.iter().skip(thread).step_by(threads).copied().collect())
}

fn operate(
    connection: &mut dyn StoreConnection,
    step: WorkloadStep,
    numbers: &[u32],
    per_transaction: usize,
    tally: &mut StepRunResult,
) -> ToolResult<()> {
    if per_transaction == 1 || step.is_search() {
        let mut begin_ns = Clock::mono_ns();
        for &number in numbers {
            tally.record_result(connection.operate(step, number)?);
            let end_ns = Clock::mono_ns();
            tally.latency_ns.record(end_ns - begin_ns);
            begin_ns = end_ns;
        }
        return Ok(());
    }
    let mut begins_ns = Vec::with_capacity(per_transaction);
    for chunk in numbers.chunks(per_transaction) {
        begins_ns.clear();
        connection.begin()?;
        for &number in chunk {
            begins_ns.push(Clock::mono_ns());
            tally.record_result(connection.operate(step, number)?);
        }
        connection.commit()?;
        let end_ns = Clock::mono_ns();
        begins_ns.iter().for_each(|begin_ns| tally.latency_ns.record(end_ns - begin_ns));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Connection that records its calls.
    #[derive(Default)]
    struct Script(Vec<String>);

    impl StoreConnection for Script {
        fn begin(&mut self) -> ToolResult<()> {
            self.0.push("begin".to_owned());
            Ok(())
        }

        fn commit(&mut self) -> ToolResult<()> {
            self.0.push("commit".to_owned());
            Ok(())
        }

        fn operate(&mut self, step: WorkloadStep, number: u32) -> ToolResult<bool> {
            self.0.push(format!("{} {number}", step.name()));
            Ok(number != 2)
        }
    }

    #[test]
    fn a_transaction_holds_as_many_operations_as_asked_for() {
        let mut script = Script::default();
        let mut tally = StepRunResult::new(true);
        operate(&mut script, WorkloadStep::Update, &[3, 1, 2], 2, &mut tally).unwrap();
        let expected = ["begin", "update 3", "update 1", "commit", "begin", "update 2", "commit"];
        assert_eq!(script.0, expected);
        assert_eq!((tally.misses, tally.latency_ns.count()), (1, 3));
        assert_eq!(tally.marks, Some(vec![true, true, false]));
    }

    #[test]
    fn searches_need_no_transaction() {
        let mut script = Script::default();
        operate(&mut script, WorkloadStep::Search, &[7, 8], 2, &mut StepRunResult::new(false))
            .unwrap();
        assert_eq!(script.0, ["search 7", "search 8"]);
    }

    #[test]
    fn connections_take_turns() {
        let own: Vec<Vec<u32>> = stripes(&[5, 6, 7, 8, 9], 2).collect();
        assert_eq!(own, [vec![5, 7, 9], vec![6, 8]]);
    }
}
