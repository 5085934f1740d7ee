//! TCP flow of the fairness measurement: two threads of this program, each in its network
//! namespace, over the kernel's TCP.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use base::{ToolError, ToolResult};
use netio::NetError;
use netio::congestion;

/// TCP port at which the receiver listens.
const PORT: u16 = 5001;
/// Bytes that one call writes to the TCP socket or reads from it.
const CHUNK_BYTES: usize = 1 << 16;
/// Longest time that the TCP receiver waits for its sender and for data, and that the sender waits
/// to write.
const PATIENCE: Duration = Duration::from_secs(10);
/// File with the names of the kernel's TCP congestion controls.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Checks that the kernel has the TCP congestion control `algorithm` and that this process may use
/// it.
///
/// # Errors
///
/// Returns the reason, with the algorithms that the kernel has.
pub(super) fn check(algorithm: &str) -> ToolResult<()> {
    let socket = TcpListener::bind("localhost:0")
        .map_err(|error| ToolError::Failed(format!("cannot open a TCP socket: {error}")))?;
    congestion::set(&socket, algorithm).map_err(|error| refused(&error))
}

/// Returns the error for a TCP congestion control that the kernel refused, with the reason and the
/// names of those that the kernel has.
fn refused(error: &NetError) -> ToolError {
    let why = match error.cause().kind() {
        ErrorKind::NotFound => "this kernel has no congestion control of that name",
        ErrorKind::PermissionDenied => "this process may not select it",
        _ => "",
    };
    let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
    let available = std::fs::read_to_string(AVAILABLE);
    let available = available.as_deref().map_or("unknown", str::trim);
    ToolError::Failed(format!("{error}{why}; available: {available}"))
}

/// Receives the data of one TCP connection to `address` for `time`. Returns the rate in bits per
/// second, counted from the first byte.
pub(super) fn receive(
    namespace: &Path,
    address: &str,
    tell: &mpsc::Sender<()>,
    time: Duration,
) -> ToolResult<f64> {
    netio::namespace::enter(namespace)?;
    let cannot = |error| ToolError::Failed(format!("cannot receive over TCP: {error}"));
    let listener = TcpListener::bind((address, PORT)).map_err(cannot)?;
    listener.set_nonblocking(true).map_err(cannot)?;
    tell.send(()).ok();
    let mut stream = accept(&listener).map_err(cannot)?;
    stream.set_nonblocking(false).map_err(cannot)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(cannot)?;
    let mut buffer = vec![0; CHUNK_BYTES];
    let (mut begun, mut bytes) = (None, 0);
    loop {
        let read = stream.read(&mut buffer).map_err(cannot)?;
        let since = *begun.get_or_insert_with(Instant::now);
        // Data that comes later was queued: it does not belong to the measured time.
        if read == 0 || since.elapsed() >= time {
            let seconds = since.elapsed().min(time).as_secs_f64();
            return Ok(if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 });
        }
        bytes += read as u64;
    }
}

fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    let until = Instant::now() + PATIENCE;
    loop {
        match listener.accept() {
            Ok((stream, _)) => return Ok(stream),
            Err(error) if error.kind() == ErrorKind::WouldBlock && Instant::now() < until => {
                thread::park_timeout(Duration::from_millis(1));
            }
            Err(error) => return Err(error),
        }
    }
}

/// Sends to `address` over TCP for `time`, as fast as the congestion control `algorithm` permits.
/// Returns the congestion control's name that the kernel reports at the end.
pub(super) fn send(
    namespace: &Path,
    address: &str,
    algorithm: &str,
    time: Duration,
) -> ToolResult<String> {
    netio::namespace::enter(namespace)?;
    let cannot = |error| ToolError::Failed(format!("cannot send over TCP: {error}"));
    let mut stream = TcpStream::connect((address, PORT)).map_err(cannot)?;
    congestion::set(&stream, algorithm).map_err(|error| refused(&error))?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(cannot)?;
    let chunk = vec![0x5a; CHUNK_BYTES];
    let until = Instant::now() + time;
    while Instant::now() < until {
        match stream.write(&chunk) {
            Ok(_) => {}
            // The receiver has read for its whole time.
            Err(error)
                if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) =>
            {
                break;
            }
            Err(error) => return Err(cannot(error)),
        }
    }
    let used = congestion::get(&stream)?;
    stream.shutdown(Shutdown::Write).ok();
    Ok(used)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_lacks_is_refused_with_what_it_has() {
        check("reno").unwrap();
        let message = check("nonesuch").unwrap_err().to_string();
        assert!(
            message.contains("nonesuch") && message.contains("no congestion control of that name"),
            "{message}"
        );
        assert!(message.contains("available: ") && message.contains("reno"), "{message}");
    }
}
