//! Commands `subnet4-select-test` and `subnet6-select-test`: the subnet that the server would
//! select for a described message.

use core::net::IpAddr;

use serde_json::Value;

use crate::answer::{CommandAnswer, Outcome};
use crate::arguments::{ReceivedCommand, not_an_address};
use crate::backend::{CommandBackend, Selector};
use crate::family::CommandFamily;
use crate::ip_version::IpVersion;
use crate::text::octets_from_hex;

pub(super) fn select_4<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let mut selector = Selector::default();
    for (key, value) in fields(request)? {
        match key.as_str() {
            "interface" => selector.interface = Some(text(key, value)?.to_owned()),
            "address" => selector.address = Some(address::<F>(key, value)?),
            "relay" => selector.relay = Some(address::<F>(key, value)?),
            "local" => selector.local = Some(address::<F>(key, value)?),
            "remote" => selector.remote = Some(address::<F>(key, value)?),
            "link" => selector.link = Some(address::<F>(key, value)?),
            "subnet" => selector.subnet = Some(address::<F>(key, value)?),
            "classes" => selector.classes = classes(value)?,
            _ => return Err(CommandAnswer::error(format!("unknown entry '{key}'"))),
        }
    }
    let compatibility = &backend.configuration()[F::VERSION.root()]["compatibility"];
    if compatibility["ignore-rai-link-selection"] == Value::Bool(true) {
        selector.link = None;
    }
    if selector.link.is_some() {
        selector.subnet = None;
    }
    selected(backend, &selector)
}

pub(super) fn select_6<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let mut selector = Selector::default();
    for (key, value) in fields(request)? {
        match key.as_str() {
            "interface" => selector.interface = Some(text(key, value)?.to_owned()),
            "interface-id" => selector.interface_id = Some(interface_id(text(key, value)?)?),
            "remote" => selector.remote = Some(address::<F>(key, value)?),
            "link" => selector.link = Some(address::<F>(key, value)?),
            "classes" => selector.classes = classes(value)?,
            _ => return Err(CommandAnswer::error(format!("unknown entry '{key}'"))),
        }
    }
    selected(backend, &selector)
}

fn fields<'a>(
    request: &ReceivedCommand<'a>,
) -> Result<&'a serde_json::Map<String, Value>, CommandAnswer> {
    match request.arguments {
        None => Err(CommandAnswer::error("empty arguments")),
        Some(Value::Object(map)) => Ok(map),
        Some(_) => Err(CommandAnswer::error("arguments must be a map")),
    }
}

fn text<'a>(key: &str, value: &'a Value) -> Result<&'a str, CommandAnswer> {
    value.as_str().ok_or_else(|| CommandAnswer::error(format!("'{key}' entry must be a string")))
}

fn address<F: CommandFamily>(key: &str, value: &Value) -> Result<IpAddr, CommandAnswer> {
    let text = text(key, value)?;
    let version = F::VERSION;
    match text.parse::<IpAddr>() {
        Ok(address) if address.is_ipv4() == (version == IpVersion::V4) => Ok(address),
        Ok(_) => Err(CommandAnswer::error(format!("bad '{key}' entry: not {}", version.name()))),
        Err(_) => Err(CommandAnswer::error(format!("bad '{key}' entry: {}", not_an_address(text)))),
    }
}

/// Reads the bytes of an interface-id from hexadecimal digits, or from a text in inner quotes.
fn interface_id(text: &str) -> Result<Vec<u8>, CommandAnswer> {
    let quoted = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    let octets = match quoted {
        Some(quoted) => quoted.as_bytes().to_vec(),
        None => octets_from_hex(text)
            .map_err(|_| CommandAnswer::error("value of 'interface-id' was not recognized"))?,
    };
    if octets.is_empty() {
        Err(CommandAnswer::error("'interface-id' must be not empty"))
    } else {
        Ok(octets)
    }
}

fn classes(value: &Value) -> Result<Vec<String>, CommandAnswer> {
    let Value::Array(items) = value else {
        return Err(CommandAnswer::error("'classes' entry must be a list"));
    };
    let names = items.iter().map(|item| {
        item.as_str()
            .ok_or_else(|| CommandAnswer::error("'classes' entry must be a list of strings"))
    });
    let names: Vec<&str> = names.collect::<Result<_, _>>()?;
    Ok(names.into_iter().filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

fn selected<F: CommandFamily>(
    backend: &dyn CommandBackend<Family = F>,
    selector: &Selector,
) -> Outcome {
    let Some(selection) = backend.select_subnet(selector) else {
        return Ok(CommandAnswer::empty("no subnet selected"));
    };
    let (subnet, id) = (&selection.subnet, selection.id);
    Ok(CommandAnswer::success(match &selection.network {
        Some(network) => {
            format!("selected shared network '{network}' starting with subnet '{subnet}' id {id}")
        }
        None => format!("selected subnet '{subnet}' id {id}"),
    }))
}
