//! Tests with captures of every link type and every cut: the queries that `godwit dns load -d`
//! sends, those among the frames that `godwit trafgen -i` sends, and the DISCOVERs that `godwit
//! perfdhcp --shape replay:` repeats are compared with the messages that tshark finds, or tcpdump
//! where tshark knows no such link, and each packet is counted. `captures/differs.toml` states why
//! some are not equal.

mod corpus;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::recorder::QueryRecorder;
use crate::common::{TempFolder, free_port, require};
use corpus::CorpusCapture;
use packet_wire::captured;
use packet_wire::pcap::CaptureReader;

const GODWIT: &str = env!("CARGO_BIN_EXE_godwit");

/// Messages of a capture: the names of its queries in order, and the number of DISCOVERs.
#[derive(Debug, Default, PartialEq, Eq)]
struct CaptureMessages {
    queries: Vec<String>,
    discovers: u64,
}

/// Returns the queries to port 53 and the DISCOVERs that tshark finds in `file`, by the capture
/// that their names contain.
fn found_by_tshark(file: &Path) -> BTreeMap<String, CaptureMessages> {
    let output = Command::new("tshark")
        .args(["-n", "-Q", "-r"])
        .arg(file)
        .args([
            "-T",
            "fields",
            "-E",
            "separator=;",
            "-e",
            "udp.dstport",
            "-e",
            "dns.flags.response",
        ])
        .args(["-e", "dns.qry.name", "-e", "dhcp.id", "-e", "dhcp.option.dhcp"])
        .output()
        .expect("tshark starts");
    let mut found: BTreeMap<String, CaptureMessages> = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let fields: Vec<&str> = line.split(';').collect();
        match fields[..] {
            ["53", "0" | "False", name, ..] if !name.is_empty() => {
                let capture = name.split_once('.').map_or(name, |(_, capture)| capture);
                found.entry(capture.to_owned()).or_default().queries.push(name.to_owned());
            }
            [_, _, _, id, "1"] => {
                let id = u32::from_str_radix(id.trim_start_matches("0x"), 16).expect("a number");
                let index = (id >> 8 & 0xff) as usize;
                found.entry(format!("#{index}")).or_default().discovers += 1;
            }
            _ => {}
        }
    }
    found
}

/// Returns the queries and the DISCOVERs that tcpdump finds in `file`, which knows more links than
/// tshark.
fn found_by_tcpdump(file: &Path) -> CaptureMessages {
    let output = Command::new("tcpdump").args(["-n", "-r"]).arg(file).output();
    let output = output.expect("tcpdump starts");
    let mut found = CaptureMessages::default();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let query = line.split_once("53: ").and_then(|(_, message)| message.split_once("A? "));
        if let Some((name, _)) = query.and_then(|(_, rest)| rest.split_once(". ")) {
            found.queries.push(name.to_owned());
        }
        found.discovers += u64::from(line.contains("BOOTP/DHCP, Request"));
    }
    found
}

/// Returns the number of packets in each file of `folder`, counted by capinfos.
fn counted_by_capinfos(folder: &Path, captures: &[CorpusCapture]) -> BTreeMap<String, u64> {
    let mut command = Command::new("capinfos");
    command.args(["-T", "-r", "-m", "-M", "-c"]).current_dir(folder);
    let output = command.args(captures.iter().map(|capture| &capture.name)).output();
    let table = output.expect("capinfos starts").stdout;
    let table = String::from_utf8_lossy(&table).replace('"', "");
    let rows = table.lines().filter_map(|line| line.split_once(','));
    let count = |cell: &str| cell.trim().parse::<u64>().ok();
    rows.filter_map(|(name, cell)| Some((name.to_owned(), count(cell)?))).collect()
}

/// Returns the name in a query without its identifier.
fn name_of(query: &[u8]) -> String {
    let (mut name, mut rest) = (String::new(), query.get(10..).unwrap_or_default());
    while let Some((&len, behind)) = rest.split_first()
        && len > 0
    {
        let (label, behind) = behind.split_at(len.into());
        let dot = if name.is_empty() { "" } else { "." };
        let _ = write!(name, "{dot}{}", String::from_utf8_lossy(label));
        rest = behind;
    }
    name
}

/// Returns the names in the queries that `dns load -d` sends for the capture, and the sentence that
/// counts its packets.
fn asked(file: &Path) -> (Vec<String>, String) {
    let recorder = QueryRecorder::start();
    let words = ["-s", &recorder.address.to_string(), "-q", "1", "-n", "1", "--linger-s", "0"];
    let output = Command::new(GODWIT)
        .args(["dns", "load", "--deadline-s", "60", "-d"])
        .arg(file)
        .args(words)
        .stdin(Stdio::null())
        .output()
        .expect("the binary starts");
    let queries = recorder.end();
    let output_text = String::from_utf8_lossy(&output.stderr).into_owned();
    let code = if queries.is_empty() { 2 } else { 0 };
    assert_eq!(output.status.code(), Some(code), "{}: {output_text}", file.display());
    (queries.iter().map(|query| name_of(query)).collect(), output_text)
}

/// Returns the number of DISCOVERs that `perfdhcp` sends when it repeats the capture.
fn repeated(file: &Path) -> u64 {
    let shape = format!("replay:{}", file.display());
    let (own, servers) = (free_port().to_string(), free_port().to_string());
    let Output { status, stdout, stderr } = Command::new(GODWIT)
        .args(["perfdhcp", "-4", "-i", "-d", "0.01", "--shape", &shape, "-L", &own])
        .args(["-N", &servers, "127.0.0.1"])
        .stdin(Stdio::null())
        .output()
        .expect("the binary starts");
    let (out, err) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    if err.contains("has no messages to replay") {
        return 0;
    }
    let sent = out.lines().find_map(|line| line.strip_prefix("sent packets:"));
    let sent = sent.and_then(|count| count.trim().parse().ok());
    sent.unwrap_or_else(|| panic!("{}: {status}\n{out}\n{err}", file.display()))
}

/// Returns the names of the queries among the frames that `trafgen` sends of the capture, the
/// number of those frames, and its warnings.
fn sent_by_trafgen(file: &Path) -> (Vec<String>, u64, String) {
    let [copy, written] = ["pcap", "sent.pcap"].map(|end| file.with_extension(end));
    fs::copy(file, &copy).expect("the folder can be written");
    let Output { status, stderr, .. } = Command::new(GODWIT)
        .args(["trafgen", "--json", "-i"])
        .arg(&copy)
        .arg("-o")
        .arg(&written)
        .output()
        .expect("the binary starts");
    let output_text = String::from_utf8_lossy(&stderr).into_owned();
    if output_text.contains("has no packets to send") {
        assert_eq!(status.code(), Some(2), "{output_text}");
        return (Vec::new(), 0, output_text);
    }
    assert!(status.success(), "{}: {output_text}", file.display());
    let octets = fs::read(written).expect("it was written");
    let records = CaptureReader::new(&octets).expect("a capture");
    let records: Vec<_> = records.map(|record| record.expect("a packet")).collect();
    let datagrams = records.iter().filter_map(|record| captured::datagram(record).ok());
    let queries = datagrams.filter(|datagram| datagram.destination.port() == 53);
    // Shorter payloads are no messages.
    let queries = queries.filter(|datagram| datagram.payload.len() > 12);
    let names = queries.map(|datagram| name_of(&datagram.payload[2..])).collect();
    (names, records.len() as u64, output_text)
}

/// Returns the numbers of used packets and of all packets of a capture, which `output_text` states.
fn counted(output_text: &str) -> Option<(u64, u64)> {
    let (before, behind) = output_text.split_once(" packets are used")?;
    let (used, all) = before.rsplit(": ").next()?.split_once(" of ")?;
    let left_out = behind.lines().next()?.split("; the file").next()?;
    let parts = left_out.strip_prefix("; left out: ").unwrap_or_default().split(", ");
    // The first word of each part is a number.
    let first = |part: &str| part.split(' ').next()?.parse::<u64>().ok();
    Some((used.parse::<u64>().ok()? + parts.filter_map(first).sum::<u64>(), all.parse().ok()?))
}

#[test]
fn each_capture_is_read_as_tshark_reads_it_or_states_why_not() {
    if !require(&["tshark", "mergecap", "capinfos", "tcpdump"]) {
        return;
    }
    let differs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures/differs.toml");
    let differs = fs::read_to_string(differs).expect("it can be read");
    let differs: BTreeMap<String, String> = toml::from_str(&differs).expect("names and reasons");
    let captures = corpus::all();
    assert!(captures.len() >= 25, "{} captures", captures.len());
    let folder = TempFolder::new("captures");
    for capture in &captures {
        let path = folder.path().join(&capture.name);
        fs::write(path, &capture.octets).expect("the folder can be written");
    }
    // tshark takes long to start, so one run reads all files that it can read together.
    let merged = folder.path().join("merged");
    let mergeable =
        captures.iter().filter(|capture| capture.is_mergeable).map(|capture| &capture.name);
    let mut mergecap = Command::new("mergecap");
    mergecap.arg("-a").arg("-w").arg(&merged).args(mergeable).current_dir(folder.path());
    let output = mergecap.output().expect("mergecap starts");
    assert!(output.status.success(), "{output:?}");
    let mut theirs = found_by_tshark(&merged);
    for capture in captures.iter().filter(|capture| !capture.is_mergeable) {
        theirs.extend(found_by_tshark(&folder.path().join(&capture.name)));
    }
    let packets = counted_by_capinfos(folder.path(), &captures);
    let (mut wrong, mut discovers) = (Vec::new(), 0);
    for (index, capture) in captures.iter().enumerate() {
        let (name, file) = (&capture.name, folder.path().join(&capture.name));
        let (queries, output_text) = asked(&file);
        let (sent, frames, warnings) = sent_by_trafgen(&file);
        if sent != queries {
            wrong.push(format!("{name}: asked {queries:?}, sent by trafgen {sent:?}: {warnings}"));
        }
        // Nothing is said when all packets are used.
        let used = queries.len() as u64;
        let (accounted, all) = counted(&output_text).unwrap_or((used, used));
        let ours = CaptureMessages { queries, discovers: repeated(&file) };
        discovers += ours.discovers;
        let mut theirs = CaptureMessages {
            queries: theirs.remove(name).unwrap_or_default().queries,
            discovers: theirs.get(&format!("#{index}")).map_or(0, |found| found.discovers),
        };
        if theirs == CaptureMessages::default() && ours != theirs {
            theirs = found_by_tcpdump(&file);
        }
        if (theirs == ours) == differs.contains_key(name) {
            let stated = differs.get(name).map_or("no difference", String::as_str);
            wrong.push(format!("{name}: {stated} is stated; tshark {theirs:?}, ours {ours:?}"));
        }
        // capinfos counts no packets of an unknown link type.
        let expected =
            packets.get(name).copied().or_else(|| (!capture.is_mergeable).then_some(all));
        if accounted != all || expected != Some(all) {
            wrong
                .push(format!("{name}: capinfos counts {expected:?} packets, ours: {output_text}"));
        }
        // Nothing is said when all packets are sent.
        if counted(&warnings).unwrap_or((frames, frames)) != (all, all) {
            wrong.push(format!("{name}: {all} packets, {frames} sent by trafgen: {warnings}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(discovers > 25, "{discovers}");
}
