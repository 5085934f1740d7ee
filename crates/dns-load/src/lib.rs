//! DNS load: queries on an open-loop schedule from many ports, each accounted for; and the
//! responder that answers without any data, to find the highest rate that generator and kernel
//! reach without a server and to test the generator with its faults.
//!
//! The crate owns queries, their file and zones made from a seed, the checks of answers, the loop
//! over sockets and the records `godwit.load.v1` and `godwit.dns-echo.v1`. Crate `dns-wire` owns
//! messages, crate `load` schedules, open exchanges and the ledger, crate `netio` sockets, and
//! crate `measure` the comparison of records across runs. Read before changing this crate: RFC 1035
//! section 4, RFC 6891, docs/book/dns.md.

mod args;
mod capture;
mod cookie;
mod datagrams;
mod dnsperf;
mod drive;
pub mod echo;
mod edns;
mod exchanges;
mod expected;
mod identities;
mod input;
mod metrics;
mod pacer;
mod queries;
mod query_file;
mod query_selection;
mod record;
mod resperf;
mod run;
mod search;
mod settings;
mod silence;
mod tally;
mod tcp;
mod zone;

use std::process::ExitCode;

pub use exchanges::{Answered, Exchanges, OutgoingQuery};
pub use expected::ExpectedAnswer;
pub use identities::QueryIdentities;
pub use queries::QueryWorkload;
pub use record::DnsLoadReport;
pub use run::run;
pub use settings::{DnsLoadSettings, Transport};
pub use tally::{AnswerFault, DnsMessageTally};
pub use tcp::ConnectionCounts;
pub use zone::{NAMES_MAX, Zone, ZoneLike, ZoneOrigin};

/// Commands below `godwit dns`.
#[derive(Debug, clap::Subcommand)]
pub enum DnsCommand {
    /// Send DNS queries at a fixed rate and check every answer, or search for the highest rate.
    ///
    /// Open loop: a query is due at its time in the schedule, whatever happened to earlier queries,
    /// and its latency counts from then. An answer must come from the server to the query's port,
    /// with its identifier and question. FILE has a name and a type per line, as for dnsperf, or is
    /// a capture; its queries are sent in turn, again and again. --zone-like sends queries for a
    /// zone made from a seed and compares each answer with the expected one.
    ///
    /// Flags of one letter are dnsperf's. Without -Q, -q and a replay, runs of two seconds, or of
    /// -l, search for the highest rate at which 97.5 % of the queries are answered in time. Through
    /// a link named dnsperf, this program takes dnsperf's command line and prints dnsperf's output.
    ///
    /// Exit codes: 0 done; 1 failed at run time, or TCP connections could not be opened before the
    /// run; 2 bad arguments or a bad query file; 3 more queries than --max-loss allows were not
    /// answered in time, all were lost, or a search found no rate; 130 interrupted.
    Load(Box<args::DnsLoadArgs>),
    /// Load-test a DNS server with dnsperf's command line and output.
    ///
    /// Exit codes: 0 done, or interrupted; 1 failed at run time; 2 bad arguments or a bad query
    /// file; 3 every query was lost.
    #[command(hide = true)]
    Dnsperf(dnsperf::DnsperfArgs),
    /// Print the `godwit dns load` commands for a resperf command line.
    ///
    /// Exit code: 2.
    #[command(hide = true)]
    Resperf(resperf::ResperfArgs),
    /// Answer every DNS query with a copy, to measure the highest rate of kernel and generator.
    ///
    /// The responder sends each query back with QR set, until SIGINT or SIGTERM, and then prints
    /// its counts. Faults, drawn from a seed, test generators. A SHARE is like 5% or 0.05; without
    /// one, a fault that takes a value affects every query.
    ///
    /// Exit codes: 0 ended by SIGINT or SIGTERM; 1 failed at run time; 2 bad arguments.
    Echo(echo::DnsEchoArgs),
    /// Make a zone from a seed, with queries and their expected answers.
    ///
    /// Load the zone into a server and run `godwit dns load --zone-like N`, which checks each
    /// answer. The same seed, count and name make the same zone on every machine.
    ///
    /// Exit codes: 0 written; 1 a file cannot be written; 2 bad arguments.
    Zone(zone::DnsZoneArgs),
}

impl DnsCommand {
    /// Runs the command below `godwit dns` and returns its exit code.
    #[must_use]
    pub fn run(&self) -> ExitCode {
        match self {
            Self::Load(args) => args.run(),
            Self::Dnsperf(args) => args.run(),
            Self::Resperf(args) => args.run(),
            Self::Echo(args) => args.run(),
            Self::Zone(args) => args.run(),
        }
    }
}

/// Prints the reason why a run fell short, and returns the exit code.
pub(crate) fn fell_short(reason: &str) -> ExitCode {
    netio::stderr::print_errors(reason);
    ExitCode::from(3)
}
