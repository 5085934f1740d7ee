//! Queueing disciplines of outgoing packets of interfaces, by `tc` of iproute2, only in the run's
//! own namespaces. The callers read the JSON that `tc` prints.

use crate::command::{CommandLine, require_program};
use crate::error::{TestbedError, TestbedResult};

/// Returns the command `tc` in the network namespace `namespace`.
fn tc(namespace: &str) -> CommandLine {
    CommandLine::new("tc").args(["-n", namespace])
}

/// Returns the reason why this machine has no queueing discipline `words` (in `tc`'s syntax, its
/// kind first); `None` if it has it. The check uses the loopback interface of a namespace that ends
/// with it.
///
/// # Errors
/// `tc` or `unshare` is missing.
pub fn missing_reason(words: &[&str]) -> TestbedResult<Option<String>> {
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

/// Sets the queueing discipline `words` (in `tc`'s syntax) for the outgoing packets of `interface`
/// in `namespace`, instead of the present one; without words the kernel's default.
///
/// # Errors
/// `tc` is missing or refuses.
pub fn set(namespace: &str, interface: &str, words: Option<&[&str]>) -> TestbedResult<()> {
    let Some(words) = words else {
        // There may be nothing to remove.
        return match tc(namespace).args(["qdisc", "del", "dev", interface, "root"]).run() {
            Err(error) if !is_default(&error) => Err(error),
            _ => Ok(()),
        };
    };
    let set_command = tc(namespace).args(["qdisc", "replace", "dev", interface, "root"]);
    set_command.args(words.iter().copied()).run().map(drop)
}

/// Returns true if `error`, from `tc`, says that the interface has only the kernel's default
/// queueing discipline.
fn is_default(error: &TestbedError) -> bool {
    let text = error.to_string();
    text.contains("handle of zero") || text.contains("No such file or directory")
}

/// Returns the queueing disciplines of `interface` with their counters, in the format of `tc -s
/// -j`.
///
/// # Errors
/// `tc` is missing or refuses.
pub fn show(namespace: &str, interface: &str) -> TestbedResult<String> {
    tc(namespace).args(["-s", "-j", "qdisc", "show", "dev", interface]).run()
}
