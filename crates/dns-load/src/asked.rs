//! The flags of `godwit dns load` that say what is asked, and what they amount to.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use dns_wire::{Edns, Query};

use crate::args::Failure;
use crate::capture::{self, DNS_PORT};
use crate::queries::Workload;
use crate::zone::{Size, Zone, ZoneLike};

/// The query of the slides on which the DNS benchmark rests.
const ONE_QUERY: &str = "www.google.com AAAA";
/// The EDNS fields of a query.
const EDNS_BYTES: u16 = 4_096;
/// The least that every answer may have without EDNS (RFC 1035 section 4.2.1).
const PLAIN_BYTES: u16 = 512;

/// The flags.
#[derive(Debug, clap::Args)]
pub(crate) struct Asking {
    /// File of queries, or a capture of them (pcap or pcapng), `-` for the standard input
    #[arg(long, short = 'd', value_name = "FILE", conflicts_with = "query")]
    queries: Option<PathBuf>,
    /// Ask the queries of a capture when they were asked there, or with --rate as much slower or faster
    #[arg(long, requires = "queries", conflicts_with = "shape")]
    replay_times: bool,
    /// The one query to be asked, a name and a type
    #[arg(long, value_name = "QUERY", default_value = ONE_QUERY)]
    query: String,
    /// Ask what the slides asked: www.google.com AAAA with RD and EDNS of 4096 octets, 85 octets as a frame
    #[arg(long, conflicts_with_all = ["queries", "query", "zone_like", "edns", "dnssec", "no_recursion"])]
    slides: bool,
    /// Ask what `godwit dns zone --seed N` makes, and compare each answer with what it must be
    #[arg(long, value_name = "N", conflicts_with_all = ["queries", "query"])]
    zone_like: Option<u64>,
    #[command(flatten)]
    size: Size,
    /// The largest UDP payload that EDNS tells the server; 0 leaves EDNS out
    #[arg(long, value_name = "BYTES", default_value_t = EDNS_BYTES, value_parser = parse_edns)]
    edns: u16,
    /// Ask for the records of DNSSEC (the bit DO)
    #[arg(long)]
    dnssec: bool,
    /// Do not ask for recursion (RD)
    #[arg(long)]
    no_recursion: bool,
}

/// What is asked.
#[derive(Debug)]
pub(crate) struct Asked {
    /// The queries.
    pub(crate) workload: Workload,
    /// The zone that they were made from, if they were.
    pub(crate) zone_like: Option<ZoneLike>,
    /// The capture and when its queries were asked, nanoseconds since 1970, if that is to be repeated.
    pub(crate) times: Option<(String, Vec<u64>)>,
    /// The largest answer that is offered to be taken, octets.
    pub(crate) answer_bytes: u16,
}

fn parse_edns(text: &str) -> Result<u16, String> {
    let bytes = text.parse().ok().filter(|&bytes| bytes == 0 || bytes >= PLAIN_BYTES);
    bytes.ok_or_else(|| "it is 0 or a number of octets from 512 to 65535".into())
}

impl Asking {
    /// What is asked of a server at `port`.
    pub(crate) fn asked(&self, port: u16) -> Result<Asked, Failure> {
        if self.zone_like.is_none() && self.size.is_given() {
            return Err(("--names and --zone take --zone-like".into(), 2));
        }
        let query = self.query()?;
        let answer_bytes = self.edns.max(PLAIN_BYTES);
        let asked = |workload| Asked { workload, zone_like: None, times: None, answer_bytes };
        if let Some(seed) = self.zone_like {
            let like = self.size.with_seed(seed);
            let workload = Zone::new(like.clone()).workload(query);
            return Ok(Asked { zone_like: Some(like), ..asked(workload) });
        }
        let (name, octets) = match &self.queries {
            None => ("--query".to_owned(), self.query.clone().into_bytes()),
            Some(path) => {
                let name = path.display().to_string();
                let octets =
                    read(path).map_err(|error| (format!("cannot read {name}: {error}"), 2))?;
                (name, octets)
            }
        };
        if self.queries.is_some() && capture::is_capture(&octets) {
            return self.captured(&name, &octets, port);
        }
        if self.replay_times {
            return Err((format!("--replay-times takes a capture, which {name} is not"), 2));
        }
        Workload::parse(&name, &octets, query).map(asked).map_err(|problems| (problems, 2))
    }

    /// Asks the queries of a file, as dnsperf does.
    pub(crate) fn of_file(path: &Path, uses_edns: bool, dnssec: bool) -> Self {
        Self {
            queries: Some(path.to_owned()),
            replay_times: false,
            query: String::new(),
            slides: false,
            zone_like: None,
            size: Size::default(),
            edns: if uses_edns { EDNS_BYTES } else { 0 },
            dnssec,
            no_recursion: false,
        }
    }

    /// Returns whether the times of a capture are repeated.
    pub(crate) const fn has_times(&self) -> bool {
        self.replay_times
    }

    /// What the queries have in common.
    fn query(&self) -> Result<Query, Failure> {
        if self.dnssec && self.edns == 0 {
            return Err(("--dnssec takes EDNS: the bit is in its record".into(), 2));
        }
        let edns = (self.edns > 0).then_some(Edns {
            udp_payload_bytes: self.edns,
            extended_rcode: 0,
            version: 0,
            dnssec_ok: self.dnssec,
        });
        Ok(Query { recursion_desired: !self.no_recursion, edns })
    }

    /// The queries of a capture: those to the port of DNS, and to the port that they go to now.
    fn captured(&self, name: &str, file: &[u8], port: u16) -> Result<Asked, Failure> {
        if self.dnssec || self.no_recursion {
            let problem = "--dnssec and --no-recursion: queries of a capture are asked as they are";
            return Err((problem.into(), 2));
        }
        let captured = capture::queries(file, &[DNS_PORT, port])
            .map_err(|problem| (format!("{name} {problem}"), 2))?;
        if captured.left_out > 0 {
            let count = captured.left_out;
            netio::stderr::print_line(format_args!(
                "dns load: {name}: {count} datagrams that are no plain queries are left out"
            ));
        }
        Ok(Asked {
            workload: captured.workload,
            zone_like: None,
            times: self.replay_times.then(|| (name.to_owned(), captured.times_ns)),
            answer_bytes: captured.answer_bytes.max(PLAIN_BYTES),
        })
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    if path.as_os_str() == "-" {
        let mut text = Vec::new();
        io::stdin().lock().read_to_end(&mut text)?;
        return Ok(text);
    }
    fs::read(path)
}
