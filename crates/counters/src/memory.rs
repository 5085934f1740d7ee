//! Reader of memory use: `/proc/meminfo`, and the memory of one process.

/// Memory of the machine, in kilobytes of 1024 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SystemMemory {
    /// Memory that the kernel has in total, in kilobytes of 1024 bytes.
    pub total_kb: u64,
    /// Memory that is not used, in kilobytes of 1024 bytes.
    pub free_kb: u64,
    /// Memory that programs could still get if the kernel gave up its caches, in kilobytes of 1024
    /// bytes.
    pub available_kb: u64,
    /// Memory that was used recently (`Active`), in kilobytes of 1024 bytes.
    pub active_kb: u64,
    /// Memory that was not used for a long time (`Inactive`), in kilobytes of 1024 bytes.
    pub inactive_kb: u64,
    /// Swap space in total, in kilobytes of 1024 bytes.
    pub swap_total_kb: u64,
    /// Swap space that is free, in kilobytes of 1024 bytes.
    pub swap_free_kb: u64,
}

impl SystemMemory {
    /// Returns the memory of the machine that is not free, caches included, in kilobytes of 1024
    /// bytes.
    pub const fn used_kb(&self) -> u64 {
        self.total_kb.saturating_sub(self.free_kb)
    }

    /// Returns the swap space that is not free, in kilobytes of 1024 bytes.
    pub const fn swap_used_kb(&self) -> u64 {
        self.swap_total_kb.saturating_sub(self.swap_free_kb)
    }
}

/// Parses the text of `/proc/meminfo`.
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

/// Returns the resident memory of a process, in bytes, from the text of `/proc/PID/status`.
pub fn parse_resident_bytes(text: &str) -> Option<u64> {
    Some(kilobytes(text, "VmRSS:")? * 1024)
}

/// Returns the size of a memory page, in kilobytes of 1024 bytes, from the text of
/// `/proc/self/smaps`.
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
