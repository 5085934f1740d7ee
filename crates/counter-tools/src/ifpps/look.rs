//! Readings of the counters of an interface and of the machine's processors, and the difference of
//! two readings.

use std::path::Path;
use std::time::Instant;

use counters::{
    CountTable, CpuShares, CpuTimes, InterfaceCounters, SystemMemory, advance, parse_counts,
    parse_interface, parse_memory, parse_softnet_rows, parse_stat,
};
use netio::Clock;
use testbed::proc;

/// Description of an interface by the machine (`/sys/class/net`).
#[derive(Clone, Debug, Default)]
pub(crate) struct InterfaceDescription {
    /// Name of the interface.
    pub(crate) name: String,
    /// Name of the interface's driver, if `/sys` names one.
    pub(crate) driver: Option<String>,
    /// Name of the device of the interface on the kernel's buses, such as `virtio2`.
    pub(crate) bus_name: Option<String>,
    /// Speed of the interface in Mbit/s, if `/sys` has one.
    pub(crate) speed_mbps: Option<u64>,
}

impl InterfaceDescription {
    /// Reads the description of the interface `name` in `/sys`.
    pub(crate) fn named(name: &str) -> Self {
        let folder = Path::new("/sys/class/net").join(name);
        let leads_to = |link: &str| {
            let target = std::fs::read_link(folder.join(link)).ok()?;
            Some(target.file_name()?.to_string_lossy().into_owned())
        };
        let speed: i64 = proc::read(folder.join("speed")).trim().parse().unwrap_or(-1);
        Self {
            name: name.to_owned(),
            driver: leads_to("device/driver"),
            bus_name: leads_to("device"),
            speed_mbps: u64::try_from(speed).ok().filter(|speed| *speed > 0),
        }
    }

    /// Returns true if `/sys` reports that the interface is up and has a carrier.
    pub(crate) fn has_link(&self) -> bool {
        let folder = Path::new("/sys/class/net").join(&self.name);
        proc::read(folder.join("carrier")).trim() == "1"
    }
}

/// Texts of `/proc` that a reading of the counters is made of.
#[derive(Clone, Debug, Default)]
pub(crate) struct CounterTexts {
    pub(crate) devices: String,
    pub(crate) stat: String,
    pub(crate) interrupts: String,
    pub(crate) softirqs: String,
    pub(crate) softnet: String,
    pub(crate) memory: String,
}

impl CounterTexts {
    fn read() -> Self {
        Self {
            devices: proc::read("/proc/net/dev"),
            stat: proc::read("/proc/stat"),
            interrupts: proc::read("/proc/interrupts"),
            softirqs: proc::read("/proc/softirqs"),
            softnet: proc::read("/proc/net/softnet_stat"),
            memory: proc::read("/proc/meminfo"),
        }
    }
}

/// Reading of all counters at one moment, since boot or since the interface was made.
#[derive(Clone, Debug, Default)]
pub(crate) struct CounterReading {
    /// Time of the reading in milliseconds since 1970.
    pub(crate) wall_ms: u64,
    pub(crate) interface: InterfaceCounters,
    pub(crate) cpus: Vec<CpuLook>,
    pub(crate) context_switches: u64,
    pub(crate) running: u64,
    pub(crate) blocked: u64,
    pub(crate) processes: u64,
    pub(crate) memory: SystemMemory,
}

/// Counters of one processor in a reading, or their increase between two readings.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CpuLook {
    pub(crate) times: CpuTimes,
    pub(crate) net: NetCounts,
}

/// Counters of one processor's work for the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NetCounts {
    /// Number of interrupts of the interface's device on the processor.
    pub(crate) interrupts: u64,
    /// Number of software interrupts for receiving on the processor, of all devices.
    pub(crate) receive_softirqs: u64,
    /// Number of software interrupts for sending on the processor, of all devices.
    pub(crate) transmit_softirqs: u64,
    /// Number of packets dropped because the processor's receive backlog was full.
    pub(crate) backlog_drops: u64,
    /// Number of times that the processor stopped receiving with packets left over
    /// (`time_squeeze`).
    pub(crate) squeezes: u64,
}

impl NetCounts {
    /// Returns the increase of the counters since `before`; the increase of a counter that began
    /// again is 0.
    fn since(&self, before: &Self) -> Self {
        let step = |now, before| advance(before, now).unwrap_or(0);
        Self {
            interrupts: step(self.interrupts, before.interrupts),
            receive_softirqs: step(self.receive_softirqs, before.receive_softirqs),
            transmit_softirqs: step(self.transmit_softirqs, before.transmit_softirqs),
            backlog_drops: step(self.backlog_drops, before.backlog_drops),
            squeezes: step(self.squeezes, before.squeezes),
        }
    }
}

impl CounterReading {
    /// Reads the counters of `device` and the processors now, and returns the time of the reading
    /// with them; `None` if no such interface exists.
    pub(crate) fn take(device: &InterfaceDescription) -> Option<(Instant, Self)> {
        let texts = CounterTexts::read();
        let (at, wall_ms) = (Instant::now(), Clock::now().wall_us / 1_000);
        let look = Self::of(&texts, device)?;
        Some((at, Self { wall_ms, processes: proc::process_count(), ..look }))
    }

    /// Parses the counters of `device` and the processors in `texts`; returns `None` if no such
    /// interface exists.
    pub(crate) fn of(texts: &CounterTexts, device: &InterfaceDescription) -> Option<Self> {
        let interface = parse_interface(&texts.devices, &device.name)?;
        let stat = parse_stat(&texts.stat);
        let interrupts = parse_counts(&texts.interrupts);
        let softirqs = parse_counts(&texts.softirqs);
        let backlog = parse_softnet_rows(&texts.softnet);
        let cpu_look = |times: &CpuTimes| {
            let cpu = times.cpu;
            let named = |name: &str| softirqs.count(cpu, |row| row.name == name);
            let own = backlog.iter().find(|row| row.cpu == cpu).copied().unwrap_or_default();
            let net = NetCounts {
                interrupts: device_interrupts(&interrupts, cpu, device),
                receive_softirqs: named("NET_RX"),
                transmit_softirqs: named("NET_TX"),
                backlog_drops: own.dropped,
                squeezes: own.squeezed,
            };
            CpuLook { times: *times, net }
        };
        Some(Self {
            wall_ms: 0,
            interface,
            cpus: stat.cpus.iter().map(cpu_look).collect(),
            context_switches: stat.context_switches,
            running: stat.running,
            blocked: stat.blocked,
            processes: 0,
            memory: parse_memory(&texts.memory),
        })
    }
}

/// Returns the number of interrupts of processor `cpu` in rows that name the interface; if no row
/// does, in rows that name the device of the interface, or else its driver.
fn device_interrupts(table: &CountTable, cpu: u32, device: &InterfaceDescription) -> u64 {
    let names = [Some(&device.name), device.bus_name.as_ref(), device.driver.as_ref()];
    let mut names = names.into_iter().flatten();
    let known = names.find(|name| table.rows.iter().any(|row| row.mentions(name)));
    known.map_or(0, |name| table.count(cpu, |row| row.mentions(name)))
}

/// Difference of two readings of an interface's and the processors' counters.
#[derive(Clone, Debug)]
pub(crate) struct CounterDifference {
    /// Real time between the readings in seconds.
    pub(crate) interval_s: f64,
    /// Traffic of the interface between the readings.
    pub(crate) carried: InterfaceCounters,
    /// True if the interface's counters went back, so that its traffic between the readings is not
    /// known.
    pub(crate) went_back: bool,
    pub(crate) context_switches: u64,
    /// Counters of the processors that exist in both readings.
    pub(crate) cpus: Vec<CpuLook>,
}

impl CounterDifference {
    pub(crate) fn between(before: &CounterReading, now: &CounterReading, interval_s: f64) -> Self {
        let carried = now.interface.since(&before.interface);
        let cpu_step = |now: &CpuLook| {
            let was = before.cpus.iter().find(|was| was.times.cpu == now.times.cpu)?;
            let (times, net) = (now.times.since(&was.times), now.net.since(&was.net));
            Some(CpuLook { times, net })
        };
        Self {
            interval_s: interval_s.max(1e-6),
            carried: carried.amounts,
            went_back: carried.went_back,
            context_switches: advance(before.context_switches, now.context_switches).unwrap_or(0),
            cpus: now.cpus.iter().filter_map(cpu_step).collect(),
        }
    }

    /// Returns `amount` per second of the real time between the readings.
    pub(crate) fn per_s(&self, amount: u64) -> f64 {
        amount as f64 / self.interval_s
    }

    /// Returns the shares of time of all processors together, in per cent.
    pub(crate) fn all_cpus(&self) -> CpuShares {
        let sum = self.cpus.iter().fold(CpuTimes::default(), |sum, cpu| sum.plus(&cpu.times));
        CpuShares::of(&sum)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use counters::Traffic;

    use super::*;

    /// Returns two readings of a machine with two processors, a second apart, from texts in the
    /// form of Linux 6.18.
    pub(crate) fn recorded() -> [CounterReading; 2] {
        let before = CounterTexts {
            devices: devices(1_000, 10, 2, 3, 500, 5),
            stat: "cpu  0 0 0 0\ncpu0 1000 10 200 5000 50 5 300 40 0 0\n\
                   cpu1 2000 20 300 6000 60 6 400 50 7 0\nctxt 5000\nprocs_running 2\n\
                   procs_blocked 1\n"
                .into(),
            interrupts: "     CPU0  CPU1\n 30:  7  9  PCI-MSIX  1-edge  virtio2-input.0\n".into(),
            softirqs: "     CPU0  CPU1\nNET_TX: 1 2\nNET_RX: 100 200\n".into(),
            softnet: "00000064 ffffffff 00000001\n000000c8 00000000 00000000\n".into(),
            memory: "MemTotal: 1000 kB\nMemFree: 400 kB\nActive: 300 kB\nInactive: 200 kB\n\
                     SwapTotal: 20 kB\nSwapFree: 15 kB\n"
                .into(),
        };
        let after = CounterTexts {
            devices: devices(4_000, 30, 2, 4, 1_500, 25),
            stat: "cpu0 1010 10 205 5060 49 5 320 45 0 0\n\
                   cpu1 2050 20 300 6050 60 6 400 50 17 0\nctxt 5600\nprocs_running 1\n\
                   procs_blocked 0\n"
                .into(),
            interrupts: "     CPU0  CPU1\n 30:  17  9  PCI-MSIX  1-edge  virtio2-input.0\n".into(),
            softirqs: "     CPU0  CPU1\nNET_TX: 3 2\nNET_RX: 150 201\n".into(),
            softnet: "00000096 00000002 00000001\n000000c9 00000000 00000004\n".into(),
            ..before.clone()
        };
        [before, after].map(|texts| CounterReading::of(&texts, &device()).unwrap())
    }

    pub(crate) fn device() -> InterfaceDescription {
        InterfaceDescription {
            name: "eth0".into(),
            driver: Some("virtio_net".into()),
            bus_name: Some("virtio2".into()),
            speed_mbps: Some(1_000),
        }
    }

    fn devices(
        bytes: u64,
        packets: u64,
        errors: u64,
        drops: u64,
        sent_bytes: u64,
        sent: u64,
    ) -> String {
        format!(
            "Inter-| Receive | Transmit\n face |bytes packets|bytes packets\n veth0: 9 9 9 9 9 9 9 9 \
             9 9 9 9 9 9 9 9\n  eth0: {bytes} {packets} {errors} {drops} 0 0 0 0 {sent_bytes} {sent} 0 \
             0 0 0 0 0\n"
        )
    }

    #[test]
    fn a_step_has_what_came_between_two_looks() {
        let [before, now] = recorded();
        let step = CounterDifference::between(&before, &now, 2.0);
        let received = Traffic { bytes: 3_000, packets: 20, errors: 0, drops: 1 };
        assert_eq!((step.carried.received, step.went_back), (received, false));
        assert_eq!((step.per_s(step.carried.sent.packets), step.context_switches), (10.0, 600));
        let net: Vec<_> = step.cpus.iter().map(|cpu| cpu.net).collect();
        let expected = NetCounts {
            interrupts: 10,
            receive_softirqs: 50,
            transmit_softirqs: 2,
            // The table counts in 32 bits.
            backlog_drops: 3,
            squeezes: 0,
        };
        assert_eq!(net[0], expected);
        assert_eq!((net[1].interrupts, net[1].receive_softirqs, net[1].squeezes), (0, 1, 4));
        // Of the 100 ticks, waiting went back by one, which counts as 0.
        let shares = CpuShares::of(&step.cpus[0].times);
        assert_eq!(shares.columns(), [10.0, 0.0, 5.0, 0.0, 0.0, 20.0, 5.0, 0.0, 0.0, 60.0]);
        let all = step.all_cpus();
        assert_eq!((all.usr, all.guest, all.soft, all.idle), (25.0, 5.0, 10.0, 55.0));
    }

    #[test]
    fn an_interface_that_is_not_there_is_told_from_one_that_has_its_name_inside() {
        let texts = CounterTexts { devices: devices(1, 1, 1, 1, 1, 1), ..CounterTexts::default() };
        let named = |name: &str| {
            CounterReading::of(&texts, &InterfaceDescription { name: name.into(), ..device() })
        };
        assert!(named("eth0").is_some());
        assert_eq!(named("veth0").unwrap().interface.received.bytes, 9);
        assert!(named("eth").is_none() && named("eth01").is_none());
    }

    #[test]
    fn counters_that_began_again_show_nothing() {
        let [before, now] = recorded();
        let step = CounterDifference::between(&now, &before, 1.0);
        assert!(step.went_back);
        assert_eq!((step.carried, step.context_switches), (InterfaceCounters::default(), 0));
        assert_eq!(step.cpus[0].net.receive_softirqs, 0);
        assert!(step.all_cpus().columns().iter().all(|share| (0.0..=100.0).contains(share)));
    }
}
