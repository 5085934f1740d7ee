//! Queues in which messages wait: the receive buffers of servers' sockets and the queueing
//! disciplines of the link, set as a plan's lines require and read as they really are.
//!
//! `net.core.rmem_default` applies to the whole machine and cannot be written in a namespace. So a
//! server that has no setting for its receive buffer gets it from outside, socket by socket, and
//! nothing else of the machine changes.

use std::path::Path;

use counters::{parse_udp_rows, rows_at};
use measure::Plan;
use measure::record::{Qdisc, Queues};
use netio::UdpSocket;
use netio::foreign::udp_socket_of;
use serde::Deserialize;
use testbed::{TopologySide, proc, qdisc};

use super::recorder::RunRecorder;
use super::service::MeasuredServer;
use crate::error::{LabError, LabResult};

impl MeasuredServer {
    /// Sets the receive buffers and the link's queueing discipline as the server's line requires;
    /// returns the queues before a trial. `None` if `plan` does not vary queues.
    pub(super) fn set_queues(
        &self,
        plan: &Plan,
        recorder: &mut RunRecorder<'_>,
    ) -> LabResult<Option<Queues>> {
        if !plan.varies_queues() {
            return Ok(None);
        }
        if let Some(bytes) = self.subject.feature.receive_buffer_bytes() {
            for socket in server_sockets(self) {
                socket
                    .set_receive_buffer(bytes as usize)
                    .map_err(|e| LabError::cannot("set a server's receive buffer", e))?;
            }
        }
        for side in [TopologySide::Client, TopologySide::Server] {
            if let Some(namespace) = self.network.namespace(side) {
                let words = self.subject.feature.qdisc();
                qdisc::set(namespace, self.network.interface(side), words)?;
            }
        }
        let queues = self.queues_now()?;
        if let Some(note) = self.other_buffer(&queues) {
            recorder.warn_once(note);
        }
        Ok(Some(queues))
    }

    /// Returns the counts of the server's queues in a trial, given the queues `before` it.
    pub(super) fn queues_since(&self, before: Option<Queues>) -> LabResult<Option<Queues>> {
        let Some(before) = before else { return Ok(None) };
        let mut queues = self.queues_now()?;
        for bytes in [before.receive_buffer_least_bytes, before.receive_buffer_most_bytes] {
            if before.sockets > 0 {
                queues.note_socket(bytes);
            }
        }
        let since = |now: Option<Qdisc>, was: Option<Qdisc>| {
            now.map(|now| was.map_or_else(|| now.clone(), |was| now.since(&was)))
        };
        queues.to_server = since(queues.to_server, before.to_server);
        queues.from_server = since(queues.from_server, before.from_server);
        Ok(Some(queues))
    }

    fn queues_now(&self) -> LabResult<Queues> {
        let mut queues = Queues::default();
        for socket in server_sockets(self) {
            if let Ok(bytes) = socket.receive_buffer_bytes() {
                queues.sockets += 1;
                queues.note_socket(bytes as u64);
            }
        }
        let leaving = |side: TopologySide| -> LabResult<Option<Qdisc>> {
            let Some(namespace) = self.network.namespace(side) else { return Ok(None) };
            let tc_output = qdisc::show(namespace, self.network.interface(side))?;
            Ok(qdisc_in(&tc_output))
        };
        queues.to_server = leaving(TopologySide::Client)?;
        queues.from_server = leaving(TopologySide::Server)?;
        Ok(queues)
    }

    /// Returns the warning that the receive buffers of the server's sockets have another size than
    /// the name of its line in the result table says; `None` if they have that size.
    fn other_buffer(&self, queues: &Queues) -> Option<String> {
        let expected_bytes = self.subject.feature.receive_buffer_bytes().map(u64::from)?;
        let label = self.subject.label();
        let (least_bytes, most_bytes) =
            (queues.receive_buffer_least_bytes, queues.receive_buffer_most_bytes);
        if queues.sockets == 0 {
            return Some(format!(
                "{label}: the lab could not read the sizes of its sockets' receive buffers."
            ));
        }
        ((least_bytes, most_bytes) != (expected_bytes, expected_bytes)).then(|| {
            format!(
                "{label}: its sockets have receive buffers of {least_bytes} to {most_bytes} bytes, \
                 not {expected_bytes}: a buffer above net.core.rmem_max needs root."
            )
        })
    }
}

/// Returns the sockets at which the server of `service` receives messages, as far as they are
/// accessible.
fn server_sockets(service: &MeasuredServer) -> Vec<UdpSocket> {
    let Some(server) = service.pid() else { return Vec::new() };
    let table = if service.address.is_ipv6() { "udp6" } else { "udp" };
    let rows = parse_udp_rows(&proc::read(format!("/proc/{server}/net/{table}")));
    let link_names: Vec<String> =
        rows_at(&rows, service.address).map(|row| format!("socket:[{}]", row.inode)).collect();
    let mut sockets = Vec::new();
    for pid in proc::process_tree(server) {
        let links = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        for link in links {
            let name = std::fs::read_link(link.path()).unwrap_or_default();
            let fd = link.file_name().to_str().and_then(|fd| fd.parse().ok());
            if link_names.iter().any(|w| name == Path::new(w))
                && let Some(fd) = fd
            {
                sockets.extend(udp_socket_of(pid, fd).ok());
            }
        }
    }
    sockets
}

/// Queueing discipline in the output of `tc -s -j qdisc`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TcQdisc {
    kind: String,
    root: bool,
    options: TcQdiscOptions,
    packets: u64,
    drops: u64,
    requeues: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TcQdiscOptions {
    limit: u64,
}

/// Returns the root queueing discipline of an interface from `tc_output`; its counts include those
/// below it. `None` when there is none.
fn qdisc_in(tc_output: &str) -> Option<Qdisc> {
    let all: Vec<TcQdisc> = serde_json::from_str(tc_output).ok()?;
    let TcQdisc { kind, options, packets, drops, requeues, .. } =
        all.into_iter().find(|discipline| discipline.root)?;
    Some(Qdisc { kind, limit_packets: options.limit, packets, drops, requeues })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_read_from_what_tc_prints() {
        // Printed by iproute2 6.1.
        let tc_output = r#"[{"kind":"pfifo","handle":"8007:","root":true,"refcnt":3,
            "options":{"limit":16},"bytes":840,"packets":7,"drops":2,"overlimits":0,"requeues":1,
            "backlog":0,"qlen":0}]"#;
        let expected = Qdisc {
            kind: "pfifo".to_owned(),
            limit_packets: 16,
            packets: 7,
            drops: 2,
            requeues: 1,
        };
        assert_eq!(qdisc_in(tc_output), Some(expected));
        let none = r#"[{"kind":"noqueue","handle":"0:","root":true,"refcnt":2,"options":{}}]"#;
        assert_eq!(qdisc_in(none).map(|of| of.kind), Some("noqueue".to_owned()));
        assert_eq!((qdisc_in("[]"), qdisc_in("")), (None, None));
    }
}
