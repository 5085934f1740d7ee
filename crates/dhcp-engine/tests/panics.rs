//! Test that a panic while a message is served costs only that message and those read with it: the
//! server serves later messages, and the same client when it sends again.

use std::process::Command;

use crate::common::v4::{Dhcp4MessageBuilder, SMALL, Server, Sink};
use crate::common::{Sent, TestProtocol};
use dhcp_engine::v4::{Destination, DropReason, Ingress};
use dhcp_engine::{ArrivedDatagram, ReplySink, contain};
use dhcp_lease::v4::V4;
use dhcp_wire::v4::MessageType;

/// Environment variable with which the test starts this program again, so that it contains panics:
/// in all other tests a panic is a failure.
const IS_CHILD: &str = "GODWIT_TEST_CONTAINS";
const CLIENTS: u8 = 20;

/// Receiver that panics at the first reply.
#[derive(Default)]
struct Faulty {
    has_panicked: bool,
    sent: Vec<Sent<V4>>,
}

impl ReplySink<V4> for Faulty {
    fn transmit(&mut self, to: Destination, _: Ingress, octets: &[u8]) -> bool {
        if !self.has_panicked {
            self.has_panicked = true;
            panic!("a mistake");
        }
        self.sent.push((to, octets.to_vec()));
        true
    }
}

#[test]
fn a_panic_costs_one_message_and_those_read_with_it() {
    if std::env::var_os(IS_CHILD).is_some() {
        return serve_and_panic();
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    let name = "panics::a_panic_costs_one_message_and_those_read_with_it";
    let output = child.args(["--exact", name]).env(IS_CHILD, "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{output:?}");
}

fn serve_and_panic() {
    contain::enable();
    let mut server = Server::new(SMALL);
    let messages: Vec<Vec<u8>> = (1..=CLIENTS)
        .map(|n| Dhcp4MessageBuilder::new(MessageType::Discover, n).octets())
        .collect();
    let datagram = |octets| ArrivedDatagram { since_ns: 0, octets, ingress: V4::INGRESS };
    let arrived = messages.iter().map(|octets| datagram(&octets[..]));
    let mut sink = Faulty::default();
    server.shards[0].handle_all(server.now, arrived, &mut sink);
    assert_eq!(server.dropped(DropReason::InternalError), 1);
    assert!(sink.sent.len() >= usize::from(CLIENTS) - 8, "{}", sink.sent.len());

    let mut sink = Sink::default();
    let again = messages.iter().map(|octets| datagram(&octets[..]));
    server.shards[0].handle_all(server.now, again, &mut sink);
    assert_eq!(sink.0.len(), usize::from(CLIENTS), "also to whom the first reply was to go");
    assert_eq!(server.dropped(DropReason::InternalError), 1);
}
