//! Servers that bind their threads to processors themselves (Knot does): the lab moves them back to
//! the servers' processor. On another one they would take the generator's time, and be in no
//! figure.

use testbed::proc;

use super::recorder::RunRecorder;
use super::service::MeasuredServer;

impl MeasuredServer {
    /// Moves those threads of the server that run elsewhere back to the servers' processor `cpu`.
    pub(super) fn keep_at_processor(&self, cpu: usize, recorder: &mut RunRecorder<'_>) {
        let Some(pid) = self.pid() else { return };
        let threads = proc::process_tree(pid).into_iter().flat_map(proc::threads);
        // A thread that has ended meanwhile cannot be moved.
        let is_brought = |&thread: &u32| netio::thread::bring_to_cpu(thread, cpu).unwrap_or(false);
        if threads.filter(is_brought).count() == 0 {
            return;
        }
        recorder.warn_once(format!(
            "{} binds its threads to processors itself; the lab moved them back to the servers' \
             processor ({cpu}).",
            self.subject.label()
        ));
    }
}
