//! Derivation of a perfdhcp run's clients, files and limits from the command line.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::{fmt, io};

use base::text_file;
use base::time::NS_PER_S;
use load::{LoadPeriod, LoadRate, LoadShape, Schedule, ThreadShare, replay};
use netio::{Clock, NetError, stderr};

use super::args::{Base, LeaseType, MaxDrops, PerfdhcpArgs, PerfdhcpScenario, ResendRule, mac};
use super::capture::Keep;
use super::drive::{RequestPacing, RunLimits};
use super::lifecycle::LifecycleSettings;
use super::packet::{self, Dhcp4PacketOffsets, Dhcp4PacketTemplates};
use super::packet6;
use super::persona::Personas;
use super::resend::Resend;
use super::rules::RequestRules;
use super::trace::Trace;
use crate::v4::answer::is_discover;
use crate::v6::RequestedAssociations;
use crate::v6::answer::is_solicit;

/// Time for which the clients of an avalanche await a reply, in nanoseconds.
const AVALANCHE_NS: u64 = 1_000 * NS_PER_S;
/// Number of first requests whose replies a run without a rate (`-r`) awaits at a time.
const BEST_EFFORT_ROOM: u64 = 1 << 18;
/// Number of leases that a run without a limit keeps in memory to detect addresses that two clients
/// got.
const LEASES_OPEN: u64 = 1 << 20;
/// Largest number of invalid lines of a list (`-M`, `-J`) that are reported.
const LIST_PROBLEMS_MAX: usize = 10;

/// Reason why a perfdhcp run failed.
#[derive(Debug)]
pub(crate) enum PerfdhcpFailure {
    /// The command line cannot work; lists every problem.
    Usage(Vec<String>),
    /// The environment failed: the operating system refused something, or another generator failed;
    /// contains the message.
    Environment(String),
    /// A signal interrupted the run before the measurement began.
    Interrupted,
}

/// Result of a step of a perfdhcp run.
pub(crate) type PerfdhcpResult<T> = Result<T, PerfdhcpFailure>;

impl From<NetError> for PerfdhcpFailure {
    fn from(error: NetError) -> Self {
        Self::Environment(error.to_string())
    }
}

pub(crate) fn usage(problem: impl fmt::Display) -> PerfdhcpFailure {
    PerfdhcpFailure::Usage(vec![problem.to_string()])
}

/// Returns the text in the file `path`, which the switch `switch` names.
fn text(args: &PerfdhcpArgs, switch: &str, path: &Path) -> PerfdhcpResult<String> {
    let octets = args.files.read(path).and_then(|octets| {
        if let Some(advice) = text_file::utf16_advice(&octets) {
            return Err(io::Error::other(advice));
        }
        let octets = text_file::without_byte_order_mark(&octets).to_vec();
        String::from_utf8(octets).map_err(io::Error::other)
    });
    octets.map_err(|error| usage(format!("{switch} {}: cannot be read: {error}", path.display())))
}

/// Returns the values on the lines of the list `path`, without empty lines. `read` reads one; a
/// line for which it returns `None` is no `kind`.
fn list<T>(
    args: &PerfdhcpArgs,
    switch: &str,
    path: &Path,
    kind: &str,
    read: impl Fn(&str) -> Option<T>,
) -> PerfdhcpResult<Vec<T>> {
    let (path_text, text) = (path.display(), text(args, switch, path)?);
    let (mut values, mut problems) = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        match read(line) {
            _ if line.is_empty() => {}
            Some(value) => values.push(value),
            None if problems.len() < LIST_PROBLEMS_MAX => {
                problems.push(format!("{switch} {path_text}:{number}: {line}: not {kind}"));
            }
            None => {}
        }
    }
    if !problems.is_empty() {
        return Err(PerfdhcpFailure::Usage(problems));
    }
    if values.is_empty() {
        Err(usage(format!("{switch} {path_text}: is empty")))
    } else {
        Ok(values)
    }
}

/// Returns the identities (personas) of the simulated clients.
pub(crate) fn personas(args: &PerfdhcpArgs) -> PerfdhcpResult<Personas> {
    let mut base_mac = [0, 0x0c, 1, 2, 3, 4];
    let mut base_duid = None;
    for base in &args.bases {
        match base {
            Base::Mac(mac) => base_mac = *mac,
            Base::Duid(duid) => base_duid = Some(duid.clone()),
        }
    }
    let list = match &args.mac_list {
        Some(path) => list(args, "-M", path, "a hardware address", mac)?,
        None => Vec::new(),
    };
    // DUID-LLT with a fixed time: the same command line gives the same clients on every day.
    let base_duid = base_duid.unwrap_or_else(|| {
        let mut duid = vec![0, 1, 0, 1, 0x2a, 0, 0, 0];
        duid.extend(base_mac);
        duid
    });
    let of = u64::from(args.part.of);
    if args.mac_list.is_some() && (list.len() as u64) < of.max(args.generators.len() as u64) {
        return Err(usage("-M: fewer hardware addresses than generators, each of which needs one"));
    }
    let clients = args.clients.max(1);
    Ok(Personas { base_mac, base_duid, clients, part: args.part, list })
}

/// Returns the relay addresses of a run whose own address is `own`.
pub(crate) fn links(args: &PerfdhcpArgs, own: IpAddr) -> PerfdhcpResult<Vec<IpAddr>> {
    let Some(path) = &args.relay_list else { return Ok(vec![own]) };
    list(args, "-J", path, "an address of the run's IP version", |line| {
        line.parse::<IpAddr>().ok().filter(|ip| ip.is_ipv6() == own.is_ipv6())
    })
}

/// Returns the bytes of the `index`th packet of `-T`, if the command line has one.
fn packet(args: &PerfdhcpArgs, index: usize) -> PerfdhcpResult<Option<Vec<u8>>> {
    let Some(path) = args.templates.get(index) else { return Ok(None) };
    let octets = packet::read(&text(args, "-T", path)?).ok_or_else(|| {
        usage(format!("-T {}: must be pairs of hexadecimal digits", path.display()))
    })?;
    Ok(Some(octets))
}

/// Returns the `index`th of the offsets in a packet that a switch gives, or the last one.
fn offset_of(offsets: &[usize], index: usize, default: usize) -> usize {
    offsets.get(index).or_else(|| offsets.last()).copied().unwrap_or(default)
}

/// Returns the DHCPv4 packets of `-T`, if the command line has some.
pub(crate) fn packets(args: &PerfdhcpArgs) -> PerfdhcpResult<Option<Dhcp4PacketTemplates>> {
    let offsets = |index: usize| Dhcp4PacketOffsets {
        xid: offset_of(&args.xid_offsets, index, 4),
        // The last byte of an Ethernet address in chaddr; perfdhcp's default is two bytes after it.
        client_end: offset_of(&args.client_offsets, index, 33),
        secs: args.elapsed_offset.filter(|&at| at > 0).unwrap_or(8),
        server: args.server_offset.unwrap_or(0),
        address: args.address_offset.unwrap_or(0),
    };
    let Some(first) = packet(args, 0)? else { return Ok(None) };
    let second = packet(args, 1)?.map(|second| (second, offsets(1)));
    let packets = Dhcp4PacketTemplates::new((first, offsets(0)), second).map_err(usage)?;
    if args.direct && !packets.giaddr().is_unspecified() {
        return Err(usage("-T: the first packet has a relay address (giaddr); --direct has none"));
    }
    Ok(Some(packets))
}

/// Returns the DHCPv6 packets of `-T`, if the command line has some. The default offsets are
/// perfdhcp's, those of its own messages.
pub(crate) fn packets6(
    args: &PerfdhcpArgs,
) -> PerfdhcpResult<Option<packet6::Dhcp6PacketTemplates>> {
    let offsets = |index: usize| packet6::Dhcp6PacketOffsets {
        xid: offset_of(&args.xid_offsets, index, 1),
        client_end: offset_of(&args.client_offsets, index, 21),
        elapsed: args.elapsed_offset.filter(|&at| at > 0),
        server: args.server_offset.unwrap_or(22),
        association: args.address_offset.unwrap_or(40),
    };
    let Some(first) = packet(args, 0)? else { return Ok(None) };
    let second = packet(args, 1)?.map(|second| (second, offsets(1)));
    packet6::Dhcp6PacketTemplates::new((first, offsets(0)), second).map(Some).map_err(usage)
}

/// Returns the identity associations that every DHCPv6 client requests.
pub(crate) fn ask(args: &PerfdhcpArgs) -> RequestedAssociations {
    RequestedAssociations {
        na: args.lease_type != LeaseType::PrefixOnly,
        pd: args.lease_type != LeaseType::AddressOnly,
        ias: 1,
        rapid_commit: args.rapid_commit,
    }
}

/// Returns the IPv4 addresses among `links`.
pub(crate) fn v4(links: &[IpAddr]) -> Vec<Ipv4Addr> {
    links.iter().filter_map(|ip| if let IpAddr::V4(ip) = ip { Some(*ip) } else { None }).collect()
}

/// Returns the IPv6 addresses among `links`.
pub(crate) fn v6(links: &[IpAddr]) -> Vec<Ipv6Addr> {
    links.iter().filter_map(|ip| if let IpAddr::V6(ip) = ip { Some(*ip) } else { None }).collect()
}

/// Returns the seed of the command line, or a random one if it has none.
pub(crate) fn seed(args: &PerfdhcpArgs) -> u64 {
    if args.seed > 0 {
        return args.seed;
    }
    let mut state = Clock::mono_ns() ^ u64::from(std::process::id()) << 40;
    base::random::split_mix(&mut state).max(1)
}

const fn is_avalanche(args: &PerfdhcpArgs) -> bool {
    matches!(args.scenario, PerfdhcpScenario::Avalanche)
}

fn per_second(rate: u32) -> LoadRate {
    LoadRate::per_second(rate.into()).expect("whole numbers from 1 to 2^31 are rates")
}

/// Returns the deadlines and limits of the run's requests.
pub(crate) fn rules(
    args: &PerfdhcpArgs,
    shape: Option<&(LoadShape, LoadRate)>,
    seed: u64,
    links: usize,
    number_bits: u32,
) -> PerfdhcpResult<RequestRules> {
    let (first_ns, second_ns) = if is_avalanche(args) {
        (AVALANCHE_NS, AVALANCHE_NS)
    } else {
        (args.deadline_ns(0), args.deadline_ns(1))
    };
    let grace_ns = if is_avalanche(args) { 0 } else { first_ns.max(second_ns) };
    let watched_ns = first_ns + second_ns + 2 * grace_ns;
    // A quarter above the mean and a minimum, as in other runs.
    let slack = |count: u64| count * 5 / 4 + 1_024;
    let share = |count: u64| count.div_ceil(args.part.of.into());
    let room = |rate: u32| slack(share(per_second(rate).count_in(watched_ns)));
    let expected = expected(args, shape);
    let preload = args.part.share(args.preload.into());
    let firsts = shape.map(|(shape, rate)| slack(share(shape.most_in(*rate, watched_ns))));
    let capacity = match firsts {
        _ if is_avalanche(args) => clients(args).into(),
        None => BEST_EFFORT_ROOM,
        Some(count) if args.scenario == PerfdhcpScenario::Lifecycle => {
            count + 2 * u64::from(clients(args))
        }
        Some(count) => count,
    };
    let capacity = expected.map_or(capacity, |count| capacity.min(count + 1)) + preload;
    // All parts share the identifiers.
    let most = (1 << (number_bits - 1).min(22)) / u64::from(args.part.of);
    if capacity > most {
        return Err(usage(format!(
            "the run would have to watch {capacity} requests at a time, but can watch {most}; \
             lower -r, -d, -R or -P"
        )));
    }
    let lease_rate = args.renew_rate.unwrap_or(0).max(args.release_rate.unwrap_or(0));
    let lease_capacity = match args.scenario {
        // No client has two exchanges open, but some exchanges are watched that have ended.
        PerfdhcpScenario::Lifecycle => (2 * u64::from(clients(args)) + 1_024).min(most),
        _ if lease_rate == 0 => 1,
        _ => room(lease_rate),
    };
    let changes = if lease_rate == 0 { 1 } else { 3 };
    let captured = if args.pcap_failed { Keep::Failed } else { Keep::All };
    let per_exchange = if args.lease_type == LeaseType::AddressAndPrefix { 2 } else { 1 };
    let leases = expected.unwrap_or(LEASES_OPEN).min(1 << 23) * changes * per_exchange;
    Ok(RequestRules {
        deadlines_ns: [first_ns, second_ns],
        grace_ns,
        is_offer_only: args.offer_only,
        second_max: count(args, 1),
        ages: args.age_from_s.zip(args.age_for_s).map(|(from, len)| (from.into(), len.into())),
        keeps_leases: lease_rate > 0,
        resend: is_avalanche(args).then(|| resend_of(args)),
        habits: habits(args),
        answers_arp: args.answer_arp,
        capture: args.pcap.as_ref().map(|_| captured),
        trace: trace_of(args),
        links: u32::try_from(links).unwrap_or(u32::MAX),
        seed,
        part: args.part,
        capacity,
        lease_capacity,
        leases,
        compares_offers: args.unique,
    })
}

/// Returns the rule by which an avalanche sends requests again.
fn resend_of(args: &PerfdhcpArgs) -> Resend {
    match args.resend {
        ResendRule::Perfdhcp => Resend::Perfdhcp,
        ResendRule::Rfc if args.is_v6() => Resend::Rfc9915,
        ResendRule::Rfc => Resend::Rfc2131,
    }
}

/// Returns the selection of data that the run keeps for the diagnostics of `-x`.
fn trace_of(args: &PerfdhcpArgs) -> Trace {
    Trace {
        keeps_templates: args.shows('T'),
        keeps_times: args.shows('t'),
        keeps_leases: args.shows('l'),
        keeps_server: args.shows('s'),
        ..Trace::default()
    }
}

/// Returns the number of clients that this generator's part of the run simulates.
fn clients(args: &PerfdhcpArgs) -> u32 {
    args.part.share_u32(args.clients)
}

/// Returns the number of requests that the `index`th -n leaves to this generator's part of the run.
fn count(args: &PerfdhcpArgs, index: usize) -> Option<u64> {
    args.counts.get(index).map(|&count| args.part.share(count.into()))
}

/// Returns the number of exchanges that this generator will begin, when the command line determines
/// it.
fn expected(args: &PerfdhcpArgs, shape: Option<&(LoadShape, LoadRate)>) -> Option<u64> {
    if is_avalanche(args) {
        return Some(clients(args).into());
    }
    if args.scenario == PerfdhcpScenario::Lifecycle {
        return None;
    }
    let by_period = period_ns(args, shape).zip(shape).map(|(ns, (shape, rate))| match shape {
        // A Poisson schedule may draw more.
        LoadShape::Poisson => rate.count_in(ns).div_ceil(args.part.of.into()) * 5 / 4 + 1_024,
        shape => shape.most_in(*rate, ns).div_ceil(args.part.of.into()),
    });
    by_period.into_iter().chain(count(args, 0)).min()
}

/// Returns the limits that end the run, from `-n`, `-p`, `-D` and `-W`.
pub(crate) fn limits(args: &PerfdhcpArgs, shape: Option<&(LoadShape, LoadRate)>) -> RunLimits {
    let counts = |limit: &MaxDrops| if let MaxDrops::Count(n) = limit { Some(*n) } else { None };
    let shares = |limit: &MaxDrops| if let MaxDrops::Percent(x) = limit { Some(*x) } else { None };
    let (mut overdue, mut percent) = ([None; 2], [None; 2]);
    for (slot, limit) in overdue.iter_mut().zip(args.max_drops.iter().filter_map(counts)) {
        *slot = Some(limit);
    }
    for (slot, limit) in percent.iter_mut().zip(args.max_drops.iter().filter_map(shares)) {
        *slot = Some(limit);
    }
    RunLimits {
        counts: [count(args, 0), count(args, 1)],
        period_ns: period_ns(args, shape),
        // Without -p the period is the length of a replay, which may be 0.
        sends_all: args.period_s.is_none(),
        overdue,
        overdue_percent: percent,
        wait_ns: args.wait_us.map(|us| us.saturating_mul(1_000)),
    }
}

/// Returns the load shape and the rate of first requests, when they have a schedule.
pub(crate) fn shape(args: &PerfdhcpArgs) -> PerfdhcpResult<Option<(LoadShape, LoadRate)>> {
    let rate = args.rate.map(per_second);
    let Some(shape_arg) = &args.shape else { return Ok(rate.map(|rate| (LoadShape::Even, rate))) };
    let (port, is_first): (u16, fn(&[u8]) -> bool) =
        if args.is_v6() { (547, is_solicit) } else { (67, is_discover) };
    let times = |path: &str| {
        let file =
            args.files.read(Path::new(path)).map_err(|error| format!("cannot be read: {error}"))?;
        let recording = replay::times(&file, &[port], is_first)?;
        if let Some(notice) = recording.notice(path) {
            stderr::print_line(notice);
        }
        Ok(recording.times_ns)
    };
    let shaped = shape_arg.with_rate(rate, times);
    shaped.map(Some).map_err(|problem| usage(format!("--shape {problem}")))
}

/// Returns the time during which first requests come due, in nanoseconds: a replay ends with its
/// recording.
pub(crate) fn period_ns(args: &PerfdhcpArgs, shape: Option<&(LoadShape, LoadRate)>) -> Option<u64> {
    let period_ns = args.period_s.map(|s| u64::from(s) * NS_PER_S);
    period_ns.or_else(|| shape?.0.length_ns())
}

/// Returns the due times of first requests, renewals and releases in a run from `start_ns` on.
pub(crate) fn schedules(
    args: &PerfdhcpArgs,
    shape: Option<&(LoadShape, LoadRate)>,
    start_ns: u64,
    seed: u64,
) -> (RequestPacing, [Option<Schedule>; 2]) {
    let duration_ns = period_ns(args, shape).unwrap_or(u64::MAX / 4);
    let period = LoadPeriod { start_ns, duration_ns };
    let (thread, threads) = args.part.pair();
    let share = ThreadShare { thread, threads };
    let even = |rate: u32| Schedule::even(per_second(rate), start_ns, duration_ns, thread, threads);
    let pacing = match shape {
        _ if is_avalanche(args) => RequestPacing::AtOnce(clients(args).into()),
        Some((shape, rate)) => {
            RequestPacing::Scheduled(Schedule::for_thread(shape, *rate, period, share, seed))
        }
        None => RequestPacing::BestEffort(args.aggressivity),
    };
    (pacing, [args.renew_rate.map(even), args.release_rate.map(even)])
}

/// Returns the DHCPv4 options of `-o` on the wire: the codes for the parameter request list, and
/// the other options.
pub(crate) fn options4(args: &PerfdhcpArgs) -> (Vec<u8>, Vec<u8>) {
    let (mut parameters, mut options) = (Vec::new(), Vec::new());
    for (code, value) in &args.options {
        if *code == 55 {
            parameters.extend(value);
        } else {
            options.extend([*code as u8, value.len() as u8]);
            options.extend(value);
        }
    }
    (parameters, options)
}

/// Returns DHCPv6 options on the wire: code, length and value of each.
pub(crate) fn options6(options: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let mut octets = Vec::new();
    for (code, value) in options {
        octets.extend(code.to_be_bytes());
        octets.extend((value.len() as u16).to_be_bytes());
        octets.extend(value);
    }
    octets
}

/// Returns the settings of a lifecycle population of clients; `None` for other scenarios.
fn habits(args: &PerfdhcpArgs) -> Option<LifecycleSettings> {
    (args.scenario == PerfdhcpScenario::Lifecycle).then_some(LifecycleSettings {
        clients: clients(args),
        speed: args.speed,
        stay_s: args.stay,
        away_s: args.away,
        releasing_percent: args.releasing,
        informing_percent: args.informing,
        declining_percent: args.declining,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use clap::Parser;

    use super::super::files::NamedFileSource;
    use super::*;

    #[test]
    fn lines_of_lists_are_named_with_file_and_line_and_a_mark_is_skipped() {
        let read = |content: &[u8]| {
            let mut args = PerfdhcpArgs::try_parse_from(["perfdhcp", "-M", "macs"]).unwrap();
            let files = BTreeMap::from([("macs".into(), content.to_vec())]);
            args.files = NamedFileSource::Brought(files);
            personas(&args).map(|personas| personas.list.len())
        };
        assert_eq!(read("\u{feff}02:00:00:00:00:01\n\n02:00:00:00:00:02\n".as_bytes()).unwrap(), 2);
        let Err(PerfdhcpFailure::Usage(problems)) = read(b"02:00:00:00:00:01\nx\n# y\n") else {
            panic!("two lines are wrong")
        };
        let expected = ["x", "# y"].into_iter().zip(2..);
        let expected =
            expected.map(|(line, n)| format!("-M macs:{n}: {line}: not a hardware address"));
        assert_eq!(problems, expected.collect::<Vec<_>>());
        let Err(PerfdhcpFailure::Usage(problems)) = read(b"\xff\xfe0\0") else { panic!("UTF-16") };
        assert!(problems[0].contains("iconv -f UTF-16"), "{problems:?}");
    }
}
