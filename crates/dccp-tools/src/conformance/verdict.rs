//! What a case comes to, and what it has seen on the way.

use netio::NetError;
use serde::Serialize;

/// Why a case ended before its end.
#[derive(Debug)]
pub(super) enum Stop {
    /// The target did something else than the RFC says.
    Failed {
        /// What the RFC says.
        expected: String,
        /// What the target did.
        came: String,
    },
    /// The case says nothing about this target, and why.
    NotApplicable(String),
    /// The own host does not play along.
    Broken(NetError),
}

impl Stop {
    pub(super) fn failed(expected: impl Into<String>, came: impl Into<String>) -> Self {
        Self::Failed { expected: expected.into(), came: came.into() }
    }

    pub(super) fn not_applicable(why: impl Into<String>) -> Self {
        Self::NotApplicable(why.into())
    }
}

impl From<NetError> for Stop {
    fn from(error: NetError) -> Self {
        Self::Broken(error)
    }
}

/// Nothing when the target did as the RFC says.
pub(super) type Judged = Result<(), Stop>;

/// Fails unless `holds`.
pub(super) fn demand(holds: bool, expected: &str, came: impl FnOnce() -> String) -> Judged {
    if holds { Ok(()) } else { Err(Stop::failed(expected, came())) }
}

/// A packet that went either way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// True when the target sent it.
    pub from_target: bool,
    /// The packet in words.
    pub packet: String,
}

impl Line {
    pub(super) const fn sent(packet: String) -> Self {
        Self { from_target: false, packet }
    }

    pub(super) const fn received(packet: String) -> Self {
        Self { from_target: true, packet }
    }
}

/// What became of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    /// As the RFC says.
    Pass,
    /// Not as the RFC says.
    Fail {
        /// What the RFC says.
        expected: String,
        /// What the target did.
        came: String,
    },
    /// It says nothing about this target.
    NotApplicable {
        /// Why.
        why: String,
    },
}

/// A case with its verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Its name, as `HDR-01`.
    pub case: &'static str,
    /// The section that it is about.
    pub section: &'static str,
    /// What is expected of the target.
    pub requirement: &'static str,
    /// What became of it.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// The packets of both sides, in order.
    pub packets: Vec<Line>,
}
