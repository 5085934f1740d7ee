//! Tests of Godwit's DCCP against that of Linux 6.1 in a virtual machine: Godwit's stack over IP or
//! in UDP at this end, the kernel's sockets at the other. The same binary runs at both ends, with
//! `--carrier kernel` in the machine.
//!
//! The test command plays a sample of the parts; `cargo xtask dccp-linux` plays all, on machines
//! side by side. Environment variables select the parts: `GODWIT_DCCP_LINUX_ROUNDS` the number of
//! rounds, `GODWIT_DCCP_LINUX_ONLY` the parts by a name or the beginning of several, and
//! `GODWIT_SIM_SEED` the sample.

mod cells;
mod closings;
mod conformance;
mod counts;
mod echo;
mod gateway;
mod goodput;
mod layers;
mod machine;
mod parts;
mod process;
mod progress;
mod time_limit;

use std::collections::{BTreeMap, VecDeque};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use base::Random;

use crate::common::namespaces::Namespaces;
use crate::crash::from_environment;
use machine::VirtualMachine;
use parts::RoundPart;
use progress::LinuxRunProgress;

/// Number of machines of a round.
const MACHINES: usize = 2;
/// Number of lines of a failure to print at once; all of them follow at the end.
const FAILURE_LINES: usize = 20;

/// Extent of a run of the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinuxRunExtent {
    /// Parts that the seed chooses.
    Sample { seed: u64 },
    /// Whole rounds, this many.
    Whole { rounds: u64 },
}

impl LinuxRunExtent {
    fn from_environment() -> Self {
        match from_environment("GODWIT_DCCP_LINUX_ROUNDS", 0) {
            0 => Self::Sample { seed: from_environment("GODWIT_SIM_SEED", 1) },
            rounds => Self::Whole { rounds },
        }
    }

    /// Returns all of `choices`, or `count` of them in a sample.
    fn choose<T>(self, mut choices: Vec<T>, count: usize) -> Vec<T> {
        if let Self::Sample { seed } = self {
            let mut random = Random::from_seed(seed);
            while choices.len() > count {
                choices.swap_remove(random.below(choices.len() as u64) as usize);
            }
        }
        choices
    }

    const fn is_whole(self) -> bool {
        matches!(self, Self::Whole { .. })
    }

    const fn rounds(self) -> u64 {
        match self {
            Self::Sample { .. } => 1,
            Self::Whole { rounds } => rounds,
        }
    }
}

/// State that the machines share. A failed part does not end a long run.
struct LinuxRun<'a> {
    extent: LinuxRunExtent,
    /// Folder with kernel and root file system.
    root_folder: &'a Path,
    /// Files that the parts send: name and contents.
    files: BTreeMap<String, Vec<u8>>,
    /// Arguments of QEMU.
    more_interfaces: Vec<String>,
    waiting: Mutex<VecDeque<RoundPart>>,
    failures: Mutex<Vec<String>>,
    progress: LinuxRunProgress,
}

impl<'a> LinuxRun<'a> {
    fn new(extent: LinuxRunExtent, root_folder: &'a Path, only: Option<&str>) -> Self {
        let parts = parts::chosen(extent, only);
        let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for part in &parts {
            if let RoundPart::Cell(cell) = part {
                files.entry(cell.file()).or_insert_with(|| cell.octets());
            }
        }
        let progress = LinuxRunProgress::new(&parts, extent.is_whole());
        let has_goodput = parts.iter().any(|part| matches!(part, RoundPart::Goodput { .. }));
        let more_interfaces = if has_goodput { goodput::interfaces() } else { Vec::new() };
        let (waiting, failures) = (Mutex::new(parts.into()), Mutex::default());
        Self { extent, root_folder, files, more_interfaces, waiting, failures, progress }
    }

    /// Starts a machine and plays parts on it until none waits.
    fn play_on_one_machine(&self, namespace: &str) {
        let mut machine = None;
        while let Some(part) = self.next() {
            // Replace a broken machine.
            let mut ready = machine.take().unwrap_or_else(|| self.machine(namespace));
            let began = Instant::now();
            let say = |line: &str| self.progress.say(line);
            let play = || part.play(&mut ready, self.extent, &say);
            let play = || time_limit::limited(namespace, part.limit(self.extent.rounds()), play);
            let played = panic::catch_unwind(AssertUnwindSafe(play));
            match played {
                Ok(figures) => {
                    self.progress.ended(part, began.elapsed(), &figures);
                    machine = Some(ready);
                }
                Err(panic) => {
                    let output_text = panic.downcast_ref::<String>().cloned();
                    let output_text = output_text
                        .or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
                    self.failed(part, began, &output_text.unwrap_or_default());
                    // Leftovers of the part would disturb the next one, which gets another machine.
                }
            }
        }
    }

    /// Returns the part to play next.
    fn next(&self) -> Option<RoundPart> {
        lock(&self.waiting).pop_front()
    }

    fn failed(&self, part: RoundPart, began: Instant, output_text: &str) {
        let repeat = format!("repeat with: cargo xtask dccp-linux --rounds 1 --only {part}");
        self.progress.ended(part, began.elapsed(), &format!("FAILED, {repeat}"));
        for line in output_text.lines().take(FAILURE_LINES) {
            self.progress.say(&format!("  {line}"));
        }
        lock(&self.failures).push(format!("{part}: {output_text}\n{repeat}"));
    }

    /// Starts a machine with the files to send at both ends, and with ingress that netem can
    /// impair.
    fn machine(&self, namespace: &str) -> VirtualMachine {
        let mut machine =
            VirtualMachine::start(self.root_folder, namespace, &self.files, &self.more_interfaces);
        for (name, octets) in &self.files {
            std::fs::write(machine.folder.path().join(name), octets).expect("there is room");
        }
        machine.run(
            "/bin/ip link set ifb0 up; /bin/tc qdisc add dev eth0 handle ffff: ingress; \
             /bin/tc filter add dev eth0 parent ffff: protocol all u32 match u32 0 0 \
             action mirred egress redirect dev ifb0",
        );
        machine
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn our_dccp_and_that_of_linux_work_together() {
    let extent = LinuxRunExtent::from_environment();
    let Some(root_folder) = machine::root_folder() else { return };
    let only = std::env::var("GODWIT_DCCP_LINUX_ONLY").ok();
    let run = LinuxRun::new(extent, &root_folder, only.as_deref());
    println!("{extent:?}; all: cargo xtask dccp-linux");
    let machines = if extent.is_whole() { MACHINES } else { 1 };
    let namespaces = Namespaces::<MACHINES>::make();
    std::thread::scope(|scope| {
        for namespace in namespaces.iter().take(machines) {
            let run = &run;
            scope.spawn(move || run.play_on_one_machine(namespace));
        }
    });
    let failures = lock(&run.failures);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
