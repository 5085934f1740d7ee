//! Packets on an interface: tcpdump captures them and tshark reads them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::{run_bounded, waited_until};

/// tshark's filter for malformed packets.
pub(crate) const MALFORMED: &str = "_ws.malformed || _ws.expert.severity >= 0x800000";

/// Running tcpdump.
pub(crate) struct TcpdumpProcess {
    tcpdump: Child,
    file: PathBuf,
}

impl TcpdumpProcess {
    /// Starts `tcpdump`, perhaps inside a namespace, and waits until it listens.
    pub(crate) fn start(mut tcpdump: Command, interface: &str, filter: &str, file: &Path) -> Self {
        let mut tcpdump = tcpdump
            .args(["-i", interface, "-U", "--immediate-mode", "-B", "16384", "-w"])
            .arg(file)
            .arg(filter)
            .stderr(Stdio::piped())
            .spawn()
            .expect("tcpdump runs");
        let mut line = String::new();
        let stderr = tcpdump.stderr.take().expect("it is piped");
        BufReader::new(stderr).read_line(&mut line).expect("tcpdump says what it listens on");
        Self { tcpdump, file: file.to_owned() }
    }

    /// Waits until a packet that passes `filter` has been written.
    pub(crate) fn wait_for(&self, filter: &str) {
        let so_far = self.so_far();
        assert!(waited_until(|| !so_far.packets(&[], filter).is_empty()), "no {filter}");
    }

    /// Returns the packets so far; the file is still growing.
    pub(crate) fn so_far(&self) -> CaptureFile {
        CaptureFile { file: self.file.clone(), is_growing: true }
    }

    /// Ends the capture.
    pub(crate) fn end(mut self) -> CaptureFile {
        let pid = self.tcpdump.id().to_string();
        // Told to end, it leaves unwritten what it has not read; it sleeps when it has read all.
        let stat = format!("/proc/{pid}/stat");
        let sleeps = || fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") S "));
        assert!(waited_until(sleeps), "tcpdump reads on and on");
        Command::new("kill").args(["-INT", &pid]).status().expect("kill runs");
        self.tcpdump.wait().expect("tcpdump was started here");
        CaptureFile::of(&self.file)
    }
}

impl Drop for TcpdumpProcess {
    fn drop(&mut self) {
        if let Ok(None) = self.tcpdump.try_wait() {
            self.tcpdump.kill().ok();
            self.tcpdump.wait().ok();
        }
    }
}

/// Capture file.
pub(crate) struct CaptureFile {
    file: PathBuf,
    /// True if the last packet may be incomplete.
    is_growing: bool,
}

impl CaptureFile {
    /// Returns the finished capture file at `path`.
    pub(crate) fn of(path: &Path) -> Self {
        Self { file: path.to_owned(), is_growing: false }
    }

    /// Returns the DHCPv6 messages with bytes that belong to no option or are missing from one, in
    /// hexadecimal. tshark overlooks a few such bytes at the end.
    pub(crate) fn badly_framed_dhcpv6(&self) -> Vec<String> {
        let messages = self.packets(&["-T", "fields", "-e", "udp.payload"], "dhcpv6");
        messages.into_iter().filter(|message| !is_whole(&octets(message))).collect()
    }

    /// Returns one line for each packet that passes `filter`, read with `options`.
    pub(crate) fn packets(&self, options: &[&str], filter: &str) -> Vec<String> {
        let mut tshark = Command::new("tshark");
        let output =
            run_bounded(tshark.arg("-r").arg(&self.file).args(options).args(["-Y", filter]));
        let told = String::from_utf8_lossy(&output.stderr);
        let is_cut = self.is_growing && told.contains("cut short");
        assert!(output.status.success() || is_cut, "{told}");
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
    }
}

fn octets(hexadecimal: &str) -> Vec<u8> {
    let digits: Vec<char> = hexadecimal.chars().filter(char::is_ascii_hexdigit).collect();
    let pairs = digits.chunks(2).map(|pair| pair.iter().collect::<String>());
    pairs.map(|pair| u8::from_str_radix(&pair, 16).expect("they are digits")).collect()
}

/// Returns true if the options of a DHCPv6 message fill it (RFC 9915 §8, §9).
fn is_whole(message: &[u8]) -> bool {
    let head_len = if matches!(message, [12 | 13, ..]) { 34 } else { 4 };
    message.get(head_len..).is_some_and(options_fill)
}

/// Returns true if `octets` consist of whole options, and so do the contents of nested ones.
fn options_fill(octets: &[u8]) -> bool {
    let [code_high, code, len_high, len, rest @ ..] = octets else { return octets.is_empty() };
    let len = usize::from(u16::from_be_bytes([*len_high, *len]));
    let Some((value, rest)) = rest.split_at_checked(len) else { return false };
    let is_value_whole = match (*code_high, *code) {
        // IA_NA and IA_PD, IAADDR, IAPREFIX: fields, then options.
        (0, 3 | 25) => value.get(12..).is_some_and(options_fill),
        (0, 5) => value.get(24..).is_some_and(options_fill),
        (0, 26) => value.get(25..).is_some_and(options_fill),
        (0, 9) => is_whole(value),
        _ => true,
    };
    is_value_whole && options_fill(rest)
}
