//! Responder of the conformance suite over the kernel's own DCCP: the suite then tests the kernel.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use base::{ToolError, ToolResult};
use dccp_link::ConnectionConfig;
use netio::signal::Signals;
use netio::{DccpOptions, DccpSocket, PollFd};

use super::context::{CLOSE_COMMAND, CONNECT_COMMAND};
use crate::kernel;
use crate::options::LinkArgs;

/// Longest time in nanoseconds until the responder notices a request to stop.
const LOOK_NS: u64 = 100_000_000;
/// Largest number of connections at a time; a tester has one or two.
const CONNECTIONS_MAX: usize = 1_024;
/// Length of the longest datagram that IP carries, in bytes.
const DATAGRAM_BYTES_MAX: usize = 65_535;

/// Listener over the kernel's DCCP, for the conformance suite to test.
pub(super) struct KernelResponder {
    listener: DccpSocket,
    options: DccpOptions,
    connections: Vec<Answering>,
    buffer: Vec<u8>,
}

/// Connection of the kernel's responder, whose received datagrams are sent back.
struct Answering {
    socket: DccpSocket,
    remote: SocketAddr,
}

impl KernelResponder {
    /// Listens at the port and for the service code of the flags, over the kernel's DCCP.
    pub(super) fn open(link: &LinkArgs, config: &ConnectionConfig) -> ToolResult<Self> {
        Ok(Self {
            listener: kernel::listen(link, config, u16::MAX)?,
            options: kernel::options(link, config),
            connections: Vec::new(),
            buffer: vec![0; DATAGRAM_BYTES_MAX],
        })
    }

    /// Answers connections and their datagrams until `stop` is set.
    pub(super) fn serve(&mut self, stop: &AtomicBool, signals: &Signals) -> ToolResult<()> {
        while !stop.load(Ordering::Acquire) {
            let sockets = self.connections.iter().map(|answering| &answering.socket);
            let mut files: Vec<_> = sockets.chain([&self.listener]).map(PollFd::readable).collect();
            files.push(PollFd::readable(signals));
            netio::poll(&mut files, Some(LOOK_NS))
                .map_err(|error| ToolError::from(kernel::connection_error(error)))?;
            self.accept();
            let mut connect = Vec::new();
            let (buffer, options) = (&mut self.buffer, &self.options);
            self.connections.retain_mut(|answering| answering.answer(buffer, &mut connect));
            for remote in connect {
                // Without a route, no error can reach the tester.
                if let Ok(socket) = DccpSocket::connect(remote, options) {
                    self.connections.push(Answering { socket, remote });
                }
            }
        }
        Ok(())
    }

    fn accept(&mut self) {
        while self.connections.len() < CONNECTIONS_MAX {
            match self.listener.accept() {
                Ok((socket, remote)) => self.connections.push(Answering { socket, remote }),
                // None waits, or it ended before it was accepted: the next wait shows which.
                Err(_) => return,
            }
        }
    }
}

impl Answering {
    /// Sends the connection's received datagrams back. Returns false when the connection is over.
    /// Adds addresses to `connect` that the tester wants connections to.
    fn answer(&mut self, buffer: &mut [u8], connect: &mut Vec<SocketAddr>) -> bool {
        loop {
            let len = match self.socket.receive(buffer) {
                Ok(0) if self.socket.has_ended().unwrap_or(true) => return false,
                Ok(len) => len,
                Err(error) => {
                    return matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted);
                }
            };
            let datagram = buffer.get(..len).unwrap_or_default();
            if datagram == CLOSE_COMMAND {
                return false;
            }
            match datagram.strip_prefix(CONNECT_COMMAND) {
                Some(ports) => connect.extend(self.tester_address(ports)),
                // An echo that does not fit into the queue is lost, as on the network.
                None => drop(self.socket.send(datagram)),
            }
        }
    }

    /// Returns the tester's address with the DCCP port to which it wants a connection. The UDP port
    /// is for another carrier.
    fn tester_address(&self, ports: &[u8]) -> Option<SocketAddr> {
        let port = std::str::from_utf8(ports).ok()?.split(' ').nth(1)?.parse().ok()?;
        let mut address = self.remote;
        address.set_port(port);
        Some(address)
    }
}
