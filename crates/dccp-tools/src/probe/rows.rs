//! Table of a probe file for the terminal: for each interval of each connection the rate in it, and
//! the figures of congestion control at its end.

use std::collections::BTreeMap;
use std::time::Duration;

use super::line::ProbeSample;
use crate::units;

/// Open intervals of all connections, by sender and receiver.
pub(super) struct ProbeIntervalTable {
    interval_us: u64,
    flows: BTreeMap<(String, String), OpenProbeInterval>,
}

/// Interval of a connection that has not ended yet.
struct OpenProbeInterval {
    id: usize,
    start_us: u64,
    bits: f64,
    last: ProbeSample,
}

/// Returns the bits that were sent from `before_us`, the time of the line before, to the time of
/// `line`: those of its datagram if each datagram has its own line (Linux), otherwise those at its
/// rate.
pub(super) fn bits_since(line: &ProbeSample, before_us: u64) -> f64 {
    match line.rate {
        Some(rate) => rate as f64 * 8.0 * line.at_us.saturating_sub(before_us) as f64 / 1e6,
        None => line.size as f64 * 8.0,
    }
}

impl ProbeIntervalTable {
    pub(super) fn new(interval: Duration) -> Self {
        Self { interval_us: interval.as_micros() as u64, flows: BTreeMap::new() }
    }

    /// Adds a sample to the table. Returns the text lines that the sample completes.
    pub(super) fn take(&mut self, line: ProbeSample) -> String {
        let mut text = String::new();
        let start_us = line.at_us - line.at_us % self.interval_us;
        let name = (line.source.clone(), line.destination.clone());
        let id = self.flows.len() + 1;
        if let Some(bin) = self.flows.get_mut(&name) {
            if start_us > bin.start_us {
                text = bin.text(bin.start_us + self.interval_us);
                (bin.start_us, bin.bits) = (start_us, 0.0);
            }
            bin.bits += bits_since(&line, bin.last.at_us);
            bin.last = line;
            return text;
        }
        let ccid = line.ccid.map_or(String::new(), |ccid| format!(", ccid {ccid}"));
        text = format!("[{id:>3}]  {} to {}{ccid}\n", line.source, line.destination);
        // The first line's time is that of its sender's first one.
        let bits = bits_since(&line, start_us);
        self.flows.insert(name, OpenProbeInterval { id, start_us, bits, last: line });
        text
    }

    /// Returns the text lines of the intervals that are open at the end of the file.
    pub(super) fn end(&self) -> String {
        self.flows.values().map(|bin| bin.text(bin.last.at_us)).collect()
    }
}

impl OpenProbeInterval {
    fn text(&self, end_us: u64) -> String {
        let (start_s, end_s) = (self.start_us as f64 / 1e6, end_us as f64 / 1e6);
        if end_s <= start_s {
            return String::new();
        }
        let rate = units::rate(self.bits / (end_s - start_s));
        let mut text = format!("[{:>3}] {start_s:>6.2}-{end_s:<6.2} sec  {rate:>16}", self.id);
        let last = &self.last;
        let mut tell = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                text += &format!("  {name} {value}");
            }
        };
        let ms = |us: u64| format!("{:.3} ms", us as f64 / 1e3);
        let rate = |bytes: u64| units::rate(bytes as f64 * 8.0);
        tell("rtt", last.rtt_us.map(ms));
        tell("p", last.p_ppm.map(|ppm| format!("{:.4} %", ppm as f64 / 1e4)));
        tell("x", last.x.map(rate));
        tell("x_calc", last.x_calc.filter(|&x| x > 0).map(rate));
        tell("x_recv", last.x_recv.map(rate));
        tell("cwnd", last.cwnd.map(|count| count.to_string()));
        tell("ssthresh", last.ssthresh.map(|count| count.to_string()));
        tell("pipe", last.pipe.map(|count| count.to_string()));
        tell("rto", last.rto_us.map(ms));
        tell("ack ratio", last.ack_ratio.map(|ratio| ratio.to_string()));
        tell("queue", last.queue.map(|count| count.to_string()));
        text.push('\n');
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_has_the_rate_of_its_lines_and_the_state_of_its_last() {
        let mut rows = ProbeIntervalTable::new(Duration::from_secs(1));
        let mut text = String::new();
        for (at, rate, cwnd) in
            [("0.5", 1_000, 3), ("1.0", 1_000, 4), ("1.5", 2_000, 9), ("2.5", 500, 7)]
        {
            let words = format!("{at} a:1 b:2 100 - 40000 - - - - - 2 {cwnd} - 1 - - 5 {rate}");
            text += &rows.take(ProbeSample::read(&words).unwrap().unwrap());
        }
        text += &rows.end();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert_eq!(lines[0], "[  1]  a:1 to b:2, ccid 2");
        assert!(lines[1].starts_with("[  1]   0.00-1.00   sec    4.00 Kbits/sec"), "{text}");
        assert!(lines[1].ends_with("rtt 40.000 ms  cwnd 3  pipe 1  queue 5"), "{text}");
        // Half a second at 1,000 and half a second at 2,000 bytes.
        assert!(lines[2].contains("1.00-2.00") && lines[2].contains("12.0 Kbits/sec"), "{text}");
        assert!(lines[3].contains("2.00-2.50") && lines[3].contains("cwnd 7"), "{text}");
    }

    #[test]
    fn of_linux_each_line_is_a_datagram() {
        let mut rows = ProbeIntervalTable::new(Duration::from_secs(1));
        let mut text = String::new();
        for at in ["0.1", "0.2", "0.3", "1.1"] {
            text += &rows.take(ProbeSample::read(&format!("{at} a:1 b:2 125")).unwrap().unwrap());
        }
        assert!(text.lines().any(|line| line.contains("3.00 Kbits/sec")), "{text}");
    }
}
