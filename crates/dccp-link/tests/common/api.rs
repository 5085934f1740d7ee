//! Traits that both interfaces of the crate (blocking and async) implement, so that one suite holds
//! for both.

use std::net::IpAddr;
use std::time::Duration;

use dccp_link::{
    BlockingConnection, BlockingEndpoint, BlockingListener, CarrierKind, CarrierOptions,
    ConnectOptions, ConnectionConfig, ConnectionKey, DccpError, EndpointLimits, Peer, asynchronous,
};
use tokio::runtime::{Builder, Runtime};

use super::{PATIENCE, PORT, service};

/// Runs each test with each interface.
macro_rules! with_both_apis {
    ($($name:ident),* $(,)?) => {
        mod blocking {
            $(
                #[test]
                fn $name() {
                    super::$name::<dccp_link::BlockingEndpoint>();
                }
            )*
        }
        mod tasks {
            $(
                #[test]
                fn $name() {
                    super::$name::<crate::common::api::AdaptedAsyncEndpoint>();
                }
            )*
        }
    };
}

pub(crate) use with_both_apis;

/// Endpoint of the async interface.
pub(crate) type AdaptedAsyncEndpoint = RuntimeAdapter<asynchronous::AsyncEndpoint>;

/// Calls of an application at an endpoint.
pub(crate) trait EndpointCalls: Sized + Send + Sync {
    type Listener: ListenerCalls<Connection = Self::Connection>;
    type Connection: ConnectionCalls;

    fn open(options: &CarrierOptions) -> Self;
    fn udp_port(&self) -> Option<u16>;
    fn listen(&self, config: &ConnectionConfig) -> Self::Listener;
    fn connect_with(
        &self,
        peer: Peer,
        options: ConnectOptions,
        config: &ConnectionConfig,
    ) -> Result<Self::Connection, DccpError>;
    fn connections_count(&self) -> usize;
    fn wait_closed(&self) -> bool;

    fn connect(&self, peer: Peer, config: &ConnectionConfig)
    -> Result<Self::Connection, DccpError>;
}

/// Calls of an application at a port.
pub(crate) trait ListenerCalls: Send + Sync {
    type Connection;

    fn accept(&self) -> Result<Self::Connection, DccpError>;
}

/// Calls of an application at a connection. Each call ends within [`PATIENCE`].
pub(crate) trait ConnectionCalls: Send + Sync {
    fn set_patience(&mut self, patience: Duration);
    fn key(&self) -> ConnectionKey;
    fn send(&self, datagram: &[u8]) -> Result<(), DccpError>;
    fn receive(&self) -> Result<Option<Vec<u8>>, DccpError>;
    fn receive_into(&self, buffer: &mut Vec<u8>) -> Result<bool, DccpError>;
    fn packet_bytes_max(&self) -> usize;
    fn ccids(&self) -> (u8, u8);
    fn rtt(&self) -> Option<Duration>;
    fn close(self);
    fn abort(self);
}

/// Opens an endpoint of `kind` at `address`.
pub(crate) fn open_endpoint<F: EndpointCalls>(kind: CarrierKind, address: IpAddr) -> F {
    F::open(&CarrierOptions { addresses: vec![address], ..CarrierOptions::new(kind) })
}

/// Listening endpoint with its address.
pub(crate) struct ServerOf<F: EndpointCalls> {
    pub(crate) listener: F::Listener,
    pub(crate) endpoint: F,
    pub(crate) peer: Peer,
}

pub(crate) fn serve_endpoint<F: EndpointCalls>(
    kind: CarrierKind,
    address: IpAddr,
    config: &ConnectionConfig,
) -> ServerOf<F> {
    let endpoint = open_endpoint::<F>(kind, address);
    let listener = endpoint.listen(config);
    let peer = Peer { address, port: PORT, udp_port: endpoint.udp_port().unwrap_or(0) };
    ServerOf { listener, endpoint, peer }
}

impl EndpointCalls for BlockingEndpoint {
    type Listener = BlockingListener;
    type Connection = BlockingConnection;

    fn open(options: &CarrierOptions) -> Self {
        Self::open(options, EndpointLimits::default()).unwrap()
    }

    fn udp_port(&self) -> Option<u16> {
        self.udp_port()
    }

    fn listen(&self, config: &ConnectionConfig) -> BlockingListener {
        self.listen(PORT, config, vec![service()], 200)
    }

    fn connect_with(
        &self,
        peer: Peer,
        options: ConnectOptions,
        config: &ConnectionConfig,
    ) -> Result<BlockingConnection, DccpError> {
        let mut connection = self.connect_with(peer, options, config)?;
        connection.set_patience(PATIENCE);
        Ok(connection)
    }

    fn connections_count(&self) -> usize {
        self.connections_count()
    }

    fn connect(
        &self,
        peer: Peer,
        config: &ConnectionConfig,
    ) -> Result<BlockingConnection, DccpError> {
        let mut connection = self.connect(peer, config)?;
        connection.set_patience(PATIENCE);
        Ok(connection)
    }

    fn wait_closed(&self) -> bool {
        self.wait_closed(PATIENCE)
    }
}

impl ListenerCalls for BlockingListener {
    type Connection = BlockingConnection;

    fn accept(&self) -> Result<BlockingConnection, DccpError> {
        let mut connection = self.accept_within(PATIENCE)?;
        connection.set_patience(PATIENCE);
        Ok(connection)
    }
}

impl ConnectionCalls for BlockingConnection {
    fn set_patience(&mut self, patience: Duration) {
        self.set_send_timeout(Some(patience));
        self.set_receive_timeout(Some(patience));
    }

    fn key(&self) -> ConnectionKey {
        *self.key()
    }

    fn send(&self, datagram: &[u8]) -> Result<(), DccpError> {
        self.send(datagram)
    }

    fn receive(&self) -> Result<Option<Vec<u8>>, DccpError> {
        self.receive()
    }

    fn receive_into(&self, buffer: &mut Vec<u8>) -> Result<bool, DccpError> {
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

/// Returns a runtime for the futures of one endpoint, listener or connection.
fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

/// Endpoint, listener or connection of the async interface, with the runtime of its futures and
/// their longest time.
pub(crate) struct RuntimeAdapter<T> {
    value: T,
    runtime: Runtime,
    patience: Duration,
}

impl<T> RuntimeAdapter<T> {
    fn new(value: T) -> Self {
        Self { value, runtime: runtime(), patience: PATIENCE }
    }

    /// Returns the result of a future, within the adapter's patience.
    fn run<R>(&self, future: impl Future<Output = Result<R, DccpError>>) -> Result<R, DccpError> {
        self.runtime.block_on(async {
            let late = |_| DccpError::TimedOut(self.patience);
            tokio::time::timeout(self.patience, future).await.map_err(late)?
        })
    }
}

impl EndpointCalls for AdaptedAsyncEndpoint {
    type Listener = RuntimeAdapter<asynchronous::AsyncListener>;
    type Connection = RuntimeAdapter<asynchronous::AsyncConnection>;

    fn open(options: &CarrierOptions) -> Self {
        Self::new(asynchronous::AsyncEndpoint::open(options, EndpointLimits::default()).unwrap())
    }

    fn udp_port(&self) -> Option<u16> {
        self.value.udp_port()
    }

    fn listen(&self, config: &ConnectionConfig) -> Self::Listener {
        RuntimeAdapter::new(self.value.listen(PORT, config, vec![service()], 200))
    }

    fn connect_with(
        &self,
        peer: Peer,
        options: ConnectOptions,
        config: &ConnectionConfig,
    ) -> Result<Self::Connection, DccpError> {
        self.run(self.value.connect_with(peer, options, config)).map(RuntimeAdapter::new)
    }

    fn connections_count(&self) -> usize {
        self.value.connections_count()
    }

    fn connect(
        &self,
        peer: Peer,
        config: &ConnectionConfig,
    ) -> Result<Self::Connection, DccpError> {
        self.run(self.value.connect(peer, config)).map(RuntimeAdapter::new)
    }

    fn wait_closed(&self) -> bool {
        let closed = async {
            self.value.closed().await;
            Ok(())
        };
        self.run(closed).is_ok()
    }
}

impl ListenerCalls for RuntimeAdapter<asynchronous::AsyncListener> {
    type Connection = RuntimeAdapter<asynchronous::AsyncConnection>;

    fn accept(&self) -> Result<Self::Connection, DccpError> {
        self.run(self.value.accept()).map(RuntimeAdapter::new)
    }
}

impl ConnectionCalls for RuntimeAdapter<asynchronous::AsyncConnection> {
    fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    fn key(&self) -> ConnectionKey {
        *self.value.key()
    }

    fn send(&self, datagram: &[u8]) -> Result<(), DccpError> {
        self.run(self.value.send(datagram))
    }

    fn receive(&self) -> Result<Option<Vec<u8>>, DccpError> {
        self.run(self.value.receive())
    }

    fn receive_into(&self, buffer: &mut Vec<u8>) -> Result<bool, DccpError> {
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
