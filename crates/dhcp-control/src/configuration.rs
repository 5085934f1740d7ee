//! Running configuration of a server, as commands read and change it.

use serde_json::Value;

use crate::answer::{CommandAnswer, Outcome, ResultCode};
use crate::backend::{ApplyFailure, CommandBackend};
use crate::document::Root;
use crate::family::CommandFamily;

/// Applies `change` to a copy of the running configuration below its root, and has the server apply
/// the result if the answer reports success.
pub(crate) fn edit<F: CommandFamily>(
    backend: &mut dyn CommandBackend<Family = F>,
    change: impl FnOnce(&mut Root<'_>) -> Outcome,
) -> Outcome {
    let version = F::VERSION;
    let mut document = backend.configuration().clone();
    let Some(mut root) = Root::of(&mut document, version) else {
        return Err(CommandAnswer::error("there is no configuration to change"));
    };
    let answer = change(&mut root)?;
    if answer.result == ResultCode::Success {
        backend.apply(document).map_err(ApplyFailure::into_answer)?;
    }
    Ok(answer)
}

/// Returns the global scope (the map in `Dhcp4` or `Dhcp6`) of the running configuration.
pub(crate) fn root<F: CommandFamily>(backend: &dyn CommandBackend<Family = F>) -> &Value {
    &backend.configuration()[F::VERSION.root()]
}
