//! Sandbox for each job of a test run, if the user is root: a network namespace with its own
//! loopback, and a mount namespace in which `/run/netns` and `/run/godwit` are empty, temporary
//! files of tests are in memory and the checkout is read-only.
//!
//! Jobs that run side by side, and other programs on the machine, therefore share no port, no
//! interface and no namespace with a job, and all leftovers in the sandbox belong to the job.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::privilege::Privilege;

/// Shell script that sets a sandbox up, runs a program in it and reports what the program left.
/// Arguments: checkout, build folder, folder for temporary files, `memory` or `disk` (the place of
/// temporary files), number of looks, file for the report, folder to run in, program and its
/// arguments.
const SCRIPT: &str = r#"
set -e
checkout=$1 build=$2 temporary=$3 storage=$4 looks=$5 report=$6 folder=$7
shift 7
mkdir -p /run/netns /run/godwit
mount -t tmpfs tmpfs /run/netns
mount -t tmpfs tmpfs /run/godwit
# Servers of databases make a thousand files each, and nothing here has to outlive the machine.
if [ "$storage" = memory ]; then
    mount -t tmpfs -o mode=$(stat -c %a "$temporary") tmpfs "$temporary"
fi
# sysfs shows the interfaces of the namespace in which it was mounted; control groups lie below it.
groups=$(mktemp -d "$temporary/groups.XXXXXX")
mount --rbind /sys/fs/cgroup "$groups"
mount -t sysfs sysfs /sys
mount --move "$groups" /sys/fs/cgroup
rmdir "$groups"
mount --bind "$checkout" "$checkout"
mount -o remount,ro,bind "$checkout"
mount --bind "$build" "$build"
mount -o remount,rw,bind "$build"
ip link set lo up
# A machine has an Ethernet interface, whose address identifies a DHCPv6 server, and an IPv4 address
# there: without one, getaddrinfo(3) with AI_ADDRCONFIG gives ::ffff:127.0.0.1 for 127.0.0.1.
ip link add ether0 type veth peer name ether1
ip address add 203.0.113.77/32 dev ether0
ip link set ether0 up
ip link set ether1 up
cd "$folder"
before=$(ls /sys/class/net)
set +e
"$@"
status=$?
times >"$report.times"
look=0
while [ $look -lt "$looks" ]; do
    {
        ls -A /run/netns | sed 's/^/namespace /'
        ls /run/godwit | grep '\.run$' | sed 's/^/registered run /'
        ls -A "$temporary" | sed 's/^/temporary file /'
        ls /sys/class/net | grep -vxF "$before" | sed 's/^/interface /'
    } >"$report"
    [ -s "$report" ] || break
    # The kernel takes namespaces and interfaces down in the background, on a busy machine late.
    if [ $look -lt 20 ]; then sleep 0.25; else sleep 2; fi
    look=$((look + 1))
done
exit $status
"#;

/// Number of checks for leftovers of a job: two minutes on an idle machine.
pub(crate) const LOOKS: u32 = 80;

/// Folders and files of a job's sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sandbox {
    /// Checkout, which the job cannot write.
    pub(crate) checkout: PathBuf,
    /// Build folder, which the job can write.
    pub(crate) build: PathBuf,
    /// Folder for temporary files of the tests, empty at first.
    pub(crate) temporary: PathBuf,
    /// True if the sandbox's temporary files are in memory and disappear with the sandbox.
    pub(crate) is_in_memory: bool,
    /// Number of checks before a process, interface or file counts as left over: the kernel may
    /// still be removing it.
    pub(crate) looks: u32,
    /// Path of the file with a line for each leftover of the job.
    pub(crate) report: PathBuf,
}

impl Sandbox {
    /// Returns the command that runs `program` in `folder` inside the sandbox, or without a sandbox
    /// if the user is not root.
    pub(crate) fn command(
        &self,
        privilege: Privilege,
        environment: &[(String, String)],
        folder: &Path,
        program: &Path,
    ) -> Command {
        if !privilege.is_root() {
            let mut command = privilege.command(&program.to_string_lossy(), environment);
            command.current_dir(folder);
            return command;
        }
        let mut command = privilege.command("unshare", environment);
        command.args(["--net", "--mount", "sh", "-c", SCRIPT, "sandbox"]);
        let storage = if self.is_in_memory { "memory" } else { "disk" };
        command.args([&self.checkout, &self.build, &self.temporary, Path::new(storage)]);
        command.arg(self.looks.to_string());
        command.arg(&self.report).arg(folder).arg(program).current_dir("/");
        command
    }

    /// Returns the processor time of the sandbox's program and of the processes that it waited for;
    /// zero if it is unknown.
    pub(crate) fn processor_time(&self) -> Duration {
        let mut path = self.report.clone().into_os_string();
        path.push(".times");
        processor_time(&fs::read_to_string(path).unwrap_or_default())
    }

    /// Returns the leftovers of the job, one phrase each.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let reported = fs::read_to_string(&self.report).unwrap_or_default();
        reported.lines().map(str::to_owned).collect()
    }
}

/// Returns the processor time in the output of the shell's `times` (POSIX, special built-in
/// utilities): user and system time of the shell in the first line, of its children in the second.
fn processor_time(text: &str) -> Duration {
    let seconds = |word: &str| {
        let (minutes, seconds) = word.strip_suffix('s')?.split_once('m')?;
        Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
    };
    let children = text.lines().nth(1).unwrap_or_default();
    let total: f64 = children.split_whitespace().filter_map(seconds).sum();
    Duration::try_from_secs_f64(total).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use testkit::TempFolder;

    use super::*;

    #[test]
    fn processor_time_is_that_of_the_children() {
        let text = "0m0.01s 0m0.02s\n1m2.50s 0m1.25s\n";
        assert_eq!(processor_time(text), Duration::from_millis(63_750));
        assert_eq!(processor_time(""), Duration::ZERO);
    }

    fn run(label: &str, looks: u32, words: &str) -> Option<(bool, Vec<String>)> {
        if Privilege::detect() != Privilege::Root {
            testkit::skip_even_if_required("this needs root");
            return None;
        }
        let folder = TempFolder::new(&format!("sandbox-{label}"));
        let path = |name: &str| folder.path().join(name);
        let sandbox = Sandbox {
            checkout: path("checkout"),
            build: path("checkout/target"),
            temporary: path("temporary"),
            is_in_memory: true,
            looks,
            report: path("report"),
        };
        fs::create_dir_all(&sandbox.build).unwrap();
        fs::create_dir_all(&sandbox.temporary).unwrap();
        let environment = [("TMPDIR".to_owned(), sandbox.temporary.display().to_string())];
        let shell = Path::new("sh");
        let mut command = sandbox.command(Privilege::Root, &environment, &sandbox.checkout, shell);
        let status = command.args(["-c", words]).status().unwrap();
        let left = sandbox.leftovers();
        Some((status.success(), left))
    }

    #[test]
    fn a_job_has_a_network_of_its_own_and_cannot_write_the_checkout() {
        let words = "set -e; ip link show lo | grep -q UP; ls /sys/class/net | grep -qx lo; \
                     touch target/x; rm target/x; ! touch x 2>/dev/null";
        let Some((is_success, left)) = run("own", LOOKS, words) else { return };
        assert!(is_success);
        assert_eq!(left, [""; 0]);
    }

    #[test]
    fn leftovers_of_a_job_are_reported_with_its_status() {
        let words = "ip netns add gone; ip link add name left type veth peer name right; touch \"$TMPDIR/file\"; \
                     touch /run/godwit/1.run; exit 3";
        let Some((is_success, left)) = run("left", 1, words) else { return };
        assert!(!is_success);
        let expected = [
            "namespace gone",
            "registered run 1.run",
            "temporary file file",
            "interface left",
            "interface right",
        ];
        assert_eq!(left, expected);
    }
}
