//! Tests of DCCP over a link that marks: packets that can be marked are not lost, and the sender
//! reacts to a mark as to a loss.

use std::net::IpAddr;
use std::thread;

use dccp_link::{
    BlockingEndpoint, CarrierKind, CarrierOptions, ConnectionConfig, EndpointLimits, Peer,
    SenderFigures, ServiceCode,
};
use netem_link::{DirectionReport, DirectionSelector, parse_words};

use crate::bridge::namespaces::{BridgeNamespaces, LEFT, RIGHT, assert_sums, forward};

const PORT: u16 = 5_001;
/// Number of datagrams of a transfer.
const COUNT: u32 = 400;
const LEN: usize = 1_000;
/// Settings of a link, in words, with a round trip long enough for the congestion window to matter.
const PLAIN: &str = "delay 2ms limit 10000";

fn service() -> ServiceCode {
    "SC:TEST".parse().unwrap()
}

fn config(ccid: u8) -> ConnectionConfig {
    ConnectionConfig {
        service_code: service(),
        tx_ccids: vec![ccid],
        rx_ccids: vec![ccid],
        receive_queue_len: COUNT as usize,
        ..ConnectionConfig::default()
    }
}

fn open(kind: CarrierKind, address: IpAddr) -> BlockingEndpoint {
    let carrier = CarrierOptions { addresses: vec![address], ..CarrierOptions::new(kind) };
    BlockingEndpoint::open(&carrier, EndpointLimits::default()).unwrap()
}

/// Sends datagrams from left to right while the forward direction has the settings `words`. Returns
/// the number that arrived, the sender's figures at the end, and the link's report.
fn transfer(
    namespaces: &BridgeNamespaces,
    kind: CarrierKind,
    ccid: u8,
    words: &str,
) -> (u32, SenderFigures, DirectionReport) {
    let bridge = namespaces.link(PLAIN, PLAIN, 1);
    let server = namespaces.at_right(|| open(kind, RIGHT.into()));
    let client = namespaces.at_left(|| open(kind, LEFT.into()));
    let listener = server.listen(PORT, &config(ccid), vec![service()], 1);
    let peer = Peer { address: RIGHT.into(), port: PORT, udp_port: server.udp_port().unwrap_or(0) };
    let connection = namespaces.at_left(|| client.connect(peer, &config(ccid)).unwrap());
    let accepted = listener.accept().unwrap();
    // Packets that establish the connection cannot be marked, and would be lost.
    bridge.change(DirectionSelector::Forward, &parse_words(&format!("{PLAIN} {words}")).unwrap());
    let (arrived, figures) = thread::scope(|scope| {
        let receiving = scope.spawn(|| {
            let mut count = 0;
            let mut buffer = Vec::new();
            while accepted.receive_into(&mut buffer).unwrap() {
                count += 1;
            }
            count
        });
        for _ in 0..COUNT {
            connection.send(&[7; LEN]).unwrap();
        }
        let figures = connection.sender_figures().unwrap();
        connection.close();
        (receiving.join().unwrap(), figures)
    });
    let report = bridge.stop().unwrap();
    assert_sums(forward(&report));
    (arrived, figures, forward(&report).clone())
}

fn a_marked_transfer_is_whole_and_held_back(kind: CarrierKind) {
    let Some(namespaces) = BridgeNamespaces::set() else { return };
    for ccid in [2, 3] {
        let (arrived, plain, report) = transfer(&namespaces, kind, ccid, "");
        assert_eq!((arrived, report.marked, report.lost), (COUNT, 0, 0), "CCID {ccid}");
        let (arrived, marked, report) = transfer(&namespaces, kind, ccid, "loss 5% ecn");
        assert_eq!((arrived, report.lost), (COUNT, 0), "CCID {ccid}: {report}");
        assert!(report.marked > 5, "CCID {ccid}: {report}");
        // The size of a window or a rate also depends on how long the machine lets packets wait.
        match (plain, marked) {
            (SenderFigures::Window { .. }, SenderFigures::Window { ssthresh, .. }) => {
                assert!(ssthresh < u32::MAX, "slow start never ended")
            }
            (SenderFigures::Rate { p: never, .. }, SenderFigures::Rate { p, .. }) => {
                assert!(never == 0.0 && p > 0.0, "{never}, {p}")
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn marks_hold_a_sender_over_udp_back_and_lose_nothing() {
    a_marked_transfer_is_whole_and_held_back(CarrierKind::Udp { port: 0 });
}

#[test]
fn marks_hold_a_sender_over_ip_back_and_lose_nothing() {
    a_marked_transfer_is_whole_and_held_back(CarrierKind::Raw { answers_all_ports: false });
}
