//! Tests of `godwit dccp perf` without a control exchange, against a program that does not know it.

use std::io::Read;
use std::net::Ipv4Addr;
use std::thread;
use std::time::Duration;

use dccp_link::{
    BlockingEndpoint, CarrierKind, CarrierOptions, ConnectionConfig, DccpError, EndpointLimits,
    Peer, ServiceCode,
};

use crate::common::TempFolder;
use crate::dccp::{DccpListenerProcess, document, file_in, godwit, number, text};

fn echo() -> ServiceCode {
    "SC:ECHO".parse().expect("it is one")
}

#[test]
fn a_plain_receiver_counts_the_datagrams_of_any_program() {
    let flags = ["--plain", "-1", "--json", "-p", "7", "--service-code", "SC:ECHO"];
    let server = DccpListenerProcess::start(&[&["perf", "-s"][..], &flags].concat(), false);
    // Data that begins like a message of perf is plain data here, and causes no reply.
    let datagrams =
        [&b"hello"[..], b"", b"gW\x01\x01{\"datagram_bytes\":9,\"duration_ms\":9}", b"gW\x01\x02"];
    let address = Ipv4Addr::LOCALHOST.into();
    let udp_port = server.port.parse().expect("a number");
    let carrier = CarrierOptions::towards(CarrierKind::Udp { port: 0 }, address);
    let endpoint =
        BlockingEndpoint::open(&carrier, EndpointLimits::default()).expect("loopback has ports");
    let config = ConnectionConfig { service_code: echo(), ..ConnectionConfig::default() };
    let peer = Peer { address, port: 7, udp_port };
    let mut connection = endpoint.connect(peer, &config).expect("it listens");
    for datagram in datagrams {
        connection.send(datagram).expect("there is room");
    }
    connection.set_receive_timeout(Some(Duration::from_millis(50)));
    assert!(matches!(connection.receive(), Err(DccpError::TimedOut(_))), "it answers nothing");
    connection.close();
    let (code, output) = server.end();
    assert_eq!(code, Some(0), "{}", text(&output));
    let document = document(&output);
    let received = document.pointer("/flows/0/directions/0/received").expect("it received");
    let bytes: usize = datagrams.iter().map(|datagram| datagram.len()).sum();
    assert_eq!(number(received, "/datagrams"), 4.0, "{document:#}");
    assert_eq!((number(received, "/bytes"), number(received, "/lost")), (bytes as f64, 0.0));
    assert_eq!(document["flows"][0]["is_plain"], true);
}

#[test]
fn a_plain_sender_needs_nothing_but_a_listener() {
    let carrier = CarrierOptions::new(CarrierKind::Udp { port: 0 });
    let endpoint =
        BlockingEndpoint::open(&carrier, EndpointLimits::default()).expect("loopback has ports");
    let listener = endpoint.listen(7, &ConnectionConfig::default(), vec![echo()], 1);
    let port = endpoint.udp_port().expect("it is UDP").to_string();
    // Sends back every datagram, and counts them.
    let echoing = thread::spawn(move || {
        let connection = listener.accept().expect("it connects");
        let (mut count, mut bytes) = (0_u64, 0);
        while let Some(datagram) = connection.receive().expect("it closes") {
            count += 1;
            bytes += datagram.len();
            // A datagram sent just after the other end closed is lost.
            let _ = connection.send(&datagram);
        }
        (count, bytes)
    });
    let words =
        ["perf", "-c", "127.0.0.1", "--plain", "--json", "-p", "7", "--service-code", "SC:ECHO"];
    // So long that some come back while the sender is there, on a machine that is held up, too.
    let flags = ["-t", "3", "-b", "80k", "-l", "1000", "--udp-port", &port];
    let output = godwit(&[&words[..], &flags].concat()).output().expect("it runs");
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 3)), "{}{}", text(&output.stdout), text(&output.stderr));
    let (count, bytes) = echoing.join().expect("it echoes");
    let document = document(&output.stdout);
    let sent = document.pointer("/flows/0/directions/0").expect("it sent");
    assert!(sent["received"].is_null(), "the other end tells nothing: {sent:#}");
    // 3 s of 80 kbit/s, and nothing else.
    let all = number(sent, "/sent/datagrams");
    assert_eq!(all + number(sent, "/sent/never_sent"), 30.0);
    assert_eq!((count as f64, bytes), (all, count as usize * 1_000));
    // Returned datagrams were counted, too.
    let back = document.pointer("/flows/0/directions/1/received").expect("it came back");
    assert!((1.0..=30.0).contains(&number(back, "/datagrams")), "{document:#}");
}

#[test]
fn plain_ends_meet_send_and_recv() {
    let folder = TempFolder::new("plain");
    let file = file_in(&folder, "input");
    std::fs::write(&file, vec![0x5a; 50_000]).expect("there is room for temporary files");
    let server = DccpListenerProcess::start(&["perf", "-s", "--plain", "-1"], true);
    let sent = server.meet(&["send", "127.0.0.1", &file, "-l", "500"]);
    assert_eq!(sent.status.code(), Some(0), "{}", text(&sent.stderr));
    let (code, output_text) = server.end();
    assert_eq!(code, Some(0));
    let output_text = text(&output_text);
    assert!(output_text.contains("  100 datagrams  receiver, cpu"), "{output_text}");

    let mut receiver = DccpListenerProcess::start(&["recv"], false);
    let words = ["perf", "-c", "127.0.0.1", "--plain", "-t", "0.2", "-b", "400k", "-l", "100"];
    let output = receiver.meet(&words);
    let output_text = text(&output.stdout);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output_text}{}", text(&output.stderr));
    assert!(output_text.contains("the receiver cannot report what it read"), "{output_text}");
    let mut told = String::new();
    let mut stderr = receiver.child.stderr.take().expect("it is piped");
    let (code, output) = receiver.end();
    stderr.read_to_string(&mut told).expect("it can be read");
    // A hundred, unless the machine was busy for a while.
    let count = output.len() / 100;
    assert!(code == Some(0) && (1..=100).contains(&count), "{told}");
    assert!(
        told.contains(&format!("received {} bytes in {count} datagrams", count * 100)),
        "{told}"
    );
    assert!(output_text.contains(&format!("  {count} datagrams")), "{count} of {output_text}");
}
