//! Webhooks with HTTP servers that are slow, gone, or not the right ones.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};

use dhcp_config::{ControlSocket, HttpSocket, TlsFiles, Webhook};
use dhcp_control::statistics::EventListenerCounts;
use testkit::{TempFolder, require, waited_until};

use super::*;
use crate::control::ControlThread;
use crate::free_port::free_port;

fn webhook(port: u16, backlog_max: u32) -> Webhook {
    Webhook {
        url: format!("http://localhost:{port}/events"),
        host: "localhost".to_owned(),
        port,
        path: "/events".to_owned(),
        is_tls: false,
        trust_anchor: String::new(),
        identity: None,
        credentials: None,
        backlog_max,
        timeout_ms: 20_000,
    }
}

/// Reads a request and returns its body; `None` at the end of the connection.
fn read_request(stream: &TcpStream) -> Option<String> {
    let mut stream = BufReader::new(stream);
    let mut len = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length: ") {
            len = value.parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; len];
    stream.read_exact(&mut body).ok().filter(|()| len > 0)?;
    Some(String::from_utf8(body).unwrap())
}

/// Serves on `listener` in a thread; each request gets the next of `statuses`, then 204. The status
/// 0 closes the connection without an answer. Returns the bodies as they come.
fn serve(listener: TcpListener, statuses: Vec<u16>) -> Receiver<(u16, String)> {
    let (sender, bodies) = channel();
    thread::spawn(move || {
        let mut statuses = statuses.into_iter();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let Some(body) = read_request(&stream) else { continue };
            let status = statuses.next().unwrap_or(204);
            if status > 0 {
                let answer = format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n");
                let _ = stream.write_all(answer.as_bytes());
            }
            drop(stream);
            if sender.send((status, body)).is_err() {
                return;
            }
        }
    });
    bodies
}

fn counts<P: DaemonFamily>(fixture: &EventFixture<P>) -> EventListenerCounts {
    fixture.service.source().counts().listeners[0]
}

fn start(fixture: &mut EventFixture<V4>, config: Webhook) {
    let listeners = super::super::webhook::listeners_of(&[config]).collect();
    fixture.service.run(listeners).unwrap();
}

#[test]
fn a_webhook_that_fails_gets_the_same_batch_again() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let bodies = serve(listener, vec![503, 0]);
    let mut fixture = EventFixture::<V4>::new(1);
    let webhook = Webhook { host: "127.0.0.1".to_owned(), ..webhook(port, 16_384) };
    start(&mut fixture, webhook);
    (0..1_000).for_each(|client| fixture.put(client % 7, client));
    let (mut copy, mut failed) = (LeaseCopy::default(), Vec::new());
    let mut requests = 0;
    while copy.number < 1_000 {
        let (status, body) = bodies.recv().unwrap();
        requests += 1;
        if status != 204 {
            failed.push(body);
            continue;
        }
        if let Some(first) = failed.first() {
            assert!(failed.iter().all(|earlier| earlier == first) && *first == body);
            failed.clear();
        }
        let batch: Value = serde_json::from_str(&body).unwrap();
        let events = batch["events"].as_array().unwrap();
        let (first, last) = (events[0]["number"].clone(), &events[events.len() - 1]["number"]);
        assert!(batch["id"].as_str().unwrap().ends_with(&format!("-{first}-{last}")), "{batch}");
        assert_eq!((&batch["dropped"], &batch["family"]), (&0.into(), &"dhcp4".into()));
        events.iter().for_each(|event| copy.take(event));
    }
    assert!(requests > 5, "{requests} requests");
    assert_eq!(copy.leases, fixture.leases());
    wait_until(|| counts(&fixture).backlog == 0);
    assert_eq!((counts(&fixture).delivered, counts(&fixture).name), (1_000, "webhook-1"));
}

#[test]
fn a_webhook_that_is_gone_costs_no_more_than_its_backlog() {
    let port = free_port();
    let mut fixture = EventFixture::<V4>::new(1);
    let webhook = Webhook { host: "127.0.0.1".to_owned(), ..webhook(port, 300) };
    start(&mut fixture, webhook);
    for client in 0..5_000 {
        fixture.put(client % 7, client);
    }
    wait_until(|| last_number(&fixture) == 5_000);
    let lost = counts(&fixture);
    assert!(lost.backlog <= 300 && lost.dropped > 4_000, "{lost:?}");
    assert!(fixture.service.state.feed().len() <= 300);
    // The server comes back and learns how much it has missed.
    let bodies = serve(TcpListener::bind(("127.0.0.1", port)).unwrap(), Vec::new());
    let (mut number, mut dropped) = (0, 0);
    while number < 5_000 {
        let batch: Value = serde_json::from_str(&bodies.recv().unwrap().1).unwrap();
        dropped += batch["dropped"].as_u64().unwrap();
        number += batch["dropped"].as_u64().unwrap();
        for event in batch["events"].as_array().unwrap() {
            number += 1;
            assert_eq!(event["number"], number);
        }
    }
    wait_until(|| counts(&fixture).backlog == 0);
    assert_eq!((counts(&fixture).dropped, counts(&fixture).delivered), (dropped, 5_000 - dropped));
}

#[test]
fn a_server_that_ends_does_not_wait_for_a_webhook_that_is_gone() {
    let mut fixture = EventFixture::<V4>::new(1);
    let webhook = Webhook { host: "127.0.0.1".to_owned(), ..webhook(free_port(), 300) };
    start(&mut fixture, webhook);
    (0..1_000).for_each(|client| fixture.put(client % 7, client));
    wait_until(|| last_number(&fixture) == 1_000);
    // Every later batch would wait for as long.
    fixture.service.stop();
}

/// Makes the authority `NAME.ca.crt` in `folder`, and its certificate `NAME.crt` for this machine.
fn make_certificate(folder: &Path, name: &str) {
    let script = format!(
        "exec 2> {name}.log
         openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={name}-authority \
             -keyout {name}.ca.key -out {name}.ca.crt
         openssl req -newkey rsa:2048 -nodes -subj /CN={name} \
             -addext subjectAltName=IP:127.0.0.1,DNS:localhost \
             -keyout {name}.key -out {name}.csr
         openssl x509 -req -in {name}.csr -CA {name}.ca.crt -CAkey {name}.ca.key -days 2 \
             -copy_extensions copy -out {name}.crt"
    );
    let status = Command::new("sh").args(["-ec", &script]).current_dir(folder).status();
    assert!(status.unwrap().success());
}

#[test]
fn a_webhook_with_a_wrong_certificate_gets_nothing() {
    if !require(&["openssl"]) {
        return;
    }
    let folder = TempFolder::new("webhook");
    let path = |name: &str| -> String { folder.path().join(name).to_str().unwrap().to_owned() };
    make_certificate(folder.path(), "right");
    make_certificate(folder.path(), "wrong");
    let port = free_port();
    // A control socket takes POST requests with JSON as well as any server of webhooks.
    let mut other = EventFixture::<V4>::new(1);
    let (control, inbox) = ControlThread::start(other.service.source(), false).unwrap();
    let tls = TlsFiles {
        trust_anchor: path("right.ca.crt"),
        certificate: path("right.crt"),
        key: path("right.key"),
        is_client_certificate_required: true,
    };
    let socket = HttpSocket {
        purpose: dhcp_config::HttpPurpose::Control,
        address: "127.0.0.1".parse().unwrap(),
        port,
        tls: Some(tls),
        headers: Vec::new(),
        authentication: None,
    };
    control.configure(vec![ControlSocket::Http(socket)]).unwrap();
    let answering = thread::spawn(move || {
        let mut bodies = Vec::new();
        // Nothing else ends the test if no request comes.
        waited_until(|| {
            netio::poll(&mut [netio::PollFd::readable(inbox.waker())], Some(10_000_000)).ok();
            inbox.waker().drain();
            while let Some(request) = inbox.next() {
                bodies.push(format!("{:?}", request.request));
                request.answer("{}".to_owned());
            }
            !bodies.is_empty()
        });
        bodies
    });
    let config = |authority: &str, identity: Option<&str>| Webhook {
        url: format!("https://127.0.0.1:{port}/"),
        host: "127.0.0.1".to_owned(),
        is_tls: true,
        trust_anchor: path(authority),
        identity: identity.map(|name| (path(&format!("{name}.crt")), path(&format!("{name}.key")))),
        ..webhook(port, 300)
    };
    let wrong = [
        config("wrong.ca.crt", Some("right")),
        config("right.ca.crt", None),
        config("right.ca.crt", Some("wrong")),
        config("missing.crt", Some("right")),
    ];
    for config in wrong {
        let mut listener = super::super::webhook::WebhookListener::new("webhook-1", config);
        let failed = listener.send("{}");
        assert!(failed.is_err());
        listener.report(&failed);
    }
    start(&mut other, config("right.ca.crt", Some("right")));
    other.put(1, 1);
    let bodies = answering.join().unwrap();
    assert!(bodies.iter().any(|body| body.contains("10.0.0.1")), "{bodies:?}");
    wait_until(|| counts(&other).delivered == 1);
    control.stop();
}
