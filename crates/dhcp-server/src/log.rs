//! Log lines of the daemon: few, on standard error, never per packet.

use std::io::Write;
use std::sync::OnceLock;

/// What this process serves; set once, when it starts.
static NAME: OnceLock<&str> = OnceLock::new();

/// Names the daemon in all lines from now on; the first name stays.
pub(crate) fn name_daemon(name: &'static str) {
    NAME.get_or_init(|| name);
}

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    /// Going on as planned.
    Info,
    /// Something that an operator should look at.
    Warn,
    /// Something that stops the server or a part of it.
    Error,
}

/// A count and what is counted, as in "1 subnet" or "2 subnets".
#[must_use]
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Writes one line; a broken standard error is nobody's to be told about.
pub(crate) fn line(severity: Severity, text: &str) {
    let name = match severity {
        Severity::Info => "INFO ",
        Severity::Warn => "WARN ",
        Severity::Error => "ERROR",
    };
    let daemon = NAME.get().copied().unwrap_or("dhcp");
    let mut out = std::io::stderr().lock();
    for part in text.lines() {
        writeln!(out, "{name} [godwit-{daemon}] {part}").ok();
    }
}
