//! Tables of pidstat: the resources that tasks used between two readings.

use std::fmt::Write as _;

use counters::{TICKS_PER_S, TaskIo};

use super::super::per_second;
use super::task::{TaskKey, TaskReading, TaskReadings};

/// Group of pidstat's columns that one switch (`-d`, `-r`, `-u`, …) selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskActivity {
    Processor,
    Memory,
    Io,
    Switches,
}

/// Form of pidstat's tables.
#[derive(Clone, Debug)]
pub(super) struct TaskTable {
    /// Groups of columns in the tables, in their order.
    pub(super) activities: Vec<TaskActivity>,
    pub(super) has_threads: bool,
    /// True for one table with all columns (`-h`).
    pub(super) is_horizontal: bool,
    /// True if tables have lines for tasks that did nothing.
    pub(super) has_idle: bool,
    pub(super) has_head_each_time: bool,
    /// True until pidstat has printed its first table.
    pub(super) is_first: bool,
    pub(super) decimals: usize,
    /// Number of processors by whose time `%CPU` is divided (`-I`).
    pub(super) processors: usize,
    /// Memory of the machine in kilobytes of 1024 bytes.
    pub(super) memory_kb: u64,
    /// Size of a memory page in kilobytes of 1024 bytes.
    pub(super) page_kb: u64,
}

/// Readings of a task at the begin and the end of an interval.
struct TaskUse<'a> {
    before: &'a TaskReading,
    now: &'a TaskReading,
    /// Seconds between the two readings of the task.
    elapsed_s: f64,
    /// True if the line of the task is an average.
    is_average: bool,
}

impl TaskActivity {
    /// Returns the names of the columns, as the head line has them.
    const fn head(self) -> &'static str {
        match self {
            Self::Processor => "    %usr %system  %guest   %wait    %CPU   CPU",
            Self::Memory => "  minflt/s  majflt/s     VSZ     RSS   %MEM",
            Self::Io => "   kB_rd/s   kB_wr/s kB_ccwr/s iodelay",
            Self::Switches => "   cswch/s nvcswch/s",
        }
    }

    /// Returns true if the task did something between its readings that these columns count.
    fn is_active(self, used: &TaskUse<'_>) -> bool {
        let TaskUse { before, now, .. } = used;
        match self {
            Self::Processor => now.stat.used_ticks() != before.stat.used_ticks(),
            Self::Memory => {
                (now.stat.minor_faults, now.stat.major_faults)
                    != (before.stat.minor_faults, before.stat.major_faults)
            }
            Self::Io => now.io != before.io,
            Self::Switches => {
                let count = |task: &TaskReading| {
                    (task.status.voluntary_switches, task.status.involuntary_switches)
                };
                count(now) != count(before)
            }
        }
    }

    /// Returns the cells of the task's line for these columns.
    fn cells(self, used: &TaskUse<'_>, table: &TaskTable) -> String {
        match self {
            Self::Processor => processor_cells(used, table),
            Self::Memory => memory_cells(used, table),
            Self::Io => io_cells(used, table.decimals),
            Self::Switches => switch_cells(used, table.decimals),
        }
    }
}

fn processor_cells(used: &TaskUse<'_>, table: &TaskTable) -> String {
    let TaskUse { before, now, elapsed_s, is_average } = used;
    let decimals = table.decimals;
    let share = |ticks: fn(&TaskReading) -> u64| {
        per_second(ticks(before), ticks(now), *elapsed_s) * 100.0 / TICKS_PER_S as f64
    };
    let guest = share(|task| task.stat.guest_ticks);
    let user = (share(|task| task.stat.user_ticks) - guest).max(0.0);
    let system = share(|task| task.stat.system_ticks);
    let wait = per_second(before.wait_ns, now.wait_ns, *elapsed_s) * 100.0 / 1e9;
    let all = share(|task| task.stat.used_ticks()) / table.processors.max(1) as f64;
    let cpu = if *is_average { "-".to_owned() } else { now.stat.cpu.to_string() };
    let mut cells = String::new();
    for value in [user, system, guest, wait, all] {
        let _ = write!(cells, " {value:>7.decimals$}");
    }
    let _ = write!(cells, " {cpu:>5}");
    cells
}

fn memory_cells(used: &TaskUse<'_>, table: &TaskTable) -> String {
    let TaskUse { before, now, elapsed_s, .. } = used;
    let decimals = table.decimals;
    let rate =
        |faults: fn(&TaskReading) -> u64| per_second(faults(before), faults(now), *elapsed_s);
    let (minor, major) = (rate(|task| task.stat.minor_faults), rate(|task| task.stat.major_faults));
    let virtual_kb = now.stat.virtual_bytes / 1024;
    let resident_kb = now.stat.resident_pages * table.page_kb;
    let share = resident_kb as f64 * 100.0 / table.memory_kb.max(1) as f64;
    format!(
        " {minor:>9.decimals$} {major:>9.decimals$} {virtual_kb:>7} {resident_kb:>7} \
         {share:>6.decimals$}"
    )
}

fn io_cells(used: &TaskUse<'_>, decimals: usize) -> String {
    let TaskUse { before, now, elapsed_s, .. } = used;
    let rate = |bytes: fn(&TaskIo) -> u64| match (&before.io, &now.io) {
        (Some(before), Some(now)) => per_second(bytes(before), bytes(now), *elapsed_s) / 1024.0,
        _ => -1.0,
    };
    let rates =
        [rate(|io| io.read_bytes), rate(|io| io.written_bytes), rate(|io| io.cancelled_bytes)];
    let delay = now.stat.block_delay_ticks.saturating_sub(before.stat.block_delay_ticks);
    let cells: String = rates.iter().map(|rate| format!(" {rate:>9.decimals$}")).collect();
    format!("{cells} {delay:>7}")
}

fn switch_cells(used: &TaskUse<'_>, decimals: usize) -> String {
    let TaskUse { before, now, elapsed_s, .. } = used;
    let (before, now) = (&before.status, &now.status);
    let voluntary = per_second(before.voluntary_switches, now.voluntary_switches, *elapsed_s);
    let involuntary = per_second(before.involuntary_switches, now.involuntary_switches, *elapsed_s);
    format!(" {voluntary:>9.decimals$} {involuntary:>9.decimals$}")
}

impl TaskTable {
    /// Returns the tables of the time between two readings.
    pub(super) fn text(&mut self, before: &TaskReadings, now: &TaskReadings) -> String {
        let has_head = self.has_head_each_time || self.is_first;
        self.is_first = false;
        self.tables(before, now, has_head.then_some(before.time.as_str()), false)
    }

    /// Returns the tables of averages from the reading `first` to the reading `last`; the time of
    /// the last readings is the label.
    pub(super) fn average_text(&self, first: &TaskReadings, last: &TaskReadings) -> String {
        self.tables(first, last, self.has_head_each_time.then_some(last.time.as_str()), true)
    }

    fn tables(
        &self,
        before: &TaskReadings,
        now: &TaskReadings,
        head_time: Option<&str>,
        is_average: bool,
    ) -> String {
        let singles = self.activities.chunks(1);
        let whole = self.activities.chunks(self.activities.len().max(1));
        let tables = if self.is_horizontal { whole } else { singles };
        let mut text = String::new();
        for activities in tables {
            if let Some(time) = head_time {
                let _ = writeln!(text, "\n{}", self.head(time, activities));
            }
            for (key, task) in &now.tasks {
                let Some(task_before) = before.task(key) else { continue };
                let elapsed_s = now.seconds - before.seconds;
                let used = TaskUse { before: &task_before, now: task, elapsed_s, is_average };
                if self.has_idle || activities.iter().any(|activity| activity.is_active(&used)) {
                    let cells: String =
                        activities.iter().map(|activity| activity.cells(&used, self)).collect();
                    let _ = writeln!(text, "{}", self.line(&now.time, key, task, &cells));
                }
            }
        }
        text
    }

    fn head(&self, time: &str, activities: &[TaskActivity]) -> String {
        let time = if self.is_horizontal { "# Time" } else { time };
        let ids = if self.has_threads { "     TGID       TID" } else { "      PID" };
        let columns: String = activities.iter().map(|activity| activity.head()).collect();
        format!("{time:<11}   UID {ids}{columns}  Command")
    }

    fn line(&self, time: &str, key: &TaskKey, task: &TaskReading, cells: &str) -> String {
        let (uid, pid) = (task.status.uid, key.pid);
        let ids = match key.thread {
            Some(thread) => format!("{:>9} {thread:>9}", "-"),
            None if self.has_threads => format!("{pid:>9} {:>9}", "-"),
            None => format!("{pid:>9}"),
        };
        let mark = if key.thread.is_some() { "|__" } else { "" };
        format!("{time:<11} {uid:>5} {ids}{cells}  {mark}{}", task.command)
    }
}

#[cfg(test)]
mod tests {
    use counters::{ProcessStat, TaskStatus};

    use super::*;

    fn readings(seconds: f64, factor: u64) -> TaskReadings {
        let stat = ProcessStat {
            name: "named".to_owned(),
            user_ticks: 50 * factor,
            system_ticks: 10 * factor,
            guest_ticks: 20 * factor,
            started_ticks: 7,
            minor_faults: 4 * factor,
            virtual_bytes: 5004 * 1024,
            resident_pages: 500,
            cpu: 1,
            ..ProcessStat::default()
        };
        let status =
            TaskStatus { uid: 110, voluntary_switches: 3 * factor, involuntary_switches: factor };
        let io = TaskIo { read_bytes: 2048 * factor, ..TaskIo::default() };
        let task = TaskReading {
            stat,
            status,
            wait_ns: 10_000_000 * factor,
            io: Some(io),
            command: "named".to_owned(),
        };
        let key = |pid, thread| TaskKey { pid, thread, started_ticks: 7 };
        let idle = TaskReading { command: "idle".to_owned(), ..TaskReading::default() };
        let tasks = [(key(4242, None), task), (key(4300, None), idle)];
        TaskReadings { seconds, time: format!("10:00:{seconds:02}"), tasks: tasks.into() }
    }

    fn table(activities: &[TaskActivity]) -> TaskTable {
        TaskTable {
            activities: activities.to_vec(),
            has_threads: false,
            is_horizontal: false,
            has_idle: false,
            has_head_each_time: false,
            is_first: true,
            decimals: 2,
            processors: 1,
            memory_kb: 100_000,
            page_kb: 4,
        }
    }

    const ALL: [TaskActivity; 4] =
        [TaskActivity::Processor, TaskActivity::Memory, TaskActivity::Io, TaskActivity::Switches];

    #[test]
    fn tables_are_those_of_pidstat() {
        let mut table = table(&ALL);
        let text = table.text(&readings(10.0, 1), &readings(12.0, 2));
        assert_eq!(
            text.lines().collect::<Vec<_>>(),
            [
                "",
                "10:00:10      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command",
                "10:00:12      110      4242   15.00    5.00   10.00    0.50   30.00     1  named",
                "",
                "10:00:10      UID       PID  minflt/s  majflt/s     VSZ     RSS   %MEM  Command",
                "10:00:12      110      4242      2.00      0.00    5004    2000   2.00  named",
                "",
                "10:00:10      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command",
                "10:00:12      110      4242      1.00      0.00      0.00       0  named",
                "",
                "10:00:10      UID       PID   cswch/s nvcswch/s  Command",
                "10:00:12      110      4242      1.50      0.50  named",
            ]
        );
        // Without heads each time the next tables are lines alone.
        let text = table.text(&readings(12.0, 2), &readings(14.0, 2));
        assert_eq!(text, "", "nothing was used");
    }

    #[test]
    fn a_table_can_have_all_columns_and_idle_tasks() {
        let mut table = TaskTable { is_horizontal: true, has_idle: true, ..table(&ALL[..2]) };
        table.decimals = 0;
        table.processors = 2;
        let text = table.text(&readings(10.0, 1), &readings(12.0, 2));
        assert_eq!(
            text.lines().skip(1).collect::<Vec<_>>(),
            [
                "# Time        UID       PID    %usr %system  %guest   %wait    %CPU   CPU  minflt/s  \
                 majflt/s     VSZ     RSS   %MEM  Command",
                "10:00:12      110      4242      15       5      10       0      15     1         2         \
                 0    5004    2000      2  named",
                "10:00:12        0      4300       0       0       0       0       0     0         0         \
                 0       0       0      0  idle",
            ]
        );
    }

    #[test]
    fn threads_follow_their_process_and_averages_have_no_processor() {
        let mut last = readings(12.0, 2);
        let (key, task) = last.tasks.first_key_value().map(|(k, t)| (*k, t.clone())).unwrap();
        last.tasks.insert(TaskKey { thread: Some(4243), started_ticks: 1_100, ..key }, task);
        last.time = "Average:".to_owned();
        let table = TaskTable { has_threads: true, has_head_each_time: true, ..table(&ALL[..1]) };
        let text = table.average_text(&readings(10.0, 1), &last);
        assert_eq!(
            text.lines().skip(1).collect::<Vec<_>>(),
            [
                "Average:      UID      TGID       TID    %usr %system  %guest   %wait    %CPU   CPU  \
                 Command",
                "Average:      110      4242         -   15.00    5.00   10.00    0.50   30.00     -  named",
                "Average:      110         -      4243   30.00   10.00   20.00    1.00   60.00     -  \
                 |__named",
            ]
        );
    }

    #[test]
    fn a_file_that_may_not_be_read_shows_minus_one() {
        let mut now = readings(12.0, 2);
        for task in now.tasks.values_mut() {
            task.io = None;
        }
        let text = table(&ALL[2..3]).text(&readings(10.0, 1), &now);
        assert!(text.contains("     -1.00     -1.00     -1.00       0  named"), "{text}");
    }
}
