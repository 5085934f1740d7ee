//! Control socket of a running link, a Unix socket: one line of JSON each way, then the connection
//! closes. `{"command":"show"}` and
//! `{"command":"change","direction":"forward","words":"delay 10ms"}` are answered with
//! `{"result":"done","report":…}` or `{"result":"refused","problems":…}`.
//!
//! Only the user who started the link may use the socket. A slow client delays other clients and
//! reports for at most a second, and never packets.

use std::fs::{self, Permissions};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base::{ToolError, ToolResult};
use serde::{Deserialize, Serialize};

use crate::bridge::{Bridge, DirectionSelector};
use crate::{LinkReport, parse_words};

/// File mode of the control socket: only its owner may send commands.
const MODE: u32 = 0o600;
/// Longest time that a client of the control socket may be silent.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest command to the control socket, in bytes.
const COMMAND_BYTES_MAX: u64 = 64 << 10;

/// Command that a client sends to the control socket of a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "lowercase")]
enum LinkCommand {
    Show,
    Change { direction: DirectionSelector, words: String },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "lowercase")]
enum LinkCommandAnswer {
    Done { report: LinkReport },
    Refused { problems: String },
}

/// Control socket of a running link, at which it accepts commands. The socket's file is removed
/// when the value is dropped.
#[derive(Debug)]
pub(crate) struct LinkControlSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl LinkControlSocket {
    /// Listens at `path`, and replaces a socket file that an ended link has left there.
    pub(crate) fn open(path: &Path) -> ToolResult<Self> {
        remove_stale(path)?;
        let path_text = path.display();
        let listener =
            UnixListener::bind(path).map_err(ToolError::cannot("listen at", path_text))?;
        let listener = Self { listener, path: path.to_owned() };
        fs::set_permissions(path, Permissions::from_mode(MODE))
            .map_err(ToolError::cannot("set the mode of", path.display()))?;
        let unblocked = listener.listener.set_nonblocking(true);
        unblocked.map_err(ToolError::cannot("listen at", path.display()))?;
        Ok(listener)
    }

    /// Reads one client's command from the control socket and answers it.
    pub(crate) fn answer(&self, bridge: &Bridge) {
        // The client sees errors of the connection itself.
        if let Ok((stream, _)) = self.listener.accept() {
            handle_client(&stream, bridge).ok();
        }
    }
}

impl AsFd for LinkControlSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for LinkControlSocket {
    fn drop(&mut self) {
        fs::remove_file(&self.path).ok();
    }
}

/// Removes a socket file that has no listener; reports an error for any other file.
fn remove_stale(path: &Path) -> ToolResult<()> {
    let path_text = path.display();
    match fs::symlink_metadata(path) {
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(()),
        Err(cause) => return Err(ToolError::cannot("inspect", path_text)(cause)),
        Ok(there) if !there.file_type().is_socket() => {
            return Err(ToolError::Usage(format!(
                "{path_text}: the existing file is not a socket"
            )));
        }
        Ok(_) => {}
    }
    match UnixStream::connect(path) {
        Err(cause) if cause.kind() == ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(ToolError::cannot("replace", path_text))
        }
        Err(cause) => Err(ToolError::cannot("inspect", path_text)(cause)),
        Ok(_) => Err(ToolError::Usage(format!(
            "{path_text}: another emulated link already listens at this socket"
        ))),
    }
}

fn handle_client(stream: &UnixStream, bridge: &Bridge) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(stream.take(COMMAND_BYTES_MAX)).read_line(&mut line)?;
    let answer = match serde_json::from_str(&line) {
        Ok(question) => execute(question, bridge),
        Err(cause) => LinkCommandAnswer::Refused { problems: format!("invalid command: {cause}") },
    };
    put(stream, &answer)
}

fn execute(question: LinkCommand, bridge: &Bridge) -> LinkCommandAnswer {
    if let LinkCommand::Change { direction, words } = question {
        match parse_words(&words) {
            Ok(settings) => bridge.change(direction, &settings),
            Err(error) => return LinkCommandAnswer::Refused { problems: error.to_string() },
        }
    }
    // Orders are carried out one after the other, so the change is in force when the report
    // arrives.
    match bridge.report() {
        Some(report) => LinkCommandAnswer::Done { report },
        None => LinkCommandAnswer::Refused { problems: "the link is ending".to_owned() },
    }
}

fn put(mut stream: &UnixStream, value: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_string(value).expect("plain data");
    text.push('\n');
    stream.write_all(text.as_bytes())
}

/// Requests a report from the running link whose control socket is `socket`.
///
/// # Errors
///
/// No process listens there, or the answer is not that of a link.
pub fn show(socket: &Path) -> ToolResult<LinkReport> {
    send_command(socket, &LinkCommand::Show)
}

/// Changes the settings of the running link whose control socket is `socket`: `words` apply from
/// now on, and settings that they do not name have their defaults. The report contains the present
/// settings.
///
/// # Errors
///
/// The errors of [`show`]; the words are wrong.
pub fn change(socket: &Path, direction: DirectionSelector, words: &str) -> ToolResult<LinkReport> {
    // Wrong words are reported even if no link listens.
    parse_words(words)?;
    send_command(socket, &LinkCommand::Change { direction, words: words.to_owned() })
}

fn send_command(socket: &Path, question: &LinkCommand) -> ToolResult<LinkReport> {
    let socket_text = socket.display();
    let talk = || -> io::Result<String> {
        let stream = UnixStream::connect(socket)?;
        put(&stream, question)?;
        let mut answer = String::new();
        (&stream).read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = talk().map_err(ToolError::cannot("query the link at", &socket_text))?;
    match serde_json::from_str(&answer) {
        Ok(LinkCommandAnswer::Done { report }) => Ok(report),
        Ok(LinkCommandAnswer::Refused { problems }) => Err(ToolError::Usage(problems)),
        Err(cause) => {
            let text = format!("cannot query the link at {socket_text}: invalid answer: {cause}");
            Err(ToolError::Failed(text))
        }
    }
}

#[cfg(test)]
mod tests {
    use testkit::TempFolder;

    use super::*;

    #[test]
    fn commands_are_lines_that_others_can_write() {
        let read = |text: &str| serde_json::from_str::<LinkCommand>(text);
        assert_eq!(read(r#"{"command":"show"}"#).unwrap(), LinkCommand::Show);
        let text = r#"{"command":"change","direction":"both","words":"delay 10ms"}"#;
        let change = LinkCommand::Change {
            direction: DirectionSelector::Both,
            words: "delay 10ms".to_owned(),
        };
        assert_eq!(read(text).unwrap(), change);
        assert_eq!(serde_json::to_string(&change).unwrap(), text);
        read(r#"{"command":"change","direction":"up","words":""}"#).unwrap_err();
    }

    #[test]
    fn what_a_link_left_is_replaced_and_nothing_else_is() {
        let folder = TempFolder::new("netem-socket");
        let path = folder.path().join("socket");
        drop(UnixListener::bind(&path).unwrap());
        // A process that another test is about to start holds a copy of the socket until it starts.
        while UnixStream::connect(&path).is_ok() {
            std::thread::yield_now();
        }
        let open = LinkControlSocket::open(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, MODE);
        let busy = LinkControlSocket::open(&path).unwrap_err().to_string();
        assert!(busy.contains("another emulated link"), "{busy}");
        drop(open);
        fs::write(&path, "text").unwrap();
        let other = LinkControlSocket::open(&path).unwrap_err();
        assert!(other.exit_code() == 2 && other.to_string().contains("not a socket"), "{other}");
        fs::remove_file(&path).unwrap();
        let nobody = show(&path).unwrap_err();
        assert!(
            nobody.exit_code() == 1 && nobody.to_string().contains("query the link"),
            "{nobody}"
        );
    }
}
