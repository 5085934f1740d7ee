//! Both fronts with one trait, so that one suite holds for both.

use std::net::IpAddr;
use std::time::Duration;

use dccp_link::{
    CarrierKind, CarrierOptions, Config, ConnectOptions, Connection, Endpoint, Key, Limits,
    LinkError, Listener, Peer, asynchronous,
};
use tokio::runtime::{Builder, Runtime};

use super::{PATIENCE, PORT, service};

/// Runs each test at each front.
macro_rules! at_both_fronts {
    ($($name:ident),* $(,)?) => {
        mod blocking {
            $(
                #[test]
                fn $name() {
                    super::$name::<dccp_link::Endpoint>();
                }
            )*
        }
        mod tasks {
            $(
                #[test]
                fn $name() {
                    super::$name::<crate::common::front::Tasks>();
                }
            )*
        }
    };
}

pub(crate) use at_both_fronts;

/// The async front.
pub(crate) type Tasks = Run<asynchronous::Endpoint>;

/// Calls of an application at an endpoint.
pub(crate) trait Front: Sized + Send + Sync {
    type Listener: Accept<Connection = Self::Connection>;
    type Connection: Talk;

    fn open(options: &CarrierOptions) -> Self;
    fn udp_port(&self) -> Option<u16>;
    fn listen(&self, config: &Config) -> Self::Listener;
    fn connect_with(
        &self,
        peer: Peer,
        options: ConnectOptions,
        config: &Config,
    ) -> Result<Self::Connection, LinkError>;
    fn connections_count(&self) -> usize;
    fn wait_closed(&self) -> bool;

    fn connect(&self, peer: Peer, config: &Config) -> Result<Self::Connection, LinkError> {
        self.connect_with(peer, ConnectOptions::default(), config)
    }
}

/// Calls of an application at a port.
pub(crate) trait Accept: Send + Sync {
    type Connection;

    fn accept(&self) -> Result<Self::Connection, LinkError>;
}

/// Calls of an application at a connection. Each call ends within the connection's patience.
pub(crate) trait Talk: Send + Sync {
    fn set_patience(&mut self, patience: Duration);
    fn key(&self) -> Key;
    fn send(&self, datagram: &[u8]) -> Result<(), LinkError>;
    fn receive(&self) -> Result<Option<Vec<u8>>, LinkError>;
    fn receive_into(&self, buffer: &mut Vec<u8>) -> Result<bool, LinkError>;
    fn packet_bytes_max(&self) -> usize;
    fn ccids(&self) -> (u8, u8);
    fn rtt(&self) -> Option<Duration>;
    fn close(self);
    fn abort(self);
}

/// Opens an endpoint of `kind` at `address`.
pub(crate) fn open_front<F: Front>(kind: CarrierKind, address: IpAddr) -> F {
    F::open(&CarrierOptions { addresses: vec![address], ..CarrierOptions::new(kind) })
}

/// A listening endpoint and its address.
pub(crate) struct ServerOf<F: Front> {
    pub(crate) listener: F::Listener,
    pub(crate) endpoint: F,
    pub(crate) peer: Peer,
}

pub(crate) fn serve_front<F: Front>(
    kind: CarrierKind,
    address: IpAddr,
    config: &Config,
) -> ServerOf<F> {
    let endpoint = open_front::<F>(kind, address);
    let listener = endpoint.listen(config);
    let peer = Peer { address, port: PORT, udp_port: endpoint.udp_port().unwrap_or(0) };
    ServerOf { listener, endpoint, peer }
}

impl Front for Endpoint {
    type Listener = Listener;
    type Connection = Connection;

    fn open(options: &CarrierOptions) -> Self {
        Self::open(options, Limits::default()).unwrap()
    }

    fn udp_port(&self) -> Option<u16> {
        self.udp_port()
    }

    fn listen(&self, config: &Config) -> Listener {
        self.listen(PORT, config, vec![service()], 200)
    }

    fn connect_with(
        &self,
        peer: Peer,
        options: ConnectOptions,
        config: &Config,
    ) -> Result<Connection, LinkError> {
        let mut connection = self.connect_with(peer, options, config)?;
        connection.set_patience(PATIENCE);
        Ok(connection)
    }

    fn connections_count(&self) -> usize {
        self.connections_count()
    }

    fn wait_closed(&self) -> bool {
        self.wait_closed(PATIENCE)
    }
}

impl Accept for Listener {
    type Connection = Connection;

    fn accept(&self) -> Result<Connection, LinkError> {
        let mut connection = self.accept_within(PATIENCE)?;
        connection.set_patience(PATIENCE);
        Ok(connection)
    }
}

impl Talk for Connection {
    fn set_patience(&mut self, patience: Duration) {
        self.set_send_timeout(Some(patience));
        self.set_receive_timeout(Some(patience));
    }

    fn key(&self) -> Key {
        *self.key()
    }

    fn send(&self, datagram: &[u8]) -> Result<(), LinkError> {
        self.send(datagram)
    }

    fn receive(&self) -> Result<Option<Vec<u8>>, LinkError> {
        self.receive()
    }

    fn receive_into(&self, buffer: &mut Vec<u8>) -> Result<bool, LinkError> {
        self.receive_into(buffer)
    }

    fn packet_bytes_max(&self) -> usize {
        self.packet_bytes_max()
    }

    fn ccids(&self) -> (u8, u8) {
        self.ccids()
    }

    fn rtt(&self) -> Option<Duration> {
        self.rtt()
    }

    fn close(self) {
        self.close();
    }

    fn abort(self) {
        self.abort();
    }
}

/// Returns a runtime for the futures of one value.
fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

/// A value of the async front, the runtime of its futures, and their longest time.
pub(crate) struct Run<T> {
    value: T,
    runtime: Runtime,
    patience: Duration,
}

impl<T> Run<T> {
    fn new(value: T) -> Self {
        Self { value, runtime: runtime(), patience: PATIENCE }
    }

    /// Returns the result of a future, within the patience.
    fn run<R>(&self, future: impl Future<Output = Result<R, LinkError>>) -> Result<R, LinkError> {
        self.runtime.block_on(async {
            let late = |_| LinkError::TimedOut(self.patience);
            tokio::time::timeout(self.patience, future).await.map_err(late)?
        })
    }
}

impl Front for Tasks {
    type Listener = Run<asynchronous::Listener>;
    type Connection = Run<asynchronous::Connection>;

    fn open(options: &CarrierOptions) -> Self {
        Self::new(asynchronous::Endpoint::open(options, Limits::default()).unwrap())
    }

    fn udp_port(&self) -> Option<u16> {
        self.value.udp_port()
    }

    fn listen(&self, config: &Config) -> Self::Listener {
        Run::new(self.value.listen(PORT, config, vec![service()], 200))
    }

    fn connect_with(
        &self,
        peer: Peer,
        options: ConnectOptions,
        config: &Config,
    ) -> Result<Self::Connection, LinkError> {
        self.run(self.value.connect_with(peer, options, config)).map(Run::new)
    }

    fn connections_count(&self) -> usize {
        self.value.connections_count()
    }

    fn wait_closed(&self) -> bool {
        let closed = async {
            self.value.closed().await;
            Ok(())
        };
        self.run(closed).is_ok()
    }
}

impl Accept for Run<asynchronous::Listener> {
    type Connection = Run<asynchronous::Connection>;

    fn accept(&self) -> Result<Self::Connection, LinkError> {
        self.run(self.value.accept()).map(Run::new)
    }
}

impl Talk for Run<asynchronous::Connection> {
    fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    fn key(&self) -> Key {
        *self.value.key()
    }

    fn send(&self, datagram: &[u8]) -> Result<(), LinkError> {
        self.run(self.value.send(datagram))
    }

    fn receive(&self) -> Result<Option<Vec<u8>>, LinkError> {
        self.run(self.value.receive())
    }

    fn receive_into(&self, buffer: &mut Vec<u8>) -> Result<bool, LinkError> {
        self.run(self.value.receive_into(buffer))
    }

    fn packet_bytes_max(&self) -> usize {
        self.value.packet_bytes_max()
    }

    fn ccids(&self) -> (u8, u8) {
        self.value.ccids()
    }

    fn rtt(&self) -> Option<Duration> {
        self.value.rtt()
    }

    fn close(self) {
        self.value.close();
    }

    fn abort(self) {
        self.value.abort();
    }
}
