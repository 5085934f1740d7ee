//! Comparison scenarios: steps that Godwit and Kea both play, and the views of the servers
//! (statistics, log, files, database rows) that must agree after each step.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::format::{DeviationReason, Scenario, ScenarioFamily, ScenarioStep, check};

/// Scenario whose steps Godwit and Kea both play, with the views of the servers that must agree
/// after each step.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComparisonScenario {
    /// Subject of the comparison, one sentence.
    pub title: String,
    /// Protocol of the scenario: DHCPv4 or DHCPv6.
    pub family: ScenarioFamily,
    /// Rows of the manual's tables, keys and commands by their names, that the scenario compares.
    #[serde(default)]
    pub rows: Vec<String>,
    /// Views that are compared after every step: `statistics`, `log`, `folder` (names and modes of
    /// the files), `file NAME`, `legal-log`, `scripts` (calls of `scripts/script.sh`), `names`
    /// (options of replies with a name: 12, 81, 39), `requests` (name change requests to the port
    /// that the configuration calls `@requests@`), and `rows TABLE` if leases are in a database.
    pub look: Vec<String>,
    /// Number of the first step after which views are compared, 0 being the start; answers of
    /// commands are compared after every step.
    #[serde(default)]
    pub look_from: usize,
    /// Names of files that must exist before views are compared.
    #[serde(default)]
    pub present: Vec<String>,
    /// Names of files that must be gone before views are compared.
    #[serde(default)]
    pub absent: Vec<String>,
    /// Beginning of the name of a request that must have come before views are compared; empty for
    /// none. A server sends requests in their order, so the others have come, too.
    #[serde(default)]
    pub requested: String,
    /// Identifiers of log messages that must have been logged before views are compared.
    #[serde(default)]
    pub logged: Vec<String>,
    /// Identifiers of the log messages that the view `log` compares, with `*` for any characters.
    #[serde(default)]
    pub identifiers: Vec<String>,
    /// Contents of the files that exist before the servers start, by name.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Configuration of both servers: the map inside `Dhcp4` or `Dhcp6`, as in a [`Scenario`].
    pub config: String,
    /// True if both servers use a database, for leases or where the configuration says
    /// `@database@`: the scenario is played over MariaDB and over PostgreSQL, with Kea's own
    /// tables.
    #[serde(default)]
    pub database: bool,
    /// Address of the relay agent that messages come through, as in a [`Scenario`].
    #[serde(default)]
    pub relay: String,
    /// Known differences between the servers' views, each with the reason for it.
    #[serde(default, rename = "difference")]
    pub differences: Vec<ViewDifference>,
    /// Steps that both servers play, in order.
    #[serde(rename = "step")]
    pub steps: Vec<ScenarioStep>,
}

/// Known difference between the servers' views: lines that only one of the servers has, and the
/// reason.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ViewDifference {
    /// Name of the view that differs; `answer` for answers of commands.
    pub view: String,
    /// Pattern of lines of the view that only Godwit has, with `*` for any characters.
    pub godwit: Option<String>,
    /// Pattern of lines of the view that only Kea has, with `*` for any characters.
    pub kea: Option<String>,
    /// Rows of the manual's tables that the difference is about; all rows of the scenario if not
    /// set.
    pub rows: Option<Vec<String>>,
    /// Reason for the difference, and thus which server is right.
    pub verdict: DeviationReason,
    /// Description of the difference and its cause.
    pub note: String,
}

/// Server that has a line of a view that the other server lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ComparedServer {
    /// Godwit, the server of this project.
    Godwit,
    /// ISC Kea, the server with which Godwit is compared.
    Kea,
}

impl ViewDifference {
    /// Returns true if this difference covers `line` of the view `view`, a line that only the
    /// server `maker` has.
    pub fn is_about(&self, view: &str, maker: ComparedServer, line: &str) -> bool {
        let pattern = match maker {
            ComparedServer::Godwit => &self.godwit,
            ComparedServer::Kea => &self.kea,
        };
        self.view == view && pattern.as_ref().is_some_and(|pattern| is_like(line, pattern))
    }
}

impl ComparisonScenario {
    /// Parses a comparison scenario from the TOML text of its file.
    ///
    /// # Errors
    ///
    /// A text with the problem of the file and its position.
    pub fn parse(text: &str) -> Result<Self, String> {
        let scenario: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        check(&scenario.steps)?;
        for difference in &scenario.differences {
            let has_lines = difference.godwit.is_some() || difference.kea.is_some();
            if !has_lines || difference.note.is_empty() {
                return Err(format!("a difference needs lines and a note: {difference:?}"));
            }
        }
        Ok(scenario)
    }

    /// Returns configuration and steps as a plain scenario, without views and differences.
    pub fn scenario(&self) -> Scenario {
        Scenario {
            title: self.title.clone(),
            family: self.family,
            covers: Vec::new(),
            config: self.config.clone(),
            relay: self.relay.clone(),
            kea: None,
            kea3: None,
            steps: self.steps.clone(),
        }
    }

    /// Returns true if the view `log` compares the log messages with `identifier`.
    pub fn has_identifier(&self, identifier: &str) -> bool {
        self.identifiers.iter().any(|pattern| is_like(identifier, pattern))
    }
}

/// Returns true if `text` matches `pattern`, in which `*` stands for any characters.
pub fn is_like(text: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => text == pattern,
        Some((begin, rest)) => text.strip_prefix(begin).is_some_and(|text| {
            let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            ends.into_iter().any(|at| text.get(at..).is_some_and(|end| is_like(end, rest)))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = r#"
        title = "A lease file"
        family = "v4"
        look = ["file leases.csv"]
        identifiers = ["DHCP4_LEASE_*"]
        config = ""
        [[difference]]
        view = "file leases.csv"
        godwit = "10.*,3,*"
        verdict = "ours"
        note = "why"
        [[step]]
        restart = true
    "#;

    #[test]
    fn a_scenario_describes_its_differences_by_patterns() {
        let scenario = ComparisonScenario::parse(SCENARIO).unwrap();
        let difference = &scenario.differences[0];
        assert!(difference.is_about("file leases.csv", ComparedServer::Godwit, "10.0.0.1,3,"));
        assert!(!difference.is_about("file leases.csv", ComparedServer::Kea, "10.0.0.1,3,"));
        assert!(!difference.is_about("log", ComparedServer::Godwit, "10.0.0.1,3,"));
        assert!(!difference.is_about("file leases.csv", ComparedServer::Godwit, "10.0.0.1,2,"));
        assert!(scenario.has_identifier("DHCP4_LEASE_ALLOC") && !scenario.has_identifier("DHCP4_"));
        assert!(
            ComparisonScenario::parse(&SCENARIO.replace("note = \"why\"", "note = \"\"")).is_err()
        );
        assert!(
            ComparisonScenario::parse(&SCENARIO.replace("restart = true", "restart = false"))
                .is_err()
        );
    }

    #[test]
    fn patterns_stand_for_any_characters() {
        for (text, pattern, is) in [
            ("has a.b", "has a.b", true),
            ("has a.b", "has a", false),
            ("has subnet[1].v4-x-y", "has subnet[*].v4-x*", true),
            ("has subnet[1].v4-x-y", "has *-z", false),
            ("lacks x", "lacks *", true),
        ] {
            assert_eq!(is_like(text, pattern), is, "{text} {pattern}");
        }
    }
}
