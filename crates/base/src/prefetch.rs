//! Prefetching of memory before it is read. Pure code decides which addresses are prefetched; its
//! driver supplies the function that prefetches.

/// Function that loads the cache line at an address into the cache, some hundred nanoseconds before
/// the line is read. The address is a hint and may be invalid.
pub type Prefetch = fn(address: usize);

/// Does nothing with an address: the [`Prefetch`] for tests, and for processors without a prefetch
/// instruction.
pub const fn no_prefetch(_address: usize) {}

/// Prefetches the first `lines` cache lines of `value` by the function `prefetch`.
pub fn prefetch_value<T>(prefetch: Prefetch, value: &T, lines: usize) {
    let address = core::ptr::from_ref(value).addr();
    for line in 0..lines {
        prefetch(address + 64 * line);
    }
}
