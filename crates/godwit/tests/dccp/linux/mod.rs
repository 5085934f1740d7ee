//! Our DCCP with that of Linux 6.1, in a virtual machine: the own stack over IP or in UDP at this
//! end, the kernel's sockets at the other. The same binary runs at both, there with `--carrier
//! kernel`.
//!
//! One machine serves all parts. The test command has a sample of the cells and closings;
//! `cargo xtask dccp-linux` has all. `GODWIT_DCCP_LINUX_ROUNDS` says how often all are played,
//! `GODWIT_SIM_SEED` what the sample has.

mod cells;
mod closings;
mod conformance;
mod counts;
mod echo;
mod gateway;
mod machine;
mod process;

use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};

use base::Random;

use crate::crash::from_environment;
use cells::{Cell, Trait, play_and_check};
use machine::Machine;

/// Cells in the test command.
const SAMPLE: usize = 4;

/// How much of all is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// A part, chosen by the seed.
    Sample { seed: u64 },
    /// All, so many times.
    Whole { rounds: u64 },
}

impl Extent {
    fn from_environment() -> Self {
        match from_environment("GODWIT_DCCP_LINUX_ROUNDS", 0) {
            0 => Self::Sample { seed: from_environment("GODWIT_SIM_SEED", 1) },
            rounds => Self::Whole { rounds },
        }
    }

    /// Returns all of `choices`, or so many of them.
    fn choose<T>(self, mut choices: Vec<T>, count: usize) -> Vec<T> {
        if let Self::Sample { seed } = self {
            let mut random = Random::from_seed(seed);
            while choices.len() > count {
                choices.swap_remove(random.below(choices.len() as u64) as usize);
            }
        }
        choices
    }

    const fn rounds(self) -> u64 {
        match self {
            Self::Sample { .. } => 1,
            Self::Whole { rounds } => rounds,
        }
    }
}

/// Returns a machine with the files that the cells send, at both ends, and ingress that netem can
/// impair.
fn machine(chosen: &[Cell]) -> Option<Machine> {
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for cell in chosen {
        files.entry(cell.file()).or_insert_with(|| cell.octets());
    }
    let mut machine = Machine::start(&files)?;
    for (name, octets) in files {
        std::fs::write(machine.folder.path().join(name), octets).expect("there is room");
    }
    machine.run(
        "/bin/ip link set ifb0 up; /bin/tc qdisc add dev eth0 handle ffff: ingress; \
         /bin/tc filter add dev eth0 parent ffff: protocol all u32 match u32 0 0 \
         action mirred egress redirect dev ifb0",
    );
    Some(machine)
}

/// The machine, and what has failed in it so far: a part that fails does not end a run that takes
/// long.
struct Run {
    machine: Machine,
    failures: Vec<String>,
}

impl Run {
    /// Plays a part and prints how it ended.
    fn part(&mut self, name: &str, play: impl FnOnce(&mut Machine) -> String) {
        let machine = &mut self.machine;
        let played = panic::catch_unwind(AssertUnwindSafe(|| play(machine)));
        match played {
            Ok(said) => println!("dccp-linux: {name}: {said}"),
            Err(panic) => {
                let said = panic.downcast_ref::<String>().cloned();
                let said = said.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
                println!("dccp-linux: {name}: FAILED");
                self.failures.push(format!("{name}: {}", said.unwrap_or_default()));
                // What it left behind would disturb the next part.
                self.machine.attempt("kill -9 $(pidof godwit); until ! pidof godwit; do :; done");
            }
        }
    }

    fn clean_path(&mut self) {
        for device in ["eth0", "ifb0"] {
            self.machine.run(&format!("/bin/tc qdisc replace dev {device} root pfifo"));
        }
    }
}

#[test]
fn our_dccp_and_that_of_linux_work_together() {
    let extent = Extent::from_environment();
    let mut chosen = cells::cells();
    if let Extent::Sample { .. } = extent {
        // 16 MB through an emulated processor cost too much for each run.
        chosen.retain(|cell| cell.particular != Trait::Many);
    }
    let chosen = extent.choose(chosen, SAMPLE);
    let Some(machine) = machine(&chosen) else { return };
    println!("{extent:?}; all: cargo xtask dccp-linux");
    let mut run = Run { machine, failures: Vec::new() };
    for round in 0..extent.rounds() {
        for cell in &chosen {
            run.part(&format!("round {round}, {cell}"), |machine| play_and_check(machine, *cell));
        }
        run.clean_path();
        for closing in extent.choose(closings::all(), 1) {
            run.part(&format!("round {round}, {closing:?}"), |machine| closing.play(machine));
        }
        for ccid in extent.choose(vec![2, 3], 1) {
            run.part(&format!("round {round}, echo, CCID {ccid}"), |machine| {
                echo::every_datagram_comes_back(machine, ccid)
            });
            run.part(&format!("round {round}, perf, CCID {ccid}"), |machine| {
                counts::perf_counts_the_same_at_both_ends(machine, ccid, extent)
            });
        }
    }
    run.part("refusals", |machine| {
        counts::refusals_have_the_same_reason_at_both_ends(machine, extent)
    });
    run.part("conformance", conformance::the_verdict_of_each_case_is_known);
    assert!(run.failures.is_empty(), "{}", run.failures.join("\n"));
}
