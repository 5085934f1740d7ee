//! An end of a world that behaves on the wire as the DCCP of Linux 6.1: silent after the handshake
//! until data comes, deaf to Changes of server-priority features in OPEN, and strict about the Confirms of its own
//! Changes. It stands between an endpoint of ours and the links.

use dccp::connection::reply_without_connection;
use dccp::feature::{Kind, Rule, number};
use dccp::header::{Header, Packet, PacketType, Reset, ResetCode};
use dccp::option::{DccpOption, Options};

use crate::worlds::world::SECOND;

/// Changes in each Request and Response: no short numbers, no ECN. Both are Mandatory.
const CHANGES: [u8; 10] =
    [1, 32, 4, number::ALLOW_SHORT_SEQNOS, 0, 1, 32, 4, number::ECN_INCAPABLE, 1];
/// Time to the first repetition of a Close or CloseReq; each further one takes twice as long.
const CLOSE_NS: u64 = 3 * SECOND;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Handshake,
    Open,
    /// It has reset the connection.
    Gone,
}

/// What becomes of a packet.
#[derive(Debug)]
pub(crate) enum Passage {
    /// It goes on with these options.
    Passes(Vec<u8>),
    Dropped,
    /// It is answered by this Reset, and goes no further.
    Refused(Header),
}

/// The stack, with its one connection.
#[derive(Debug, Default)]
pub(crate) struct LinuxStack {
    is_server: bool,
    phase: Phase,
    has_heard_data: bool,
    close_due_ns: u64,
    close_wait_ns: u64,
}

impl LinuxStack {
    pub(crate) fn new(is_server: bool) -> Self {
        Self { is_server, ..Self::default() }
    }

    /// A packet that our endpoint sends in its name.
    pub(crate) fn outgoing(&mut self, now_ns: u64, packet: &Packet<'_>) -> Passage {
        use PacketType::{Ack, Close, CloseReq, Request, Response};
        let packet_type = packet.header.packet_type;
        let is_quiet = self.is_server && !self.has_heard_data && packet_type == Ack;
        if self.phase == Phase::Gone || is_quiet {
            return Passage::Dropped;
        }
        match packet_type {
            // A client with CCIDs to choose from leaves Ack Vectors to its server.
            Request => {
                let options = without(packet.options, |feature| feature == number::SEND_ACK_VECTOR);
                return Passage::Passes([&options[..], &CHANGES].concat());
            }
            Response => return Passage::Passes([packet.options, &CHANGES].concat()),
            Close | CloseReq => {
                if now_ns < self.close_due_ns {
                    return Passage::Dropped;
                }
                self.close_wait_ns = (2 * self.close_wait_ns).max(CLOSE_NS);
                self.close_due_ns = now_ns + self.close_wait_ns;
            }
            _ if !self.is_server => self.phase = Phase::Open,
            _ => (),
        }
        Passage::Passes(without(packet.options, is_server_priority))
    }

    /// A packet that comes for it.
    pub(crate) fn incoming(&mut self, packet: &Packet<'_>) -> Passage {
        use PacketType::{Ack, Data, DataAck, Request, Reset as ResetType};
        let packet_type = packet.header.packet_type;
        match self.phase {
            Phase::Gone => return Passage::Dropped,
            Phase::Handshake if self.is_server => match packet_type {
                Request | ResetType => return Passage::Passes(packet.options.to_vec()),
                Ack | DataAck if has_confirms(packet.options) => self.phase = Phase::Open,
                Ack | DataAck => return self.refuse(packet, ResetCode::TooBusy),
                _ => return self.refuse(packet, ResetCode::PacketError),
            },
            Phase::Handshake => return Passage::Passes(packet.options.to_vec()),
            Phase::Open => (),
        }
        self.has_heard_data |= matches!(packet_type, Data | DataAck);
        Passage::Passes(without(packet.options, is_server_priority))
    }

    fn refuse(&mut self, packet: &Packet<'_>, code: ResetCode) -> Passage {
        self.phase = Phase::Gone;
        let header = reply_without_connection(packet, Reset::plain(code));
        Passage::Refused(header.expect("no answer to a Reset"))
    }
}

fn is_server_priority(feature: u8) -> bool {
    Kind::of(feature).is_some_and(|kind| kind.rule == Rule::ServerPriority)
}

/// Returns whether both Changes are confirmed.
fn has_confirms(options: &[u8]) -> bool {
    [number::ALLOW_SHORT_SEQNOS, number::ECN_INCAPABLE].iter().all(|wanted| {
        Options::new(options).any(|raw| match raw.option {
            DccpOption::Feature { kind, feature, .. } => feature == *wanted && !kind.is_change(),
            _ => false,
        })
    })
}

/// The options without Changes of certain features and the Mandatory before those.
fn without(options: &[u8], is_ignored: impl Fn(u8) -> bool) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut mandatory = false;
    for raw in Options::new(options) {
        if raw.option == DccpOption::Mandatory {
            mandatory = true;
            continue;
        }
        let is_dropped = matches!(raw.option, DccpOption::Feature { kind, feature, .. }
            if kind.is_change() && is_ignored(feature));
        if !is_dropped {
            if mandatory {
                kept.push(dccp::option::number::MANDATORY);
            }
            kept.push(raw.number);
            if raw.number >= 32 {
                kept.push(raw.value.len() as u8 + 2);
                kept.extend(raw.value);
            }
        }
        mandatory = false;
    }
    kept
}
