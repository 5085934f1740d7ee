//! Busy processes of `cargo xtask test --busy`, which keep the machine busy during the tests: two
//! that compute for each processor, and one that writes and flushes a file.
//!
//! They run this program itself, with a first argument of its own. Each ends when its standard
//! input is closed, so none outlives the run, in whatever way that ends.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// First argument of an xtask process that makes the machine busy.
pub(crate) const WORD: &str = "make-busy";
/// Number of busy processes that compute, for each processor.
const PER_PROCESSOR: usize = 2;
/// Number of bytes that the busy process writes between two flushes.
const BLOCK_BYTES: usize = 1 << 20;
/// Number of blocks of [`BLOCK_BYTES`] after which the busy process's file begins anew.
const BLOCKS: u64 = 64;

/// Processes that keep the machine busy. Dropping the value ends them.
#[derive(Debug)]
pub(crate) struct BusyMachine {
    processes: Vec<Child>,
}

impl BusyMachine {
    /// Starts the busy processes. The one that writes has its file in `folder`.
    pub(crate) fn start(folder: &Path) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("cannot make the machine busy: {error}");
        let count = PER_PROCESSOR * thread::available_parallelism().map_or(2, usize::from);
        let mut machine = Self { processes: Vec::new() };
        for number in 0..=count {
            // The build may have replaced the file itself.
            let mut command = Command::new("/proc/self/exe");
            command.arg(WORD);
            if number == count {
                command.arg(folder.join("busy"));
            }
            command.stdin(Stdio::piped());
            machine.processes.push(command.spawn().map_err(failed)?);
        }
        Ok(machine)
    }
}

impl Drop for BusyMachine {
    fn drop(&mut self) {
        for process in &mut self.processes {
            drop(process.stdin.take());
            drop(process.wait());
        }
    }
}

/// Computes, or writes and flushes the file `path`, until the standard input is closed.
pub(crate) fn keep_busy(path: Option<&Path>) -> Result<(), String> {
    let is_over = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_over);
    thread::spawn(move || {
        let mut rest = Vec::new();
        drop(std::io::stdin().read_to_end(&mut rest));
        seen.store(true, Ordering::Relaxed);
    });
    match path {
        Some(path) => write(path, &is_over).map_err(|e| format!("{}: {e}", path.display())),
        None => {
            let mut number = 1_u64;
            while !is_over.load(Ordering::Relaxed) {
                number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                std::hint::black_box(number);
            }
            Ok(())
        }
    }
}

fn write(path: &Path, is_over: &AtomicBool) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    let block = vec![0x5a; BLOCK_BYTES];
    while !is_over.load(Ordering::Relaxed) {
        for _ in 0..BLOCKS {
            file.write_all(&block)?;
            file.sync_all()?;
        }
        file.seek(SeekFrom::Start(0))?;
    }
    drop(file);
    // If a signal ended the run, its folder may be gone already.
    drop(std::fs::remove_file(path));
    Ok(())
}
