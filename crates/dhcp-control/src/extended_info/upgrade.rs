//! Commands `extended-info4-upgrade` and `extended-info6-upgrade` of the hook library
//! `lease_query`.

use dhcp_config::{ExtendedInfoChecks, Hook};
use dhcp_lease::{Lease, PutMode};

use super::{ExtendedInfo, check_extended_info};
use crate::answer::{CommandAnswer, Outcome};
use crate::arguments::ReceivedCommand;
use crate::backend::{CommandBackend, PutFailure};
use crate::command::CommandDefinition;
use crate::family::CommandFamily;

/// Returns the definitions of all commands of the hook library `lease_query`.
pub(crate) fn commands<F: CommandFamily>() -> Vec<CommandDefinition<F>> {
    vec![CommandDefinition::for_hook(Hook::LeaseQuery, "extended-info#-upgrade", upgrade)]
}

/// Converts the relay agents' data in all leases to the present form, and drops invalid data, at
/// the configured level of checks: as in Kea, nothing without checks. Leases that were loaded or
/// added at that level have the present form already.
fn upgrade<F: CommandFamily>(
    _request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let level = backend.extended_info_checks();
    let mut addresses = Vec::new();
    backend.leases().for_each(&mut |lease| {
        if is_changed_by_check(&mut lease.clone(), level) {
            addresses.push(lease.address);
        }
    });
    let mut count = 0_u64;
    for address in addresses {
        // The client may have renewed the lease since: the present one is converted.
        let present = backend.leases().find(F::ip(address), F::kind(address));
        let Some(mut lease) = present.filter(|lease| lease.address == address) else { continue };
        if !is_changed_by_check(&mut lease, level) {
            continue;
        }
        match backend.leases().put(lease, PutMode::Update) {
            Ok(()) => count += 1,
            // A client or a command was faster, and stored the present form.
            Err(
                PutFailure::Missing | PutFailure::Busy | PutFailure::Exists | PutFailure::Later,
            ) => {}
            Err(PutFailure::Failed(why)) => {
                return Err(CommandAnswer::error(format!("cannot upgrade {address}: {why}")));
            }
        }
    }
    Ok(CommandAnswer::success(format!("Upgraded {count} leases")))
}

/// Converts the relay agents' data in `lease`; returns true if that has changed the lease.
fn is_changed_by_check<F: CommandFamily>(lease: &mut Lease<F>, level: ExtendedInfoChecks) -> bool {
    !lease.user_context.is_empty()
        && check_extended_info::<F>(lease, level) != ExtendedInfo::Unchanged
}
