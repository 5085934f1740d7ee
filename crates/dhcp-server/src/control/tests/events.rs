//! Subscribers of lease events against the sockets.

use std::io::{BufRead, BufReader};
use std::time::Duration;

use serde_json::Value;
use testkit::wait_until;
use tokio::io::AsyncWriteExt;

use super::*;
use crate::events::tests::LeaseCopy;

/// Returns the request for `/events` with `query`; without chunks, the answer is easy to read.
fn request(query: &str, head: &str) -> String {
    format!("GET /events{query} HTTP/1.0\r\nHost: x\r\n{head}\r\n")
}

const AS_LINES: &str = "Accept: application/x-ndjson\r\n";

/// Response of which the head has been read.
struct Stream<S> {
    status: String,
    head: Vec<String>,
    body: BufReader<S>,
}

fn open<S: Read + Write>(mut stream: S, request: &str) -> Stream<S> {
    stream.write_all(request.as_bytes()).unwrap();
    let mut body = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        body.read_line(&mut line).unwrap();
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_ascii_lowercase()),
        }
    }
    Stream { status: lines.remove(0), head: lines, body }
}

impl<S: Read> Stream<S> {
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.body.read_line(&mut line).unwrap();
        line
    }

    /// Reads lines of JSON into `copy` up to the event `number`.
    fn read_to(&mut self, number: u64, copy: &mut LeaseCopy) {
        while copy.number < number || copy.id.is_empty() {
            let line = self.line();
            assert!(!line.is_empty(), "the stream ended after {}", copy.number);
            if line != "\n" {
                copy.take(&serde_json::from_str(&line).unwrap());
            }
        }
    }
}

#[test]
fn events_are_streams_of_both_forms_at_every_socket() {
    let mut fixture = ControlThreadFixture::new("events");
    let (path, unix) = fixture.unix("socket");
    let port = free_port();
    fixture.configure(vec![unix, ControlSocket::Http(http(port))]).unwrap();
    fixture.events.put(1, 1);
    let tcp = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut lines = open(tcp, &request("?snapshot=true", AS_LINES));
    assert!(lines.status.ends_with(" 200 ok"), "{}", lines.status);
    assert!(lines.head.contains(&"content-type: application/x-ndjson".to_owned()));
    let mut copy = LeaseCopy::default();
    lines.read_to(0, &mut copy);
    assert_eq!(copy.leases.len(), 1);
    let mut sent = open(UnixStream::connect(&path).unwrap(), &request("", ""));
    assert!(sent.head.contains(&"content-type: text/event-stream".to_owned()));
    assert!(sent.head.contains(&"cache-control: no-store".to_owned()));
    let [id, kind, data, empty] = [(); 4].map(|()| sent.line());
    assert_eq!(id, format!("id: {}\n", copy.id));
    assert_eq!((&*kind, &*empty), ("event: begin\n", "\n"));
    assert!(data.starts_with("data: {"), "{data}");
    fixture.events.put(1, 2);
    let [id, kind, data, empty] = [(); 4].map(|()| sent.line());
    assert_eq!(id, format!("id: {}1\n", copy.id.strip_suffix('0').unwrap()));
    assert_eq!((&*kind, &*empty), ("event: updated\n", "\n"));
    let event: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(format!("id: {}\n", event["id"].as_str().unwrap()), id);
    assert_eq!((&event["number"], &event["kind"]), (&1.into(), &"updated".into()));
    assert_eq!((&event["family"], &event["subnet-id"]), (&"dhcp4".into(), &7.into()));
    assert_eq!(event["before"], copy.leases["10.0.0.1"]);
    assert_eq!(event["after"], fixture.events.leases()["10.0.0.1"]);
    assert!(event["time"].as_str().unwrap().ends_with('Z') && event["message"].is_null());
    lines.read_to(1, &mut copy);
    assert_eq!(copy.leases, fixture.events.leases());
    // The header counts before the URL, which a client that connects again repeats.
    let head = format!("Last-Event-ID: {}\r\n{AS_LINES}", copy.id);
    fixture.events.put(1, 3);
    let unix = UnixStream::connect(&path).unwrap();
    open(unix, &request("?snapshot=true&after=nothing-1", &head)).read_to(2, &mut copy);
    assert_eq!(copy.leases, fixture.events.leases());
    let mut refused = open(UnixStream::connect(&path).unwrap(), &request("?after=x-1", ""));
    let all = [(); 4].map(|()| refused.line()).concat();
    assert!(all.starts_with("id: \nevent: snapshot-needed\ndata: {"), "{all}");
    assert_eq!(refused.line(), "", "the stream ends");
    let wrong = open(UnixStream::connect(&path).unwrap(), &request("?since=1", ""));
    assert!(wrong.status.contains(" 400 "), "{}", wrong.status);
}

fn with_password(port: u16, password: &str) -> ControlSocket {
    let mut socket = http(port);
    socket.authentication = Some(BasicAuthentication {
        realm: "kea".into(),
        directory: None,
        clients: vec![AuthenticatedClient {
            user: SecretSource::Text("admin".into()),
            password: SecretSource::Text(password.into()),
        }],
    });
    ControlSocket::Http(socket)
}

#[test]
fn a_subscriber_needs_the_credentials_that_commands_need() {
    let mut fixture = ControlThreadFixture::new("subscriber");
    let port = free_port();
    fixture.configure(vec![with_password(port, "1234")]).unwrap();
    let connect = || TcpStream::connect(("127.0.0.1", port)).unwrap();
    for head in ["", "Authorization: Basic YWRtaW46MTIzNQ==\r\n"] {
        let refused = open(connect(), &request("", head));
        assert!(refused.status.ends_with(" 401 unauthorized"), "{}", refused.status);
    }
    assert!(!fixture.events.table.is_recording_events());
    let head = format!("Authorization: Basic YWRtaW46MTIzNA==\r\n{AS_LINES}");
    let mut copy = LeaseCopy::default();
    let mut admitted = open(connect(), &request("?snapshot=true", &head));
    fixture.events.put(1, 1);
    admitted.read_to(1, &mut copy);
    // A reload with the same password does not interrupt the stream; one with another ends it.
    fixture.configure(vec![with_password(port, "1234")]).unwrap();
    fixture.events.put(1, 2);
    admitted.read_to(2, &mut copy);
    fixture.configure(vec![with_password(port, "new")]).unwrap();
    fixture.events.put(1, 3);
    assert_eq!(admitted.line(), "");
    // A socket that is closed ends its streams.
    let head = format!("Authorization: Basic YWRtaW46bmV3\r\n{AS_LINES}");
    let mut admitted = open(connect(), &request("?snapshot=true", &head));
    admitted.read_to(3, &mut LeaseCopy::default());
    fixture.configure(Vec::new()).unwrap();
    assert_eq!(admitted.line(), "");
}

#[test]
fn subscribers_leave_room_for_commands() {
    let fixture = ControlThreadFixture::new("room");
    let port = free_port();
    fixture.configure(vec![ControlSocket::Http(http(port))]).unwrap();
    let connect = || TcpStream::connect(("127.0.0.1", port)).unwrap();
    let streams: Vec<_> = (0..256).map(|_| open(connect(), &request("", ""))).collect();
    assert!(streams.iter().all(|stream| stream.status.contains(" 200 ")));
    let refused = open(connect(), &request("", ""));
    assert!(refused.status.contains(" 503 "), "{}", refused.status);
    assert!(post(port, AS_JSON, "{}").starts_with("HTTP/1.1 200 OK\r\n"));
    let source = fixture.events.service.source();
    assert_eq!(source.counts().subscribers, 256);
    drop(streams);
    wait_until(|| source.counts().subscribers == 0);
    assert!(open(connect(), &request("", "")).status.contains(" 200 "));
}

#[test]
fn a_subscriber_that_does_not_read_is_disconnected() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let folder = TempFolder::new("unread");
    let (asking, _inbox) = requests::channel(Arc::new(Waker::new().unwrap()));
    let mut events = EventFixture::<V4>::new(1);
    (0..20_000).for_each(|address| events.put(address, address));
    let source = events.service.source();
    LocalSet::new().block_on(&runtime, async {
        let mut sockets = ControlSocketSet::new(asking, Arc::clone(&source));
        let path = folder.path().join("socket");
        let unix = ControlSocket::Unix(path.to_str().unwrap().to_owned());
        sockets.configure(&[unix]).unwrap();
        let mut client = tokio::net::UnixStream::connect(path).await.unwrap();
        client.write_all(request("?snapshot=true", "").as_bytes()).await.unwrap();
        let begin = tokio::time::Instant::now();
        while source.counts().cut_off == 0 {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert!(begin.elapsed() >= Duration::from_secs(10));
        while source.counts().subscribers > 0 {
            tokio::task::yield_now().await;
        }
    });
}
