//! Flags of `open(2)` that the standard library has no names for, for its `custom_flags`.

/// Flag: opening a symbolic link is an error.
pub const NO_FOLLOW: i32 = libc::O_NOFOLLOW;
/// Flag: opening a pipe does not wait for its other end.
pub const NON_BLOCKING: i32 = libc::O_NONBLOCK;
