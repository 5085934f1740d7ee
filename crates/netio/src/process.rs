//! What a daemon sets for its whole process: the modes of files that it makes, and memory that it
//! gives back.
#![allow(unsafe_code, reason = "umask, geteuid, getuid, malloc_trim")]

/// Permissions that no file of a daemon grants: writing by its group, anything by others.
const WITHHELD: libc::mode_t = 0o027;

/// Withholds from files that this process makes from now on what Kea withholds: writing by the
/// group and everything by others. A mask that withholds more stays.
pub fn restrict_umask() {
    // SAFETY: no pointers, and the call cannot fail.
    unsafe {
        let before = libc::umask(WITHHELD);
        libc::umask(before | WITHHELD);
    }
}

/// Returns whether this process is root's.
#[must_use]
pub fn is_root() -> bool {
    // SAFETY: no pointers, and the calls cannot fail.
    unsafe { libc::getuid() == 0 || libc::geteuid() == 0 }
}

/// Gives memory that was freed back to the system; the allocator keeps much of it otherwise. For
/// after something large, since it looks at all that is free.
pub fn return_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: no pointers; glibc's allocator locks what it touches.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_who_the_kernel_says() {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let ids = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap();
        let ids: Vec<&str> = ids.split_whitespace().collect();
        assert_eq!(is_root(), ids[0] == "0" || ids[1] == "0");
    }
}
