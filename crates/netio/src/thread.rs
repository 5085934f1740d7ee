//! Settings of a thread: processor, name, priority, timer slack. Use them for set-up only, never
//! per packet.
#![allow(unsafe_code, reason = "sched_setaffinity, sched_getaffinity, setpriority, prctl")]

use std::ffi::CString;
use std::io;

use crate::NetError;

/// Nice value of the lowest scheduling priority of a thread.
const LOWEST_PRIORITY: i32 = 19;

/// Binds the calling thread (and threads that it starts later) to processor `cpu`.
///
/// # Errors
///
/// EINVAL if the processor does not exist or is not permitted to this process.
pub fn pin_to_cpu(cpu: usize) -> io::Result<()> {
    pin(0, cpu)
}

/// Binds thread `thread` (by the kernel's number, of any process) to a processor; returns true if
/// it could run elsewhere before.
///
/// # Errors
///
/// The errors of [`pin_to_cpu`], `ESRCH` if there is no such thread, `EPERM` if it is another
/// user's.
pub fn bring_to_cpu(thread: u32, cpu: usize) -> io::Result<bool> {
    let thread = libc::pid_t::try_from(thread).map_err(io::Error::other)?;
    let allowed = allowed_cpus_of(thread)?;
    if allowed == [cpu] {
        return Ok(false);
    }
    pin(thread, cpu).map(|()| true)
}

fn pin(thread: libc::pid_t, cpu: usize) -> io::Result<()> {
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: an all-zero cpu_set_t is the empty set; the index was checked; the set outlives the
    // call.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(thread, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    crate::check(result).map(drop)
}

/// Prepares the calling thread for a load generator: named `name`, on processor `cpu` if one is
/// given, and woken from timed waits without slack.
///
/// # Errors
///
/// The setting that the kernel refused.
pub fn prepare_for_timing(name: &str, cpu: Option<usize>) -> Result<(), NetError> {
    set_name(name).map_err(NetError::on("name thread", name))?;
    if let Some(cpu) = cpu {
        pin_to_cpu(cpu).map_err(NetError::on("bind a thread to processor", cpu.to_string()))?;
    }
    set_timer_slack_ns(1).map_err(NetError::on("set", "the timer slack"))
}

/// Runs each job on a thread of its own, named after `name` and its number, prepared as
/// [`prepare_for_timing`] does and bound to `cpus` in turn; returns the results in the order of the
/// jobs. `used` names what the jobs work on.
///
/// # Errors
///
/// The setting that the kernel refused, or the error of a job.
///
/// # Panics
///
/// If a job panics.
pub fn run_timed<T: Send>(
    name: &str,
    used: &str,
    cpus: &[usize],
    jobs: Vec<impl FnOnce() -> io::Result<T> + Send>,
) -> Result<Vec<T>, NetError> {
    std::thread::scope(|scope| {
        let started = jobs.into_iter().enumerate().map(|(index, job)| {
            let cpu = (!cpus.is_empty()).then(|| cpus[index % cpus.len()]);
            scope.spawn(move || {
                prepare_for_timing(&format!("{name}-{index}"), cpu)?;
                job().map_err(NetError::on("drive", used))
            })
        });
        let started: Vec<_> = started.collect();
        started
            .into_iter()
            .map(|thread| thread.join().expect("a generator does not panic"))
            .collect()
    })
}

/// Returns the numbers of the processors that the calling thread may run on, ascending.
///
/// # Errors
///
/// The error of `sched_getaffinity(2)`.
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    allowed_cpus_of(0)
}

fn allowed_cpus_of(thread: libc::pid_t) -> io::Result<Vec<usize>> {
    // SAFETY: an all-zero cpu_set_t is valid and the kernel writes at most its size.
    let (result, set) = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let size = size_of::<libc::cpu_set_t>();
        (libc::sched_getaffinity(thread, size, &raw mut set), set)
    };
    crate::check(result)?;
    let all = 0..libc::CPU_SETSIZE as usize;
    // SAFETY: every index is below CPU_SETSIZE.
    Ok(all.filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect())
}

/// Names the calling thread `name`, of which the kernel keeps the first 15 bytes.
///
/// # Errors
///
/// EINVAL if the name contains a NUL.
pub fn set_name(name: &str) -> io::Result<()> {
    let name = CString::new(name).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    // SAFETY: the name is NUL-terminated and outlives the call.
    crate::check(unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) }).map(drop)
}

/// Makes the calling thread, and threads that it starts later, run only when no other thread wants
/// the processor, except for one to two per cent (nice 19). Without privilege this cannot be
/// undone.
///
/// # Errors
///
/// The error of `setpriority(2)`.
pub fn give_way() -> io::Result<()> {
    // SAFETY: no pointers. For Linux 0 is the calling thread, not its process.
    crate::check(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, LOWEST_PRIORITY) }).map(drop)
}

/// Sets the largest delay in nanoseconds with which the kernel may wake the calling thread from a
/// timed wait; 50 µs unless set.
///
/// # Errors
///
/// The error of `prctl(2)`.
pub fn set_timer_slack_ns(ns: u64) -> io::Result<()> {
    // SAFETY: no pointers.
    crate::check(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns as libc::c_ulong) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_gives_way_and_its_process_does_not() {
        let nice = |path: &str| {
            let text = std::fs::read_to_string(path).unwrap();
            // After the name, which may have spaces: the 17th field from the state on (proc(5)).
            let fields = text.rsplit_once(')').unwrap().1;
            fields.split_whitespace().nth(16).unwrap().parse::<i32>().unwrap()
        };
        let before = nice("/proc/self/stat");
        std::thread::spawn(move || {
            give_way().unwrap();
            assert_eq!(nice("/proc/thread-self/stat"), LOWEST_PRIORITY);
        })
        .join()
        .unwrap();
        assert_eq!(nice("/proc/self/stat"), before);
    }

    #[test]
    fn a_thread_pins_itself_and_takes_a_name() {
        std::thread::spawn(|| {
            let cpu = *allowed_cpus().unwrap().last().unwrap();
            pin_to_cpu(cpu).unwrap();
            assert_eq!(allowed_cpus().unwrap(), [cpu]);
            set_timer_slack_ns(1).unwrap();
            set_name("godwit-test").unwrap();
            let thread_name = std::fs::read_to_string("/proc/thread-self/comm").unwrap();
            assert_eq!(thread_name, "godwit-test\n");
        })
        .join()
        .unwrap();
        assert!(pin_to_cpu(1_000_000).is_err());
        assert!(set_name("a\0b").is_err());
    }
}
