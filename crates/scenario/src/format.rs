//! The file format of scenarios.

use std::collections::BTreeMap;

use serde::Deserialize;

/// One scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What it shows, one sentence.
    pub title: String,
    /// Which protocol.
    pub family: Family,
    /// Keys of the configuration and other names that it covers, for the table of coverage.
    #[serde(default)]
    pub covers: Vec<String>,
    /// The map inside `Dhcp4` or `Dhcp6`, in Kea's dialect, without interfaces, lease database and
    /// loggers: those are the subject's.
    pub config: String,
    /// The relay agent that messages come through unless a step says otherwise: `giaddr` in
    /// DHCPv4, the link address in DHCPv6. A direct client when empty.
    #[serde(default)]
    pub relay: String,
    /// How Debian's Kea 2.2 takes it, when it is not as the steps say.
    #[serde(default)]
    pub kea: Option<KeaNote>,
    /// Verdict on Debian 13's Kea 3.0, when it does not do what the steps say.
    #[serde(default)]
    pub kea3: Option<KeaNote>,
    /// The steps.
    #[serde(rename = "step")]
    pub steps: Vec<Step>,
}

/// DHCPv4 or DHCPv6.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// RFC 2131.
    V4,
    /// RFC 9915.
    V6,
}

/// Verdict on a version of Kea that does not do what a scenario says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeaNote {
    /// Who is right.
    pub verdict: Verdict,
    /// In what it differs, or since when Kea has what the scenario needs.
    pub note: String,
}

/// Why a version of Kea does something else, or cannot be asked.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// What the steps say is right by an RFC.
    Rfc,
    /// Newer versions of Kea do what the steps say.
    Newer,
    /// A fault of Kea's.
    Bug,
    /// That Kea lacks what the scenario needs; it is not played.
    Unsupported,
    /// A difference that is meant, and told in the manual.
    Ours,
}

/// One step: exactly one of `send`, `wait_s`, `reload`, `restart` and `command`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// A message to send: its type by name, `DISCOVER` or `SOLICIT`; `BOOTP` for one without.
    pub send: Option<String>,
    /// The reply's type by name, or `nothing`.
    pub get: Option<String>,
    /// Number of the client, which makes its hardware address and DUID. Default 1.
    #[serde(default = "first_client")]
    pub client: u16,
    /// The relay agent; the scenario's when not set, `none` for a direct client.
    pub relay: Option<String>,
    /// Fields of the header.
    #[serde(default)]
    pub with: BTreeMap<String, String>,
    /// Options by code; a list repeats the option. `none` leaves out one that would be there.
    #[serde(default)]
    pub options: BTreeMap<String, OneOrMore>,
    /// Options of the relay agent by code, DHCPv6 only.
    #[serde(default)]
    pub relay_options: BTreeMap<String, String>,
    /// Further relay agents between the first and the server, DHCPv6 only: their link addresses,
    /// the one nearest the server last.
    #[serde(default)]
    pub further_relays: Vec<String>,
    /// Identity associations for addresses: `IAID` and addresses in it.
    #[serde(default)]
    pub na: BTreeMap<String, Vec<String>>,
    /// Identity associations for prefixes.
    #[serde(default)]
    pub pd: BTreeMap<String, Vec<String>>,
    /// Seconds that pass.
    pub wait_s: Option<u64>,
    /// Another configuration from here on.
    pub reload: Option<String>,
    /// Whether the server ends and starts again.
    #[serde(default)]
    pub restart: bool,
    /// A control command, as JSON.
    pub command: Option<String>,
    /// What must come back: fields of the reply, or JSON pointers into the answer of a command.
    #[serde(default)]
    pub expect: BTreeMap<String, toml::Value>,
    /// Fields of the reply to keep, by the name to keep each under.
    #[serde(default)]
    pub keep: BTreeMap<String, String>,
}

/// A value or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum OneOrMore {
    /// One.
    One(String),
    /// Several, in order.
    More(Vec<String>),
}

impl OneOrMore {
    /// The values.
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
    /// Reads a scenario.
    ///
    /// # Errors
    ///
    /// What is wrong with the file, with its place.
    pub fn parse(text: &str) -> Result<Self, String> {
        let scenario: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        check(&scenario.steps)?;
        Ok(scenario)
    }

    /// Seconds that pass in it altogether.
    #[must_use]
    pub fn wait_total_s(&self) -> u64 {
        self.steps.iter().filter_map(|step| step.wait_s).sum()
    }

    /// Whether it needs a control channel.
    #[must_use]
    pub fn has_commands(&self) -> bool {
        self.steps.iter().any(|step| step.command.is_some())
    }
}

/// Refuses steps that are of no kind or of several.
pub(crate) fn check(steps: &[Step]) -> Result<(), String> {
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
