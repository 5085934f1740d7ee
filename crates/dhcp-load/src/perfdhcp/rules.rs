//! Deadlines and limits of a perfdhcp run's requests.

use super::capture::Keep;
use super::dialect::ExchangeKind;
use super::lifecycle::LifecycleSettings;
use super::part::GeneratorPart;
use super::resend::Resend;
use super::trace::Trace;

/// Deadlines and limits of a perfdhcp run's requests.
#[derive(Clone, Debug)]
pub struct RequestRules {
    /// Longest time from a request's due time to its reply, in nanoseconds: of first requests, and
    /// of all others.
    pub deadlines_ns: [u64; 2],
    /// Time after a request's deadline for which the generator still watches for its reply, in
    /// nanoseconds, to tell late replies from lost ones.
    pub grace_ns: u64,
    /// True if clients send first requests only, and take up no offer.
    pub is_offer_only: bool,
    /// Largest number of second requests; `None` for any number.
    pub second_max: Option<u64>,
    /// Second after the start from which first requests state an elapsed time above 0, and the
    /// number of seconds for which they do (`-Y`, `-y`).
    pub ages: Option<(u64, u64)>,
    /// True if clients renew or release leases.
    pub keeps_leases: bool,
    /// Rule by which clients send requests again; `None` if they do not.
    pub resend: Option<Resend>,
    /// Settings of a lifecycle population of clients; `None` for other scenarios.
    pub habits: Option<LifecycleSettings>,
    /// True if clients answer ARP requests for their addresses.
    pub answers_arp: bool,
    /// Selection of messages for a capture file; `None` without one.
    pub capture: Option<Keep>,
    /// Selection of data that is kept for diagnostics (`-x`).
    pub trace: Trace,
    /// Number of relay addresses of the run.
    pub links: u32,
    /// Seed of all random choices of the run.
    pub seed: u64,
    /// Part of the perfdhcp run that this generator carries.
    pub part: GeneratorPart,
    /// Largest number of first requests whose replies the generator awaits at a time.
    pub capacity: u64,
    /// Largest number of renewals, and of releases, whose replies the generator awaits at a time.
    pub lease_capacity: u64,
    /// Number of leases for which there is memory to compare them.
    pub leases: u64,
    /// True if offered addresses are compared as well as granted leases (`-u`).
    pub compares_offers: bool,
}

impl RequestRules {
    /// Returns the longest time from the due time of a request of `kind` to its reply, in
    /// nanoseconds.
    pub const fn deadline_ns(&self, kind: ExchangeKind) -> u64 {
        self.deadlines_ns[if matches!(kind, ExchangeKind::First) { 0 } else { 1 }]
    }
}
