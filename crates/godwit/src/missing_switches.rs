//! Advice for switches that a stand-in command lacks and the program that it replaces has: the
//! replacement to write.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Switches of one program that godwit lacks, each by all its names with its replacement.
type Switches = &'static [(&'static [&'static str], &'static str)];

/// Programs with switches that godwit lacks, each by the command of godwit that replaces it.
const PROGRAMS: &[(&str, &str, Switches)] = &[
    ("dns dnsperf", "dnsperf", DNSPERF),
    ("dns load", "dnsperf", DNS_LOAD),
    ("trafgen", "trafgen", TRAFGEN),
    ("dccp perf", "iperf", IPERF),
    ("dccp ttcp", "ttcp", TTCP),
    ("cpustat mpstat", "mpstat", MPSTAT),
    ("cpustat pidstat", "pidstat", PIDSTAT),
];

/// Advice for the switches `-x`, `-y` and `-u` of dnsperf, which `godwit dns dnsperf` lacks.
const OWN_PORT: &str =
    "leave it out; the kernel chooses the ports, within net.ipv4.ip_local_port_range (sysctl)";
const TSIG: &str = "leave it out; queries are not signed, so use a server that needs no TSIG";
const UPDATES: &str =
    "updates are not sent; write `nsupdate FILE` for them, and leave -u out for queries";

const DNSPERF: Switches = &[
    (&["-x"], OWN_PORT),
    (&["-y"], TSIG),
    (&["-u"], UPDATES),
    (&["-H"], "-O takes num-queries-per-conn=N and suppress=..., and no other name"),
];

const DNS_LOAD: Switches = &[
    (&["-x"], OWN_PORT),
    (&["-y"], TSIG),
    (&["-u"], UPDATES),
    (&["-e"], "leave it out; queries have EDNS, unless --edns 0 is given"),
    (&["-D"], "write `--dnssec`"),
    (&["-S"], "write `--timeline-s S --json FILE`"),
    (&["-O"], "write `--queries-per-connection N` for num-queries-per-conn=N"),
    (&["-B"], "run a link named dnsperf, which takes it: `ln -s godwit dnsperf`"),
    (&["-f"], "leave it out, and write an address instead of the host name after -s"),
    (&["-H", "-b", "-v", "-W"], "leave it out"),
];

const TRAFGEN: Switches = &[(
    &["--bind", "--bind-cpu", "--bind-cpus"],
    "write `-P 0-3` for one thread on each of the processors 0 to 3, `-P 0-0` for the first alone",
)];

const IPERF: Switches = &[
    (&["-D", "--daemon"], "write `nohup godwit dccp perf -s &`, or have systemd run it"),
    (
        &["-w", "--window", "-W", "--suggest_win_size"],
        "leave it out; DCCP has no window. `--set tx_qlen=N` bounds the datagrams that wait",
    ),
    (&["-N", "--nodelay", "--no-delay"], "leave it out; no datagram waits for another one"),
    (&["-M", "--mss", "--set-mss"], "write `-l BYTES`, the data of a datagram"),
    (&["-m", "--print_mss"], "leave it out; `--json` has the length of a datagram"),
    (
        &["-C", "--congestion", "--linux-congestion", "--tcp-congestion"],
        "write `--ccid 2` (like TCP) or `--ccid 3`",
    ),
    (&["-Z", "--zerocopy"], "leave it out; datagrams leave in batches"),
    (&["-O", "--omit"], "leave it out; the lines of `-i 1` show the first seconds by themselves"),
    (&["-k", "--blockcount"], "write `-n BYTES`, the data of all datagrams together"),
    (
        &["-F", "--file", "--fileinput", "--file_input"],
        "write `-n BYTES` with the file's size, or `godwit dccp send` for the file",
    ),
    (
        &["-I", "--stdin", "--stdin_input"],
        "write `godwit dccp send HOST` for the standard input (iperf 2), `& echo $! > FILE` for a \
         PID file (iperf 3)",
    ),
    (&["--pidfile"], "write `godwit dccp perf -s & echo $! > FILE`"),
    (&["-S", "--tos", "--dscp", "-Q", "--priority"], "leave it out; the traffic class is not set"),
    (&["--ttl"], "leave it out; the time to live is not set"),
    (
        &["-L", "--listenport"],
        "leave it out; `--bidir` and -R use one connection, which the client opens",
    ),
    (&["--flowlabel"], "leave it out; the flow label is not set"),
    (
        &["-H", "--ssm-host"],
        "leave it out; DCCP has no multicast, so start a client for each receiver",
    ),
    (
        &["-U", "--single_udp"],
        "leave it out; a server takes any number of clients, and -1 ends it with the last one",
    ),
    (&["-X", "--peerdetect", "--peer-detect"], "leave it out; `--plain` is for other programs"),
    (&["--xbind", "--bind-dev"], "write `-B ADDRESS`"),
    (&["--cport"], "leave it out; a client has any free port. `-B ADDRESS` sets its address"),
    (&["--ipv6_domain"], "write `-6`"),
    (&["-a"], "leave it out; DCCP has its own checksums, see --cscov"),
    (
        &["--sctp", "-q", "--seqpacket", "--nstreams"],
        "leave it out; data goes over DCCP, or with -u over plain UDP",
    ),
    (&["-z", "--realtime"], "write `chrt -r 1 godwit dccp perf ...`"),
    (&["--fq-rate"], "write `-b RATE`; the datagrams of a rate leave evenly"),
    (&["--pacing-timer"], "leave it out; datagrams leave when they are due"),
    (&["--udp-counters-64bit"], "leave it out; datagrams have numbers of 64 bits"),
    (
        &["--histograms", "--udp-histograms", "--trip-times"],
        "leave it out; lines have the round-trip time, and `--probe FILE` has more samples of it",
    ),
    (&["-A", "--affinity"], "write `taskset -c N godwit dccp perf ...`"),
    (&["-r", "--tradeoff"], "run it twice, the second time with -R"),
    (&["--dualtest", "--full-duplex"], "write `--bidir`; -d means DCCP here"),
    (&["-y", "--reportstyle", "--json-stream"], "write `--json`"),
    (
        &["-x", "--exclude", "--reportexclude"],
        "write `--json` and take the figures that you need; `-i 0` leaves out the interval lines",
    ),
    (&["-o", "--output", "--logfile"], "write `> FILE`"),
    (
        &["-T"],
        "leave it out; the time to live (iperf 2) is not set, and `> FILE` gives the output a name \
         instead of a title (iperf 3)",
    ),
    (&["--title"], "leave it out; `> FILE` gives the output a name"),
    (&["--timestamps"], "write `| ts` (moreutils)"),
    (
        &["--rcv-timeout", "--snd-timeout", "--idle-timeout"],
        "write `timeout S godwit dccp perf ...`, which bounds the whole run",
    ),
    (&["--server-bitrate-limit"], "leave it out; the client sets the rate with -b"),
    (&["--repeating-payload"], "leave it out; the contents of datagrams do not matter here"),
    (&["--extra-data"], "leave it out; `> FILE` gives the output a name"),
    (
        &[
            "--username",
            "--rsa-public-key-path",
            "--rsa-private-key-path",
            "--authorized-users-path",
        ],
        "leave it out; a server takes any client, so restrict them with a packet filter",
    ),
];

const TTCP: Switches = &[
    (&["-u"], "leave it out; data goes over DCCP, and `godwit dccp perf -u` sends plain UDP"),
    (&["-D"], "leave it out; no datagram waits for another one"),
    (&["-b"], "leave it out; DCCP has no window. `--set tx_qlen=N` bounds the datagrams that wait"),
    (&["-f"], "leave it out; rates are in KB/sec. `godwit dccp perf -f LETTER` chooses the unit"),
    (&["-d"], "write `--debug connection,ccid`"),
    (&["-A", "-O"], "leave it out; where buffers begin in memory does not matter here"),
    (&["-B"], "leave it out; received data is counted and written nowhere"),
    (&["-T"], "leave it out; received data is counted and not looked at"),
];

const MPSTAT: Switches = &[(&["-T"], "write `lscpu -e` for core, socket and node of processors")];

const PIDSTAT: Switches = &[
    (&["-e"], "start the program and write `pidstat -p PID`, in a shell `PROGRAM & pidstat -p $!`"),
    (&["-G"], "write `-C NAME`"),
    (&["-R"], "write `chrt -p PID` for policy and priority"),
    (&["-s"], "write `grep VmStk /proc/PID/status` for the stack"),
    (&["-T"], "leave it out; lines are of processes, and of their threads with -t"),
    (&["-U"], "leave it out; lines have the number of the user, whose name `id -un UID` prints"),
    (&["-v"], "write `grep Threads /proc/PID/status`, `ls /proc/PID/fd | wc -l`"),
    (&["--human"], "leave it out; memory is in kilobytes of 1024 bytes"),
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
                let printed = parsed.err().and_then(|error| message(&words, &error));
                let expected = format!("error: {name} of {program}: {advice}");
                assert!(
                    printed.is_some_and(|text| text.starts_with(&expected)),
                    "{command} {name}"
                );
            }
        }
    }
}
