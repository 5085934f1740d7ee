//! Columns of `ifpps --csv` for gnuplot in the order of netsniff-ng's ifpps, and after them columns
//! that netsniff-ng's ifpps lacks.

use std::fmt::Write as _;

use super::look::{CounterDifference, CounterReading, CpuLook};

/// Returns the head of the gnuplot file: comments with the interface, the interval and the names of
/// the columns.
pub(crate) fn head(device: &str, interval_ms: u64, cpus: &[u32]) -> String {
    let mut text = format!(
        "# gnuplot dump (#col:description)\n# networking interface: {device}\n\
         # sampling interval (t): {interval_ms} ms\n#"
    );
    for (name, number) in names(cpus).iter().zip(1..) {
        let _ = write!(text, " {number}:{name}");
    }
    text + "\n# data:\n"
}

fn names(cpus: &[u32]) -> Vec<String> {
    let mut names: Vec<String> = vec!["unixtime".into()];
    for side in ["rx", "tx"] {
        for end in ["-per-t", ""] {
            names.extend(
                ["bytes", "pkts", "drops", "errors"].map(|what| format!("{side}-{what}{end}")),
            );
        }
    }
    let machine = [
        "context-switches-per-t",
        "mem-free",
        "mem-used",
        "mem-total",
        "swap-free",
        "swap-used",
        "swap-total",
        "procs-total",
        "procs-in-run",
        "procs-in-iow",
    ];
    names.extend(machine.map(str::to_owned));
    for cpu in cpus {
        let own = [
            "usr-per-t",
            "nice-per-t",
            "sys-per-t",
            "idle-per-t",
            "iow-per-t",
            "net-irqs-per-t",
            "net-irqs",
            "net-rx-soft-irqs-per-t",
            "net-rx-soft-irqs",
            "net-tx-soft-irqs-per-t",
            "net-tx-soft-irqs",
        ];
        names.extend(own.map(|what| format!("cpu{cpu}-{what}")));
    }
    // The columns from here on are godwit's own.
    names.extend(["unixtime-ms", "interval-us"].map(str::to_owned));
    for cpu in cpus {
        let own = [
            "irq-per-t",
            "softirq-per-t",
            "steal-per-t",
            "guest-per-t",
            "guest-nice-per-t",
            "backlog-drops-per-t",
            "backlog-squeezes-per-t",
        ];
        names.extend(own.map(|what| format!("cpu{cpu}-{what}")));
    }
    names
}

/// Returns the row of one interval. Amounts are scaled from the interval that really passed to
/// `interval_ms`, the interval that the flags ask for.
pub(crate) fn row(
    now: &CounterReading,
    step: &CounterDifference,
    interval_ms: u64,
    cpus: &[u32],
) -> String {
    let per_t = |amount: u64| (step.per_s(amount) * interval_ms as f64 / 1e3).round() as u64;
    let mut cells = vec![now.wall_ms / 1_000];
    for (amount, total) in [
        (&step.carried.received, &now.interface.received),
        (&step.carried.sent, &now.interface.sent),
    ] {
        cells.extend([amount.bytes, amount.packets, amount.drops, amount.errors].map(per_t));
        cells.extend([total.bytes, total.packets, total.drops, total.errors]);
    }
    let memory = &now.memory;
    cells.push(per_t(step.context_switches));
    cells.extend([memory.free_kb, memory.used_kb(), memory.total_kb]);
    cells.extend([memory.swap_free_kb, memory.swap_used_kb(), memory.swap_total_kb]);
    cells.extend([now.processes, now.running, now.blocked]);
    // A processor that has gone keeps its columns.
    let find = |list: &[CpuLook], cpu: u32| {
        list.iter().find(|each| each.times.cpu == cpu).copied().unwrap_or_default()
    };
    for &cpu in cpus {
        let (amount, total) = (find(&step.cpus, cpu), find(&now.cpus, cpu));
        let times = &amount.times;
        cells.extend([times.user, times.nice, times.system, times.idle, times.iowait].map(per_t));
        for (amount, total) in [
            (amount.net.interrupts, total.net.interrupts),
            (amount.net.receive_softirqs, total.net.receive_softirqs),
            (amount.net.transmit_softirqs, total.net.transmit_softirqs),
        ] {
            cells.extend([per_t(amount), total]);
        }
    }
    cells.extend([now.wall_ms, (step.interval_s * 1e6).round() as u64]);
    for &cpu in cpus {
        let CpuLook { times, net } = find(&step.cpus, cpu);
        cells.extend([times.irq, times.softirq, times.steal].map(per_t));
        cells.extend([times.guest, times.guest_nice].map(per_t));
        cells.extend([net.backlog_drops, net.squeezes].map(per_t));
    }
    let cells: Vec<String> = cells.iter().map(u64::to_string).collect();
    cells.join(" ") + "\n"
}

#[cfg(test)]
mod tests {
    use super::super::look::tests::recorded;
    use super::*;

    #[test]
    fn the_columns_of_the_reference_have_its_numbers() {
        let head = head("eth0", 1000, &[0, 1]);
        let lines: Vec<&str> = head.lines().collect();
        assert_eq!(lines[1], "# networking interface: eth0");
        assert_eq!((lines.len(), lines[4]), (5, "# data:"));
        // The numbers that ifpps 0.6.8 gives the columns for two processors.
        for column in [
            "1:unixtime",
            "3:rx-pkts-per-t",
            "7:rx-pkts",
            "11:tx-pkts-per-t",
            "17:tx-errors",
            "18:context-switches-per-t",
            "20:mem-used",
            "27:procs-in-iow",
            "28:cpu0-usr-per-t",
            "34:cpu0-net-irqs",
            "39:cpu1-usr-per-t",
            "49:cpu1-net-tx-soft-irqs",
            "51:interval-us",
            "53:cpu0-softirq-per-t",
        ] {
            assert!(lines[3].split(' ').any(|word| word == column), "{column}: {}", lines[3]);
        }
    }

    #[test]
    fn amounts_are_of_the_interval_that_really_passed_and_totals_as_they_are() {
        let [before, now] = recorded();
        let now = CounterReading { wall_ms: 1_700_000_000_999, processes: 99, ..now };
        let step = CounterDifference::between(&before, &now, 2.0);
        let row = row(&now, &step, 1000, &[0, 1, 7]);
        let expected = "1700000000 \
            1500 10 1 0 4000 30 4 2 500 10 0 0 1500 25 0 0 \
            300 400 600 1000 15 5 20 99 1 0 \
            5 0 3 30 0 5 17 25 150 1 3 \
            25 0 0 25 0 0 9 1 201 0 2 \
            0 0 0 0 0 0 0 0 0 0 0 \
            1700000000999 2000000 \
            0 10 3 0 0 2 0 \
            0 0 0 5 0 0 2 \
            0 0 0 0 0 0 0\n";
        assert_eq!(row, expected);
        let columns = names(&[0, 1, 7]).len();
        assert_eq!(row.split_whitespace().count(), columns, "a name for each cell");
    }
}
