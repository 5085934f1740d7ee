//! Why a call of an application failed.

use std::fmt;
use std::time::Duration;

use dccp::header::{Reset, ResetCode};
use netio::NetError;

use crate::Peer;

/// What went wrong, by blame: the peer's come with its Reset, the environment's with what was tried.
#[derive(Debug)]
pub enum LinkError {
    /// The other end said no to the connection.
    Refused {
        /// Whom it was asked of.
        peer: Peer,
        /// Its answer.
        reset: Reset,
    },
    /// The host of the other end says that nothing takes such packets there.
    Unreachable {
        /// Whom it was about.
        peer: Peer,
        /// What the path said.
        cause: std::io::Error,
    },
    /// The connection was ended by a Reset of either end.
    Reset(Reset),
    /// The connection is closed.
    Closed,
    /// Nothing happened in time; the connection is as it was.
    TimedOut(Duration),
    /// The datagram is longer than the path takes.
    TooLong {
        /// Octets of the datagram.
        len: usize,
        /// Octets that it may have ([`crate::Connection::packet_bytes_max`]).
        max: usize,
    },
    /// The send queue is full.
    QueueFull,
    /// The carrier has no socket of the peer's address family.
    NoFamily(Peer),
    /// The peer's address is link-local, and the interface that leads there is not said.
    NoScope(Peer),
    /// There are as many connections as the endpoint takes.
    TooMany,
    /// The kernel refused something.
    Net(NetError),
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { peer, reset } => {
                write!(f, "{peer} refused the connection: {}", explained(*reset))
            }
            Self::Unreachable { peer, cause } => {
                write!(f, "nothing takes DCCP packets at {peer}: {cause}")
            }
            Self::Reset(reset) => write!(f, "the connection was reset: {}", explained(*reset)),
            Self::Closed => f.write_str("the connection is closed"),
            Self::TimedOut(after) => write!(f, "nothing within {} s", after.as_secs_f64()),
            Self::TooLong { len, max } => {
                write!(f, "a datagram of {len} octets; the path takes {max}")
            }
            Self::QueueFull => f.write_str("the send queue is full"),
            Self::NoFamily(peer) => write!(f, "no socket of the address family of {peer}"),
            Self::NoScope(Peer { address, .. }) => {
                write!(
                    f,
                    "{address} is link-local: say through which interface, as in {address}%eth0"
                )
            }
            Self::TooMany => f.write_str("as many connections as the endpoint takes"),
            Self::Net(error) => error.fmt(f),
        }
    }
}

/// A Reset in words that help.
fn explained(reset: Reset) -> String {
    let code = reset.code;
    let meaning = match code {
        ResetCode::ConnectionRefused => "nobody listens at this DCCP port",
        ResetCode::BadServiceCode => "nobody listens there for this service code",
        ResetCode::TooBusy => "it has too many connections",
        ResetCode::NoConnection => "it knows nothing of the connection",
        ResetCode::Aborted => "given up, for instance because nothing came for a long time",
        _ => return format!("{code} (Reset code {})", code.number()),
    };
    format!("{meaning} (Reset code {}, {code})", code.number())
}

impl std::error::Error for LinkError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Net(error) => Some(error),
            Self::Unreachable { cause, .. } => Some(cause),
            _ => None,
        }
    }
}

impl From<NetError> for LinkError {
    fn from(error: NetError) -> Self {
        Self::Net(error)
    }
}
