//! Control commands that show leases.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use dhcp_ha::{AS_ROWS, CHANGES_OF, NOTE_CHANGES, ROWS};
use dhcp_lease::{ChangesRequest, ClientKey, Lease, LeaseState};
use serde_json::{Value, json};

use super::change::ChangeSender;
use super::lease_fields::{CLIENT_ID_OCTETS, DUID_OCTETS, STATES, hardware, identifier};
use super::selector::{LeaseSelector, client_leases};
use crate::answer::{CommandAnswer, Outcome, ResultCode};
use crate::arguments::{ArgumentFields, ReceivedCommand, integer};
use crate::backend::CommandBackend;
use crate::family::CommandFamily;
use crate::text::write_value;

pub(super) fn one<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let fields = request.arguments.and_then(Value::as_object).map(ArgumentFields);
    let selector = LeaseSelector::<F>::read(fields, "Query")?;
    match selector.find(backend.leases()) {
        Some(lease) => {
            let text = format!("{} lease found.", F::VERSION.name());
            Ok(CommandAnswer::success(text).and_arguments(F::to_json(&lease)))
        }
        None => Ok(CommandAnswer::empty("Lease not found.")),
    }
}

pub(super) fn all<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let Some(fields) = request.optional_map()? else {
        let mut list = LeaseListText::default();
        backend.leases().for_each(&mut |lease| list.add::<F>(lease));
        return Ok(list.answer::<F>());
    };
    let mut leases: Vec<Lease<F>> = Vec::new();
    let subnets = fields
        .get("subnets")
        .ok_or_else(|| CommandAnswer::error("'subnets' parameter not specified"))?;
    let Value::Array(subnets) = subnets else {
        return Err(CommandAnswer::error("'subnets' parameter must be a list"));
    };
    let mut positions = BTreeMap::new();
    for subnet in subnets {
        let Some(id) = integer(subnet) else {
            return Err(CommandAnswer::error("listed subnet identifiers must be numbers"));
        };
        let id = u32::try_from(id)
            .map_err(|_| CommandAnswer::error(format!("out of range subnet identifier {id}")))?;
        let position = positions.len();
        positions.entry(id).or_insert(position);
    }
    backend.leases().for_each(&mut |lease| {
        if positions.contains_key(&lease.subnet_id) {
            leases.push(lease.clone());
        }
    });
    leases.sort_by_key(|lease| positions.get(&lease.subnet_id).copied());
    Ok(listed::<F>(&leases))
}

pub(super) fn page<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let version = F::VERSION;
    let fields = request.optional_map()?.ok_or_else(|| {
        CommandAnswer::error(format!("no parameters specified for the {} command", request.name))
    })?;
    let from =
        fields.get("from").ok_or_else(|| CommandAnswer::error("'from' parameter not specified"))?;
    let from =
        from.as_str().ok_or_else(|| CommandAnswer::error("'from' parameter must be a string"))?;
    let after = match (from, from.parse()) {
        ("start", _) => None,
        (_, Ok(ip)) => Some(ip),
        (_, Err(_)) if from.parse::<core::net::IpAddr>().is_ok() => {
            let name = version.name();
            return Err(CommandAnswer::error(format!(
                "'from' parameter value {from} is not an {name} address"
            )));
        }
        _ => {
            return Err(CommandAnswer::error(format!(
                "'from' parameter value is neither 'start' keyword nor a valid {} address",
                version.name()
            )));
        }
    };
    let limit = fields
        .get("limit")
        .ok_or_else(|| CommandAnswer::error("'limit' parameter not specified"))?;
    let limit =
        integer(limit).ok_or_else(|| CommandAnswer::error("'limit' parameter must be a number"))?;
    let limit = u32::try_from(limit)
        .map_err(|_| CommandAnswer::error("'limit' parameter is not a 32 bit unsigned integer."))?;
    if limit == 0 {
        return Err(CommandAnswer::error("'limit' parameter must not be 0."));
    }
    let is_for_partner = matches!(ChangeSender::of(&fields), ChangeSender::Partner { .. });
    if is_for_partner && fields.get(CHANGES_OF).is_some() {
        return changes(&fields, backend, limit as usize);
    }
    let copy = (is_for_partner && fields.get(NOTE_CHANGES) == Some(&true.into()))
        .then(|| backend.leases().begin_copy())
        .flatten();
    let mut leases = if is_for_partner {
        backend.leases().page_for_partner(after, limit as usize)
    } else {
        backend.leases().page(after, limit as usize)
    };
    if is_for_partner && backend.is_partner_old() {
        // Such a partner would refuse the state, and keep the lease that the client has released.
        let released = leases.iter_mut().filter(|lease| lease.state == LeaseState::Released);
        released.for_each(|lease| lease.state = LeaseState::ExpiredReclaimed);
    }
    let mut arguments = json!({ "count": leases.len() });
    if let Some(copy) = copy {
        arguments[CHANGES_OF] = json!(copy);
    }
    let as_rows = is_for_partner && fields.get(AS_ROWS) == Some(&true.into());
    Ok(page_answer(&leases, arguments, as_rows, backend))
}

/// Returns the answer with a page of `leases` and the further `arguments`; as rows of a lease file
/// if `as_rows` and the server has such rows.
fn page_answer<F: CommandFamily>(
    leases: &[Lease<F>],
    mut arguments: Value,
    as_rows: bool,
    backend: &mut dyn CommandBackend<Family = F>,
) -> CommandAnswer {
    let backend = backend.leases();
    let row = |lease| backend.to_row(lease).map(Value::String);
    let rows: Option<Vec<Value>> = as_rows.then(|| leases.iter().map(row).collect()).flatten();
    let mut answer = match rows {
        Some(rows) => {
            arguments[ROWS] = Value::Array(rows);
            list_answer::<F>(leases.len())
        }
        None => listed(leases),
    };
    answer.arguments = Some(arguments);
    answer
}

/// Returns a page of at most `limit` leases that have changed during a copy by the partner.
fn changes<F: CommandFamily>(
    fields: &ArgumentFields<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
    limit: usize,
) -> Outcome {
    let number = |name: &str| {
        let number = fields.get(name).and_then(Value::as_u64);
        number.ok_or_else(|| CommandAnswer::error(format!("'{name}' parameter must be a number")))
    };
    let (copy, from) = (number(CHANGES_OF)?, number("changes-from")?);
    let from = usize::try_from(from).unwrap_or(usize::MAX);
    let is_last_round = fields.get("is-last-round") == Some(&true.into());
    let request = ChangesRequest { copy, from, limit, is_last_round };
    let page = backend.leases().changed_leases(request).ok_or_else(|| {
        CommandAnswer::error("this server does not know all changes since the copy began")
    })?;
    let ended: Vec<Value> = page.ended.iter().map(F::to_json).collect();
    let arguments = json!({
        "changes-total": page.total,
        "count": page.leases.len(),
        "ended-leases": ended,
    });
    let as_rows = fields.get(AS_ROWS) == Some(&true.into());
    Ok(page_answer(&page.leases, arguments, as_rows, backend))
}

pub(super) fn by_hardware<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let text = parameter(request, "hw-address")?;
    let hardware = hardware(text)
        .map_err(|why| CommandAnswer::error(format!("bad 'hw-address' parameter: {why}")))?;
    let leases = backend.leases().client_leases(ClientKey::Hardware(hardware.octets()));
    Ok(listed::<F>(&leases))
}

pub(super) fn by_client_id<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    by_identifier(request, backend, "client-id", CLIENT_ID_OCTETS)
}

pub(super) fn by_duid<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    by_identifier(request, backend, "duid", DUID_OCTETS)
}

fn by_identifier<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
    name: &str,
    lens: RangeInclusive<usize>,
) -> Outcome {
    let octets = identifier(parameter(request, name)?, lens)
        .map_err(|why| CommandAnswer::error(format!("bad '{name}' parameter: {why}")))?;
    let leases = client_leases(backend.leases(), ClientKey::Identifier(&octets));
    Ok(listed::<F>(&leases))
}

pub(super) fn by_hostname<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let hostname = parameter(request, "hostname")?.to_lowercase();
    if hostname.is_empty() {
        return Err(CommandAnswer::error("'hostname' parameter is empty"));
    }
    Ok(listed::<F>(&filtered(backend, |lease| *lease.hostname == *hostname)))
}

pub(super) fn by_state<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let fields = map(request)?;
    let number = match fields.get("state") {
        None => return Err(CommandAnswer::error("'state' parameter not specified")),
        Some(Value::String(name)) if name.is_empty() => {
            return Err(CommandAnswer::error("'state' parameter is empty"));
        }
        Some(Value::String(name)) => match STATES.iter().position(|state| state == name) {
            Some(number) => number as i128,
            None if name == "assigned" => 0,
            None => {
                return Err(CommandAnswer::error(format!(
                    "'state' parameter value ({name}) is not recognized"
                )));
            }
        },
        Some(value) => integer(value).ok_or_else(|| {
            CommandAnswer::error("'state' parameter must be a number or a string")
        })?,
    };
    let subnet_id = match fields.get("subnet-id") {
        None => 0,
        Some(value) => integer(value)
            .ok_or_else(|| CommandAnswer::error("'subnet-id' parameter must be a number"))
            .and_then(|id| {
                u32::try_from(id).map_err(|_| {
                    CommandAnswer::error("'subnet-id' parameter must be a 32 bit unsigned integer")
                })
            })?,
    };
    let state = u8::try_from(number).ok().and_then(LeaseState::from_number);
    let leases = filtered(backend, |lease| {
        Some(lease.state) == state && (subnet_id == 0 || lease.subnet_id == subnet_id)
    });
    let state_text = match usize::try_from(number).ok().and_then(|number| STATES.get(number)) {
        Some(name) => format!("{name} ({number})"),
        // Like Kea, which keeps states in 32 bits.
        None => (number as u32).to_string(),
    };
    let within = if subnet_id == 0 { String::new() } else { format!(" in subnet {subnet_id}") };
    let mut answer = listed::<F>(&leases);
    answer.text = Some(format!(
        "{} {} lease(s) found with state {state_text}{within}.",
        leases.len(),
        F::VERSION.name()
    ));
    Ok(answer)
}

fn map<'a>(request: &ReceivedCommand<'a>) -> Result<ArgumentFields<'a>, CommandAnswer> {
    let fields = request.arguments.and_then(Value::as_object).map(ArgumentFields);
    fields.ok_or_else(|| CommandAnswer::error("Command arguments missing or a not a map."))
}

/// Returns the text in the argument `name`, the only one that a command needs.
fn parameter<'a>(request: &ReceivedCommand<'a>, name: &str) -> Result<&'a str, CommandAnswer> {
    let value = map(request)?
        .get(name)
        .ok_or_else(|| CommandAnswer::error(format!("'{name}' parameter not specified")))?;
    value
        .as_str()
        .ok_or_else(|| CommandAnswer::error(format!("'{name}' parameter must be a string")))
}

fn filtered<F: CommandFamily>(
    backend: &mut dyn CommandBackend<Family = F>,
    fits: impl Fn(&Lease<F>) -> bool,
) -> Vec<Lease<F>> {
    let mut leases = Vec::new();
    backend.leases().for_each(&mut |lease| {
        if fits(lease) {
            leases.push(lease.clone());
        }
    });
    leases
}

fn listed<F: CommandFamily>(leases: &[Lease<F>]) -> CommandAnswer {
    let mut list = LeaseListText::default();
    leases.iter().for_each(|lease| list.add::<F>(lease));
    list.answer::<F>()
}

/// Returns the answer about a list of `count` leases, without the list.
fn list_answer<F: CommandFamily>(count: usize) -> CommandAnswer {
    let result = if count == 0 { ResultCode::Empty } else { ResultCode::Success };
    CommandAnswer::text(result, format!("{count} {} lease(s) found.", F::VERSION.name()))
}

/// JSON text of the leases that a command adds to its answer one by one.
#[derive(Default)]
struct LeaseListText {
    text: String,
    count: usize,
}

impl LeaseListText {
    fn add<F: CommandFamily>(&mut self, lease: &Lease<F>) {
        self.text.push_str(if self.count == 0 { "[ " } else { ", " });
        write_value(&mut self.text, &F::to_json(lease));
        self.count += 1;
    }

    fn answer<F: CommandFamily>(mut self) -> CommandAnswer {
        self.text.push_str(if self.count == 0 { "[  ]" } else { " ]" });
        list_answer::<F>(self.count).and_leases(self.text)
    }
}
