//! View of `godwit ifpps` that fills the terminal, with the lines of netsniff-ng's ifpps.

use std::fmt::Write as _;

use counters::{CpuShares, InterfaceCounters, Traffic};
use netio::ScreenSize;

use super::look::{CounterDifference, CounterReading, CpuLook, InterfaceDescription};
use super::median;

/// Number of bytes in a MiB.
const MIB: f64 = 1_048_576.0;
/// Bytes that each frame costs on an Ethernet in addition to those that the kernel counts:
/// preamble, check sequence and gap (IEEE 802.3).
const FRAMING_BYTES: u64 = 8 + 4 + 12;

/// Parts of ifpps's view that do not change from one interval to the next.
#[derive(Debug)]
pub(crate) struct IfppsViewContext {
    pub(crate) device: InterfaceDescription,
    /// Release of the kernel, such as `6.1.0`.
    pub(crate) release: String,
    /// Name of the machine.
    pub(crate) host: String,
    /// Interval of the user's flag, in milliseconds.
    pub(crate) interval_ms: u64,
    /// Greatest number of processors that the view shows, the busiest ones.
    pub(crate) cpus_max: usize,
    pub(crate) is_median: bool,
    pub(crate) is_percentage: bool,
    /// True if the view shows no warnings.
    pub(crate) is_unwarned: bool,
}

/// Form of one picture of the view, chosen to fit the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameForm {
    /// True to show all columns, which need [`WIDE`] columns of the terminal.
    is_wide: bool,
    /// True to show the interrupts since boot as well.
    has_totals: bool,
    /// Number of processors shown, the busiest ones.
    cpus: usize,
}

impl FrameForm {
    /// Form of a picture that shows all parts.
    pub(crate) const WHOLE: Self = Self { is_wide: true, has_totals: true, cpus: usize::MAX };
}

/// Number of terminal columns of the widest line.
const WIDE: usize = 104;
/// Number of terminal rows of a picture without the lines of processors: with the sum, the blank
/// lines and a row left for the cursor.
const ROWS: usize = 19;

impl IfppsViewContext {
    /// Returns the form of a picture that fits a terminal of `size`, on a machine with `cpus`
    /// processors.
    pub(crate) fn form_for(size: Option<ScreenSize>, cpus: usize) -> FrameForm {
        let Some(ScreenSize { columns, rows }) = size else { return FrameForm::WHOLE };
        let room = rows.saturating_sub(ROWS);
        let has_totals = room > 3 * cpus;
        let cpus = room / if has_totals { 3 } else { 2 };
        FrameForm { is_wide: columns >= WIDE, has_totals, cpus: cpus.max(1) }
    }

    /// Returns the lines of one picture of the view for the counters `now` and their increase
    /// `step`.
    pub(crate) fn frame(
        &self,
        now: &CounterReading,
        step: &CounterDifference,
        has_link: bool,
        form: FrameForm,
    ) -> String {
        let mut text = String::new();
        self.title(&mut text, step, has_link, form);
        for (name, carried) in [("rx", step.carried.received), ("tx", step.carried.sent)] {
            self.rates(&mut text, name, &carried, step, form);
        }
        text.push('\n');
        totals(&mut text, &now.interface, form);
        machine(&mut text, now, self.per_t(step, step.context_switches), form);
        self.processors(&mut text, now, step, form);
        if !form.is_wide {
            let _ = writeln!(text, "not shown below {WIDE} columns: errors, guest, iowait");
        }
        if step.went_back && !self.is_unwarned {
            let name = &self.device.name;
            let _ = writeln!(
                text,
                "\nwarning: the counters of {name} decreased; the traffic of \
                                    this interval is not counted"
            );
        }
        text
    }

    fn per_t(&self, step: &CounterDifference, amount: u64) -> f64 {
        step.per_s(amount) * self.interval_ms as f64 / 1e3
    }

    fn title(&self, text: &mut String, step: &CounterDifference, has_link: bool, form: FrameForm) {
        let InterfaceDescription { name, driver, speed_mbps, .. } = &self.device;
        let driver = driver.as_ref().map(|driver| format!("{driver} ")).unwrap_or_default();
        let speed = speed_mbps.map(|speed| format!("{speed}Mbit/s ")).unwrap_or_default();
        let link = if has_link { "yes" } else { "no" };
        let (release, host) = (&self.release, &self.host);
        let all = step.cpus.len();
        let cpu_count = self.cpus_max.min(all).min(form.cpus);
        let _ = writeln!(
            text,
            "{release}, {host}, {name} ({driver}{speed}link:{link}), t={}ms, cpus={cpu_count}/{all}\n",
            self.interval_ms
        );
    }

    fn rates(
        &self,
        text: &mut String,
        name: &str,
        carried: &Traffic,
        step: &CounterDifference,
        form: FrameForm,
    ) {
        let per_t = |amount| self.per_t(step, amount);
        let (mib, packets) = (per_t(carried.bytes) / MIB, per_t(carried.packets));
        let (drops, errors) = (per_t(carried.drops), per_t(carried.errors));
        let _ = if form.is_wide {
            write!(
                text,
                "  {name}: {mib:>16.3} MiB/t {packets:>10.0} pkts/t {drops:>10.0} drops/t \
                 {errors:>10.0} errors/t"
            )
        } else {
            write!(text, "  {name}: {mib:>10.3} MiB/t {packets:>9.0} pkts/t {drops:>7.0} drops/t")
        };
        if self.is_percentage {
            match self.line_share(carried, step) {
                Some(share) => write!(text, " {share:>6.2}% of line rate"),
                None => write!(text, "   line rate unknown"),
            }
            .expect("a string takes all");
        }
        text.push('\n');
    }

    /// Returns the traffic in per cent of the line rate, with the cost of each frame in addition to
    /// its bytes; `None` if the speed of the interface is not known.
    fn line_share(&self, carried: &Traffic, step: &CounterDifference) -> Option<f64> {
        let bytes = carried.bytes + FRAMING_BYTES * carried.packets;
        let speed_bps = self.device.speed_mbps? as f64 * 1e6;
        Some(step.per_s(bytes) * 8.0 / speed_bps * 100.0)
    }

    fn processors(
        &self,
        text: &mut String,
        now: &CounterReading,
        step: &CounterDifference,
        form: FrameForm,
    ) {
        let mut busiest: Vec<(&CpuLook, CpuShares)> =
            step.cpus.iter().map(|cpu| (cpu, CpuShares::of(&cpu.times))).collect();
        busiest.sort_by(|(_, one), (_, other)| unused(one).total_cmp(&unused(other)));
        let last = busiest.len().saturating_sub(1);
        let mark = |rank: usize| match rank {
            0 => '+',
            rank if rank == last => '-',
            _ => '|',
        };
        let cpu_count = self.cpus_max.min(busiest.len()).min(form.cpus);
        for (rank, (cpu, shares)) in busiest.iter().enumerate().take(cpu_count) {
            let label = format!("cpu{:>3} {}:", cpu.times.cpu, mark(rank));
            share_line(text, &label, shares, form);
        }
        share_line(text, "avg:", &step.all_cpus(), form);
        let all: Vec<CpuShares> = busiest.iter().map(|(_, shares)| *shares).collect();
        if self.is_median {
            share_line(text, "med:", &median_shares(&all), form);
        }
        text.push('\n');
        for (rank, (cpu, _)) in busiest.iter().enumerate().take(cpu_count) {
            let net = &cpu.net;
            let counts = [
                net.interrupts,
                net.receive_softirqs,
                net.transmit_softirqs,
                net.backlog_drops,
                net.squeezes,
            ];
            let label = format!("cpu{:>3} {}:", cpu.times.cpu, mark(rank));
            net_line(text, &label, counts.map(|count| self.per_t(step, count)), form);
        }
        if !form.has_totals {
            return;
        }
        text.push('\n');
        for (rank, (cpu, _)) in busiest.iter().enumerate().take(cpu_count) {
            let number = cpu.times.cpu;
            let total = now.cpus.iter().find(|each| each.times.cpu == number);
            let total = total.map_or(0, |each| each.net.interrupts);
            let _ = writeln!(text, "cpu{number:>3} {}: {total:>12} irqs", mark(rank));
        }
    }
}

/// Returns the share of processor time that was idle, in per cent. Time taken by the hypervisor
/// counts as load.
fn unused(shares: &CpuShares) -> f64 {
    shares.idle + shares.iowait
}

fn median_shares(all: &[CpuShares]) -> CpuShares {
    let of = |column: fn(&CpuShares) -> f64| median(all.iter().map(column).collect());
    CpuShares {
        usr: of(|shares| shares.usr),
        nice: of(|shares| shares.nice),
        sys: of(|shares| shares.sys),
        iowait: of(|shares| shares.iowait),
        irq: of(|shares| shares.irq),
        soft: of(|shares| shares.soft),
        steal: of(|shares| shares.steal),
        guest: of(|shares| shares.guest),
        gnice: of(|shares| shares.gnice),
        idle: of(|shares| shares.idle),
    }
}

fn share_line(text: &mut String, label: &str, shares: &CpuShares, form: FrameForm) {
    let CpuShares { usr, nice, sys, iowait, irq, soft, steal, guest, gnice, idle } = shares;
    // Guests are programs to this machine; users of a packet view do not distinguish them from
    // others.
    let (usr, guest) = (usr + nice, guest + gnice);
    if !form.is_wide {
        let _ = writeln!(
            text,
            "{label:<9}{usr:>6.1}% usr {sys:>5.1}% sys {irq:>5.1}% irq {soft:>5.1}% sirq \
             {steal:>5.1}% steal {idle:>5.1}% idl"
        );
        return;
    }
    let _ = writeln!(
        text,
        "{label:<9}{usr:>6.1}% usr {sys:>5.1}% sys {irq:>5.1}% irq {soft:>5.1}% sirq \
         {steal:>5.1}% steal {guest:>5.1}% guest {idle:>5.1}% idl {iowait:>5.1}% iow"
    );
}

fn net_line(text: &mut String, label: &str, counts: [f64; 5], form: FrameForm) {
    let [interrupts, received, sent, drops, squeezes] = counts;
    if !form.is_wide {
        let _ = writeln!(
            text,
            "{label:<9}{interrupts:>8.0} irqs/t {received:>7.0} rx/t {sent:>7.0} tx/t \
             {drops:>6.0} drops/t {squeezes:>4.0} sqz/t"
        );
        return;
    }
    let _ = writeln!(
        text,
        "{label:<9}{interrupts:>10.0} irqs/t {received:>10.0} sirq rx/t {sent:>10.0} sirq tx/t \
         {drops:>8.0} backlog drops/t {squeezes:>6.0} squeezes/t"
    );
}

fn totals(text: &mut String, interface: &InterfaceCounters, form: FrameForm) {
    for (name, total) in [("rx", interface.received), ("tx", interface.sent)] {
        if !form.is_wide {
            let (mib, packets) = (total.bytes as f64 / MIB, total.packets);
            let drops = total.drops;
            let _ =
                writeln!(text, "  {name}: {mib:>10.3} MiB   {packets:>9} pkts   {drops:>7} drops");
            continue;
        }
        let _ = writeln!(
            text,
            "  {name}: {:>16.3} MiB   {:>10} pkts   {:>10} drops   {:>10} errors",
            total.bytes as f64 / MIB,
            total.packets,
            total.drops,
            total.errors
        );
    }
    text.push('\n');
}

fn machine(text: &mut String, now: &CounterReading, switches_per_t: f64, form: FrameForm) {
    let mib = |kilobytes: u64| kilobytes / 1024;
    let memory = &now.memory;
    let gap = if form.is_wide { "" } else { "  " };
    let [switches, procs, running, iowait, total, used, active, inactive] =
        if form.is_wide { [13, 10, 11, 10, 13, 9, 11, 10] } else { [9, 6, 7, 7, 8, 7, 8, 8] };
    let _ = writeln!(
        text,
        "  sys: {switches_per_t:>switches$.0} cs/t {gap}{:>procs$} procs {:>running$} running \
         {:>iowait$} iowait\n  \
           mem: {:>total$}M total {:>used$}M used {:>active$}M active {:>inactive$}M inactive\n  \
         swap: {:>total$}M total {:>used$}M used {:>active$}M free\n",
        now.processes,
        now.running,
        now.blocked,
        mib(memory.total_kb),
        mib(memory.used_kb()),
        mib(memory.active_kb),
        mib(memory.inactive_kb),
        mib(memory.swap_total_kb),
        mib(memory.swap_used_kb()),
        mib(memory.swap_free_kb)
    );
}

#[cfg(test)]
mod tests {
    use super::super::look::tests::{device, recorded};
    use super::*;

    fn view() -> IfppsViewContext {
        IfppsViewContext {
            device: device(),
            release: "6.18.0".into(),
            host: "bench".into(),
            interval_ms: 1_000,
            cpus_max: 10,
            is_median: true,
            is_percentage: true,
            is_unwarned: false,
        }
    }

    fn words(line: &str) -> Vec<&str> {
        line.split_whitespace().collect()
    }

    #[test]
    fn a_frame_shows_all_time_of_the_processors() {
        let [before, now] = recorded();
        let frame = view().frame(
            &now,
            &CounterDifference::between(&before, &now, 2.0),
            true,
            FrameForm::WHOLE,
        );
        let lines: Vec<&str> = frame.lines().collect();
        assert_eq!(
            lines[0],
            "6.18.0, bench, eth0 (virtio_net 1000Mbit/s link:yes), t=1000ms, cpus=2/2"
        );
        assert_eq!(words(lines[2])[..5], ["rx:", "0.001", "MiB/t", "10", "pkts/t"]);
        assert_eq!(words(lines[5])[3..5], ["30", "pkts"]);
        let load: Vec<&str> =
            lines.iter().copied().filter(|line| line.contains("% sirq")).collect();
        // Half of the time of cpu1 was used, and 40 % of that of cpu0, stolen time included.
        assert_eq!(words(load[0])[..5], ["cpu", "1", "+:", "40.0%", "usr"]);
        assert_eq!(load[1].trim_end(), load[1]);
        assert!(
            load[1]
                .starts_with("cpu  0 -:  10.0% usr   5.0% sys   0.0% irq  20.0% sirq   5.0% steal")
        );
        assert!(load[2].starts_with("avg:       25.0% usr"), "{}", load[2]);
        assert!(load[3].starts_with("med:"), "{}", load[3]);
        assert!(!frame.contains("warning"));
    }

    #[test]
    fn the_line_rate_counts_what_frames_cost_besides() {
        let [before, now] = recorded();
        let mut step = CounterDifference::between(&before, &now, 1.0);
        // The 85 bytes of the slides' query, 1.103 million times a second, are 962 Mbit/s on the
        // wire.
        step.carried.received =
            Traffic { bytes: 85 * 1_103_000, packets: 1_103_000, ..Traffic::default() };
        let share = view().line_share(&step.carried.received, &step).unwrap();
        assert!((share - 96.18).abs() < 0.01, "{share}");
        let unknown = IfppsViewContext {
            device: InterfaceDescription { speed_mbps: None, ..device() },
            ..view()
        };
        assert!(unknown.frame(&now, &step, false, FrameForm::WHOLE).contains("line rate unknown"));
    }

    #[test]
    fn the_busiest_come_first_and_the_rest_is_left_out() {
        let [before, now] = recorded();
        let few = IfppsViewContext { cpus_max: 1, is_median: false, ..view() };
        let frame = few.frame(
            &now,
            &CounterDifference::between(&before, &now, 1.0),
            true,
            FrameForm::WHOLE,
        );
        assert!(frame.contains("cpu  1 +:") && !frame.contains("cpu  0"), "{frame}");
        assert!(frame.contains("cpus=1/2") && frame.contains("avg:") && !frame.contains("med:"));
        let back = few.frame(
            &before,
            &CounterDifference::between(&now, &before, 1.0),
            true,
            FrameForm::WHOLE,
        );
        assert!(back.contains("warning: the counters of eth0 decreased"), "{back}");
    }

    #[test]
    fn a_frame_fits_a_terminal_of_80_columns_and_24_rows() {
        let [before, now] = recorded();
        let step = CounterDifference::between(&before, &now, 1.0);
        let size = Some(ScreenSize { columns: 80, rows: 24 });
        for cpus in [2, 64] {
            let form = IfppsViewContext::form_for(size, cpus);
            let plain = IfppsViewContext { is_percentage: false, is_median: false, ..view() };
            let frame = plain.frame(&now, &step, true, form);
            // The title contains the name of the machine, which may have any length.
            for line in frame.lines().skip(1) {
                assert!(line.chars().count() <= 80, "{line}");
            }
            let machine_cpus = step.cpus.len();
            let rows = frame.lines().count() + 2 * form.cpus.saturating_sub(machine_cpus);
            assert!(rows <= 23, "{rows} rows: {frame}");
            assert!(frame.contains("not shown below 104 columns: errors"), "{frame}");
        }
        let wide = Some(ScreenSize { columns: 120, rows: 50 });
        let form = IfppsViewContext::form_for(wide, 2);
        assert!(form.is_wide && form.has_totals && form.cpus >= 2, "{form:?}");
        assert_eq!(IfppsViewContext::form_for(None, 2), FrameForm::WHOLE);
    }
}
