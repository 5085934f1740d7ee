//! Page of a regression: a figure for each case, with every run.

use report::goals::{FigureNote, GoalChart, Set, render};

use super::row::{FORMULA, RegressionDocument, RegressionRow};

/// Returns the regression's page as HTML, with more facts under its title and warnings at its end.
/// Equal rows always give equal bytes.
pub(super) fn draw(
    document: &RegressionDocument<'_>,
    title: &str,
    more_facts: &[String],
    warnings: &[String],
) -> String {
    let plural = if document.runs == 1 { "" } else { "s" };
    let mut facts = vec![
        format!("datagrams of {} bytes", document.datagram_bytes),
        document.wrapping.words().to_owned(),
        format!("tx_qlen {}", document.tx_qlen),
        format!("{} run{plural} of {} s", document.runs, document.seconds),
    ];
    facts.extend_from_slice(more_facts);
    let mut cases: Vec<&[RegressionRow]> =
        document.rows.chunk_by(|a, b| a.case == b.case).collect();
    cases.retain(|rows| !rows.is_empty());
    let charts: Vec<_> = cases.iter().map(|rows| chart(rows)).collect();
    let mut notes = notes(document, &cases);
    if !warnings.is_empty() {
        notes.push(FigureNote { heading: "Warnings", lines: Vec::new(), text: warnings.join(" ") });
    }
    render(document.tool, title, &facts, &charts, &notes)
}

/// Returns the figure of one case, with rates in the unit of the table of 2007.
fn chart(rows: &[RegressionRow]) -> GoalChart {
    let first = &rows[0];
    let (unit, bits) =
        if first.desired_bits_per_s < 1e6 { ("kbit/s", 1e3) } else { ("Mbit/s", 1e6) };
    let scaled = |rates: &[f64]| rates.iter().map(|rate| rate / bits).collect::<Vec<_>>();
    let mut sets: Vec<_> = rows
        .iter()
        .map(|row| Set {
            name: format!("CCID {}, {}", row.ccid, row.clock.words()),
            values: scaled(&row.runs_bits_per_s),
            is_reference: false,
        })
        .collect();
    let judged = rows.iter().find(|row| row.accepted_bits_per_s.is_some());
    if let Some(linux) = rows.iter().find_map(|row| row.linux_2007_bits_per_s.as_ref()) {
        let name = "CCID 3, Linux in 2007".to_owned();
        sets.push(Set { name, values: scaled(linux), is_reference: true });
    }
    let accepted = judged.and_then(|row| row.accepted_bits_per_s);
    GoalChart {
        name: first.case.clone(),
        heading: first.words.clone(),
        caption: format!("Link in each direction: {}.", first.link),
        unit,
        goal: first.desired_bits_per_s / bits,
        accepted: accepted.map(|[least, most]| (least / bits, most / bits, "the mean of CCID 3")),
        sets,
    }
}

/// Returns the notes of the regression's page: the desired rates, with the figures that they follow
/// from, and the agreement of the clocks.
fn notes(document: &RegressionDocument<'_>, cases: &[&[RegressionRow]]) -> Vec<FigureNote> {
    let mut lines = vec![FORMULA.to_owned()];
    for rows in cases {
        let RegressionRow { words, desired_bits_per_s, rtt_s_and_loss, .. } = &rows[0];
        let bytes = document.datagram_bytes;
        lines.push(match rtt_s_and_loss {
            Some((rtt_s, loss)) => format!(
                "{words}: s = {bytes} bytes, R = {rtt_s} s, p = {loss}: X = {:.0} bytes/s = \
                 {desired_bits_per_s:.0} bit/s",
                desired_bits_per_s / 8.0
            ),
            None => format!(
                "{words}: {bytes} bytes of data per frame, next to headers and framing: \
                 {desired_bits_per_s:.0} bit/s"
            ),
        });
    }
    let desired = FigureNote {
        heading: "Desired rates",
        lines,
        text:
            "The equation is that of TFRC (RFC 5348 §3.1 with b = 1), with the packet loss as p. \
               Losses within a round trip are one loss event, so a correct CCID 3 is above this \
               rate; CCID 2 does not follow the equation."
                .to_owned(),
    };
    let agreement: Vec<_> = cases.iter().flat_map(|rows| agreements(rows)).collect();
    let spread = FigureNote {
        heading: "Spread",
        lines: agreement,
        text: "The number after ± is the standard deviation of the runs; intervals are 95 % \
               confidence intervals of the mean (Student). Run n has seed n with both clocks, but \
               different packets are lost, because sending depends on the times of events."
            .to_owned(),
    };
    if spread.lines.is_empty() { vec![desired] } else { vec![desired, spread] }
}

/// Returns lines with the confidence interval of each row, and if the intervals of both clocks
/// overlap.
fn agreements(rows: &[RegressionRow]) -> Vec<String> {
    let mut lines = Vec::new();
    for ccids in rows.chunk_by(|a, b| a.ccid == b.ccid) {
        let known: Vec<_> =
            ccids.iter().filter_map(|row| Some((row, row.interval_bits_per_s?))).collect();
        for (row, [low, high]) in &known {
            lines.push(format!("{}: {low:.0} to {high:.0} bit/s", row.name()));
        }
        if let [(row, a), (_, b)] = known[..] {
            let overlap = if a[0] <= b[1] && b[0] <= a[1] { "overlap" } else { "do not overlap" };
            lines.push(format!("{}, CCID {}: the intervals {overlap}", row.words, row.ccid));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use measure::regression::RegressionClock;

    use super::super::case::tests::{RAW, named};
    use super::super::row::CommonRunSettings;
    use super::*;

    #[test]
    fn the_page_has_all_that_was_measured_and_what_it_is_compared_with() {
        let row = |case: &str, clock, ccid, rates: &[f64]| {
            RegressionRow::new(&named(case), clock, ccid, RAW, rates.to_vec())
        };
        let rows = [
            row("loss10", RegressionClock::Virtual, 3, &[139e3, 180e3, 181e3]),
            row("loss10", RegressionClock::Real, 3, &[152e3, 164e3, 139e3]),
            row("loss10", RegressionClock::Real, 2, &[161e3, 154e3, 152e3]),
            row("direct", RegressionClock::Real, 3, &[95.0e6, 95.1e6]),
            row("direct", RegressionClock::Virtual, 3, &[80.0e6, 80.1e6]),
        ];
        let common = CommonRunSettings { wrapping: RAW, tx_qlen: 5, seconds: 60.0, runs: 3 };
        let document = RegressionDocument::new("godwit dccp regression", common, &rows);
        let page = draw(&document, "A title", &["2026-11-23".to_owned()], &["Cold.".to_owned()]);
        for words in [
            "data-chart=\"loss10\"",
            "data-chart=\"direct\"",
            "CCID 3, virtual clock",
            "CCID 3, Linux in 2007",
            "X = s / (R f(p))",
            "R = 0.15 s, p = 0.1",
            "134.4",
            "<td class=\"n\">199</td>",
            "A title",
            "tx_qlen 5 · 3 runs of 60 s · 2026-11-23",
            "Cold.",
            "10 % loss, 150 ms RTT, CCID 3: the intervals overlap",
            "direct, 100 Mbit/s, CCID 3: the intervals do not overlap",
        ] {
            assert!(page.contains(words), "{words}");
        }
        // Two sizes: nine values and three of Linux, four and three.
        assert_eq!(page.matches("class=\"mark ").count(), 2 * (12 + 7));
    }
}
