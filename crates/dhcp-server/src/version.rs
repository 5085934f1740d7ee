//! Version of this DHCP server. Programs that manage Kea depend on its version, so the version is
//! the number of the Kea version that this server corresponds to (`docs/design/025-kea-level.md`),
//! followed by this server's own number.

use dhcp_control::IpVersion;

/// Version of this server, without the version of Kea that it corresponds to.
pub(crate) const OWN: &str = env!("CARGO_PKG_VERSION");

/// Version of Kea that programs may take this server for: the one that the tests run next to it.
pub const KEA_LEVEL: &str = "3.0.3";

/// Returns the text of the server's extended version: the level of Kea, this server's own version
/// and its lease backends, in several lines.
#[must_use]
pub fn extended_version(family: IpVersion) -> String {
    // Version of the columns of lease files, as Kea counts it.
    let columns = match family {
        IpVersion::V4 => "3.0",
        IpVersion::V6 => "5.0",
    };
    format!(
        "{KEA_LEVEL} (godwit {OWN}, compatible with Kea {KEA_LEVEL})\npremium: no\nlinked with:\n\
         - rustls with ring\nlease backends:\n- Memfile backend {columns}\n- MySQL backend\n\
         - PostgreSQL backend\n- SQLite backend"
    )
}

/// Returns a description of the server's build, in several lines.
#[must_use]
pub fn build_report() -> String {
    format!(
        "godwit {OWN}\ncompatible with: Kea {KEA_LEVEL}\ntarget: {} {}\nbuild: profile {}\n\
         leases: memfile, mysql, postgresql, sqlite\n\
         control sockets: unix, http, https (rustls with ring)\n",
        std::env::consts::ARCH,
        std::env::consts::OS,
        base::BUILD_PROFILE
    )
}
