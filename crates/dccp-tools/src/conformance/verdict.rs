//! Verdict on a conformance case, and the packets of both sides.

use netio::NetError;
use serde::Serialize;

/// Reason why a conformance case ended early.
#[derive(Debug)]
pub(super) enum CaseStopReason {
    /// Violation of the RFC by the target, which fails the case.
    Failed {
        /// Behaviour of the target that the RFC requires.
        expected: String,
        /// Behaviour of the target that the suite observed.
        came: String,
    },
    /// Reason why the case does not apply to this target.
    NotApplicable(String),
    /// Error of the host on which the suite runs.
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

/// Result of a check in a case: `Ok` when the target behaves as the RFC requires.
pub(super) type Judged<T = ()> = Result<T, CaseStopReason>;

/// Returns a failure of the case unless `holds` is true.
pub(super) fn demand(holds: bool, expected: &str, came: impl FnOnce() -> String) -> Judged {
    if holds { Ok(()) } else { Err(CaseStopReason::failed(expected, came())) }
}

/// Description of a packet that the suite sent or received.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PacketLogLine {
    /// True if the target sent the packet.
    pub from_target: bool,
    /// Description of the packet, for users.
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

/// Verdict on a conformance case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum ConformanceVerdict {
    /// Verdict "pass": the target behaves as the RFC requires.
    Pass,
    /// Verdict "fail": the target violates the RFC.
    Fail {
        /// Behaviour of the target that the RFC requires.
        expected: String,
        /// Behaviour of the target that the suite observed.
        came: String,
    },
    /// Verdict "not applicable": the case cannot be tested with this target.
    NotApplicable {
        /// Reason why the case does not apply to the target.
        why: String,
    },
}

/// Conformance case with its verdict and packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConformanceCaseResult {
    /// Name of the test case, such as `HDR-01`.
    pub case: &'static str,
    /// Section of the RFC with the requirement.
    pub section: &'static str,
    /// Requirement of the RFC for the target.
    pub requirement: &'static str,
    /// Verdict on the case: pass, fail or not applicable.
    #[serde(flatten)]
    pub verdict: ConformanceVerdict,
    /// Packets that both sides sent during the case, in order.
    pub packets: Vec<PacketLogLine>,
}
