//! Thread that maintains the relationship: it sends the commands that the relationship wants, one
//! at a time, and stores the leases of the partner.

use std::time::Duration;

use dhcp_config::HaPeer;
use dhcp_ha::{CommandResult, PageRange, PartnerCommand};
use netio::Clock;

use super::delayed::{DelayedUpdates, send_delayed};
use super::returned::{ReturnedLeases, send_returned};
use super::store::PartnerLeaseStore;
use super::{LOGGER, PairState, request_to, to_partner_query};
use crate::http_client::{CommandFailure, send_command_unless};
use crate::service::DaemonFamily;

/// Maintains the relationship until the server ends.
pub(super) fn maintain<P: DaemonFamily>(
    state: &PairState,
    delayed: &DelayedUpdates<P>,
    mut store: PartnerLeaseStore<P>,
) {
    let mut last_cause = None;
    let mut returned = ReturnedLeases::default();
    while !state.is_ending() {
        store.end_unused_copy();
        let now = Clock::now();
        let queries = state.filter.take_queries();
        let (next, due_ns) = state.with(|relationship| {
            for query in queries {
                relationship.record_query(now, to_partner_query(query));
            }
            let command = relationship.poll(now);
            (command.zip(relationship.target().cloned()), relationship.due_ns(now))
        });
        let Some((command, server)) = next else {
            let wait_ns = due_ns.saturating_sub(Clock::mono_ns()).max(1_000_000);
            state.wait(Duration::from_nanos(wait_ns));
            continue;
        };
        let answer = match command {
            PartnerCommand::DelayedUpdates => send_delayed(state, delayed, &server),
            PartnerCommand::ReturnedLeases => send_returned(state, &mut returned, &server),
            _ => send(state, &command, &server),
        };
        let is_partner = state.relationship().config().partner() == Some(&server);
        let unreached = answer.as_ref().err().cloned();
        if let Some(why) = unreached.as_ref().filter(|_| is_partner) {
            log_failure(
                &mut last_cause,
                why,
                &format!("cannot reach the partner at {}", server.url),
            );
        }
        let page = state.with(|relationship| relationship.receive(Clock::now(), answer));
        if is_partner && unreached.is_none() {
            let is_heartbeat = matches!(command, PartnerCommand::Heartbeat);
            let wrong = if is_heartbeat { state.heartbeat_failure() } else { None };
            match wrong {
                Some(why) => {
                    let what = format!("the partner at {} answers wrongly", server.url);
                    log_failure(&mut last_cause, &why, &what);
                }
                None => log_success(&mut last_cause, &server.url),
            }
        }
        if let Some(page) = page {
            if matches!(page.range, PageRange::After(None) | PageRange::AllAfter(None)) {
                returned = ReturnedLeases::default();
            }
            store.store_page(&page, &state.subnets(), &mut returned);
            if is_partner && page.ends_copy {
                state.with(|relationship| returned.record(relationship));
            }
        }
    }
}

/// Sends a command to `server` and returns its answer.
fn send(
    state: &PairState,
    command: &PartnerCommand,
    server: &HaPeer,
) -> Result<CommandResult, String> {
    let (mut request, timeout_ms) = {
        let relationship = state.relationship();
        let config = relationship.config();
        let mut request = request_to(server)?;
        request.body = command.body(config, state.service).to_string();
        (request, command.timeout_ms(config))
    };
    request.timeout = Duration::from_millis(timeout_ms.into());
    match send_command_unless(&request, &|| state.is_ending()) {
        Ok(response) if response.status == 200 => CommandResult::parse(&response.body),
        Ok(response) => Err(format!("status {} {}", response.status, response.reason)),
        Err(CommandFailure::Timeout) => Err(format!("no answer within {timeout_ms} ms")),
        Err(CommandFailure::Failed(why)) => Err(why),
    }
}

/// Logs `what` with its reason `why` unless its cause is `last_cause`, that of the failure before.
fn log_failure(last_cause: &mut Option<String>, why: &str, what: &str) {
    // The words in front of the cause depend on how far the connection came.
    let cause = why.rsplit(": ").next().map(str::to_owned);
    if *last_cause != cause {
        tracing::warn!(
            target: LOGGER,
            id = "HA_HEARTBEAT_COMMUNICATIONS_FAILED",
            "{what}: {why}; trying again"
        );
    }
    *last_cause = cause;
}

/// Logs the first success after failures.
fn log_success(last_cause: &mut Option<String>, partner: &str) {
    if last_cause.take().is_some() {
        tracing::info!(
            target: LOGGER,
            id = "HA_COMMUNICATION_RESUMED",
            "the partner at {partner} answers again"
        );
    }
}
