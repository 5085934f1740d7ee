//! Reading of the highest rate of one server from a stored result, for other commands.

use std::path::Path;

use measure::plan::MeasuredProtocol;
use measure::summary::{RunSummary, ServerResult};

use crate::compare;
use crate::error::{LabError, LabResult};

/// Highest rate of a server in a stored result, with its source.
#[derive(Clone, Debug, PartialEq)]
pub struct HighestRate {
    /// Protocol that the result measured.
    pub protocol: MeasuredProtocol,
    /// Highest rate of the server, in exchanges per second, each of which made one lease.
    pub leases_per_s: f64,
    /// True if the highest rate is a lower bound, because the server never failed above it.
    pub is_at_least: bool,
    /// Source of the rate, enough to find it again: folder, title, beginning, server and variant.
    pub source: String,
}

/// Returns the highest rate of `server` in a result folder, which may have only one server when
/// `server` is `None`.
///
/// # Errors
/// The folder is no result folder, has several servers or not this one, or the server has no rate.
pub fn highest(folder: &Path, server: Option<&str>) -> LabResult<HighestRate> {
    highest_in_summary(folder, &compare::read(folder)?, server).map_err(LabError::Usage)
}

fn highest_in_summary(
    folder: &Path,
    summary: &RunSummary,
    server: Option<&str>,
) -> Result<HighestRate, String> {
    let names = || summary.results.iter().map(|each| each.server.as_str()).collect::<Vec<_>>();
    let choice = || format!("{} has {}", folder.display(), names().join(", "));
    let result: &ServerResult = match (server, &summary.results[..]) {
        (None, [one]) => one,
        (None, []) => return Err(format!("{} has no server", folder.display())),
        (None, _) => return Err(format!("{}: choose one of these servers (--server)", choice())),
        (Some(name), all) => all
            .iter()
            .find(|each| each.server == name)
            .ok_or_else(|| format!("{}, not {name}", choice()))?,
    };
    let leases_per_s =
        result.leases_per_s.filter(|&rate| rate.is_finite() && rate > 0.0).ok_or_else(|| {
            format!("{}: no rate of {} was confirmed", folder.display(), result.server)
        })?;
    let variant = match result.variant.as_str() {
        "" => String::new(),
        variant => format!(" ({variant})"),
    };
    let RunSummary { title, started, .. } = summary;
    let source = format!("{}: {title}, {started}, {}{variant}", folder.display(), result.server);
    let (protocol, is_at_least) = (summary.plan.protocol, result.is_at_least);
    Ok(HighestRate { protocol, leases_per_s, is_at_least, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(servers: &[(&str, Option<f64>)]) -> RunSummary {
        let result = |&(server, leases_per_s): &(&str, Option<f64>)| ServerResult {
            server: server.to_owned(),
            variant: "4 threads".to_owned(),
            leases_per_s,
            ..ServerResult::default()
        };
        let results = servers.iter().map(result).collect();
        RunSummary { title: "a plan".to_owned(), results, ..RunSummary::default() }
    }

    #[test]
    fn the_server_must_be_clear_and_have_a_rate() {
        let of = |servers: &[(&str, Option<f64>)], server| {
            highest_in_summary(Path::new("r"), &summary(servers), server)
        };
        let one = [("godwit", Some(9.0))];
        let rate = of(&one, None).unwrap();
        assert_eq!(rate.leases_per_s.to_bits(), 9.0_f64.to_bits());
        assert!(rate.source.contains("a plan") && rate.source.ends_with("godwit (4 threads)"));
        let two = [("godwit", Some(9.0)), ("kea", None)];
        assert_eq!(
            of(&two, None).unwrap_err(),
            "r has godwit, kea: choose one of these servers (--server)"
        );
        assert_eq!(of(&two, Some("godwit")).unwrap(), rate);
        assert_eq!(of(&two, Some("kea")).unwrap_err(), "r: no rate of kea was confirmed");
        assert_eq!(of(&two, Some("isc")).unwrap_err(), "r has godwit, kea, not isc");
        assert_eq!(of(&[], None).unwrap_err(), "r has no server");
    }
}
