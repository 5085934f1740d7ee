//! Long trials second by second: results of the clients, and use of the server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{LoadTimeline, MachineSample, Purpose, TrialRecord, server_cpu_s};

/// Trial whose counts the summary has by intervals of about a second: how the server's pool ran
/// out, or how a steady load went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LongTrial {
    /// Name of the server that the trial loaded.
    pub server: String,
    /// Variant of the server that the trial loaded: the way in which it was run, such as
    /// `multi-threaded`.
    pub variant: String,
    /// Number of this trial among all trials of the run.
    pub trial: u32,
    /// Purpose of the trial within its run.
    pub purpose: Purpose,
    /// Rate of the trial, in exchanges offered per second.
    pub offered_per_s: f64,
    /// Number of free addresses in the server's pool, if the trial was to use it up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool_size: Option<u32>,
    /// Length of an interval of the trial, in seconds.
    pub interval_s: f64,
    /// Intervals of the trial, from the due time of the first exchange until the last event.
    pub points: Vec<LongTrialPoint>,
}

/// Counts of one interval of a long trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LongTrialPoint {
    /// Number of exchanges that came due in the interval.
    pub due: u64,
    /// Number of exchanges that were completed on time in the interval.
    pub completed: u64,
    /// Number of exchanges that the server rejected in the interval by an answer without a lease:
    /// instead of the offer, and instead of the grant (ACK, REPLY).
    pub rejected: [u64; 2],
    /// Number of exchanges that came due in the interval and were lost: without an offer, and
    /// without the grant (ACK, REPLY).
    pub unanswered: [u64; 2],
    /// Number of processors that the server kept busy in the interval; `None` when unknown.
    pub server_cpus_busy: Option<f64>,
    /// Resident memory of the server at the end of the interval, in bytes; `None` when unknown.
    pub server_rss_bytes: Option<u64>,
    /// Number of datagrams dropped at the server's sockets in the interval.
    pub server_socket_drops: u64,
}

impl LongTrial {
    /// Returns the seconds from the due time of the first exchange to the first interval for which
    /// `is_so` is true; `None` when there is none.
    pub fn first_s(&self, is_so: impl Fn(&LongTrialPoint) -> bool) -> Option<f64> {
        Some(self.points.iter().position(is_so)? as f64 * self.interval_s)
    }

    /// Returns the time at which the server assigns the pool's last address, if no client gets two
    /// and none is left over, in seconds from the due time of the first exchange.
    pub fn exhausted_s(&self) -> Option<f64> {
        if self.offered_per_s <= 0.0 {
            return None;
        }
        Some(f64::from(self.pool_size?) / self.offered_per_s)
    }
}

/// Returns the trials of a run that the summary has second by second: those in which an address
/// pool ran out, and those of whole seconds that met the plan's criterion (largest share of missed
/// exchanges).
pub(super) fn long_trials(trials: &[&TrialRecord], loss_percent: f64) -> Vec<LongTrial> {
    let is_long = |trial: &&&TrialRecord| {
        !trial.is_void()
            && trial.restart.is_none()
            && (trial.purpose == Purpose::Exhaustion || trial.meets(loss_percent))
    };
    trials.iter().filter(is_long).filter_map(|trial| long_trial(trial)).collect()
}

fn long_trial(trial: &TrialRecord) -> Option<LongTrial> {
    let timeline = trial.load.as_ref()?.timeline.as_ref()?;
    let at = |counts: &[[u64; 2]], index: usize| counts.get(index).copied().unwrap_or_default();
    let mut points: Vec<LongTrialPoint> = (timeline.points.iter().enumerate())
        .map(|(index, &[due, completed, _])| LongTrialPoint {
            due,
            completed,
            rejected: at(&timeline.rejected, index),
            unanswered: at(&timeline.unanswered, index),
            ..LongTrialPoint::default()
        })
        .collect();
    let is_empty = |point: &LongTrialPoint| {
        point.due + point.completed + point.rejected.iter().sum::<u64>() == 0
    };
    let len = points.iter().rposition(|point| !is_empty(point))? + 1;
    points.truncate(len);
    if trial.has_server_usage()
        && let Some(began_s) = trial.timeline_s
    {
        add_samples(&mut points, trial, began_s, timeline);
    }
    Some(LongTrial {
        server: trial.server.clone(),
        variant: trial.variant.clone(),
        trial: trial.number,
        purpose: trial.purpose,
        offered_per_s: trial.rate_per_s,
        pool_size: trial.exhaustion.map(|exhaustion| exhaustion.pool_size),
        interval_s: timeline.interval_s,
        points,
    })
}

/// Adds the samples of the server's processors and memory to the intervals of a trial; a sample
/// belongs to the interval of its middle.
fn add_samples(
    points: &mut [LongTrialPoint],
    trial: &TrialRecord,
    began_s: f64,
    timeline: &LoadTimeline,
) {
    let index_of = |sample: &MachineSample| {
        let middle_s = sample.at_s - sample.interval_s / 2.0 - began_s;
        (middle_s >= 0.0).then(|| (middle_s / timeline.interval_s) as usize)
    };
    for (index, point) in points.iter_mut().enumerate() {
        let within = || trial.samples.iter().filter(|sample| index_of(sample) == Some(index));
        let elapsed_s: f64 = within().map(|sample| sample.interval_s).sum();
        let busy_s = server_cpu_s(within(), &trial.server_cpus);
        point.server_cpus_busy =
            (elapsed_s > 0.0).then(|| (busy_s / elapsed_s * 1e3).round() / 1e3);
        point.server_rss_bytes = within().next_back().map(|sample| sample.server_rss_bytes);
        point.server_socket_drops = within().map(|sample| sample.server_socket_drops).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{CpuSample, LoadRecord};

    /// Makes a trial of three seconds, of which the last one has rejections; samples of half a
    /// second.
    fn trial() -> TrialRecord {
        let sample = |at_s, busy_s, rss| MachineSample {
            at_s,
            interval_s: 0.5,
            cpus: vec![
                CpuSample { cpu: 1, busy_s, ..CpuSample::default() },
                CpuSample { cpu: 0, busy_s: 0.5, ..CpuSample::default() },
            ],
            server_rss_bytes: rss,
            server_socket_drops: 2,
            ..MachineSample::default()
        };
        TrialRecord {
            purpose: Purpose::Exhaustion,
            rate_per_s: 10.0,
            server_cpus: vec![1],
            timeline_s: Some(7.0),
            exhaustion: Some(crate::record::Exhaustion { pool_size: 20 }),
            load: Some(LoadRecord {
                timeline: Some(LoadTimeline {
                    start_ns: 1,
                    interval_s: 1.0,
                    points: vec![[10, 9, 0], [10, 11, 0], [10, 0, 10], [0; 3], [0; 3]],
                    rejected: vec![[0; 2], [0; 2], [8, 1], [0; 2], [0; 2]],
                    unanswered: vec![[0; 2], [0; 2], [0, 1], [0; 2], [0; 2]],
                    answers: Vec::new(),
                }),
                ..LoadRecord::default()
            }),
            samples: vec![
                sample(6.9, 0.5, 1),
                sample(7.5, 0.1, 2),
                sample(8.0, 0.3, 3),
                sample(9.6, 0.5, 4),
                sample(20.0, 0.5, 5),
            ],
            ..TrialRecord::default()
        }
    }

    #[test]
    fn samples_stand_beside_the_exchanges_of_their_second() {
        let long = long_trials(&[&trial()], 2.5);
        let [one] = long.as_slice() else { panic!("{long:?}") };
        assert_eq!((one.points.len(), one.pool_size, one.exhausted_s()), (3, Some(20), Some(2.0)));
        let seen: Vec<_> =
            one.points.iter().map(|p| (p.server_cpus_busy, p.server_rss_bytes)).collect();
        assert_eq!(seen, [(Some(0.4), Some(3)), (None, None), (Some(1.0), Some(4))]);
        let drops: Vec<u64> = one.points.iter().map(|point| point.server_socket_drops).collect();
        assert_eq!(drops, [4, 0, 2]);
        let last = one.points[2];
        assert_eq!((last.completed, last.rejected, last.unanswered), (0, [8, 1], [0, 1]));
        assert_eq!(one.first_s(|point| point.rejected != [0; 2]), Some(2.0));
    }

    #[test]
    fn short_void_and_failed_trials_are_left_out() {
        let mut without = trial();
        without.load.as_mut().unwrap().timeline = None;
        let mut missed = trial();
        missed.purpose = Purpose::Confirm;
        missed.load.as_mut().unwrap().exchanges.due = 10;
        let mut void = trial();
        void.void = vec![crate::record::VoidReason::Steal];
        let mut met = missed.clone();
        met.load.as_mut().unwrap().exchanges.on_time = 10;
        let long = long_trials(&[&without, &missed, &void, &met], 2.5);
        assert_eq!(long.iter().map(|of| of.purpose).collect::<Vec<_>>(), [Purpose::Confirm]);
        let mut elsewhere = trial();
        elsewhere.server_cpus.clear();
        let of = &long_trials(&[&elsewhere], 2.5)[0];
        assert_eq!((of.points[0].server_cpus_busy, of.points[0].server_rss_bytes), (None, None));
    }
}
