//! Table of every run of the servers for the terminal: the values, the dropped ones, the void ones.

use std::fmt::Write as _;

use measure::summary::{RunFigure, RunState, RunSummary};

use crate::columns;
use crate::number_text::grouped;

/// Number of columns for a server's name in the table of runs.
const NAME: usize = 14;
/// Number of the runs' values on a line.
const PER_LINE: usize = 5;

/// Formats the runs of every server with their states; nothing when the plan has no runs.
pub(super) fn lines(summary: &RunSummary) -> String {
    let planned = summary.plan.runs.count;
    if planned == 0 {
        return String::new();
    }
    let limit = summary.limit.iter().map(|limit| ("limit", &limit.runs, limit.mean));
    let servers = summary.results.iter().map(|r| (r.server.as_str(), &r.runs, r.mean));
    let mut text = format!(
        "EVERY RUN, {}/s: {} of {planned} done; (dropped before the mean)\n",
        summary.plan.protocol.result_noun(),
        summary.runs_done
    );
    for (name, runs, mean) in servers.chain(limit) {
        let values: Vec<String> = runs.iter().map(value).collect();
        for (index, line) in values.chunks(PER_LINE).enumerate() {
            let name = if index == 0 { name } else { "" };
            let cells: String = line.iter().map(|value| format!(" {value:>12}")).collect();
            let _ = writeln!(text, "{}", columns::row(name, NAME, &cells));
        }
        if let Some(mean) = mean {
            let what = if mean.has_interval() { "mean" } else { "lower median" };
            let (averaged_count, figure) = (mean.averaged_count(), grouped(mean.mean));
            let _ = writeln!(text, "{:<NAME$} {what} of {averaged_count}: {figure}", "");
        }
    }
    text + "\n"
}

fn value(run: &RunFigure) -> String {
    match (run.counts_as, run.dropped, run.state) {
        (None, _, _) => "void".to_owned(),
        (Some(rate), Some(_), _) => format!("({})", grouped(rate)),
        (Some(rate), None, RunState::AtLeast) => format!("≥ {}", grouped(rate)),
        (Some(rate), None, _) => grouped(rate),
    }
}

#[cfg(test)]
mod tests {
    use measure::statistics::MeanInterval;
    use measure::summary::{DroppedAs, ServerResult};

    use super::*;

    #[test]
    fn every_run_is_shown_with_what_became_of_it() {
        let run = |number, counts_as, dropped, state| RunFigure {
            run: number,
            counts_as,
            dropped,
            state,
            ..RunFigure::default()
        };
        let mut summary = RunSummary { runs_done: 5, ..RunSummary::default() };
        summary.plan.runs.count = 9;
        assert!(lines(&RunSummary::default()).is_empty());
        summary.results.push(ServerResult {
            server: "kea".to_owned(),
            runs: vec![
                run(0, Some(9_000.0), None, RunState::Confirmed),
                run(1, Some(0.0), Some(DroppedAs::Worst), RunState::Failed),
                run(2, None, None, RunState::Void),
                run(3, Some(8_000.0), None, RunState::AtLeast),
                run(4, Some(9_900.0), Some(DroppedAs::Best), RunState::Confirmed),
            ],
            mean: Some(MeanInterval {
                mean: 8_500.0,
                values: 4,
                dropped: 1,
                freedom: 1,
                ..Default::default()
            }),
            ..ServerResult::default()
        });
        assert_eq!(
            lines(&summary),
            "EVERY RUN, leases/s: 5 of 9 done; (dropped before the mean)\n\
             kea                   9,000          (0)         void      ≥ 8,000      (9,900)\n\
             \u{20}              mean of 2: 8,500\n\n"
        );
        if let Some(mean) = &mut summary.results[0].mean {
            (mean.values, mean.dropped, mean.freedom) = (2, 0, 0);
        }
        assert!(lines(&summary).contains("lower median of 2: 8,500"), "no mean that flatters");
    }
}
