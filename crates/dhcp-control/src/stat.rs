//! Control command of the hook library `stat_cmds`: a table of lease counts per subnet.

use core::ops::RangeInclusive;

use dhcp_config::Hook;
use serde_json::{Value, json};

use crate::answer::{CommandAnswer, Outcome};
use crate::arguments::{ArgumentFields, ReceivedCommand, integer};
use crate::backend::CommandBackend;
use crate::command::CommandDefinition;
use crate::family::CommandFamily;
use crate::ip_version::IpVersion;
use crate::statistics::{SubnetCounts, count_to_json};
use crate::text::time_stamp;

/// Returns the definitions of all commands of the hook library `stat_cmds`.
pub(crate) fn commands<F: CommandFamily>() -> Vec<CommandDefinition<F>> {
    vec![CommandDefinition::for_hook(Hook::StatCommands, "stat-lease#-get", get)]
}

/// Subnets that a `stat-lease#-get` command requests.
enum SubnetSelector {
    All,
    One(i128),
    Range(i128, i128),
}

impl SubnetSelector {
    fn read(request: &ReceivedCommand<'_>) -> Result<Self, CommandAnswer> {
        let fields = match request.arguments {
            None => return Ok(Self::All),
            Some(Value::Object(map)) => ArgumentFields(map),
            Some(_) => return Err(CommandAnswer::error("'arguments' parameter is not a map")),
        };
        let one = fields.get("subnet-id").map(|value| match integer(value) {
            None => Err(CommandAnswer::error("'subnet-id' parameter is not integer")),
            Some(id) => positive("subnet-id", id),
        });
        match (one.transpose()?, fields.get("subnet-range")) {
            (None, None) => Ok(Self::All),
            (Some(id), None) => Ok(Self::One(id)),
            (Some(_), Some(_)) => {
                Err(CommandAnswer::error("cannot specify both subnet-id and subnet-range"))
            }
            (None, Some(Value::Object(range))) => {
                let end = |name: &str| match range.get(name).and_then(integer) {
                    Some(id) => positive(name, id),
                    None => Err(CommandAnswer::error(format!(
                        "'{name}' parameter missing or not an integer"
                    ))),
                };
                let (first, last) = (end("first-subnet-id")?, end("last-subnet-id")?);
                if last < first {
                    return Err(CommandAnswer::error(
                        "'last-subnet-id' must be greater than 'first-subnet-id'",
                    ));
                }
                Ok(Self::Range(first, last))
            }
            (None, Some(_)) => Err(CommandAnswer::error("subnet-range parameter is not a map")),
        }
    }

    fn ids(&self) -> RangeInclusive<i128> {
        match *self {
            Self::All => 0..=i128::MAX,
            Self::One(id) => id..=id,
            Self::Range(first, last) => first..=last,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::All => "[all subnets]".to_owned(),
            Self::One(id) => format!("[subnet-id={id}]"),
            Self::Range(first, last) => format!("[subnets {first} through {last}]"),
        }
    }

    fn nothing(&self) -> String {
        match self {
            Self::One(id) => format!("subnet-id: {id} does not exist"),
            Self::All => "selected ID range: 0 through 0 includes no known subnets".to_owned(),
            Self::Range(first, last) => {
                format!("selected ID range: {first} through {last} includes no known subnets")
            }
        }
    }
}

fn positive(name: &str, id: i128) -> Result<i128, CommandAnswer> {
    if id > 0 {
        Ok(id)
    } else {
        Err(CommandAnswer::error(format!("'{name}' parameter must be > 0")))
    }
}

fn get<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let selector = SubnetSelector::read(request)?;
    let mut subnets = backend.counts().subnets;
    subnets.retain(|subnet| selector.ids().contains(&subnet.id.into()));
    subnets.sort_by_key(|subnet| subnet.id);
    let head = format!("{}{}", request.name, selector.text());
    if subnets.is_empty() {
        let text = format!("{head}: no matching data, {}", selector.nothing());
        return Ok(CommandAnswer::empty(text).and_arguments(json!({})));
    }
    let version = F::VERSION;
    let rows: Vec<Value> = subnets.iter().map(|subnet| row(version, subnet)).collect();
    let text = format!("{head}: {} rows found", rows.len());
    let timestamp = time_stamp(backend.now().wall_us);
    let table = json!({ "columns": columns(version), "rows": rows, "timestamp": timestamp });
    Ok(CommandAnswer::success(text).and_arguments(json!({ "result-set": table })))
}

const fn columns(version: IpVersion) -> &'static [&'static str] {
    match version {
        IpVersion::V4 => &[
            "subnet-id",
            "total-addresses",
            "cumulative-assigned-addresses",
            "assigned-addresses",
            "declined-addresses",
        ],
        IpVersion::V6 => &[
            "subnet-id",
            "total-nas",
            "cumulative-assigned-nas",
            "assigned-nas",
            "declined-addresses",
            "total-pds",
            "cumulative-assigned-pds",
            "assigned-pds",
        ],
    }
}

fn row(version: IpVersion, subnet: &SubnetCounts) -> Value {
    let total = |total: u128| count_to_json(i128::try_from(total).unwrap_or(i128::MAX));
    let (own, prefixes) = (subnet.addresses(), subnet.prefixes());
    let mut row = vec![
        json!(subnet.id),
        total(own.total),
        json!(own.leases.cumulative_assigned),
        // Unlike in statistics, a declined address is not assigned here.
        json!(own.leases.assigned.saturating_sub(own.leases.declined)),
        json!(own.leases.declined),
    ];
    if version == IpVersion::V6 {
        row.push(total(prefixes.total));
        row.push(json!(prefixes.leases.cumulative_assigned));
        row.push(json!(prefixes.leases.assigned));
    }
    row.into()
}
