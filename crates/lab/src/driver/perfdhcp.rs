//! Debian's perfdhcp as a generator: its package, and the lengths of trials that it can do.

/// Program perfdhcp, the third-party generator, and its Debian package.
pub(crate) const PERFDHCP: (&str, &str) = ("perfdhcp", "kea-admin");

/// Returns the seconds that a trial planned for `dwell_s` lasts: perfdhcp's test period (`-p`) is
/// in whole seconds.
pub(crate) fn dwell_s(dwell_s: f64) -> f64 {
    dwell_s.ceil().max(1.0)
}
