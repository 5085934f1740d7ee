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
        let mut is_complete = true;
        for server in std::iter::once(&self.server).chain(&self.partner) {
            is_complete &= topology.verify_leases(server, &lists, is_one_owner_due, recorder);
        }
        if is_complete {
            for path in &lists {
                let _ = std::fs::remove_file(path);
            }
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
        for server in std::iter::once(&self.server).chain(&self.partner) {
            if let Some(lease_file) = server.lease_file() {
                keep_lease_files(&lease_file.companions(), server);
            }
        }
        self.next_client = 0;
        // A server that waits for its partner does not answer clients.
        for server in self.servers_mut() {
            recorder.progress.step(&format!("starting {} again", server.subject.label()));
            let (prepared, command) = server.prepare(topology)?;
            if let Some(started) = &mut server.started {
                (started.prepared, started.command) = (prepared, command);
            }
            server.start_again(topology)?;
        }
        for server in self.serving_mut() {
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

impl BenchTopology<'_> {
    /// Looks for the assigned leases of `lists` in the lease file of `server`, and removes the file
    /// unless one is missing. Returns false if one is missing, or if the file cannot be read.
    fn verify_leases(
        &self,
        server: &MeasuredServer,
        lists: &[PathBuf],
        is_one_owner_due: bool,
        recorder: &mut RunRecorder<'_>,
    ) -> bool {
        let Some(lease_file) = server.lease_file() else { return false };
        let label = server.subject.label();
        recorder.progress.step(&format!("verifying the leases of {label}"));
        let written = self.write_leases(server).map_err(|e| e.to_string());
        let mut result = match written.and_then(|()| leases::verify(&label, lists, lease_file)) {
            Ok(result) => result,
            Err(e) => {
                recorder.problems.push(format!("{label}: leases not verified: {e}"));
                return false;
            }
        };
        if !is_one_owner_due {
            (result.shared, result.sharing) = (0, Vec::new());
        }
        let (rows, is_complete) = (lease_file.companions(), result.is_complete());
        if is_complete {
            for path in &rows {
                let _ = std::fs::remove_file(path);
            }
        } else {
            keep_lease_files(&rows, server);
        }
        recorder.verified.push(result);
        is_complete
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
