//! Set of open control sockets, and its adaptation to changes of the configuration.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use dhcp_config::ControlSocket;
use tokio::net::{TcpListener, TcpSocket, UnixListener};
use tokio::task::{AbortHandle, spawn_local};

use super::budget::Budget;
use super::connections::ControlConnections;
use super::event_stream::EventStreams;
use super::http::{self, HttpSocketSettings};
use super::requests::ControlRequestSender;
use super::unix::{self, SocketFile};
use crate::events::EventSource;
use crate::panics::contained_task;
use crate::policy;

/// Maximum number of connections per control socket.
const CONNECTIONS_MAX: usize = 128;
/// Maximum number of connections to a control socket that wait to be accepted.
const BACKLOG: u32 = 128;
/// Wait after `accept(2)` at a control socket failed for lack of a resource, such as a file
/// descriptor.
const BREATH: Duration = Duration::from_millis(100);

/// Address of a control socket: the path of a Unix socket, or an IP address and port.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ControlSocketAddress {
    Unix(PathBuf),
    Tcp(SocketAddr),
}

impl std::fmt::Display for ControlSocketAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unix(path) => path.display().fmt(f),
            Self::Tcp(address) => address.fmt(f),
        }
    }
}

/// Control socket that accepts connections.
struct OpenControlSocket {
    address: ControlSocketAddress,
    settings: Rc<RefCell<Rc<HttpSocketSettings>>>,
    connections: Rc<ControlConnections>,
    accepting: AbortHandle,
    _file: Option<SocketFile>,
}

impl Drop for OpenControlSocket {
    fn drop(&mut self) {
        self.accepting.abort();
        self.connections.clear();
    }
}

/// Set of all open control sockets.
pub(super) struct ControlSocketSet {
    open: Vec<OpenControlSocket>,
    budget: Rc<Budget>,
    request_sender: ControlRequestSender,
    events: EventStreams,
}

/// Configured control socket that is not open yet, or is open with other settings.
enum ConfiguredControlSocket {
    Unix(PathBuf),
    Http(SocketAddr, Rc<HttpSocketSettings>),
}

impl ControlSocketSet {
    /// Creates the set without an open control socket.
    pub(super) fn new(request_sender: ControlRequestSender, events: Arc<dyn EventSource>) -> Self {
        let events = EventStreams::new(events);
        Self { open: Vec::new(), budget: Budget::new(), request_sender, events }
    }

    /// Opens and closes control sockets as `config` requires. A socket that stays open is not
    /// interrupted.
    ///
    /// # Errors
    ///
    /// Texts of all problems; the open sockets then stay as they were.
    pub(super) fn configure(&mut self, config: &[ControlSocket]) -> Result<(), Vec<String>> {
        #[cfg(test)]
        if !self.open.is_empty() {
            crate::panics::planted("sockets");
        }
        let (mut problems, mut fresh, mut existing) = (Vec::new(), Vec::new(), Vec::new());
        for socket in config {
            match configured_socket(socket).and_then(|configured| self.prepare(configured)) {
                Ok(PreparedControlSocket::Existing(address, settings)) => {
                    existing.push((address, settings))
                }
                Ok(PreparedControlSocket::Opened(open)) => fresh.push(open),
                Err(problem) => problems.push(problem),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        self.open.retain(|open| {
            let is_configured = existing.iter().any(|(address, _)| *address == open.address);
            if !is_configured {
                tracing::info!(
                    target: "commands",
                    id = "COMMAND_ACCEPTOR_STOPPED",
                    "no longer accepting commands at {}", open.address
                );
            }
            is_configured
        });
        for (address, settings) in existing {
            if let Some(open) = self.open.iter().find(|open| open.address == address) {
                *open.settings.borrow_mut() = settings;
            }
        }
        for open in &fresh {
            tracing::info!(
                target: "commands", id = "COMMAND_ACCEPTOR_START",
                "accepting commands at {}", open.address
            );
        }
        self.open.append(&mut fresh);
        Ok(())
    }

    /// Returns true if a connection of any control socket has a command under way or an answer to
    /// be sent.
    pub(super) fn is_busy(&self) -> bool {
        self.open.iter().any(|open| open.connections.is_busy())
    }

    /// Stops accepting connections at all control sockets and closes those that wait for a command;
    /// the others go on.
    pub(super) fn refuse(&self) {
        for open in &self.open {
            open.accepting.abort();
            open.connections.clear();
        }
    }

    fn prepare(
        &self,
        configured: ConfiguredControlSocket,
    ) -> Result<PreparedControlSocket, String> {
        let (address, settings) = match configured {
            // File permissions alone decide which processes may send commands.
            ConfiguredControlSocket::Unix(path) => {
                (ControlSocketAddress::Unix(path), Rc::default())
            }
            ConfiguredControlSocket::Http(address, settings) => {
                (ControlSocketAddress::Tcp(address), settings)
            }
        };
        if self.open.iter().any(|open| open.address == address) {
            return Ok(PreparedControlSocket::Existing(address, settings));
        }
        let connections = ControlConnections::new(CONNECTIONS_MAX);
        let settings = Rc::new(RefCell::new(settings));
        let control = http::HttpControl {
            settings: Rc::clone(&settings),
            budget: Rc::clone(&self.budget),
            request_sender: self.request_sender.clone(),
            events: self.events.clone(),
        };
        let accepted_connections = Rc::clone(&connections);
        let (accepting, file) = match &address {
            ControlSocketAddress::Unix(path) => {
                let (listener, file) = unix::open(path)?;
                (spawn_local(accept_unix(listener, accepted_connections, control)), Some(file))
            }
            ControlSocketAddress::Tcp(address) => {
                let listener = listen(*address)
                    .map_err(|cause| format!("cannot accept commands at {address}: {cause}"))?;
                (spawn_local(accept_http(listener, accepted_connections, control)), None)
            }
        };
        let accepting = accepting.abort_handle();
        Ok(PreparedControlSocket::Opened(OpenControlSocket {
            address,
            settings,
            connections,
            accepting,
            _file: file,
        }))
    }
}

enum PreparedControlSocket {
    Existing(ControlSocketAddress, Rc<HttpSocketSettings>),
    Opened(OpenControlSocket),
}

fn configured_socket(socket: &ControlSocket) -> Result<ConfiguredControlSocket, String> {
    match socket {
        ControlSocket::Unix(name) => {
            // An absolute name replaces the folder.
            Ok(ConfiguredControlSocket::Unix(policy::SOCKETS.path().join(name)))
        }
        ControlSocket::Http(config) => {
            if !config.address.is_loopback() && http::is_open_to_all(config) {
                tracing::warn!(
                    target: "commands",
                    id = "COMMAND_HTTP_SOCKET_SECURITY_WARNING",
                    "every client that reaches {} port {} may send commands to this server: configure \
                     `authentication`",
                    config.address,
                    config.port
                );
            }
            let settings = HttpSocketSettings::open(config)?;
            Ok(ConfiguredControlSocket::Http(
                (config.address, config.port).into(),
                Rc::new(settings),
            ))
        }
    }
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

async fn accept_unix(
    listener: UnixListener,
    connections: Rc<ControlConnections>,
    control: http::HttpControl,
) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                if let Some(registration) = connections.register() {
                    spawn_local(contained_task(unix::serve(stream, registration, control.clone())));
                }
            }
            Err(_) => tokio::time::sleep(BREATH).await,
        }
        // Evicted connections end before the next one is accepted.
        tokio::task::yield_now().await;
    }
}

async fn accept_http(
    listener: TcpListener,
    connections: Rc<ControlConnections>,
    control: http::HttpControl,
) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // An answer is one write: waiting for more data (Nagle's algorithm) only delays it.
                stream.set_nodelay(true).ok();
                if let Some(registration) = connections.register() {
                    spawn_local(contained_task(http::serve(stream, registration, control.clone())));
                }
            }
            Err(_) => tokio::time::sleep(BREATH).await,
        }
        tokio::task::yield_now().await;
    }
}
