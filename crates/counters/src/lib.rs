//! The kernel's counters as values: texts of `/proc` in, numbers out, and what came between two looks.
//!
//! It owns what the files mean: processor time, interfaces, interrupts, the receive backlog, UDP, sockets,
//! memory and processes. Opening the files is the testbed's (`testbed::proc`), at intervals its sampler's;
//! judging the numbers is for whoever asked. A text that lacks a row or a column, as older kernels
//! print them, gives zeros or nothing, never a panic.
//!
//! To have read: proc(5), `Documentation/filesystems/proc.rst` and
//! `Documentation/scheduler/sched-stats.rst` of the kernel.

mod cpu;
mod interface;
mod interrupt;
mod memory;
mod process;
mod socket;
mod softnet;
mod step;
mod udp;

pub use cpu::{CpuShares, CpuTimes, Stat, TICKS_PER_S, parse_stat};
pub use interface::{
    InterfaceCounters, Traffic, TrafficStep, parse_interface, parse_interface_names,
};
pub use interrupt::{CountRow, CountTable, parse_counts};
pub use memory::{Memory, parse_memory, parse_resident_bytes};
pub use process::{
    ProcessStat, parse_process_run_ns, parse_process_stat, parse_process_wait_ns,
    parse_uptime_ticks,
};
pub use socket::{UdpRow, drops_at, parse_udp_rows, rows_at};
pub use softnet::{Softnet, SoftnetRow, parse_softnet, parse_softnet_rows};
pub use step::advance;
pub use udp::{UdpCounters, parse_udp_counters};
