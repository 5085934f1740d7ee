//! Clients of every kind against the sockets, with an executor that only echoes.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use dhcp_config::{
    AuthenticatedClient, BasicAuthentication, ControlSocket, HttpSocket, SecretSource, TlsFiles,
};
use dhcp_lease::v4::V4;
use netio::PollFd;
use testkit::TempFolder;

use super::*;
use crate::events::tests::EventFixture;
use crate::free_port::free_port;

mod events;
mod limits;

/// Control thread with an executor that answers `{"result":0,"arguments":COMMAND}`.
struct ControlThreadFixture {
    control: Option<ControlThread>,
    /// Lease events of a server without clients.
    events: EventFixture<V4>,
    is_over: Arc<AtomicBool>,
    answering: Option<JoinHandle<u64>>,
    folder: TempFolder,
}

impl ControlThreadFixture {
    fn new(label: &str) -> Self {
        let folder = TempFolder::new(label);
        let events = EventFixture::new(1);
        let (control, inbox) = ControlThread::start(events.service.source(), false).unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let answering = thread::spawn(move || answer_until(&over, &inbox));
        Self { control: Some(control), events, is_over, answering: Some(answering), folder }
    }

    fn configure(&self, sockets: Vec<ControlSocket>) -> Result<(), Vec<String>> {
        self.control.as_ref().unwrap().configure(sockets)
    }

    fn unix(&self, name: &str) -> (PathBuf, ControlSocket) {
        let path = self.folder.path().join(name);
        (path.clone(), ControlSocket::Unix(path.to_str().unwrap().to_owned()))
    }
}

/// Answers all requests until `is_over` and returns their number.
fn answer_until(is_over: &AtomicBool, inbox: &Inbox) -> u64 {
    let mut count = 0;
    while !is_over.load(Ordering::Acquire) {
        netio::poll(&mut [PollFd::readable(inbox.waker())], Some(10_000_000)).ok();
        inbox.waker().drain();
        while let Some(request) = inbox.next() {
            count += 1;
            let text = match &request.request {
                ControlRequest::Command(command) => {
                    serde_json::json!({ "result": 0, "arguments": command }).to_string()
                }
                ControlRequest::Metrics => "godwit_up 1\n".to_owned(),
            };
            request.answer(text);
        }
    }
    count
}

impl Drop for ControlThreadFixture {
    fn drop(&mut self) {
        self.control.take().unwrap().stop();
        self.is_over.store(true, Ordering::Release);
        self.answering.take().unwrap().join().unwrap();
    }
}

fn http(port: u16) -> HttpSocket {
    HttpSocket {
        purpose: dhcp_config::HttpPurpose::Control,
        address: IpAddr::V4(Ipv4Addr::LOCALHOST),
        port,
        tls: None,
        headers: Vec::new(),
        authentication: None,
    }
}

/// Writes `octets` to the stream and returns everything that the server sends until it closes.
fn exchange(mut stream: impl Read + Write, octets: &[u8]) -> String {
    stream.write_all(octets).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn post(port: u16, head: &str, body: &str) -> String {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let request = format!(
        "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{head}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    exchange(stream, request.as_bytes())
}

const AS_JSON: &str = "Content-Type: application/json\r\n";

#[test]
fn a_unix_socket_answers_one_command_and_closes() {
    let fixture = ControlThreadFixture::new("unix");
    let (first, socket) = fixture.unix("first");
    let (second, other) = fixture.unix("second");
    fixture.configure(vec![socket.clone(), other]).unwrap();
    for path in [&first, &second] {
        let mode = fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o660);
        let answer = exchange(UnixStream::connect(path).unwrap(), br#" { "command": "a}\"" } {"#);
        assert_eq!(answer, r#"{"arguments":{"command":"a}\""},"result":0}"#);
    }
    let answer = exchange(UnixStream::connect(&first).unwrap(), b"list-commands");
    assert_eq!(answer, r#"{"result":1,"text":"a command must be a JSON map"}"#);
    let answer = exchange(UnixStream::connect(&first).unwrap(), br#"{"command":}"#);
    assert!(
        answer.starts_with(r#"{"result":1,"text":"the command is not valid JSON: "#),
        "{answer}"
    );
    // The command comes byte by byte; each byte may arrive alone.
    let mut stream = UnixStream::connect(&first).unwrap();
    for octet in br#"{"command":"b"}"# {
        stream.write_all(&[*octet]).unwrap();
    }
    assert_eq!(exchange(stream, b""), r#"{"arguments":{"command":"b"},"result":0}"#);
    fixture.configure(vec![socket]).unwrap();
    assert!(first.exists() && !second.exists(), "what is no longer configured is removed");
    drop(fixture);
    assert!(!first.exists());
}

#[test]
fn a_stale_socket_is_replaced_and_nothing_else_is() {
    let fixture = ControlThreadFixture::new("stale");
    let (path, socket) = fixture.unix("socket");
    drop(UnixListener::bind(&path).unwrap());
    // A process that another test is about to start holds a copy of the socket until it starts.
    while UnixStream::connect(&path).is_ok() {
        thread::yield_now();
    }
    assert!(path.exists(), "a crash leaves the file");
    fixture.configure(vec![socket.clone()]).unwrap();
    assert!(exchange(UnixStream::connect(&path).unwrap(), b"{}").contains("result"));
    // The other server runs in the same process, which only a test does.
    let (other, _inbox) = ControlThread::start(fixture.events.service.source(), false).unwrap();
    let problems = other.configure(vec![socket]).unwrap_err();
    assert!(problems[0].contains("in use by another server"), "{problems:?}");
    // First a server that takes no lock, then a file that is not a socket.
    let (alive, socket) = fixture.unix("alive");
    let _listener = UnixListener::bind(&alive).unwrap();
    let problems = other.configure(vec![socket]).unwrap_err();
    assert!(problems[0].contains("another server listens there"), "{problems:?}");
    let (file, socket) = fixture.unix("file");
    fs::write(&file, "precious").unwrap();
    let problems = other.configure(vec![socket]).unwrap_err();
    assert!(problems[0].contains("not a socket"), "{problems:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
    other.stop();
    assert!(alive.exists() && path.exists());
}

#[test]
fn neither_a_pipe_nor_a_server_that_accepts_nothing_holds_up_a_change() {
    let fixture = ControlThreadFixture::new("held");
    let (_, socket) = fixture.unix("piped");
    let pipe = fixture.folder.path().join("piped.lock");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let problems = fixture.configure(vec![socket]).unwrap_err();
    assert!(problems[0].contains("cannot lock"), "{problems:?}");
    // The server's queue is full, so that a connection would wait for it to accept one.
    let (hung, socket) = fixture.unix("hung");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let _within = runtime.enter();
    let unheard = tokio::net::UnixSocket::new_stream().unwrap();
    unheard.bind(&hung).unwrap();
    let _listener = unheard.listen(0).unwrap();
    let _queued = UnixStream::connect(&hung).unwrap();
    let problems = fixture.configure(vec![socket]).unwrap_err();
    assert!(problems[0].contains("another server listens there"), "{problems:?}");
    for name in ["/dev/zero", pipe.to_str().unwrap()] {
        let mut socket = http(free_port());
        socket.authentication = Some(BasicAuthentication {
            realm: "kea".into(),
            directory: None,
            clients: vec![AuthenticatedClient {
                user: SecretSource::Text("u".into()),
                password: SecretSource::File(name.into()),
            }],
        });
        let problems = fixture.configure(vec![ControlSocket::Http(socket)]).unwrap_err();
        assert!(problems[0].ends_with("it is not a regular file"), "{problems:?}");
        let files = TlsFiles {
            trust_anchor: name.into(),
            certificate: name.into(),
            key: name.into(),
            is_client_certificate_required: true,
        };
        let socket = HttpSocket { tls: Some(files), ..http(free_port()) };
        let problems = fixture.configure(vec![ControlSocket::Http(socket)]).unwrap_err();
        assert!(problems[0].ends_with("it is not a regular file"), "{problems:?}");
    }
}

#[test]
fn a_failed_change_leaves_every_socket_as_it_was() {
    let fixture = ControlThreadFixture::new("failed");
    let (path, socket) = fixture.unix("socket");
    fixture.configure(vec![socket]).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (other, new) = fixture.unix("new");
    let mut bad = http(free_port());
    bad.headers.push(("no header".into(), "x".into()));
    let sockets = vec![
        new,
        ControlSocket::Http(http(listener.local_addr().unwrap().port())),
        ControlSocket::Http(bad),
    ];
    let problems = fixture.configure(sockets).unwrap_err();
    assert_eq!(problems.len(), 2, "{problems:?}");
    let mut long = http(free_port());
    long.headers = vec![("X".into(), "x".into()); 40_000];
    let problems = fixture.configure(vec![ControlSocket::Http(long)]).unwrap_err();
    assert_eq!(problems, ["40000 HTTP headers are too many; at most 1000 are allowed"]);
    assert!(!other.exists(), "what was opened is closed again");
    assert!(exchange(UnixStream::connect(&path).unwrap(), b"{}").contains("result"));
}

#[test]
fn the_front_page_links_to_the_metrics_and_shows_a_command() {
    let fixture = ControlThreadFixture::new("page");
    let port = free_port();
    fixture.configure(vec![ControlSocket::Http(http(port))]).unwrap();
    let page = exchange(
        TcpStream::connect(("127.0.0.1", port)).unwrap(),
        b"GET / HTTP/1.1\r\nHost: localhost:1\r\nConnection: close\r\n\r\n",
    );
    assert!(
        page.starts_with("HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8"),
        "{page}"
    );
    assert!(page.contains("href=\"/metrics\"") && page.contains("list-commands"), "{page}");
    assert!(page.contains("http://localhost:1/</pre>"), "{page}");
}

#[test]
fn http_answers_with_a_list_and_refuses_with_a_map() {
    let fixture = ControlThreadFixture::new("http");
    let port = free_port();
    let mut socket = http(port);
    socket.headers.push(("Strict-Transport-Security".into(), "max-age=31536000".into()));
    fixture.configure(vec![ControlSocket::Http(socket)]).unwrap();
    let answer = post(port, AS_JSON, r#"{"command":"x"}"#);
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"),
        "{answer}"
    );
    assert!(answer.contains("strict-transport-security: max-age=31536000\r\n"), "{answer}");
    assert!(answer.ends_with("\r\n\r\n[ {\"arguments\":{\"command\":\"x\"},\"result\":0} ]"));
    let refusals = [
        (
            post(port, "", "{}"),
            "400 Bad Request: the header `Content-Type: application/json` is missing",
        ),
        (
            post(port, "Content-Type: text/plain\r\n", "{}"),
            "400 Bad Request: `Content-Type` is not `application/json`",
        ),
        (post(port, AS_JSON, "{"), "400 Bad Request: the body is not JSON"),
        (post(port, AS_JSON, ""), "400 Bad Request: the body is not JSON"),
        (
            exchange(
                TcpStream::connect(("127.0.0.1", port)).unwrap(),
                b"GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
            ),
            "404 Not Found",
        ),
        (
            exchange(
                TcpStream::connect(("127.0.0.1", port)).unwrap(),
                b"PUT / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
            ),
            "405 Method Not Allowed",
        ),
        (
            exchange(
                TcpStream::connect(("127.0.0.1", port)).unwrap(),
                b"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
              Content-Length: 99999999999\r\nConnection: close\r\n\r\n",
            ),
            "413 Payload Too Large",
        ),
    ];
    for (answer, status) in refusals {
        let (code, text) = status.split_once(' ').unwrap();
        let line = status.split_once(": ").map_or(status, |(line, _)| line);
        assert!(answer.starts_with(&format!("HTTP/1.1 {line}\r\n")), "{answer}");
        let body = format!("\r\n\r\n{{\"result\":{code},\"text\":\"{text}\"}}");
        assert!(answer.ends_with(&body), "{answer}");
        assert!(answer.contains("strict-transport-security: "), "{answer}");
    }
    let answer = exchange(
        TcpStream::connect(("127.0.0.1", port)).unwrap(),
        b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    );
    assert!(answer.contains("content-type: text/plain; version=0.0.4\r\n"), "{answer}");
    assert!(answer.ends_with("\r\n\r\ngodwit_up 1\n"), "{answer}");
    let answer = exchange(TcpStream::connect(("127.0.0.1", port)).unwrap(), b"nonsense\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
}

#[test]
fn requests_that_a_proxy_may_read_otherwise_are_refused() {
    let fixture = ControlThreadFixture::new("ambiguous");
    let port = free_port();
    fixture.configure(vec![ControlSocket::Http(http(port))]).unwrap();
    let body = r#"{"command":"x"}"#;
    let chunked = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let request = |target: &str, host: &str, head: &str, body: &str| {
        let text = format!(
            "POST {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{AS_JSON}{head}\r\n{body}"
        );
        exchange(TcpStream::connect(("127.0.0.1", port)).unwrap(), text.as_bytes())
    };
    let own = format!("127.0.0.1:{port}");
    let length = format!("Content-Length: {}\r\n", body.len());
    let te = "Transfer-Encoding: chunked\r\n";
    let absolute = format!("http://{own}/");
    for (target, head, body) in
        [("/", &*length, body), ("/", te, &*chunked), (absolute.as_str(), &*length, body)]
    {
        let answer = request(target, &own, head, body);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{target} {head}: {answer}");
    }
    let twice = format!("{length}Host: evil.example\r\n");
    let codings = "Transfer-Encoding: gzip, chunked\r\n";
    let again = "Transfer-Encoding: chunked, chunked\r\n";
    for (target, head, body, status) in [
        ("/", &*twice, body, "400"),
        ("/", codings, &*chunked, "400"),
        ("/", again, &*chunked, "400"),
        ("http://evil.example/", &*length, body, "421"),
    ] {
        let answer = request(target, &own, head, body);
        let expected = format!("HTTP/1.1 {status} ");
        assert!(answer.starts_with(&expected), "{target} {head}: {answer}");
    }
}

#[test]
fn a_connection_is_kept_for_more_commands() {
    let fixture = ControlThreadFixture::new("keep-alive");
    let port = free_port();
    fixture.configure(vec![ControlSocket::Http(http(port))]).unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    for count in 0..100 {
        let body = format!(r#"{{"command":"c{count:03}"}}"#);
        let request = format!(
            "POST / HTTP/1.1\r\nHost: x\r\n{AS_JSON}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut read = Vec::new();
        while !read.ends_with(b"} ]") {
            let mut octet = [0];
            stream.read_exact(&mut octet).unwrap();
            read.push(octet[0]);
        }
        assert!(String::from_utf8(read).unwrap().contains(&format!("c{count:03}")));
    }
}

#[test]
fn a_wrong_password_costs_nothing_and_opens_nothing() {
    let fixture = ControlThreadFixture::new("password");
    let port = free_port();
    let mut socket = http(port);
    socket.authentication = Some(BasicAuthentication {
        realm: "kea".into(),
        directory: None,
        clients: vec![AuthenticatedClient {
            user: SecretSource::Text("admin".into()),
            password: SecretSource::Text("1234".into()),
        }],
    });
    fixture.configure(vec![ControlSocket::Http(socket)]).unwrap();
    for head in ["", "Authorization: Basic YWRtaW46MTIzNQ==\r\n"] {
        for _ in 0..200 {
            let answer = post(port, &format!("{AS_JSON}{head}"), r#"{"command":"x"}"#);
            assert!(answer.starts_with("HTTP/1.1 401 Unauthorized\r\n"), "{answer}");
            assert!(answer.contains("www-authenticate: Basic realm=\"kea\"\r\n"), "{answer}");
            assert!(answer.ends_with("\r\n\r\n{\"result\":401,\"text\":\"Unauthorized\"}"));
        }
    }
    let answer = exchange(
        TcpStream::connect(("127.0.0.1", port)).unwrap(),
        b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    );
    assert!(answer.starts_with("HTTP/1.1 401 "), "the counters are behind the gate too: {answer}");
    let head = format!("{AS_JSON}Authorization: Basic YWRtaW46MTIzNA==\r\n");
    assert!(post(port, &head, "{}").starts_with("HTTP/1.1 200 OK\r\n"));
    // The password changes without the socket being closed.
    let mut socket = http(port);
    socket.authentication = Some(BasicAuthentication {
        realm: "kea".into(),
        directory: None,
        clients: vec![AuthenticatedClient {
            user: SecretSource::Text("admin".into()),
            password: SecretSource::Text("new".into()),
        }],
    });
    fixture.configure(vec![ControlSocket::Http(socket)]).unwrap();
    assert!(post(port, &head, "{}").starts_with("HTTP/1.1 401 "));
}

#[test]
fn ten_thousand_half_open_connections_leave_room_for_a_command() {
    let fixture = ControlThreadFixture::new("half-open");
    let port = free_port();
    let (path, unix) = fixture.unix("socket");
    fixture.configure(vec![ControlSocket::Http(http(port)), unix]).unwrap();
    let mut open = std::collections::VecDeque::new();
    let mut closed_by_server = 0;
    for count in 0..10_000 {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        // Half of the connections send nothing, the other half begin a request.
        if count % 2 == 0 {
            stream.write_all(b"POST / HTTP/1.1\r\nContent-Le").unwrap();
        }
        open.push_back(stream);
        // The test's own descriptors are limited too: by now, the server must have closed this
        // connection.
        if open.len() > 300 {
            let mut oldest = open.pop_front().unwrap();
            oldest.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
            // On a slow machine the connection may time out, and the server then first sends a
            // response.
            let is_over = match oldest.read_to_end(&mut Vec::new()) {
                Ok(_) => true,
                Err(cause) => cause.kind() == ErrorKind::ConnectionReset,
            };
            closed_by_server += u32::from(is_over);
        }
        if count % 1_000 == 0 {
            assert!(post(port, AS_JSON, "{}").starts_with("HTTP/1.1 200 OK\r\n"), "{count}");
            assert!(exchange(UnixStream::connect(&path).unwrap(), b"{}").contains("result"));
        }
    }
    assert_eq!(closed_by_server, 10_000 - 300);
}

#[test]
fn http_is_understood_at_a_unix_socket() {
    let fixture = ControlThreadFixture::new("http-unix");
    let (path, socket) = fixture.unix("socket");
    fixture.configure(vec![socket]).unwrap();
    let request = format!(
        "POST / HTTP/1.1\r\nHost: x\r\n{AS_JSON}Connection: close\r\nContent-Length: 2\r\n\r\n{{}}"
    );
    let answer = exchange(UnixStream::connect(&path).unwrap(), request.as_bytes());
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.ends_with("[ {\"arguments\":{},\"result\":0} ]"), "{answer}");
    let get = b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let answer = exchange(UnixStream::connect(&path).unwrap(), get);
    assert!(answer.ends_with("godwit_up 1\n"), "{answer}");
}

#[test]
fn names_of_other_sites_are_refused_where_nobody_is_asked_for_a_password() {
    let fixture = ControlThreadFixture::new("rebinding");
    let port = free_port();
    fixture.configure(vec![ControlSocket::Http(http(port))]).unwrap();
    let ask = |host: &str| {
        let request = format!(
            "POST / HTTP/1.1\r\nHost: {host}\r\n{AS_JSON}Connection: close\r\nContent-Length: 2\r\n\r\n{{}}"
        );
        exchange(TcpStream::connect(("127.0.0.1", port)).unwrap(), request.as_bytes())
    };
    assert!(ask("evil.example").starts_with("HTTP/1.1 421 "));
    assert!(ask(&format!("127.0.0.1:{port}")).starts_with("HTTP/1.1 200 "));
}

#[test]
fn a_file_that_only_has_the_name_of_a_lock_stays() {
    let fixture = ControlThreadFixture::new("foreign-lock");
    let (_, unix) = fixture.unix("victim");
    let lock = fixture.folder.path().join("victim.lock");
    fs::write(&lock, "precious").unwrap();
    let refused = fixture.configure(vec![unix.clone()]).unwrap_err();
    assert!(refused[0].contains("the existing file is not a lock"), "{refused:?}");
    fs::rename(&lock, fixture.folder.path().join("precious")).unwrap();
    std::os::unix::fs::symlink(fixture.folder.path().join("precious"), &lock).unwrap();
    fixture.configure(vec![unix]).unwrap_err();
    assert_eq!(fs::read_to_string(fixture.folder.path().join("precious")).unwrap(), "precious");
}
