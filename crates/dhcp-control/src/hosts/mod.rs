//! Control commands of the hook library `host_cmds`, for the reservations of the configuration and
//! of databases ([`HostDatabases`](crate::HostDatabases)).

mod change;
mod get;
mod selector;

use dhcp_config::Hook;

use crate::command::CommandDefinition;
use crate::family::CommandFamily;

/// Returns the definitions of all commands of the hook library `host_cmds`.
pub(crate) fn commands<F: CommandFamily>() -> Vec<CommandDefinition<F>> {
    let of = |name, run| CommandDefinition::for_hook(Hook::HostCommands, name, run);
    vec![
        of("reservation-add", change::add),
        of("reservation-del", change::delete),
        of("reservation-update", change::update),
        of("reservation-get", get::single),
        of("reservation-get-all", get::all),
        of("reservation-get-by-address", get::by_address),
        of("reservation-get-by-hostname", get::by_hostname),
        of("reservation-get-by-id", get::by_identifier),
        of("reservation-get-page", get::page),
    ]
}
