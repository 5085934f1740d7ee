//! Lines about a load record, for a person, that every generator prints.

use std::fmt;

use base::Figure;
use serde_json::Value;

use super::LoadRecord;

impl LoadRecord {
    /// Writes the line with the run's rates: of all `exchanges` (a noun such as `queries`), and of
    /// those that were `done` (a participle such as `answered`) in time.
    pub fn write_rates(
        &self,
        f: &mut fmt::Formatter<'_>,
        exchanges: &str,
        done: &str,
        is_interrupted: bool,
    ) -> fmt::Result {
        writeln!(
            f,
            "{} {exchanges}/s offered for {:.3} s, {}/s {done} within {} s{}",
            Figure(self.offered_per_s),
            self.duration_s,
            Figure(self.completed_per_s),
            self.deadline_s,
            if is_interrupted { " (interrupted)" } else { "" }
        )
    }

    /// Writes the lines with the latencies of the run.
    pub fn write_latencies(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "latency    from due  {}", self.latency_due.text())?;
        writeln!(f, "latency    from sent {}", self.latency_sent.text())
    }

    /// Writes the lines about the generator itself, and its `warnings`.
    pub fn write_generator(&self, f: &mut fmt::Formatter<'_>, warnings: &[String]) -> fmt::Result {
        writeln!(
            f,
            "generator  {:.3} CPU s, {} late sends (worst {:.0} µs), {} own drops, {} refused, {}",
            self.generator_cpu_s,
            self.late_sends,
            self.late_send_max_us,
            self.own_socket_drops,
            self.send_refused,
            self.offload()
        )?;
        if self.generator_limited {
            writeln!(f, "GENERATOR LIMITED: {}", self.generator_limited_reason)?;
        }
        warnings.iter().try_for_each(|warning| writeln!(f, "warning: {warning}"))
    }

    /// Returns the name of the form in which the run's messages left (datagrams, groups, frames).
    /// Groups leave through sockets even if the run has an interface for frames.
    fn offload(&self) -> &'static str {
        let setting = |name: &str| self.settings.get(name).unwrap_or(&Value::Null);
        let sends_frames = setting("interface").is_string() && setting("segmentation") != true;
        match (sends_frames, self.segmentation) {
            (true, _) => "frames",
            (false, true) => "segmentation",
            (false, false) => "no segmentation",
        }
    }
}
