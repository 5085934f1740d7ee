//! Prefetching memory before it is needed. Pure code decides which addresses are prefetched; its
//! driver supplies the function that does it.

/// A function that brings the cache line at an address near, some hundred nanoseconds before it is
/// read. It is a hint: the address may be invalid.
pub type Prefetch = fn(address: usize);

/// Does nothing: for tests, and for processors without a prefetch instruction.
pub const fn no_prefetch(_address: usize) {}

/// Prefetches the first `lines` cache lines of `value`.
pub fn prefetch_value<T>(prefetch: Prefetch, value: &T, lines: usize) {
    let address = core::ptr::from_ref(value).addr();
    for line in 0..lines {
        prefetch(address + 64 * line);
    }
}
