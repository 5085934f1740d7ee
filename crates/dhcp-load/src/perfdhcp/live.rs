//! Full-screen view of a perfdhcp run (`--live`): rates, drops by class and latency bands of each
//! kind of exchange, one text frame for each interval. Crate `netio` writes it to the terminal.

use std::fmt::Write as _;

use base::time::{NS_PER_MS, NS_PER_S, seconds};
use load::ExchangeClass;

use super::account::ExchangeAccount;
use super::dialect::ExchangeKind;

/// Upper ends of the view's latency bands, in nanoseconds, with their names.
const BANDS: [(u64, &str); 6] = [
    (NS_PER_MS / 10, "to 0.1 ms"),
    (NS_PER_MS, "to 1 ms"),
    (10 * NS_PER_MS, "to 10 ms"),
    (100 * NS_PER_MS, "to 100 ms"),
    (NS_PER_S, "to 1 s"),
    (u64::MAX, "above"),
];
/// Number of characters of the bar for a latency band that has all exchanges.
const BAR_LEN: u64 = 40;

/// Counts of one kind of exchange at the time of a frame of the view.
#[derive(Clone, Copy, Debug, Default)]
struct PerfdhcpLiveCounts {
    sent: u64,
    on_time: u64,
    bands: [u64; BANDS.len()],
}

impl PerfdhcpLiveCounts {
    fn from_account(account: &ExchangeAccount) -> Self {
        let mut bands = [0; BANDS.len()];
        for (edge_ns, count) in account.ledger.latency_due().entries() {
            let band = BANDS.iter().position(|band| edge_ns <= band.0).unwrap_or(BANDS.len() - 1);
            bands[band] += count;
        }
        Self { sent: account.sent(), on_time: account.on_time(), bands }
    }
}

/// Full-screen view of a run, with its title, its rows and the counts of the last frame.
#[derive(Debug)]
pub(crate) struct PerfdhcpLiveView {
    title: String,
    rows: Vec<(ExchangeKind, &'static str)>,
    start_ns: u64,
    last_ns: u64,
    last: Vec<PerfdhcpLiveCounts>,
}

impl PerfdhcpLiveView {
    /// Creates the view of a run that begins at `start_ns`, with a row for each kind of exchange in
    /// `rows`.
    pub(crate) fn new(
        title: String,
        rows: Vec<(ExchangeKind, &'static str)>,
        start_ns: u64,
    ) -> Self {
        let last = vec![PerfdhcpLiveCounts::default(); rows.len()];
        Self { title, rows, start_ns, last_ns: start_ns, last }
    }

    /// Returns the text of the screen at `now_ns`, and keeps the counts for the next frame.
    pub(crate) fn frame(
        &mut self,
        now_ns: u64,
        accounts: &[ExchangeAccount; ExchangeKind::COUNT],
    ) -> String {
        let passed_s = seconds(now_ns.saturating_sub(self.start_ns));
        let interval_s = seconds(now_ns.saturating_sub(self.last_ns)).max(1e-9);
        let mut screen = format!("{}   {passed_s:.1} s\n\n", self.title);
        let _ = writeln!(
            screen,
            "{:<26}{:>9}{:>11}{:>7}{:>7}{:>8}{:>8}{:>10}",
            "", "sent/s", "on time/s", "late", "lost", "refused", "invalid", "in flight"
        );
        let mut bands = [0; BANDS.len()];
        for ((kind, name), last) in self.rows.iter().zip(&mut self.last) {
            let account = &accounts[kind.index()];
            let counts = PerfdhcpLiveCounts::from_account(account);
            let per_s = |now: u64, before: u64| (now - before) as f64 / interval_s;
            let count = |class| account.ledger.count(class);
            let _ = writeln!(
                screen,
                "{name:<26}{:>9.0}{:>11.0}{:>7}{:>7}{:>8}{:>8}{:>10}",
                per_s(counts.sent, last.sent),
                per_s(counts.on_time, last.on_time),
                count(ExchangeClass::Late),
                count(ExchangeClass::Lost),
                count(ExchangeClass::Nak),
                count(ExchangeClass::Invalid) + count(ExchangeClass::WrongClient),
                account.ledger.in_flight()
            );
            for (sum, (now, before)) in bands.iter_mut().zip(counts.bands.iter().zip(last.bands)) {
                *sum += now - before;
            }
            *last = counts;
        }
        let _ = writeln!(screen, "\nlatency from due, since the last update");
        let all: u64 = bands.iter().sum();
        for ((_, name), count) in BANDS.iter().zip(bands) {
            let bar = "#".repeat((count * BAR_LEN).div_ceil(all.max(1)) as usize);
            let _ = writeln!(screen, "{name:>12} {count:>9} {bar}");
        }
        self.last_ns = now_ns;
        screen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_tells_of_the_interval_since_the_last_one() {
        let mut view = PerfdhcpLiveView::new(
            "to 192.0.2.1".into(),
            vec![(ExchangeKind::First, "DISCOVER-OFFER")],
            0,
        );
        let mut accounts: [ExchangeAccount; ExchangeKind::COUNT] = Default::default();
        let account = &mut accounts[ExchangeKind::First.index()];
        for number in 0..300 {
            account.ledger.record_due();
            account.ledger.record_sent(0, 0);
            let is_lost = number < 3;
            account.ledger.record_end(if is_lost {
                ExchangeClass::Lost
            } else {
                ExchangeClass::OnTime
            });
            if !is_lost {
                let answered_ns = if number < 200 { NS_PER_MS / 2 } else { 5 * NS_PER_MS };
                account.record_completed(ExchangeClass::OnTime, [0, 0, answered_ns]);
            }
        }
        let screen = view.frame(2 * NS_PER_S, &accounts);
        let lines: Vec<&str> = screen.lines().collect();
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(lines[3]), ["DISCOVER-OFFER", "150", "148", "0", "3", "0", "0", "0"]);
        assert_eq!(words(lines[7])[..3], ["to", "1", "ms"]);
        assert_eq!(words(lines[7])[3], "197");
        assert_eq!(words(lines[8])[3..], ["100", "#".repeat(14).as_str()]);
        // No further reply has come.
        let screen = view.frame(3 * NS_PER_S, &accounts);
        let lines: Vec<&str> = screen.lines().collect();
        assert_eq!(words(lines[3])[1..3], ["0", "0"]);
        assert_eq!(words(lines[7])[3..], ["0"]);
    }
}
