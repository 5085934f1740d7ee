//! Order of requests: those for one name, and those for one address, follow each other; others may
//! be carried out at the same time.

use core::net::IpAddr;
use std::collections::{BTreeMap, VecDeque};

use ncr::NameChangeRequest;

/// Number of a request, ascending in the order of arrival.
pub(crate) type RequestNumber = u64;

/// Name or address of requests that must keep their order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum OrderKey {
    Name(Vec<u8>),
    Address(IpAddr),
}

/// Queues of unfinished requests, one for each name and one for each address.
#[derive(Debug, Default)]
pub(crate) struct RequestOrder {
    queues: BTreeMap<OrderKey, VecDeque<RequestNumber>>,
}

impl RequestOrder {
    /// Adds a request behind all others. Returns true if it may begin at once.
    pub(crate) fn enter(&mut self, number: RequestNumber, request: &NameChangeRequest) -> bool {
        let mut is_first = true;
        for key in keys(request) {
            let queue = self.queues.entry(key).or_default();
            queue.push_back(number);
            is_first &= queue.len() == 1;
        }
        is_first
    }

    /// Removes a request that was first in its queues, and returns the requests that are first now:
    /// the caller begins those that are first in both of their queues.
    pub(crate) fn leave(
        &mut self,
        number: RequestNumber,
        request: &NameChangeRequest,
    ) -> Vec<RequestNumber> {
        let mut next = Vec::new();
        for key in keys(request) {
            let Some(queue) = self.queues.get_mut(&key) else { continue };
            queue.retain(|other| *other != number);
            match queue.front() {
                Some(&first) if !next.contains(&first) => next.push(first),
                Some(_) => {}
                None => drop(self.queues.remove(&key)),
            }
        }
        next
    }

    /// Returns true if no earlier request is for the same name or the same address.
    pub(crate) fn is_first(&self, number: RequestNumber, request: &NameChangeRequest) -> bool {
        keys(request)
            .iter()
            .all(|key| self.queues.get(key).and_then(VecDeque::front) == Some(&number))
    }
}

fn keys(request: &NameChangeRequest) -> [OrderKey; 2] {
    [OrderKey::Name(request.name.canonical_wire()), OrderKey::Address(request.address)]
}
