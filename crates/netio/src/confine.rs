//! Confinement of a daemon from inside: the capabilities that it keeps, the folders that it may
//! write to (Landlock, Linux 5.13 and later), and system calls that it does not need (seccomp).
//!
//! Every function restricts the calling thread and the threads that it starts afterwards, so the
//! process must call it while it has one thread. Sources: capabilities(7), landlock(7), seccomp(2).

use std::collections::BTreeMap;
use std::path::PathBuf;

use caps::{CapSet, Capability, CapsHashSet};
use landlock::{
    ABI, AccessFs, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetStatus,
};
use seccompiler::{SeccompAction, SeccompFilter};

/// Capabilities that a confined server keeps if it has them: for ports below 1024, raw sockets,
/// socket buffers beyond the system's limit, and files of another user below the folders that the
/// server may write to.
const NEEDED_CAPABILITIES: [Capability; 4] = [
    Capability::CAP_NET_BIND_SERVICE,
    Capability::CAP_NET_RAW,
    Capability::CAP_NET_ADMIN,
    Capability::CAP_DAC_OVERRIDE,
];

/// System calls that fail with `EPERM` in a confined daemon: those that run programs, inspect other
/// processes or change the machine.
const REFUSED: &[libc::c_long] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_init_module,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_personality,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

/// Drops every capability except those of `NEEDED_CAPABILITIES`, in all sets of this thread.
///
/// # Errors
///
/// A text with the kernel's reason.
pub fn drop_capabilities() -> Result<(), String> {
    let failed = |cause: caps::errors::CapsError| format!("cannot give up capabilities: {cause}");
    let permitted = caps::read(None, CapSet::Permitted).map_err(failed)?;
    if permitted.contains(&Capability::CAP_SETPCAP) {
        // No program that this process runs can get these back.
        for capability in caps::all().into_iter().filter(|one| !NEEDED_CAPABILITIES.contains(one)) {
            // A capability that the kernel does not know cannot be dropped.
            if caps::has_cap(None, CapSet::Bounding, capability).unwrap_or(false) {
                caps::drop(None, CapSet::Bounding, capability).map_err(failed)?;
            }
        }
    }
    let needed: CapsHashSet =
        permitted.into_iter().filter(|one| NEEDED_CAPABILITIES.contains(one)).collect();
    caps::clear(None, CapSet::Ambient).map_err(failed)?;
    caps::clear(None, CapSet::Inheritable).map_err(failed)?;
    caps::set(None, CapSet::Effective, &needed).map_err(failed)?;
    caps::set(None, CapSet::Permitted, &needed).map_err(failed)
}

/// Restricts this thread to writing below those of `folders` that exist, and to running no program.
/// Reading is not restricted.
///
/// # Errors
///
/// A text: the kernel has no Landlock, or the reason why it refuses.
pub fn restrict_files(folders: &[PathBuf]) -> Result<(), String> {
    let failed = |cause: landlock::RulesetError| format!("cannot restrict files: {cause}");
    let writing = AccessFs::from_write(ABI::V5);
    let handled: BitFlags<AccessFs> = writing | AccessFs::Execute;
    let ruleset = Ruleset::default().handle_access(handled).map_err(failed)?;
    let mut ruleset = ruleset.create().map_err(failed)?;
    for folder in folders {
        let Ok(opened) = PathFd::new(folder) else { continue };
        ruleset = ruleset.add_rule(PathBeneath::new(opened, writing)).map_err(failed)?;
    }
    match ruleset.restrict_self().map_err(failed)?.ruleset {
        RulesetStatus::NotEnforced => {
            Err("this kernel has no Landlock, which restricts the files that a process can write"
                .to_owned())
        }
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
    }
}

/// Makes the system calls of `REFUSED` fail with `EPERM` in this thread, by a seccomp filter.
///
/// # Errors
///
/// A text: the kernel has no seccomp, the filter does not support the processor, or the reason why
/// the kernel refuses.
pub fn restrict_calls() -> Result<(), String> {
    let failed = |cause: &dyn std::fmt::Display| format!("cannot restrict system calls: {cause}");
    let architecture = std::env::consts::ARCH.try_into();
    let architecture = architecture.map_err(|cause: seccompiler::BackendError| failed(&cause))?;
    let rules: BTreeMap<i64, _> = REFUSED.iter().map(|&number| (number, Vec::new())).collect();
    let refusal = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refusal, architecture)
        .map_err(|cause| failed(&cause))?;
    let program: seccompiler::BpfProgram =
        filter.try_into().map_err(|cause: seccompiler::BackendError| failed(&cause))?;
    seccompiler::apply_filter(&program).map_err(|cause| failed(&cause))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use testkit::TempFolder;

    use super::*;

    /// Runs the test `check` in a new thread, which it may confine.
    fn in_thread(check: impl FnOnce() + Send + 'static) {
        std::thread::spawn(check).join().unwrap();
    }

    fn status(name: &str) -> String {
        let text = fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim_start_matches(':').trim().to_owned()
    }

    #[test]
    fn what_a_server_needs_is_all_that_is_kept() {
        in_thread(|| {
            let before = u64::from_str_radix(&status("CapPrm"), 16).unwrap();
            drop_capabilities().unwrap();
            let needed = NEEDED_CAPABILITIES.iter().fold(0, |mask, one| mask | one.bitmask());
            let expected = format!("{:016x}", before & needed);
            assert_eq!([status("CapPrm"), status("CapEff")], [expected.clone(), expected]);
            assert_eq!(status("CapAmb"), "0000000000000000");
        });
    }

    #[test]
    fn files_are_written_below_the_folders_alone() {
        let temporary = TempFolder::new("confine");
        let folder = temporary.path();
        let (own, other) = (folder.join("own"), folder.join("other"));
        for folder in [&own, &other] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(other.join("old"), "old").unwrap();
        let [inside, outside] = [own.clone(), other.clone()];
        in_thread(move || {
            match restrict_files(&[inside.clone(), "/nonexistent".into()]) {
                Err(reason) if reason.contains("no Landlock") => {
                    testkit::skip_even_if_required(reason);
                    return;
                }
                restricted => restricted.unwrap(),
            }
            fs::write(inside.join("a"), "x").unwrap();
            fs::rename(inside.join("a"), inside.join("b")).unwrap();
            fs::write(outside.join("a"), "x").unwrap_err();
            fs::write(outside.join("old"), "x").unwrap_err();
            fs::remove_file(outside.join("old")).unwrap_err();
            std::os::unix::fs::symlink(outside.join("old"), inside.join("link")).unwrap();
            fs::write(inside.join("link"), "x").unwrap_err();
            assert_eq!(fs::read_to_string(outside.join("old")).unwrap(), "old");
            Command::new("true").status().unwrap_err();
        });
    }

    #[test]
    fn programs_and_namespaces_are_refused() {
        in_thread(|| {
            restrict_calls().unwrap();
            let error = Command::new("true").status().unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EPERM));
            crate::namespace::enter_new().unwrap_err();
            std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        });
    }
}
