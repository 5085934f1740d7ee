//! Log lines of the updater's state machine.

use dhcp_ddns::{NoticeLevel, UpdaterNotice};

/// Name of Kea's logger of the exchanges with DNS servers.
const TO_DNS: &str = "d2-to-dns";

/// Logs a line of the state machine.
pub(super) fn log(notice: &UpdaterNotice) {
    let (id, text) = (notice.id.as_str(), &notice.text);
    match notice.level {
        NoticeLevel::Error => tracing::error!(target: TO_DNS, id, "{text}"),
        NoticeLevel::Warning => tracing::warn!(target: TO_DNS, id, "{text}"),
        NoticeLevel::Info => tracing::info!(target: TO_DNS, id, "{text}"),
        NoticeLevel::Debug => tracing::debug!(target: TO_DNS, id, "{text}"),
    }
}
