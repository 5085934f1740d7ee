//! End of servers with a check of their leases, and their start without leases.
//!
//! A run must not inherit the leases of the one before: a server is slower the fuller its pool, and
//! the ninth run would measure another server than the first.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use measure::record::Exhaustion;

use super::recorder::RunRecorder;
use super::service::{MeasuredServer, Service};
use super::topology::BenchTopology;
use crate::driver::features;
use crate::error::LabResult;
use crate::leases;
use crate::trial::TrialRequest;

impl Service {
    /// Ends the servers in order (SIGTERM) and looks for every assigned lease in their lease file;
    /// removes lists and lease files unless a lease is missing.
    pub(super) fn end(&mut self, topology: &mut BenchTopology<'_>, recorder: &mut RunRecorder<'_>) {
        if self.server.started.is_none() {
            return;
        }
        // A lease that has ended leaves its address to other clients.
        let is_one_owner_due = recorder.elapsed_s() < f64::from(topology.plan.server.lease_time_s);
        let label = self.server.subject.label();
        recorder.progress.step(&format!("ending {label}"));
        for server in self.servers_mut() {
            topology.stop_server(server, recorder);
        }
        // These files were made for the run, and are large.
        let _ = std::fs::remove_file(self.server.folder.join(features::RESERVATIONS_FILE));
        features::remove_event_files(&self.server.folder);
        let lists = std::mem::take(&mut self.lists);
        let Some(lease_file) = self.server.lease_file() else { return };
        recorder.progress.step(&format!("verifying the leases of {label}"));
        let written = topology.write_leases(&self.server).map_err(|e| e.to_string());
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
                    keep_lease_files(&rows, &self.server);
                }
                recorder.verified.push(result);
            }
            Err(e) => recorder.problems.push(format!("{label}: leases not verified: {e}")),
        }
    }

    /// Starts the servers anew, without the leases of the run before.
    pub(super) fn start_anew(
        &mut self,
        topology: &mut BenchTopology<'_>,
        stop: &AtomicBool,
        recorder: &mut RunRecorder<'_>,
    ) -> LabResult<()> {
        self.end(topology, recorder);
        topology.empty_store(&self.server.store)?;
        if let Some(lease_file) = self.server.lease_file() {
            keep_lease_files(&lease_file.companions(), &self.server);
        }
        self.next_client = 0;
        for server in self.servers_mut() {
            recorder.progress.step(&format!("starting {} again", server.subject.label()));
            let (prepared, command) = server.prepare(topology)?;
            if let Some(started) = &mut server.started {
                (started.prepared, started.command) = (prepared, command);
            }
            server.start_again(topology)?;
            server.wait_until_it_answers(topology, stop, recorder)?;
        }
        Ok(())
    }

    /// Starts the servers anew for the trial of `request`, without leases and with an address pool
    /// that runs out at the plan's time; returns the size of the pool.
    pub(super) fn start_with_short_pool(
        &mut self,
        request: &TrialRequest,
        topology: &mut BenchTopology<'_>,
        stop: &AtomicBool,
        recorder: &mut RunRecorder<'_>,
    ) -> LabResult<Exhaustion> {
        let exhaustion = topology.plan.exhaustion;
        let pool_size = exhaustion.pool_size(request.rate_per_s, request.dwell_s);
        for server in self.servers_mut() {
            server.terms.pool_size = server.terms.pool_size.min(pool_size);
        }
        self.start_anew(topology, stop, recorder)?;
        Ok(Exhaustion { pool_size: self.server.terms.pool_size })
    }
}

/// Renames the lease files of a run with missing leases, so that they are kept when the next run
/// writes its own.
fn keep_lease_files(files: &[PathBuf], server: &MeasuredServer) {
    let generation = server.started.as_ref().map_or(0, |started| started.generation);
    for file in files {
        let mut name = std::ffi::OsString::from(format!("run-{generation}-"));
        name.push(file.file_name().unwrap_or_default());
        let _ = std::fs::rename(file, file.with_file_name(name));
    }
}
