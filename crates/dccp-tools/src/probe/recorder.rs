//! Writer of a probe file: samples of connections while they send.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base::{ToolError, ToolResult};
use dccp::ccid::SenderFigures;
use dccp::connection::Connection;
use dccp_link::ConnectionKey;

use super::line::{HEAD, ProbeSample};

/// Probe file that is being written.
pub(crate) struct ProbeRecorder {
    path: PathBuf,
    file: File,
    interval_ns: u64,
    started_ns: Option<u64>,
    next_ns: u64,
    now_ns: u64,
    text: String,
    /// Time of each connection's last sample in nanoseconds, and the bytes that the connection had
    /// accepted by then.
    before: BTreeMap<ConnectionKey, (u64, u64)>,
}

impl ProbeRecorder {
    /// Creates a probe file with the names of its columns.
    ///
    /// # Errors
    ///
    /// Returns an error when the file cannot be written.
    pub(crate) fn create(path: &Path, interval: Duration) -> ToolResult<Self> {
        let failed = |error| ToolError::Failed(format!("cannot write {}: {error}", path.display()));
        let mut file = File::create(path).map_err(failed)?;
        file.write_all(HEAD.as_bytes()).map_err(failed)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            interval_ns: interval.as_nanos() as u64,
            started_ns: None,
            next_ns: 0,
            now_ns: 0,
            text: String::new(),
            before: BTreeMap::new(),
        })
    }

    /// Returns the time in nanoseconds at which the next samples are due; `None` before data was
    /// sent.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        self.started_ns.is_some().then_some(self.next_ns)
    }

    /// Returns true if samples are due at `now_ns`.
    pub(crate) fn is_due(&mut self, now_ns: u64) -> bool {
        self.now_ns = now_ns;
        now_ns >= self.next_ns
    }

    /// Adds a sample of a connection that has accepted `sent_bytes` bytes so far, in datagrams of
    /// `datagram_bytes`. The first sample of a connection writes no line: it only marks where the
    /// connection's rate begins.
    pub(crate) fn sample(
        &mut self,
        key: &ConnectionKey,
        connection: &Connection,
        datagram_bytes: usize,
        sent_bytes: u64,
    ) {
        let now_ns = self.now_ns;
        let started_ns = *self.started_ns.get_or_insert(now_ns);
        let before = self.before.insert(*key, (now_ns, sent_bytes));
        let Some((before_ns, before_bytes)) = before else { return };
        let passed_ns = u128::from((now_ns - before_ns).max(1));
        let rate = u128::from(sent_bytes - before_bytes) * 1_000_000_000 / passed_ns;
        let mut line = ProbeSample {
            at_us: (now_ns - started_ns) / 1_000,
            source: socket_text(key.local, key.local_port),
            destination: socket_text(key.remote, key.remote_port),
            size: datagram_bytes as u64,
            rtt_us: connection.rtt_ns().map(|rtt_ns| rtt_ns / 1_000),
            queue: Some(connection.send_queue_len() as u64),
            rate: Some(rate as u64),
            ..ProbeSample::default()
        };
        if let Some(figures) = connection.sender_figures() {
            fill_figures(&mut line, figures);
        }
        writeln!(self.text, "{line}").expect("a string takes everything");
    }

    /// Writes the samples that were added for `now_ns` to the probe file.
    ///
    /// # Errors
    ///
    /// Returns the error of the file system.
    pub(crate) fn write(&mut self, now_ns: u64) -> ToolResult<()> {
        self.next_ns = now_ns + self.interval_ns;
        let done = self.file.write_all(self.text.as_bytes());
        self.text.clear();
        let path = self.path.display();
        done.map_err(|error| ToolError::Failed(format!("cannot write {path}: {error}")))
    }
}

fn socket_text(address: IpAddr, port: u16) -> String {
    SocketAddr::new(address, port).to_string()
}

/// Fills the columns of a sample that belong to the congestion control.
fn fill_figures(line: &mut ProbeSample, figures: SenderFigures) {
    match figures {
        SenderFigures::Window { cwnd, ssthresh, pipe, rto_ns, ack_ratio } => {
            line.ccid = Some(2);
            line.cwnd = Some(cwnd.into());
            // Before the first loss slow start has no end.
            line.ssthresh = (ssthresh < u32::MAX).then_some(ssthresh.into());
            line.pipe = Some(pipe.into());
            line.rto_us = Some(rto_ns / 1_000);
            line.ack_ratio = Some(ack_ratio.into());
        }
        SenderFigures::Rate { x, x_recv, x_calc, p, interval_ns, segment_bytes } => {
            line.ccid = Some(3);
            line.s = Some(segment_bytes as u64);
            line.p_ppm = Some((p * 1e6).round() as u64);
            line.x_calc = Some(x_calc as u64);
            line.x_recv = Some(x_recv as u64);
            line.x = Some(x as u64);
            line.interval_us = Some(interval_ns / 1_000);
        }
    }
}
