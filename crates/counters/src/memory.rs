//! The reader of memory use: `/proc/meminfo`, and the memory of one process.

/// The machine's memory, in kilobytes of 1024 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SystemMemory {
    /// The memory that the kernel has in all.
    pub total_kb: u64,
    /// The memory that is not used.
    pub free_kb: u64,
    /// The memory that programs could still get if caches were given up.
    pub available_kb: u64,
    /// The memory that was used not long ago.
    pub active_kb: u64,
    /// The memory that was not used for long.
    pub inactive_kb: u64,
    /// The swap space in all.
    pub swap_total_kb: u64,
    /// The swap space that is free.
    pub swap_free_kb: u64,
}

impl SystemMemory {
    /// Returns the memory that is not free, caches included.
    #[must_use]
    pub const fn used_kb(&self) -> u64 {
        self.total_kb.saturating_sub(self.free_kb)
    }

    /// Returns the swap space that is not free.
    #[must_use]
    pub const fn swap_used_kb(&self) -> u64 {
        self.swap_total_kb.saturating_sub(self.swap_free_kb)
    }
}

/// Reads the text of `/proc/meminfo`.
#[must_use]
pub fn parse_memory(text: &str) -> SystemMemory {
    let of = |key| kilobytes(text, key).unwrap_or(0);
    SystemMemory {
        total_kb: of("MemTotal:"),
        free_kb: of("MemFree:"),
        available_kb: of("MemAvailable:"),
        active_kb: of("Active:"),
        inactive_kb: of("Inactive:"),
        swap_total_kb: of("SwapTotal:"),
        swap_free_kb: of("SwapFree:"),
    }
}

/// Returns the resident memory in `/proc/PID/status` in bytes.
#[must_use]
pub fn parse_resident_bytes(text: &str) -> Option<u64> {
    Some(kilobytes(text, "VmRSS:")? * 1024)
}

/// Returns the size of a page in `/proc/self/smaps`, in kilobytes of 1024 bytes.
#[must_use]
pub fn parse_page_kb(text: &str) -> Option<u64> {
    kilobytes(text, "KernelPageSize:")
}

fn kilobytes(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_in_bytes() {
        let text = "Name:\tcat\nVmHWM:\t    1700 kB\nVmRSS:\t    1640 kB\nRssAnon:\t 1 kB\n";
        assert_eq!(parse_resident_bytes(text), Some(1640 * 1024));
        assert_eq!(parse_resident_bytes("Name:\tkthreadd\n"), None);
    }

    #[test]
    fn what_is_used_is_what_is_not_free() {
        let text = "MemTotal:       24684084 kB\nMemFree:        11663544 kB\n\
                    MemAvailable:   24054980 kB\nSwapCached:            0 kB\n\
                    Active:          4345180 kB\nInactive:        7974356 kB\n\
                    Active(anon):        996 kB\nSwapTotal:        2048 kB\nSwapFree: 48 kB\n";
        let memory = parse_memory(text);
        assert_eq!((memory.used_kb(), memory.swap_used_kb()), (13_020_540, 2_000));
        assert_eq!((memory.active_kb, memory.inactive_kb), (4_345_180, 7_974_356));
        assert_eq!((memory.total_kb, memory.available_kb), (24_684_084, 24_054_980));
        assert_eq!(parse_memory("").used_kb(), 0);
    }
}
