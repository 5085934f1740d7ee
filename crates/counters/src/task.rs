//! Readers of two files of processes and threads: `/proc/PID/status` and `/proc/PID/io`.

/// Fields of `/proc/PID/status` that the tools show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskStatus {
    /// Number of the real user that the process runs as.
    pub uid: u32,
    /// Number of context switches because the thread waited, for input or a lock for example.
    pub voluntary_switches: u64,
    /// Number of context switches because another thread got the processor.
    pub involuntary_switches: u64,
}

/// Bytes that a process has read and written so far, from `/proc/PID/io`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskIo {
    /// Number of bytes that the process read from devices.
    pub read_bytes: u64,
    /// Number of bytes that the process wrote and that the kernel has written or will write to
    /// devices.
    pub written_bytes: u64,
    /// Number of bytes of `written_bytes` that the kernel never writes, because their file was
    /// truncated before.
    pub cancelled_bytes: u64,
}

/// Reads the text of `/proc/PID/status`; numbers that it lacks are 0.
pub fn parse_task_status(text: &str) -> TaskStatus {
    let number = |key| number_of(text, key).unwrap_or(0);
    TaskStatus {
        uid: u32::try_from(number("Uid:")).unwrap_or(0),
        voluntary_switches: number("voluntary_ctxt_switches:"),
        involuntary_switches: number("nonvoluntary_ctxt_switches:"),
    }
}

/// Reads the text of `/proc/PID/io`; returns `None` if the text is empty because the caller may not
/// read the file.
pub fn parse_task_io(text: &str) -> Option<TaskIo> {
    Some(TaskIo {
        read_bytes: number_of(text, "read_bytes:")?,
        written_bytes: number_of(text, "write_bytes:")?,
        cancelled_bytes: number_of(text, "cancelled_write_bytes:")?,
    })
}

/// Returns the first number in the line of `text` that begins with `key`.
fn number_of(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_of_a_task_is_read() {
        let text = "Name:\tcat\nUid:\t1000\t0\t0\t0\nVmSize:\t    5004 kB\n\
                    voluntary_ctxt_switches:\t17\nnonvoluntary_ctxt_switches:\t3\n";
        let status = parse_task_status(text);
        assert_eq!(
            (status.uid, status.voluntary_switches, status.involuntary_switches),
            (1000, 17, 3)
        );
        assert_eq!(parse_task_status("Name:\tkthreadd\n"), TaskStatus::default());
    }

    #[test]
    fn the_bytes_of_a_task_are_read_where_the_file_may_be_read() {
        let text = "rchar: 9\nwchar: 8\nsyscr: 7\nsyscw: 6\nread_bytes: 4096\nwrite_bytes: 8192\n\
                    cancelled_write_bytes: 1\n";
        let io = TaskIo { read_bytes: 4096, written_bytes: 8192, cancelled_bytes: 1 };
        assert_eq!(parse_task_io(text), Some(io));
        assert_eq!(parse_task_io(""), None);
    }
}
