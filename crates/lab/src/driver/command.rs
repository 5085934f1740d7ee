//! Server that the user gives by a command with placeholders.

use measure::plan::MeasuredProtocol;
use testbed::CommandLine;
use testbed::command::{find_program, split_words};

use super::deployment::{
    PreparedServer, ServerDeployment, common_configuration, write_configuration,
};
use super::dns;
use crate::error::{LabError, LabResult};

/// Returns the placeholders that `--server-command` may have for `protocol`, such as the path of
/// the configuration in Kea's form for DHCP or of the zone file for DNS.
const fn placeholders(protocol: MeasuredProtocol) -> &'static [&'static str] {
    if protocol.is_dhcp() {
        &["config", "address", "port", "folder", "relay", "relay_port"]
    } else {
        &["zone", "address", "port", "folder"]
    }
}

/// Returns the program of a server command's `template`, after checking the template itself.
pub(super) fn program(template: &str, protocol: MeasuredProtocol) -> LabResult<String> {
    let wrong = |why: &str| LabError::Usage(format!("--server-command '{template}': {why}"));
    let words = split_words(template).map_err(|why| wrong(&why))?;
    let program = words.first().ok_or_else(|| wrong("it is empty"))?;
    for word in &words {
        fill(word, protocol, |_| Some(String::new())).map_err(|why| wrong(&why))?;
    }
    if find_program(program).is_none() {
        return Err(LabError::Failed(format!(
            "{program}: not found; is it installed and executable?"
        )));
    }
    Ok(program.clone())
}

pub(super) fn prepare(template: &str, deployment: &ServerDeployment) -> LabResult<PreparedServer> {
    let protocol = deployment.family.protocol;
    program(template, protocol)?;
    let configuration = if protocol.is_dhcp() {
        write_configuration(deployment, &common_configuration(deployment))?
    } else {
        dns::write_zone(deployment)?.to_string_lossy().into_owned()
    };
    let value = |name: &str| {
        Some(match name {
            "config" | "zone" => configuration.clone(),
            "address" => deployment.address.ip().to_string(),
            "port" => deployment.address.port().to_string(),
            "folder" => deployment.folder.to_string_lossy().into_owned(),
            "relay" => deployment.relay.ip().to_string(),
            "relay_port" => deployment.relay.port().to_string(),
            _ => return None,
        })
    };
    let words = split_words(template).map_err(LabError::Usage)?;
    let words = words
        .iter()
        .map(|word| fill(word, protocol, value))
        .collect::<Result<Vec<_>, _>>()
        .map_err(LabError::Usage)?;
    let mut command = CommandLine::new(words[0].clone());
    for word in &words[1..] {
        command = command.arg(word.clone());
    }
    Ok(PreparedServer { command, lease_file: None, version: String::new(), reads_frames: false })
}

/// Returns `word` of a server command with every `{name}` replaced; `{{` and `}}` are literal
/// braces.
fn fill(
    word: &str,
    protocol: MeasuredProtocol,
    value: impl Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let names = placeholders(protocol);
    let mut filled = String::new();
    let mut rest = word;
    while let Some(at) = rest.find(['{', '}']) {
        filled.push_str(&rest[..at]);
        let here = &rest[at..];
        if let Some(after) = here.strip_prefix("{{").or_else(|| here.strip_prefix("}}")) {
            filled.push_str(&here[..1]);
            rest = after;
        } else {
            let end = here.find('}').filter(|&end| end > 0);
            let name = &here[1..end.ok_or_else(|| format!("a brace has no partner in {word}"))?];
            let text = if names.contains(&name) { value(name) } else { None };
            let unknown = || {
                let listed: Vec<String> = names.iter().map(|name| format!("{{{name}}}")).collect();
                let listed = listed.join(" ");
                format!("{{{name}}} is not known; there are: {listed}")
            };
            filled.push_str(&text.ok_or_else(unknown)?);
            rest = &here[name.len() + 2..];
        }
    }
    filled.push_str(rest);
    Ok(filled)
}
