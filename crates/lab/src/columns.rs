//! Formatting of tables and sentences for a terminal of 80 columns.

/// Number of columns of a terminal.
pub(crate) const WIDTH: usize = 80;

/// Formats a row of a table: the name in a column of `width`, then the other cells. A name that is
/// longer has a line of its own, so that the cells stay in their columns.
pub(crate) fn row(name: &str, width: usize, cells: &str) -> String {
    if cells.trim().is_empty() {
        return name.to_owned();
    }
    if name.chars().count() <= width {
        format!("{name:<width$}{cells}").trim_end().to_owned()
    } else {
        format!("{name}\n{:<width$}{cells}", "").trim_end().to_owned()
    }
}

/// Breaks the words of `text` into lines of at most `width` columns.
pub(crate) fn lines(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is one from the beginning");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines
}

/// Breaks the words of `text` into as many lines as they need, the first one after `first`, the
/// others indented by its width.
pub(crate) fn wrapped(first: &str, text: &str) -> String {
    let indent = first.chars().count();
    let lines = lines(text, WIDTH.saturating_sub(indent).max(1));
    format!("{first}{}", lines.join(&format!("\n{:indent$}", "")))
}

#[cfg(test)]
mod tests {
    use measure::compare::compare;
    use measure::plan::Headline;
    use measure::record::{FlushCost, LatencySummary};
    use measure::statistics::RatioInterval;
    use measure::stored::{StoredFigure, StoredRun, StoredRuns, Trend};
    use measure::suite::{RowResult, SuiteSummary, TargetVerdict};
    use measure::summary::{
        LatencyAt, LimitResult, Ratio, RestartResult, RoundResult, RunSummary, SUMMARY_SCHEMA,
        ServerResult,
    };

    use super::*;

    #[test]
    fn cells_stay_in_their_columns() {
        assert_eq!(row("kea", 6, "  12   3"), "kea     12   3");
        assert_eq!(row("godwit-none", 6, "  12   3"), "godwit-none\n        12   3");
        assert_eq!(row("godwit-none", 6, "   "), "godwit-none");
    }

    #[test]
    fn sentences_go_on_below_their_beginning() {
        let text = "word ".repeat(40);
        let wrapped = wrapped("note: ", &text);
        let lines: Vec<&str> = wrapped.lines().collect();
        assert_eq!(lines.len(), 3, "{wrapped}");
        assert!(lines.iter().all(|line| line.len() <= WIDTH), "{wrapped}");
        assert!(lines[1].starts_with("      word"), "{wrapped}");
        assert!(self::wrapped("", &"x".repeat(99)).len() == 99, "a long word stays whole");
    }

    /// Server name as long as plans make them.
    const LONG: &str = "godwit-reservations-early-global-interval";

    /// Makes a run whose names and figures are as long as possible.
    fn summary(server: &str, is_second: bool) -> RunSummary {
        let latency = LatencySummary {
            count: 900_000,
            p50_us: Some(1_234_567.0),
            p99_us: Some(2_345_678.0),
            p999_us: Some(3_456_789.0),
            ..LatencySummary::default()
        };
        let at = Some(LatencyAt { offered_per_s: 1_234_567.0, latency, loss: 0.123 });
        let result = |server: &str| ServerResult {
            server: server.to_owned(),
            variant: "durability interval".to_owned(),
            leases_per_s: Some(1_234_567.0),
            leases_per_s_low: Some(1_111_111.0),
            leases_per_s_high: Some(1_333_333.0),
            is_at_least: is_second,
            leases_per_cpu_s: Some(1_765_432.0),
            rss_bytes: 99_999 << 20,
            latency_half: at,
            latency_max: at,
            rounds: vec![RoundResult::default(); 3],
            ..ServerResult::default()
        };
        let interval = RatioInterval { ratio: 123.4, low: 98.7, high: 151.2, pairs: 7 };
        let restart = RestartResult {
            server: server.to_owned(),
            offered_per_s: 1_234_567.0,
            ..RestartResult::default()
        };
        let flush =
            FlushCost { disk: "databases".to_owned(), median_us: 1e6, ..Default::default() };
        let mut summary = RunSummary {
            schema: SUMMARY_SCHEMA.to_owned(),
            title: "DHCPv4: leases by everything".to_owned(),
            results: vec![result(server), result("kea")],
            ratios: vec![Ratio {
                server: server.to_owned(),
                to: "kea".to_owned(),
                leases_per_s: Some(interval),
                leases_per_cpu_s: Some(interval),
                is_at_most: false,
                is_at_least: true,
                bottleneck: None,
            }],
            limit: Some(LimitResult {
                leases_per_s: 2e6,
                is_at_least: true,
                ..LimitResult::default()
            }),
            restarts: vec![restart],
            flushes: vec![flush],
            ..RunSummary::default()
        };
        summary.plan.headline = Headline::LatencyAtHalf;
        summary
    }

    /// Makes a list of one stored run with `servers`.
    fn stored(server: &str) -> StoredRuns {
        let figure = StoredFigure {
            server: server.to_owned(),
            variant: "durability interval".to_owned(),
            leases_per_s: Some(1_234_567.0),
            low: Some(1_111_111.0),
            high: Some(1_333_333.0),
            is_at_least: true,
            ..StoredFigure::default()
        };
        let run = |id: &str, machine: &str| StoredRun {
            id: id.to_owned(),
            plan: "p".to_owned(),
            started: "2026-11-27T23:45:00Z".to_owned(),
            machine: machine.to_owned(),
            yields: "leases".to_owned(),
            commit: "0123456789abcdef+changes".to_owned(),
            is_baseline: true,
            servers: vec![figure.clone()],
            ..StoredRun::default()
        };
        let suite = "20261127T120000Z-all/20261127T120102Z-dhcp4-database-distance";
        StoredRuns { runs: vec![run("a", "old"), run(suite, "new")], ..StoredRuns::default() }
    }

    fn suite(name: &str) -> SuiteSummary {
        let row = |note: &str| RowResult {
            name: name.to_owned(),
            target: "≥ 0.909".to_owned(),
            value: Some(123.4),
            low: Some(98.7),
            high: Some(151.2),
            verdict: TargetVerdict::MetByFigure,
            note: note.to_owned(),
            ..RowResult::default()
        };
        let notes = ["", "no round has a figure of both of the lines that this row is about"];
        SuiteSummary { rows: notes.map(row).to_vec(), ..SuiteSummary::default() }
    }

    #[test]
    fn every_table_of_the_lab_fits_80_columns() {
        for server in ["godwit", LONG] {
            let compared =
                compare(("A", &summary(server, false)), ("B", &summary(server, true)), true);
            let stored = stored(server);
            let trend = Trend::from_runs("p", &[], &stored.runs).unwrap();
            let long =
                "start-up with a million leases on a server that has a name: its time over ours";
            let tables = [
                ("run", crate::report::table(&summary(server, true))),
                ("compare", crate::compare::table(&compared)),
                ("list", crate::stored::table(&stored)),
                ("trend", crate::stored::trend_lines(&trend)),
                ("plans", crate::plans::table()),
                ("suite", crate::suite::table(&suite(long))),
            ];
            for (name, table) in tables {
                assert!(table.lines().count() > 3, "{name}: {table}");
                // Notes are sentences, which a terminal breaks.
                for line in table.lines().filter(|line| !line.starts_with("note: ")) {
                    assert!(line.chars().count() <= WIDTH, "{name}: {line}");
                }
            }
        }
    }
}
