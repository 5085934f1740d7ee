//! Flags of the command `godwit trafgen`, most of them trafgen's own.

use std::net::IpAddr;

use crate::path::PathKind;
use crate::schedule::{Segment, parse_duration_ns, parse_schedule};

/// Generate packets in trafgen's language: send them at a rate, or write a capture.
///
/// PACKET is packet text like `{ udp(dport=7), "hello" }`; -i reads it from a file.
/// docs/book/trafgen.md describes the language. Sending needs root or CAP_NET_RAW. By default
/// frames leave as fast as possible, from all processors, bypassing the queueing discipline; with a
/// rate they leave evenly, from one processor unless -P says otherwise. The generator waits for a
/// full queue and counts it.
///
/// Exit codes: 0 done, or ended by SIGTERM or SIGINT; 1 failed at run time; 2 bad arguments, a bad
/// packet file or a missing interface.
#[derive(Debug, clap::Args)]
pub struct TrafgenArgs {
    /// Packet text; several arguments are joined by blanks
    #[arg(value_name = "PACKET", conflicts_with = "input", required_unless_present_any = ["input", "example", "version"])]
    pub(crate) packet: Vec<String>,
    /// Packet file, `-` for standard input, or a capture (*.pcap*, pcapng too) to send with its
    /// times
    #[arg(short = 'i', long = "in", short_alias = 'c', alias = "conf", value_name = "FILE")]
    pub(crate) input: Option<String>,
    /// Interface to send by, or a capture (*.pcap*) or packet file (*.cfg*) to write
    #[arg(short = 'o', long = "out", short_alias = 'd', alias = "dev", value_name = "OUTPUT")]
    pub(crate) output: Option<String>,
    /// Send this many packets [default: 0, unlimited; into a file: each packet once]
    #[arg(short = 'n', long = "num", value_name = "COUNT", value_parser = whole)]
    pub(crate) count: Option<u64>,
    /// Show frames decoded and in hex instead of sending them
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Rate: 800kpps, 100Mbit, ...; steps `10kpps/5s,20kpps/5s`, ramps `10kpps..100kpps/30s`
    #[arg(short = 'b', long = "rate", value_name = "RATE", value_parser = schedule)]
    pub(crate) rate: Option<Rates>,
    /// Time between two packets: 5s, 20ms, 100us (the default unit), 200ns
    #[arg(short = 't', long = "gap", value_name = "TIME", value_parser = gap, conflicts_with = "rate")]
    pub(crate) gap_ns: Option<u64>,
    /// Processors to send from: a number, or a range like `0-3`
    #[arg(short = 'P', long = "cpus", value_name = "CPUS", value_parser = cpus)]
    pub(crate) cpus: Option<Cpus>,
    /// Random seed; each further processor adds one [default: from the clock]
    #[arg(short = 'E', long = "seed", value_name = "NUMBER", value_parser = seed)]
    pub(crate) seed: Option<u32>,
    /// Choose packets of the file at random instead of in turn
    #[arg(short = 'r', long = "rand")]
    pub(crate) is_shuffled: bool,
    /// Send through the queueing discipline (tc) of the interface
    #[arg(short = 'q', long = "qdisc-path")]
    pub(crate) uses_queue: bool,
    /// Path into the interface: ring (PACKET_TX_RING), sendmmsg, xdp (AF_XDP), or auto
    #[arg(long, value_name = "PATH", default_value = "auto")]
    pub(crate) path: PathKind,
    /// Send consecutive frames of one UDP/IP flow and length as segments of one large datagram,
    /// which the interface or the kernel cuts up; figures are labelled. Uses sendmmsg and the
    /// queueing discipline
    #[arg(long)]
    pub(crate) segmentation: bool,
    /// Smoke test: ping this host after each packet, up to 100 times for 50 ms, and end when it
    /// does not answer, with the last packet and the seed. One processor sends
    #[arg(short = 's', long = "smoke-test", value_name = "ADDRESS", conflicts_with_all = ["segmentation", "dry_run"])]
    pub(crate) smoke_test: Option<IpAddr>,
    /// Size of the ring of each processor: KiB, MiB or GiB
    #[arg(short = 'S', long = "ring-size", value_name = "SIZE", default_value = "512KiB", value_parser = ring_bytes)]
    pub(crate) ring_bytes: usize,
    /// Run the packet file through the built-in C preprocessor: #define, #include, #if
    #[arg(short = 'p', long = "cpp")]
    pub(crate) preprocess: bool,
    /// Define a name for the preprocessor
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE")]
    pub(crate) defines: Vec<String>,
    /// Imitate trafgen 0.6.8 where it differs from its manual
    #[arg(long)]
    pub(crate) quirks: bool,
    /// Also report every N seconds during the run [with --json: 1]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) interval: Option<f64>,
    /// Print reports as JSON, one per line
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the parsed packet file
    #[arg(short = 'V', long)]
    pub(crate) verbose: bool,
    /// Leave out the final figures of each processor
    #[arg(short = 'C', long)]
    pub(crate) no_cpu_stats: bool,
    /// Print an example packet file
    #[arg(short = 'e', long, exclusive = true)]
    pub(crate) example: bool,
    /// Print the version
    #[arg(short = 'v', long, exclusive = true)]
    pub(crate) version: bool,
    /// Accepted without effect: frames are sent when they are due
    #[arg(short = 'k', long, value_name = "US", hide = true)]
    pub(crate) kernel_pull: Option<u64>,
    /// Accepted without effect: set priorities with `chrt` and `nice`
    #[arg(short = 'H', long, hide = true)]
    pub(crate) prio_high: bool,
    /// Refused: start the program as another user with `setpriv` instead
    #[arg(short = 'u', long, value_name = "UID", hide = true)]
    pub(crate) user: Option<String>,
    /// Refused: start the program in another group with `setpriv` instead
    #[arg(short = 'g', long, value_name = "GID", hide = true)]
    pub(crate) group: Option<String>,
    /// Refused: frames of 802.11 are not supported
    #[arg(short = 'R', long, hide = true)]
    pub(crate) rfraw: bool,
    /// Accepted without effect: frames of any size fit
    #[arg(short = 'J', long = "jumbo-support", hide = true)]
    pub(crate) jumbo: bool,
    /// Accepted without effect: the system's socket memory is never changed
    #[arg(short = 'A', long, hide = true)]
    pub(crate) no_sock_mem: bool,
    /// Accepted without effect: interrupts are never moved
    #[arg(short = 'Q', long, hide = true)]
    pub(crate) notouch_irq: bool,
}

/// Processors whose threads send frames, as a flag of the command line selects them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cpus {
    /// Number of processors, the first ones of the machine.
    Count(usize),
    /// Processors from one number to another, both included.
    Range(u32, u32),
}

/// Segments of a rate schedule, as one argument of the command line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rates(pub(crate) Vec<Segment>);

fn schedule(text: &str) -> Result<Rates, String> {
    parse_schedule(text).map(Rates)
}

/// Parses a random seed, of which the low 32 bits count.
fn seed(text: &str) -> Result<u32, String> {
    whole(text).map(|number| number as u32)
}

/// Parses a whole number as strtoul(3) does: in hex after `0x`, in octal after `0`.
fn whole(text: &str) -> Result<u64, String> {
    let number = if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        u64::from_str_radix(hex, 16)
    } else if text.len() > 1 && text.starts_with('0') {
        u64::from_str_radix(&text[1..], 8)
    } else {
        text.parse()
    };
    number.map_err(|_| "a whole number is expected, such as 10 or 0x10".to_owned())
}

fn gap(text: &str) -> Result<u64, String> {
    parse_duration_ns(text, 1_000)
}

fn seconds(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.01..1e6).contains(number));
    number.ok_or_else(|| "must be a number of seconds, at least 0.01".to_owned())
}

fn cpus(text: &str) -> Result<Cpus, String> {
    let wrong = |_| "must be a number of processors, or the first and last, like 0-3".to_owned();
    match text.split_once('-') {
        Some((first, last)) => {
            let (first, last): (u32, u32) =
                (first.parse().map_err(wrong)?, last.parse().map_err(wrong)?);
            Ok(Cpus::Range(first.min(last), first.max(last)))
        }
        None => match text.parse().map_err(wrong)? {
            0 => Err("must be at least one processor".to_owned()),
            count => Ok(Cpus::Count(count)),
        },
    }
}

fn ring_bytes(text: &str) -> Result<usize, String> {
    let wrong = || format!("invalid size `{text}`: must be a number with KiB, MiB or GiB");
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
