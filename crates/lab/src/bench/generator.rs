//! The generator's command line for one trial, by the plan's protocol.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use measure::plan::Feature;
use measure::record::Purpose;
use testbed::{CommandLine, Side, Topology};

use super::service::Service;
use super::{ProcessBench, avalanche, exhaustion, perfdhcp, restart};
use crate::driver::features;
use crate::family::Version;
use crate::runner::Request;

/// The file with the generator's record, in the trial's folder.
pub(super) const RECORD: &str = "load.json";
/// The file with the leases that clients were given.
pub(super) const LIST: &str = "leases.csv";

/// Which part of the load a generator has.
#[derive(Clone, Copy, Debug)]
pub(super) struct From {
    /// Where it is; for DHCP it plays the relay there.
    pub(super) relay: SocketAddr,
    /// Clients that are left to others before its own.
    pub(super) skipped: u32,
    /// When it begins, on its own clock; as soon as it is ready when it is alone.
    pub(super) begin_at_ns: Option<u64>,
}

impl ProcessBench<'_> {
    /// The generator's command line, and the file for its leases where they will be verified.
    pub(super) fn generator(
        &self,
        request: &Request,
        seed: u64,
        folder: &Path,
        from: From,
    ) -> (CommandLine, Option<PathBuf>) {
        let service = &self.services[request.subject];
        let cpu = Some(self.processors.generator);
        if service.subject.feature == Feature::Perfdhcp {
            let command = perfdhcp::command(
                (self.relay, service.address),
                (request.rate_per_s, request.dwell_s),
                (request.number, service.terms.clients),
            );
            return (service.topology.command(Side::Client, cpu, command), None);
        }
        if request.purpose == Purpose::Avalanche {
            let command = avalanche::command(
                (&self.godwit, &folder.join(avalanche::REPORT)),
                self.family.version(),
                (self.relay, service.address),
                (request.rate_per_s, request.dwell_s),
                (request.number, seed),
            );
            return (service.topology.command(Side::Client, cpu, command), None);
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
        if let Some(interval_s) = self.timeline_of(request) {
            command = command.args(["--timeline-s", interval_s]);
        }
        let mut list = None;
        let is_kept = !service.subject.feature.gives_back();
        if service.lease_file().is_some() && is_kept {
            let path = folder.join(LIST);
            command = command.args(["--leases", &path.to_string_lossy()]);
            list = Some(path);
        }
        // On another machine its own processor is chosen there.
        let cpu = cpu.filter(|_| !self.has_far_generators());
        (service.topology.command(Side::Client, cpu, command), list)
    }

    /// How long late answers are waited for, which are in the latencies: as long as the deadline, 1
    /// s at most. Late and lost are one for the criterion, so a search does not wait for them.
    fn drain_s(&self, request: &Request) -> f64 {
        if request.purpose == Purpose::Search { 0.0 } else { self.plan.search.deadline_s.min(1.0) }
    }

    /// Intervals by which the generator counts in this trial, seconds; `None` where nobody looks.
    fn timeline_of(&self, request: &Request) -> Option<&'static str> {
        if request.purpose.ends_database() {
            return Some(restart::INTERVAL_S);
        }
        let is_limit = self.services[request.subject].subject.is_limit();
        let is_long = request.dwell_s >= exhaustion::LONG_S && !is_limit;
        let is_told = request.purpose == Purpose::Exhaustion || is_long;
        (is_told && self.family.protocol.is_dhcp()).then_some(exhaustion::INTERVAL_S)
    }

    /// Whole exchanges of clients that the server has not seen.
    fn dhcp_load(
        &self,
        command: CommandLine,
        service: &Service,
        request: &Request,
        from: From,
    ) -> CommandLine {
        let (first_client, _) = service.terms.next_clients(service.next_client, request);
        let first_client = first_client + from.skipped;
        let exhausts = request.purpose == Purpose::Exhaustion;
        // 0: nobody comes twice, to be given again what he has.
        let clients = if exhausts { 0 } else { service.terms.clients };
        let mut command = command
            .args(["load", self.family.protocol.name()])
            .args(["--server", &service.address.to_string()])
            .args(self.second_server(service).iter().map(String::as_str))
            .args(["--relay", &from.relay.to_string()])
            .args(["--clients", &clients.to_string()])
            .args(["--client-offset", &first_client.to_string()]);
        if self.family.version() == Version::V6 {
            command = command.args(["--ia", "na"]);
        }
        let (feature, version) = (service.subject.feature, self.family.version());
        if version == Version::V6 && !features::has_links(feature) {
            command = command.args(["--link-address", &self.link.to_string()]);
        }
        let words = features::generator_words(feature, version);
        command = command.args(words.iter().map(String::as_str));
        let quiet_s = self.plan.search.quiet_s;
        let confirms = request.purpose == Purpose::Confirm;
        let waits = confirms || exhausts || request.purpose.ends_database();
        if !waits && quiet_s > 0.0 {
            command = command.args(["--quiet-s", &quiet_s.to_string()]);
        }
        if self.plan.clients.turn_us > 0 {
            command = command.args(["--turn-us", &self.plan.clients.turn_us.to_string()]);
        }
        let frames = self.frame_words(service);
        if service.reads_frames() && frames.is_empty() {
            command = command.args(["--segmentation", "off"]);
        }
        command = command.args(frames.iter().map(String::as_str));
        if service.subject.is_limit() { command.arg("--echo") } else { command }
    }

    /// The one query, over and over.
    fn dns_load(&self, command: CommandLine, service: &Service, from: From) -> CommandLine {
        let dns = self.plan.dns;
        let command = command
            .args(["dns", "load", "--server", &service.address.to_string()])
            .args(["--local", &from.relay.ip().to_string()])
            .args(["--ports", &dns.ports.to_string()]);
        let frames = self.frame_words(service);
        let command = command.args(frames.iter().map(String::as_str));
        if dns.segmentation { command.arg("--segmentation") } else { command }
    }

    /// The words that have messages leave as frames, where that is wanted and can be.
    fn frame_words(&self, service: &Service) -> Vec<String> {
        match &service.topology {
            // Of two servers each has a thread, and the interface one queue only.
            Topology::Namespaces { client_interface, server_mac, .. }
                if self.sends_frames && service.partner.is_none() =>
            {
                ["--interface", client_interface, "--server-mac", server_mac]
                    .map(str::to_owned)
                    .into()
            }
            _ => Vec::new(),
        }
    }

    /// The words that send half of the load to the second server, where there is one.
    fn second_server(&self, service: &Service) -> Vec<String> {
        let Some(partner) = service.partner else { return Vec::new() };
        let address = self.services[partner].address.to_string();
        ["--second-server", &address, "--threads", "2"].map(str::to_owned).into()
    }
}
