//! Endpoints of the tests, on a loopback interface of the test's own.

pub(crate) mod api;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::Command;

use dccp_link::{
    BlockingEndpoint, BlockingListener, CarrierKind, CarrierOptions, ConnectionConfig,
    EndpointLimits, Peer, ServiceCode,
};
pub(crate) use testkit::PATIENCE;

/// DCCP port of servers.
pub(crate) const PORT: u16 = 5_001;

pub(crate) const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub(crate) const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);
pub(crate) const UDP: CarrierKind = CarrierKind::Udp { port: 0 };
pub(crate) const RAW: CarrierKind = CarrierKind::Raw { answers_all_ports: false };

pub(crate) fn ip(arguments: &str) {
    output(arguments);
}

/// Runs `ip` with `arguments` and returns its output.
pub(crate) fn output(arguments: &str) -> String {
    let output = Command::new("ip").args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs `test` in a new network namespace with only loopback, where no raw sockets of other tests
/// are. Prints a message when namespaces are not permitted here.
pub(crate) fn in_a_namespace(test: impl FnOnce() + Send) {
    let is_allowed = std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            let has_ip = Command::new("ip").arg("-V").output().is_ok();
            if !has_ip || netio::namespace::enter_new().is_err() {
                return false;
            }
            ip("link set lo up");
            test();
            true
        });
        inside.join().unwrap()
    });
    if !is_allowed {
        testkit::skip("making a network namespace needs root and iproute2");
    }
}

/// Listening endpoint with its address.
pub(crate) struct DccpTestServer {
    pub(crate) listener: BlockingListener,
    pub(crate) endpoint: BlockingEndpoint,
    pub(crate) peer: Peer,
}

/// Returns the service code of the tests' connections.
pub(crate) fn service() -> ServiceCode {
    "SC:TEST".parse().unwrap()
}

pub(crate) fn config(ccid: u8) -> ConnectionConfig {
    ConnectionConfig {
        service_code: service(),
        tx_ccids: vec![ccid],
        rx_ccids: vec![ccid],
        connect_timeout_ns: PATIENCE.as_nanos() as u64,
        ..ConnectionConfig::default()
    }
}

pub(crate) fn open(kind: CarrierKind, address: IpAddr) -> BlockingEndpoint {
    let carrier = CarrierOptions { addresses: vec![address], ..CarrierOptions::new(kind) };
    BlockingEndpoint::open(&carrier, EndpointLimits::default()).unwrap()
}

pub(crate) fn serve(
    kind: CarrierKind,
    address: IpAddr,
    config: &ConnectionConfig,
) -> DccpTestServer {
    let endpoint = open(kind, address);
    let listener = endpoint.listen(PORT, config, vec![service()], 200);
    let peer = Peer { address, port: PORT, udp_port: endpoint.udp_port().unwrap_or(0) };
    DccpTestServer { listener, endpoint, peer }
}
