//! Array of fixed length whose elements have stable addresses for the kernel.
#![allow(unsafe_code, reason = "hands out raw element addresses for message headers")]

use std::ptr::NonNull;

/// Size of the smallest page that Linux has, in bytes.
const PAGE_BYTES_MIN: usize = 4096;

/// Array of `len` elements that never move. Unlike a `Box<[T]>`, borrowing a part does not
/// invalidate addresses taken earlier, so message headers can be prepared once and reused.
pub(crate) struct Slab<T: Copy> {
    first: NonNull<T>,
    len: usize,
}

// SAFETY: a slab owns its elements exclusively, as a `Box<[T]>` would. The raw pointers that
// message headers (the only `T` that is not `Send` itself) contain lead into slabs that live in
// the same batch and move between threads together with it.
unsafe impl<T: Copy> Send for Slab<T> {}

impl<T: Copy> Slab<T> {
    /// Creates an array with `len` copies of `value`, which are written, so that their pages are
    /// present.
    pub(crate) fn new(value: T, len: usize) -> Self {
        let first = Box::leak(vec![value; len].into_boxed_slice());
        // A zero-filled allocation is mapped lazily; a write to each page loads it. The last
        // element may begin a page that no step reaches.
        let step = (PAGE_BYTES_MIN / size_of::<T>().max(1)).max(1);
        for element in first.iter_mut().step_by(step) {
            *std::hint::black_box(element) = value;
        }
        if let Some(element) = first.last_mut() {
            *std::hint::black_box(element) = value;
        }
        Self { first: NonNull::from(first).cast(), len }
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Returns the address of element `index`, valid as long as the [`Slab`] exists.
    pub(crate) fn address(&self, index: usize) -> *mut T {
        assert!(index < self.len, "element {index} of {}", self.len);
        // SAFETY: the index is within the allocation.
        unsafe { self.first.as_ptr().add(index) }
    }

    /// Returns the `count` elements from `from` on.
    pub(crate) fn slice(&self, from: usize, count: usize) -> &[T] {
        assert!(from <= self.len && count <= self.len - from, "{from}+{count} of {}", self.len);
        // SAFETY: the range is within the allocation and initialised; `&self` lasts as long as the
        // slice, and writers (this type's `&mut` methods, the kernel during a call that holds the
        // batch mutably) need the batch exclusively.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr().add(from), count) }
    }

    /// Returns the `count` elements from `from` on, to write.
    pub(crate) fn slice_mut(&mut self, from: usize, count: usize) -> &mut [T] {
        assert!(from <= self.len && count <= self.len - from, "{from}+{count} of {}", self.len);
        // SAFETY: as in `slice`, and `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr().add(from), count) }
    }

    pub(crate) fn get(&self, index: usize) -> &T {
        &self.slice(index, 1)[0]
    }

    pub(crate) fn get_mut(&mut self, index: usize) -> &mut T {
        &mut self.slice_mut(index, 1)[0]
    }
}

impl<T: Copy> Drop for Slab<T> {
    fn drop(&mut self) {
        let elements = std::ptr::slice_from_raw_parts_mut(self.first.as_ptr(), self.len);
        // SAFETY: `new` leaked exactly this boxed slice, and nothing else frees it.
        drop(unsafe { Box::from_raw(elements) });
    }
}
