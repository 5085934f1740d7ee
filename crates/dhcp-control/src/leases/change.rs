//! Control commands that change leases.

use core::net::IpAddr;

use dhcp_ha::{HEARS_LATER_LEASE, LATER_LEASE};
use dhcp_lease::{Lease, LeaseState, PutMode};
use serde_json::Value;

use super::lease_fields::{STATES, check_storable_context};
use super::selector::{LeaseSelector, address};
use crate::answer::{CommandAnswer, Outcome, ResultCode};
use crate::arguments::{ArgumentFields, ReceivedCommand};
use crate::backend::{CommandBackend, PutFailure};
use crate::extended_info::check_extended_info;
use crate::family::CommandFamily;
use crate::ip_version::IpVersion;
use crate::subnet_facts::SubnetFacts;

/// Checks that a lease has a client or is declined: no lease file of Kea contains any other lease.
fn refuse_anonymous<F: CommandFamily>(lease: &Lease<F>) -> Result<(), CommandAnswer> {
    let state = lease.state;
    if state == LeaseState::Declined {
        return Ok(());
    }
    match F::anonymous(lease) {
        None => Ok(()),
        Some(why) => Err(CommandAnswer::error(format!(
            "Lease{}: {}, state: {}{why}",
            F::VERSION.number(),
            F::ip(lease.address),
            STATES[usize::from(state as u8)]
        ))),
    }
}

/// Returns the lease that `fields`, the arguments of a command, describe.
pub(super) fn read_lease<F: CommandFamily>(
    fields: &ArgumentFields<'_>,
    backend: &dyn CommandBackend<Family = F>,
) -> Result<Lease<F>, CommandAnswer> {
    let subnet = |id, address| subnet_of(backend, id, address);
    let lease = F::from_json(fields, &subnet, backend.now().wall_s())?;
    with_checked_context(lease, backend)
}

/// Returns the subnet with the number `id`, or if that is 0 the one that `address` belongs to.
pub(super) fn subnet_of<F: CommandFamily>(
    backend: &dyn CommandBackend<Family = F>,
    id: u32,
    address: IpAddr,
) -> Option<SubnetFacts> {
    match id {
        0 => backend.subnet_of(address),
        id => backend.subnet(id),
    }
}

/// Returns `lease` if its user context, after its extended info has been checked and corrected as
/// the configuration demands, can be stored.
pub(super) fn with_checked_context<F: CommandFamily>(
    mut lease: Lease<F>,
    backend: &dyn CommandBackend<Family = F>,
) -> Result<Lease<F>, CommandAnswer> {
    // Like Kea, we fix the extended info silently: the answer does not report it.
    check_extended_info::<F>(&mut lease, backend.extended_info_checks());
    // The correction may have made the user context longer.
    check_storable_context(&lease.user_context)?;
    Ok(lease)
}

pub(super) fn add<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let fields = request
        .optional_map()?
        .ok_or_else(|| CommandAnswer::error("no parameters specified for the command"))?;
    let lease = read_lease(&fields, backend)?;
    let (what, subnet_id) = (F::resource_text(&lease), lease.subnet_id);
    let ip = F::ip(lease.address);
    refuse_anonymous::<F>(&lease)?;
    backend.leases().put(lease, PutMode::Add).map_err(|failure| match failure {
        PutFailure::Exists => {
            CommandAnswer::conflict(format!("{} lease already exists.", F::VERSION.name()))
        }
        PutFailure::Busy => {
            CommandAnswer::conflict(format!("ResourceBusy: IP address:{ip} could not be added."))
        }
        other => refused(other, &ip.to_string()),
    })?;
    Ok(CommandAnswer::success(format!("Lease for {what}, subnet-id {subnet_id} added.")))
}

pub(super) fn update<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let fields = request.optional_map()?.ok_or_else(|| {
        CommandAnswer::error(format!("no parameters specified for {} command", request.name))
    })?;
    let lease = read_lease(&fields, backend)?;
    let creates = fields.flag("force-create")?;
    let name = F::VERSION.name();
    let sender = ChangeSender::of(&fields);
    Ok(CommandAnswer::success(if put(backend, lease, creates, sender)? {
        format!("{name} lease added.")
    } else {
        format!("{name} lease updated.")
    }))
}

/// Sender of a command that changes leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangeSender {
    Administrator,
    /// Partner in high availability, whose changes may be late.
    Partner {
        /// True if the partner understands that another client has a later lease.
        hears_later_lease: bool,
    },
}

impl ChangeSender {
    /// Returns the sender that `fields`, the arguments of a command, name.
    pub(super) fn of(fields: &ArgumentFields<'_>) -> Self {
        match fields.get("origin").and_then(Value::as_str) {
            Some("ha-partner") => {
                let hears_later_lease = fields.get(HEARS_LATER_LEASE) == Some(&true.into());
                Self::Partner { hears_later_lease }
            }
            _ => Self::Administrator,
        }
    }
}

/// Difference of the clocks of two servers beyond which they do not cooperate, in seconds.
const SKEW_MAX_S: u64 = 60;

/// Returns the latest time of a lease's transaction that a clock of the pair may have shown. A
/// later one comes from a clock that was wrong, and says nothing about the order of transactions.
pub(super) fn newest_s<F: CommandFamily>(backend: &dyn CommandBackend<Family = F>) -> u64 {
    backend.now().wall_s().saturating_add(SKEW_MAX_S)
}

/// Replaces the stored lease of the address by `lease`, or adds it if `creates`; returns true if it
/// was added. A lease with a later transaction stays if the sender is the partner.
pub(super) fn put<F: CommandFamily>(
    backend: &mut dyn CommandBackend<Family = F>,
    lease: Lease<F>,
    creates: bool,
    sender: ChangeSender,
) -> Result<bool, CommandAnswer> {
    let ip = F::ip(lease.address);
    if F::VERSION == IpVersion::V4 && is_registered(lease.state) {
        return Err(CommandAnswer::error("DHCPv4 leases do not support registered state"));
    }
    let existing = backend.leases().find(ip, lease.kind());
    let is_registered = |lease: &Lease<F>| is_registered(lease.state);
    if let Some(existing) = &existing {
        match (is_registered(existing), is_registered(&lease)) {
            (true, false) => {
                return Err(CommandAnswer::error(format!(
                    "illegal reuse of registered address {ip}"
                )));
            }
            (false, true) => {
                return Err(CommandAnswer::error(format!(
                    "address in use: {ip} can't be registered"
                )));
            }
            _ => {}
        }
    }
    refuse_anonymous::<F>(&lease)?;
    let adds = existing.is_none() && creates;
    let newest_s = newest_s(backend);
    let is_plausible = existing.is_none_or(|existing| existing.cltt_s <= newest_s);
    let mode = match sender {
        ChangeSender::Partner { .. } if creates && is_plausible => PutMode::UnlessTaken,
        _ if adds => PutMode::Add,
        _ => PutMode::Update,
    };
    let kind = lease.kind();
    let client = lease.client.clone();
    match backend.leases().put(lease, mode) {
        Ok(()) => Ok(adds),
        Err(PutFailure::Later) => {
            let stored = backend.leases().find(ip, kind);
            if stored.is_none_or(|stored| F::may_be_one(&stored.client, &client)) {
                Err(outdated(&ip.to_string()))
            } else {
                Err(taken_over(&ip.to_string(), sender))
            }
        }
        Err(failure) => Err(refused(failure, &ip.to_string())),
    }
}

/// Returns the answer to a partner whose lease is older than the one of this server. Kea takes the
/// code of an empty result for success.
fn outdated(ip: &str) -> CommandAnswer {
    CommandAnswer::empty(format!("{ip} not updated: this server has a later lease"))
}

/// Returns the answer to a partner that must not acknowledge its lease, because another client has
/// had the address since. For Kea a conflict would count towards the end of the relationship; after
/// an error it drops its reply, and expects no answer of this server until the next heartbeat.
fn taken_over(ip: &str, sender: ChangeSender) -> CommandAnswer {
    let reason = format!("{LATER_LEASE}: another client has had {ip} since this update");
    if sender == (ChangeSender::Partner { hears_later_lease: true }) {
        CommandAnswer::conflict(reason)
    } else {
        CommandAnswer::error(reason)
    }
}

/// Returns true if `state` is that of an address that its client chose itself and registered (RFC
/// 9686).
fn is_registered(state: LeaseState) -> bool {
    state as u8 == 4
}

fn refused(failure: PutFailure, ip: &str) -> CommandAnswer {
    match failure {
        PutFailure::Later => outdated(ip),
        PutFailure::Exists => CommandAnswer::conflict("lost race between calls to get and add"),
        PutFailure::Missing => CommandAnswer::conflict(format!(
            "failed to update the lease with address {ip} either because the lease has been \
             deleted or it has changed in the database, in both cases a retry might succeed"
        )),
        PutFailure::Busy => {
            CommandAnswer::conflict(format!("ResourceBusy: IP address:{ip} could not be updated."))
        }
        PutFailure::Failed(why) => CommandAnswer::error(why),
    }
}

pub(super) fn delete<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let name = F::VERSION.name();
    let fields = request.arguments.and_then(Value::as_object).map(ArgumentFields);
    let selector = LeaseSelector::<F>::read(fields, "Delete")?;
    let missing = || CommandAnswer::empty(format!("{name} lease not found."));
    let lease = selector.find(backend.leases()).ok_or_else(missing)?;
    let newest_s = newest_s(backend);
    let is_late = |fields: ArgumentFields<'_>| {
        is_late_deletion(&fields, ChangeSender::of(&fields), &lease, newest_s)
    };
    if fields.is_some_and(is_late) {
        return Err(missing());
    }
    let updates_names =
        fields.is_some_and(|fields| fields.get("update-ddns") == Some(&true.into()));
    if let Some(names) = backend.name_updates().filter(|_| updates_names) {
        names.remove_when_deleted(lease.address);
    }
    let removed = backend.leases().remove(lease.address);
    if let Some(names) = backend.name_updates().filter(|_| removed != Ok(true)) {
        names.keep(lease.address);
    }
    match removed {
        Ok(true) => Ok(CommandAnswer::success(format!("{name} lease deleted."))),
        Ok(false) => Err(missing()),
        Err(why) => Err(CommandAnswer::error(why)),
    }
}

/// Returns true if `sender` is the partner and `fields` describe an earlier lease than `stored`,
/// the lease that it deletes, whose time is plausible up to `newest_s`.
pub(super) fn is_late_deletion<F: CommandFamily>(
    fields: &ArgumentFields<'_>,
    sender: ChangeSender,
    stored: &Lease<F>,
    newest_s: u64,
) -> bool {
    let number = |key: &str| fields.get(key).and_then(Value::as_u64);
    let cltt_s = || number("expire")?.checked_sub(number("valid-lft")?);
    let is_earlier = |cltt_s: u64| (cltt_s.saturating_add(1)..=newest_s).contains(&stored.cltt_s);
    matches!(sender, ChangeSender::Partner { .. }) && cltt_s().is_some_and(is_earlier)
}

pub(super) fn wipe<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let id = match request.optional_map()? {
        Some(fields) => fields.optional_number("subnet-id")?.unwrap_or(0),
        None => 0,
    };
    let ids = if id == 0 { backend.subnet_ids() } else { vec![id] };
    let mut wiped = Vec::new();
    backend.leases().for_each(&mut |lease| {
        if ids.contains(&lease.subnet_id) {
            wiped.push(lease.address);
        }
    });
    let mut count = 0;
    for address in wiped {
        match backend.leases().remove(address) {
            Ok(was_there) => count += usize::from(was_there),
            Err(why) => return Err(CommandAnswer::error(why)),
        }
    }
    let ids: String = ids.iter().map(|id| format!(" {id}")).collect();
    let result = if count == 0 { ResultCode::Empty } else { ResultCode::Success };
    let name = F::VERSION.name();
    Ok(CommandAnswer::text(result, format!("Deleted {count} {name} lease(s) from subnet(s){ids}")))
}

pub(super) fn write<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let fields = request
        .optional_map()?
        .ok_or_else(|| CommandAnswer::error("no parameters specified for the command"))?;
    let file = match fields.get("filename") {
        None => return Err(CommandAnswer::error("'filename' parameter not specified")),
        Some(Value::String(file)) => file,
        Some(_) => return Err(CommandAnswer::error("'filename' parameter must be a string")),
    };
    let path = backend.leases().write(file).map_err(CommandAnswer::error)?;
    Ok(CommandAnswer::success(format!("{} lease database into '{path}'.", F::VERSION.name())))
}

pub(super) fn resend_ddns<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let fields = request.optional_map()?;
    let value = fields
        .and_then(|fields| fields.get("ip-address"))
        .ok_or_else(|| CommandAnswer::error("'ip-address' parameter is missing."))?;
    let text =
        value.as_str().ok_or_else(|| CommandAnswer::error("'ip-address' is not a string."))?;
    if text.parse::<IpAddr>().is_err() {
        return Err(CommandAnswer::error(format!("'{text}' is not a valid IP address.")));
    }
    let ip = address::<F>(text)?;
    if backend.name_updates().is_none() {
        return Err(CommandAnswer::conflict("DDNS updating is not enabled"));
    }
    let lease = backend.leases().find(ip, F::USUAL_KIND);
    let lease = lease.ok_or_else(|| CommandAnswer::empty(format!("No lease found for: {ip}")))?;
    if lease.hostname.is_empty() {
        let why = format!("Lease for: {ip}, has no hostname, nothing to update");
        return Err(CommandAnswer::conflict(why));
    }
    if !lease.fqdn_fwd && !lease.fqdn_rev {
        let why = format!("Neither forward nor reverse updates enabled for lease for: {ip}");
        return Err(CommandAnswer::conflict(why));
    }
    backend.leases().request_names(lease.address);
    let hostname = lease.hostname.as_str();
    Ok(CommandAnswer::success(format!("NCR generated for: {ip}, hostname: {hostname}")))
}
