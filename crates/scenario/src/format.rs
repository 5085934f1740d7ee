//! The file format of scenarios.

use std::collections::BTreeMap;

use serde::Deserialize;

/// One scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Subject of the scenario, one sentence.
    pub title: String,
    /// Protocol family.
    pub family: ScenarioFamily,
    /// Keys of the configuration and other names that the scenario covers, for the table of
    /// coverage.
    #[serde(default)]
    pub covers: Vec<String>,
    /// The map inside `Dhcp4` or `Dhcp6`, in Kea's dialect, without interfaces, lease database and
    /// loggers, which the subject adds.
    pub config: String,
    /// Relay agent that messages come through unless a step names another: `giaddr` in DHCPv4, the
    /// link address in DHCPv6. Empty for a direct client.
    #[serde(default)]
    pub relay: String,
    /// Verdict on Debian's Kea 2.2, if it does not do what the steps demand.
    #[serde(default)]
    pub kea: Option<KeaNote>,
    /// Verdict on Debian 13's Kea 3.0, if it does not do what the steps demand.
    #[serde(default)]
    pub kea3: Option<KeaNote>,
    /// Steps of the scenario.
    #[serde(rename = "step")]
    pub steps: Vec<ScenarioStep>,
}

/// DHCPv4 or DHCPv6.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum ScenarioFamily {
    /// DHCPv4 (RFC 2131).
    V4,
    /// DHCPv6 (RFC 9915).
    V6,
}

/// Verdict on a version of Kea that does not do what a scenario demands.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeaNote {
    /// Kind of the difference.
    pub verdict: DeviationReason,
    /// Description of the difference, or the version since which Kea has what the scenario needs.
    pub note: String,
}

/// Reason why a version of Kea behaves otherwise, or cannot play the scenario.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum DeviationReason {
    /// The steps are right by an RFC.
    Rfc,
    /// Newer versions of Kea do what the steps demand.
    Newer,
    /// Kea has a defect.
    Bug,
    /// This version of Kea lacks what the scenario needs; the scenario is not played.
    Unsupported,
    /// The difference is intended, and described in the manual.
    Ours,
}

/// One step: exactly one of `send`, `wait_s`, `reload`, `restart` and `command`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioStep {
    /// Type of a message to send, by name: `DISCOVER` or `SOLICIT`; `BOOTP` for a message without a
    /// type.
    pub send: Option<String>,
    /// Type of the expected reply by name, or `nothing`.
    pub get: Option<String>,
    /// Number of the client, which makes its hardware address and DUID. Default 1.
    #[serde(default = "first_client")]
    pub client: u16,
    /// Relay agent; that of the scenario if not set, `none` for a direct client.
    pub relay: Option<String>,
    /// Fields of the header.
    #[serde(default)]
    pub with: BTreeMap<String, String>,
    /// Options by code; a list repeats the option. `none` omits a default option.
    #[serde(default)]
    pub options: BTreeMap<String, OneOrMore>,
    /// Options of the relay agent by code, DHCPv6 only.
    #[serde(default)]
    pub relay_options: BTreeMap<String, String>,
    /// Link addresses of further relay agents between the first and the server, DHCPv6 only, the
    /// one nearest the server last.
    #[serde(default)]
    pub further_relays: Vec<String>,
    /// Identity associations for addresses: the IAID, with the addresses in it.
    #[serde(default)]
    pub na: BTreeMap<String, Vec<String>>,
    /// Identity associations for prefixes: the IAID, with the prefixes in it.
    #[serde(default)]
    pub pd: BTreeMap<String, Vec<String>>,
    /// Seconds to wait.
    pub wait_s: Option<u64>,
    /// Configuration that the server uses from here on.
    pub reload: Option<String>,
    /// True if the server ends and starts again.
    #[serde(default)]
    pub restart: bool,
    /// Control command, as JSON.
    pub command: Option<String>,
    /// Expected values: fields of the reply, or JSON pointers into the answer of a command.
    #[serde(default)]
    pub expect: BTreeMap<String, toml::Value>,
    /// Fields of the reply to keep, by the name to keep each under.
    #[serde(default)]
    pub keep: BTreeMap<String, String>,
}

/// One value or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum OneOrMore {
    /// One value.
    One(String),
    /// Several values, in order.
    More(Vec<String>),
}

impl OneOrMore {
    /// Returns the values.
    #[must_use]
    pub fn all(&self) -> &[String] {
        match self {
            Self::One(value) => core::slice::from_ref(value),
            Self::More(values) => values,
        }
    }
}

const fn first_client() -> u16 {
    1
}

impl Scenario {
    /// Parses a scenario.
    ///
    /// # Errors
    ///
    /// A text with the problem of the file and its position.
    pub fn parse(text: &str) -> Result<Self, String> {
        let scenario: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        check(&scenario.steps)?;
        Ok(scenario)
    }

    /// Returns the sum of all waits, in seconds.
    #[must_use]
    pub fn wait_total_s(&self) -> u64 {
        self.steps.iter().filter_map(|step| step.wait_s).sum()
    }

    /// Returns true if the scenario needs a control channel.
    #[must_use]
    pub fn has_commands(&self) -> bool {
        self.steps.iter().any(|step| step.command.is_some())
    }
}

/// Refuses steps that are of no kind or of several.
pub(crate) fn check(steps: &[ScenarioStep]) -> Result<(), String> {
    for (number, step) in (1..).zip(steps) {
        let kinds = [
            step.send.is_some(),
            step.wait_s.is_some(),
            step.reload.is_some(),
            step.restart,
            step.command.is_some(),
        ];
        if kinds.iter().filter(|is_there| **is_there).count() != 1 {
            return Err(format!(
                "step {number} has to have one of `send`, `wait_s`, `reload`, `restart`, `command`"
            ));
        }
        if step.send.is_some() != step.get.is_some() {
            return Err(format!("step {number}: `send` and `get` go together"));
        }
    }
    Ok(())
}
