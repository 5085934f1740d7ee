//! Settings of a daemon's whole process: the modes of new files, and the return of freed memory.
#![allow(unsafe_code, reason = "umask, geteuid, getuid, malloc_trim")]

/// Permissions that new files of a daemon never have: writing by the group, anything by others.
const WITHHELD: libc::mode_t = 0o027;

/// Withholds from new files of this process the permissions that Kea withholds (umask 027): writing
/// by the group and everything by others. A file mode mask (umask) that withholds more stays.
pub fn restrict_umask() {
    // SAFETY: no pointers, and the call cannot fail.
    unsafe {
        let before = libc::umask(WITHHELD);
        libc::umask(before | WITHHELD);
    }
}

/// Returns true if this process runs as root.
pub fn is_root() -> bool {
    // SAFETY: no pointers, and the calls cannot fail.
    unsafe { libc::getuid() == 0 || libc::geteuid() == 0 }
}

/// Returns freed memory of the process to the system; otherwise the allocator keeps much of it.
/// Call it only after a large release, since it scans all free memory.
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
