//! Tests of TCP through a link. The kernels leave its checksums and the splitting of its segments
//! to the devices, here virtual ones that do neither.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use netem_link::LinkReport;
use testkit::PATIENCE;

use crate::bridge::namespaces::{BridgeNamespaces, RIGHT, assert_sums};

/// Size of a file in bytes: more than the windows and buffers on the path hold.
const FILE_BYTES: usize = 1 << 20;

fn file(seed: u64) -> Vec<u8> {
    let mut octets = vec![0; FILE_BYTES];
    base::Random::from_seed(seed).fill(&mut octets);
    octets
}

/// Sends `own` over `stream` and returns the bytes that the other side sends until its end.
fn exchange(stream: TcpStream, own: Vec<u8>) -> Vec<u8> {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut output = stream.try_clone().unwrap();
    let writing = thread::spawn(move || {
        output.write_all(&own).unwrap();
        output.shutdown(Shutdown::Write).unwrap();
    });
    let (mut received, mut input) = (Vec::new(), stream);
    input.read_to_end(&mut received).unwrap();
    writing.join().unwrap();
    received
}

/// Sends two files, one each way, through a link with the settings `words` both ways; returns the
/// link's report.
fn pass_files(namespaces: &BridgeNamespaces, words: &str) -> LinkReport {
    let bridge = namespaces.link(words, words, 3);
    let listener = namespaces.at_right(|| TcpListener::bind((RIGHT, 5_000)).unwrap());
    let answering = thread::spawn(move || exchange(listener.accept().unwrap().0, file(2)));
    let stream = namespaces.at_left(|| TcpStream::connect((RIGHT, 5_000)).unwrap());
    assert!(exchange(stream, file(1)) == file(2), "the file from the right is whole");
    assert!(answering.join().unwrap() == file(1), "the file from the left is whole");
    let report = bridge.stop().unwrap();
    for direction in &report.directions {
        assert_sums(direction);
        // Kernels pass on more than a packet at a time, and leave the checksums out.
        assert!(direction.machine.trains > 0, "{direction}");
        assert!(direction.machine.checksums > 0, "{direction}");
    }
    report
}

#[test]
fn files_pass_whole_both_ways_through_delay_and_loss() {
    let Some(namespaces) = BridgeNamespaces::set() else { return };
    let report = pass_files(&namespaces, "delay 1ms 1ms loss 1% duplicate 1% corrupt 0.5%");
    for direction in &report.directions {
        assert!(direction.lost > 0 && direction.duplicated > 0 && direction.corrupted > 0);
    }
}

#[test]
fn a_train_passes_a_link_that_holds_one_packet() {
    let Some(namespaces) = BridgeNamespaces::set() else { return };
    let report = pass_files(&namespaces, "limit 1");
    for direction in &report.directions {
        assert_eq!((direction.over_limit, direction.received), (0, direction.sent), "{direction}");
    }
}
