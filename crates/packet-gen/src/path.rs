//! The ways into an interface, behind one face.

use std::fmt;
use std::io;
use std::str::FromStr;

use netio::interface::Interface;
use netio::{FrameRing, FrameSender, PollFd, RingSize, Sent, poll};

use crate::error::GeneratorError;

/// Octets of a slot of a ring unless frames are longer.
const SLOT_BYTES: usize = 2_048;
/// Octets of a slot that are the kernel's.
const SLOT_HEAD_BYTES: usize = 32;
/// How long a sender waits for a full queue before it looks again.
const WAIT_NS: u64 = 1_000_000;
/// The same when the queue says that it is not full, and takes nothing: each attempt is a drop in the
/// counters of the queueing discipline.
const SHORT_WAIT_NS: u64 = 200_000;

/// Which way frames go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// The ring, or the plain one where there can be no ring.
    Auto,
    /// `PACKET_TX_RING`.
    Ring,
    /// `sendmmsg(2)`.
    Plain,
}

impl FromStr for PathKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "ring" => Ok(Self::Ring),
            "sendmmsg" => Ok(Self::Plain),
            _ => Err("it is auto, ring or sendmmsg".to_owned()),
        }
    }
}

/// What a path has to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathOptions {
    pub(crate) kind: PathKind,
    /// Octets of the ring.
    pub(crate) ring_bytes: usize,
    /// Through the queueing discipline.
    pub(crate) uses_queue: bool,
    /// Octets of the longest frame.
    pub(crate) longest_bytes: usize,
}

/// An open way into an interface.
pub(crate) enum Path {
    Ring { ring: FrameRing, uses_queue: bool },
    Plain { sender: Box<FrameSender>, uses_queue: bool },
}

impl Path {
    pub(crate) fn open(
        interface: &Interface,
        options: PathOptions,
    ) -> Result<Self, GeneratorError> {
        let PathOptions { kind, ring_bytes, uses_queue, longest_bytes } = options;
        let ring = || {
            let slot_bytes = (longest_bytes + SLOT_HEAD_BYTES).next_power_of_two().max(SLOT_BYTES);
            let size = RingSize { bytes: ring_bytes, slot_bytes };
            FrameRing::open(interface, size, !uses_queue)
                .map(|ring| Self::Ring { ring, uses_queue })
        };
        let plain = || {
            let mut sender = FrameSender::open(interface)?;
            if !uses_queue {
                let subject = format!("a socket on {}", interface.name);
                let cannot = netio::NetError::on("bypass the queueing discipline by", subject);
                sender.bypass_queue().map_err(cannot)?;
            }
            Ok::<_, netio::NetError>(Self::Plain { sender: Box::new(sender), uses_queue })
        };
        match kind {
            PathKind::Ring => Ok(ring()?),
            PathKind::Plain => Ok(plain()?),
            PathKind::Auto => ring().or_else(|_| plain()).map_err(Into::into),
        }
    }

    /// The greatest IP packet that the interface takes, in octets.
    pub(crate) const fn mtu_bytes(&self) -> usize {
        match self {
            Self::Ring { ring, .. } => ring.mtu_bytes(),
            Self::Plain { sender, .. } => sender.mtu_bytes(),
        }
    }

    /// Frames that can wait at a time.
    pub(crate) const fn room(&self) -> usize {
        match self {
            Self::Ring { ring, .. } => ring.slots(),
            Self::Plain { .. } => 1_024,
        }
    }

    pub(crate) fn slot(&mut self) -> Option<&mut [u8]> {
        match self {
            Self::Ring { ring, .. } => ring.slot(),
            Self::Plain { sender, .. } => sender.slot(),
        }
    }

    pub(crate) fn commit(&mut self, len: usize) {
        match self {
            Self::Ring { ring, .. } => ring.commit(len),
            Self::Plain { sender, .. } => sender.commit(len),
        }
    }

    pub(crate) fn flush(&mut self) -> io::Result<Sent> {
        match self {
            Self::Ring { ring, .. } => ring.flush(),
            Self::Plain { sender, .. } => Ok(sender.flush()),
        }
    }

    /// Waits until frames may be taken again, for a millisecond at most.
    pub(crate) fn wait(&mut self) -> io::Result<()> {
        let ready = match self {
            Self::Ring { ring, .. } => poll(&mut [PollFd::writable(ring)], Some(WAIT_NS))?,
            Self::Plain { sender, .. } => poll(&mut [PollFd::writable(&**sender)], Some(WAIT_NS))?,
        };
        // A queue that drops says that it could be written to.
        if ready > 0 && self.slot().is_none() {
            poll(&mut [], Some(SHORT_WAIT_NS))?;
        }
        Ok(())
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, uses_queue) = match self {
            Self::Ring { uses_queue, .. } => ("ring (PACKET_TX_RING)", uses_queue),
            Self::Plain { uses_queue, .. } => ("sendmmsg", uses_queue),
        };
        let queue = if *uses_queue { "through" } else { "past" };
        write!(f, "{name}, {queue} the queueing discipline")
    }
}
