//! Connections of one control socket: their limit, and the choice of the connection that a new one
//! replaces.

use std::cell::RefCell;
use std::rc::Rc;

use super::progress::{ControlConnectionPhase, ControlConnectionProgress};

/// Open connections of one control socket.
#[derive(Debug)]
pub(super) struct ControlConnections {
    limit: usize,
    open: RefCell<Vec<Rc<ControlConnectionProgress>>>,
}

/// Registration of one connection of a control socket. Dropping it makes room for another
/// connection.
#[derive(Debug)]
pub(super) struct ConnectionRegistration {
    pub(super) progress: Rc<ControlConnectionProgress>,
    connections: Rc<ControlConnections>,
}

impl ControlConnections {
    /// Creates an empty set of at most `limit` connections of a control socket.
    pub(super) fn new(limit: usize) -> Rc<Self> {
        Rc::new(Self { limit, open: RefCell::new(Vec::with_capacity(limit)) })
    }

    /// Registers another connection of the control socket. If the limit is reached, the connection
    /// that has been silent longest is evicted, or else the one that has been sending its command
    /// longest. Returns `None` if all connections have commands under way.
    pub(super) fn register(self: &Rc<Self>) -> Option<ConnectionRegistration> {
        let mut open = self.open.borrow_mut();
        // Subscribers have a limit of their own, and leave room for commands.
        let is_streaming = |progress: &&Rc<ControlConnectionProgress>| {
            progress.phase() == ControlConnectionPhase::Streaming
        };
        if open.len() - open.iter().filter(is_streaming).count() >= self.limit {
            let oldest = open
                .iter()
                .enumerate()
                .filter(|(_, progress)| {
                    matches!(
                        progress.phase(),
                        ControlConnectionPhase::Receiving | ControlConnectionPhase::Idle
                    )
                })
                .min_by_key(|(_, progress)| (progress.octets() > 0, progress.since()))
                .map(|(at, _)| at)?;
            open.swap_remove(oldest).evict();
        }
        let progress = ControlConnectionProgress::new();
        open.push(Rc::clone(&progress));
        Some(ConnectionRegistration { progress, connections: Rc::clone(self) })
    }

    /// Evicts all connections of the control socket that wait for a command, and subscribers.
    pub(super) fn clear(&self) {
        let is_waiting = |progress: &&Rc<ControlConnectionProgress>| {
            matches!(
                progress.phase(),
                ControlConnectionPhase::Receiving
                    | ControlConnectionPhase::Idle
                    | ControlConnectionPhase::Streaming
            )
        };
        self.open.borrow().iter().filter(is_waiting).for_each(|progress| progress.evict());
    }

    /// Returns true if a connection of the control socket has a command under way or an answer to
    /// be sent.
    pub(super) fn is_busy(&self) -> bool {
        let is_busy = |progress: &Rc<ControlConnectionProgress>| {
            matches!(
                progress.phase(),
                ControlConnectionPhase::Working | ControlConnectionPhase::Answering
            )
        };
        self.open.borrow().iter().any(is_busy)
    }

    /// Returns the number of the control socket's open connections.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.open.borrow().len()
    }
}

impl Drop for ConnectionRegistration {
    fn drop(&mut self) {
        self.connections.open.borrow_mut().retain(|progress| !Rc::ptr_eq(progress, &self.progress));
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
            let connections = ControlConnections::new(3);
            let mut open = Vec::new();
            for _ in 0..3 {
                open.push(connections.register().unwrap());
                tokio::time::advance(Duration::from_secs(1)).await;
            }
            open[0].progress.enter(ControlConnectionPhase::Working);
            open[1].progress.received(7);
            let evicted = |registration: &ConnectionRegistration| {
                let progress = Rc::clone(&registration.progress);
                async move {
                    tokio::time::timeout(Duration::ZERO, progress.wait_for_eviction()).await.is_ok()
                }
            };
            let fourth = connections.register().unwrap();
            assert!(evicted(&open[2]).await && !evicted(&open[1]).await);
            fourth.progress.enter(ControlConnectionPhase::Working);
            let fifth = connections.register().unwrap();
            assert!(evicted(&open[1]).await && !evicted(&open[0]).await);
            fifth.progress.enter(ControlConnectionPhase::Answering);
            assert!(connections.register().is_none(), "nobody waits");
            drop(fourth);
            assert_eq!(connections.count(), 2);
            assert!(connections.register().is_some());
        });
    }
}
