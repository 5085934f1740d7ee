//! Paths by which frames reach an interface (AF_XDP, ring, `sendmmsg`), with one common type.

use std::fmt;
use std::io;
use std::str::FromStr;

use base::{ToolError, ToolResult};
use netio::frame::{XDP_FRAME_BYTES_MAX, transmit_queues};
use netio::interface::Interface;
use netio::{FlushResult, FrameRing, FrameSender, NetError, PollFd, RingSize, XdpSender, poll};

use crate::error::refused;
use crate::flows::Flows;
use crate::train::Trains;

/// Number of frames of a batch, which one system call passes to the kernel.
const BATCH: usize = 64;
/// Size in bytes of a slot of a transmit ring (`PACKET_TX_RING`), unless frames are longer.
const SLOT_BYTES: usize = 2_048;
/// Number of bytes of a ring's slot that the kernel uses.
const SLOT_HEAD_BYTES: usize = 32;
/// Time in nanoseconds that a sender waits for a full queue before it checks again.
const WAIT_NS: u64 = 1_000_000;
/// Time in nanoseconds that a sender waits when the queue reports that it is not full, and accepts
/// nothing: each attempt is a drop in the counters of the queueing discipline.
const SHORT_WAIT_NS: u64 = 200_000;
/// Time in nanoseconds that a sender waits with AF_XDP, which does not report that slots are free
/// again.
const XDP_WAIT_NS: u64 = 50_000;

/// Kind of the path by which frames are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// Automatic choice: AF_XDP if it can do all that the flags ask for; otherwise the ring, or
    /// `sendmmsg(2)` if no ring can be opened.
    Auto,
    /// Path through a ring of frames shared with the kernel (`PACKET_TX_RING`).
    Ring,
    /// Path by the system call `sendmmsg(2)` on a packet socket.
    Plain,
    /// Path through an AF_XDP socket of the interface.
    Xdp,
}

impl FromStr for PathKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "ring" => Ok(Self::Ring),
            "sendmmsg" => Ok(Self::Plain),
            "xdp" => Ok(Self::Xdp),
            _ => Err("must be auto, ring, sendmmsg or xdp".to_owned()),
        }
    }
}

/// Options of a path into an interface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathOptions {
    pub(crate) kind: PathKind,
    /// Size of each ring in bytes.
    pub(crate) ring_bytes: usize,
    /// True if frames pass the queueing discipline of the interface.
    pub(crate) uses_queue: bool,
    /// Length of the longest frame in bytes.
    pub(crate) longest_bytes: usize,
}

impl PathOptions {
    /// Returns all problems that prevent `threads` threads from sending the packets through AF_XDP.
    fn obstacles(&self, interface: &Interface, threads: u32) -> Result<Vec<String>, NetError> {
        let mut problems = Vec::new();
        if self.uses_queue {
            problems
                .push("-q: AF_XDP bypasses the queueing discipline; use --path ring".to_owned());
        }
        if self.longest_bytes > XDP_FRAME_BYTES_MAX {
            problems.push(format!(
                "a packet has {} bytes; AF_XDP accepts at most {XDP_FRAME_BYTES_MAX}; use --path \
                 ring",
                self.longest_bytes
            ));
        }
        let queues = transmit_queues(interface)?;
        if threads > queues {
            let name = &interface.name;
            problems.push(format!(
                "{threads} processors: AF_XDP needs a transmit queue for each processor, and \
                 {name} has {queues}; use -P {queues} or --path ring"
            ));
        }
        Ok(problems)
    }
}

/// Open path into an interface.
pub(crate) enum SendPath {
    Ring { ring: FrameRing, uses_queue: bool },
    Plain { sender: Box<FrameSender>, uses_queue: bool },
    Trains(Box<Trains>),
    Xdp(Box<XdpSender>),
}

impl SendPath {
    /// Opens a path into the interface for each of `threads` threads, all of one kind.
    pub(crate) fn open_all(
        interface: &Interface,
        options: PathOptions,
        threads: u32,
    ) -> ToolResult<Vec<Self>> {
        let all = |open: fn(&Interface, PathOptions, u32) -> Result<Self, NetError>| {
            (0..threads).map(|thread| open(interface, options, thread)).collect::<Result<_, _>>()
        };
        match options.kind {
            PathKind::Ring => all(Self::ring).map_err(refused),
            PathKind::Plain => all(Self::plain).map_err(refused),
            PathKind::Xdp => {
                let obstacles = options.obstacles(interface, threads).map_err(refused)?;
                if obstacles.is_empty() {
                    return all(Self::xdp).map_err(refused);
                }
                Err(ToolError::Usage(obstacles.join("\n")))
            }
            PathKind::Auto => {
                let obstacles = options.obstacles(interface, threads);
                if obstacles.is_ok_and(|obstacles| obstacles.is_empty())
                    && let Ok(paths) = all(Self::xdp)
                {
                    return Ok(paths);
                }
                all(Self::ring).or_else(|_| all(Self::plain)).map_err(refused)
            }
        }
    }

    fn ring(interface: &Interface, options: PathOptions, _: u32) -> Result<Self, NetError> {
        let PathOptions { ring_bytes, uses_queue, longest_bytes, .. } = options;
        let slot_bytes = (longest_bytes + SLOT_HEAD_BYTES).next_power_of_two().max(SLOT_BYTES);
        let size = RingSize { bytes: ring_bytes, slot_bytes };
        let ring = FrameRing::open(interface, size, !uses_queue)?;
        Ok(Self::Ring { ring, uses_queue })
    }

    fn plain(interface: &Interface, options: PathOptions, _: u32) -> Result<Self, NetError> {
        let uses_queue = options.uses_queue;
        let mut sender = FrameSender::open(interface)?;
        if !uses_queue {
            let subject = format!("a socket on {}", interface.name);
            let cannot = NetError::on("bypass the queueing discipline by", subject);
            sender.bypass_queue().map_err(cannot)?;
        }
        Ok(Self::Plain { sender: Box::new(sender), uses_queue })
    }

    /// Opens a path for each thread that sends frames of one flow as segments; `flows` has the
    /// flows of each thread. The datagrams go through the queueing discipline: if they bypassed it,
    /// the kernel would drop those that the interface cannot cut up.
    pub(crate) fn open_trains(
        interface: &Interface,
        flows: Vec<Flows>,
    ) -> Result<Vec<Self>, NetError> {
        let open = |flows| {
            let sender = FrameSender::open_for_trains(interface)?;
            Ok(Self::Trains(Box::new(Trains::new(sender, flows))))
        };
        flows.into_iter().map(open).collect()
    }

    /// Opens an AF_XDP path through the interface's transmit queue whose number is `thread`.
    fn xdp(interface: &Interface, options: PathOptions, thread: u32) -> Result<Self, NetError> {
        let slot_bytes = options.longest_bytes.next_power_of_two().max(SLOT_BYTES);
        let size = RingSize { bytes: options.ring_bytes, slot_bytes };
        XdpSender::open(interface, thread, size).map(|sender| Self::Xdp(Box::new(sender)))
    }

    /// Returns the size in bytes of the greatest IP packet that the interface accepts (MTU).
    pub(crate) const fn mtu_bytes(&self) -> usize {
        match self {
            Self::Ring { ring, .. } => ring.mtu_bytes(),
            Self::Plain { sender, .. } => sender.mtu_bytes(),
            Self::Trains(trains) => trains.sender().mtu_bytes(),
            Self::Xdp(sender) => sender.mtu_bytes(),
        }
    }

    /// Returns true if frames leave as the segments of larger UDP datagrams.
    pub(crate) const fn is_of_trains(&self) -> bool {
        matches!(self, Self::Trains(_))
    }

    /// Returns the number of frames that can wait in the path at a time.
    pub(crate) fn capacity(&self) -> usize {
        match self {
            Self::Ring { ring, .. } => ring.slots(),
            Self::Plain { .. } => 1_024,
            Self::Trains(trains) => trains.capacity(),
            Self::Xdp(sender) => sender.slots(),
        }
    }

    /// Returns the number of frames of a batch if frames do not wait for their time.
    pub(crate) const fn batch(&self) -> usize {
        match self {
            Self::Trains(_) => BATCH * 16,
            _ => BATCH,
        }
    }

    /// Returns true if the path has room for a frame of the thread's packet `index` now.
    pub(crate) fn has_room(&mut self, index: usize) -> bool {
        match self {
            Self::Ring { ring, .. } => ring.slot().is_some(),
            Self::Plain { sender, .. } => sender.free() > 0,
            Self::Trains(trains) => trains.has_room(index),
            Self::Xdp(sender) => sender.slot().is_some(),
        }
    }

    /// Queues a frame of the thread's packet `index` in the path; the caller has checked that there
    /// is room.
    pub(crate) fn push(&mut self, index: usize, frame: &[u8]) {
        let slot = match self {
            Self::Ring { ring, .. } => ring.slot(),
            Self::Plain { sender, .. } => sender.slot(),
            Self::Trains(trains) => return trains.push(index, frame),
            Self::Xdp(sender) => sender.slot(),
        };
        slot.expect("the caller has asked for room")[..frame.len()].copy_from_slice(frame);
        match self {
            Self::Ring { ring, .. } => ring.commit(frame.len()),
            Self::Plain { sender, .. } => sender.commit(frame.len()),
            Self::Trains(_) => {}
            Self::Xdp(sender) => sender.commit(frame.len()),
        }
    }

    /// Returns the number of UDP datagrams that have left with frames as their segments.
    pub(crate) const fn datagrams(&self) -> u64 {
        match self {
            Self::Trains(trains) => trains.datagrams(),
            _ => 0,
        }
    }

    pub(crate) fn flush(&mut self) -> io::Result<FlushResult> {
        match self {
            Self::Ring { ring, .. } => ring.flush(),
            Self::Plain { sender, .. } => Ok(sender.flush()),
            Self::Trains(trains) => trains.flush(),
            Self::Xdp(sender) => sender.flush(),
        }
    }

    /// Waits until the path may have room for a frame of the thread's packet `index` again, for a
    /// millisecond at most.
    pub(crate) fn wait(&mut self, index: usize) -> io::Result<()> {
        let ready = match self {
            Self::Ring { ring, .. } => poll(&mut [PollFd::writable(ring)], Some(WAIT_NS))?,
            Self::Plain { sender, .. } => poll(&mut [PollFd::writable(&**sender)], Some(WAIT_NS))?,
            Self::Trains(trains) => poll(&mut [PollFd::writable(trains.sender())], Some(WAIT_NS))?,
            Self::Xdp(sender) => {
                if sender.invalid()? > 0 {
                    return Err(io::Error::other("the kernel rejected frames as invalid"));
                }
                return poll(&mut [], Some(XDP_WAIT_NS)).map(drop);
            }
        };
        // A queue that drops frames is reported as writable.
        if ready > 0 && !self.has_room(index) {
            poll(&mut [], Some(SHORT_WAIT_NS))?;
        }
        Ok(())
    }
}

impl fmt::Display for SendPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, uses_queue) = match self {
            Self::Ring { uses_queue, .. } => ("ring (PACKET_TX_RING)", *uses_queue),
            Self::Plain { uses_queue, .. } => ("sendmmsg", *uses_queue),
            Self::Trains(_) => ("sendmmsg, segmented (UDP)", true),
            Self::Xdp(_) => ("xdp (AF_XDP, copied)", false),
        };
        let queue = if uses_queue { "through" } else { "bypassing" };
        write!(f, "{name}, {queue} the queueing discipline")
    }
}
