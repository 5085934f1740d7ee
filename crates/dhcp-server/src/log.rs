//! Log lines of the daemon: few, on standard error, never per packet.

use std::io::Write;

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

/// Writes one line; a broken standard error is nobody's to be told about.
pub(crate) fn line(severity: Severity, text: &str) {
    let name = match severity {
        Severity::Info => "INFO ",
        Severity::Warn => "WARN ",
        Severity::Error => "ERROR",
    };
    let mut out = std::io::stderr().lock();
    for part in text.lines() {
        writeln!(out, "{name} [godwit-dhcp4] {part}").ok();
    }
}
