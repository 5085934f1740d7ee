//! Limits of time and memory against the sockets, on a clock that stands still or jumps.

use super::*;

/// Runs `test` with an open unix socket on a clock that jumps to the next deadline when all tasks
/// wait. A unix socket delivers at once; the clock would not wait for a network.
fn on_paused_time<F: Future<Output = ()>>(label: &str, test: impl FnOnce(PathBuf) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let folder = TempFolder::new(label);
    let (asking, _inbox) = requests::channel(Arc::new(Waker::new().unwrap()));
    LocalSet::new().block_on(&runtime, async {
        let mut sockets =
            ControlSocketSet::new(asking, EventFixture::<V4>::new(1).service.source());
        let path = folder.path().join("socket");
        let unix = ControlSocket::Unix(path.to_str().unwrap().to_owned());
        sockets.configure(&[unix]).unwrap();
        test(path).await;
    });
}

/// Runs `client` against `sockets` while the server's clock stands still: no connection times out,
/// even on a slow machine.
fn while_time_stands_still(sockets: &[ControlSocket], client: impl FnOnce() + Send + 'static) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let (asking, inbox) = requests::channel(Arc::new(Waker::new().unwrap()));
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let answering = thread::spawn(move || answer_until(&over, &inbox));
    let outcome = LocalSet::new().block_on(&runtime, async {
        let mut open = ControlSocketSet::new(asking, EventFixture::<V4>::new(1).service.source());
        open.configure(sockets).unwrap();
        // While a blocking task runs, a paused clock does not advance by itself.
        tokio::task::spawn_blocking(client).await
    });
    is_over.store(true, Ordering::Release);
    answering.join().unwrap();
    outcome.unwrap();
}

#[test]
fn a_slow_client_is_told_so_and_let_go() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    on_paused_time("slow", |path| async move {
        let start = tokio::time::Instant::now();
        let mut half = tokio::net::UnixStream::connect(&path).await.unwrap();
        half.write_all(b"{ \"command\": ").await.unwrap();
        let mut answer = String::new();
        half.read_to_string(&mut answer).await.unwrap();
        let expected = "Connection over control channel timed out, discarded partial command of \
                        13 bytes";
        assert_eq!(answer, format!("{{\"result\":1,\"text\":\"{expected}\"}}"));
        assert_eq!(start.elapsed(), Duration::from_secs(10));

        // The client sends one byte per second, for ever.
        let start = tokio::time::Instant::now();
        let stream = tokio::net::UnixStream::connect(&path).await.unwrap();
        let (mut read, mut write) = stream.into_split();
        let dripping = async {
            loop {
                if write.write_all(b"P").await.is_err() {
                    std::future::pending::<()>().await;
                }
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        };
        let mut answer = vec![0; 4_096];
        let count = tokio::select! {
            count = read.read(&mut answer) => count.unwrap(),
            () = dripping => unreachable!("it drips for ever"),
        };
        let answer = String::from_utf8_lossy(&answer[..count]);
        assert!(answer.starts_with("HTTP/1.1 408 Request Timeout\r\n"), "{answer}");
        assert!(answer.ends_with("{\"result\":408,\"text\":\"Request Timeout\"}"), "{answer}");
        assert!(start.elapsed() < Duration::from_secs(12));

        // The body of the request never arrives.
        let mut stream = tokio::net::UnixStream::connect(&path).await.unwrap();
        let head = format!("POST / HTTP/1.1\r\nHost: x\r\n{AS_JSON}Content-Length: 9\r\n\r\n{{");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    });
}

#[test]
fn a_kept_connection_without_commands_ends_after_half_a_minute() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    on_paused_time("idle", |path| async move {
        let mut stream = tokio::net::UnixStream::connect(&path).await.unwrap();
        stream.write_all(b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let mut answer = vec![0; 4_096];
        let count = stream.read(&mut answer).await.unwrap();
        assert!(answer[..count].starts_with(b"HTTP/1.1 404 "));
        let start = tokio::time::Instant::now();
        assert_eq!(stream.read(&mut answer).await.unwrap(), 0, "closed without a word");
        assert_eq!(start.elapsed(), Duration::from_secs(30));
    });
}

#[test]
fn an_oversized_command_is_refused_and_its_memory_given_back() {
    let folder = TempFolder::new("oversized");
    let (path, [port, open_port]) = (folder.path().join("socket"), [free_port(), free_port()]);
    let unix = ControlSocket::Unix(path.to_str().unwrap().to_owned());
    let [user, password] = ["a", "b"].map(|text| SecretSource::Text(text.to_owned()));
    let authentication = Some(BasicAuthentication {
        realm: String::new(),
        directory: None,
        clients: vec![AuthenticatedClient { user, password }],
    });
    let closed = ControlSocket::Http(HttpSocket { authentication, ..http(port) });
    let sockets = [closed, ControlSocket::Http(http(open_port)), unix];
    while_time_stands_still(&sockets, move || oversized_commands(&path, port, open_port));
}

fn oversized_commands(path: &Path, port: u16, open_port: u16) {
    // `a:b` in base 64.
    let with_credentials = format!("Authorization: Basic YTpi\r\n{AS_JSON}");
    for _ in 0..3 {
        // A socket without authentication accepts less: the kernel's buffers and one mebibyte.
        for (port, head, accepted_mib) in
            [(port, &with_credentials[..], 64..200), (open_port, AS_JSON, 1..64)]
        {
            // The request has no length, so that its size shows only while it arrives.
            let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let head =
                format!("POST / HTTP/1.1\r\nHost: x\r\n{head}Transfer-Encoding: chunked\r\n\r\n");
            stream.write_all(head.as_bytes()).unwrap();
            let mut chunk = b"100000\r\n".to_vec();
            chunk.resize(chunk.len() + (1 << 20), b' ');
            chunk.extend(b"\r\n");
            let sent_mib = (0..200).take_while(|_| stream.write_all(&chunk).is_ok()).count();
            assert!(accepted_mib.contains(&sent_mib), "{sent_mib} MiB were taken");
        }
        let mut stream = UnixStream::connect(path).unwrap();
        stream.write_all(b"{").unwrap();
        let spaces = vec![b' '; 1 << 20];
        let sent_mib = (0..200).take_while(|_| stream.write_all(&spaces).is_ok()).count();
        assert!((64..200).contains(&sent_mib), "{sent_mib} MiB were taken");
    }
    assert!(post(port, &with_credentials, "{}").starts_with("HTTP/1.1 200 OK\r\n"));
    // A body below the limit is accepted completely.
    let big = format!("{{\"x\":\"{}\"}}", "y".repeat(20 << 20));
    assert!(post(port, &with_credentials, &big).starts_with("HTTP/1.1 200 OK\r\n"));
    let answer = post(open_port, AS_JSON, &big[..900 << 10]);
    assert!(answer.starts_with("HTTP/1.1 400 "), "it is taken, and cut: {answer}");
}
