//! Errors of DCCP calls that applications make.

use std::fmt;
use std::time::Duration;

use base::ToolError;
use dccp::connection::{Connection, ConnectionState};
use dccp::endpoint::{Carrier, ConnectionKey};
use dccp::feature::Disagreement;
use dccp::header::{Reset, ResetCode};
use netio::NetError;

use crate::service::FinalReset;
use crate::{Peer, UDP_PORT};

/// Error of a DCCP call, by cause: errors of the peer contain its Reset, those of the environment
/// the action that failed.
#[derive(Debug)]
pub enum DccpError {
    /// Refusal of the connection by the peer, with a Reset.
    Refused {
        /// Peer that refused the connection.
        peer: Peer,
        /// Reset with which the peer answered the Request.
        reset: Reset,
    },
    /// Report of the network that no program at the peer accepts DCCP packets.
    Unreachable {
        /// Peer to which the connection was to be made.
        peer: Peer,
        /// Error that the network reported.
        cause: std::io::Error,
    },
    /// Reset with which the other end ended the connection.
    Reset(Reset),
    /// Reset with which this end ended the connection, because of a packet or because none came in
    /// time.
    Failed {
        /// Reset that this end sent to the other end.
        reset: Reset,
        /// State in which the connection ended.
        state: ConnectionState,
    },
    /// Feature negotiation that failed: one end insists on a feature for which both ends accept no
    /// common value.
    Disagreed {
        /// Feature without a common value, and the values that both ends accept.
        disagreement: Disagreement,
        /// Reset that ended the connection.
        reset: Reset,
        /// True if this end sent the Reset, false if the other end did.
        is_ours: bool,
    },
    /// Connection that is already closed.
    Closed,
    /// Time that passed without the awaited event; the connection is unchanged.
    TimedOut(Duration),
    /// Datagram that is longer than the path of the connection permits.
    TooLong {
        /// Length of the datagram, in bytes.
        len: usize,
        /// Largest length that the path permits, in bytes
        /// ([`crate::BlockingConnection::packet_bytes_max`]).
        max: usize,
    },
    /// Send queue of the connection that is full; the datagram was not queued.
    QueueFull,
    /// Peer whose address family has no socket in this endpoint.
    NoFamily(Peer),
    /// Peer with a link-local address, without the network interface that it needs.
    NoScope(Peer),
    /// Endpoint that has reached its largest number of connections.
    TooMany,
    /// Error of the kernel, with the action that failed.
    Net(NetError),
}

impl DccpError {
    /// Returns the error for a client whose connection the other end of `key` has reset before data
    /// came. `core` is the connection, while it still exists.
    pub fn from_refusal(key: &ConnectionKey, reset: Reset, core: Option<&Connection>) -> Self {
        let udp_port = match key.carrier {
            Carrier::Udp { remote_port, .. } => remote_port,
            Carrier::Ip => UDP_PORT,
        };
        let peer = Peer { address: key.remote, port: key.remote_port, udp_port };
        match FinalReset::new(reset, core).by_other_end() {
            Self::Reset(reset) => Self::Refused { peer, reset },
            error => error,
        }
    }

    /// Returns the error for a connection that the other end has reset; `core` is the connection,
    /// while it still exists.
    pub fn from_reset(reset: Reset, core: Option<&Connection>) -> Self {
        FinalReset::new(reset, core).by_other_end()
    }

    /// Returns the error for a connection that this end has ended
    /// ([`dccp::connection::ConnectionEvent::Failed`]).
    pub fn from_failure(reset: Reset, core: Option<&Connection>) -> Self {
        FinalReset::new(reset, core).by_this_end()
    }
}

impl fmt::Display for DccpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { peer, reset } => {
                write!(f, "{peer} refused the connection: {}", explained(*reset))
            }
            Self::Unreachable { peer, cause } => {
                write!(f, "no program accepts DCCP packets at {peer}: {cause}")
            }
            Self::Reset(reset) => {
                write!(f, "the other end reset the connection: {}", explained(*reset))
            }
            Self::Failed { reset, state } => match (reset.code, state) {
                (ResetCode::Aborted, ConnectionState::PartOpen) => f.write_str(
                    "connection given up: the server answered the Request and sent nothing \
                     afterwards",
                ),
                (ResetCode::Aborted, ConnectionState::Respond) => {
                    f.write_str("connection given up: the client did not answer the Response")
                }
                (ResetCode::Aborted, _) => {
                    f.write_str("connection given up: the other end sent nothing for too long")
                }
                _ => write!(
                    f,
                    "connection ended because of a packet from the other end: {}",
                    explained(*reset)
                ),
            },
            Self::Disagreed { disagreement, reset, is_ours } => {
                let who = if *is_ours { "this end" } else { "the other end" };
                let Reset { code, .. } = reset;
                let number = code.number();
                write!(
                    f,
                    "no agreement on {disagreement}; {who} ended the connection (Reset code \
                     {number}, {code})"
                )
            }
            Self::Closed => f.write_str("the connection is closed"),
            Self::TimedOut(after) => write!(f, "timed out after {} s", after.as_secs_f64()),
            Self::TooLong { len, max } => {
                write!(f, "a datagram of {len} bytes is too long: the path accepts at most {max}")
            }
            Self::QueueFull => f.write_str("the send queue is full"),
            Self::NoFamily(peer) => {
                write!(f, "the endpoint has no socket of the address family of {peer}")
            }
            Self::NoScope(Peer { address, .. }) => {
                write!(f, "{address} is link-local: add its interface, as in {address}%eth0")
            }
            Self::TooMany => f.write_str("the endpoint accepts no more connections"),
            Self::Net(error) => error.fmt(f),
        }
    }
}

/// Returns the meaning of a Reset as a sentence for users.
fn explained(reset: Reset) -> String {
    let code = reset.code;
    let meaning = match code {
        ResetCode::ConnectionRefused => "no server listens at this DCCP port",
        ResetCode::BadServiceCode => "no server listens at this port for this service code",
        ResetCode::TooBusy => "the server has too many connections",
        ResetCode::NoConnection => {
            "no server listens at that port, or the peer does not know the connection"
        }
        ResetCode::Aborted => {
            "the sender gave up, for instance because it received nothing for a long time"
        }
        ResetCode::OptionError | ResetCode::MandatoryError => {
            let [option, ..] = reset.data;
            return format!("{code} (Reset code {}), about option {option}", code.number());
        }
        ResetCode::PacketError => {
            let [packet_type, ..] = reset.data;
            let number = code.number();
            return format!("{code} (Reset code {number}), about a packet of type {packet_type}");
        }
        _ => return format!("{code} (Reset code {})", code.number()),
    };
    format!("{meaning} (Reset code {}, {code})", code.number())
}

impl std::error::Error for DccpError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Net(error) => Some(error),
            Self::Unreachable { cause, .. } => Some(cause),
            _ => None,
        }
    }
}

impl From<DccpError> for ToolError {
    fn from(error: DccpError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<NetError> for DccpError {
    fn from(error: NetError) -> Self {
        Self::Net(error)
    }
}
