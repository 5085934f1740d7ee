//! Ends of an emulated link: an Ethernet interface, whose frames pass through sockets, or a TUN
//! device, whose packets are read and written.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use base::ToolResult;
use netio::{FlushResult, FrameReceiver, FrameSender, ReceivedFrame, TunReceiver, TunSender, tun};

use crate::LinkInterface;
use crate::ecn::Framing;
use crate::error::refused;

/// Input and output sockets of one end of a link, or of one direction.
pub(crate) struct LinkSockets {
    pub(crate) input: LinkInput,
    pub(crate) output: LinkOutput,
}

/// Opens the input and the output of the link's end at `interface`.
pub(crate) fn open(interface: &LinkInterface) -> ToolResult<LinkSockets> {
    if interface.is_tun {
        let name = &interface.interface;
        let (receiver, sender) = interface.in_namespace(|| tun::open(name).map_err(refused))?;
        let (input, output) = (LinkInput::Packets(receiver), LinkOutput::Packets(sender));
        return Ok(LinkSockets { input, output });
    }
    interface.with_interface(|interface| {
        let input = LinkInput::Frames(FrameReceiver::open(interface)?);
        Ok(LinkSockets { input, output: LinkOutput::Frames(FrameSender::open(interface)?) })
    })
}

/// Input of a link's direction, from which packets are received.
pub(crate) enum LinkInput {
    /// Input from the packet socket of an Ethernet interface.
    Frames(FrameReceiver),
    /// Input from a TUN device, without Ethernet headers.
    Packets(TunReceiver),
}

impl LinkInput {
    pub(crate) fn receive(&mut self) -> io::Result<usize> {
        match self {
            Self::Frames(receiver) => receiver.receive(),
            Self::Packets(receiver) => receiver.receive(),
        }
    }

    /// Returns the frame with number `index` of the last batch; a packet of a TUN device is never a
    /// train (several segments under one header).
    pub(crate) fn frame(&self, index: usize) -> Option<ReceivedFrame<'_>> {
        match self {
            Self::Frames(receiver) => receiver.frame(index),
            Self::Packets(receiver) => {
                Some(ReceivedFrame { octets: receiver.packet(index), checksum: None, train: None })
            }
        }
    }

    pub(crate) const fn truncated(&self) -> u64 {
        match self {
            Self::Frames(receiver) => receiver.truncated(),
            Self::Packets(_) => 0,
        }
    }

    pub(crate) const fn unreadable(&self) -> u64 {
        match self {
            Self::Frames(receiver) => receiver.unreadable(),
            Self::Packets(_) => 0,
        }
    }

    /// Returns the number of received frames that the kernel dropped since the last call. A TUN
    /// device counts its drops itself (`ip -s link`).
    pub(crate) fn take_drops(&self) -> u64 {
        match self {
            Self::Frames(receiver) => receiver.take_drops().unwrap_or(0),
            Self::Packets(_) => 0,
        }
    }

    /// Returns true if the input's interface is gone, so that no packet will arrive any more.
    /// Reading fails if a TUN device is gone.
    pub(crate) fn is_interface_gone(&self) -> bool {
        match self {
            Self::Frames(receiver) => receiver.is_interface_gone(),
            Self::Packets(_) => false,
        }
    }

    /// Returns the first header of the received packets: Ethernet or IP.
    pub(crate) const fn framing(&self) -> Framing {
        match self {
            Self::Frames(_) => Framing::Ethernet,
            Self::Packets(_) => Framing::Ip,
        }
    }
}

impl AsFd for LinkInput {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Frames(receiver) => receiver.as_fd(),
            Self::Packets(receiver) => receiver.as_fd(),
        }
    }
}

/// Output of a link's direction, through which packets leave.
pub(crate) enum LinkOutput {
    /// Output through the packet socket of an Ethernet interface.
    Frames(FrameSender),
    /// Output into a TUN device: its machine receives the packets.
    Packets(TunSender),
}

impl LinkOutput {
    pub(crate) fn slot(&mut self) -> Option<&mut [u8]> {
        match self {
            Self::Frames(sender) => sender.slot(),
            Self::Packets(sender) => sender.slot(),
        }
    }

    pub(crate) fn commit(&mut self, len: usize) {
        match self {
            Self::Frames(sender) => sender.commit(len),
            Self::Packets(sender) => sender.commit(len),
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        match self {
            Self::Frames(sender) => sender.is_empty(),
            Self::Packets(sender) => sender.is_empty(),
        }
    }

    pub(crate) fn flush(&mut self) -> FlushResult {
        match self {
            Self::Frames(sender) => sender.flush(),
            Self::Packets(sender) => sender.flush(),
        }
    }

    pub(crate) fn discard(&mut self) -> usize {
        match self {
            Self::Frames(sender) => sender.discard(),
            Self::Packets(sender) => sender.discard(),
        }
    }

    /// Returns the size of the largest IP packet that the output accepts, in bytes; `None` for a
    /// TUN device, which accepts packets up to the size of its buffer.
    pub(crate) const fn mtu_bytes(&self) -> Option<usize> {
        match self {
            Self::Frames(sender) => Some(sender.mtu_bytes()),
            Self::Packets(_) => None,
        }
    }

    /// Returns the first header of the sent packets: Ethernet or IP.
    pub(crate) const fn framing(&self) -> Framing {
        match self {
            Self::Frames(_) => Framing::Ethernet,
            Self::Packets(_) => Framing::Ip,
        }
    }
}
