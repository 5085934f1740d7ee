//! Control commands that change one reservation. Only the new reservation is parsed and checked;
//! the tables of hosts are rebuilt from the known ones.
//!
//! Among 100,000 reservations that takes a tenth of the time of the whole configuration. If a
//! reservation is or may be invalid, the whole configuration is checked, which reports the problem.

use std::sync::Arc;

use dhcp_control::{ApplyFailure, CommandBackend as _, HostChange, reservations_of};
use dhcp_engine::hosts::ReservationProtocol;
use serde_json::{Map, Value};

use super::Supervisor;
use super::apply::new_problems;
use crate::ServerError;
use crate::admission::refuse_dangerous;
use crate::log;
use crate::service::{DaemonFamily, HostOf};

/// Change of a reservation in the types of the configuration, and as commands show it.
type Prepared<P> = (HostChange<HostOf<P>>, HostChange<Value>);

impl<P: DaemonFamily> Supervisor<P> {
    /// Changes one reservation of the subnet `subnet_id`, or with 0 a global one.
    pub(super) fn change_one_host(
        &mut self,
        subnet_id: u32,
        change: HostChange<Value>,
    ) -> Result<(), ApplyFailure> {
        let Some((host_change, document_change)) = self.prepared(subnet_id, &change) else {
            let mut document = self.parts.in_force.document.clone();
            if let Some(hosts) = reservations_of::<P>(&mut document, subnet_id) {
                change.apply(hosts);
            }
            return self.apply(document);
        };
        let in_force = &mut self.parts.in_force;
        let hosts = P::hosts(&mut in_force.config, subnet_id);
        let listed = reservations_of::<P>(&mut in_force.document, subnet_id);
        if let (Some(hosts), Some(listed)) = (hosts, listed) {
            host_change.apply(hosts);
            document_change.apply(listed);
        }
        self.compile_again();
        Ok(())
    }

    /// Compiles the configuration in force again, after a reservation has changed, and publishes
    /// the snapshot.
    pub(super) fn compile_again(&mut self) {
        let in_force = &mut self.parts.in_force;
        let snapshot = P::compile(&in_force.config, &self.parts.constants, &self.parts.table);
        P::follow(&snapshot, &in_force.snapshot);
        in_force.snapshot = Arc::clone(&snapshot);
        self.publish(snapshot);
    }

    /// Returns the change of a reservation if it is certainly valid.
    fn prepared(&mut self, subnet_id: u32, change: &HostChange<Value>) -> Option<Prepared<P>> {
        let in_force = &mut self.parts.in_force;
        let listed_count = reservations_of::<P>(&mut in_force.document, subnet_id)?.len();
        let count = P::hosts(&mut in_force.config, subnet_id)?.len();
        let (host_document, replaced) = change.parts();
        // A server that was started with leniency may have ignored some.
        if count != listed_count || replaced.is_some_and(|at| at >= count) {
            return None;
        }
        let Some(host_document) = host_document else {
            let at = replaced?;
            return Some((HostChange::Remove(at), HostChange::Remove(at)));
        };
        let (host, checked_document) = self.read_alone(subnet_id, host_document).ok()?;
        let others = P::hosts(&mut self.parts.in_force.config, subnet_id)?.iter().enumerate();
        let mut others = others.filter(|(at, _)| Some(*at) != replaced);
        if others.any(|(_, other)| excludes::<P>(other, &host)) {
            return None;
        }
        Some(match replaced {
            None => (HostChange::Add(host), HostChange::Add(checked_document)),
            Some(at) => (HostChange::Replace(at, host), HostChange::Replace(at, checked_document)),
        })
    }

    /// Reads the reservation `host_document` in a configuration without any other reservation.
    /// Returns it also as commands show it.
    pub(super) fn read_alone(
        &self,
        subnet_id: u32,
        host_document: &Value,
    ) -> Result<(HostOf<P>, Value), ApplyFailure> {
        let none = || ApplyFailure::Refused("undefined configuration processing error".to_owned());
        let mut document = without_hosts(&self.parts.in_force.document);
        reservations_of::<P>(&mut document, subnet_id)
            .ok_or_else(none)?
            .push(host_document.clone());
        let mut checked = self.parse(&document).map_err(ApplyFailure::Invalid)?;
        let refused = |error: ServerError| ApplyFailure::Refused(error.to_string());
        refuse_dangerous(&checked.config.global.inactive, &self.settings.accept_inactive)
            .map_err(refused)?;
        let host = P::hosts(&mut checked.config, subnet_id).and_then(Vec::pop).ok_or_else(none)?;
        let mut shown = checked.document.to_json();
        let shown = reservations_of::<P>(&mut shown, subnet_id).and_then(Vec::pop);
        new_problems(&checked.warnings, &self.parts.in_force.warnings).for_each(log::problem);
        Ok((host, shown.ok_or_else(none)?))
    }
}

/// Returns true if two reservations must not be in one scope, or only when addresses may be shared.
fn excludes<P: DaemonFamily>(one: &HostOf<P>, other: &HostOf<P>) -> bool {
    one.identifier == other.identifier
        || reserved_resources::<P>(one).any(|resource| {
            reserved_resources::<P>(other).any(|other_resource| other_resource == resource)
        })
}

/// Returns the resources that a host reserves (addresses and prefixes), in the form in which two
/// hosts must not both have one.
fn reserved_resources<P: DaemonFamily>(
    host: &HostOf<P>,
) -> impl Iterator<Item = <P as ReservationProtocol>::Place> {
    P::reserved(&host.reserved)
        .map(|reserved| P::address_key(<P as ReservationProtocol>::address(reserved)))
}

/// Returns the configuration `document` without its reservations.
fn without_hosts(document: &Value) -> Value {
    match document {
        Value::Object(map) => {
            let others = map.iter().filter(|(key, _)| *key != "reservations");
            let others = others.map(|(key, value)| (key.clone(), without_hosts(value)));
            Value::Object(others.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(without_hosts).collect(),
        other => other.clone(),
    }
}
