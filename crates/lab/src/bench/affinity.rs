//! Servers that bind their threads to processors themselves (Knot does): the lab moves them back to
//! the servers' processor. On another one they would take the generator's time, and be in no
//! figure.

use testbed::proc;

use super::ProcessBench;

impl ProcessBench<'_> {
    /// Moves those threads of the server at `position` that run elsewhere back to the servers'
    /// processor.
    pub(super) fn keep_at_processor(&mut self, position: usize) {
        let (service, cpu) = (&self.services[position], self.processors.server);
        let Some(started) = service.started.as_ref().filter(|started| !started.is_remote) else {
            return;
        };
        let threads = proc::process_tree(started.process.pid()).into_iter().flat_map(proc::threads);
        // A thread that has ended meanwhile cannot be moved.
        let is_brought = |&thread: &u32| netio::thread::bring_to_cpu(thread, cpu).unwrap_or(false);
        if threads.filter(is_brought).count() == 0 {
            return;
        }
        let note = format!(
            "{} binds its threads to processors itself; the lab moved them back to the servers' \
             processor ({cpu}).",
            service.subject.label()
        );
        if !self.warnings.contains(&note) {
            self.warnings.push(note);
        }
    }
}
