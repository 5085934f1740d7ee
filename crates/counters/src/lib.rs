//! Counters of the Linux kernel as values: parses texts of `/proc` and returns the numbers, and
//! their increase between two readings.
//!
//! The crate owns the meaning of the files: processor time, interfaces, interrupts, the receive
//! backlog, UDP, sockets, memory and processes. The testbed opens the files (`testbed::proc`), its
//! sampler at intervals; the caller judges the numbers. A text that lacks a row or a column, as
//! older kernels print them, gives zeros or nothing, never a panic.
//!
//! References: proc(5), `Documentation/filesystems/proc.rst` and
//! `Documentation/scheduler/sched-stats.rst` of the kernel.

mod cpu;
mod interface;
mod interrupt;
mod memory;
mod process;
mod socket;
mod softnet;
mod step;
mod task;
mod udp;

pub use cpu::{CpuShares, CpuTimes, Stat, TICKS_PER_S, parse_stat};
pub use interface::{
    InterfaceCounters, Traffic, TrafficStep, parse_interface, parse_interface_names,
};
pub use interrupt::{CountRow, CountTable, parse_counts};
pub use memory::{SystemMemory, parse_memory, parse_page_kb, parse_resident_bytes};
pub use process::{
    ProcessStat, parse_process_run_ns, parse_process_stat, parse_process_wait_ns,
    parse_uptime_ticks,
};
pub use socket::{UdpRow, drops_at, parse_udp_rows, rows_at};
pub use softnet::{Softnet, SoftnetRow, parse_softnet, parse_softnet_rows};
pub use step::advance;
pub use task::{TaskIo, TaskStatus, parse_task_io, parse_task_status};
pub use udp::{UdpCounters, parse_udp_counters};
