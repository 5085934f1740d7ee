//! TOML format of conformance scenarios: the types to which a scenario file is parsed.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Conformance scenario: a configuration, and the steps that a server must pass with it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Subject of the scenario, one sentence.
    pub title: String,
    /// Protocol of the scenario: DHCPv4 or DHCPv6.
    pub family: ScenarioFamily,
    /// Configuration keys and other names that the scenario covers, for the table of coverage.
    /// Without any one of these keys the scenario must fail.
    #[serde(default)]
    pub covers: Vec<String>,
    /// Configuration of the server: the map inside `Dhcp4` or `Dhcp6`, in Kea's dialect, without
    /// interfaces, lease database and loggers, which the server under test adds.
    pub config: String,
    /// Address of the relay agent that messages come through unless a step names another: `giaddr`
    /// in DHCPv4, the link address in DHCPv6. Empty for a direct client.
    #[serde(default)]
    pub relay: String,
    /// Note about Debian's Kea 2.2, if it does not do what the scenario's steps demand.
    pub kea: Option<KeaNote>,
    /// Note about Debian 13's Kea 3.0, if it does not do what the scenario's steps demand.
    pub kea3: Option<KeaNote>,
    /// Steps of the scenario, in order.
    #[serde(rename = "step")]
    pub steps: Vec<ScenarioStep>,
}

/// Protocol of a scenario: DHCPv4 or DHCPv6.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum ScenarioFamily {
    /// DHCPv4 (RFC 2131): `v4` in a file.
    V4,
    /// DHCPv6 (RFC 9915): `v6` in a file.
    V6,
}

/// Note about a version of Kea that does not do what a scenario demands.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeaNote {
    /// Reason why this version of Kea differs from the scenario.
    pub verdict: DeviationReason,
    /// Description of Kea's difference, or the version since which Kea has what the scenario needs.
    pub note: String,
}

/// Reason why a version of Kea differs from a scenario, or cannot play it.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum DeviationReason {
    /// Kea's behaviour contradicts an RFC, and the scenario's steps follow it.
    Rfc,
    /// Newer versions of Kea do what the scenario's steps demand.
    Newer,
    /// The version of Kea has a defect.
    Bug,
    /// The version of Kea lacks what the scenario needs; the scenario is not played.
    Unsupported,
    /// Godwit differs from Kea on purpose, as the manual describes.
    Ours,
}

/// Step of a scenario: exactly one of `send`, `wait_s`, `reload`, `restart` and `command`, with the
/// results that it expects.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioStep {
    /// Type of the DHCP message that the client sends, by name: `DISCOVER` or `SOLICIT`; `BOOTP`
    /// for a message without a type.
    pub send: Option<String>,
    /// Type of the server's reply that the step expects, by name, or `nothing`.
    pub get: Option<String>,
    /// Number of the client that sends the message, from which its hardware address and DUID
    /// follow. Default 1.
    #[serde(default = "first_client")]
    pub client: u16,
    /// Address of the relay agent that the message comes through; that of the scenario if not set,
    /// `none` for a direct client.
    pub relay: Option<String>,
    /// Values of the message's header fields, by field name.
    #[serde(default)]
    pub with: BTreeMap<String, String>,
    /// Options of the message, by code; a list repeats the option. `none` omits an option that the
    /// client sends by default.
    #[serde(default)]
    pub options: BTreeMap<String, OneOrMore>,
    /// Options that the relay agent adds to the message, by code, for DHCPv6 only.
    #[serde(default)]
    pub relay_options: BTreeMap<String, String>,
    /// Link addresses of further relay agents between the first one and the server, for DHCPv6
    /// only, the one nearest to the server last.
    #[serde(default)]
    pub further_relays: Vec<String>,
    /// Identity associations for addresses (IA_NA, option 3) in the message, for DHCPv6: by IAID,
    /// the addresses of each.
    #[serde(default)]
    pub na: BTreeMap<String, Vec<String>>,
    /// Identity associations for prefixes (IA_PD, option 25) in the message, for DHCPv6: by IAID,
    /// the prefixes of each.
    #[serde(default)]
    pub pd: BTreeMap<String, Vec<String>>,
    /// Time that passes in the step, in seconds.
    pub wait_s: Option<u64>,
    /// Configuration that the server uses from this step on: the map inside `Dhcp4` or `Dhcp6`.
    pub reload: Option<String>,
    /// True if the server ends and starts again in this step.
    #[serde(default)]
    pub restart: bool,
    /// Control command that the step sends to the server, as JSON.
    pub command: Option<String>,
    /// Expected values by name: a field of the reply, or a JSON pointer into the answer of a
    /// command.
    #[serde(default)]
    pub expect: BTreeMap<String, toml::Value>,
    /// Values to keep for later steps, by the name of each: a field of the reply, or a JSON pointer
    /// into the answer of a command.
    #[serde(default)]
    pub keep: BTreeMap<String, String>,
}

/// Value of an option in a step, or several values for an option that is repeated.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum OneOrMore {
    /// Value of an option that the message has once.
    One(String),
    /// Values of an option that is repeated, in order.
    More(Vec<String>),
}

impl OneOrMore {
    /// Returns the option's values as a slice.
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
    /// Parses a scenario from the TOML text of its file.
    ///
    /// # Errors
    ///
    /// A text with the problem of the file and its position.
    pub fn parse(text: &str) -> Result<Self, String> {
        let scenario: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        check(&scenario.steps)?;
        Ok(scenario)
    }

    /// Returns the sum of the waits of all steps, in seconds.
    pub fn wait_total_s(&self) -> u64 {
        self.steps.iter().filter_map(|step| step.wait_s).sum()
    }

    /// Returns true if a step sends a control command, so that the server needs a control channel.
    pub fn has_commands(&self) -> bool {
        self.steps.iter().any(|step| step.command.is_some())
    }
}

/// Checks that each step has exactly one of `send`, `wait_s`, `reload`, `restart` and `command`.
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
