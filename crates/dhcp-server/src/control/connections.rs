//! Connections of one socket: their limit, and the choice of the connection that a new one
//! replaces.

use std::cell::RefCell;
use std::rc::Rc;

use super::progress::{ControlConnectionPhase, ControlConnectionProgress};

/// Open connections of one socket.
#[derive(Debug)]
pub(super) struct ControlConnections {
    limit: usize,
    open: RefCell<Vec<Rc<ControlConnectionProgress>>>,
}

/// Registration of one connection. Dropping it makes room for another connection.
#[derive(Debug)]
pub(super) struct ConnectionRegistration {
    pub(super) progress: Rc<ControlConnectionProgress>,
    connections: Rc<ControlConnections>,
}

impl ControlConnections {
    /// Creates an empty set of at most `limit` connections.
    pub(super) fn new(limit: usize) -> Rc<Self> {
        Rc::new(Self { limit, open: RefCell::new(Vec::with_capacity(limit)) })
    }

    /// Registers another connection. If the limit is reached, the connection that has been silent
    /// longest is evicted, or else the one that has been sending its command longest. Returns
    /// `None` if all connections have commands under way.
    pub(super) fn register(self: &Rc<Self>) -> Option<ConnectionRegistration> {
        let mut open = self.open.borrow_mut();
        if open.len() >= self.limit {
            let oldest = open
                .iter()
                .enumerate()
                .filter(|(_, pace)| {
                    matches!(
                        pace.phase(),
                        ControlConnectionPhase::Receiving | ControlConnectionPhase::Idle
                    )
                })
                .min_by_key(|(_, pace)| (pace.octets() > 0, pace.since()))
                .map(|(at, _)| at)?;
            open.swap_remove(oldest).evict();
        }
        let pace = ControlConnectionProgress::new();
        open.push(Rc::clone(&pace));
        Some(ConnectionRegistration { progress: pace, connections: Rc::clone(self) })
    }

    /// Evicts all connections that wait for a command.
    pub(super) fn clear(&self) {
        let is_waiting = |pace: &&Rc<ControlConnectionProgress>| {
            matches!(pace.phase(), ControlConnectionPhase::Receiving | ControlConnectionPhase::Idle)
        };
        self.open.borrow().iter().filter(is_waiting).for_each(|pace| pace.evict());
    }

    /// Returns true if a connection has a command under way or an answer to be sent.
    pub(super) fn is_busy(&self) -> bool {
        let is_busy = |pace: &Rc<ControlConnectionProgress>| {
            matches!(
                pace.phase(),
                ControlConnectionPhase::Working | ControlConnectionPhase::Answering
            )
        };
        self.open.borrow().iter().any(is_busy)
    }

    /// Returns the number of open connections.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.open.borrow().len()
    }
}

impl Drop for ConnectionRegistration {
    fn drop(&mut self) {
        self.connections.open.borrow_mut().retain(|pace| !Rc::ptr_eq(pace, &self.progress));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_one_that_idles_longest_makes_room_and_those_that_work_stay() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let seats = ControlConnections::new(3);
            let mut open = Vec::new();
            for _ in 0..3 {
                open.push(seats.register().unwrap());
                tokio::time::advance(Duration::from_secs(1)).await;
            }
            open[0].progress.enter(ControlConnectionPhase::Working);
            open[1].progress.received(7);
            let evicted = |seat: &ConnectionRegistration| {
                let pace = Rc::clone(&seat.progress);
                async move {
                    tokio::time::timeout(Duration::ZERO, pace.wait_for_eviction()).await.is_ok()
                }
            };
            let fourth = seats.register().unwrap();
            assert!(evicted(&open[2]).await && !evicted(&open[1]).await);
            fourth.progress.enter(ControlConnectionPhase::Working);
            let fifth = seats.register().unwrap();
            assert!(evicted(&open[1]).await && !evicted(&open[0]).await);
            fifth.progress.enter(ControlConnectionPhase::Answering);
            assert!(seats.register().is_none(), "nobody waits");
            drop(fourth);
            assert_eq!(seats.count(), 2);
            assert!(seats.register().is_some());
        });
    }
}
