//! Run of `godwit trafgen`: reads the input, opens the output, then shows, writes or sends the
//! frames.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use base::{ToolError, ToolResult};
use netio::FrameSender;
use netio::frame::transmit_queues;
use netio::interface::{self, Interface};
use netio::signal::Signals;
use packet_wire::link;
use packet_wire::pcap::LINK_ETHERNET;

use crate::args::{Cpus, TrafgenArgs};
use crate::decode;
use crate::error::refused;
use crate::input::{GeneratorInput, PacketSource};
use crate::language::{InterfaceAddresses, PacketParserSettings};
use crate::output;
use crate::path::{PathKind, PathOptions};
use crate::report::{SCHEMA, SmokeTest, TrafgenReport};
use crate::schedule::{FrameRate, FrameSchedule, Segment};
use crate::send::{self, SendJob};
use crate::stream::FrameStream;

/// Version of netsniff-ng whose trafgen command lines and packet files are accepted.
const REFERENCE: &str = "0.6.8";
/// Example of a packet file: the query of a well-known talk on DNS benchmarks, EDNS included.
const EXAMPLE: &str = "\
{
  eth(da=02:00:00:00:00:01),
  ipv4(id=drnd(), ttl=64, sa=192.168.0.1, da=192.168.0.53),
  udp(sport=drnd(2000, 65535), dport=53, csum=0),
  dns(id=drnd(), rdesired=1, arcount=1, qry(name=\"www.example.com\", type=28)),
  # EDNS: root, OPT, 4096 octets
  0, c16(41), c16(4096), c32(0), c16(0)
}
";

/// Output that frames are written to.
enum TrafgenOutput {
    Nowhere,
    Capture(String),
    Text(String),
    Interface(Interface),
}

impl TrafgenOutput {
    /// Returns the output that `name` names. Like trafgen, it distinguishes outputs by parts of
    /// their name.
    fn from_name(name: Option<&str>) -> ToolResult<Self> {
        let Some(name) = name else { return Ok(Self::Nowhere) };
        if name.contains(".pcap") {
            return Ok(Self::Capture(name.to_owned()));
        }
        if name.contains(".cfg") {
            return Ok(Self::Text(name.to_owned()));
        }
        let interface = interface::named(name).map_err(|error| {
            let known = interface::list().unwrap_or_default();
            let known: Vec<_> = known.into_iter().map(|interface| interface.name).collect();
            let known = known.join(", ");
            ToolError::Usage(format!("interface {name}: {error}; interfaces are {known}"))
        })?;
        if !interface.is_up {
            return Err(ToolError::Failed(format!("interface {name} is down")));
        }
        Ok(Self::Interface(interface))
    }

    fn device(&self) -> InterfaceAddresses {
        use std::net::IpAddr;
        let Self::Interface(interface) = self else { return InterfaceAddresses::NONE };
        let addresses = || interface.addresses.iter();
        let ip4 = addresses().find_map(|address| match address {
            IpAddr::V4(address) => Some(*address),
            IpAddr::V6(_) => None,
        });
        let ip6 = addresses().find_map(|address| match address {
            IpAddr::V6(address) => Some(*address),
            IpAddr::V4(_) => None,
        });
        InterfaceAddresses {
            mac: interface.mac.unwrap_or_default(),
            ip4: ip4.unwrap_or(InterfaceAddresses::NONE.ip4),
            ip6: ip6.unwrap_or(InterfaceAddresses::NONE.ip6),
        }
    }
}

/// Returns the text that the flags request instead of a run, such as an example packet file.
fn text_instead(args: &TrafgenArgs) -> Option<String> {
    if args.example {
        return Some(EXAMPLE.to_owned());
    }
    let version = env!("CARGO_PKG_VERSION");
    args.version
        .then(|| format!("trafgen of godwit {version}, compatible with trafgen {REFERENCE}\n"))
}

/// Shows, writes or sends the frames of the input, as the flags select.
pub(crate) fn run(args: &TrafgenArgs) -> ToolResult<()> {
    if let Some(text) = text_instead(args) {
        return say(&text);
    }
    check_refused(args)?;
    let output = TrafgenOutput::from_name(args.output.as_deref())?;
    if matches!(output, TrafgenOutput::Nowhere) && !args.dry_run {
        let message = "no output given: -o takes an interface or a file; --dry-run shows the \
                       frames";
        return Err(ToolError::Usage(message.to_owned()));
    }
    check_segmentation(args, &output)?;
    check_smoke_test(args, &output)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let source = source(args)?;
    let settings = PacketParserSettings {
        quirks: args.quirks,
        preprocess: args.preprocess,
        defines: defines(&args.defines)?,
        file_name: source.name().to_owned(),
        seed: args.seed.unwrap_or_else(|| now.subsec_nanos() ^ now.as_secs() as u32),
        device: output.device(),
        is_to_file: !matches!(output, TrafgenOutput::Interface(_)),
    };
    let mtu_bytes = match &output {
        TrafgenOutput::Interface(interface) if source.is_capture() => {
            Some(FrameSender::open(interface).map_err(refused)?.mtu_bytes())
        }
        _ => None,
    };
    let input = source.read(&settings, mtu_bytes)?;
    warn(&source, &input);
    let schedule = schedule(args, &input);
    // In trafgen every worker begins with the same numbers.
    let random = input.program.random.clone();
    let mut stream = FrameStream::new(&input.program, None, random, args.is_shuffled);
    let count = args.count.filter(|count| *count > 0);
    let all = count.or_else(|| schedule.frames()).unwrap_or(input.program.packets.len() as u64);
    if args.verbose {
        explain(args, &(describe_switches(args) + &describe(&input)))?;
    }
    if args.dry_run {
        return dry_run(args, &mut stream, all);
    }
    let begins_ns = u64::try_from(now.as_nanos()).unwrap_or(0);
    let (name, (sent, sent_bytes)) = match output {
        TrafgenOutput::Capture(name) => {
            let written = output::capture(&name, &mut stream, &schedule, all, begins_ns)?;
            (name, written)
        }
        TrafgenOutput::Text(name) => {
            let written = output::text(&name, &mut stream, all)?;
            (name, written)
        }
        TrafgenOutput::Interface(interface) => {
            return send(args, &settings, &input, schedule, &interface);
        }
        TrafgenOutput::Nowhere => return Ok(()),
    };
    announce(args, &input)?;
    let written = TrafgenReport {
        output: name,
        seed: settings.seed,
        sent,
        sent_bytes,
        ..TrafgenReport::default()
    };
    print_file_report(args, written)
}

/// Prints the report on frames that were written to a file.
fn print_file_report(args: &TrafgenArgs, written: TrafgenReport) -> ToolResult<()> {
    let TrafgenReport { sent, sent_bytes, .. } = written;
    if !args.json {
        return say(&format!("\n{sent:12} packets outgoing\n{sent_bytes:12} bytes outgoing\n"));
    }
    let [schema, kind, path] = [SCHEMA, "total", "file"].map(str::to_owned);
    say(&format!("{}\n", json(&TrafgenReport { schema, kind, path, ..written })?))
}

/// Prints warnings about constructs of the packet file that may not be intended, and notices about
/// packets of a capture that are not sent.
fn warn(source: &PacketSource, input: &GeneratorInput) {
    let warnings = &input.program.warnings;
    if !warnings.is_empty() {
        netio::stderr::print_line(format_args!("warning: {}", source.problem_lines(warnings)));
    }
    for notice in &input.notices {
        netio::stderr::print_line(format_args!("warning: {}: {notice}", source.name()));
    }
}

/// Returns the source of packets that the flags name.
fn source(args: &TrafgenArgs) -> ToolResult<PacketSource> {
    if let Some(input) = &args.input {
        return Ok(PacketSource::File(input.clone()));
    }
    // As in the reference, words that the shell has parted are one text.
    let text = args.packet.join(" ");
    if !text.contains('{') && Path::new(&text).is_file() {
        let message = format!("{text} is a file, not packet text; write `-i {text}`");
        return Err(ToolError::Usage(message));
    }
    Ok(PacketSource::Text(text))
}

/// Prints the text that `-V` asks for: with `--json` to the standard error, so that the standard
/// output has only documents.
fn explain(args: &TrafgenArgs, text: &str) -> ToolResult<()> {
    if args.json {
        netio::stderr::print(text);
        return Ok(());
    }
    say(text)
}

/// Returns an error that names a replacement if a refused flag is set.
fn check_refused(args: &TrafgenArgs) -> ToolResult<()> {
    let message = if args.user.is_some() || args.group.is_some() {
        "-u and -g are not supported: start trafgen as that user, with the capability to send: \
         `setpriv --reuid UID --regid GID --clear-groups --inh-caps +net_raw --ambient-caps \
         +net_raw trafgen ...`"
    } else if args.rfraw {
        "-R: 802.11 frames are not supported; write the radiotap header and the frame as bytes and \
         send them by an interface in monitor mode"
    } else {
        return Ok(());
    };
    Err(ToolError::Usage(message.to_owned()))
}

/// Names the flags that were accepted and change nothing, a line each.
fn describe_switches(args: &TrafgenArgs) -> String {
    let mut text = String::new();
    for (is_set, switch, why) in [
        (args.kernel_pull.is_some(), "-k", "frames are sent when they are due"),
        (args.prio_high, "-H", "`chrt` and `nice` set priorities"),
        (args.jumbo, "-J", "frames of any size fit"),
        (args.no_sock_mem, "-A", "the system's socket memory is never changed"),
        (args.notouch_irq, "-Q", "interrupts are never moved"),
    ] {
        if is_set {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{switch} has no effect: {why}");
        }
    }
    text
}

fn check_segmentation(args: &TrafgenArgs, output: &TrafgenOutput) -> ToolResult<()> {
    let message = match output {
        _ if !args.segmentation => return Ok(()),
        TrafgenOutput::Capture(_) | TrafgenOutput::Text(_) => {
            "--segmentation needs an interface as output; files have the frames themselves"
        }
        _ if [PathKind::Ring, PathKind::Xdp].contains(&args.path) => {
            "--segmentation works only with --path sendmmsg"
        }
        _ => return Ok(()),
    };
    Err(ToolError::Usage(message.to_owned()))
}

fn check_smoke_test(args: &TrafgenArgs, output: &TrafgenOutput) -> ToolResult<()> {
    let is_one_processor = match args.cpus {
        None | Some(Cpus::Count(1)) => true,
        Some(Cpus::Count(_)) => false,
        Some(Cpus::Range(first, last)) => first == last,
    };
    let message = match output {
        _ if args.smoke_test.is_none() => return Ok(()),
        TrafgenOutput::Capture(_) | TrafgenOutput::Text(_) => {
            "-s needs an interface as output; -o is a file"
        }
        _ if !is_one_processor => "-s needs one processor, so that the last packet is known",
        _ => return Ok(()),
    };
    Err(ToolError::Usage(message.to_owned()))
}

fn defines(texts: &[String]) -> ToolResult<Vec<(String, String)>> {
    let split = |define: &String| {
        let (name, value) = define.split_once('=').unwrap_or((define, "1"));
        // A macro may have arguments: `F(a)=c8(a)`.
        let (word, arguments) = name.split_at(name.find('(').unwrap_or(name.len()));
        let is_name = word.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && word.bytes().all(|octet| octet.is_ascii_alphanumeric() || octet == b'_')
            && (arguments.is_empty() || arguments.ends_with(')'));
        if is_name {
            return Ok((name.to_owned(), value.to_owned()));
        }
        Err(ToolError::Usage(format!(
            "-D {define}: must be NAME, NAME=VALUE or NAME(ARGUMENTS)=VALUE"
        )))
    };
    texts.iter().map(split).collect()
}

/// Returns the schedule that the flags ask for, or that of a capture.
fn schedule(args: &TrafgenArgs, input: &GeneratorInput) -> FrameSchedule {
    let packets = &input.program.packets;
    let bytes: usize = packets.iter().map(|packet| packet.octets.len()).sum();
    let mean_bytes = bytes as f64 / packets.len().max(1) as f64;
    match (&args.rate, args.gap_ns, &input.times) {
        (Some(rates), _, _) => FrameSchedule::from_segments(&rates.0, mean_bytes),
        (None, Some(0), _) | (None, None, None) => FrameSchedule::Unpaced,
        (None, Some(gap_ns), _) => {
            let rate = FrameRate::Frames(1e9 / gap_ns as f64);
            FrameSchedule::from_segments(
                &[Segment { from: rate, to: rate, duration_ns: None }],
                mean_bytes,
            )
        }
        (None, None, Some(times)) => times.clone(),
    }
}

fn dry_run(args: &TrafgenArgs, stream: &mut FrameStream, count: u64) -> ToolResult<()> {
    for number in 1..=count {
        if netio::stdout::is_closed() {
            break;
        }
        let Some(frame) = stream.frame() else { break };
        if args.json {
            let octets: String = frame.iter().map(|octet| format!("{octet:02x}")).collect();
            let document = serde_json::json!({
                "schema": "godwit.trafgen-frame.v1",
                "number": number,
                "bytes": frame.len(),
                "octets": octets,
                "decoded": decode::describe(frame).lines().collect::<Vec<_>>(),
            });
            say(&format!("{document}\n"))?;
            continue;
        }
        say(&format!("frame {number}, {} bytes\n{}\n", frame.len(), decode::describe(frame)))?;
    }
    Ok(())
}

/// Prints the lines that trafgen prints at the begin of a run.
fn announce(args: &TrafgenArgs, input: &GeneratorInput) -> ToolResult<()> {
    if args.json {
        return Ok(());
    }
    let packets = &input.program.packets;
    let bytes: usize = packets.iter().map(|packet| packet.octets.len()).sum();
    say(&format!(
        "{:6} packets to schedule\n{bytes:6} bytes in total\nRunning! Hang up with ^C!\n",
        packets.len()
    ))
}

/// Describes each packet of the input in text.
fn describe(input: &GeneratorInput) -> String {
    let mut text = String::new();
    for (number, packet) in input.program.packets.iter().enumerate() {
        let kind =
            if packet.is_dynamic() { "different in each frame" } else { "the same in each frame" };
        let cpus = match packet.cpus {
            Some((first, last)) => format!(", processors {first} to {last}"),
            None => String::new(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "packet {}, {} bytes, {kind}{cpus}\n{}",
            number + 1,
            packet.octets.len(),
            decode::describe(&packet.octets)
        );
    }
    text
}

/// Returns true for a frame with an IP packet whose time to live or hop limit is 0.
fn is_expired(frame: &[u8]) -> bool {
    let Ok(packet) = link::ip_packet(LINK_ETHERNET, frame) else { return false };
    let left_at = if packet.first().is_some_and(|first| first >> 4 == 6) { 7 } else { 8 };
    packet.get(left_at) == Some(&0)
}

fn send(
    args: &TrafgenArgs,
    settings: &PacketParserSettings,
    input: &GeneratorInput,
    schedule: FrameSchedule,
    interface: &Interface,
) -> ToolResult<()> {
    let signals = Signals::install().map_err(ToolError::cannot("handle", "signals"))?;
    let packets = &input.program.packets;
    if let Some(at) = packets.iter().position(|packet| is_expired(&packet.octets)) {
        netio::stderr::print_line(format_args!(
            "warning: packet {} has a time to live or hop limit of 0",
            at + 1
        ));
    }
    let longest_bytes = packets.iter().map(|packet| packet.octets.len()).max().unwrap_or(0);
    let count = args.count.filter(|count| *count > 0);
    // A capture is sent once unless the flags ask for its repetition.
    let is_capture = input.times.is_some();
    let once = (is_capture && args.count.is_none()).then_some(packets.len() as u64);
    let sending = SendJob {
        interface,
        program: &input.program,
        cpus: cpus(args, schedule.is_paced(), interface)?,
        schedule,
        count: count.or(once),
        seed: settings.seed,
        same_streams: settings.quirks,
        is_shuffled: args.is_shuffled,
        path: PathOptions {
            kind: args.path,
            ring_bytes: args.ring_bytes,
            uses_queue: args.uses_queue,
            longest_bytes,
        },
        segments: args.segmentation,
        smoke_test: args.smoke_test,
        interval_s: args.interval.or_else(|| args.json.then_some(1.0)),
    };
    announce(args, input)?;
    let mut total = send::run(&sending, signals, |report| {
        if args.json { say(&format!("{}\n", json(report)?)) } else { say(&(report.line() + "\n")) }
    })?;
    if args.json {
        say(&format!("{}\n", json(&total)?))?;
    } else {
        if args.no_cpu_stats {
            total.processors.clear();
        }
        say(&format!("{total}path: {}, seed {}\n", total.path, total.seed))?;
    }
    match total.smoke_test {
        Some(SmokeTest { host, silent_after: Some(frame), .. }) => Err(ToolError::Failed(format!(
            "{host} stopped answering pings after packet {}",
            frame.number
        ))),
        _ => Ok(()),
    }
}

/// Returns the processors to send from: all that exist, unless frames have a due time, or AF_XDP
/// has too few queues.
fn cpus(args: &TrafgenArgs, is_paced: bool, interface: &Interface) -> ToolResult<Vec<u32>> {
    let allowed = netio::thread::allowed_cpus()
        .map_err(ToolError::cannot("read", "the list of processors"))?;
    let allowed: Vec<u32> = allowed.into_iter().map(|cpu| cpu as u32).collect();
    let there_are = || {
        let list: Vec<String> = allowed.iter().map(u32::to_string).collect();
        format!("this process may run only on processors {}", list.join(", "))
    };
    match args.cpus {
        None if is_paced || args.smoke_test.is_some() => Ok(allowed[..1].to_vec()),
        None if args.path == PathKind::Xdp => {
            let queues = transmit_queues(interface).map_err(refused)? as usize;
            Ok(allowed.into_iter().take(queues).collect())
        }
        None => Ok(allowed),
        Some(Cpus::Count(count)) if count <= allowed.len() => Ok(allowed[..count].to_vec()),
        Some(Cpus::Count(count)) => Err(ToolError::Usage(format!("-P {count}: {}", there_are()))),
        Some(Cpus::Range(first, last)) => {
            let is_allowed = |cpu| allowed.contains(&cpu);
            if (first..=last).all(is_allowed) {
                return Ok((first..=last).collect());
            }
            Err(ToolError::Usage(format!("-P {first}-{last}: {}", there_are())))
        }
    }
}

fn json(report: &TrafgenReport) -> ToolResult<String> {
    serde_json::to_string(report)
        .map_err(|error| ToolError::Failed(format!("cannot write JSON: {error}")))
}

fn say(text: &str) -> ToolResult<()> {
    netio::stdout::write(text).map_err(ToolError::cannot("write", "the standard output"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::compile;

    #[test]
    fn packets_that_no_router_forwards_are_found_below_any_header() {
        for (text, expected) in [
            ("{ ipv4(), udp() }", true),
            ("{ ipv4(ttl=1), udp() }", false),
            ("{ ipv6(), udp() }", true),
            ("{ ipv6(hl=1), udp() }", false),
            ("{ vlan(), ipv6(), udp() }", true),
            ("{ vlan(), vlan(), ipv4(), tcp() }", true),
            ("{ arp() }", false),
            ("{ 1, 2 }", false),
        ] {
            let program = compile(text.as_bytes(), &PacketParserSettings::default()).unwrap();
            assert_eq!(is_expired(&program.packets[0].octets), expected, "{text}");
        }
    }
}
