//! Prefetch instruction of the processor.
#![allow(unsafe_code, reason = "prefetch")]

/// Loads the cache line at `address` into all caches; see [`base::Prefetch`]. The function has no
/// effect on processors other than x86.
#[inline]
pub fn prefetch(address: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint, which neither faults nor changes what a program sees,
        // whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::without_provenance(address)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
