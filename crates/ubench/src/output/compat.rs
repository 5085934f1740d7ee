//! Output of the benchmark program `dhcp-ubench` of 2012, letter for letter, with its misleading
//! averages of whole microseconds.

use base::general;

use crate::result::SubjectResult;
use crate::subject::{ChangeSafety, SubjectBackend};
use crate::workload::WorkloadStep;

/// Arguments of the command line, which `dhcp-ubench` of 2012 printed.
#[derive(Clone, Copy, Debug)]
pub struct Parameters<'p> {
    /// Number of iterations, from the flag `-n`.
    pub iterations: u32,
    /// Safety mode, from the flag `-s`.
    pub mode: ChangeSafety,
    /// True for verbose output, from the flag `-v`.
    pub is_verbose: bool,
    /// True for compiled statements, from the flag `-c`.
    pub is_compiled: bool,
    /// Name of the database or file, from the flag `-f`.
    pub name: &'p str,
    /// Host of the database server, from the flag `-m`.
    pub host: &'p str,
    /// User of the database server, from the flag `-u`.
    pub user: &'p str,
    /// Password of the database server, from the flag `-p`; `dhcp-ubench` of 2012 printed it in
    /// clear, Godwit prints asterisks instead.
    pub password: &'p str,
}

/// Returns the lines that `dhcp-ubench` of 2012 printed before the measurement.
pub fn head(backend: SubjectBackend, parameters: &Parameters<'_>) -> String {
    let choose = |is_so: bool, yes: &'static str, no: &'static str| if is_so { yes } else { no };
    let lines = [
        ("Number of iterations", parameters.iterations.to_string()),
        ("Sync/async", choose(parameters.mode == ChangeSafety::Sync, "sync", "async").to_owned()),
        ("Verbose", choose(parameters.is_verbose, "verbose", "quiet").to_owned()),
        ("Compiled statements", choose(parameters.is_compiled, "yes", "no").to_owned()),
        ("Database name", parameters.name.to_owned()),
        ("MySQL hostname", parameters.host.to_owned()),
        ("MySQL username", parameters.user.to_owned()),
        ("MySQL password", "*".repeat(parameters.password.len())),
    ];
    let mut out = "Starting test. Parameters:\n".to_owned();
    for (name, value) in lines {
        out.push_str(&format!("{name:<20} : {value}\n"));
    }
    out.push('\n');
    if backend == SubjectBackend::Mysql {
        out.push_str("MySQL library init successful.\nMySQL connection established.\n");
    }
    out
}

/// Returns the name of the database or file that `dhcp-ubench` of 2012 used by default.
pub const fn default_name(backend: SubjectBackend) -> &'static str {
    match backend {
        SubjectBackend::Sqlite => "sqlite.db",
        SubjectBackend::Memfile => "dhcpd.leases",
        _ => "kea",
    }
}

/// Returns the text that `dhcp-ubench` of 2012 printed before the marks of a step; `None` for steps
/// that did not exist in 2012.
const fn label(step: WorkloadStep) -> Option<&'static str> {
    match step {
        WorkloadStep::Create => Some("CREATE:   "),
        WorkloadStep::Search => Some("RETRIEVE: "),
        WorkloadStep::Update => Some("UPDATE:   "),
        WorkloadStep::Delete => Some("DELETE:   "),
        WorkloadStep::SearchHardware | WorkloadStep::SearchClientId => None,
    }
}

/// Returns the progress line of one step, with a mark for every operation if `is_verbose`.
pub fn progress(
    step: WorkloadStep,
    hits: &[bool],
    backend: SubjectBackend,
    is_compiled: bool,
    is_verbose: bool,
) -> String {
    let Some(label) = label(step) else { return String::new() };
    let miss = if backend == SubjectBackend::Mysql && !is_compiled { 'x' } else { 'X' };
    let mut line = label.to_owned();
    if is_verbose {
        // The program of 2012 checked the result of searches only.
        line.extend(hits.iter().map(
            |&is_hit| {
                if is_hit || !step.is_search() { '.' } else { miss }
            },
        ));
    }
    line.push('\n');
    line
}

/// Returns the last four lines that `dhcp-ubench` of 2012 printed, for the first run of `row`.
pub fn summary(row: &SubjectResult) -> String {
    let mut out = String::new();
    for (step, word) in WorkloadStep::FOUR.into_iter().zip(["Create", "Search", "Update", "Delete"])
    {
        let Some(result) = row.step(step) else { continue };
        let time_us = (result.seconds.first().copied().unwrap_or(0.0) * 1e6).round() as u64;
        out.push_str(&line(word, result.operations, time_us));
    }
    out
}

/// Returns one line of the summary: whole microseconds per operation, and the rate computed from
/// these.
fn line(word: &str, count: u64, time_us: u64) -> String {
    let each_us = time_us / count.max(1);
    let per_s = 1_000_000.0 / each_us as f64;
    format!(
        "{word} leases4 repeated {count} times took {} s, {} us, 1 operation took {}us \
         (or {} oper/sec)\n",
        time_us / 1_000_000,
        time_us % 1_000_000,
        general(each_us as f64),
        general(per_s),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{OperationLatency, StepResult, StoreWriteCounts};
    use crate::subject::BenchmarkSubject;

    #[test]
    fn the_head_is_that_of_2012() {
        let parameters = Parameters {
            iterations: 100,
            mode: ChangeSafety::Sync,
            is_verbose: true,
            is_compiled: false,
            name: "kea",
            host: "localhost",
            user: "root",
            password: "secret",
        };
        assert_eq!(
            head(SubjectBackend::Mysql, &parameters),
            "Starting test. Parameters:\n\
             Number of iterations : 100\n\
             Sync/async           : sync\n\
             Verbose              : verbose\n\
             Compiled statements  : no\n\
             Database name        : kea\n\
             MySQL hostname       : localhost\n\
             MySQL username       : root\n\
             MySQL password       : ******\n\
             \n\
             MySQL library init successful.\n\
             MySQL connection established.\n"
        );
        let parameters = Parameters {
            mode: ChangeSafety::Async,
            is_verbose: false,
            is_compiled: true,
            ..parameters
        };
        let quiet = head(SubjectBackend::Memfile, &parameters);
        assert!(quiet.contains("Sync/async           : async\nVerbose              : quiet\n"));
        assert!(quiet.ends_with(
            "Compiled statements  : yes\nDatabase name        : kea\n\
             MySQL hostname       : localhost\nMySQL username       : root\n\
             MySQL password       : ******\n\n"
        ));
    }

    #[test]
    fn a_mark_stands_for_each_operation() {
        let hits = [true, false, true];
        let line = |step, backend, is_compiled, is_verbose| {
            progress(step, &hits, backend, is_compiled, is_verbose)
        };
        assert_eq!(
            line(WorkloadStep::Create, SubjectBackend::Sqlite, true, true),
            "CREATE:   ...\n"
        );
        assert_eq!(
            line(WorkloadStep::Search, SubjectBackend::Sqlite, false, true),
            "RETRIEVE: .X.\n"
        );
        assert_eq!(
            line(WorkloadStep::Search, SubjectBackend::Mysql, false, true),
            "RETRIEVE: .x.\n"
        );
        assert_eq!(
            line(WorkloadStep::Search, SubjectBackend::Mysql, true, true),
            "RETRIEVE: .X.\n"
        );
        assert_eq!(
            line(WorkloadStep::Update, SubjectBackend::Mysql, true, true),
            "UPDATE:   ...\n"
        );
        assert_eq!(
            line(WorkloadStep::Delete, SubjectBackend::Memfile, true, false),
            "DELETE:   \n"
        );
        assert_eq!(line(WorkloadStep::SearchHardware, SubjectBackend::Mysql, true, true), "");
    }

    #[test]
    fn the_last_lines_are_those_of_2012() {
        let times = [31.603978, 0.000817, 27.964191, 0.999999];
        let steps = WorkloadStep::FOUR.into_iter().zip(times).map(|(step, time)| {
            StepResult::new(step, 1000, 0, vec![time], OperationLatency::default())
        });
        let row = SubjectResult {
            subject: BenchmarkSubject::for_2012(SubjectBackend::Mysql, ChangeSafety::Sync, false),
            setting: String::new(),
            records: 1000,
            steps: steps.collect(),
            operations_per_s: 0.0,
            mean_of_rates: 0.0,
            flush: None,
            counts: StoreWriteCounts::default(),
        };
        assert_eq!(
            summary(&row),
            "Create leases4 repeated 1000 times took 31 s, 603978 us, 1 operation took 31603us \
             (or 31.6426 oper/sec)\n\
             Search leases4 repeated 1000 times took 0 s, 817 us, 1 operation took 0us \
             (or inf oper/sec)\n\
             Update leases4 repeated 1000 times took 27 s, 964191 us, 1 operation took 27964us \
             (or 35.7603 oper/sec)\n\
             Delete leases4 repeated 1000 times took 0 s, 999999 us, 1 operation took 999us \
             (or 1001 oper/sec)\n"
        );
    }

    #[test]
    fn numbers_have_six_digits() {
        for (value, expected) in [
            (0.0, "0"),
            (f64::INFINITY, "inf"),
            (1.0, "1"),
            (31.642_565, "31.6426"),
            (333_333.333, "333333"),
            (1e6, "1e+06"),
            (1_234_567.0, "1.23457e+06"),
            (0.5, "0.5"),
            (0.000_012_5, "1.25e-05"),
        ] {
            assert_eq!(general(value), expected, "{value}");
        }
    }
}
