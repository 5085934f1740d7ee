//! Asking for memory before it is needed. What is asked for is decided by code that is pure; how
//! it is done, by whoever drives it.

/// Brings the cache line at an address near, some hundred nanoseconds before it is read. A hint:
/// the address need not lead to anything.
pub type Prefetch = fn(address: usize);

/// Does nothing: for tests, and for processors that have no such thing.
pub const fn no_prefetch(_address: usize) {}

/// Asks for the first `lines` cache lines of `value`.
pub fn prefetch_value<T>(prefetch: Prefetch, value: &T, lines: usize) {
    let address = core::ptr::from_ref(value).addr();
    for line in 0..lines {
        prefetch(address + 64 * line);
    }
}
