//! Thread that carries out `config-test`: checking a large configuration takes seconds, in which
//! the supervisor handles other commands, signals and the lease file.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use dhcp_config::render;
use dhcp_control::{ApplyFailure, CommandAnswer, kea_json, test_configuration};
use dhcp_engine::contain::run_contained;
use serde_json::Value;

use super::apply::COMMAND_SOURCE;
use crate::ServerError;
use crate::admission::refuse_dangerous;
use crate::control::{ControlRequest, PendingControlRequest};
use crate::log;
use crate::panics::INTERNAL_ERROR;
use crate::reload::parse_configuration;
use crate::server::DaemonSettings;
use crate::service::DaemonFamily;

/// Name of the control command that the thread carries out.
pub(super) const COMMAND: &str = "config-test";

/// Handle of the thread for `config-test`. The server does not wait for its end: a check has no
/// effect that could be lost.
#[derive(Debug)]
pub(super) struct ChecksThread(Sender<PendingControlRequest>);

impl ChecksThread {
    /// Starts the thread for `config-test` in a server with `settings`.
    ///
    /// # Errors
    ///
    /// [`ServerError::System`] if the system refuses a thread.
    pub(super) fn start<P: DaemonFamily>(settings: &DaemonSettings) -> Result<Self, ServerError> {
        let (sender, received) = channel();
        let settings = settings.clone();
        thread::Builder::new()
            .name("checks".to_owned())
            .spawn(move || check_all::<P>(&received, &settings))
            .map_err(|cause| ServerError::System { tried: "start a thread", cause })?;
        Ok(Self(sender))
    }

    /// Passes the command of `request` to the thread for `config-test`.
    pub(super) fn give(&self, request: PendingControlRequest) {
        self.0.send(request).expect("the thread runs as long as it is told of checks");
    }
}

fn check_all<P: DaemonFamily>(
    received: &Receiver<PendingControlRequest>,
    settings: &DaemonSettings,
) {
    log::give_way("checks");
    while let Ok(request) = received.recv() {
        let ControlRequest::Command(command) = &request.request else { continue };
        let answer = run_contained(|| check::<P>(command, settings))
            .unwrap_or_else(|| CommandAnswer::error(INTERNAL_ERROR));
        request.answer(kea_json(&answer.to_json()));
        netio::process::return_memory();
    }
}

fn check<P: DaemonFamily>(command: &Value, settings: &DaemonSettings) -> CommandAnswer {
    #[cfg(test)]
    crate::panics::planted("check");
    test_configuration::<P>(command, |document| check_document::<P>(document, settings))
}

/// Checks the complete configuration `document` from a control command.
///
/// # Errors
///
/// The configuration's problems, or the reason why a server does not start with it.
pub(super) fn check_document<P: DaemonFamily>(
    document: &Value,
    settings: &DaemonSettings,
) -> Result<(), ApplyFailure> {
    let text = render(document);
    let checked =
        parse_configuration::<P>(COMMAND_SOURCE, &text, &settings.configuration, &settings.terms)
            .map_err(ApplyFailure::Invalid)?;
    // Kea's `config-test` accepts a configuration without an interface.
    refuse_dangerous(&checked.config.global.inactive, &settings.accept_inactive)
        .map_err(|refusal| ApplyFailure::Refused(refusal.to_string()))
}
