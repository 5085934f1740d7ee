//! TUN devices: interfaces whose packets a program reads and writes (`/dev/net/tun`,
//! Documentation/networking/tuntap.rst of Linux). [`TunReceiver`] receives the packets that the
//! machine sends to the device; packets of [`TunSender`] arrive at the machine. Packets begin with
//! the IP header; they are complete and have their checksums, since the device has no offload.
//!
//! Budget: a system call per packet in each direction, as a device of one queue has no other;
//! nothing is allocated after construction.
#![allow(unsafe_code, reason = "ioctl, read, write")]

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;

use crate::slab::Slab;
use crate::{FlushResult, NetError, check};

/// Path of the device that creates TUN devices.
const PATH: &str = "/dev/net/tun";
/// Length of the longest IP packet that a TUN device passes, in bytes.
pub const PACKET_BYTES_MAX: usize = 65_535;
/// Greatest number of packets per batch of a TUN device.
const SLOTS: usize = 64;
/// Longest name of an interface with its terminating zero, in bytes (`IFNAMSIZ`).
const NAME_BYTES: usize = libc::IFNAMSIZ;

/// Opens the TUN device called `name` in the calling thread's network namespace, and creates it if
/// there is none; a created device is removed when both halves are dropped.
///
/// # Errors
///
/// The step that failed, and its object: `ENOENT` if `/dev/net/tun` is missing, `EPERM` without
/// `CAP_NET_ADMIN`, `EINVAL` if an interface of another kind has the name, `EBUSY` if another
/// program has the device.
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
    for (target, octet) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *target = octet as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: `request` is an ifreq whose name ends in a zero; it outlives the call.
    check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) })
        .map_err(NetError::on("open the TUN device", name))?;
    let fd = Arc::new(OwnedFd::from(file));
    Ok((TunReceiver::new(Arc::clone(&fd)), TunSender::new(fd)))
}

/// Receiving half of a TUN device, with the pool of packets that the machine has sent to the
/// device.
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

    /// Receives the packets that the machine has sent to the TUN device, as many as there are
    /// slots, without waiting itself. Returns the number of packets of [`TunReceiver::packet`], 0
    /// if nothing waits; those of the last call are gone.
    ///
    /// # Errors
    ///
    /// The error of `read(2)`, except EAGAIN and EINTR: EBADFD if the device was removed.
    pub fn receive(&mut self) -> io::Result<usize> {
        self.lens.clear();
        while self.lens.len() < SLOTS {
            let at = self.lens.len() * PACKET_BYTES_MAX;
            let slot = self.octets.slice_mut(at, PACKET_BYTES_MAX);
            let (raw, len) = (self.fd.as_raw_fd(), slot.len());
            // SAFETY: `slot` is writable for `len` octets and outlives the call.
            let count = unsafe { libc::read(raw, slot.as_mut_ptr().cast(), len) };
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

    /// Returns packet `index` of those that the last call received.
    ///
    /// # Panics
    ///
    /// If `index` is not below the number that [`TunReceiver::receive`] returned.
    pub fn packet(&self, index: usize) -> &[u8] {
        self.octets.slice(index * PACKET_BYTES_MAX, self.lens[index])
    }
}

impl AsFd for TunReceiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Sending half of a TUN device, with the packets that wait to be passed to the machine.
pub struct TunSender {
    fd: Arc<OwnedFd>,
    octets: Slab<u8>,
    lens: Vec<usize>,
    /// Number of the first packet in the batch that was not passed on.
    next: usize,
}

impl TunSender {
    fn new(fd: Arc<OwnedFd>) -> Self {
        let octets = Slab::new(0_u8, SLOTS * PACKET_BYTES_MAX);
        Self { fd, octets, lens: Vec::with_capacity(SLOTS), next: 0 }
    }

    /// Returns the next free slot of the TUN device's batch to write a packet into; `None` if the
    /// batch is full. Nothing is queued until [`TunSender::commit`].
    pub fn slot(&mut self) -> Option<&mut [u8]> {
        let index = self.lens.len();
        (index < SLOTS).then(|| self.octets.slice_mut(index * PACKET_BYTES_MAX, PACKET_BYTES_MAX))
    }

    /// Queues the first `len` bytes of the slot that [`TunSender::slot`] returned, a packet from
    /// its IP header on.
    ///
    /// # Panics
    ///
    /// If the batch is full or `len` exceeds the slot.
    pub fn commit(&mut self, len: usize) {
        assert!(self.lens.len() < SLOTS && len <= PACKET_BYTES_MAX, "commit without a slot");
        self.lens.push(len);
    }

    /// Returns true if no packet waits to be flushed.
    pub const fn is_empty(&self) -> bool {
        self.lens.is_empty()
    }

    /// Passes all waiting packets to the kernel, without waiting itself. Call it again later while
    /// [`FlushResult::left`] is not 0. The kernel refuses data that is no IP packet, and packets
    /// while the device is down.
    pub fn flush(&mut self) -> FlushResult {
        let mut result = FlushResult::default();
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

    /// Drops the packets waiting in the TUN device's batch and returns their number.
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
        // Loopback is no TUN device; without the capability the kernel returns EPERM.
        let error = open("lo").err().unwrap();
        let code = error.cause().raw_os_error();
        let expected = [libc::EINVAL, libc::EPERM, libc::ENOENT, libc::EACCES, libc::ENXIO];
        assert!(code.is_some_and(|code| expected.contains(&code)), "{error}");
    }
}
