//! Memory that an AF_XDP socket shares with the kernel: its rings, and the slots of frames that the
//! rings name.
//!
//! Budget: an entry costs one access; a batch one load or store of a word that both sides use.
#![allow(unsafe_code, reason = "mmap, munmap, the rings' words and entries")]

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU32;

/// Mapping of memory (`mmap(2)`), removed when the value is dropped.
pub(super) struct Mapping {
    first: NonNull<u8>,
    len: usize,
}

// SAFETY: a mapping belongs to one sender, and moves between threads with it.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `len` bytes of private memory, from the beginning of a page.
    pub(super) fn anonymous(len: usize) -> io::Result<Self> {
        Self::map(len, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
    }

    /// Maps `len` bytes of the descriptor `fd` from `offset` on.
    fn from_fd(fd: BorrowedFd<'_>, offset: libc::off_t, len: usize) -> io::Result<Self> {
        Self::map(len, libc::MAP_SHARED | libc::MAP_POPULATE, fd.as_raw_fd(), offset)
    }

    fn map(len: usize, flags: libc::c_int, fd: libc::c_int, at: libc::off_t) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice; the result is checked.
        let address = unsafe { libc::mmap(ptr::null_mut(), len, protection, flags, fd, at) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let first = NonNull::new(address.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Self { first, len })
    }

    /// Returns the address of the mapping's first byte as a number for the kernel.
    pub(super) fn address(&self) -> u64 {
        self.first.as_ptr() as u64
    }

    /// Returns `len` bytes of the mapping from `at` on, which the kernel must not be reading now.
    pub(super) fn octets(&mut self, at: usize, len: usize) -> &mut [u8] {
        assert!(at + len <= self.len, "{at}+{len} of {}", self.len);
        // SAFETY: inside of the mapping, and `&mut self` makes the access exclusive in the process.
        // The kernel at most reads, and only slots that wait; a mistake there would garble a frame,
        // no more.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr().add(at), len) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this mapping was made by `map`, and nothing refers to it any more.
        unsafe { libc::munmap(self.first.as_ptr().cast(), self.len) };
    }
}

/// Entry of a ring that an AF_XDP socket shares with the kernel.
///
/// # Safety
///
/// Any bytes must be a value of the type.
pub(super) unsafe trait RingEntry: Copy {}

// SAFETY: three whole numbers without room between them.
unsafe impl RingEntry for libc::xdp_desc {}
// SAFETY: a whole number.
unsafe impl RingEntry for u64 {}

/// Ring of entries that an AF_XDP socket shares with the kernel: one side writes entries and counts
/// them in the word `producer`, the other side reads them and counts in `consumer`. Both words wrap
/// around at 32 bits.
pub(super) struct Ring<T> {
    memory: Mapping,
    producer_at: usize,
    consumer_at: usize,
    entries_at: usize,
    mask: u32,
    entry: PhantomData<T>,
}

impl<T: RingEntry> Ring<T> {
    /// Maps the ring of `entries` entries that the AF_XDP socket `fd` has at `offset`; `offsets`
    /// are its offsets from `XDP_MMAP_OFFSETS`.
    ///
    /// # Panics
    ///
    /// If `entries` is no power of two, or `offsets` are not those of a ring.
    pub(super) fn map(
        fd: BorrowedFd<'_>,
        offset: libc::off_t,
        offsets: &libc::xdp_ring_offset,
        entries: u32,
    ) -> io::Result<Self> {
        assert!(entries.is_power_of_two(), "{entries} entries");
        let [producer_at, consumer_at, entries_at] =
            [offsets.producer, offsets.consumer, offsets.desc].map(|offset| offset as usize);
        let len = entries_at + entries as usize * size_of::<T>();
        let are_words = [producer_at, consumer_at]
            .iter()
            .all(|at| at.is_multiple_of(align_of::<AtomicU32>()) && at + 4 <= entries_at);
        assert!(are_words && entries_at.is_multiple_of(align_of::<T>()), "a ring's places");
        let memory = Mapping::from_fd(fd, offset, len)?;
        let mask = entries - 1;
        Ok(Self { memory, producer_at, consumer_at, entries_at, mask, entry: PhantomData })
    }

    fn word(&self, at: usize) -> &AtomicU32 {
        // SAFETY: `map` has seen that the word is aligned and inside of the mapping, which lives as
        // long as `self`; the kernel and this process both access it as a whole word only.
        unsafe { AtomicU32::from_ptr(self.memory.first.as_ptr().add(at).cast()) }
    }

    /// Returns the ring's count of written entries, modulo 2^32.
    pub(super) fn producer(&self) -> &AtomicU32 {
        self.word(self.producer_at)
    }

    /// Returns the ring's count of read entries, modulo 2^32.
    pub(super) fn consumer(&self) -> &AtomicU32 {
        self.word(self.consumer_at)
    }

    fn entry_pointer(&self, number: u32) -> *mut T {
        let at = self.entries_at + (number & self.mask) as usize * size_of::<T>();
        // SAFETY: the mask keeps it inside of the mapping, which has room for all entries.
        unsafe { self.memory.first.as_ptr().add(at).cast() }
    }

    /// Returns entry `number` of the ring, which the kernel must not be writing now.
    pub(super) fn read(&self, number: u32) -> T {
        // SAFETY: aligned and inside of the mapping; whatever is there is a value (`RingEntry`).
        // That the other side has written it is seen by an acquiring load of `producer`.
        unsafe { self.entry_pointer(number).read() }
    }

    /// Writes entry `number` of the ring; the kernel reads it once `producer` is beyond `number`.
    pub(super) fn write(&mut self, number: u32, entry: T) {
        // SAFETY: aligned and inside of the mapping, and exclusive in the process by `&mut self`.
        // The kernel reads entries below `producer` only.
        unsafe { self.entry_pointer(number).write(entry) }
    }
}
