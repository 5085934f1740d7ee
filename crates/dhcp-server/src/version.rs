//! What the server tells of itself.

/// The number alone.
pub(crate) const NUMBER: &str = env!("CARGO_PKG_VERSION");

/// The version, and what this server is, in several lines.
#[must_use]
pub fn extended_version() -> String {
    format!("{NUMBER}\ngodwit {NUMBER}\nleases: memfile")
}

/// How the server was built, in several lines.
#[must_use]
pub fn build_report() -> String {
    let profile = if cfg!(debug_assertions) { "with assertions" } else { "optimized" };
    format!(
        "godwit {NUMBER}\ntarget: {} {}\nbuild: {profile}\nleases: memfile\n\
         control sockets: unix, http, https (rustls with ring)\n",
        std::env::consts::ARCH,
        std::env::consts::OS
    )
}
