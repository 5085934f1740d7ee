//! Queueing disciplines where packets leave interfaces, by `tc` of iproute2, in the run's own namespaces
//! only. Reading what `tc` prints as JSON is the caller's.

use crate::command::{CommandLine, require_program};
use crate::error::TestbedError;

/// `tc` in the network namespace `namespace`.
fn tc(namespace: &str) -> CommandLine {
    CommandLine::new("tc").args(["-n", namespace])
}

/// Why this machine has no queueing discipline `words` (as `tc` takes them, its kind first); `None` when it
/// has it. It is tried on the loopback interface of a namespace that ends with the trial.
///
/// # Errors
/// `tc` or `unshare` is missing.
pub fn missing(words: &[&str]) -> Result<Option<String>, TestbedError> {
    require_program("tc", "iproute2")?;
    require_program("unshare", "util-linux")?;
    let tried = CommandLine::new("unshare")
        .args(["-n", "tc", "qdisc", "replace", "dev", "lo", "root"])
        .args(words.iter().copied());
    Ok(tried.run().err().map(|error| {
        let text = error.to_string();
        if text.contains("kind is unknown") {
            format!("this kernel has no {} (sch_{})", words[0], words[0])
        } else {
            text
        }
    }))
}

/// Puts `words` where packets leave `interface` of `namespace`, in place of what is there; without words
/// what the kernel gives an interface by itself.
///
/// # Errors
/// `tc` is missing or refuses.
pub fn put(namespace: &str, interface: &str, words: Option<&[&str]>) -> Result<(), TestbedError> {
    let Some(words) = words else {
        // There may be nothing to take away.
        return match tc(namespace).args(["qdisc", "del", "dev", interface, "root"]).run() {
            Err(error) if !is_gone(&error) => Err(error),
            _ => Ok(()),
        };
    };
    let put = tc(namespace).args(["qdisc", "replace", "dev", interface, "root"]);
    put.args(words.iter().copied()).run().map(drop)
}

/// Whether `tc` complains that the interface has nothing but what the kernel gave it.
fn is_gone(error: &TestbedError) -> bool {
    let text = error.to_string();
    text.contains("handle of zero") || text.contains("No such file or directory")
}

/// What is there with its counters, as `tc -s -j` prints it.
///
/// # Errors
/// `tc` is missing or refuses.
pub fn show(namespace: &str, interface: &str) -> Result<String, TestbedError> {
    tc(namespace).args(["-s", "-j", "qdisc", "show", "dev", interface]).run()
}
