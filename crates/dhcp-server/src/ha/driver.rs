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
        if is_partner {
            log_reach(&server.url, &mut last_cause, answer.as_ref().err());
        }
        let page = state.with(|relationship| relationship.receive(Clock::now(), answer));
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

/// Logs each failure to reach the partner with the URL `partner` whose cause is not `last_cause`,
/// that of the failure before, and the first success after failures.
fn log_reach(partner: &str, last_cause: &mut Option<String>, failure: Option<&String>) {
    // The words in front of the cause depend on how far the connection came.
    let cause = failure.and_then(|why| why.rsplit(": ").next()).map(str::to_owned);
    match failure {
        Some(why) if *last_cause != cause => tracing::warn!(
            target: LOGGER,
            id = "HA_HEARTBEAT_COMMUNICATIONS_FAILED",
            "cannot reach the partner at {partner}: {why}; trying again"
        ),
        None if last_cause.is_some() => tracing::info!(
            target: LOGGER,
            id = "HA_COMMUNICATION_RESUMED",
            "the partner at {partner} answers again"
        ),
        _ => {}
    }
    *last_cause = cause;
}
