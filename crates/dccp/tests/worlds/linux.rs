//! End of a world that behaves on the wire like the DCCP of Linux 6.1: it sends nothing after the
//! handshake until data comes, ignores Changes of server-priority features in OPEN, and requires
//! Confirms of its own Changes. It rewrites packets between an endpoint of this crate and the
//! links.

use dccp::connection::reply_without_connection;
use dccp::feature::{FeatureProperties, ReconciliationRule, number};
use dccp::header::{DccpHeader, DccpPacket, PacketType, Reset, ResetCode};
use dccp::option::{DccpOption, DccpOptionIterator};

use crate::worlds::world::SECOND;

/// Change options in each Request and Response of the stack: no short sequence numbers, no ECN.
/// Both are Mandatory.
const CHANGES: [u8; 10] =
    [1, 32, 4, number::ALLOW_SHORT_SEQNOS, 0, 1, 32, 4, number::ECN_INCAPABLE, 1];
/// Features that an end with CCID 3 alone insists on in each Request and Response: feature 192
/// (Send Loss Event Rate) both ways, which only CCID 3 has.
const INSISTS: [u8; 10] =
    [1, 32, 4, number::SEND_LOSS_EVENT_RATE, 1, 1, 34, 4, number::SEND_LOSS_EVENT_RATE, 1];
/// Change options of the CCID for the data of both directions, which an end with CCID 3 alone adds.
const WANTS_CCID_3: [u8; 8] = [32, 4, number::CCID, 3, 34, 4, number::CCID, 3];
/// Time to the first repetition of a Request, a Close or a CloseReq; each further one takes twice
/// as long.
const REPEAT_NS: u64 = 3 * SECOND;

/// Kind of options by which an end with CCID 3 alone requests it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ccid3RequestMethod {
    ByName,
    ByFeature,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LinuxConnectionPhase {
    #[default]
    Handshake,
    Open,
    /// Phase after the stack has reset the connection.
    Reset,
}

/// Treatment of a packet by the stack of Linux.
#[derive(Debug)]
pub(crate) enum PacketTreatment {
    /// Packet that goes on with these options.
    Passes(Vec<u8>),
    Dropped,
    /// Packet that the stack answers with this Reset, and that goes no further.
    Refused(DccpHeader),
}

/// Stack that behaves like that of Linux 6.1, with its one connection.
#[derive(Debug, Default)]
pub(crate) struct LinuxStack {
    is_server: bool,
    /// Way in which a stack with CCID 3 alone requests it: by name, or by its features alone.
    ccid_3_alone: Option<Ccid3RequestMethod>,
    /// Numbers of the features that the Changes in the stack's Response concern: the packet that
    /// ends the handshake must confirm each of them (RFC 4340 §6.6.1).
    changed_features: Vec<u8>,
    phase: LinuxConnectionPhase,
    has_heard_data: bool,
    /// Type of the packet that the stack repeats until an answer comes.
    repeated: Option<PacketType>,
    repeat_due_ns: u64,
    repeat_wait_ns: u64,
}

impl LinuxStack {
    pub(crate) fn new(is_server: bool, ccids: &[u8], asking: Ccid3RequestMethod) -> Self {
        let ccid_3_alone = (ccids == [3]).then_some(asking);
        Self { is_server, ccid_3_alone, ..Self::default() }
    }

    /// Returns the options of the stack's Request or Response.
    fn asking(&mut self, options: &[u8]) -> Vec<u8> {
        let wanted: &[u8] = match self.ccid_3_alone {
            Some(Ccid3RequestMethod::ByName) => &WANTS_CCID_3,
            Some(Ccid3RequestMethod::ByFeature) | None => &[],
        };
        let is_replaced = |feature| matches!(feature, number::CCID | number::SEND_LOSS_EVENT_RATE);
        let options = match self.ccid_3_alone {
            Some(_) => [&without(options, is_replaced)[..], wanted, &INSISTS, &CHANGES].concat(),
            None => [options, &CHANGES].concat(),
        };
        self.changed_features = features(&options, true);
        padded(options)
    }

    /// Returns true if a packet that is repeated until its answer may go now.
    fn may_repeat(&mut self, now_ns: u64, packet_type: PacketType) -> bool {
        if self.repeated != Some(packet_type) {
            self.repeated = Some(packet_type);
            (self.repeat_due_ns, self.repeat_wait_ns) = (now_ns, REPEAT_NS / 2);
        }
        let is_due = now_ns >= self.repeat_due_ns;
        if is_due {
            self.repeat_wait_ns *= 2;
            self.repeat_due_ns = now_ns + self.repeat_wait_ns;
        }
        is_due
    }

    /// Processes a packet that this crate's endpoint sends, and returns the options with which the
    /// stack would send it, or that the stack would not send it.
    pub(crate) fn outgoing(&mut self, now_ns: u64, packet: &DccpPacket<'_>) -> PacketTreatment {
        use PacketType::{Ack, Close, CloseReq, Request, Response};
        let packet_type = packet.header.packet_type;
        let is_quiet = self.is_server && !self.has_heard_data && packet_type == Ack;
        if self.phase == LinuxConnectionPhase::Reset || is_quiet {
            return PacketTreatment::Dropped;
        }
        if matches!(packet_type, Request | Close | CloseReq)
            && !self.may_repeat(now_ns, packet_type)
        {
            return PacketTreatment::Dropped;
        }
        match packet_type {
            // A client with several CCIDs leaves the request for Ack Vectors to its server.
            Request => {
                let options = without(packet.options, |feature| feature == number::SEND_ACK_VECTOR);
                return PacketTreatment::Passes(self.asking(&options));
            }
            Response => return PacketTreatment::Passes(self.asking(packet.options)),
            Close | CloseReq => (),
            _ if !self.is_server => self.phase = LinuxConnectionPhase::Open,
            _ => (),
        }
        PacketTreatment::Passes(padded(without(packet.options, is_server_priority)))
    }

    /// Processes a packet that arrives for the stack.
    pub(crate) fn incoming(&mut self, packet: &DccpPacket<'_>) -> PacketTreatment {
        use PacketType::{Ack, Data, DataAck, Request, Reset as ResetType};
        let packet_type = packet.header.packet_type;
        match self.phase {
            LinuxConnectionPhase::Reset => return self.refuse(packet, ResetCode::NoConnection),
            LinuxConnectionPhase::Handshake if self.is_server => match packet_type {
                Request | ResetType => return PacketTreatment::Passes(packet.options.to_vec()),
                Ack | DataAck if self.has_confirms(packet.options) => {
                    self.phase = LinuxConnectionPhase::Open
                }
                Ack | DataAck => return self.refuse(packet, ResetCode::TooBusy),
                _ => return self.refuse(packet, ResetCode::PacketError),
            },
            LinuxConnectionPhase::Handshake => {
                return PacketTreatment::Passes(packet.options.to_vec());
            }
            LinuxConnectionPhase::Open => (),
        }
        self.has_heard_data |= matches!(packet_type, Data | DataAck);
        PacketTreatment::Passes(without(packet.options, is_server_priority))
    }

    /// Returns true if `options` confirm each Change of the stack's Response.
    fn has_confirms(&self, options: &[u8]) -> bool {
        let confirmed = features(options, false);
        let count = |list: &[u8], wanted| list.iter().filter(|feature| **feature == wanted).count();
        self.changed_features
            .iter()
            .all(|&wanted| count(&confirmed, wanted) >= count(&self.changed_features, wanted))
    }

    fn refuse(&mut self, packet: &DccpPacket<'_>, code: ResetCode) -> PacketTreatment {
        self.phase = LinuxConnectionPhase::Reset;
        let header = reply_without_connection(packet, Reset::plain(code));
        header.map_or(PacketTreatment::Dropped, PacketTreatment::Refused)
    }
}

fn is_server_priority(feature: u8) -> bool {
    FeatureProperties::from_number(feature)
        .is_some_and(|kind| kind.rule == ReconciliationRule::ServerPriority)
}

/// Returns the numbers of the features of all Changes in `options`, or of all Confirms.
fn features(options: &[u8], are_changes: bool) -> Vec<u8> {
    let feature = |option| match option {
        DccpOption::Feature { kind, feature, .. } if kind.is_change() == are_changes => {
            Some(feature)
        }
        _ => None,
    };
    DccpOptionIterator::new(options).filter_map(|raw| feature(raw.option)).collect()
}

/// Returns the options with padding before them, to a multiple of four bytes.
fn padded(options: Vec<u8>) -> Vec<u8> {
    let mut padded = vec![0; options.len().next_multiple_of(4) - options.len()];
    padded.extend(options);
    padded
}

/// Returns the options without Changes of certain features and without the Mandatory before those.
fn without(options: &[u8], is_ignored: impl Fn(u8) -> bool) -> Vec<u8> {
    let mut remaining = Vec::new();
    let mut mandatory = false;
    for raw in DccpOptionIterator::new(options) {
        if raw.option == DccpOption::Mandatory {
            mandatory = true;
            continue;
        }
        let is_dropped = matches!(raw.option, DccpOption::Feature { kind, feature, .. }
            if kind.is_change() && is_ignored(feature));
        if !is_dropped {
            if mandatory {
                remaining.push(dccp::option::number::MANDATORY);
            }
            remaining.push(raw.number);
            if raw.number >= 32 {
                remaining.push(raw.value.len() as u8 + 2);
                remaining.extend(raw.value);
            }
        }
        mandatory = false;
    }
    remaining
}
