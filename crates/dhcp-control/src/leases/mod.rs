//! Control commands of the hook library `lease_cmds`, which show and change leases.

mod bulk;
mod change;
mod get;
mod lease_fields;
mod selector;
mod v4;
mod v6;

use dhcp_config::Hook;

pub(crate) use lease_fields::{checked_lease, show_common};

use crate::answer::{CommandAnswer, Outcome};
use crate::arguments::ReceivedCommand;
use crate::backend::CommandBackend;
use crate::command::CommandDefinition;
use crate::family::CommandFamily;
use crate::ip_version::IpVersion;

/// Returns the definitions of all commands of the hook library `lease_cmds`.
pub(crate) fn commands<F: CommandFamily>() -> Vec<CommandDefinition<F>> {
    let of = |name, run| CommandDefinition::for_hook(Hook::LeaseCommands, name, run);
    vec![
        of("lease#-add", change::add),
        of("lease#-update", change::update),
        of("lease#-del", change::delete),
        of("lease#-wipe", change::wipe),
        of("lease#-write", change::write),
        of("lease#-resend-ddns", change::resend_ddns),
        of("lease4-bulk-apply", bulk::apply).only(IpVersion::V4),
        of("lease6-bulk-apply", bulk::apply).only(IpVersion::V6),
        of("lease#-get", get::one),
        of("lease#-get-all", get::all),
        of("lease#-get-page", get::page),
        of("lease#-get-by-hw-address", get::by_hardware),
        of("lease4-get-by-client-id", get::by_client_id).only(IpVersion::V4),
        of("lease6-get-by-duid", get::by_duid).only(IpVersion::V6),
        of("lease#-get-by-hostname", get::by_hostname),
        of("lease#-get-by-state", get::by_state),
        of("sflq-pool#-del", no_shared_queue),
        of("sflq-pool#-get-all", no_shared_queue),
        of("sflq-pool#-get-by-range", no_shared_queue),
        of("sflq-pool#-get-by-subnet", no_shared_queue),
        of("sflq-pool#-rebuild", no_shared_queue),
    ]
}

/// Answers a command about Kea's shared free lease queue (SFLQ) that this server has none.
fn no_shared_queue<F: CommandFamily>(
    _request: &ReceivedCommand<'_>,
    _backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    Err(CommandAnswer::error("the lease backend has no shared free lease queue"))
}
