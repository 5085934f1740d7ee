//! Tests of random packet files: the frames of this crate under `--quirks` against those of
//! Debian's trafgen, byte by byte.
//!
//! `GODWIT_TRAFGEN_FILES` sets the number of files; 500 take a minute.

mod generator;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use generator::PacketFileGenerator;
use packet_gen::FrameStream;
use packet_gen::language::{self, PacketParserSettings};
use packet_wire::pcap::CaptureReader;
use testkit::{PATIENCE, TempFolder};

/// Number of frames that a test compares of each packet file.
pub(crate) const FRAMES: usize = 14;
/// Number of packet files, unless the environment variable sets another.
const FILES: u64 = 40;

pub(crate) fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// Returns the frames that trafgen writes, or its message when it fails.
pub(crate) fn theirs(
    program: &Path,
    folder: &Path,
    text: &str,
    flags: &[&str],
) -> Result<Vec<String>, String> {
    let (input, output) = (folder.join("in.txt"), folder.join("out.pcap"));
    fs::write(&input, text).expect("the folder can be written");
    fs::remove_file(&output).ok();
    let mut child = Command::new(program)
        .arg("-i")
        .arg(&input)
        .arg("-o")
        .arg(&output)
        .args(["-n", &FRAMES.to_string(), "-P", "1", "-E", "1", "--no-sock-mem"])
        .args(flags)
        // It has a temporary file in the folder that it runs in.
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(folder.join("said")).expect("the folder can be written"))
        .spawn()
        .expect("trafgen starts");
    let ends = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait().expect("it can be asked") {
            break status;
        }
        if Instant::now() > ends {
            child.kill().ok();
            child.wait().ok();
            return Err("it hangs".to_owned());
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let error_text = fs::read_to_string(folder.join("said")).unwrap_or_default();
    if !status.success() {
        return Err(format!("{status}: {error_text}"));
    }
    let octets = fs::read(&output).map_err(|error| error.to_string())?;
    let reader = CaptureReader::new(&octets).map_err(|error| error.to_string())?;
    Ok(reader.flatten().map(|record| hex(record.octets)).collect())
}

fn ours(text: &str, is_shuffled: bool) -> Result<Vec<String>, String> {
    let settings = PacketParserSettings { quirks: true, ..PacketParserSettings::default() };
    let program = language::compile(text.as_bytes(), &settings)
        .map_err(|problems| problems[0].to_string())?;
    let mut stream = FrameStream::new(&program, Some(0), program.random.clone(), is_shuffled);
    Ok((0..FRAMES).map(|_| hex(stream.frame().expect("a packet takes part"))).collect())
}

/// Returns the path of trafgen; prints a message and returns `None` if it is not installed.
pub(crate) fn trafgen() -> Option<PathBuf> {
    let path = ["/usr/sbin/trafgen", "/usr/bin/trafgen"].into_iter().map(PathBuf::from);
    let path = path.into_iter().find(|path| path.exists());
    if path.is_none() {
        testkit::skip("trafgen (package netsniff-ng) is not installed");
    }
    path
}

#[test]
fn random_files_give_the_octets_of_the_reference() {
    let Some(program) = trafgen() else { return };
    let files = std::env::var("GODWIT_TRAFGEN_FILES").ok().and_then(|files| files.parse().ok());
    let temporary = TempFolder::new("trafgen");
    let folder = temporary.path();
    let mut wrong = Vec::new();
    for seed in 0..files.unwrap_or(FILES) {
        let mut generator = PacketFileGenerator::new(seed);
        let is_shuffled = generator.chance(1, 4);
        let text = generator.file(is_shuffled);
        let flags: &[&str] = if is_shuffled { &["-r"] } else { &[] };
        let (theirs, ours) = (theirs(&program, folder, &text, flags), ours(&text, is_shuffled));
        if theirs.is_err() || theirs != ours {
            wrong.push(format!("seed {seed}\n{text}{}", difference(&theirs, &ours)));
        }
    }
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong.join("\n"));
}

fn difference(theirs: &Result<Vec<String>, String>, ours: &Result<Vec<String>, String>) -> String {
    let (Ok(theirs), Ok(ours)) = (theirs, ours) else {
        let failed = |side: &Result<Vec<String>, String>| side.clone().err().unwrap_or_default();
        return format!("  theirs {}\n  ours   {}\n", failed(theirs), failed(ours));
    };
    let first = std::iter::zip(theirs, ours).position(|(theirs, ours)| theirs != ours);
    let Some(at) = first else { return format!("  {} frames, not {}\n", theirs.len(), ours.len()) };
    format!("  frame {at}\n  theirs {}\n  ours   {}\n", theirs[at], ours[at])
}
