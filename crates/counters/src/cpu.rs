//! Reader of `/proc/stat`: the time use of the processors, and the counters of the scheduler.

use serde::Serialize;

/// Number of clock ticks per second in `/proc`: fixed at 100 by the Linux ABI on every architecture
/// that Debian has.
pub const TICKS_PER_S: u64 = 100;

/// Time use of one processor since boot, in clock ticks; or, from [`CpuTimes::since`], over an
/// interval. The columns are the kernel's own: the time of virtual machines (guests) is within user
/// time as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// Kernel's number of the processor.
    pub cpu: u32,
    /// Time of programs in user mode, guests included, in clock ticks.
    pub user: u64,
    /// Time of programs of lowered priority (nice above 0) in user mode, guests included, in clock
    /// ticks.
    pub nice: u64,
    /// Time of the kernel on behalf of programs, in clock ticks.
    pub system: u64,
    /// Time in which the processor had no work, in clock ticks.
    pub idle: u64,
    /// Time in which the processor had no work while a program waited for input or output, in clock
    /// ticks.
    pub iowait: u64,
    /// Time of hardware interrupts, in clock ticks.
    pub irq: u64,
    /// Time of software interrupts (receiving packets, mostly), in clock ticks.
    pub softirq: u64,
    /// Time that the hypervisor took from this virtual machine, in clock ticks.
    pub steal: u64,
    /// Part of `user` that virtual machines (guests) used, in clock ticks.
    pub guest: u64,
    /// Part of `nice` that virtual machines (guests) used, in clock ticks.
    pub guest_nice: u64,
}

impl CpuTimes {
    /// Returns the clock ticks in which the processor was used: neither idle nor taken by the
    /// hypervisor.
    pub const fn busy(&self) -> u64 {
        self.user + self.nice + self.system + self.irq + self.softirq
    }

    /// Returns the idle clock ticks of the processor, waiting for input and output included.
    pub const fn unused(&self) -> u64 {
        self.idle + self.iowait
    }

    /// Returns all clock ticks of the processor: busy, idle and stolen.
    pub const fn total(&self) -> u64 {
        self.busy() + self.unused() + self.steal
    }

    /// Returns the time use since the earlier reading `before`. The kernel's idle, waiting and
    /// stolen time can step back a little: a step back counts as 0.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        self.combine(before, u64::saturating_sub)
    }

    /// Returns the sum of two time uses, under the processor number of the first.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.combine(other, u64::saturating_add)
    }

    fn combine(&self, other: &Self, with: fn(u64, u64) -> u64) -> Self {
        Self {
            cpu: self.cpu,
            user: with(self.user, other.user),
            nice: with(self.nice, other.nice),
            system: with(self.system, other.system),
            idle: with(self.idle, other.idle),
            iowait: with(self.iowait, other.iowait),
            irq: with(self.irq, other.irq),
            softirq: with(self.softirq, other.softirq),
            steal: with(self.steal, other.steal),
            guest: with(self.guest, other.guest),
            guest_nice: with(self.guest_nice, other.guest_nice),
        }
    }
}

/// Contents of `/proc/stat`: time use of the processors and counters of the scheduler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Time use of each processor in use, in ascending order of their numbers.
    pub cpus: Vec<CpuTimes>,
    /// Number of context switches of all processors since boot.
    pub context_switches: u64,
    /// Number of interrupts of all processors since boot.
    pub interrupts: u64,
    /// Number of threads that run or could run at the time of the reading.
    pub running: u64,
    /// Number of threads that wait for input or output at the time of the reading.
    pub blocked: u64,
}

/// Parses the text of `/proc/stat`.
pub fn parse_stat(text: &str) -> Stat {
    let mut stat = Stat::default();
    for line in text.lines() {
        let number = |key| line.strip_prefix(key)?.trim().parse().ok();
        if let Some(times) = parse_cpu_line(line) {
            stat.cpus.push(times);
        } else if let Some(count) = number("ctxt ") {
            stat.context_switches = count;
        } else if let Some(count) = first_number(line, "intr ") {
            stat.interrupts = count;
        } else if let Some(count) = number("procs_running ") {
            stat.running = count;
        } else if let Some(count) = number("procs_blocked ") {
            stat.blocked = count;
        }
    }
    stat
}

/// Returns the first number in the line that begins with `key`; `None` for another line.
fn first_number(line: &str, key: &str) -> Option<u64> {
    line.strip_prefix(key)?.split_ascii_whitespace().next()?.parse().ok()
}

fn parse_cpu_line(line: &str) -> Option<CpuTimes> {
    let mut fields = line.split_ascii_whitespace();
    let cpu = fields.next()?.strip_prefix("cpu")?.parse().ok()?;
    let mut next = || fields.next().and_then(|f| f.parse::<u64>().ok());
    let (user, nice, system, idle) = (next()?, next()?, next()?, next()?);
    // Later columns came with later kernels.
    let mut later = || next().unwrap_or(0);
    Some(CpuTimes {
        cpu,
        user,
        nice,
        system,
        idle,
        iowait: later(),
        irq: later(),
        softirq: later(),
        steal: later(),
        guest: later(),
        guest_nice: later(),
    })
}

/// Shares of a processor's time in an interval, in per cent; their sum is 100.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CpuShares {
    /// Share of programs in user mode, without guests, in per cent.
    pub usr: f64,
    /// Share of programs of lowered priority (nice above 0), without guests, in per cent.
    pub nice: f64,
    /// Share of the kernel on behalf of programs, in per cent.
    pub sys: f64,
    /// Share of idle time while a program waits for input or output, in per cent.
    pub iowait: f64,
    /// Share of hardware interrupts, in per cent.
    pub irq: f64,
    /// Share of software interrupts, in per cent.
    pub soft: f64,
    /// Share of time that the hypervisor took, in per cent.
    pub steal: f64,
    /// Share of virtual machines (guests), in per cent.
    pub guest: f64,
    /// Share of virtual machines (guests) of lowered priority, in per cent.
    pub gnice: f64,
    /// Share of idle time without waiting for input or output, in per cent.
    pub idle: f64,
}

impl CpuShares {
    /// Returns the shares of the clock ticks of an interval. An interval in which the clock did not
    /// tick is shown as idle: it was too short to measure.
    pub fn of(amounts: &CpuTimes) -> Self {
        // Guest time is subtracted from the rest of its kind, so that nothing counts twice, and a
        // guest that seems to have more than all of its kind makes the total no greater.
        let guest = amounts.guest.min(amounts.user);
        let gnice = amounts.guest_nice.min(amounts.nice);
        let total = amounts.total();
        if total == 0 {
            return Self { idle: 100.0, ..Self::default() };
        }
        let share = |ticks: u64| ticks as f64 * 100.0 / total as f64;
        Self {
            usr: share(amounts.user - guest),
            nice: share(amounts.nice - gnice),
            sys: share(amounts.system),
            iowait: share(amounts.iowait),
            irq: share(amounts.irq),
            soft: share(amounts.softirq),
            steal: share(amounts.steal),
            guest: share(guest),
            gnice: share(gnice),
            idle: share(amounts.idle),
        }
    }

    /// Returns all shares in per cent, in the order of the columns of mpstat.
    pub const fn columns(&self) -> [f64; 10] {
        [
            self.usr,
            self.nice,
            self.sys,
            self.iowait,
            self.irq,
            self.soft,
            self.steal,
            self.guest,
            self.gnice,
            self.idle,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_times_add_up() {
        let text = "cpu  10 0 0 0 0 0 0 0 0 0\n\
                    cpu0 4523 7 3903 228156 1706 11 313 1301 99 1\n\
                    cpu13 1 2 3 4\nintr 5 6\nctxt 325911443\nbtime 1763860000\n\
                    processes 900\nprocs_running 3\nprocs_blocked 1\nsoftirq 1 2 3\n";
        let stat = parse_stat(text);
        assert_eq!((stat.context_switches, stat.running, stat.blocked), (325_911_443, 3, 1));
        assert_eq!(stat.interrupts, 5);
        let seen: Vec<_> = stat
            .cpus
            .iter()
            .map(|times| (times.cpu, times.busy(), times.unused(), times.steal, times.softirq))
            .collect();
        assert_eq!(seen, [(0, 8757, 229_862, 1301, 313), (13, 6, 4, 0, 0)]);
        assert_eq!((stat.cpus[0].guest, stat.cpus[0].guest_nice), (99, 1));
        assert_eq!(parse_stat(""), Stat::default());
        assert_eq!(parse_stat("cpu0 1 2\ncpux 1 2 3 4\n"), Stat::default());
    }

    #[test]
    fn shares_leave_nothing_out_and_count_guests_once() {
        let amounts = CpuTimes {
            user: 40,
            nice: 10,
            system: 5,
            idle: 20,
            iowait: 5,
            irq: 1,
            softirq: 15,
            steal: 4,
            guest: 30,
            guest_nice: 3,
            cpu: 1,
        };
        let shares = CpuShares::of(&amounts);
        assert_eq!(shares.columns(), [10.0, 7.0, 5.0, 5.0, 1.0, 15.0, 4.0, 30.0, 3.0, 20.0]);
        let idle = CpuShares::of(&CpuTimes::default());
        assert_eq!((idle.idle, idle.columns().iter().sum::<f64>()), (100.0, 100.0));
    }

    #[test]
    fn shares_of_anything_are_a_whole() {
        let mut random = base::Random::from_seed(11);
        for _ in 0..2_000 {
            let mut times = || {
                let mut tick = || random.below(1 << 40);
                CpuTimes {
                    cpu: 0,
                    user: tick(),
                    nice: tick(),
                    system: tick(),
                    idle: tick(),
                    iowait: tick(),
                    irq: tick(),
                    softirq: tick(),
                    steal: tick(),
                    guest: tick(),
                    guest_nice: tick(),
                }
            };
            // Any counter may go back between the two.
            let columns = CpuShares::of(&times().since(&times())).columns();
            assert!(columns.iter().all(|share| (0.0..=100.0).contains(share)), "{columns:?}");
            assert!((columns.iter().sum::<f64>() - 100.0).abs() < 1e-6, "{columns:?}");
        }
    }
}
