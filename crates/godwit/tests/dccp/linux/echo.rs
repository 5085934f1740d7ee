//! Data in both directions of one connection: every datagram goes to the kernel and comes back.

use std::path::Path;
use std::time::Duration;

use dccp_link::{
    BlockingConnection, BlockingEndpoint, CarrierKind, CarrierOptions, ConnectionConfig, DccpError,
    EndpointLimits, Peer,
};

use super::cells::sent;
use super::machine::{GUEST, HOST, VirtualMachine};

const DATAGRAMS: usize = 400;
const OCTETS: usize = 256;
/// Datagrams in flight; the kernel's queue has room for five.
const UNDER_WAY: usize = 3;
/// Time without any packet after which a datagram is lost.
const PATIENCE: Duration = Duration::from_secs(20);

/// Sends datagrams to an application of the kernel that sends them back, and compares them.
pub(super) fn every_datagram_comes_back(machine: &mut VirtualMachine, ccid: u8) -> String {
    let command = format!("/godwit dccp conformance --listen --carrier kernel -4 --ccid {ccid}");
    machine.begin("listen", &command, "istening");
    let namespace_path = Path::new("/run/netns").join(machine.namespace());
    let count = std::thread::spawn(move || {
        netio::namespace::enter(&namespace_path).expect("root enters namespaces");
        let connected = connect(ccid);
        count_echoes(&connected.1)
    });
    let count = count.join().expect("it does not panic");
    machine.run("kill $(pidof godwit)");
    machine.end("listen");
    // The kernel may drop some of those outside its Sequence Window.
    assert!(count + 4 >= DATAGRAMS, "CCID {ccid}: {count} came back");
    format!("{count} of {DATAGRAMS}")
}

fn connect(ccid: u8) -> (BlockingEndpoint, BlockingConnection) {
    let address = HOST[0].parse().expect("an address");
    let kind = CarrierKind::Raw { answers_all_ports: false };
    let mut options = CarrierOptions::new(kind);
    options.addresses = vec![address];
    let endpoint =
        BlockingEndpoint::open(&options, EndpointLimits::default()).expect("root has raw sockets");
    let config = ConnectionConfig {
        tx_ccids: vec![ccid],
        rx_ccids: vec![ccid],
        ..ConnectionConfig::default()
    };
    let address = GUEST[0].parse().expect("an address");
    let peer = Peer { address, port: 5001, udp_port: 0 };
    let mut connection = endpoint.connect(peer, &config).expect("the kernel listens");
    connection.set_receive_timeout(Some(PATIENCE));
    (endpoint, connection)
}

fn count_echoes(connection: &BlockingConnection) -> usize {
    let all = sent(DATAGRAMS);
    let mut waiting: Vec<&[u8]> = Vec::new();
    let mut count = 0;
    let mut datagrams = all.chunks(OCTETS);
    loop {
        while waiting.len() < UNDER_WAY
            && let Some(datagram) = datagrams.next()
        {
            connection.send(datagram).expect("the connection is open");
            waiting.push(datagram);
        }
        if waiting.is_empty() {
            return count;
        }
        match connection.receive() {
            Ok(Some(back)) => {
                let at = waiting.iter().position(|datagram| *datagram == back);
                // The datagrams before it are lost.
                waiting.drain(..=at.expect("it comes back as it went, and once"));
                count += 1;
            }
            Err(DccpError::TimedOut(_)) => waiting.clear(),
            other => panic!("the connection ended: {other:?}"),
        }
    }
}
