//! Outcome of a case, and the packets of both sides.

use netio::NetError;
use serde::Serialize;

/// Reason why a case ended early.
#[derive(Debug)]
pub(super) enum CaseStopReason {
    /// Violation of the RFC by the target.
    Failed {
        /// Behaviour that the RFC requires.
        expected: String,
        /// Behaviour of the target.
        came: String,
    },
    /// Case that does not apply to this target, with the reason.
    NotApplicable(String),
    /// Error of the suite's own host.
    Broken(NetError),
}

impl CaseStopReason {
    pub(super) fn failed(expected: impl Into<String>, came: impl Into<String>) -> Self {
        Self::Failed { expected: expected.into(), came: came.into() }
    }

    pub(super) fn not_applicable(why: impl Into<String>) -> Self {
        Self::NotApplicable(why.into())
    }
}

impl From<NetError> for CaseStopReason {
    fn from(error: NetError) -> Self {
        Self::Broken(error)
    }
}

/// Result of a check: `Ok` when the target did as the RFC says.
pub(super) type Judged = Result<(), CaseStopReason>;

/// Fails unless `holds`.
pub(super) fn demand(holds: bool, expected: &str, came: impl FnOnce() -> String) -> Judged {
    if holds { Ok(()) } else { Err(CaseStopReason::failed(expected, came())) }
}

/// A packet in either direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PacketLogLine {
    /// True if the target sent the packet.
    pub from_target: bool,
    /// Description of the packet in words.
    pub packet: String,
}

impl PacketLogLine {
    pub(super) const fn sent(packet: String) -> Self {
        Self { from_target: false, packet }
    }

    pub(super) const fn received(packet: String) -> Self {
        Self { from_target: true, packet }
    }
}

/// Verdict on a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum ConformanceVerdict {
    /// Target that does as the RFC says.
    Pass,
    /// Target that violates the RFC.
    Fail {
        /// Behaviour that the RFC requires.
        expected: String,
        /// Behaviour of the target.
        came: String,
    },
    /// Case that does not apply to this target.
    NotApplicable {
        /// Reason why the case does not apply.
        why: String,
    },
}

/// A case with its verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConformanceCaseResult {
    /// Name of the case, such as `HDR-01`.
    pub case: &'static str,
    /// Section of the requirement.
    pub section: &'static str,
    /// Requirement for the target.
    pub requirement: &'static str,
    /// Verdict on the case.
    #[serde(flatten)]
    pub verdict: ConformanceVerdict,
    /// Packets of both sides, in order.
    pub packets: Vec<PacketLogLine>,
}
