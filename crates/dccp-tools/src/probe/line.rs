//! Line of a probe file: the eleven columns of Linux's `dccp_probe` in their order, then eight of
//! Godwit's. A dash stands for an unknown value. Linux's own files, of four or eleven columns, can
//! be read, too: there each datagram has a line.

use std::fmt;

use serde::Serialize;

/// Numbers of columns in files of Linux: without the columns of CCID 3 and with them.
const LINUX_COLUMNS: [usize; 2] = [4, 11];
/// Number of columns in a probe file of Godwit.
const COLUMNS: usize = 19;
/// Names of the columns, the first line of a probe file.
pub(super) const HEAD: &str = "# time src dst size s rtt_us p_ppm x_calc x_recv x t_ipi_us \
                               ccid cwnd ssthresh pipe rto_us ack_ratio queue rate\n";

/// Sample of a connection's sending end at one time: one line of a probe file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct ProbeSample {
    /// Time since the probe began, in microseconds.
    pub(crate) at_us: u64,
    /// Address and DCCP port of the connection's sender; `destination` has those of its receiver.
    pub(crate) source: String,
    pub(crate) destination: String,
    /// Length of a datagram in bytes.
    pub(crate) size: u64,
    /// Segment size in bytes from which CCID 3 computes rates (`s` of RFC 5348).
    pub(crate) s: Option<u64>,
    pub(crate) rtt_us: Option<u64>,
    /// Loss event rate of CCID 3, in parts per million.
    pub(crate) p_ppm: Option<u64>,
    /// Rate of CCID 3 from TCP's throughput equation, in bytes per second (0 without losses);
    /// `x_recv` is the rate that the other end received, `x` the allowed rate.
    pub(crate) x_calc: Option<u64>,
    pub(crate) x_recv: Option<u64>,
    pub(crate) x: Option<u64>,
    /// Time between two packets at CCID 3's allowed rate, in microseconds.
    pub(crate) interval_us: Option<u64>,
    pub(crate) ccid: Option<u64>,
    /// Congestion window of CCID 2 in packets; `ssthresh` and `pipe` are in packets, too.
    pub(crate) cwnd: Option<u64>,
    pub(crate) ssthresh: Option<u64>,
    pub(crate) pipe: Option<u64>,
    pub(crate) rto_us: Option<u64>,
    pub(crate) ack_ratio: Option<u64>,
    /// Count of datagrams that wait in the connection's send queue.
    pub(crate) queue: Option<u64>,
    /// Rate of data that DCCP accepted for sending since the line before, in bytes per second.
    pub(crate) rate: Option<u64>,
}

impl ProbeSample {
    /// Returns the values of the sample's numeric columns, those after the fourth.
    const fn numbers(&self) -> [Option<u64>; COLUMNS - 4] {
        [
            self.s,
            self.rtt_us,
            self.p_ppm,
            self.x_calc,
            self.x_recv,
            self.x,
            self.interval_us,
            self.ccid,
            self.cwnd,
            self.ssthresh,
            self.pipe,
            self.rto_us,
            self.ack_ratio,
            self.queue,
            self.rate,
        ]
    }

    /// Parses a line of a probe file; returns `None` for an empty line or a comment.
    ///
    /// # Errors
    ///
    /// Returns the reason why the line is wrong.
    pub(crate) fn read(text: &str) -> Result<Option<Self>, String> {
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            return Ok(None);
        }
        let words: Vec<_> = text.split_whitespace().collect();
        let count = words.len();
        if count != COLUMNS && !LINUX_COLUMNS.contains(&count) {
            return Err(format!("{count} columns; a line of a probe file has 4, 11 or {COLUMNS}"));
        }
        let mut numbers = [None; COLUMNS - 4];
        for (number, word) in numbers.iter_mut().zip(&words[4..]) {
            if *word != "-" {
                *number = Some(whole(word)?);
            }
        }
        let [s, rtt_us, p_ppm, x_calc, x_recv, x, interval_us, ours @ ..] = numbers;
        let [ccid, cwnd, ssthresh, pipe, rto_us, ack_ratio, queue, rate] = ours;
        // Linux writes the columns of CCID 3 only with CCID 3.
        let ccid = if count == LINUX_COLUMNS[1] { Some(3) } else { ccid };
        Ok(Some(Self {
            at_us: time_us(words[0])?,
            source: words[1].to_owned(),
            destination: words[2].to_owned(),
            size: whole(words[3])?,
            s,
            rtt_us,
            p_ppm,
            x_calc,
            x_recv,
            x,
            interval_us,
            ccid,
            cwnd,
            ssthresh,
            pipe,
            rto_us,
            ack_ratio,
            queue,
            rate,
        }))
    }
}

fn whole(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_| format!("{word} is not a whole number"))
}

/// Parses seconds with a fraction. Returns them in microseconds.
fn time_us(word: &str) -> Result<u64, String> {
    let seconds: f64 = word.parse().map_err(|_| format!("{word} is not a time"))?;
    if (0.0..1e12).contains(&seconds) {
        Ok((seconds * 1e6).round() as u64)
    } else {
        Err(format!("{word} is not a time"))
    }
}

impl fmt::Display for ProbeSample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, us) = (self.at_us / 1_000_000, self.at_us % 1_000_000);
        let Self { source, destination, size, .. } = self;
        write!(f, "{seconds}.{us:06} {source} {destination} {size}")?;
        for number in self.numbers() {
            match number {
                Some(number) => write!(f, " {number}")?,
                None => f.write_str(" -")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of Linux's probe, with CCID 3 and with CCID 2.
    const LINUX: [&str; 2] = [
        "1.204512 10.0.0.1:40000 10.0.0.2:5001 1424 1424 40211 9901 401122 398000 401122 3550",
        "0.000317 10.0.0.1:40000 10.0.0.2:5001 1424",
    ];

    #[test]
    fn linux_wrote_the_same_columns() {
        let line = ProbeSample::read(LINUX[0]).unwrap().unwrap();
        let first = (line.at_us, line.s, line.rtt_us, line.p_ppm);
        assert_eq!(first, (1_204_512, Some(1_424), Some(40_211), Some(9_901)));
        let rates = (line.x_calc, line.x_recv, line.x, line.interval_us);
        assert_eq!(rates, (Some(401_122), Some(398_000), Some(401_122), Some(3_550)));
        assert_eq!((line.ccid, line.rate), (Some(3), None));
        assert!(line.to_string().starts_with(LINUX[0]), "the columns stand where they stood");
        let line = ProbeSample::read(LINUX[1]).unwrap().unwrap();
        assert_eq!((line.at_us, line.size, line.rtt_us, line.ccid), (317, 1_424, None, None));
    }

    #[test]
    fn what_is_written_is_read() {
        let rate = ProbeSample {
            at_us: 12_000_345,
            source: "[2001:db8::1]:40000".to_owned(),
            destination: "[2001:db8::2]:5001".to_owned(),
            size: 1_424,
            s: Some(1_424),
            rtt_us: Some(75),
            p_ppm: Some(0),
            x: Some(u64::MAX),
            ccid: Some(3),
            rate: Some(0),
            ..ProbeSample::default()
        };
        let window = ProbeSample {
            cwnd: Some(10),
            ssthresh: Some(4_294_967_295),
            pipe: Some(9),
            rto_us: Some(200_000),
            ack_ratio: Some(2),
            queue: Some(64),
            ccid: Some(2),
            s: None,
            ..rate.clone()
        };
        for line in [rate, window] {
            assert_eq!(ProbeSample::read(&line.to_string()), Ok(Some(line)));
        }
        assert_eq!(HEAD.split_whitespace().count(), COLUMNS + 1);
        assert_eq!(ProbeSample::read(HEAD), Ok(None));
    }

    #[test]
    fn other_files_are_told_apart() {
        for (text, words) in [
            ("a b c", "3 columns"),
            ("x 10.0.0.1:1 10.0.0.2:2 5", "x is not a time"),
            ("1.0 10.0.0.1:1 10.0.0.2:2 five", "five is not a whole number"),
            ("-1.0 10.0.0.1:1 10.0.0.2:2 5", "-1.0 is not a time"),
        ] {
            let error = ProbeSample::read(text).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
