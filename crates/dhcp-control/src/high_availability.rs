//! Control commands of the hook library `high_availability`, about the relationship with a partner.
//! The relationship itself executes them (`dhcp-ha`).

use core::net::IpAddr;

use dhcp_config::Hook;
use dhcp_ha::{HaAnswer, HaExecution};
use dhcp_lease::Lease;
use serde_json::{Value, json};

use crate::answer::{CommandAnswer, Outcome, ResultCode};
use crate::arguments::{ArgumentFields, ReceivedCommand};
use crate::backend::CommandBackend;
use crate::command::{CommandDefinition, CommandExecution};
use crate::family::CommandFamily;
use crate::leases::checked_lease;
use crate::service::HA_REMOTE;
use crate::subnet_facts::SubnetFacts;

/// Returns the definitions of all commands of the hook library `high_availability`.
pub(crate) fn commands<F: CommandFamily>() -> Vec<CommandDefinition<F>> {
    let complete = CommandDefinition::for_hook(
        Hook::HighAvailability,
        "ha-sync-complete-notify",
        complete_synchronization,
    );
    let names = [
        "ha-continue",
        "ha-explain",
        "ha-heartbeat",
        "ha-maintenance-cancel",
        "ha-maintenance-notify",
        "ha-maintenance-start",
        "ha-reset",
        "ha-scopes",
        "ha-sync",
    ];
    names.into_iter().map(CommandDefinition::for_relationship).chain([complete]).collect()
}

/// Executes a command about the relationship with the partner.
pub(crate) fn execute<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> CommandExecution {
    let arguments = request.arguments.unwrap_or(&Value::Null);
    match backend.execute_ha(request.name, arguments) {
        Some(HaExecution::Answer(answer)) => {
            CommandExecution::Answer(answer_of_relationship(answer))
        }
        Some(HaExecution::Deferred) => CommandExecution::Deferred,
        None => CommandExecution::Answer(CommandAnswer::error("the server has no partner")),
    }
}

/// Returns the answer to a command that the relationship with the partner has executed.
#[must_use]
pub fn answer_of_relationship(answer: HaAnswer) -> CommandAnswer {
    let code = match answer.code {
        0 => ResultCode::Success,
        dhcp_ha::MAINTENANCE_NOT_ALLOWED => ResultCode::MaintenanceNotAllowed,
        _ => ResultCode::Error,
    };
    let text = CommandAnswer::text(code, answer.text);
    if answer.arguments.is_null() { text } else { text.and_arguments(answer.arguments) }
}

/// Executes `ha-sync-complete-notify`, which also enables the service that the partner has disabled
/// while it copied the leases. Kea 2.2 sends no origin: it has disabled the service as the first
/// partner.
fn complete_synchronization<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let field = |key| request.arguments.and_then(|arguments| arguments.get(key));
    let origin = field("origin-id").or_else(|| field("origin")).and_then(Value::as_u64);
    let origin = origin.and_then(|origin| u32::try_from(origin).ok()).unwrap_or(HA_REMOTE);
    match execute(request, backend) {
        CommandExecution::Answer(answer) => {
            backend.service().enable(origin);
            Ok(answer)
        }
        CommandExecution::Statistics(_) | CommandExecution::Deferred => {
            Err(CommandAnswer::error("the command has no answer yet"))
        }
    }
}

/// Returns the lease `lease` of a page of the partner, as commands show it. `subnet` finds a subnet
/// by number, or by address if the number is 0; `now_s` is the wall clock in seconds.
///
/// # Errors
///
/// The reason why this server cannot have the lease.
pub fn lease_of_partner<F: CommandFamily>(
    lease: &Value,
    subnet: &dyn Fn(u32, IpAddr) -> Option<SubnetFacts>,
    now_s: u64,
) -> Result<Lease<F>, String> {
    let mut map = lease.as_object().cloned().ok_or("the lease is not a map")?;
    let number = |key: &str| map.get(key).and_then(Value::as_u64);
    // Commands take the end of a lease, pages show its last transaction.
    if let (Some(cltt_s), Some(lifetime_s)) = (number("cltt"), number("valid-lft")) {
        map.insert("expire".to_owned(), json!(cltt_s.saturating_add(lifetime_s)));
    }
    F::from_json(&ArgumentFields(&map), subnet, now_s)
        .map_err(|answer| answer.text.unwrap_or_default())
}

/// Returns `lease`, which a partner has sent as a row of a lease file, with the number of its
/// subnet. `subnet` is as for [`lease_of_partner`].
///
/// # Errors
///
/// The reason why this server cannot have the lease.
pub fn checked_partner_lease<F: CommandFamily>(
    lease: Lease<F>,
    subnet: &dyn Fn(u32, IpAddr) -> Option<SubnetFacts>,
) -> Result<Lease<F>, String> {
    checked_lease(lease, subnet).map_err(|answer| answer.text.unwrap_or_default())
}
