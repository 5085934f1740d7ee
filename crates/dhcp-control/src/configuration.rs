//! Running configuration of a server, as commands read and change it.

use serde_json::Value;

use crate::answer::{CommandAnswer, Outcome, ResultCode};
use crate::backend::{ApplyFailure, CommandBackend};
use crate::document::Root;
use crate::family::CommandFamily;

/// Runs `change` on the configuration below its root, and uses the result unless the answer says
/// that there was nothing to change.
pub(crate) fn edit<B: CommandBackend>(
    backend: &mut B,
    change: impl FnOnce(&mut Root<'_>) -> Outcome,
) -> Outcome {
    let version = B::Family::VERSION;
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

/// Returns the global scope of the running configuration.
pub(crate) fn root<B: CommandBackend>(backend: &B) -> &Value {
    &backend.configuration()[B::Family::VERSION.root()]
}
