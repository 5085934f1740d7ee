//! TUN devices: interfaces whose packets a program reads and writes (`/dev/net/tun`, Documentation/
//! networking/tuntap.rst of Linux). What the machine sends to the device comes out of [`TunReceiver`];
//! what [`TunSender`] is given arrives at the machine. Packets begin with the IP header; they are whole and
//! have their checksums, since no offload is asked for.
//!
//! Budget: a system call per packet in each direction, as a device of one queue has no other; nothing is
//! allocated after construction.
#![allow(unsafe_code, reason = "ioctl, read, write")]

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;

use crate::slab::Slab;
use crate::{NetError, Sent, check};

/// Where devices are made.
const PATH: &str = "/dev/net/tun";
/// The longest IP packet.
pub const PACKET_BYTES_MAX: usize = 65_535;
/// Packets of a batch.
const SLOTS: usize = 64;
/// Longest name of an interface, with the zero behind it (`IFNAMSIZ`).
const NAME_BYTES: usize = libc::IFNAMSIZ;

/// Opens the TUN device called `name` in the calling thread's network namespace, and makes it if there is
/// none; one that was made goes when both halves are dropped.
///
/// # Errors
///
/// What was tried on what: `ENOENT` where `/dev/net/tun` is missing, `EPERM` without `CAP_NET_ADMIN`,
/// `EINVAL` when an interface of another kind has the name, `EBUSY` when another program has the device.
pub fn open(name: &str) -> Result<(TunReceiver, TunSender), NetError> {
    if name.is_empty() || name.len() >= NAME_BYTES {
        let cause = io::Error::from_raw_os_error(libc::EINVAL);
        return Err(NetError::new("name a TUN device", name, cause));
    }
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(PATH)
        .map_err(NetError::on("open", PATH))?;
    // SAFETY: an all-zero ifreq is a valid one.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, octet) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = octet as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: `request` is an ifreq whose name ends in a zero; it outlives the call.
    check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) })
        .map_err(NetError::on("open the TUN device", name))?;
    let fd = Arc::new(OwnedFd::from(file));
    Ok((TunReceiver::new(Arc::clone(&fd)), TunSender::new(fd)))
}

/// The half that packets of the machine come out of, and the pool that they are put into.
pub struct TunReceiver {
    fd: Arc<OwnedFd>,
    octets: Slab<u8>,
    lens: Vec<usize>,
}

impl TunReceiver {
    fn new(fd: Arc<OwnedFd>) -> Self {
        let octets = Slab::new(0_u8, SLOTS * PACKET_BYTES_MAX);
        Self { fd, octets, lens: Vec::with_capacity(SLOTS) }
    }

    /// Takes what waits in the device, as much as there are slots for, and never waits itself. Returns
    /// how many packets [`TunReceiver::packet`] has, 0 when nothing waits; those of the call before are
    /// gone.
    ///
    /// # Errors
    ///
    /// What `read(2)` reports, except EAGAIN and EINTR: EBADFD when the device was removed.
    pub fn receive(&mut self) -> io::Result<usize> {
        self.lens.clear();
        while self.lens.len() < SLOTS {
            let at = self.lens.len() * PACKET_BYTES_MAX;
            let place = self.octets.slice_mut(at, PACKET_BYTES_MAX);
            let (raw, len) = (self.fd.as_raw_fd(), place.len());
            // SAFETY: `place` is writable for `len` octets and outlives the call.
            let count = unsafe { libc::read(raw, place.as_mut_ptr().cast(), len) };
            if let Ok(count) = usize::try_from(count) {
                self.lens.push(count);
                continue;
            }
            let error = io::Error::last_os_error();
            match error.kind() {
                io::ErrorKind::WouldBlock => break,
                io::ErrorKind::Interrupted => {}
                _ => return Err(error),
            }
        }
        Ok(self.lens.len())
    }

    /// Packet `index` of the last call.
    ///
    /// # Panics
    ///
    /// When `index` is not below what [`TunReceiver::receive`] returned.
    #[must_use]
    pub fn packet(&self, index: usize) -> &[u8] {
        self.octets.slice(index * PACKET_BYTES_MAX, self.lens[index])
    }
}

impl AsFd for TunReceiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The half that packets arrive at the machine by, and the packets that wait for it.
pub struct TunSender {
    fd: Arc<OwnedFd>,
    octets: Slab<u8>,
    lens: Vec<usize>,
    /// Packets before this one have left.
    next: usize,
}

impl TunSender {
    fn new(fd: Arc<OwnedFd>) -> Self {
        let octets = Slab::new(0_u8, SLOTS * PACKET_BYTES_MAX);
        Self { fd, octets, lens: Vec::with_capacity(SLOTS), next: 0 }
    }

    /// The next free slot to write a packet into, `None` when the batch is full. Nothing is queued until
    /// [`TunSender::commit`].
    pub fn slot(&mut self) -> Option<&mut [u8]> {
        let index = self.lens.len();
        (index < SLOTS).then(|| self.octets.slice_mut(index * PACKET_BYTES_MAX, PACKET_BYTES_MAX))
    }

    /// Queues the first `len` octets of the slot that [`TunSender::slot`] gave, a packet from its IP
    /// header on.
    ///
    /// # Panics
    ///
    /// When the batch is full or `len` exceeds the slot.
    pub fn commit(&mut self, len: usize) {
        assert!(self.lens.len() < SLOTS && len <= PACKET_BYTES_MAX, "commit without a slot");
        self.lens.push(len);
    }

    /// True when nothing waits to be flushed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.lens.is_empty()
    }

    /// Hands everything that waits to the kernel, never waiting itself. Call it again later while
    /// [`Sent::left`] is not 0. What is no IP packet, or finds the device down, is refused.
    pub fn flush(&mut self) -> Sent {
        let mut result = Sent::default();
        while self.next < self.lens.len() {
            let packet = self.octets.slice(self.next * PACKET_BYTES_MAX, self.lens[self.next]);
            let raw = self.fd.as_raw_fd();
            // SAFETY: `packet` is readable for its length and outlives the call.
            let written = unsafe { libc::write(raw, packet.as_ptr().cast(), packet.len()) };
            if written >= 0 {
                result.sent += 1;
            } else {
                match io::Error::last_os_error().raw_os_error().unwrap_or(0) {
                    libc::EINTR => continue,
                    libc::EAGAIN | libc::ENOBUFS => break,
                    _ => result.refused += 1,
                }
            }
            self.next += 1;
        }
        result.left = self.lens.len() - self.next;
        if result.left == 0 {
            self.discard();
        }
        result
    }

    /// Gives up what still waits. Returns how many packets.
    pub fn discard(&mut self) -> usize {
        let count = self.lens.len() - self.next;
        self.lens.clear();
        self.next = 0;
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_a_device_is_said() {
        for name in ["", "a-name-that-is-too-long"] {
            let error = open(name).err().unwrap();
            assert!(error.to_string().starts_with("cannot name a TUN device"), "{error}");
        }
        // Loopback is no TUN device, whoever asks; without the right to it the kernel says EPERM.
        let error = open("lo").err().unwrap();
        let code = error.cause().raw_os_error();
        let expected = [libc::EINVAL, libc::EPERM, libc::ENOENT, libc::EACCES, libc::ENXIO];
        assert!(code.is_some_and(|code| expected.contains(&code)), "{error}");
    }
}
