//! Flags of `godwit dns load` that select the queries, and the selected queries.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use base::{ToolError, ToolResult};
use dns_wire::{EdnsOptions, Query, stream};

use crate::capture::{self, DNS_PORT};
use crate::edns::{EDNS_BYTES, EdnsArgs, EdnsOption, PLAIN_BYTES};
use crate::queries::QueryWorkload;
use crate::query_file::{self, BadLines, QueryFile};
use crate::zone::{Zone, ZoneLike, ZoneSize};

/// Query of the slides on which Farsight's DNS benchmark is based (`--slides`), as name and type.
const ONE_QUERY: &str = "www.google.com AAAA";

/// Flags of `godwit dns load` that select the queries.
#[derive(Debug, clap::Args)]
pub(crate) struct QuerySelectionArgs {
    /// File of queries in dnsperf's format, or a capture of them (pcap or pcapng), `-` for the
    /// standard input
    #[arg(long, short = 'd', value_name = "FILE", conflicts_with = "query")]
    queries: Option<PathBuf>,
    /// Replay the queries of a capture at their recorded times; with --rate the times are stretched
    /// to that mean rate
    #[arg(long, requires = "queries", conflicts_with = "shape")]
    replay_times: bool,
    /// Query to send when there is no -d: a name and a type, as in `example.com AAAA`
    #[arg(long, value_name = "QUERY", default_value = ONE_QUERY)]
    query: String,
    /// Send the query of Farsight's benchmark of 2015: www.google.com AAAA with RD and EDNS 4096, a
    /// frame of 85 bytes
    #[arg(long, conflicts_with_all = ["queries", "query", "zone_like", "edns", "dnssec", "client_subnet", "cookie", "padding", "edns_option", "no_recursion"])]
    slides: bool,
    /// Send the queries of the zone of `godwit dns zone --seed N`, and compare each answer with the
    /// expected one
    #[arg(long, value_name = "N", conflicts_with_all = ["queries", "query"])]
    zone_like: Option<u64>,
    #[command(flatten)]
    size: ZoneSize,
    /// Skip invalid lines of the query file with a message, instead of refusing the file
    #[arg(long, requires = "queries")]
    skip_bad_lines: bool,
    #[command(flatten)]
    edns: EdnsArgs,
    /// Clear the bit RD (recursion desired) in all queries
    #[arg(long)]
    no_recursion: bool,
}

/// Queries of a run and their origin.
#[derive(Debug)]
pub(crate) struct SelectedQueries {
    /// Queries that the run sends, in turn.
    pub(crate) workload: QueryWorkload,
    /// Zone that the queries were made from; `None` for other queries.
    pub(crate) zone_like: Option<ZoneLike>,
    /// Name of the capture and the times of its queries, in nanoseconds since 1970, if the run
    /// repeats those times.
    pub(crate) times: Option<(String, Vec<u64>)>,
    /// Largest answer that the queries offer to accept, in bytes.
    pub(crate) answer_bytes: u16,
}

impl QuerySelectionArgs {
    /// Returns true when the flags ask for queries with a cookie.
    pub(crate) const fn has_cookie(&self) -> bool {
        self.edns.cookie
    }

    /// Returns the queries to a server at `port`, with the cookie that `cookie` returns among their
    /// EDNS options. Flags that contradict each other are refused before `cookie` is called.
    pub(crate) fn select(
        &self,
        port: u16,
        cookie: impl FnOnce() -> ToolResult<Option<EdnsOption>>,
    ) -> ToolResult<SelectedQueries> {
        if self.zone_like.is_none() && self.size.is_given() {
            return Err(ToolError::usage("--names and --zone need --zone-like"));
        }
        let (name, octets) = self.read()?;
        if self.queries.is_some() && packet_wire::pcap::is_capture(&octets) {
            return self.captured(&name, &octets, port);
        }
        if self.replay_times {
            return Err(ToolError::Usage(format!(
                "--replay-times needs a capture; {name} is not one"
            )));
        }
        let options_with = |cookie| self.edns.options(cookie).map_err(ToolError::Usage);
        options_with(None)?;
        let options = options_with(cookie()?)?;
        let query = Query {
            recursion_desired: !self.no_recursion,
            edns: self.edns.record(),
            options: EdnsOptions { octets: &options, padding_block: self.edns.padding_block() },
        };
        let answer_bytes = self.edns.payload_bytes().max(PLAIN_BYTES);
        let queries_of =
            |workload| SelectedQueries { workload, zone_like: None, times: None, answer_bytes };
        if let Some(seed) = self.zone_like {
            let like = self.size.with_seed(seed);
            let workload = Zone::new(like.clone()).workload(query);
            return Ok(SelectedQueries { zone_like: Some(like), ..queries_of(workload) });
        }
        let bad_lines = if self.skip_bad_lines { BadLines::Skip } else { BadLines::Refuse };
        let file = query_file::read(&name, &octets, query, bad_lines);
        let file = file.map_err(ToolError::Usage)?;
        report_lines(&name, &file);
        Ok(queries_of(file.workload))
    }

    /// Returns the name and the content of the query file, or of the flag `--query`.
    fn read(&self) -> ToolResult<(String, Vec<u8>)> {
        let Some(path) = &self.queries else {
            return Ok(("--query".to_owned(), self.query.clone().into_bytes()));
        };
        let name = path.display().to_string();
        let octets =
            read(path).map_err(|error| ToolError::Usage(format!("cannot read {name}: {error}")))?;
        Ok((name, octets))
    }

    /// Creates the flags that select the queries of a file, as dnsperf does: a line that is no
    /// query is left out and printed.
    pub(crate) fn for_file(path: &Path, edns: EdnsArgs) -> Self {
        Self {
            queries: Some(path.to_owned()),
            replay_times: false,
            query: String::new(),
            slides: false,
            zone_like: None,
            size: ZoneSize::default(),
            skip_bad_lines: true,
            edns,
            no_recursion: false,
        }
    }

    /// Returns true if the run repeats the recorded times of a capture.
    pub(crate) const fn has_times(&self) -> bool {
        self.replay_times
    }

    /// Returns the queries of the capture `file`: those to the port of DNS, and to the server's
    /// port of this run.
    fn captured(&self, name: &str, file: &[u8], port: u16) -> ToolResult<SelectedQueries> {
        let flag = self.edns.first_given();
        if let Some(flag) = flag.or_else(|| self.no_recursion.then_some("--no-recursion")) {
            return Err(ToolError::Usage(format!(
                "{flag}: queries of a capture are sent unchanged"
            )));
        }
        let captured = capture::queries(file, &[DNS_PORT, port])
            .map_err(|problem| ToolError::Usage(format!("{name} {problem}")))?;
        if !captured.packets.is_complete() {
            let packets = captured.packets;
            netio::stderr::print_line(format_args!("dns load: {name}: {packets}"));
        }
        Ok(SelectedQueries {
            workload: captured.workload,
            zone_like: None,
            times: self.replay_times.then(|| (name.to_owned(), captured.times_ns)),
            answer_bytes: captured.answer_bytes.max(PLAIN_BYTES),
        })
    }
}

/// Returns the messages of a binary query file, each after its length in two bytes, unchanged
/// except for their identifiers; answers, and messages without a header of DNS, are left out and
/// counted.
pub(crate) fn messages_of(path: &Path) -> ToolResult<SelectedQueries> {
    let name = path.display().to_string();
    let octets =
        read(path).map_err(|error| ToolError::Usage(format!("cannot read {name}: {error}")))?;
    let (mut workload, mut others, mut rest) = (QueryWorkload::default(), 0_u64, &octets[..]);
    while let Some((message, behind)) = stream::split(rest) {
        rest = behind;
        if capture::is_request(message) {
            workload
                .add_as_it_is(message)
                .map_err(|why| ToolError::Usage(format!("{name} holds {why}")))?;
        } else {
            others += 1;
        }
    }
    if workload.is_empty() {
        return Err(ToolError::Usage(format!(
            "{name} has no DNS query after a length in two bytes"
        )));
    }
    if others > 0 || !rest.is_empty() {
        let end = if rest.is_empty() { "" } else { ", and an incomplete last message" };
        netio::stderr::print_line(format_args!(
            "dns load: {name}: left out: {others} messages that are answers or have no header{end}"
        ));
    }
    // Each query states the largest size of its answer.
    Ok(SelectedQueries { workload, zone_like: None, times: None, answer_bytes: EDNS_BYTES })
}

/// Prints the lines of a query file that are left out, and the number of lines with words that are
/// ignored.
fn report_lines(name: &str, file: &QueryFile) {
    for problem in &file.skipped {
        netio::stderr::print_line(format_args!("dns load: left out: {problem}"));
    }
    if let Some(unread) = file.unread {
        let (lines, first) = (unread.lines, unread.first);
        netio::stderr::print_line(format_args!(
            "dns load: {name}: words after the type are ignored in {lines} lines; the first is \
             line {first}"
        ));
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
