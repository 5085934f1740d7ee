//! Plays a scenario against a DHCP server.

use serde_json::Value;

use crate::format::{Scenario, ScenarioFamily, ScenarioStep};
use crate::value::{ScenarioVariables, filled, fits, hex_of};
use crate::{observe, v4, v6};

/// Server under test: a DHCP server against which scenarios are played, started with the scenario's
/// configuration.
pub trait ScenarioServer {
    /// Sends a message to the server and returns the replies that come within the server's time
    /// limit: all of them if `expects_none`, else until the first for which `is_answer` holds.
    ///
    /// # Errors
    ///
    /// The reason why the server cannot be reached.
    fn exchange(
        &mut self,
        octets: &[u8],
        expects_none: bool,
        is_answer: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Vec<Vec<u8>>, ScenarioServerError>;

    /// Lets `seconds` pass on the server's clock.
    ///
    /// # Errors
    ///
    /// The reason why time cannot pass.
    fn wait_s(&mut self, seconds: u64) -> Result<(), ScenarioServerError>;

    /// Replaces the server's configuration by `config`, the map inside `Dhcp4` or `Dhcp6`.
    ///
    /// # Errors
    ///
    /// The reason why the server refuses the configuration.
    fn reload(&mut self, config: &str) -> Result<(), ScenarioServerError>;

    /// Sends a control command to the server and returns the answer.
    ///
    /// # Errors
    ///
    /// The reason why there is no answer.
    fn command(&mut self, command: &str) -> Result<String, ScenarioServerError>;

    /// Ends the server in an orderly way and starts it again with its stored leases.
    ///
    /// # Errors
    ///
    /// The reason why the server does not start; a server without a process has nothing to start.
    fn restart(&mut self) -> Result<(), ScenarioServerError> {
        Err("it has no process that could be started again".to_owned())
    }
}

/// Reason why the server under test cannot play a step, as one phrase.
pub type ScenarioServerError = String;

/// Failure of a scenario: the first step at which the server did not do what the scenario demands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioFailure {
    /// Number of the step that failed, from 1.
    pub step: usize,
    /// Expected and actual result of the step that failed.
    pub what: String,
}

/// Plays `scenario` on `server`, the server under test, to its end, or to the first step at
/// which the server does not do what the scenario demands.
///
/// # Errors
///
/// The step that failed, with the expected and the actual result.
pub fn play(scenario: &Scenario, server: &mut dyn ScenarioServer) -> Result<(), ScenarioFailure> {
    let mut player = ScenarioPlayer::new(scenario);
    while player.play_next(server)? {}
    Ok(())
}

/// Player of a scenario, step by step, with the values that steps have kept so far.
#[derive(Debug)]
pub struct ScenarioPlayer<'s> {
    scenario: &'s Scenario,
    /// Values that earlier steps have kept, by name.
    variables: ScenarioVariables,
    /// Number of steps played so far.
    played: usize,
}

impl<'s> ScenarioPlayer<'s> {
    /// Creates a player before the first step of `scenario`.
    pub const fn new(scenario: &'s Scenario) -> Self {
        Self { scenario, variables: ScenarioVariables::new(), played: 0 }
    }

    /// Plays the next step of the scenario on `server`, the server under test; returns false if
    /// there was none left.
    ///
    /// # Errors
    ///
    /// The step, and the expected and actual result, if the server did not do what the step
    /// demands.
    pub fn play_next(&mut self, server: &mut dyn ScenarioServer) -> Result<bool, ScenarioFailure> {
        let Some(step) = self.scenario.steps.get(self.played) else { return Ok(false) };
        self.played += 1;
        let number = self.played;
        let done = match step {
            ScenarioStep { wait_s: Some(seconds), .. } => server.wait_s(*seconds),
            ScenarioStep { reload: Some(config), .. } => server.reload(config),
            ScenarioStep { restart: true, .. } => server.restart(),
            ScenarioStep { command: Some(command), .. } => {
                judge_command(step, command, server, &mut self.variables)
            }
            _ => exchange(self.scenario, step, number, server, &mut self.variables),
        };
        done.map_err(|what| ScenarioFailure { step: number, what })?;
        Ok(true)
    }
}

fn exchange(
    scenario: &Scenario,
    step: &ScenarioStep,
    number: usize,
    server: &mut dyn ScenarioServer,
    variables: &mut ScenarioVariables,
) -> Result<(), String> {
    let xid = 0x1000 + number as u32;
    let is_v4 = scenario.family == ScenarioFamily::V4;
    let octets = if is_v4 {
        v4::message(scenario, step, xid, variables)?
    } else {
        v6::message(scenario, step, xid, variables)?
    };
    let expected = step.get.as_deref().unwrap_or("nothing");
    let answers = if is_v4 { v4::answers } else { v6::answers };
    let is_answer = |reply: &[u8]| answers(reply, xid);
    let replies = server.exchange(&octets, expected == "nothing", &is_answer)?;
    let Some(reply) = replies.iter().find(|reply| is_answer(reply)) else {
        return if expected == "nothing" {
            Ok(())
        } else {
            Err(format!("no answer instead of {expected}"))
        };
    };
    let name = if is_v4 { v4::name_of(reply) } else { v6::name_of(reply) }?;
    if name != expected {
        return Err(format!("{name} instead of {expected}"));
    }
    judge_reply(step, reply, is_v4, variables)
}

fn judge_reply(
    step: &ScenarioStep,
    reply: &[u8],
    is_v4: bool,
    variables: &mut ScenarioVariables,
) -> Result<(), String> {
    let field = if is_v4 { v4::field } else { v6::field };
    let mut faults = Vec::new();
    for (key, expected) in &step.expect {
        let (value, kind) = field(reply, key)?;
        let text = match expected {
            toml::Value::String(text) => filled(text, variables)?,
            other => other.to_string(),
        };
        if !fits(&text, kind, value.as_deref())? {
            let value =
                value.map_or_else(|| "absent".to_owned(), |octets| format_value(&octets, kind));
            faults.push(format!("`{key}` is {value} instead of {text}"));
        }
    }
    if !faults.is_empty() {
        return Err(faults.join("; "));
    }
    for (name, key) in &step.keep {
        let (value, kind) = field(reply, key)?;
        let value = value.ok_or_else(|| format!("`{key}` is absent and cannot be kept"))?;
        variables.insert(name.clone(), format_value(&value, kind));
    }
    // Most next steps need these.
    let usual: &[(&str, &str)] = if is_v4 {
        &[("yiaddr", "yiaddr"), ("server", "option 54")]
    } else {
        &[("server", "option 2")]
    };
    for (name, key) in usual {
        if let (Some(value), kind) = field(reply, key)? {
            variables.insert((*name).to_owned(), format_value(&value, kind));
        }
    }
    Ok(())
}

/// Formats the bytes of a field as a scenario writes a value of the kind `kind`, such as `u32`.
fn format_value(octets: &[u8], kind: &str) -> String {
    let address = |octets: &[u8]| -> Option<String> {
        let octets: [u8; 16] = octets.try_into().ok()?;
        Some(std::net::Ipv6Addr::from(octets).to_string())
    };
    match (kind, octets) {
        ("ip", &[a, b, c, d]) => format!("{a}.{b}.{c}.{d}"),
        ("ip6", octets) if octets.len() == 16 => address(octets).unwrap_or_default(),
        ("prefix", [len, rest @ ..]) if rest.len() == 16 => {
            format!("{}/{len}", address(rest).unwrap_or_default())
        }
        ("u8" | "u16" | "u32", octets) => {
            octets.iter().fold(0_u64, |sum, &octet| sum << 8 | u64::from(octet)).to_string()
        }
        ("text", octets) if octets.is_ascii() => String::from_utf8_lossy(octets).into_owned(),
        _ => hex_of(octets),
    }
}

fn judge_command(
    step: &ScenarioStep,
    command: &str,
    server: &mut dyn ScenarioServer,
    variables: &mut ScenarioVariables,
) -> Result<(), String> {
    let answer = server.command(&filled(command, variables)?)?;
    let answer: Value = serde_json::from_str(&answer)
        .map_err(|error| format!("the answer is not JSON ({error}): {answer}"))?;
    let faults: Vec<String> = step
        .expect
        .iter()
        .filter(|(pointer, expected)| !observe::member_fits(&answer, pointer, expected))
        .map(|(pointer, expected)| format!("`{pointer}` is not {expected}"))
        .collect();
    if !faults.is_empty() {
        return Err(format!("{}; the answer: {answer}", faults.join("; ")));
    }
    for (name, pointer) in &step.keep {
        let member = answer.pointer(pointer);
        let member = member.ok_or_else(|| format!("`{pointer}` cannot be kept: {answer}"))?;
        let text = member.as_str().map_or_else(|| member.to_string(), str::to_owned);
        variables.insert(name.clone(), text);
    }
    Ok(())
}
