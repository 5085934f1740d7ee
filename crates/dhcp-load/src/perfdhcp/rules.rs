//! Deadlines and bounds of a run's requests.

use super::capture::Keep;
use super::dialect::ExchangeKind;
use super::lifecycle::LifecycleSettings;
use super::part::GeneratorPart;
use super::resend::Resend;
use super::trace::Trace;

/// Deadlines and bounds of requests.
#[derive(Clone, Debug)]
pub struct RequestRules {
    /// Longest time from the due time to the reply, in nanoseconds: of first requests, of all
    /// others.
    pub deadlines_ns: [u64; 2],
    /// Time for which a request is watched after its deadline, in nanoseconds.
    pub grace_ns: u64,
    /// True if clients send first requests only.
    pub is_offer_only: bool,
    /// Largest number of second requests.
    pub second_max: Option<u64>,
    /// Second after the start from which first requests have the elapsed time set, and the number
    /// of seconds for which they do (`-Y`, `-y`).
    pub ages: Option<(u64, u64)>,
    /// True if clients renew or release leases.
    pub keeps_leases: bool,
    /// Rule for sending requests again.
    pub resend: Option<Resend>,
    /// Settings of a population of clients.
    pub habits: Option<LifecycleSettings>,
    /// True if clients answer ARP requests for their addresses.
    pub answers_arp: bool,
    /// Selection of messages for a capture file.
    pub capture: Option<Keep>,
    /// Selection of data for diagnostics.
    pub trace: Trace,
    /// Number of relay addresses.
    pub links: u32,
    /// Seed of all choices.
    pub seed: u64,
    /// Part of the run that this generator carries.
    pub part: GeneratorPart,
    /// Number of first requests watched at a time.
    pub capacity: u64,
    /// Number of renewals and of releases watched at a time, each.
    pub lease_capacity: u64,
    /// Number of leases compared.
    pub leases: u64,
    /// True if offered addresses are compared too (`-u`).
    pub compares_offers: bool,
}

impl RequestRules {
    /// Returns the longest time from the due time of a request of `kind` to its reply, in
    /// nanoseconds.
    #[must_use]
    pub const fn deadline_ns(&self, kind: ExchangeKind) -> u64 {
        self.deadlines_ns[if matches!(kind, ExchangeKind::First) { 0 } else { 1 }]
    }
}
