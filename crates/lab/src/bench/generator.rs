//! Command line of the generator for one trial, by the plan's protocol.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use measure::plan::ServerFeature;
use measure::record::Purpose;
use testbed::{CommandLine, MeasurementTopology, TopologySide};

use super::service::Service;
use super::topology::BenchTopology;
use super::{avalanche, perfdhcp, restart};
use crate::driver::features;
use crate::family::AddressFamily;
use crate::trial::{self, TrialRequest};

/// Name of the file with the generator's record, in the trial's folder.
pub(super) const RECORD: &str = "load.json";
/// Name of the file with the leases that clients got, in the trial's folder.
pub(super) const LIST: &str = "leases.csv";
/// Interval of the generator's counts in trials of [`LONG_S`] and longer, in seconds.
const INTERVAL_S: &str = "1";
/// Least length of a trial whose counts the generator records second by second, in seconds.
const LONG_S: f64 = 10.0;

/// Addresses that a generator sends messages from and to.
#[derive(Clone, Copy)]
pub(super) struct GeneratorAddresses {
    /// Address of the relay agent that the generator plays.
    pub(super) relay: SocketAddr,
    /// Address of the server that the generator loads.
    pub(super) server: SocketAddr,
}

/// Part of a trial's load that one generator sends, when several divide it.
#[derive(Clone, Copy, Debug)]
pub(super) struct From {
    /// Address of the generator; for DHCP it is that of the relay agent that the generator plays.
    pub(super) relay: SocketAddr,
    /// Number of clients that belong to other generators and come before this generator's own.
    pub(super) skipped: u32,
    /// Begin of the load on the generator's own clock, in nanoseconds; `None` when the generator is
    /// alone and begins as soon as it is ready.
    pub(super) begin_at_ns: Option<u64>,
}

impl BenchTopology<'_> {
    /// Makes the generator's command line for the trial of `request` with `service`, and the path
    /// of the file with its clients' leases if they will be checked.
    pub(super) fn generator(
        &self,
        service: &Service,
        request: &TrialRequest,
        seed: u64,
        folder: &Path,
        from: From,
    ) -> (CommandLine, Option<PathBuf>) {
        let server = &service.server;
        let cpu = Some(self.processors.generator);
        let addresses = GeneratorAddresses { relay: self.relay, server: server.address };
        if server.subject.feature == ServerFeature::Perfdhcp {
            let command = perfdhcp::command(addresses, request, server.terms.clients);
            return (server.network.command(TopologySide::Client, cpu, command), None);
        }
        if request.purpose == Purpose::Avalanche {
            let command = avalanche::command(
                &self.godwit,
                &folder.join(avalanche::REPORT),
                self.family.version(),
                addresses,
                request,
                seed,
            );
            return (server.network.command(TopologySide::Client, cpu, command), None);
        }
        let mut command = CommandLine::new(self.godwit.to_string_lossy());
        command = if self.family.protocol.is_dhcp() {
            self.dhcp_load(command, service, request, from)
        } else {
            self.dns_load(command, service, from)
        };
        command = command
            .args(["--rate", &format!("{:.3}", request.rate_per_s)])
            .args(["--duration", &request.dwell_s.to_string()])
            .args(["--seed", &seed.to_string()])
            .args(["--deadline-s", &self.plan.search.deadline_s.to_string()])
            .args(["--drain-s", &self.drain_s(request).to_string()])
            .args(["--json", &folder.join(RECORD).to_string_lossy()]);
        if let Some(begin_at_ns) = from.begin_at_ns {
            command = command.args(["--begin-at-ns", &begin_at_ns.to_string()]);
        }
        if let Some(interval_s) = self.count_interval(service, request) {
            command = command.args(["--timeline-s", interval_s]);
        }
        let mut list = None;
        let keeps_leases = !server.subject.feature.releases_leases();
        if server.lease_file().is_some() && keeps_leases {
            let path = folder.join(LIST);
            command = command.args(["--leases", &path.to_string_lossy()]);
            list = Some(path);
        }
        // The processor of a generator on another machine is chosen there.
        let cpu = if self.has_remote_generators() { None } else { cpu };
        (server.network.command(TopologySide::Client, cpu, command), list)
    }

    /// Returns the time for which the generator waits for late answers after a trial, in seconds,
    /// so that these are in the latencies: the deadline, 1 s at most. The criterion treats late and
    /// lost alike, so a search does not wait for late answers.
    fn drain_s(&self, request: &TrialRequest) -> f64 {
        if request.purpose == Purpose::Search { 0.0 } else { self.plan.search.deadline_s.min(1.0) }
    }

    /// Returns the interval of the generator's counts in the trial of `request`, in seconds; `None`
    /// when the trial does not use counts by interval.
    fn count_interval(&self, service: &Service, request: &TrialRequest) -> Option<&'static str> {
        if request.purpose.ends_database() {
            return Some(restart::INTERVAL_S);
        }
        let is_limit = service.server.subject.is_limit();
        let is_long = request.dwell_s >= LONG_S && !is_limit;
        let has_intervals = request.purpose == Purpose::Exhaustion || is_long;
        (has_intervals && self.family.protocol.is_dhcp()).then_some(INTERVAL_S)
    }

    /// Adds to `command` a load of whole DHCP exchanges of clients that the server has not seen.
    fn dhcp_load(
        &self,
        command: CommandLine,
        service: &Service,
        request: &TrialRequest,
        from: From,
    ) -> CommandLine {
        let server = &service.server;
        let (first_client, _) = server.terms.next_clients(service.next_client, request);
        let first_client = first_client + from.skipped;
        let exhausts = request.purpose == Purpose::Exhaustion;
        // With 0 no client comes twice and gets its address again.
        let clients = if exhausts { 0 } else { server.terms.clients };
        let mut command = command
            .args(["load", self.family.protocol.name()])
            .args(["--server", &server.address.to_string()])
            .args(second_server(service).iter().map(String::as_str))
            .args(["--relay", &from.relay.to_string()])
            .args(["--clients", &clients.to_string()])
            .args(["--client-offset", &first_client.to_string()]);
        if self.family.version() == AddressFamily::V6 {
            command = command.args(["--ia", "na"]);
        }
        let (feature, version) = (server.subject.feature, self.family.version());
        if version == AddressFamily::V6 && !features::has_links(feature) {
            command = command.args(["--link-address", &self.link.to_string()]);
        }
        let words = features::generator_words(feature, version);
        command = command.args(words.iter().map(String::as_str));
        if let Some(quiet_s) = trial::quiet_s(&self.plan.search, request.purpose) {
            command = command.args(["--quiet-s", &quiet_s.to_string()]);
        }
        if self.plan.clients.turn_us > 0 {
            command = command.args(["--turn-us", &self.plan.clients.turn_us.to_string()]);
        }
        let frames = self.frame_words(service);
        if server.reads_frames() && frames.is_empty() {
            command = command.args(["--segmentation", "off"]);
        }
        command = command.args(frames.iter().map(String::as_str));
        if server.subject.is_limit() { command.arg("--echo") } else { command }
    }

    /// Adds to `command` a load of one DNS query, sent again and again.
    fn dns_load(&self, command: CommandLine, service: &Service, from: From) -> CommandLine {
        let (dns, server) = (self.plan.dns, &service.server);
        let command = command
            .args(["dns", "load", "--server", &server.address.to_string()])
            .args(["--local", &from.relay.ip().to_string()])
            .args(["--ports", &dns.ports.to_string()]);
        let frames = self.frame_words(service);
        let command = command.args(frames.iter().map(String::as_str));
        if dns.segmentation { command.arg("--segmentation") } else { command }
    }

    /// Returns the generator's arguments that make messages leave as frames (AF_XDP), if the plan
    /// wants that and it is possible.
    fn frame_words(&self, service: &Service) -> Vec<String> {
        match &service.server.network {
            // Each of two servers has a thread, and the interface one queue only.
            MeasurementTopology::Namespaces { client_interface, server_mac, .. }
                if self.sends_frames && service.second.is_none() =>
            {
                ["--interface", client_interface, "--server-mac", server_mac]
                    .map(str::to_owned)
                    .into()
            }
            _ => Vec::new(),
        }
    }
}

/// Returns the generator's arguments that send half of the load to the second server on the same
/// database, if `service` has one.
fn second_server(service: &Service) -> Vec<String> {
    let Some(second) = &service.second else { return Vec::new() };
    let address = second.address.to_string();
    ["--second-server", &address, "--threads", "2"].map(str::to_owned).into()
}
