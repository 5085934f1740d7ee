//! What went over an interface, as tcpdump caught it and tshark reads it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::{run_bounded, waited_until};

/// tshark's filter for what is wrong with a packet.
pub(crate) const MALFORMED: &str = "_ws.malformed || _ws.expert.severity >= 0x800000";

/// A running tcpdump.
pub(crate) struct Capture {
    tcpdump: Child,
    file: PathBuf,
}

impl Capture {
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

    /// What has been written, while more comes.
    pub(crate) fn so_far(&self) -> Captured {
        Captured { file: self.file.clone(), is_growing: true }
    }

    /// Ends the capture.
    pub(crate) fn end(mut self) -> Captured {
        let pid = self.tcpdump.id().to_string();
        Command::new("kill").args(["-INT", &pid]).status().expect("kill runs");
        self.tcpdump.wait().expect("tcpdump was started here");
        Captured::of(&self.file)
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        if let Ok(None) = self.tcpdump.try_wait() {
            self.tcpdump.kill().ok();
            self.tcpdump.wait().ok();
        }
    }
}

/// A capture file.
pub(crate) struct Captured {
    file: PathBuf,
    /// Its last packet may not be there to its end.
    is_growing: bool,
}

impl Captured {
    /// The finished capture file at `path`.
    pub(crate) fn of(path: &Path) -> Self {
        Self { file: path.to_owned(), is_growing: false }
    }

    /// The DHCPv6 messages with octets that belong to no option or are missing from one, in
    /// hexadecimal; tshark passes over a few of them at the end.
    pub(crate) fn badly_framed_dhcpv6(&self) -> Vec<String> {
        let messages = self.packets(&["-T", "fields", "-e", "udp.payload"], "dhcpv6");
        messages.into_iter().filter(|message| !is_whole(&octets(message))).collect()
    }

    /// One line for each packet that passes `filter`, read with `options`.
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

/// Whether the options of a DHCPv6 message fill it (RFC 9915 §8, §9).
fn is_whole(message: &[u8]) -> bool {
    let head_len = if matches!(message, [12 | 13, ..]) { 34 } else { 4 };
    message.get(head_len..).is_some_and(options_fill)
}

/// Whether `octets` are options to their end, and so are those inside of them.
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
