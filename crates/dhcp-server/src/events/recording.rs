//! Beginning and end of the recording of lease events, and the thread that moves them into the
//! feed.

use std::sync::{Arc, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use dhcp_lease::{EventOverflow, ExchangeDetail};

use super::{FeedState, feed_until_end, spawn};
use crate::ServerError;
use crate::service::DaemonFamily;

/// Reasons to record events, and the thread of the feed.
#[derive(Debug, Default)]
pub(super) struct EventRecorder {
    feeder: Option<JoinHandle<()>>,
    /// True from the start of the thread on.
    has_started: bool,
    /// Number of the groups for which events are recorded: the listeners of the configuration, and
    /// the subscribers.
    users: usize,
}

impl EventRecorder {
    /// Returns the thread of the feed, if it was started.
    pub(super) const fn take_feeder(&mut self) -> Option<JoinHandle<()>> {
        self.feeder.take()
    }
}

impl<P: DaemonFamily> FeedState<P> {
    pub(super) fn recorder(&self) -> MutexGuard<'_, EventRecorder> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records events for one more group of listeners, and their exchanges at least in
    /// `exchange_detail`. `overflow` counts if nothing is recorded yet, or if it keeps all.
    ///
    /// # Errors
    ///
    /// [`ServerError::System`] if the system refuses the thread of the feed.
    pub(super) fn begin_recording(
        self: &Arc<Self>,
        overflow: EventOverflow,
        exchange_detail: ExchangeDetail,
    ) -> Result<(), ServerError> {
        let mut recorder = self.recorder();
        if !recorder.has_started {
            let state = Arc::clone(self);
            recorder.feeder = Some(spawn("events", move || feed_until_end(&state))?);
            recorder.has_started = true;
        }
        recorder.users += 1;
        // Under the lock, and before the first event: a listener may need to know which events are
        // of clients.
        self.table.record_exchanges(exchange_detail);
        if recorder.users == 1 || overflow == EventOverflow::Keep {
            self.table.record_events(overflow);
        }
        drop(recorder);
        self.wakeup.signal.notify();
        Ok(())
    }

    /// Ends the recording of events for one group of listeners.
    pub(super) fn end_recording(&self) {
        let mut recorder = self.recorder();
        recorder.users -= 1;
        if recorder.users == 0 {
            self.table.stop_recording_events();
            self.table.stop_recording_exchanges();
        }
    }
}
