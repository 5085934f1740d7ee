//! Advice for switches that a stand-in command lacks and the program that it replaces has: the
//! replacement to write.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Switches of one program, each by all its names with its replacement.
type Switches = &'static [(&'static [&'static str], &'static str)];

/// Programs, each by the command that replaces it.
const PROGRAMS: &[(&str, &str, Switches)] = &[
    ("dns dnsperf", "dnsperf", DNSPERF),
    ("trafgen", "trafgen", TRAFGEN),
    ("dccp perf", "iperf", IPERF),
];

const DNSPERF: Switches = &[
    (
        &["-x"],
        "leave it out; the kernel chooses the ports, within net.ipv4.ip_local_port_range (sysctl)",
    ),
    (&["-y"], "leave it out; queries are not signed, so ask a server that needs no TSIG"),
    (&["-u"], "updates are not sent; write `nsupdate FILE` for them, and leave -u out for queries"),
    (&["-H"], "-O takes num-queries-per-conn=N and suppress=..., and no other name"),
];

const TRAFGEN: Switches = &[(
    &["--bind", "--bind-cpu", "--bind-cpus"],
    "write `-P 0-3` for one thread on each of the processors 0 to 3, `-P 0-0` for the first alone",
)];

const IPERF: Switches = &[
    (&["-D", "--daemon"], "write `nohup godwit dccp perf -s &`, or have systemd run it"),
    (
        &["-w", "--window"],
        "leave it out; DCCP has no window. `--set tx_qlen=N` bounds the datagrams that wait",
    ),
    (&["-N", "--nodelay", "--no-delay"], "leave it out; no datagram waits for another one"),
    (&["-M", "--mss", "--set-mss"], "write `-l OCTETS`, the data of a datagram"),
    (&["-m", "--print_mss"], "leave it out; `--json` states the octets of a datagram"),
    (&["-C", "--congestion", "--linux-congestion"], "write `--ccid 2` (like TCP) or `--ccid 3`"),
    (&["-Z", "--zerocopy"], "leave it out; datagrams leave in batches"),
    (&["-O", "--omit"], "leave it out; the lines of `-i 1` show the first seconds by themselves"),
    (&["-k", "--blockcount"], "write `-n OCTETS`, the data of all datagrams together"),
    (
        &["-F", "--file"],
        "write `-n OCTETS` with the file's size, or `godwit dccp send` for the file",
    ),
    (&["-S", "--tos", "--dscp"], "leave it out; the traffic class is not set"),
    (&["-A", "--affinity"], "write `taskset -c N godwit dccp perf ...`"),
    (&["-r", "--tradeoff"], "run it twice, the second time with -R"),
    (&["--dualtest", "--full-duplex"], "write `--bidir`; -d means DCCP here"),
    (&["-y", "--reportstyle"], "write `--json`"),
    (&["-o", "--output", "--logfile"], "write `> FILE`"),
    (&["-T", "--ttl", "--title"], "leave it out; `> FILE` gives the output a name"),
];

/// Returns the message for an unknown switch in `error` of the command of `words` if a replacement
/// is known.
pub(crate) fn message(words: &[OsString], error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let switch = unknown.split('=').next().unwrap_or(unknown);
    let is_called = |command: &str| {
        command.split(' ').zip(words.iter().skip(1)).all(|(name, word)| word == name)
    };
    let &(_, program, switches) = PROGRAMS.iter().find(|(command, ..)| is_called(command))?;
    let (_, advice) = switches.iter().find(|(names, _)| names.contains(&switch))?;
    Some(format!("error: {switch} of {program}: {advice}\n\nFor more information, try '--help'.\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_switch_is_unknown_to_its_command_and_answered_with_its_advice() {
        for (command, program, switches) in PROGRAMS {
            for (name, advice) in switches
                .iter()
                .flat_map(|(names, advice)| names.iter().map(move |name| (name, advice)))
            {
                let words: Vec<OsString> = ["godwit"]
                    .into_iter()
                    .chain(command.split(' '))
                    .chain([*name])
                    .map(Into::into)
                    .collect();
                let parsed = crate::cli::command().try_get_matches_from(&words);
                let said = parsed.err().and_then(|error| message(&words, &error));
                let expected = format!("error: {name} of {program}: {advice}");
                assert!(said.is_some_and(|said| said.starts_with(&expected)), "{command} {name}");
            }
        }
    }
}
