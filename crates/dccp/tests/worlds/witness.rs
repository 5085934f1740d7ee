//! Checks of the invariants that each connection keeps at any time, and a record of the packets on
//! the wires.

use std::collections::BTreeMap;

use dccp::ccid::SenderFigures;
use dccp::connection::{Connection, ConnectionState, Role};
use dccp::endpoint::ConnectionKey;
use dccp::header::PacketType;
use dccp::sequence::SequenceNumber;

/// Sequence numbers that an end has used between two ports, connection by connection: first and
/// last.
#[derive(Clone, Debug, Default)]
pub(crate) struct UsedSequenceRanges {
    used: BTreeMap<(u16, u16), Vec<(SequenceNumber, SequenceNumber)>>,
}

/// Largest step between two sequence numbers of a connection: no number is skipped. Resets without
/// a connection take their number from the packet that they answer.
const STEP_MAX: i64 = 1;

impl UsedSequenceRanges {
    /// Records a packet that left its end. Returns the packet's type; `None` if the type is
    /// reserved.
    pub(crate) fn record_packet(&mut self, octets: &[u8]) -> Option<PacketType> {
        let packet_type = PacketType::from_number(octets[8] >> 1 & 15)?;
        let mut number = [0; 8];
        number[2..].copy_from_slice(&octets[10..16]);
        let number = SequenceNumber::new(u64::from_be_bytes(number));
        let ports = |at: usize| u16::from_be_bytes([octets[at], octets[at + 1]]);
        let ranges = self.used.entry((ports(0), ports(2))).or_default();
        let known = ranges
            .iter_mut()
            .find(|(_, last)| (0..=STEP_MAX).contains(&number.distance_from(*last)));
        match known {
            Some((_, last)) => *last = number,
            None => ranges.push((number, number)),
        }
        Some(packet_type)
    }

    fn has_used(&self, ports: (u16, u16), number: SequenceNumber) -> bool {
        self.used.get(&ports).is_some_and(|ranges| {
            ranges.iter().any(|(first, last)| {
                number.distance_from(*first) >= 0 && number.distance_from(*last) <= 0
            })
        })
    }
}

/// Checks the invariants of a connection; `peer` has the sequence numbers that the other end has
/// used.
pub(crate) fn look(key: &ConnectionKey, connection: &Connection, peer: &UsedSequenceRanges) {
    let state = connection.state();
    let is_possible = match connection.role() {
        Role::Client => !matches!(state, ConnectionState::Respond | ConnectionState::CloseReq),
        Role::Server => !matches!(state, ConnectionState::Request | ConnectionState::PartOpen),
    };
    assert!(is_possible, "a {:?} in {}", connection.role(), state.name());
    if matches!(state, ConnectionState::PartOpen | ConnectionState::Open) {
        let (_, gsr) = connection.greatest_numbers();
        let ports = (key.remote_port, key.local_port);
        assert!(peer.has_used(ports, gsr), "{gsr:?} was never sent: {key:?}");
    }
    match connection.sender_figures() {
        None => (),
        Some(SenderFigures::Window { cwnd, pipe, rto_ns, ack_ratio, .. }) => {
            assert!(cwnd >= 1 && ack_ratio >= 1, "window {cwnd}, ratio {ack_ratio}");
            assert!(pipe < 100_000 && rto_ns > 0, "pipe {pipe}, timeout {rto_ns}");
            // Data under way was sent within an earlier window, which was at most twice as wide.
            assert!(u64::from(ack_ratio) <= u64::from(cwnd).max(2), "{ack_ratio} of {cwnd}");
        }
        Some(SenderFigures::Rate { x, x_recv, x_calc, p, interval_ns, .. }) => {
            let are_numbers = [x, x_recv, x_calc, p].iter().all(|n| n.is_finite() && *n >= 0.0);
            assert!(are_numbers, "{x} {x_recv} {x_calc} {p}");
            assert!(x > 0.0 && p <= 1.0 && interval_ns > 0, "{x} {p} {interval_ns}");
        }
    }
}
