//! Links with clients on them: a veth pair for each sequence, with one end for a server.

mod v4;
mod v6;

use std::sync::Mutex;

use scenario::ScenarioFamily;
use serde_json::Value;

use super::value::Fields;
use crate::common::link::within;
use crate::common::namespaces::Namespaces;
use crate::common::{is_root, require, waited_until};
use crate::subjects::process::{ServedLink, ServerMake};

/// Time that a thread waits for replies before it checks other conditions.
const MOMENT_NS: u64 = 5_000_000;

/// Links of both servers.
pub(super) struct BothWires {
    ours: Wires,
    theirs: Wires,
    _namespaces: Namespaces<4>,
}

/// Links of one server.
pub(super) struct Wires {
    namespace: String,
    interfaces: String,
    wires: Vec<Mutex<MarkedLink>>,
}

/// Link with one server, and the number of markers sent on it.
struct MarkedLink {
    wire: Box<dyn ClientLinkEnd>,
    markers: u32,
}

/// Interface of the clients' end of a link.
trait ClientLinkEnd: Send {
    /// Sends the message of `step`.
    fn send(&mut self, step: &Value, message: &[u8]);

    /// Receives the server's replies that have come, or come within 5 ms, each with fields that
    /// describe its way.
    fn take(&mut self) -> Vec<(Vec<u8>, Fields)>;

    /// Returns marker `number`: a message of a relayed client that requests a reply but no lease.
    fn marker(&self, number: u32) -> Vec<u8>;

    /// Returns the number of the marker that `reply` answers.
    fn marker_of(&self, reply: &[u8]) -> Option<u32>;
}

impl BothWires {
    /// Makes `count` links of `family` for each server. Returns `None`, with a message, if that is
    /// not possible.
    pub(super) fn new(family: ScenarioFamily, count: usize) -> Option<Self> {
        if !require(&["ip"]) || !is_root() {
            return None;
        }
        let namespaces = Namespaces::<4>::make();
        let [ours, theirs] = [[0, 1], [2, 3]].map(|[server, client]| {
            Wires::new(family, count, &namespaces[server], &namespaces[client])
        });
        Some(Self { ours, theirs, _namespaces: namespaces })
    }

    pub(super) fn of(&self, make: ServerMake) -> &Wires {
        if make.is_kea() { &self.theirs } else { &self.ours }
    }
}

impl Wires {
    fn new(family: ScenarioFamily, count: usize, server: &str, client: &str) -> Self {
        let link = |index: usize| {
            let wire: Box<dyn ClientLinkEnd> = match family {
                ScenarioFamily::V4 => Box::new(v4::Dhcp4LinkEnd::open(index)),
                ScenarioFamily::V6 => Box::new(v6::Dhcp6LinkEnd::open(index)),
            };
            Mutex::new(MarkedLink { wire, markers: 0 })
        };
        for index in 0..count {
            match family {
                ScenarioFamily::V4 => v4::join(index, server, client),
                ScenarioFamily::V6 => v6::join(index, server, client),
            }
        }
        let wires = within(client, || (0..count).map(link).collect());
        let names: Vec<String> = (0..count).map(|index| format!("\"s{index}\"")).collect();
        Self { namespace: server.to_owned(), interfaces: names.join(", "), wires }
    }

    /// Returns the interfaces that the server has to serve.
    pub(super) fn served(&self) -> ServedLink<'_> {
        ServedLink {
            namespace: &self.namespace,
            interfaces: &self.interfaces,
            has_raw_sockets: true,
        }
    }

    /// Sends `message` of `step` on link `index`, and returns the replies, each with fields that
    /// describe its way.
    ///
    /// A relayed client sends a marker after it, twice and in the same way: its second reply is
    /// later than any reply to the message, which the server has read before.
    ///
    /// # Errors
    /// That client gets no reply.
    pub(super) fn exchange(
        &self,
        index: usize,
        step: &Value,
        message: &[u8],
    ) -> Result<Vec<(Vec<u8>, Fields)>, String> {
        let MarkedLink { wire, markers } = &mut *self.wires[index].lock().expect("nothing panics");
        let mut replies = Vec::new();
        wire.send(step, message);
        for _ in 0..2 {
            *markers += 1;
            let number = *markers;
            let marker = wire.marker(number);
            wire.send(step, &marker);
            let mut is_answered = false;
            let has_come = waited_until(|| {
                for (reply, addressing) in wire.take() {
                    match wire.marker_of(&reply) {
                        Some(found) => is_answered |= found == number,
                        None => replies.push((reply, addressing)),
                    }
                }
                is_answered
            });
            if !has_come {
                return Err(format!("link {index}: nothing comes back"));
            }
        }
        Ok(replies)
    }
}
