//! Emulated link by the kernel: `tc` adds `sch_netem`, followed by `sch_tbf`, to the interfaces
//! where packets leave. The machine, not Godwit, connects the interfaces (a route, a bridge).

use base::{ToolError, ToolResult};
use testbed::{CommandLine, TestbedError, command};

use crate::{LinkInterface, parse_words};

/// Handles of the queueing disciplines that Godwit adds, by which it recognizes them later.
const ROOT: &str = "1:";
const BUCKET_HANDLE: &str = "10:";

/// Words for `tc` in two parts: those of netem and those of the token bucket.
struct TcWords {
    netem: Vec<String>,
    bucket: Vec<String>,
}

/// Checks `words` with the parser of the core and returns them in two parts for `tc`, with `seed`
/// if they have none.
fn parts(words: &str, seed: Option<u64>) -> ToolResult<TcWords> {
    let settings = parse_words(words)?;
    let mut netem: Vec<String> = words.split_ascii_whitespace().map(str::to_owned).collect();
    let at = netem.iter().position(|word| word == "tbf").unwrap_or(netem.len());
    let bucket = netem.split_off(at);
    if netem.first().is_some_and(|word| word == "netem") {
        netem.remove(0);
    }
    if let (Some(seed), None) = (seed, settings.seed) {
        netem.extend(["seed".to_owned(), seed.to_string()]);
    }
    Ok(TcWords { netem, bucket })
}

/// Returns the beginning of a `tc` command line, which runs in the network namespace of
/// `interface`.
fn tc(interface: &LinkInterface) -> CommandLine {
    let tc = CommandLine::new("tc");
    match &interface.namespace {
        Some(name) => tc.args(["-n", name]),
        None => tc,
    }
}

/// Returns the `tc` command lines that set up the link's end at `interface`.
fn lines(interface: &LinkInterface, parts: &TcWords) -> Vec<CommandLine> {
    let add = || tc(interface).args(["qdisc", "add", "dev", &interface.interface]);
    let words = |line: CommandLine, words: &[String]| line.args(words.iter().map(String::as_str));
    let netem = words(add().args(["root", "handle", ROOT, "netem"]), &parts.netem);
    let mut lines = vec![netem];
    if !parts.bucket.is_empty() {
        lines.push(words(add().args(["parent", ROOT, "handle", BUCKET_HANDLE]), &parts.bucket));
    }
    lines
}

/// Adds queueing disciplines to both interfaces with `tc`, and returns the command lines. The
/// forward settings apply to packets that leave the second interface.
pub fn set_up(
    between: &[LinkInterface; 2],
    words: [&str; 2],
    seed: Option<u64>,
) -> ToolResult<Vec<CommandLine>> {
    let [forward, backward] = [parts(words[0], seed)?, parts(words[1], seed)?];
    let ends = [(&between[1], forward), (&between[0], backward)];
    check(between)?;
    let (mut done, mut touched): (Vec<CommandLine>, Vec<&LinkInterface>) = (Vec::new(), Vec::new());
    for (interface, parts) in &ends {
        for line in lines(interface, parts) {
            if let Err(error) = line.run() {
                for &interface in &touched {
                    delete(interface).run().ok();
                }
                return Err(explain(&error));
            }
            if touched.last() != Some(interface) {
                touched.push(interface);
            }
            done.push(line);
        }
    }
    Ok(done)
}

/// Removes the queueing disciplines of [`set_up`], and no others; returns the interfaces that had
/// them.
///
/// # Errors
///
/// `tc` is missing or refuses.
pub fn remove(between: &[LinkInterface; 2]) -> ToolResult<Vec<LinkInterface>> {
    check(between)?;
    let mut removed = Vec::new();
    for interface in between {
        let show = tc(interface).args(["qdisc", "show", "dev", &interface.interface]);
        let disciplines = show.run()?;
        if is_ours(&disciplines) {
            delete(interface).run()?;
            removed.push(interface.clone());
        }
    }
    Ok(removed)
}

fn delete(interface: &LinkInterface) -> CommandLine {
    tc(interface).args(["qdisc", "del", "dev", &interface.interface, "root"])
}

/// Returns true if the output of `tc qdisc show` has a netem of Godwit at the root.
fn is_ours(disciplines: &str) -> bool {
    let first: Vec<&str> = disciplines.lines().next().unwrap_or("").split_whitespace().collect();
    first.starts_with(&["qdisc", "netem", ROOT, "root"])
}

/// Checks that both interfaces of a link and the program `tc` exist.
fn check(between: &[LinkInterface; 2]) -> ToolResult<()> {
    for interface in between {
        if interface.namespace.as_ref().is_some_and(|name| name.contains('/')) {
            let text = format!("{interface}: tc accepts only the namespaces that `ip netns` lists");
            return Err(ToolError::Usage(text));
        }
        interface.with_interface(|_| Ok(()))?;
    }
    command::require_program("tc", "iproute2")?;
    Ok(())
}

/// Returns the error of a failed `tc` with advice for its known causes.
fn explain(error: &TestbedError) -> ToolError {
    let text = error.to_string();
    let is_unknown = ["qdisc kind is unknown", "No such file or directory"]
        .iter()
        .any(|complaint| text.contains(complaint));
    ToolError::Failed(if is_unknown {
        format!(
            "this kernel has no netem ({text}): load it with `modprobe sch_netem`, use a kernel \
             with CONFIG_NET_SCH_NETEM, or leave --kernel out to emulate the link in user space"
        )
    } else if text.contains("Exclusivity flag on") || text.contains("File exists") {
        format!("{text}: the interface already has a queueing discipline; see `tc qdisc show`")
    } else {
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command_lines(interface: &str, words: &str, seed: Option<u64>) -> Vec<String> {
        let interface = interface.parse().unwrap();
        let parts = parts(words, seed).unwrap();
        lines(&interface, &parts).iter().map(CommandLine::to_string).collect()
    }

    #[test]
    fn words_go_to_tc_as_they_are() {
        let words = "netem delay 75ms loss 10% tbf rate 1mbit burst 5kb latency 50ms";
        let expected = [
            "tc -n ns1 qdisc add dev eth1 root handle 1: netem delay 75ms loss 10% seed 7",
            "tc -n ns1 qdisc add dev eth1 parent 1: handle 10: tbf rate 1mbit burst 5kb latency 50ms",
        ];
        assert_eq!(command_lines("ns1:eth1", words, Some(7)), expected);
        let own_seed = command_lines("eth1", "loss 1% seed 3", Some(7));
        assert_eq!(own_seed, ["tc qdisc add dev eth1 root handle 1: netem loss 1% seed 3"]);
        assert_eq!(command_lines("eth1", "", None), ["tc qdisc add dev eth1 root handle 1: netem"]);
    }

    #[test]
    fn only_what_was_set_up_here_is_removed() {
        assert!(is_ours("qdisc netem 1: root refcnt 2 limit 1000 delay 75ms\n"));
        for other in [
            "",
            "qdisc noqueue 0: root refcnt 2\n",
            "qdisc netem 8001: root refcnt 2 limit 1000\n",
            "qdisc tbf 1: root refcnt 2 rate 1Mbit\nqdisc netem 1: root\n",
        ] {
            assert!(!is_ours(other), "{other}");
        }
    }

    #[test]
    fn complaints_of_old_and_new_tc_are_explained() {
        for complaint in [
            "Error: Specified qdisc kind is unknown.",
            "RTNETLINK answers: No such file or directory",
        ] {
            let error = explain(&TestbedError::new("tc qdisc add", complaint));
            assert_eq!(error.exit_code(), 1);
            assert!(error.to_string().contains("modprobe sch_netem"), "{error}");
        }
        let busy = "Error: Exclusivity flag on, cannot modify.";
        let busy = explain(&TestbedError::new("tc qdisc add", busy)).to_string();
        assert!(busy.contains("tc qdisc show") && !busy.contains("modprobe"), "{busy}");
    }
}
