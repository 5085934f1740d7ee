//! What the requests of a run are held to.

use super::capture::Keep;
use super::dialect::Kind;
use super::lives::Habits;
use super::part::Part;
use super::resend::Resend;
use super::trace::Trace;

/// What requests are held to.
#[derive(Clone, Debug)]
pub struct Rules {
    /// From the due time to the answer, nanoseconds: of first requests, of all others.
    pub deadlines_ns: [u64; 2],
    /// How long a request is watched after its deadline, nanoseconds.
    pub grace_ns: u64,
    /// First requests only.
    pub is_offer_only: bool,
    /// Second requests at most.
    pub second_max: Option<u64>,
    /// Seconds after the start when first requests begin to say that they are old, and for how
    /// many seconds (`-Y`, `-y`).
    pub ages: Option<(u64, u64)>,
    /// Leases are renewed or released.
    pub keeps_leases: bool,
    /// Requests are sent again.
    pub resend: Option<Resend>,
    /// What the clients of a population do by themselves.
    pub habits: Option<Habits>,
    /// Clients say by ARP that they have their addresses.
    pub answers_arp: bool,
    /// Which messages are kept for a capture file.
    pub capture: Option<Keep>,
    /// What is kept for diagnostics.
    pub trace: Trace,
    /// Relay addresses.
    pub links: u32,
    /// Seed of all choices.
    pub seed: u64,
    /// Which part of the run this is.
    pub part: Part,
    /// First requests watched at a time.
    pub capacity: u64,
    /// Renewals and releases watched at a time, each.
    pub lease_capacity: u64,
    /// Leases compared.
    pub leases: u64,
    /// Addresses offered are compared too (`-u`).
    pub compares_offers: bool,
}

impl Rules {
    /// From the due time of a request of `kind` to its answer, nanoseconds.
    #[must_use]
    pub const fn deadline_ns(&self, kind: Kind) -> u64 {
        self.deadlines_ns[if matches!(kind, Kind::First) { 0 } else { 1 }]
    }
}
