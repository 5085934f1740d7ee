//! Messages between a coordinator and its generators over SSH: one JSON value a line, orders to the
//! generator's standard input, answers from its standard output.
//!
//! hello → prepare → ready → (ping → pong)… → go → (progress)… → (leases)… → ended → (ping → pong)…
//! → the end of the orders, at which the generator ends. `stop` ends a run early, and so does the
//! end of the orders. Instead of any answer a generator may send `failed`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::carried::CarriedOutcome;
use crate::perfdhcp::part::GeneratorPart;
use crate::perfdhcp::text::Standing;

/// Version of the protocol between coordinator and generators; it changes whenever a message does.
pub(crate) const PROTOCOL: u32 = 2;

/// Order of the coordinator to a generator.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GeneratorOrder {
    Prepare(Box<Prepare>),
    /// Request for the generator's time, with the number of the request.
    Ping(u64),
    /// Order to begin the run at this time of the generator's monotonic clock, in nanoseconds.
    Go {
        start_ns: u64,
    },
    /// Order to end the run, or not to begin it.
    Stop,
}

/// Description of a generator's part of a run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Prepare {
    /// Command line of the coordinator, after the program's name.
    pub(crate) words: Vec<String>,
    /// Files that the command line names, as pairs of path and content in hexadecimal digits.
    pub(crate) files: Vec<(String, String)>,
    pub(crate) part: GeneratorPart,
    pub(crate) seed: u64,
    /// Address or interface that the generator's messages leave from, instead of the command
    /// line's.
    pub(crate) local: Option<String>,
}

/// Answer of a generator to its coordinator.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GeneratorAnswer {
    Hello {
        protocol: u32,
        version: String,
    },
    /// The generator has opened its sockets and allocated memory; carries the address that it sends
    /// from.
    Ready {
        local: String,
    },
    /// Times at which the generator read the request for its time and wrote the answer, in
    /// nanoseconds of its monotonic clock.
    Pong {
        number: u64,
        received_ns: u64,
        sent_ns: u64,
    },
    /// Counts of the generator after this many seconds of the run.
    Progress {
        second: u64,
        standing: Standing,
    },
    /// Page of leases granted (log 0) or addresses offered (log 1).
    Leases {
        log: usize,
        page: Value,
    },
    Ended(Box<CarriedOutcome>),
    Failed(String),
}

impl GeneratorAnswer {
    /// Returns the name of the answer, for error messages.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Hello { .. } => "hello",
            Self::Ready { .. } => "ready",
            Self::Pong { .. } => "pong",
            Self::Progress { .. } => "progress",
            Self::Leases { .. } => "leases",
            Self::Ended(_) => "ended",
            Self::Failed(_) => "failed",
        }
    }
}

/// Returns the greeting of this generator, with the versions of protocol and program.
pub(crate) fn hello() -> GeneratorAnswer {
    GeneratorAnswer::Hello { protocol: PROTOCOL, version: env!("CARGO_PKG_VERSION").into() }
}

/// Checks that the generator with this greeting has the coordinator's version.
///
/// # Errors
///
/// Returns the difference, in words.
pub(crate) fn check_version(protocol: u32, version: &str) -> Result<(), String> {
    let own = env!("CARGO_PKG_VERSION");
    if (protocol, version) == (PROTOCOL, own) {
        return Ok(());
    }
    Err(format!(
        "it has godwit {version} (protocol {protocol}), this is godwit {own} (protocol \
         {PROTOCOL}); results of different versions cannot be combined: install the same version"
    ))
}

/// Returns a message as a line of JSON.
pub(crate) fn line(message: &impl Serialize) -> String {
    let mut line = serde_json::to_string(message).expect("messages are numbers and texts");
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_and_another_protocol_are_refused_by_name() {
        let GeneratorAnswer::Hello { protocol, version } = hello() else { panic!("a greeting") };
        assert_eq!(check_version(protocol, &version), Ok(()));
        for (protocol, version) in [(protocol + 1, version.as_str()), (protocol, "9.8.7")] {
            let problem = check_version(protocol, version).unwrap_err();
            let theirs = format!("godwit {version} (protocol {protocol})");
            assert!(
                problem.contains(&theirs) && problem.contains(env!("CARGO_PKG_VERSION")),
                "{problem}"
            );
        }
    }

    #[test]
    fn messages_are_single_lines_and_a_greeting_of_later_versions_is_understood() {
        let words = vec!["-M".into(), "a\nb".into()];
        let part = GeneratorPart { index: 1, of: 2 };
        let order = Prepare { words, files: Vec::new(), part, seed: u64::MAX, local: None };
        let text = line(&GeneratorOrder::Prepare(Box::new(order)));
        assert_eq!(text.matches('\n').count(), 1);
        let Ok(GeneratorOrder::Prepare(read)) = serde_json::from_str(&text) else {
            panic!("{text}")
        };
        assert_eq!((read.words[1].as_str(), read.part, read.seed), ("a\nb", part, u64::MAX));
        let later = r#"{"hello":{"protocol":7,"version":"3.0","features":["x"]}}"#;
        let Ok(GeneratorAnswer::Hello { protocol: 7, version }) = serde_json::from_str(later)
        else {
            panic!("{later}")
        };
        assert_eq!(version, "3.0");
    }
}
