//! Command line of `godwit perfdhcp`: the parser of perfdhcp's switches.

use std::net::Ipv6Addr;
use std::path::PathBuf;

use base::time::NS_PER_S;
use load::LoadShapeArg;

use super::files::NamedFileSource;
use super::part::GeneratorPart;
use crate::frames::FrameArgs;

/// Default mean time in seconds until a client of `--scenario lifecycle` returns (`--away`).
pub(crate) const AWAY_DEFAULT_S: f64 = 600.0;

/// Load-test a DHCP server with perfdhcp's options, and report what became of every request.
///
/// Every request has a deadline (-d), counted from its due time, and ends in one class: on time,
/// late, lost, NAK, rejected, invalid, wrong client. The run ends when no answer is outstanding.
///
/// Exit codes: 0 every request was answered on time and no address went to two clients; 1 the
/// environment failed; 2 bad arguments; 3 a request was not answered on time, no server answered at
/// all, or an address went to two clients; 130 interrupted.
#[derive(Clone, Debug, clap::Parser)]
#[command(name = "perfdhcp", disable_version_flag = true, args_override_self = true)]
#[allow(clippy::struct_excessive_bools, reason = "perfdhcp's switches")]
pub struct PerfdhcpArgs {
    /// Use DHCPv4 (the default)
    #[arg(short = '4')]
    pub(crate) v4: bool,
    /// Use DHCPv6
    #[arg(short = '6')]
    pub(crate) v6: bool,
    /// Send all REQUESTs to the server of the first offer
    #[arg(short = '1')]
    pub(crate) first_server: bool,
    /// Without -r: number of exchanges to start at a time, without waiting for replies
    /// (aggressivity, as in perfdhcp of 2011)
    #[arg(short = 'a', value_name = "N", default_value_t = 1, value_parser = positive)]
    pub(crate) aggressivity: u32,
    /// DHCPv6: send as a relay agent, each message in a RELAY-FORW; the value is the number of
    /// relay agents, of which only 1 is supported
    #[arg(short = 'A', value_name = "1", value_parser = clap::value_parser!(u8).range(1..=1))]
    pub(crate) relay: Option<u8>,
    /// First client's identity, from which the identities of the other clients are counted up: mac=
    /// (or ether=) or duid=; may be given up to 4 times
    #[arg(short = 'b', value_name = "TYPE=VALUE", value_parser = base)]
    pub(crate) bases: Vec<Base>,
    /// DHCPv4: allow the socket to send to broadcast addresses
    #[arg(short = 'B')]
    pub(crate) broadcast: bool,
    /// DHCPv6: request Rapid Commit; needs -i
    #[arg(short = 'c')]
    pub(crate) rapid_commit: bool,
    /// Print periodic reports as bare numbers with this separator
    #[arg(short = 'C', value_name = "SEPARATOR")]
    pub(crate) separator: Option<String>,
    /// Seconds after its due time by which a request must be answered; a second -d is for the
    /// second exchange (REQUEST) only [default: 1]
    #[arg(short = 'd', value_name = "S", value_parser = deadline)]
    pub(crate) deadlines: Vec<u64>,
    /// Act as clients on the link of interface -l, without a relay: frames leave from each client's
    /// own hardware address, as broadcast until the client has an address
    #[arg(long)]
    pub(crate) direct: bool,
    /// With --direct: set the broadcast flag while a client has no address
    #[arg(long)]
    pub(crate) broadcast_flag: bool,
    /// With --direct: answer ARP requests for the clients' addresses
    #[arg(long)]
    pub(crate) answer_arp: bool,
    /// End the run when this many requests, or this percentage, have no answer within -d; a second
    /// -D is for the second exchange (REQUEST)
    #[arg(short = 'D', value_name = "N|N%", value_parser = drops)]
    pub(crate) max_drops: Vec<MaxDrops>,
    /// Type of the leases to request; all but address-only need -6
    #[arg(short = 'e', value_name = "TYPE", value_enum, default_value_t = LeaseType::AddressOnly)]
    pub(crate) lease_type: LeaseType,
    /// Renewals of leases per second; needs -r
    #[arg(short = 'f', value_name = "N", value_parser = positive)]
    pub(crate) renew_rate: Option<u32>,
    /// Releases of leases per second; needs -r
    #[arg(short = 'F', value_name = "N", value_parser = positive)]
    pub(crate) release_rate: Option<u32>,
    /// Accepted without effect: one thread sends and receives in batches
    #[arg(short = 'g', value_name = "MODE", value_enum)]
    pub(crate) threads: Option<ThreadMode>,
    /// First exchange only: DISCOVER and OFFER, or SOLICIT and ADVERTISE
    #[arg(short = 'i')]
    pub(crate) offer_only: bool,
    /// File of relay addresses, one per line; each exchange uses a random one. A DHCPv4 server
    /// answers to that address: it must be one of this machine, unless the server answers the
    /// source (KEA_TEST_SEND_RESPONSES_TO_SOURCE)
    #[arg(short = 'J', value_name = "FILE")]
    pub(crate) relay_list: Option<PathBuf>,
    /// Local address, host name or interface that messages leave from; --direct needs an interface
    #[arg(short = 'l', value_name = "ADDRESS|INTERFACE|HOST")]
    pub(crate) local: Option<String>,
    /// Local port [default: DHCPv4 67, with --direct 68; DHCPv6 546, with -A 547]
    #[arg(short = 'L', value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub(crate) local_port: u16,
    /// File of the clients' hardware addresses, one per line; each exchange uses a random one
    #[arg(short = 'M', value_name = "FILE")]
    pub(crate) mac_list: Option<PathBuf>,
    /// End the run after this many first requests (DISCOVER, SOLICIT); a second -n is for second
    /// requests (REQUEST)
    #[arg(short = 'n', value_name = "N", value_parser = positive)]
    pub(crate) counts: Vec<u32>,
    /// UDP port of the server [default: DHCPv4 67, DHCPv6 547]
    #[arg(short = 'N', value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub(crate) server_port: u16,
    /// Add an option to every message of the clients, value in hexadecimal digits
    #[arg(short = 'o', value_name = "CODE,HEX", value_parser = option)]
    pub(crate) options: Vec<(u16, Vec<u8>)>,
    /// DHCPv6: add an option to the RELAY-FORW; needs -A
    #[arg(long = "or", value_name = "[1:]CODE,HEX", value_parser = relay_option)]
    pub(crate) relay_options: Vec<(u16, Vec<u8>)>,
    /// End the run after this many seconds
    #[arg(short = 'p', value_name = "S", value_parser = positive)]
    pub(crate) period_s: Option<u32>,
    /// Send this many first requests (DISCOVER, SOLICIT) at once before the run, without counting
    /// them
    #[arg(short = 'P', value_name = "N", default_value_t = 0)]
    pub(crate) preload: u32,
    /// New exchanges per second [default: as fast as this program can send, -a at a time, without
    /// waiting for answers]
    #[arg(short = 'r', value_name = "N", value_parser = positive)]
    pub(crate) rate: Option<u32>,
    /// Spacing of first requests: even, poisson, burst:N (N at a time), ramp:P%..P% (percentages of
    /// the rate, from the beginning of -p to its end), steps:P%,P%... (equal parts of -p),
    /// replay:FILE (times of a capture or of a Kea lease file; with -r stretched to that mean rate)
    #[arg(long, value_name = "SHAPE", value_parser = LoadShapeArg::parse)]
    pub(crate) shape: Option<LoadShapeArg>,
    /// Number of simulated clients, used in turn [default: 1]
    #[arg(short = 'R', value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) clients: u32,
    /// Seed of the run's transaction identifiers and all random choices; 0 picks a random seed
    #[arg(short = 's', value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Behavior of the simulated clients
    #[arg(long, value_enum, default_value_t = PerfdhcpScenario::Basic)]
    pub(crate) scenario: PerfdhcpScenario,
    /// Avalanche: rule by which clients send requests again
    #[arg(long, value_enum, default_value_t = ResendRule::Rfc)]
    pub(crate) resend: ResendRule,
    /// Seconds between periodic reports
    #[arg(short = 't', value_name = "S", value_parser = positive)]
    pub(crate) report_s: Option<u32>,
    /// Also report when two clients are offered the same address, not only when both get it
    #[arg(short = 'u')]
    pub(crate) unique: bool,
    /// Print the version of this program
    #[arg(short = 'v')]
    pub(crate) version: bool,
    /// Print the version of this program, as -v does
    #[arg(short = 'V')]
    pub(crate) extended_version: bool,
    /// Program to run before the load, with the argument `start`, and after it, with `stop`
    #[arg(short = 'w', value_name = "PROGRAM")]
    pub(crate) wrapped: Option<PathBuf>,
    /// Microseconds to wait at most for outstanding answers at the end [default: for each request
    /// its deadline plus the longer of both deadlines]
    #[arg(short = 'W', value_name = "US")]
    pub(crate) wait_us: Option<u64>,
    /// Diagnostics: a settings, e reason of the end, i waits without a packet, l leases, s server
    /// identifier, t time stamps, T the first message of each kind
    #[arg(short = 'x', value_name = "LETTERS", value_parser = letters, default_value = "")]
    pub(crate) diagnostics: String,
    /// With -Y: number of seconds for which first requests state an elapsed time above 0 (field
    /// secs, elapsed time option)
    #[arg(short = 'y', value_name = "S", value_parser = positive)]
    pub(crate) age_for_s: Option<u32>,
    /// With -y: second of the run from which first requests state an elapsed time above 0
    #[arg(short = 'Y', value_name = "S")]
    pub(crate) age_from_s: Option<u32>,
    /// Print perfdhcp's output, line by line
    #[arg(long)]
    pub(crate) compat: bool,
    /// Write the whole result as JSON to FILE (`-`: standard output, instead of text)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Lifecycle: number of the clients' seconds per real second, so that leases of hours are
    /// renewed within a run
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = speed)]
    pub(crate) speed: f64,
    /// Lifecycle: mean time in seconds until a client leaves, exponentially distributed [default:
    /// never]
    #[arg(long, value_name = "S", value_parser = span)]
    pub(crate) stay: Option<f64>,
    /// Lifecycle: mean time in seconds until a client returns, exponentially distributed
    #[arg(long, value_name = "S", default_value_t = AWAY_DEFAULT_S, value_parser = span)]
    pub(crate) away: f64,
    /// Lifecycle: percentage of leaving clients that send a RELEASE
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = percent())]
    pub(crate) releasing: u8,
    /// Lifecycle: percentage of new leases followed by an INFORM or INFORMATION-REQUEST
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = percent())]
    pub(crate) informing: u8,
    /// Lifecycle: percentage of new leases that are declined
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = percent())]
    pub(crate) declining: u8,
    /// Fill the terminal during the run with rates, drops and the distribution of latencies, anew
    /// every second or every -t
    #[arg(long)]
    pub(crate) live: bool,
    /// Write latencies to FILE as an HdrHistogram log, from due and from sent time, with a tag for
    /// each kind of exchange
    #[arg(long, value_name = "FILE")]
    pub(crate) hdr: Option<PathBuf>,
    /// Write the messages sent and received to FILE as a capture, up to 256 MiB
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
    /// With --pcap: write only the messages of failed exchanges, and answers that match no exchange
    #[arg(long, requires = "pcap")]
    pub(crate) pcap_failed: bool,
    /// Packet template in hexadecimal digits for DISCOVER or SOLICIT; a second -T for REQUEST
    #[arg(short = 'T', value_name = "FILE")]
    pub(crate) templates: Vec<PathBuf>,
    /// Offset of the elapsed time in the second packet: of the field secs [default: 8], DHCPv6: of
    /// the elapsed time option
    #[arg(short = 'E', value_name = "OFFSET")]
    pub(crate) elapsed_offset: Option<usize>,
    /// Offset of the requested address option in the second packet, DHCPv6: of the identity
    /// association [default for DHCPv6: 40]
    #[arg(short = 'I', value_name = "OFFSET")]
    pub(crate) address_offset: Option<usize>,
    /// Offset of the last byte of the client's identity in the packets; a second -O is for the
    /// second packet only [default: DHCPv4 33, the end of chaddr; DHCPv6 21, the end of a DUID]
    #[arg(short = 'O', value_name = "OFFSET")]
    pub(crate) client_offsets: Vec<usize>,
    /// Offset of the server identifier option in the second packet [default for DHCPv6: 22]
    #[arg(short = 'S', value_name = "OFFSET")]
    pub(crate) server_offset: Option<usize>,
    /// Offset of the transaction identifier in the packets; a second -X is for the second packet
    /// only [default: DHCPv4 4, DHCPv6 1]
    #[arg(short = 'X', value_name = "OFFSET")]
    pub(crate) xid_offsets: Vec<usize>,
    #[command(flatten)]
    pub(crate) frames: FrameArgs,
    /// Divide the run between `godwit perfdhcp` on these machines, over SSH, and combine the
    /// results; LOCAL is a machine's own address or interface, instead of -l
    #[arg(long, value_name = "HOST[=LOCAL],...", value_delimiter = ',', value_parser = GeneratorHost::parse)]
    pub(crate) generators: Vec<GeneratorHost>,
    /// With --generators: command that connects to another machine; spaces separate its arguments
    #[arg(long, value_name = "COMMAND", requires = "generators", default_value = SSH)]
    pub(crate) ssh_command: String,
    /// With --generators: shell command that starts godwit on the other machines
    #[arg(long, value_name = "COMMAND", requires = "generators", default_value = "godwit")]
    pub(crate) remote_godwit: String,
    /// (internal) One of several generators, controlled over standard input
    #[arg(long, hide = true)]
    pub(crate) follow: bool,
    #[arg(skip)]
    pub(crate) part: GeneratorPart,
    #[arg(skip)]
    pub(crate) files: NamedFileSource,
    /// Address or host name of the server; for IPv4 also `all` (broadcast), for IPv6 `all`
    /// (ff02::1:2) and `servers` (ff05::1:3)
    #[arg(value_name = "SERVER")]
    pub(crate) server: Option<String>,
}

/// Default command that connects to other machines (`--generators`): SSH without prompts, which
/// ends when the other machine is unreachable.
const SSH: &str = "ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5 \
                   -o ServerAliveCountMax=3";

/// Machine of `--generators`, on which a generator of the run is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GeneratorHost {
    /// Name of the machine, as SSH takes it.
    pub(crate) name: String,
    /// Address or interface of the machine that its messages leave from, instead of `-l`.
    pub(crate) local: Option<String>,
}

impl GeneratorHost {
    fn parse(text: &str) -> Result<Self, String> {
        let (name, local) =
            text.split_once('=').map_or((text, None), |(name, local)| (name, Some(local)));
        // SSH would read a name that begins with `-` as one of its own options.
        if name.is_empty() || name.starts_with('-') || name.contains(char::is_whitespace) {
            return Err("must be the name of a machine, and perhaps =ADDRESS or =INTERFACE".into());
        }
        Ok(Self { name: name.into(), local: local.map(Into::into) })
    }
}

/// Value of `-b`: the hardware address or DUID of client 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    Mac([u8; 6]),
    Duid(Vec<u8>),
}

/// Value of `-D`: the number or percentage of overdue requests that ends the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum MaxDrops {
    Count(u64),
    Percent(f64),
}

base::named! {
    /// Value of `-e`: the type of leases that clients request. Names are the words of the option
    /// `-e`.
    #[derive(clap::ValueEnum)]
    pub(crate) enum LeaseType {
        /// Addresses, in DHCPv6 as IA_NA
        AddressOnly = "address-only",
        /// Delegated prefixes, as IA_PD
        PrefixOnly = "prefix-only",
        /// An address and a delegated prefix in one message
        AddressAndPrefix = "address-and-prefix",
    }
}

/// Value of `-g`: perfdhcp's mode of threads, which has no effect on sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ThreadMode {
    Single,
    Multi,
}

/// Value of `--scenario`: the behavior of the simulated clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PerfdhcpScenario {
    /// Exchanges as perfdhcp makes them
    Basic,
    /// All clients (-R) start at once and repeat requests until answered
    Avalanche,
    /// Clients (-R) join at -r, renew and rebind leases, leave and return
    Lifecycle,
}

/// Value of `--resend`: the rule by which an avalanche sends requests again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ResendRule {
    /// RFC 2131 section 4.1 (DHCPv4) or RFC 9915 section 15 (DHCPv6)
    Rfc,
    /// As perfdhcp: 2^n seconds after the first sending, at most 64
    Perfdhcp,
}

fn positive(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|&number| number > 0 && number <= i32::MAX as u32);
    number.ok_or_else(|| "must be a whole number from 1 to 2147483647".into())
}

fn speed(text: &str) -> Result<f64, String> {
    let speed = text.parse().ok().filter(|speed| (0.001..=1e6).contains(speed));
    speed.ok_or_else(|| "must be from 0.001 to 1000000".into())
}

fn span(text: &str) -> Result<f64, String> {
    let s = text.parse().ok().filter(|s| (0.001..=1e9).contains(s));
    s.ok_or_else(|| "must be a number of seconds above 0".into())
}

fn percent() -> clap::builder::RangedI64ValueParser<u8> {
    clap::value_parser!(u8).range(0..=100)
}

fn deadline(text: &str) -> Result<u64, String> {
    let seconds: f64 = text.parse().map_err(|_| "must be a number of seconds")?;
    let ns = seconds * NS_PER_S as f64;
    if ns >= 1.0 && seconds <= 3_600.0 {
        Ok(ns as u64)
    } else {
        Err("must be above 0, 3600 at most".into())
    }
}

fn drops(text: &str) -> Result<MaxDrops, String> {
    if let Some(share) = text.strip_suffix('%') {
        let share = share.parse().ok().filter(|&percent: &f64| percent > 0.0 && percent < 100.0);
        return share.map(MaxDrops::Percent).ok_or_else(|| "must be between 0% and 100%".into());
    }
    positive(text).map(|count| MaxDrops::Count(count.into()))
}

/// Parses bytes from an even number of hexadecimal digits.
pub(crate) fn octets(digits: &str) -> Result<Vec<u8>, String> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| {
        if pair.len() != 2 || !pair.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()
    });
    pairs.collect::<Option<_>>().ok_or_else(|| "an even number of hexadecimal digits".into())
}

/// Parses a hardware address: six bytes of one or two digits with `:` or `::` between them.
pub(crate) fn mac(text: &str) -> Option<[u8; 6]> {
    let text = text.replace("::", ":");
    let octets: Option<Vec<u8>> = text
        .split(':')
        .map(|octet| {
            let is_hex =
                (1..=2).contains(&octet.len()) && octet.bytes().all(|b| b.is_ascii_hexdigit());
            if is_hex { u8::from_str_radix(octet, 16).ok() } else { None }
        })
        .collect();
    octets?.try_into().ok()
}

fn base(text: &str) -> Result<Base, String> {
    let (kind, value) = text.split_once('=').ok_or("must be mac=..., ether=... or duid=...")?;
    match kind.to_ascii_lowercase().as_str() {
        "mac" | "ether" => {
            mac(value).map(Base::Mac).ok_or_else(|| "six bytes with colons between them".into())
        }
        "duid" => {
            let duid = octets(value)?;
            if (6..=64).contains(&duid.len()) {
                Ok(Base::Duid(duid))
            } else {
                Err("a DUID here has 6 to 64 bytes".into())
            }
        }
        _ => Err("must be mac=..., ether=... or duid=...".into()),
    }
}

fn option(text: &str) -> Result<(u16, Vec<u8>), String> {
    let (code, value) = text.split_once(',').ok_or("must be CODE,HEX")?;
    let code = code.parse().ok().filter(|&code: &u16| code > 0).ok_or("not an option code")?;
    Ok((code, octets(value)?))
}

fn relay_option(text: &str) -> Result<(u16, Vec<u8>), String> {
    match text.split_once(':') {
        None => option(text),
        Some(("1", rest)) => option(rest),
        Some(_) => Err("1 is the only encapsulation known".into()),
    }
}

fn letters(text: &str) -> Result<String, String> {
    match text.chars().find(|letter| !"aeilstT".contains(*letter)) {
        None => Ok(text.into()),
        Some(letter) => Err(format!(
            "unknown diagnostics '{letter}'; known are a, e, i, l, s, t, \
                                     T"
        )),
    }
}

/// Multicast group All_DHCP_Relay_Agents_and_Servers (RFC 9915 §7.1).
pub(crate) const GROUP_ALL: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2);
/// Multicast group All_DHCP_Servers (RFC 9915 §7.1).
pub(crate) const GROUP_SERVERS: Ipv6Addr = Ipv6Addr::new(0xff05, 0, 0, 0, 0, 0, 1, 3);

impl PerfdhcpArgs {
    /// Returns true if the switches select DHCPv6.
    pub(crate) fn is_v6(&self) -> bool {
        self.v6
    }

    /// Returns true if the switch `-x` requests the diagnostics `letter`.
    pub(crate) fn shows(&self, letter: char) -> bool {
        self.diagnostics.contains(letter)
    }

    /// Returns the value of the `index`th -d, or of the last one, in nanoseconds; 1 s without any.
    pub(crate) fn deadline_ns(&self, index: usize) -> u64 {
        // One -d sets both deadlines: with perfdhcp the second exchange would stay at 1 s.
        self.deadlines.get(index).or_else(|| self.deadlines.last()).copied().unwrap_or(NS_PER_S)
    }
}
