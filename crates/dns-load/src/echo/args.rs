//! Flags of `godwit dns echo`.

use std::net::SocketAddr;
use std::process::ExitCode;

use base::ToolError;
use base::time::NS_PER_MS;
use dns_wire::Rcode;
use netio::responder::BATCH_MAX;
use netio::signal::Signals;
use netio::{NetError, stderr, stdout};

use super::capacity::Capacity;
use super::faults::{EchoFaults, QueryShare, with_share};
use super::{EchoReport, EchoResponder, EchoSettings, FrameResponder};

/// Flags of `godwit dns echo`.
#[derive(Debug, clap::Args)]
pub struct DnsEchoArgs {
    /// Address and port that the responder answers at
    #[arg(long, short = 'l', value_name = "HOST:PORT", default_value = "127.0.0.1:8053",
        value_parser = netio::resolve::with_port)]
    listen: SocketAddr,
    /// Read queries from this interface and answer in frames (AF_PACKET), bypassing the kernel's
    /// UDP (needs root or CAP_NET_RAW)
    #[arg(long, value_name = "INTERFACE", conflicts_with_all = ["threads", "capacity", "delay", "segmentation"])]
    interface: Option<String>,
    /// Number of responder threads, each with its own socket (SO_REUSEPORT)
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: u32,
    /// Processors to bind the responder's threads to, in turn
    #[arg(long, value_name = "N,N...", value_delimiter = ',')]
    cpus: Vec<usize>,
    /// Largest number of queries per receive call and of answers per send call; 1: one at a time
    #[arg(long, value_name = "N", default_value_t = BATCH_MAX as u32, conflicts_with_all = ["segmentation", "interface"],
        value_parser = clap::value_parser!(u32).range(1..=BATCH_MAX as i64))]
    batch: u32,
    /// Poll sockets without ever sleeping
    #[arg(long)]
    busy: bool,
    /// Receive queries in groups where the kernel joins them, and answer in groups (UDP_GRO,
    /// UDP_SEGMENT); interface counters count a group as one frame
    #[arg(long)]
    segmentation: bool,
    /// Seed of the responder's random faults
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Answer at most N queries per second, all threads together, and drop the others
    #[arg(long, value_name = "N", conflicts_with = "delay", value_parser = capacity)]
    capacity: Option<f64>,
    /// With --capacity: number of queries per thread that may wait instead of being dropped
    #[arg(long, value_name = "N", default_value_t = 0, requires = "capacity")]
    queue: u32,
    /// Share of queries that get no answer, like 5% or 0.05
    #[arg(long, value_name = "SHARE", default_value = "0")]
    drop: QueryShare,
    /// Share of queries that are answered twice, like 5% or 0.05
    #[arg(long, value_name = "SHARE", default_value = "0")]
    duplicate: QueryShare,
    /// Delay answers by MS milliseconds; with =SHARE only this share of the answers
    #[arg(long, value_name = "MS[=SHARE]", value_parser = delay)]
    delay: Option<(u64, QueryShare)>,
    /// Answer with this response code, like SERVFAIL; with =SHARE only this share of the queries
    #[arg(long, value_name = "CODE[=SHARE]", value_parser = rcode)]
    rcode: Option<(Rcode, QueryShare)>,
    /// Share of answers with TC set and nothing after the question, like 5% or 0.05
    #[arg(long, value_name = "SHARE", default_value = "0")]
    truncate: QueryShare,
    /// Share of answers whose question is not that of the query, like 5% or 0.05
    #[arg(long, value_name = "SHARE", default_value = "0")]
    wrong: QueryShare,
    /// Share of answers without their last byte, like 5% or 0.05
    #[arg(long, value_name = "SHARE", default_value = "0")]
    malformed: QueryShare,
    /// Print the responder's final counts as JSON
    #[arg(long)]
    json: bool,
}

fn delay(text: &str) -> Result<(u64, QueryShare), String> {
    with_share(text, |word| {
        let ms = word.parse().ok().filter(|ms| (0.0..=3_600_000.0).contains(ms));
        let ns = ms.map(|ms: f64| (ms * NS_PER_MS as f64) as u64);
        ns.ok_or_else(|| "must be a number of milliseconds, an hour at most".to_owned())
    })
}

fn capacity(text: &str) -> Result<f64, String> {
    let per_s = text.parse().ok().filter(|per_s| (0.001..=1e9).contains(per_s));
    per_s.ok_or_else(|| "must be a number of queries per second from 0.001 to 10^9".to_owned())
}

fn rcode(text: &str) -> Result<(Rcode, QueryShare), String> {
    with_share(text, |word| match word.parse() {
        Ok(rcode @ Rcode(..=15)) => Ok(rcode),
        Ok(rcode) => Err(format!(
            "{rcode} is above 15 and needs EDNS, which the responder returns unchanged"
        )),
        Err(why) => Err(why.to_owned()),
    })
}

impl DnsEchoArgs {
    fn settings(&self) -> EchoSettings {
        EchoSettings {
            listen: self.listen,
            threads: self.threads,
            cpus: self.cpus.clone(),
            batch: self.batch as usize,
            busy: self.busy,
            segmentation: self.segmentation,
            seed: self.seed,
            faults: EchoFaults {
                capacity: self.capacity.map(|per_s| Capacity { per_s, queue: self.queue }),
                drop: self.drop,
                duplicate: self.duplicate,
                delay: self.delay.unwrap_or_default(),
                rcode: self.rcode.unwrap_or_default(),
                truncate: self.truncate,
                wrong: self.wrong,
                malformed: self.malformed,
            },
        }
    }

    /// Answers queries until a signal comes, prints the counts and returns the exit code.
    pub(crate) fn run(&self) -> ExitCode {
        if self.interface.is_some()
            && (self.listen.ip().is_unspecified() || self.listen.port() == 0)
        {
            let message = "--interface answers for one address and port: name them with --listen";
            return stderr::exit_code(Err(ToolError::usage(message)));
        }
        let done = self.try_run().and_then(|report| self.print(&report));
        stderr::exit_code_with_errors(done.map(|()| ExitCode::SUCCESS).map_err(ToolError::from))
    }

    fn try_run(&self) -> Result<EchoReport, NetError> {
        let signals = Signals::for_command()?;
        if let Some(name) = &self.interface {
            let responder = FrameResponder::open(self.settings(), name)?;
            stderr::print_line(format_args!("dns echo: answering on {}", self.listen));
            return responder.run(signals.stop());
        }
        let responder = EchoResponder::open(self.settings())?;
        stderr::print_line(format_args!("dns echo: answering on {}", responder.address()));
        responder.run(signals.stop())
    }

    fn print(&self, report: &EchoReport) -> Result<(), NetError> {
        let text = if self.json {
            serde_json::to_string(report).expect("a report is plain data") + "\n"
        } else {
            report.to_string()
        };
        stdout::print(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_with_a_value_befall_all_or_a_share() {
        assert_eq!(delay("50"), Ok((50 * NS_PER_MS, QueryShare::ALL)));
        assert_eq!(delay("0.5=0%"), Ok((NS_PER_MS / 2, QueryShare::NONE)));
        assert_eq!(rcode("servfail"), Ok((Rcode::SERVFAIL, QueryShare::ALL)));
        assert!(
            rcode("5=100%")
                .is_ok_and(|(code, share)| (code, share) == (Rcode::REFUSED, QueryShare::ALL))
        );
        for wrong in ["BADVERS", "nope", "servfail=2", "servfail="] {
            assert!(rcode(wrong).is_err(), "{wrong}");
        }
        assert!(delay("-1").is_err() && delay("x").is_err() && delay("1=x").is_err());
    }
}
