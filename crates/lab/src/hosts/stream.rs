//! Samples that another machine sends while a program runs there, converted to this machine's
//! clock.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base::Offset;
use base::time::NS_PER_S;
use measure::record::MachineSample;
use netio::Clock;

/// Longest wait for another machine's last sample of a trial.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time between checks for another machine's last sample of a trial.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Begin of the run by this machine's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunOrigin {
    mono_ns: u64,
}

impl RunOrigin {
    /// Converts `origin` to the monotonic clock's time.
    pub(crate) fn from_instant(origin: Instant) -> Self {
        let since_ns = u64::try_from(origin.elapsed().as_nanos()).unwrap_or(0);
        Self { mono_ns: Clock::mono_ns().saturating_sub(since_ns) }
    }

    /// Returns the seconds from the begin of the run to `there_s`, a time by the other machine's
    /// clock.
    fn seconds(self, there_s: f64, clock: Offset) -> f64 {
        there_s - clock.ns as f64 / NS_PER_S as f64 - self.mono_ns as f64 / NS_PER_S as f64
    }
}

/// Reader of the new lines of a file to which samples are written, one a line.
#[derive(Debug, Default)]
pub(crate) struct SampleFileReader {
    path: PathBuf,
    read_bytes: u64,
}

impl SampleFileReader {
    /// Returns the samples that were written to `path` since the last call for this file and that
    /// ended after `from_s`, with times in seconds since `origin`. Waits up to `PATIENCE` for one
    /// that ended at `until_s` or later.
    pub(crate) fn samples(
        &mut self,
        path: &Path,
        origin: RunOrigin,
        clock: Offset,
        from_s: f64,
        until_s: f64,
    ) -> Vec<MachineSample> {
        if self.path != path {
            *self = Self { path: path.to_owned(), read_bytes: 0 };
        }
        let give_up = Instant::now() + PATIENCE;
        let mut samples = Vec::new();
        loop {
            for mut sample in self.read_new() {
                sample.at_s = origin.seconds(sample.at_s, clock);
                samples.push(sample);
            }
            let is_there = samples.last().is_some_and(|last: &MachineSample| last.at_s >= until_s);
            if is_there || Instant::now() >= give_up {
                samples.retain(|sample| sample.at_s > from_s);
                return samples;
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Returns the samples of the whole lines that were written to the file since the last call.
    fn read_new(&mut self) -> Vec<MachineSample> {
        let mut text = String::new();
        let read = File::open(&self.path).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.read_bytes))?;
            file.read_to_string(&mut text)
        });
        if read.is_err() {
            return Vec::new();
        }
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        self.read_bytes += whole as u64;
        text[..whole].lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

/// Merges `others`, samples of other machines at the same times, into `base`. Each of their samples
/// is added to the first sample of `base` that does not end before it, or to the last sample of
/// `base`.
pub(crate) fn merge_samples(
    mut base: Vec<MachineSample>,
    others: &[Vec<MachineSample>],
) -> Vec<MachineSample> {
    for stream in others {
        let mut rest = stream.iter().peekable();
        let count = base.len();
        for (index, into) in base.iter_mut().enumerate() {
            let mut server_rss_bytes = 0;
            let mut generator_rss_bytes = 0;
            let (is_last, until_s) = (index + 1 == count, into.at_s);
            while let Some(of) = rest.next_if(|of| is_last || of.at_s <= until_s) {
                (server_rss_bytes, generator_rss_bytes) =
                    (of.server_rss_bytes, of.generator_rss_bytes);
                add(into, of);
            }
            into.server_rss_bytes += server_rss_bytes;
            into.generator_rss_bytes += generator_rss_bytes;
        }
    }
    base
}

/// Adds all counts of the sample `of` to `into`, but not memory, which does not add up over time.
fn add(into: &mut MachineSample, of: &MachineSample) {
    into.server_socket_drops += of.server_socket_drops;
    into.generator_socket_drops += of.generator_socket_drops;
    into.softnet_drops += of.softnet_drops;
    into.softnet_squeezes += of.softnet_squeezes;
    into.server_counts.add(&of.server_counts);
    into.generator_counts.add(&of.generator_counts);
    for cpu in &of.cpus {
        match into.cpus.iter_mut().find(|own| own.cpu == cpu.cpu) {
            Some(own) => {
                own.busy_s += cpu.busy_s;
                own.idle_s += cpu.idle_s;
                own.steal_s += cpu.steal_s;
                own.softirq_s += cpu.softirq_s;
            }
            None => into.cpus.push(*cpu),
        }
    }
}

#[cfg(test)]
mod tests {
    use measure::record::CpuSample;
    use testkit::TempFolder;

    use super::*;

    fn sample(at_s: f64, drops: u64, cpu: u32) -> MachineSample {
        let cpus = vec![CpuSample { cpu, busy_s: 0.1, ..CpuSample::default() }];
        MachineSample {
            at_s,
            generator_socket_drops: drops,
            generator_rss_bytes: 7,
            cpus,
            ..MachineSample::default()
        }
    }

    #[test]
    fn every_sample_of_another_machine_counts_once() {
        let base: Vec<MachineSample> =
            [0.1, 0.2, 0.3].map(|at_s| MachineSample { at_s, ..MachineSample::default() }).into();
        let one = [0.05, 0.08, 0.15, 0.29, 0.31, 0.35].map(|at_s| sample(at_s, 1, 1_000));
        let two = [0.12, 0.31].map(|at_s| sample(at_s, 10, 2_001));
        let joined = merge_samples(base, &[one.into(), two.into()]);
        let drops: Vec<u64> = joined.iter().map(|s| s.generator_socket_drops).collect();
        assert_eq!(drops, [2, 11, 13]);
        let memory: Vec<u64> = joined.iter().map(|s| s.generator_rss_bytes).collect();
        assert_eq!(memory, [7, 14, 14]);
        let busy_s = |cpu: u32| -> f64 {
            let all = joined.iter().flat_map(|s| &s.cpus).filter(|of| of.cpu == cpu);
            all.map(|of| of.busy_s).sum()
        };
        assert!((busy_s(1_000) - 0.6).abs() < 1e-9 && (busy_s(2_001) - 0.2).abs() < 1e-9);
    }

    #[test]
    fn a_stream_is_read_on_from_where_it_was_and_on_the_clock_of_here() {
        let folder = TempFolder::new("stream");
        let path = folder.path().join("samples");
        let line = |at_s: f64| serde_json::to_string(&sample(at_s, 0, 0)).unwrap() + "\n";
        std::fs::write(&path, line(1_001.0) + &line(1_002.0) + "{\"at_s\": 1").unwrap();
        let origin = RunOrigin { mono_ns: 500 * NS_PER_S };
        let clock = Offset { ns: 500_000_000_000, uncertainty_ns: 0 };
        let mut stream = SampleFileReader::default();
        let ends = |samples: Vec<MachineSample>| samples.iter().map(|s| s.at_s).collect::<Vec<_>>();
        assert_eq!(ends(stream.samples(&path, origin, clock, 1.0, 2.0)), [2.0]);
        std::fs::write(&path, line(1_001.0) + &line(1_002.0) + &line(1_003.0)).unwrap();
        assert_eq!(ends(stream.samples(&path, origin, clock, 0.0, 3.0)), [3.0]);
    }
}
