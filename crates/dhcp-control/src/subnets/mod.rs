//! Control commands of the hook library `subnet_cmds`, which show and change subnets and shared
//! networks.

mod delta;
mod networks;
mod single;

use dhcp_config::Hook;
use serde_json::Value;

use crate::answer::{CommandAnswer, ResultCode};
use crate::command::CommandDefinition;
use crate::family::CommandFamily;

/// Returns the definitions of all commands of the hook library `subnet_cmds`.
pub(crate) fn commands<F: CommandFamily>() -> Vec<CommandDefinition<F>> {
    let of = |name, run| CommandDefinition::for_hook(Hook::SubnetCommands, name, run);
    vec![
        of("subnet#-add", single::add),
        of("subnet#-del", single::delete),
        of("subnet#-delta-add", single::delta_add),
        of("subnet#-delta-del", single::delta_delete),
        of("subnet#-get", single::get),
        of("subnet#-list", single::list),
        of("subnet#-update", single::update),
        of("network#-add", networks::add),
        of("network#-del", networks::delete),
        of("network#-get", networks::get),
        of("network#-list", networks::list),
        of("network#-subnet-add", networks::add_subnet),
        of("network#-subnet-del", networks::delete_subnet),
    ]
}

/// Returns an answer such as `3 IPv4 subnets found`, with the code [`ResultCode::Empty`] if `list`
/// is empty.
fn counted(list: &[Value], version: &str, what: &str) -> CommandAnswer {
    let count = list.len();
    let result = if count == 0 { ResultCode::Empty } else { ResultCode::Success };
    let plural = if count == 1 { "" } else { "s" };
    CommandAnswer::text(result, format!("{count} {version} {what}{plural} found"))
}
