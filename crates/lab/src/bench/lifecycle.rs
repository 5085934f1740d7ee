//! End of servers with a check of their leases, and their start without leases.
//!
//! A run must not inherit the leases of the one before: a server is slower the fuller its pool, and
//! the ninth run would measure another server than the first.

use std::path::PathBuf;

use testbed::TopologySide;

use super::ProcessBench;
use super::service::MeasuredServer;
use crate::driver::{self, features};
use crate::error::LabError;
use crate::leases::{self, LeaseCheckResult};
use crate::subject_id::SubjectId;

impl ProcessBench<'_> {
    /// Ends the server at `position` in order (SIGTERM) and looks for every assigned lease in its
    /// lease file; removes lists and lease files unless a lease is missing.
    fn end_server(&mut self, position: usize) {
        if self.services[position].started.is_none() {
            return;
        }
        // A lease that has ended leaves its address to other clients.
        let is_one_owner_due =
            self.origin.elapsed().as_secs_f64() < f64::from(self.plan.server.lease_time_s);
        let label = self.services[position].subject.label();
        self.progress.step(&format!("ending {label}"));
        for half in self.subject_servers(position) {
            self.stop_server(half);
        }
        // The file was made for the run, and is large.
        let reservations = self.services[position].folder.join(features::RESERVATIONS_FILE);
        let _ = std::fs::remove_file(reservations);
        let lists = std::mem::take(&mut self.services[position].lists);
        let service = &self.services[position];
        let Some(lease_file) = service.lease_file() else { return };
        self.progress.step(&format!("verifying the leases of {label}"));
        let written = self.write_leases(service).map_err(|e| e.to_string());
        match written.and_then(|()| leases::verify(&label, &lists, lease_file)) {
            Ok(mut result) => {
                if !is_one_owner_due {
                    (result.shared, result.sharing) = (0, Vec::new());
                }
                let rows = lease_file.companions();
                if result.is_complete() {
                    for path in rows.iter().chain(&lists) {
                        let _ = std::fs::remove_file(path);
                    }
                } else {
                    keep_lease_files(&rows, service);
                }
                self.verified.push(result);
            }
            Err(e) => self.problems.push(format!("{label}: leases not verified: {e}")),
        }
    }

    /// Ends all servers; returns the check of each server's leases, with all its runs together, and
    /// the problems that prevented a check.
    pub fn end_servers(&mut self) -> (Vec<LeaseCheckResult>, Vec<String>) {
        for position in 0..self.subjects {
            self.end_server(position);
        }
        (
            LeaseCheckResult::by_server(std::mem::take(&mut self.verified)),
            std::mem::take(&mut self.problems),
        )
    }

    /// Starts the servers of `subjects` anew, without the leases of the run before.
    pub(super) fn start_all_anew(&mut self, subjects: &[SubjectId]) -> Result<(), LabError> {
        for position in subjects.iter().map(|subject| subject.position()) {
            self.end_server(position);
            let service = &self.services[position];
            self.empty_store(&service.store)?;
            if let Some(lease_file) = service.lease_file() {
                keep_lease_files(&lease_file.companions(), service);
            }
            for half in self.subject_servers(position) {
                self.start_process_anew(half)?;
            }
        }
        Ok(())
    }

    fn start_process_anew(&mut self, position: usize) -> Result<(), LabError> {
        let service = &self.services[position];
        let subject = service.subject.clone();
        self.progress.step(&format!("starting {} again", subject.label()));
        let (address, topology) = (service.address, service.topology.clone());
        let (pool_size, store) = (service.terms.pool_size, service.store.clone());
        let deployment = self.deployment(&subject, pool_size, address, &topology, store);
        let prepared = driver::prepare(&subject, &deployment)?;
        let cpu = Some(self.processors.server);
        let command = topology.command(TopologySide::Server, cpu, prepared.command.clone());
        let command = self.command_at_server_machine(position, &deployment.folder, command)?;
        let service = &mut self.services[position];
        service.next_client = 0;
        if let Some(started) = &mut service.started {
            (started.prepared, started.command) = (prepared, command);
            started.restart(&service.folder)?;
            self.run.register_group(started.process.pid())?;
        }
        self.wait_until_it_answers(position)
    }
}

/// Renames the lease files of a run with missing leases, so that they are kept when the next run
/// writes its own.
fn keep_lease_files(files: &[PathBuf], service: &MeasuredServer) {
    let generation = service.started.as_ref().map_or(0, |started| started.generation);
    for file in files {
        let mut name = std::ffi::OsString::from(format!("run-{generation}-"));
        name.push(file.file_name().unwrap_or_default());
        let _ = std::fs::rename(file, file.with_file_name(name));
    }
}
