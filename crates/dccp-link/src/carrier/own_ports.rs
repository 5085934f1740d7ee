//! UDP ports that belong to one connection each (RFC 6773 lets a client use any port). Each port is
//! a socket with its batches, so it costs a descriptor and 300 KiB. In exchange, hosts and routers
//! on the path can distinguish the connections and spread them.
//!
//! Only sockets that the kernel reports as ready are read, so idle ones cost nothing in a turn.

use std::collections::BTreeMap;
use std::sync::Arc;

use dccp::connection::Ecn;
use dccp::endpoint::{Carrier, ConnectionKey};
use netio::path_error::PathError;
use netio::{NetError, ReadyList};

use super::socket::AddressFamilySocket;

/// UDP socket for one connection.
struct DedicatedSocket {
    socket: AddressFamilySocket,
    /// Connection that uses the socket; `None` until it is made.
    key: Option<ConnectionKey>,
    /// True if the kernel did not accept all packets of the socket.
    is_stalled: bool,
}

/// UDP sockets of the connections that have their own port.
pub(super) struct OwnPorts {
    /// Sockets by number, for connections with their own port. A number does not change; freed
    /// numbers are used again.
    sockets: Vec<Option<DedicatedSocket>>,
    numbers: BTreeMap<(bool, u16), u32>,
    pub(super) list: Arc<ReadyList>,
    /// Numbers of the sockets that received packets in this turn of the endpoint's loop; `emptied`
    /// counts those that have been read to the end.
    ready: Vec<u32>,
    emptied: usize,
    /// Numbers of the sockets with packets that wait for the kernel.
    staged: Vec<u32>,
    is_full: bool,
}

impl OwnPorts {
    pub(super) fn new() -> Result<Self, NetError> {
        Ok(Self {
            sockets: Vec::new(),
            numbers: BTreeMap::new(),
            list: Arc::new(ReadyList::new().map_err(NetError::on("make", "a list of sockets"))?),
            ready: Vec::new(),
            emptied: 0,
            staged: Vec::new(),
            is_full: false,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Adds an open UDP socket for one connection. Returns the socket's UDP port.
    pub(super) fn insert(&mut self, socket: AddressFamilySocket) -> Result<u16, NetError> {
        let port = socket.udp_port().expect("a UDP socket");
        let free = self.sockets.iter().position(Option::is_none);
        let at = free.unwrap_or(self.sockets.len());
        socket.watch(&self.list, at as u32).map_err(NetError::on("wait for", "a socket"))?;
        self.numbers.insert((socket.is_v4(), port), at as u32);
        let own = Some(DedicatedSocket { socket, key: None, is_stalled: false });
        match free {
            Some(at) => self.sockets[at] = own,
            None => self.sockets.push(own),
        }
        Ok(port)
    }

    /// Sets the connection that the socket with the key's local UDP port belongs to.
    pub(super) fn assign(&mut self, key: ConnectionKey) {
        if let Some((_, own)) = self.find(&key) {
            own.key = Some(key);
        }
    }

    /// Closes the sockets whose connections are gone. Returns false when such a socket still has
    /// packets to send.
    pub(super) fn sweep(&mut self, is_there: impl Fn(&ConnectionKey) -> bool) -> bool {
        let mut is_done = true;
        for slot in &mut self.sockets {
            let Some(own) = slot else { continue };
            if own.key.is_some_and(|key| is_there(&key)) {
                continue;
            }
            if own.socket.send.is_empty() {
                let port = own.socket.udp_port().expect("a UDP socket");
                self.numbers.remove(&(own.socket.is_v4(), port));
                *slot = None;
            } else {
                is_done = false;
            }
        }
        is_done
    }

    /// Returns the number and socket of a connection that has its own UDP port.
    fn find(&mut self, key: &ConnectionKey) -> Option<(u32, &mut DedicatedSocket)> {
        let Carrier::Udp { local_port, .. } = key.carrier else { return None };
        let number = *self.numbers.get(&(key.remote.is_ipv4(), local_port))?;
        Some((number, self.sockets[number as usize].as_mut()?))
    }

    /// Receives the datagrams of the sockets that the kernel reports as ready. Returns their count.
    pub(super) fn receive(&mut self) -> usize {
        self.emptied = 0;
        self.ready.clear();
        if self.is_empty() || self.list.look(&mut self.ready).is_err() {
            return 0;
        }
        let mut count = 0;
        for &at in &self.ready {
            if let Some(own) = &mut self.sockets[at as usize] {
                count += own.socket.receive();
            }
        }
        count
    }

    /// Returns the next datagram that [`OwnPorts::receive`] received, in the form of
    /// [`AddressFamilySocket::next`].
    pub(super) fn next(&mut self) -> Option<Option<(ConnectionKey, Ecn, &[u8])>> {
        while let Some(&at) = self.ready.get(self.emptied) {
            let has_more =
                self.sockets[at as usize].as_ref().is_some_and(|own| own.socket.has_next());
            if has_more {
                return self.sockets[at as usize].as_mut()?.socket.next();
            }
            self.emptied += 1;
        }
        None
    }

    /// Returns the next error that the network reports about sent packets of a socket that is
    /// ready.
    pub(super) fn path_error(&self, buffer: &mut [u8]) -> Option<PathError> {
        let mut ready = self.ready.iter().filter_map(|&at| self.sockets[at as usize].as_ref());
        ready.find_map(|own| own.socket.path_error(buffer))
    }

    /// Stages a packet of a connection that has its own UDP port. Returns false for the packet of
    /// any other connection.
    pub(super) fn commit(
        &mut self,
        key: &ConnectionKey,
        packet: &[u8],
        is_ecn_capable: bool,
    ) -> bool {
        if self.is_empty() {
            return false;
        }
        let Some((number, own)) = self.find(key) else { return false };
        let was_empty = own.socket.send.is_empty();
        own.socket.commit(key, packet, is_ecn_capable);
        let is_full = !own.socket.has_room();
        self.is_full |= is_full;
        if was_empty {
            self.staged.push(number);
        }
        true
    }

    /// Returns true if the batch of each socket has room for one more packet.
    pub(super) const fn has_room(&self) -> bool {
        !self.is_full
    }

    /// Returns true if the kernel has accepted all staged packets of these sockets.
    pub(super) fn is_flushed(&self) -> bool {
        self.staged.is_empty()
    }

    /// Passes the staged packets of these sockets to the kernel, as far as it accepts them.
    pub(super) fn flush(&mut self) {
        let Self { sockets, staged, list, is_full, .. } = self;
        *is_full = false;
        staged.retain(|&number| {
            let Some(own) = &mut sockets[number as usize] else { return false };
            own.socket.flush();
            let is_stalled = !own.socket.send.is_empty();
            if is_stalled != own.is_stalled
                && own.socket.set_wants_room(list, number, is_stalled).is_ok()
            {
                own.is_stalled = is_stalled;
            }
            *is_full |= !own.socket.has_room();
            is_stalled
        });
    }

    /// Returns all sockets of connections with their own port.
    pub(super) fn sockets(&self) -> impl Iterator<Item = &AddressFamilySocket> {
        self.sockets.iter().flatten().map(|own| &own.socket)
    }
}
