//! Reader of one process: `/proc/PID/stat` and `/proc/PID/task/TID/schedstat`.

use crate::TICKS_PER_S;

/// Contents of `/proc/PID/stat` for a process. Times are in clock ticks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessStat {
    /// Name of the process's program; the kernel cuts long names.
    pub name: String,
    /// Number of the process group that the process belongs to.
    pub group: u32,
    /// Time that all threads of the process, ended ones included, used in user mode, guests
    /// included, in clock ticks.
    pub user_ticks: u64,
    /// Time that the kernel used on behalf of the process, in clock ticks.
    pub system_ticks: u64,
    /// Part of `user_ticks` that virtual machines (guests) used, in clock ticks.
    pub guest_ticks: u64,
    /// Time at which the process started, in clock ticks since boot.
    pub started_ticks: u64,
    /// Number of the processor that the process ran on last.
    pub cpu: u32,
    /// Size of the process's virtual memory, in bytes.
    pub virtual_bytes: u64,
    /// Size of the process's resident memory, in pages.
    pub resident_pages: u64,
    /// Number of page faults of the process that needed no input from a device.
    pub minor_faults: u64,
    /// Number of page faults of the process that waited for input from a device.
    pub major_faults: u64,
    /// Time that the process waited for block devices, in clock ticks; 0 unless the kernel counts
    /// it.
    pub block_delay_ticks: u64,
}

impl ProcessStat {
    /// Returns the time that all threads of the process used in user and kernel mode, in clock
    /// ticks.
    pub const fn used_ticks(&self) -> u64 {
        self.user_ticks + self.system_ticks
    }
}

/// Parses the text of `/proc/PID/stat`; the program's name in it may contain spaces and
/// parentheses.
pub fn parse_process_stat(text: &str) -> Option<ProcessStat> {
    let (before_end, after_name) = text.rsplit_once(')')?;
    let fields: Vec<&str> = after_name.split_ascii_whitespace().collect();
    // Field 3 of proc(5), the state, is the first one here.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(ProcessStat {
        name: before_end.split_once('(')?.1.to_owned(),
        group: u32::try_from(number(5)?).ok()?,
        user_ticks: number(14)?,
        system_ticks: number(15)?,
        started_ticks: number(22)?,
        // Later columns came with later kernels.
        cpu: number(39).and_then(|cpu| u32::try_from(cpu).ok()).unwrap_or(0),
        guest_ticks: number(43).unwrap_or(0),
        virtual_bytes: number(23).unwrap_or(0),
        resident_pages: number(24).unwrap_or(0),
        minor_faults: number(10)?,
        major_faults: number(12)?,
        block_delay_ticks: number(42).unwrap_or(0),
    })
}

/// Returns the time that a thread has run, in nanoseconds: the first number of
/// `/proc/PID/task/TID/schedstat`.
pub fn parse_process_run_ns(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().next()?.parse().ok()
}

/// Returns the time that a thread has waited for a processor while it could have run, in
/// nanoseconds: the second number of `/proc/PID/task/TID/schedstat`.
pub fn parse_process_wait_ns(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Returns the clock ticks since boot, from the text of `/proc/uptime`.
pub fn parse_uptime_ticks(text: &str) -> Option<u64> {
    let seconds: f64 = text.split_ascii_whitespace().next()?.parse().ok()?;
    Some((seconds * TICKS_PER_S as f64).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_times_survive_a_hostile_name() {
        let text = "9848 (a) R 1 (b) R 9846 9840 3710 0 -1 4194304 98 0 0 0 25 17 0 0 20 0 1 0 \
                    160281 3133440 375";
        let stat = parse_process_stat(text).unwrap();
        assert_eq!((stat.group, stat.used_ticks(), stat.started_ticks), (9840, 42, 160_281));
        assert_eq!((stat.name.as_str(), stat.cpu, stat.guest_ticks), ("a) R 1 (b", 0, 0));
        assert_eq!(parse_process_stat("9848 (a) R 1"), None);
        assert_eq!(parse_process_stat(") R 1"), None);
        assert_eq!(parse_process_stat(""), None);
    }

    #[test]
    fn the_later_columns_are_the_processor_and_guests() {
        // The text printed by Linux 6.18, with times in place of zeros.
        let text = "28418 (cat) R 28403 28403 25825 0 -1 4194304 100 0 0 0 31 7 0 0 20 0 1 0 5246738 \
                    3133440 412 18446744073709551615 94030121091072 94030121110953 140720573896656 \
                    0 0 0 0 0 0 0 0 0 17 3 0 0 0 11 0 94030121126960 94030121128576 94031003353088 \
                    140720573905565 140720573905606 140720573905606 140720573906923 0";
        let stat = parse_process_stat(text).unwrap();
        assert_eq!((stat.user_ticks, stat.system_ticks), (31, 7));
        assert_eq!((stat.cpu, stat.guest_ticks, stat.name.as_str()), (3, 11, "cat"));
        assert_eq!((stat.minor_faults, stat.major_faults, stat.block_delay_ticks), (100, 0, 0));
        assert_eq!((stat.virtual_bytes, stat.resident_pages), (3_133_440, 412));
        assert_eq!(parse_process_wait_ns("1062385 539647 14\n"), Some(539_647));
        assert_eq!(parse_process_run_ns("1062385 539647 14\n"), Some(1_062_385));
        assert_eq!((parse_process_wait_ns(""), parse_process_run_ns("x")), (None, None));
        assert_eq!(parse_uptime_ticks("52467.38 101.00\n"), Some(5_246_738));
        assert_eq!(parse_uptime_ticks("x"), None);
    }
}
