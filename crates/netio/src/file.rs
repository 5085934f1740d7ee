//! Flags of `open(2)` that the standard library has no names for, to be passed to
//! `OpenOptions::custom_flags`.

/// Flag `O_NOFOLLOW` of `open(2)`: opening a symbolic link is an error.
pub const NO_FOLLOW: i32 = libc::O_NOFOLLOW;
/// Flag `O_NONBLOCK` of `open(2)`: opening a pipe does not wait for its other end.
pub const NON_BLOCKING: i32 = libc::O_NONBLOCK;
