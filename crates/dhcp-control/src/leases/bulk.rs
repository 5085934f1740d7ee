//! Command `lease6-bulk-apply`: changes of many leases in one command. Kea has no
//! `lease4-bulk-apply`, and no leases as rows of a lease file, which partners of this make send.

use dhcp_ha::ROWS;
use dhcp_lease::Lease;
use serde_json::{Map, Value, json};

use super::change::{
    ChangeSender, is_late_deletion, newest_s, put, read_lease, subnet_of, with_checked_context,
};
use super::lease_fields::{as_map, checked_lease};
use super::selector::{LeaseSelector, LeaseSelectorKey};
use crate::answer::{CommandAnswer, Outcome, ResultCode};
use crate::arguments::{ArgumentFields, ReceivedCommand};
use crate::backend::CommandBackend;
use crate::family::CommandFamily;
use crate::ip_version::IpVersion;

/// Maximum number of characters of a bad row in an answer.
const SHOWN_MAX: usize = 100;

/// Executes `lease#-bulk-apply`: deletes the leases in `deleted-leases`, then adds or replaces
/// those in `leases`, and those of a partner in `rows`. A malformed lease refuses the command
/// before anything has changed.
pub(super) fn apply<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let fields = request.arguments.and_then(Value::as_object).map(ArgumentFields);
    let fields =
        fields.ok_or_else(|| CommandAnswer::error("Command arguments missing or a not a map."))?;
    let deleted = list(&fields, "deleted-leases")?;
    let added = list(&fields, "leases")?;
    let sender = ChangeSender::of(&fields);
    let rows = match sender {
        ChangeSender::Partner { .. } => list(&fields, ROWS)?,
        ChangeSender::Administrator => None,
    };
    if deleted.is_none() && added.is_none() && rows.is_none() {
        return Err(CommandAnswer::error(
            "neither 'deleted-leases' nor 'leases' parameter specified",
        ));
    }
    let deleted = deleted.unwrap_or_default().iter();
    let deleted: Vec<Deletion<'_, F>> =
        deleted.map(|item| Deletion::read(item, sender)).collect::<Result<_, _>>()?;
    // Not a conflict, also where a single lease would be one, as in Kea.
    let as_error = |answer| CommandAnswer { result: ResultCode::Error, ..answer };
    let mut leases = Vec::new();
    for item in added.unwrap_or_default() {
        leases.push(read_lease(&as_map(item)?, backend).map_err(as_error)?);
    }
    for item in rows.unwrap_or_default() {
        leases.push(lease_of_row(item, backend).map_err(as_error)?);
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
    let mut error = None;
    for lease in leases {
        let (ip, kind) = (F::ip(lease.address), lease.kind());
        match put(backend, lease, true, sender) {
            Ok(_) => done += 1,
            Err(answer) => {
                let kind = (F::VERSION == IpVersion::V6).then(|| F::kind_name(kind));
                let resource = json!({ "type": kind, "ip-address": ip.to_string() });
                failed.push(failure(&resource, &answer));
                if answer.result == ResultCode::Error {
                    error.get_or_insert_with(|| answer.text.unwrap_or_default());
                }
            }
        }
    }
    if !failed.is_empty() {
        details.insert("failed-leases".to_owned(), failed.into());
    }
    let answer = bulk_answer::<F>(done, error, sender);
    Ok(if details.is_empty() { answer } else { answer.and_arguments(Value::Object(details)) })
}

/// Returns the answer to a command of `sender` of which `done` changes were made; `error` is the
/// reason why a lease was not stored.
fn bulk_answer<F: CommandFamily>(
    done: usize,
    error: Option<String>,
    sender: ChangeSender,
) -> CommandAnswer {
    match error {
        // Kea acknowledges all leases of the command if one of them was stored.
        Some(error) if sender == (ChangeSender::Partner { hears_later_lease: false }) => {
            CommandAnswer::error(error)
        }
        _ => {
            let result = if done == 0 { ResultCode::Empty } else { ResultCode::Success };
            let name = F::VERSION.name();
            CommandAnswer::text(result, format!("Bulk apply of {done} {name} leases completed."))
        }
    }
}

fn list<'a>(fields: &ArgumentFields<'a>, name: &str) -> Result<Option<&'a [Value]>, CommandAnswer> {
    match fields.get(name) {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(_) => Err(CommandAnswer::error(format!("the '{name}' parameter must be a list"))),
    }
}

/// Returns the lease in `item`, a row of a lease file, if it belongs to a subnet of the server.
fn lease_of_row<F: CommandFamily>(
    item: &Value,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Result<Lease<F>, CommandAnswer> {
    let row = item.as_str().unwrap_or_default();
    let lease = backend.leases().read_row(row).ok_or_else(|| {
        let beginning: String = row.chars().take(SHOWN_MAX).collect();
        CommandAnswer::error(format!("'{ROWS}' has no row of a lease file: '{beginning}'"))
    })?;
    let lease = checked_lease(lease, &|id, address| subnet_of(backend, id, address))?;
    with_checked_context(lease, backend)
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
