//! The flags of `godwit trafgen`, most of them trafgen's own.

use std::net::IpAddr;

use crate::pace::{Segment, parse_duration_ns, parse_schedule};
use crate::path::PathKind;

/// Generate packets: trafgen's language, sent evenly and counted, or written as a capture
///
/// PACKET is packet text like `{ udp(dport=7), "hello" }`; -i reads it from a file. The language is
/// described in docs/book/trafgen.md. Sending takes root, or CAP_NET_RAW. By default frames leave as fast as
/// they can, from all processors, past the queueing discipline; with a rate they leave evenly, from one
/// unless -P says otherwise. A full queue is waited for and counted.
///
/// Exit codes: 0 done, or ended by SIGTERM or SIGINT; 1 failed at run time; 2 bad arguments, a bad packet
/// file or an interface that is not there.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Packet text
    #[arg(value_name = "PACKET", conflicts_with = "input", required_unless_present_any = ["input", "example", "version"])]
    pub(crate) packet: Option<String>,
    /// Packet file, `-` for the standard input, or a capture (*.pcap*, pcapng too) to be sent with its times
    #[arg(short = 'i', long = "in", short_alias = 'c', alias = "conf", value_name = "FILE")]
    pub(crate) input: Option<String>,
    /// Interface to send by, or a capture (*.pcap*) or packet file (*.cfg*) to write
    #[arg(short = 'o', long = "out", short_alias = 'd', alias = "dev", value_name = "OUTPUT")]
    pub(crate) output: Option<String>,
    /// End after so many packets [default: 0, for no end; as many as there are into a file]
    #[arg(short = 'n', long = "num", value_name = "COUNT")]
    pub(crate) count: Option<u64>,
    /// Show frames decoded and in hex instead of sending them
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Rate: 800kpps, 100Mbit, ...; steps `10kpps/5s,20kpps/5s`, ramps `10kpps..100kpps/30s`
    #[arg(short = 'b', long = "rate", value_name = "RATE", value_parser = schedule)]
    pub(crate) rate: Option<Rates>,
    /// Time from one packet to the next: 5s, 20ms, 100us (the default unit), 200ns
    #[arg(short = 't', long = "gap", value_name = "TIME", value_parser = gap, conflicts_with = "rate")]
    pub(crate) gap_ns: Option<u64>,
    /// Processors to send from: how many, or first and last, `0-3`
    #[arg(short = 'P', long = "cpus", value_name = "CPUS", value_parser = cpus)]
    pub(crate) cpus: Option<Cpus>,
    /// Where random numbers begin; each further processor adds one [default: from the clock]
    #[arg(short = 'E', long = "seed", value_name = "NUMBER")]
    pub(crate) seed: Option<u32>,
    /// Draw packets instead of taking them in turn
    #[arg(short = 'r', long = "rand")]
    pub(crate) is_shuffled: bool,
    /// Send through the queueing discipline (tc) of the interface
    #[arg(short = 'q', long = "qdisc-path")]
    pub(crate) uses_queue: bool,
    /// How frames get into the interface: ring (PACKET_TX_RING), sendmmsg, xdp (AF_XDP), or auto
    #[arg(long, value_name = "PATH", default_value = "auto")]
    pub(crate) path: PathKind,
    /// Send frames in turn of one UDP/IP flow and one length as segments of one large datagram, which
    /// the interface or the kernel cuts up; figures are labelled. Goes by sendmmsg, through the
    /// queueing discipline
    #[arg(long)]
    pub(crate) segmentation: bool,
    /// Smoke test: ping this host after each packet, up to 100 times for 50 ms, and end when it is silent,
    /// with the last packet and the seed. One processor sends
    #[arg(short = 's', long = "smoke-test", value_name = "ADDRESS", conflicts_with_all = ["segmentation", "dry_run"])]
    pub(crate) smoke_test: Option<IpAddr>,
    /// Size of the ring of each processor: KiB, MiB or GiB
    #[arg(short = 'S', long = "ring-size", value_name = "SIZE", default_value = "512KiB", value_parser = ring_bytes)]
    pub(crate) ring_bytes: usize,
    /// Run the packet file through the C preprocessor, which is built in: #define, #include, #if
    #[arg(short = 'p', long = "cpp")]
    pub(crate) preprocess: bool,
    /// Define a name for the preprocessor
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE")]
    pub(crate) defines: Vec<String>,
    /// Do what trafgen 0.6.8 does where that is not what its manual says
    #[arg(long)]
    pub(crate) quirks: bool,
    /// Report every so many seconds while it runs [with --json: 1]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) interval: Option<f64>,
    /// Report as JSON, a line each
    #[arg(long)]
    pub(crate) json: bool,
    /// Say what was understood of the packet file
    #[arg(short = 'V', long)]
    pub(crate) verbose: bool,
    /// Do not say what each processor did
    #[arg(short = 'C', long)]
    pub(crate) no_cpu_stats: bool,
    /// Print a packet file to begin with
    #[arg(short = 'e', long, exclusive = true)]
    pub(crate) example: bool,
    /// Print the version
    #[arg(short = 'v', long, exclusive = true)]
    pub(crate) version: bool,
    /// Nothing: frames are handed over when they are due
    #[arg(short = 'k', long, value_name = "US", hide = true)]
    pub(crate) kernel_pull: Option<u64>,
    /// Nothing: `chrt` and `nice` set priorities
    #[arg(short = 'H', long, hide = true)]
    pub(crate) prio_high: bool,
    /// Refused: the privilege to send is kept until the end
    #[arg(short = 'u', long, value_name = "UID", hide = true)]
    pub(crate) user: Option<String>,
    /// Refused, as --user
    #[arg(short = 'g', long, value_name = "GID", hide = true)]
    pub(crate) group: Option<String>,
    /// Refused: frames of 802.11 are not made
    #[arg(short = 'R', long, hide = true)]
    pub(crate) rfraw: bool,
    /// Nothing: frames of any size fit
    #[arg(short = 'J', long = "jumbo-support", hide = true)]
    pub(crate) jumbo: bool,
    /// Nothing: the system's socket memory is never changed
    #[arg(short = 'A', long, hide = true)]
    pub(crate) no_sock_mem: bool,
    /// Nothing: interrupts are never moved
    #[arg(short = 'Q', long, hide = true)]
    pub(crate) notouch_irq: bool,
}

/// Processors to send from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cpus {
    /// The first so many.
    Count(usize),
    /// From one to another.
    Range(u32, u32),
}

/// The segments of a schedule, as one argument.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rates(pub(crate) Vec<Segment>);

fn schedule(text: &str) -> Result<Rates, String> {
    parse_schedule(text).map(Rates)
}

fn gap(text: &str) -> Result<u64, String> {
    parse_duration_ns(text, 1_000)
}

fn seconds(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.01..1e6).contains(number));
    number.ok_or_else(|| "it is a number of seconds, at least 0.01".to_owned())
}

fn cpus(text: &str) -> Result<Cpus, String> {
    let wrong = |_| "it is a number of processors, or the first and last, like 0-3".to_owned();
    match text.split_once('-') {
        Some((first, last)) => {
            let (first, last): (u32, u32) =
                (first.parse().map_err(wrong)?, last.parse().map_err(wrong)?);
            Ok(Cpus::Range(first.min(last), first.max(last)))
        }
        None => match text.parse().map_err(wrong)? {
            0 => Err("it is at least one processor".to_owned()),
            count => Ok(Cpus::Count(count)),
        },
    }
}

fn ring_bytes(text: &str) -> Result<usize, String> {
    let wrong = || format!("`{text}` is no size: a number with KiB, MiB or GiB");
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
    let (digits, shift) = units
        .into_iter()
        .find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, shift)))
        .ok_or_else(wrong)?;
    let number: usize = digits.parse().map_err(|_| wrong())?;
    let bytes = number.checked_mul(1 << shift).filter(|bytes| (1..=4 << 30).contains(bytes));
    bytes.ok_or_else(|| format!("`{text}` is out of range: at most 4GiB"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_processors_are_read() {
        assert_eq!(ring_bytes("2MiB"), Ok(2 << 20), "two, not one");
        assert!(ring_bytes("512").is_err() && ring_bytes("0KiB").is_err());
        assert_eq!(cpus("2"), Ok(Cpus::Count(2)));
        assert_eq!(cpus("3-1"), Ok(Cpus::Range(1, 3)));
        assert!(cpus("0").is_err() && cpus("a-b").is_err());
    }
}
