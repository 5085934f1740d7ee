//! Figures of 2012 for comparison: tables 3.1 to 3.6 of the document that the project began with,
//! measured with `dhcp-ubench` on an Intel i7-2600K with a disk of 7,200 turns a minute, ext4,
//! MySQL 5.5.24 and SQLite 3.7.9.
//!
//! The module has the times that the tables were made from: one run of the plain statements, three
//! of the compiled ones. Tables 3.1, 3.2, 3.4 and 3.5 are times; 3.3 and 3.6 are rates, each the
//! operations divided by the mean time. The average that those print, the mean of four rates,
//! misleads.

use crate::subject::{ChangeSafety, SubjectBackend};
use crate::workload::WorkloadStep;
use ChangeSafety::{Async, Sync};
use SubjectBackend::{Memfile, Mysql, Sqlite};

/// Table of 2012 with times, or with rates from two tables of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoricalTable {
    /// Number of the table in the document of 2012, such as `3.1`.
    pub number: &'static str,
    /// True if the table's statements were prepared, and the program was compiled with more
    /// optimization.
    pub is_compiled: bool,
    /// Safety modes in the table: one for times, two for rates.
    pub modes: &'static [ChangeSafety],
    /// True if the table has rates instead of times.
    pub has_rates: bool,
}

/// Tables 3.1 to 3.6 of the document of 2012.
pub const TABLES: [HistoricalTable; 6] = [
    HistoricalTable { number: "3.1", is_compiled: false, modes: &[Sync], has_rates: false },
    HistoricalTable { number: "3.2", is_compiled: false, modes: &[Async], has_rates: false },
    HistoricalTable { number: "3.3", is_compiled: false, modes: &[Async, Sync], has_rates: true },
    HistoricalTable { number: "3.4", is_compiled: true, modes: &[Sync], has_rates: false },
    HistoricalTable { number: "3.5", is_compiled: true, modes: &[Async], has_rates: false },
    HistoricalTable { number: "3.6", is_compiled: true, modes: &[Async, Sync], has_rates: true },
];

/// Stores in the tables of 2012, in their order.
pub const BACKENDS: [SubjectBackend; 3] = [Mysql, Sqlite, Memfile];

/// Times in seconds of the four steps ([`WorkloadStep::FOUR`]) of one run in 2012.
type Times = [f64; 4];

/// Times of every run in 2012: true for compiled statements, safety mode, store, times.
// tidy: table
const MEASURED: [(bool, ChangeSafety, SubjectBackend, Times); 24] = [
    (false, Sync, Mysql, [31.603978, 0.116612, 27.964191, 27.695209]),
    (false, Sync, Sqlite, [61.421356, 0.033283, 59.476638, 56.034150]),
    (false, Sync, Memfile, [38.223757, 0.000817, 38.041153, 38.017293]),
    (false, Async, Mysql, [10.584842, 10.386402, 10.062384, 8.890197]),
    (false, Async, Sqlite, [3.710356, 3.159129, 2.865354, 2.439406]),
    (false, Async, Memfile, [1.299642, 0.039330, 1.307112, 1.277641]),
    (true, Sync, Mysql, [28.121886, 0.105684, 28.414297, 27.845543]),
    (true, Sync, Mysql, [27.670327, 0.105250, 28.251668, 27.267719]),
    (true, Sync, Mysql, [27.868994, 0.106154, 28.002851, 27.975432]),
    (true, Sync, Sqlite, [60.829592, 0.014918, 59.721523, 61.937139]),
    (true, Sync, Sqlite, [61.286826, 0.016372, 59.504412, 61.636725]),
    (true, Sync, Sqlite, [61.779871, 0.013462, 59.718841, 59.719599]),
    (true, Sync, Memfile, [39.645864, 0.000290, 39.524828, 39.896481]),
    (true, Sync, Memfile, [39.757802, 0.000288, 39.595929, 39.018535]),
    (true, Sync, Memfile, [39.289357, 0.000289, 39.507831, 39.062093]),
    (true, Async, Mysql, [8.294678, 9.699649, 7.854698, 8.228414]),
    (true, Async, Mysql, [8.425076, 8.904889, 7.616868, 8.237162]),
    (true, Async, Mysql, [8.801654, 10.489633, 7.883187, 8.513115]),
    (true, Async, Sqlite, [1.638611, 0.968719, 1.506497, 1.493806]),
    (true, Async, Sqlite, [1.545783, 0.941179, 1.531162, 1.524418]),
    (true, Async, Sqlite, [1.502674, 0.936637, 1.502601, 1.488552]),
    (true, Async, Memfile, [1.299674, 0.037683, 1.302730, 1.262430]),
    (true, Async, Memfile, [1.297894, 0.036990, 1.305508, 1.263737]),
    (true, Async, Memfile, [1.307047, 0.039135, 1.311153, 1.262247]),
];

/// Returns the number of operations of every step in 2012 in the safety mode `mode`.
pub const fn operations(mode: ChangeSafety) -> u32 {
    if matches!(mode, Sync) { 1_000 } else { 100_000 }
}

/// Returns the mean time of a step in 2012, in seconds; `None` for steps and stores that were not
/// measured.
pub fn seconds(
    is_compiled: bool,
    mode: ChangeSafety,
    backend: SubjectBackend,
    step: WorkloadStep,
) -> Option<f64> {
    let at = WorkloadStep::FOUR.iter().position(|&of| of == step)?;
    let of_run = |&(compiled, in_mode, of, times): &(_, _, _, Times)| {
        ((compiled, in_mode, of) == (is_compiled, mode, backend)).then_some(times[at])
    };
    let times: Vec<f64> = MEASURED.iter().filter_map(of_run).collect();
    (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
}

/// Returns the rate of a step in 2012, in operations per second.
pub fn per_s(
    is_compiled: bool,
    mode: ChangeSafety,
    backend: SubjectBackend,
    step: WorkloadStep,
) -> Option<f64> {
    seconds(is_compiled, mode, backend, step).map(|time| f64::from(operations(mode)) / time)
}

/// Returns the operations of all steps in 2012 divided by their time, per second.
pub fn honest_average(
    is_compiled: bool,
    mode: ChangeSafety,
    backend: SubjectBackend,
) -> Option<f64> {
    let times: Option<Vec<f64>> = WorkloadStep::FOUR
        .into_iter()
        .map(|step| seconds(is_compiled, mode, backend, step))
        .collect();
    times.map(|times| 4.0 * f64::from(operations(mode)) / times.iter().sum::<f64>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the average that the document of 2012 prints: the mean of the times, or of the
    /// rates.
    fn printed_average(
        table: &HistoricalTable,
        mode: ChangeSafety,
        backend: SubjectBackend,
    ) -> Option<f64> {
        let of = |step| {
            if table.has_rates {
                per_s(table.is_compiled, mode, backend, step)
            } else {
                seconds(table.is_compiled, mode, backend, step)
            }
        };
        let values: Option<Vec<f64>> = WorkloadStep::FOUR.into_iter().map(of).collect();
        values.map(|values| values.iter().sum::<f64>() / 4.0)
    }

    /// Values as printed in the document: times to a millisecond, rates to a hundredth.
    // tidy: table
    const PRINTED: &str = "\
3.1,sync,mysql,31.604,0.117,27.964,27.695,21.845
3.1,sync,sqlite,61.421,0.033,59.477,56.034,44.241
3.1,sync,memfile,38.224,0.001,38.041,38.017,28.571
3.2,async,mysql,10.585,10.386,10.062,8.890,9.981
3.2,async,sqlite,3.710,3.159,2.865,2.439,3.044
3.2,async,memfile,1.300,0.039,1.307,1.278,0.981
3.4,sync,mysql,27.887,0.106,28.223,27.696,20.978
3.4,sync,sqlite,61.299,0.015,59.648,61.098,45.626
3.4,sync,memfile,39.564,0.001,39.543,39.326,29.608
3.5,async,mysql,8.507,9.698,7.785,8.326,8.579
3.5,async,sqlite,1.562,0.949,1.513,1.502,1.382
3.5,async,memfile,1.302,0.038,1.306,1.263,0.977
3.3,async,mysql,9447.47,9627.97,9938.00,11248.34,10065.45
3.3,async,sqlite,26951.59,31654.29,34899.70,40993.59,33624.79
3.3,async,memfile,76944.27,2542588.35,76504.54,78269.25,693576.60
3.3,sync,mysql,31.64,8575.45,35.76,36.11,2169.74
3.3,sync,sqlite,16.28,30045.37,16.81,17.85,7524.08
3.3,sync,memfile,26.16,1223990.21,26.29,26.30,306017.24
3.6,async,mysql,11754.84,10311.34,12845.35,12010.24,11730.44
3.6,async,sqlite,64005.90,105391.29,66075.51,66566.43,75509.78
3.6,async,memfile,76832.16,2636018.56,76542.50,79188.81,717145.51
3.6,sync,mysql,35.86,9461.10,35.43,36.11,2392.12
3.6,sync,sqlite,16.31,67036.11,16.76,16.37,16771.39
3.6,sync,memfile,25.28,3460207.61,25.29,25.43,865070.90";

    #[test]
    fn the_tables_are_those_that_were_printed() {
        let mut count = 0;
        for line in PRINTED.lines() {
            let values: Vec<&str> = line.split(',').collect();
            let table = TABLES.iter().find(|table| table.number == values[0]).unwrap();
            let mode = if values[1] == "sync" { Sync } else { Async };
            let backend = BACKENDS.into_iter().find(|backend| backend.name() == values[2]).unwrap();
            assert!(table.modes.contains(&mode), "{line}");
            // The document rounded up the seconds of a search that took less than a millisecond.
            let digits = if table.has_rates { 2 } else { 3 };
            for (at, step) in WorkloadStep::FOUR.into_iter().enumerate() {
                let value = if table.has_rates {
                    per_s(table.is_compiled, mode, backend, step).unwrap()
                } else {
                    seconds(table.is_compiled, mode, backend, step).unwrap()
                };
                let is_rounded_up = values[3 + at] == "0.001" && value < 0.001;
                assert!(
                    is_rounded_up || format!("{value:.digits$}") == values[3 + at],
                    "{line}: {} is {value}",
                    step.name()
                );
                count += 1;
            }
            let average = format!("{:.digits$}", printed_average(table, mode, backend).unwrap());
            // One average of the document is not the mean of its line.
            let is_misprint = values[7] == "45.626" && average == "45.515";
            assert!(is_misprint || average == values[7], "{line}: {average}");
        }
        assert_eq!(count, 24 * 4);
    }

    #[test]
    fn honest_averages_are_total_operations_over_total_time() {
        for (mode, backend, expected) in [
            (Sync, Mysql, "45.8"),
            (Sync, Sqlite, "22.6"),
            (Sync, Memfile, "35.0"),
            (Async, Mysql, "10019.1"),
            (Async, Sqlite, "32856.2"),
            (Async, Memfile, "101943.9"),
        ] {
            let average = honest_average(false, mode, backend).unwrap();
            let digits = expected.split('.').next_back().unwrap().len();
            assert_eq!(format!("{average:.digits$}"), expected, "{mode:?} {backend:?}");
        }
    }
}
