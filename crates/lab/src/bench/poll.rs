//! HTTP client that sends the control command `statistic-get-all` ten times a second while the
//! server is loaded, as monitoring does, over one connection. Its thread has the lab's processor,
//! not the server's.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use measure::record::Polls;
use testbed::MeasurementTopology;

use crate::error::LabResult;

/// Time from one statistics request to the next.
const REQUEST_INTERVAL: Duration = Duration::from_millis(100);
/// Longest time that the server may take to answer a statistics request.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// Body of the HTTP request that the client sends, for all statistics.
const REQUEST: &str = r#"{"command":"statistic-get-all"}"#;
/// Text at either end of a successful answer to a statistics request, spaces left out.
const SUCCESS: &[u8] = br#""result":0"#;
/// Number of bytes at either end of an answer in which [`SUCCESS`] is searched.
const ENDS_BYTES: usize = 64;

/// Handle of the thread that requests a server's statistics; after `finish` the thread ends with
/// the answer that it waits for.
#[derive(Debug)]
pub(super) struct Poller {
    thread: JoinHandle<LabResult<Polls>>,
    /// Sender whose drop ends the polling thread.
    stop_sender: Sender<()>,
}

impl Poller {
    /// Starts to send statistics requests to the server at `address`, from the generator's
    /// namespace.
    pub(super) fn start(topology: &MeasurementTopology, address: SocketAddr) -> Self {
        let (stop_sender, stop_receiver) = channel();
        let namespace = match topology {
            MeasurementTopology::Loopback | MeasurementTopology::Network { .. } => None,
            MeasurementTopology::Namespaces { client, .. } => Some(client.clone()),
        };
        let thread = std::thread::spawn(move || {
            if let Some(name) = namespace {
                netio::namespace::enter(&Path::new("/run/netns").join(name))?;
            }
            Ok(poll(address, &stop_receiver))
        });
        Self { thread, stop_sender }
    }

    /// Ends the polling thread and returns its counts of requests.
    ///
    /// # Errors
    /// The thread could not enter the generator's namespace.
    pub(super) fn finish(self) -> LabResult<Polls> {
        drop(self.stop_sender);
        self.thread.join().expect("the thread does not panic")
    }
}

/// Describes the answers to all statistics requests to the server `label`; `None` without requests.
pub(super) fn words(polls: Polls, label: &str) -> Option<String> {
    let Polls { due, answered, octets, longest_s } = polls;
    let each_mb = octets as f64 / 1e6 / answered.max(1) as f64;
    (due > 0).then(|| {
        format!(
            "{label} answered {answered} of {due} statistic-get-all commands, {each_mb:.2} MB \
             each, the slowest after {longest_s:.2} s."
        )
    })
}

/// Sends statistics requests to `address` until the sender of `stop_receiver` is dropped. A request
/// without an answer counts as due.
fn poll(address: SocketAddr, stop_receiver: &Receiver<()>) -> Polls {
    let (began, mut polls, mut connection) = (Instant::now(), Polls::default(), None);
    let mut due = began;
    while stop_receiver.recv_timeout(due.saturating_duration_since(Instant::now()))
        == Err(RecvTimeoutError::Timeout)
    {
        let sent_at = Instant::now();
        let answered = match connection.take() {
            Some(stream) => Ok(stream),
            None => connect(address),
        }
        .and_then(|mut stream| Ok((send_request(address, &mut stream)?, stream)));
        if let Ok((octets, stream)) = answered {
            polls.octets += octets;
            polls.answered += 1;
            polls.longest_s = polls.longest_s.max(sent_at.elapsed().as_secs_f64());
            connection = Some(stream);
        }
        // One request at a time: a request that was late is not made up for later.
        due = (due + REQUEST_INTERVAL).max(Instant::now());
    }
    polls.due = 1 + (began.elapsed().as_nanos() / REQUEST_INTERVAL.as_nanos()) as u64;
    polls
}

fn connect(address: SocketAddr) -> io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect_timeout(&address, ANSWER_TIMEOUT)?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    stream.set_nodelay(true)?;
    Ok(BufReader::with_capacity(1 << 20, stream))
}

/// Sends one statistics request to `address`; returns the number of bytes of the answer.
fn send_request(address: SocketAddr, stream: &mut BufReader<TcpStream>) -> io::Result<u64> {
    let head = format!(
        "POST / HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{REQUEST}",
        REQUEST.len()
    );
    stream.get_mut().write_all(head.as_bytes())?;
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let (mut line, mut length, mut is_chunked) = (String::new(), 0, false);
    loop {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let header = line.trim_end().to_ascii_lowercase();
        match header.split_once(':') {
            None if header.is_empty() => break,
            None if !header.ends_with("200 ok") => return Err(wrong(&header)),
            Some(("content-length", value)) => length = value.trim().parse().unwrap_or(0),
            Some(("transfer-encoding", _)) => is_chunked = true,
            _ => {}
        }
    }
    if is_chunked {
        return Err(wrong("an answer in chunks"));
    }
    let mut answer = vec![0; length];
    stream.read_exact(&mut answer)?;
    let ends = [&answer[..length.min(ENDS_BYTES)], &answer[length.saturating_sub(ENDS_BYTES)..]];
    let is_success = ends.into_iter().any(has_success);
    if is_success { Ok(length as u64) } else { Err(wrong("an answer without success")) }
}

fn has_success(part: &[u8]) -> bool {
    let dense: Vec<u8> = part.iter().copied().filter(|o| !o.is_ascii_whitespace()).collect();
    dense.windows(SUCCESS.len()).any(|words| words == SUCCESS)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Answers as many requests as there are `answers`, each over a new connection after an answer
    /// without success, closes the connection if an answer is empty, and drops `stop_sender`
    /// afterwards.
    fn serve(listener: &TcpListener, answers: &[&str], stop_sender: Sender<()>) {
        let mut connection = None;
        for answer in answers {
            let mut stream =
                connection.take().unwrap_or_else(|| BufReader::new(listener.accept().unwrap().0));
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                assert!(stream.read_line(&mut head).unwrap() > 0, "the question has ended: {head}");
            }
            assert!(head.contains("POST / HTTP/1.1"), "{head}");
            stream.read_exact(&mut [0; REQUEST.len()]).unwrap();
            if !answer.is_empty() {
                let length = answer.len();
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
                stream.get_mut().write_all((head + answer).as_bytes()).unwrap();
                // A client that got another answer connects anew.
                connection = answer.contains(r#""result": 0"#).then_some(stream);
            }
        }
        drop(stop_sender);
    }

    #[test]
    fn answers_are_counted_and_failures_are_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (stop_sender, stop_receiver) = channel();
        let good = r#"[ { "arguments": { "x": [ [ 1, "now" ] ] }, "result": 0 } ]"#;
        let bad = r#"[ { "text": "no such command", "result": 2 } ]"#;
        let polls = std::thread::scope(|scope| {
            scope.spawn(|| serve(&listener, &[good, "", bad, good], stop_sender));
            poll(address, &stop_receiver)
        });
        assert_eq!((polls.answered, polls.octets), (2, 2 * good.len() as u64));
        assert!(polls.due >= 4 && polls.longest_s > 0.0, "{polls:?}");
        let words = words(polls, "godwit").unwrap();
        assert!(words.starts_with("godwit answered 2 of "), "{words}");
        assert_eq!(super::words(Polls::default(), "godwit"), None);
    }
}
