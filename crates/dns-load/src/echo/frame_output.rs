//! Output of the responder's Ethernet frames: AF_XDP, or `packet(7)` where the kernel or the
//! interface does not have it or another process has the queue.

use std::io;

use netio::interface::Interface;
use netio::responder::ResponderCounts;
use netio::{Clock, FrameSender, NetError, PollFd, RingSize, XdpSender, poll};

/// Memory for the frames of AF_XDP: 4,096 frames.
const RING: RingSize = RingSize { bytes: 8 << 20, slot_bytes: 2_048 };
/// Longest wait for a full queue before the responder gives answers up, in nanoseconds.
const STALL_NS: u64 = 1_000_000;
/// Number of frames for which the responder's output has room after a flush, unless the queue stays
/// full.
const ROOM: usize = 2;
/// Interval at which the responder checks a full AF_XDP queue again, in nanoseconds.
const LOOK_NS: u64 = 50_000;

/// Output of frames to an interface, which bypasses its queueing discipline.
pub(super) enum FrameOutput {
    /// Output by the first queue of the interface with AF_XDP.
    Xdp(Box<XdpSender>),
    /// Output by `packet(7)` with `sendmmsg`.
    Plain(FrameSender),
}

impl FrameOutput {
    /// Opens an output to `interface` by AF_XDP, or by `packet(7)` where AF_XDP is not available.
    ///
    /// # Errors
    ///
    /// Fails when the kernel refuses a socket of `packet(7)`.
    pub(super) fn open(interface: &Interface) -> Result<Self, NetError> {
        Self::of_size(interface, RING)
    }

    fn of_size(interface: &Interface, ring: RingSize) -> Result<Self, NetError> {
        if let Ok(sender) = XdpSender::open(interface, 0, ring) {
            return Ok(Self::Xdp(Box::new(sender)));
        }
        let mut sender = FrameSender::open(interface)?;
        let bypassed = sender.bypass_queue();
        bypassed.map_err(NetError::on("bypass the queueing discipline of", &interface.name))?;
        Ok(Self::Plain(sender))
    }

    /// Returns the number of frames that can be written before the next flush.
    pub(super) fn free(&self) -> usize {
        match self {
            Self::Xdp(sender) => sender.free(),
            Self::Plain(sender) => sender.free(),
        }
    }

    pub(super) fn slot(&mut self) -> Option<&mut [u8]> {
        match self {
            Self::Xdp(sender) => sender.slot(),
            Self::Plain(sender) => sender.slot(),
        }
    }

    pub(super) fn commit(&mut self, len: usize) {
        match self {
            Self::Xdp(sender) => sender.commit(len),
            Self::Plain(sender) => sender.commit(len),
        }
    }

    /// Sends waiting frames and counts them; gives up frames that find no room for 1 ms.
    pub(super) fn flush(&mut self, counts: &mut ResponderCounts) -> io::Result<()> {
        match self {
            Self::Xdp(sender) => flush_xdp(sender, counts),
            Self::Plain(sender) => flush_plain(sender, counts),
        }
    }
}

/// Sends waiting frames by AF_XDP and counts them. Frames that the kernel has accepted count as
/// sent; this call passes frames that the kernel dropped to it once more. Slots become free when
/// the other end of the link has taken their frames, also when no frame waits at this end.
fn flush_xdp(sender: &mut XdpSender, counts: &mut ResponderCounts) -> io::Result<()> {
    let queued = sender.waiting();
    sender.flush()?;
    if sender.waiting() > 0 || sender.free() < ROOM {
        let until_ns = Clock::mono_ns() + STALL_NS;
        while (sender.waiting() > 0 || sender.free() < ROOM) && Clock::mono_ns() < until_ns {
            poll(&mut [], Some(LOOK_NS))?;
            sender.flush()?;
        }
    }
    let left = sender.waiting().min(queued);
    counts.sends.sent += (queued - left) as u64;
    Ok(())
}

fn flush_plain(output: &mut FrameSender, counts: &mut ResponderCounts) -> io::Result<()> {
    let mut result = output.flush();
    let mut count = |sent: usize, refused: usize| {
        counts.sends.sent += sent as u64;
        counts.sends.refused += refused as u64;
    };
    count(result.sent, result.refused);
    if result.left > 0 {
        poll(&mut [PollFd::writable(&*output)], Some(STALL_NS))?;
        result = output.flush();
        count(result.sent, result.refused + output.discard());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::{Duration, Instant};

    use netio::{interface, namespace};

    use super::*;

    /// Creates a veth pair in a network namespace, whose far end receives frames on another
    /// processor than the one that this thread is bound to. Returns false, and prints the reason,
    /// where that is impossible.
    fn is_on_a_link() -> bool {
        let cpus = netio::thread::allowed_cpus().unwrap();
        if cpus.len() < 2 || namespace::enter_new().is_err() {
            return testkit::skip("this takes two processors and root");
        }
        netio::thread::pin_to_cpu(cpus[0]).unwrap();
        let script = format!(
            "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6
             ip link add out0 type veth peer name far0
             ip link set out0 up; ip link set far0 up
             mount -t sysfs sysfs /sys
             printf %x $((1 << {})) >/sys/class/net/far0/queues/rx-0/rps_cpus",
            cpus[1]
        );
        let mut shell = Command::new("unshare");
        assert!(shell.args(["-m", "sh", "-ec", &script]).status().unwrap().success(), "{script}");
        true
    }

    #[test]
    fn slots_come_back_when_nothing_waits() {
        if !is_on_a_link() {
            return;
        }
        let small = RingSize { bytes: 4 << 10, slot_bytes: 2_048 };
        let out = interface::named("out0").unwrap();
        let FrameOutput::Xdp(mut sender) = FrameOutput::of_size(&out, small).unwrap() else {
            testkit::skip_even_if_required("AF_XDP is not to be had here");
            return;
        };
        let mut counts = ResponderCounts::default();
        let mut are_all_under_way = false;
        for _ in 0..10_000 {
            while sender.free() > 0 {
                sender.slot().unwrap()[..60].fill(0xff);
                sender.commit(60);
            }
            sender.flush().unwrap();
            are_all_under_way = (sender.waiting(), sender.free()) == (0, 0);
            if are_all_under_way {
                break;
            }
        }
        assert!(are_all_under_way, "the other processor is always the quicker one");
        let until = Instant::now() + Duration::from_secs(300);
        while sender.free() < 2 {
            assert!(Instant::now() < until, "the slots never come back");
            flush_xdp(&mut sender, &mut counts).unwrap();
        }
        assert_eq!(sender.free(), 2);
    }
}
