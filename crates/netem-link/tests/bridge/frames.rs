//! Tests of frames that pass a link, byte by byte.

use netio::{FrameReceiver, FrameSender, PollFd, ReceivedFrame, interface, poll};
use packet_wire::checksum::checksum;

use crate::bridge::namespaces::{
    BridgeNamespaces, LEFT_END, LEFT_MAC, PATIENCE_NS, RIGHT_END, RIGHT_MAC, assert_sums, forward,
};

/// Opens a sender of frames in the left namespace.
fn sender(namespaces: &BridgeNamespaces) -> FrameSender {
    namespaces.at_left(|| FrameSender::open(&interface::named(LEFT_END).unwrap()).unwrap())
}

/// Opens a receiver of frames in the right namespace.
fn receiver(namespaces: &BridgeNamespaces) -> FrameReceiver {
    namespaces.at_right(|| FrameReceiver::open(&interface::named(RIGHT_END).unwrap()).unwrap())
}

fn send(sender: &mut FrameSender, frames: &[Vec<u8>]) {
    for frame in frames {
        sender.slot().unwrap()[..frame.len()].copy_from_slice(frame);
        sender.commit(frame.len());
    }
    let sent = sender.flush();
    assert_eq!((sent.sent, sent.refused, sent.left), (frames.len(), 0, 0));
}

fn receive(receiver: &mut FrameReceiver, count: usize) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    while frames.len() < count {
        assert_eq!(poll(&mut [PollFd::readable(receiver)], Some(PATIENCE_NS)).unwrap(), 1);
        for index in 0..receiver.receive().unwrap() {
            let ReceivedFrame { octets, checksum, train } = receiver.frame(index).unwrap();
            assert_eq!((checksum, train), (None, None), "frames of a wire are whole");
            frames.push(octets.to_vec());
        }
    }
    assert_eq!((receiver.truncated(), receiver.unreadable()), (0, 0));
    frames
}

fn frame(to: [u8; 6], behind: &[u8], len: usize) -> Vec<u8> {
    let mut octets = [&to, &LEFT_MAC, behind].concat();
    octets.extend((octets.len()..len).map(|at| at as u8));
    octets
}

#[test]
fn frames_of_any_protocol_tag_and_station_pass_as_they_are() {
    let Some(namespaces) = BridgeNamespaces::set() else { return };
    assert!(!namespaces.is_promiscuous());
    let bridge = namespaces.link("", "", 1);
    assert!(namespaces.is_promiscuous());
    let (mut left, mut right) = (sender(&namespaces), receiver(&namespaces));
    let mut frames = Vec::new();
    for to in [RIGHT_MAC, [0xff; 6], [2, 7, 7, 7, 7, 7], [1, 0, 0x5e, 0, 0, 9]] {
        for behind in [
            &[0x08, 0x06][..],
            &[0x88, 0xb5],
            &[0x81, 0x00, 0x60, 0x07, 0x08, 0x06],
            &[0x81, 0x00, 0x00, 0x00, 0x88, 0xb5],
            &[0x88, 0xa8, 0x00, 0x05, 0x81, 0x00, 0xff, 0xfe, 0x08, 0x00],
        ] {
            for len in [60, 61, 1_514] {
                frames.push(frame(to, behind, len));
            }
        }
    }
    send(&mut left, &frames);
    assert_eq!(receive(&mut right, frames.len()), frames);
    let report = bridge.stop().unwrap();
    assert_sums(forward(&report));
    assert_eq!(forward(&report).received, frames.len() as u64);
    assert_eq!(report.directions[1].received, 0, "what is sent does not come back");
    assert!(!namespaces.is_promiscuous());
}

/// Returns an IPv4 packet whose header has the type of service `tos` and a right checksum.
fn packet(tos: u8) -> Vec<u8> {
    let mut header = vec![0x45, tos, 0, 46, 0, 1, 0x40, 0, 64, 253, 0, 0];
    header.extend([10, 9, 0, 1, 10, 9, 0, 77]);
    let sum = checksum(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    frame(RIGHT_MAC, &[&[8, 0], &header[..]].concat(), 60)
}

#[test]
fn a_mark_stands_in_the_packet_and_its_checksum_is_right() {
    let Some(namespaces) = BridgeNamespaces::set() else { return };
    let bridge = namespaces.link("loss 100% ecn", "", 1);
    let (mut left, mut right) = (sender(&namespaces), receiver(&namespaces));
    // Not capable of ECN, the two capable ones, marked already.
    send(&mut left, &[packet(0xb8), packet(0xb9), packet(0xba), packet(0xbb)]);
    for (arrived, tos) in receive(&mut right, 3).iter().zip([0xb9_u8, 0xba, 0xbb]) {
        assert_eq!(arrived[15], tos | 3);
        assert_eq!(checksum(&arrived[14..34]), 0);
        assert_eq!(arrived[34..], packet(tos)[34..]);
    }
    let report = bridge.stop().unwrap();
    assert_sums(forward(&report));
    assert_eq!((forward(&report).lost, forward(&report).marked), (1, 3));
}

#[test]
fn a_corrupt_packet_differs_by_a_bit() {
    let Some(namespaces) = BridgeNamespaces::set() else { return };
    let bridge = namespaces.link("corrupt 100%", "", 1);
    let (mut left, mut right) = (sender(&namespaces), receiver(&namespaces));
    let sent: Vec<Vec<u8>> = (0..20).map(|_| frame(RIGHT_MAC, &[0x88, 0xb5], 1_000)).collect();
    send(&mut left, &sent);
    for arrived in receive(&mut right, sent.len()) {
        let differing: u32 = arrived.iter().zip(&sent[0]).map(|(a, b)| (a ^ b).count_ones()).sum();
        assert_eq!(differing, 1);
    }
    assert_eq!(forward(&bridge.stop().unwrap()).corrupted, 20);
}

#[test]
fn what_the_other_interface_does_not_take_is_said() {
    let Some(namespaces) = BridgeNamespaces::set() else { return };
    namespaces.set_mtu(1_000);
    let bridge = namespaces.link("", "", 1);
    let warnings = bridge.warnings();
    assert!(warnings.iter().any(|warning| warning.contains("MTU of 1500")), "{warnings:?}");
    let (mut left, mut right) = (sender(&namespaces), receiver(&namespaces));
    let frames = [1_014, 1_015, 900].map(|len| frame(RIGHT_MAC, &[0x88, 0xb5], len));
    send(&mut left, &frames);
    assert_eq!(receive(&mut right, 2), [frames[0].clone(), frames[2].clone()]);
    let report = bridge.stop().unwrap();
    assert_eq!((forward(&report).sent, forward(&report).machine.refused), (3, 1));
}

#[test]
fn an_interface_whose_queue_is_full_is_tried_again() {
    let Some(namespaces) = BridgeNamespaces::set() else { return };
    namespaces.slow_end_down();
    let bridge = namespaces.link("", "", 1);
    let (mut left, mut right) = (sender(&namespaces), receiver(&namespaces));
    let frames: Vec<_> =
        (0..60).map(|number| frame(RIGHT_MAC, &[0x88, 0xb5, number], 1_000)).collect();
    send(&mut left, &frames);
    assert_eq!(receive(&mut right, frames.len()), frames, "all of them, in order");
    let report = bridge.stop().unwrap();
    assert_sums(forward(&report));
    assert_eq!(forward(&report).sent, 60);
}

#[test]
fn an_interface_that_is_gone_ends_the_link_and_says_so() {
    let Some(namespaces) = BridgeNamespaces::set() else { return };
    let bridge = namespaces.link("", "", 1);
    namespaces.remove_end();
    let ready = poll(&mut [PollFd::readable(bridge.ended())], Some(PATIENCE_NS)).unwrap();
    assert_eq!(ready, 1);
    let error = bridge.stop().unwrap_err();
    assert_eq!(error.exit_code(), 1);
    let text = error.to_string();
    assert!(text.starts_with("cannot continue to receive on ") && text.contains(":m1"), "{text}");
}
