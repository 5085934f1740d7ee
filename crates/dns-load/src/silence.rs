//! Messages about a DNS load run in which no query was answered.

use netio::silence;

use crate::record::DnsLoadReport;
use crate::settings::{DnsLoadSettings, Transport};

/// Returns the reason why no query of a run was answered, as far as it is known, and advice what to
/// check; `None` when a query was answered, or none was due.
pub(crate) fn describe(settings: &DnsLoadSettings, report: &DnsLoadReport) -> Option<String> {
    let queries = &report.load.exchanges;
    if queries.due == 0 || queries.lost < queries.due {
        return None;
    }
    let server = settings.server;
    let cause = match settings.transport {
        Transport::Udp { .. } => silence::cause(server, settings.local),
        Transport::Tcp => None,
    };
    let cause = cause.unwrap_or_else(|| {
        format!(
            "no answer at all from {server}: does a DNS server listen there, may this machine \
             query it, and does a firewall let answers through?"
        )
    });
    Some(format!("every query was lost: {cause}"))
}
