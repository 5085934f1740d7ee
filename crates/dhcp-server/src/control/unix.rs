//! Unix control sockets: a client writes one command and gets one answer, and the connection closes
//! (Kea's protocol). A client that begins with a method of HTTP instead gets HTTP, so that `curl
//! --unix-socket` works, too.
//!
//! The socket's file belongs to the process that holds the lock on the lock file next to it, as
//! with Kea. This distinguishes a file that a crash left from one that a running server uses.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixDatagram, UnixListener as StdListener};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::{Value, json};
use tokio::net::{UnixListener, UnixStream};

use super::budget::{Budget, IncomingCommand, OutgoingAnswer, TooLarge};
use super::connections::ConnectionRegistration;
use super::http::{self, HttpControl};
use super::parse::parse;
use super::progress::{ControlConnectionPhase, ControlConnectionProgress};
use super::requests::ControlRequest;
use super::scanner::{CommandScanner, ValueProgress};

/// Mode of a Unix control socket's file: owner and group may send commands.
const MODE: u32 = 0o660;
/// Number of bytes per read from a Unix control socket.
const READ_BYTES: usize = 16 << 10;

/// File of a Unix control socket, removed when the value is dropped.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    lock_path: PathBuf,
    /// Lock file, locked for as long as this server has the socket.
    _lock: File,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // The lock is still held: no other server's files are removed.
        fs::remove_file(&self.path).ok();
        fs::remove_file(&self.lock_path).ok();
    }
}

/// Opens the Unix control socket `path` and replaces a socket that a dead server has left at this
/// path.
///
/// # Errors
///
/// A text: another server uses the socket, another kind of file has its name, or the folder's
/// permissions are insufficient.
pub(super) fn open(path: &Path) -> Result<(UnixListener, SocketFile), String> {
    let on = |tried: &str, path: &Path, cause: &dyn std::fmt::Display| {
        format!("cannot {tried} {}: {cause}", path.display())
    };
    let mut lock_path = path.as_os_str().to_owned();
    lock_path.push(".lock");
    let lock_path = PathBuf::from(lock_path);
    let lock = lock(&lock_path).map_err(|cause| on("lock", &lock_path, &cause))?;
    remove_stale(path).map_err(|cause| on("replace", path, &cause))?;
    let listener = StdListener::bind(path).map_err(|cause| on("listen at", path, &cause))?;
    let file = SocketFile { path: path.to_owned(), lock_path, _lock: lock };
    fs::set_permissions(path, Permissions::from_mode(MODE))
        .map_err(|cause| on("set the mode of", path, &cause))?;
    listener.set_nonblocking(true).map_err(|cause| on("listen at", path, &cause))?;
    let listener =
        UnixListener::from_std(listener).map_err(|cause| on("listen at", path, &cause))?;
    Ok((listener, file))
}

fn lock(path: &Path) -> Result<File, String> {
    // The lock's last owner may remove the file between opening and locking it.
    for _ in 0..8 {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(netio::file::NO_FOLLOW | netio::file::NON_BLOCKING)
            .open(path)
            .map_err(|cause| cause.to_string())?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err("in use by another server".to_owned()),
            Err(TryLockError::Error(cause)) => return Err(cause.to_string()),
        }
        let own = file.metadata().map_err(|cause| cause.to_string())?;
        // The file is removed with the socket, so it must be ours: no server writes into a lock
        // file.
        if !own.is_file() || own.len() > 0 {
            return Err("the existing file is not a lock".to_owned());
        }
        if fs::metadata(path)
            .is_ok_and(|there| (there.dev(), there.ino()) == (own.dev(), own.ino()))
        {
            return Ok(file);
        }
    }
    Err("other servers create and remove it".to_owned())
}

/// Removes the socket `path` if it has no listener, and nothing else.
fn remove_stale(path: &Path) -> Result<(), String> {
    match fs::symlink_metadata(path) {
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(()),
        Err(cause) => return Err(cause.to_string()),
        Ok(there) if !there.file_type().is_socket() => {
            return Err("the existing file is not a socket".to_owned());
        }
        Ok(_) => {}
    }
    // A server that takes no lock may be listening. A datagram socket learns that without a wait: a
    // stream would wait for a server that accepts no connections.
    match UnixDatagram::unbound().and_then(|probe| probe.connect(path)) {
        Err(cause) if cause.kind() == ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(|cause| cause.to_string())
        }
        Err(cause) if cause.kind() == ErrorKind::PermissionDenied => Err(cause.to_string()),
        // Any other error says that the socket is of another type.
        Err(_) | Ok(()) => Err("another server listens there".to_owned()),
    }
}

/// Serves one connection of a Unix control socket until it ends.
pub(super) async fn serve(
    stream: UnixStream,
    registration: ConnectionRegistration,
    control: HttpControl,
) {
    let progress = &registration.progress;
    let end = tokio::select! {
        // If the client has gone, there is no one to report the error to.
        end = converse(&stream, progress, &control) => end.unwrap_or(ConversationEnd::ToTheEnd),
        () = progress.wait_for_eviction() => ConversationEnd::ToTheEnd,
        () = progress.wait_until_overdue() => {
            if progress.phase() == ControlConnectionPhase::Receiving {
                tracing::info!(
                    target: "commands",
                    id = "COMMAND_SOCKET_CONNECTION_TIMEOUT",
                    "a client of the control socket did not send its command in time; connection \
                     closed"
                );
                stream.try_write(timed_out(progress.octets()).as_bytes()).ok();
            }
            ConversationEnd::ToTheEnd
        }
    };
    if let ConversationEnd::Http(ahead) = end {
        http::serve_http(Box::new(stream), ahead, progress, control).await;
    }
}

/// Outcome of a conversation at a Unix control socket.
enum ConversationEnd {
    /// Conversation that is over, after which the connection closes.
    ToTheEnd,
    /// Conversation that continues with HTTP, with the bytes that the client has sent.
    Http(Vec<u8>),
}

fn timed_out(octets: u64) -> String {
    let discarded = match octets {
        0 => String::new(),
        _ => format!(", discarded partial command of {octets} bytes"),
    };
    failure(&format!("Connection over control channel timed out{discarded}"))
}

/// Returns the error for a control client whose answer of `len` bytes exceeds the memory budget for
/// answers.
pub(super) fn no_room(len: usize) -> String {
    format!(
        "answers that clients have not read yet leave no room for this one of {len} bytes; request \
         less, for example with lease4-get-page, or try again"
    )
}

pub(super) fn failure(text: &str) -> String {
    json!({ "result": 1, "text": text }).to_string()
}

async fn converse(
    stream: &UnixStream,
    progress: &ControlConnectionProgress,
    control: &HttpControl,
) -> io::Result<ConversationEnd> {
    let mut read = vec![0; READ_BYTES];
    let count = receive(stream, progress, &mut read).await?;
    // JSON begins with a bracket, methods of HTTP with a letter.
    if read[0].is_ascii_uppercase() {
        read.truncate(count);
        return Ok(ConversationEnd::Http(read));
    }
    let answer = match command(stream, progress, &control.budget, read, count).await? {
        Ok(command) => {
            #[cfg(test)]
            crate::panics::planted("unix");
            progress.enter(ControlConnectionPhase::Working);
            let answer =
                control.request_sender.send_request(ControlRequest::Command(command)).await;
            answer.unwrap_or_else(|| {
                failure(
                    "the server did not carry out the command: it is busy or about to end; try \
                     again",
                )
            })
        }
        Err(text) => failure(&text),
    };
    let answer = OutgoingAnswer::new(&control.budget, answer, |len| failure(&no_room(len)));
    progress.enter(ControlConnectionPhase::Answering);
    let mut rest = answer.as_ref();
    while !rest.is_empty() {
        stream.writable().await?;
        match stream.try_write(rest) {
            Ok(count) => {
                progress.sent(count);
                rest = &rest[count..];
            }
            Err(cause) if cause.kind() == ErrorKind::WouldBlock => {}
            Err(cause) => return Err(cause),
        }
    }
    Ok(ConversationEnd::ToTheEnd)
}

/// Receives the next bytes from a control client and returns their number.
async fn receive(
    stream: &UnixStream,
    progress: &ControlConnectionProgress,
    read: &mut [u8],
) -> io::Result<usize> {
    loop {
        stream.readable().await?;
        match stream.try_read(read) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                progress.received(count);
                return Ok(count);
            }
            Err(cause) if cause.kind() == ErrorKind::WouldBlock => {}
            Err(cause) => return Err(cause),
        }
    }
}

/// Receives a control command, whose first `count` bytes have arrived in `read` already. Returns
/// the command, or the text of the error for the client.
async fn command(
    stream: &UnixStream,
    progress: &ControlConnectionProgress,
    budget: &Rc<Budget>,
    mut read: Vec<u8>,
    mut count: usize,
) -> io::Result<Result<Value, String>> {
    let mut command = IncomingCommand::new(budget);
    let mut feed = CommandScanner::default();
    loop {
        let octets = &read[..count];
        let (octets, is_complete) = match feed.take(octets) {
            ValueProgress::Open => (octets, false),
            ValueProgress::Complete(end) => (&octets[..end], true),
            ValueProgress::Wrong => return Ok(Err("a command must be a JSON map".to_owned())),
        };
        if command.put(octets) == Err(TooLarge) {
            return Ok(Err("the command is too large".to_owned()));
        }
        if is_complete {
            let parsed = parse(command.octets());
            return Ok(parsed.map_err(|cause| format!("the command is not valid JSON: {cause}")));
        }
        count = receive(stream, progress, &mut read).await?;
    }
}
