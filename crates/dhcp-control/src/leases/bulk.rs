//! Command `lease6-bulk-apply`: changes of many leases in one command. Kea has no
//! `lease4-bulk-apply`.

use serde_json::{Map, Value, json};

use super::change::{ChangeSender, is_late_deletion, newest_s, put, read_lease};
use super::lease_fields::as_map;
use super::selector::{LeaseSelector, LeaseSelectorKey};
use crate::answer::{CommandAnswer, Outcome, ResultCode};
use crate::arguments::{ArgumentFields, ReceivedCommand};
use crate::backend::CommandBackend;
use crate::family::CommandFamily;

/// Executes `lease#-bulk-apply`: deletes the leases in `deleted-leases`, then adds or replaces
/// those in `leases`. A malformed lease refuses the command before anything has changed.
pub(super) fn apply<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let fields = request.arguments.and_then(Value::as_object).map(ArgumentFields);
    let fields =
        fields.ok_or_else(|| CommandAnswer::error("Command arguments missing or a not a map."))?;
    let deleted = list(&fields, "deleted-leases")?;
    let added = list(&fields, "leases")?;
    if deleted.is_none() && added.is_none() {
        return Err(CommandAnswer::error(
            "neither 'deleted-leases' nor 'leases' parameter specified",
        ));
    }
    let sender = ChangeSender::of(&fields);
    let deleted = deleted.unwrap_or_default().iter();
    let deleted: Vec<Deletion<'_, F>> =
        deleted.map(|item| Deletion::read(item, sender)).collect::<Result<_, _>>()?;
    let mut leases = Vec::new();
    for item in added.unwrap_or_default() {
        // Not a conflict, also where a single lease would be one, as in Kea.
        let as_error = |answer| CommandAnswer { result: ResultCode::Error, ..answer };
        leases.push(read_lease(&as_map(item)?, backend).map_err(as_error)?);
    }
    let mut done = 0;
    let mut details = Map::new();
    let mut failed = Vec::new();
    for deletion in &deleted {
        delete(backend, deletion, &mut done, &mut failed);
    }
    if !failed.is_empty() {
        details.insert("failed-deleted-leases".to_owned(), failed.into());
    }
    let mut failed = Vec::new();
    for lease in leases {
        let failing = lease.clone();
        match put(backend, lease, true, sender) {
            Ok(_) => done += 1,
            Err(answer) => failed.push(failure(&F::to_json(&failing), &answer)),
        }
    }
    if !failed.is_empty() {
        details.insert("failed-leases".to_owned(), failed.into());
    }
    let result = if done == 0 { ResultCode::Empty } else { ResultCode::Success };
    let answer = CommandAnswer::text(
        result,
        format!("Bulk apply of {done} {} leases completed.", F::VERSION.name()),
    );
    Ok(if details.is_empty() { answer } else { answer.and_arguments(Value::Object(details)) })
}

fn list<'a>(fields: &ArgumentFields<'a>, name: &str) -> Result<Option<&'a [Value]>, CommandAnswer> {
    match fields.get(name) {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(_) => Err(CommandAnswer::error(format!("the '{name}' parameter must be a list"))),
    }
}

/// Deletion of a lease.
struct Deletion<'a, F: CommandFamily> {
    selector: LeaseSelector<F>,
    /// Description of the lease in the command.
    fields: Option<ArgumentFields<'a>>,
    sender: ChangeSender,
}

impl<'a, F: CommandFamily> Deletion<'a, F> {
    fn read(item: &'a Value, sender: ChangeSender) -> Result<Self, CommandAnswer> {
        let fields = item.as_object().map(ArgumentFields);
        Ok(Self { selector: LeaseSelector::read(fields, "Delete")?, fields, sender })
    }
}

/// Deletes the lease that `deletion` names; counts it in `done`, or adds a report to `failed`. Does
/// nothing for a lease that is named by its client and does not exist.
fn delete<F: CommandFamily>(
    backend: &mut dyn CommandBackend<Family = F>,
    deletion: &Deletion<'_, F>,
    done: &mut usize,
    failed: &mut Vec<Value>,
) {
    let missing = || CommandAnswer::empty("lease not found");
    let Deletion { selector, fields, sender } = deletion;
    let newest_s = newest_s(backend);
    let is_late = |lease: &_| {
        fields.is_some_and(|fields| is_late_deletion(&fields, *sender, lease, newest_s))
    };
    let outcome = match (selector.find(backend.leases()), &selector.by) {
        (Some(lease), _) if is_late(&lease) => Err((missing(), F::ip(lease.address))),
        (Some(lease), _) => match backend.leases().remove(lease.address) {
            Ok(true) => Ok(()),
            Ok(false) => Err((missing(), F::ip(lease.address))),
            Err(why) => Err((CommandAnswer::error(why), F::ip(lease.address))),
        },
        (None, LeaseSelectorKey::Address(ip)) => Err((missing(), *ip)),
        (None, LeaseSelectorKey::Client(_)) => return,
    };
    match outcome {
        Ok(()) => *done += 1,
        Err((answer, ip)) => {
            let resource =
                json!({ "type": F::kind_name(selector.kind), "ip-address": ip.to_string() });
            failed.push(failure(&resource, &answer));
        }
    }
}

/// Returns the report about a lease of `lease#-bulk-apply` that failed: its type and address from
/// `lease`, and the reason from `answer`.
fn failure(lease: &Value, answer: &CommandAnswer) -> Value {
    json!({
        "type": lease["type"],
        "ip-address": lease["ip-address"],
        "result": answer.result as u16,
        "error-message": answer.text,
    })
}
