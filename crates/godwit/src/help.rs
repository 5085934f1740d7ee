//! Parts of help texts other than flags, headings over groups of flags and examples; and errors of
//! command lines that say which value is expected.

use std::ffi::OsString;
use std::io::{IsTerminal, stderr, stdout};

use clap::Command;

use crate::missing_switches;

/// Groups of a command's flags in its help: the command's words, a heading, and the flags.
const HEADINGS: &[(&str, &str, &[&str])] = &[
    (
        "perfdhcp",
        "Load",
        &[
            "rate",
            "period_s",
            "counts",
            "clients",
            "shape",
            "deadlines",
            "max_drops",
            "preload",
            "aggressivity",
            "wait_us",
            "seed",
            "threads",
            "wrapped",
            "renew_rate",
            "release_rate",
        ],
    ),
    (
        "perfdhcp",
        "Messages",
        &[
            "lease_type",
            "offer_only",
            "rapid_commit",
            "first_server",
            "options",
            "relay_options",
            "bases",
            "mac_list",
            "relay_list",
            "relay",
            "age_for_s",
            "age_from_s",
            "unique",
        ],
    ),
    (
        "perfdhcp",
        "Network",
        &[
            "local",
            "local_port",
            "server_port",
            "broadcast",
            "direct",
            "broadcast_flag",
            "answer_arp",
            "interface",
            "server_mac",
        ],
    ),
    (
        "perfdhcp",
        "Avalanche and lifecycle",
        &["scenario", "resend", "speed", "stay", "away", "releasing", "informing", "declining"],
    ),
    (
        "perfdhcp",
        "Packets from files",
        &[
            "templates",
            "elapsed_offset",
            "address_offset",
            "client_offsets",
            "server_offset",
            "xid_offsets",
        ],
    ),
    ("perfdhcp", "Several machines", &["generators", "ssh_command", "remote_godwit"]),
    (
        "perfdhcp",
        "Output",
        &[
            "report_s",
            "separator",
            "diagnostics",
            "compat",
            "json",
            "live",
            "hdr",
            "pcap",
            "pcap_failed",
        ],
    ),
    (
        "dns load",
        "Queries",
        &[
            "queries",
            "replay_times",
            "query",
            "slides",
            "zone_like",
            "names",
            "zone",
            "edns",
            "dnssec",
            "no_recursion",
        ],
    ),
    (
        "dns load",
        "Timing",
        &[
            "rate",
            "outstanding",
            "duration",
            "runs",
            "shape",
            "deadline_s",
            "drain_s",
            "linger_s",
            "begin_at_ns",
            "seed",
        ],
    ),
    ("dns load", "Output", &["timeline_s", "max_loss", "json", "metrics"]),
    ("lab run", "A server that runs already", &["target", "relay", "pool_size"]),
    (
        "dccp perf",
        "Load",
        &[
            "time",
            "octets",
            "len",
            "bandwidth",
            "parallel",
            "reverse",
            "bidir",
            "udp",
            "search",
            "loss",
            "plain",
        ],
    ),
    ("dccp perf", "Output", &["format", "interval", "probe", "probe_interval", "json"]),
];

/// Examples in the help of each command that users run, one per line.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "lab run",
        &[
            "godwit lab run dhcp4-quick --server godwit,kea",
            "godwit lab run dhcp4-quick --target 10.0.0.1 --relay 10.0.0.2",
            "godwit lab run dns-quick --server bind,knot --time-budget 120",
        ],
    ),
    ("lab report", &["godwit lab report results/2026-11-26T101500Z-dhcp4-quick"]),
    ("lab compare", &["godwit lab compare baseline latest"]),
    ("lab list", &["godwit lab list", "godwit lab list dhcp4-quick"]),
    ("lab pin", &["godwit lab pin latest"]),
    ("lab trend", &["godwit lab trend dhcp4-quick"]),
    ("lab serve", &["godwit lab serve --results results"]),
    ("lab plans", &["godwit lab plans", "godwit lab plans --json"]),
    ("lab peers", &["godwit lab peers"]),
    ("lab top", &["godwit lab top kea", "godwit lab top --pid 4711 --count 1 --json"]),
    ("lab clean", &["godwit lab clean"]),
    (
        "dhcp4",
        &[
            "godwit dhcp4 -t /etc/kea/kea-dhcp4.conf      # check only",
            "godwit dhcp4 -c /etc/kea/kea-dhcp4.conf",
        ],
    ),
    (
        "dhcp6",
        &[
            "godwit dhcp6 -t /etc/kea/kea-dhcp6.conf      # check only",
            "godwit dhcp6 -c /etc/kea/kea-dhcp6.conf",
        ],
    ),
    (
        "ddns",
        &[
            "godwit ddns -t /etc/kea/kea-dhcp-ddns.conf   # check only",
            "godwit ddns -c /etc/kea/kea-dhcp-ddns.conf",
        ],
    ),
    ("ddns check", &["godwit ddns check /etc/kea/kea-dhcp-ddns.conf"]),
    ("db init", &["godwit db init mysql -u kea -p secret -n leases -h 10.0.0.1"]),
    ("db upgrade", &["godwit db upgrade pgsql -u kea -p secret -n leases"]),
    ("db version", &["godwit db version mysql -u kea -p secret -n leases"]),
    ("db recount", &["godwit db recount mysql -u kea -p secret -n leases"]),
    ("db dump", &["godwit db dump mysql -4 -u kea -p secret -n leases -o leases4.csv"]),
    ("db upload", &["godwit db upload pgsql -4 -u kea -p secret -n leases -i leases4.csv"]),
    ("kea-lfc", &["godwit kea-lfc -4 -p lfc.pid -x l.2 -i l.1 -o l.output -f l.completed"]),
    (
        "kea-shell",
        &["godwit kea-shell --service dhcp4 dhcp-disable # then \"max-period\": 60 and Ctrl-D"],
    ),
    ("events", &["godwit events --socket /run/kea/kea4-ctrl-socket --snapshot"]),
    ("keactrl", &["godwit keactrl status", "godwit keactrl start -s dhcp4"]),
    (
        "convert",
        &[
            "godwit convert /etc/dhcp/dhcpd.conf -o kea-dhcp4.conf",
            "godwit convert /etc/dhcp/dhcpd6.conf --interface eth0=2001:db8:1::/64",
        ],
    ),
    (
        "schema",
        &[
            "godwit schema dhcp4 >kea-dhcp4.schema.json",
            "godwit schema summary >summary.schema.json",
        ],
    ),
    ("advise", &["godwit advise /etc/kea/kea-dhcp4.conf --leases /var/lib/kea/kea-leases4.csv"]),
    ("ubench", &["godwit ubench memfile sqlite --records 1000"]),
    (
        "netem",
        &[
            "godwit netem --between eth1 eth2 delay 75ms 5ms loss 1%",
            "godwit netem --between eth1 eth2 delay 10ms tbf rate 2mbit burst 10kb latency 50ms",
        ],
    ),
    ("netem change", &["godwit netem change --socket link.sock delay 10ms"]),
    ("netem show", &["godwit netem show --socket link.sock"]),
    ("netem off", &["godwit netem off --between eth1 eth2"]),
    (
        "trafgen",
        &[
            "godwit trafgen -i packets.cfg --dry-run -n 3",
            "godwit trafgen -i packets.cfg -o eth1 -n 1000",
            "godwit trafgen -o eth1 -b 10kpps '{ ipv4(da=192.0.2.1, ttl=64), udp(dp=7) }'",
        ],
    ),
    ("ifpps", &["godwit ifpps eth0", "godwit ifpps eth0 --csv --loop > eth0.dat"]),
    ("cpustat", &["godwit cpustat 1", "godwit cpustat -p 4711 1 10 --json"]),
    ("dccp perf", &["godwit dccp perf -s", "godwit dccp perf -c 10.0.0.2 -t 10 -b 12m --json"]),
    ("dccp send", &["godwit dccp send 10.0.0.2 file"]),
    ("dccp recv", &["godwit dccp recv file"]),
    ("dccp ttcp", &["godwit dccp ttcp -r", "godwit dccp ttcp -t 10.0.0.2"]),
    ("dccp probe", &["godwit dccp probe probe.txt", "godwit dccp probe probe.txt --html p.html"]),
    (
        "dccp conformance",
        &["godwit dccp conformance --list", "godwit dccp conformance --target 10.0.0.2"],
    ),
    ("dccp regression", &["godwit dccp regression --quick"]),
    ("dccp fairness", &["godwit dccp fairness --time 20"]),
    (
        "dns load",
        &[
            "godwit dns load -s 192.0.2.53 -d queries.txt          # search the highest rate",
            "godwit dns load -s ns1.example -Q 5000 -l 30 -d queries.txt",
            "godwit dns load -s 192.0.2.53 -Q 5000 --zone-like 7 --json result.json",
        ],
    ),
    ("dns echo", &["godwit dns echo", "godwit dns echo -l 10.0.0.1:53 --threads 2"]),
    ("dns zone", &["godwit dns zone --seed 7 --out zone.db"]),
    ("capacity", &["godwit capacity --leases 100000 --lease-times 1h,8h"]),
    ("completions", &["godwit completions bash > /etc/bash_completion.d/godwit"]),
    ("man", &["godwit man /usr/local/share/man/man1"]),
    (
        "perfdhcp",
        &[
            "godwit perfdhcp -4 -r 1000 -p 30 -R 100000 10.0.0.1",
            "godwit perfdhcp -6 -r 500 -n 5000 -A 1 2001:db8::1",
            "godwit perfdhcp --scenario avalanche -R 2000 --json result.json 10.0.0.1",
        ],
    ),
];

/// Returns the examples of a command by its words, such as `godwit lab run`.
pub(crate) fn examples_of(words: &str) -> &'static [&'static str] {
    let words = words.strip_prefix("godwit ").unwrap_or_default();
    EXAMPLES.iter().find(|(of, _)| *of == words).map_or(&[], |(_, lines)| *lines)
}

/// Returns `command` with headings and examples in the help of all its commands. Lets every flag
/// take a negative number, so that the flag's own parser refuses it instead of reporting an unknown
/// flag.
pub(crate) fn decorated(command: Command) -> Command {
    decorate(command, "")
}

/// Names of the commands that replace C programs. As with getopt_long(3), users may shorten long
/// switches as long as they are unambiguous, and the last of repeated switches counts.
const REPLACEMENT_COMMANDS: [&str; 9] = [
    "perfdhcp",
    "trafgen",
    "ifpps",
    "cpustat",
    "cpustat mpstat",
    "cpustat pidstat",
    "dccp perf",
    "dccp ttcp",
    "dns dnsperf",
];

fn decorate(mut command: Command, words: &str) -> Command {
    if REPLACEMENT_COMMANDS.contains(&words) {
        command = command.infer_long_args(true).args_override_self(true);
    }
    for (_, heading, flags) in HEADINGS.iter().filter(|(of, ..)| *of == words) {
        for flag in *flags {
            command = command.mut_arg(flag, |arg| arg.help_heading(*heading));
        }
    }
    if let Some((_, lines)) = EXAMPLES.iter().find(|(of, _)| *of == words) {
        command = command.after_help(format!("Examples:\n  {}", lines.join("\n  ")));
    }
    // Digits are flags of perfdhcp.
    if words != "perfdhcp" && words != "kea-lfc" {
        command = command.mut_args(|arg| {
            let takes_number = arg.get_action().takes_values() && !arg.is_positional();
            if takes_number { arg.allow_negative_numbers(true) } else { arg }
        });
    }
    let names: Vec<String> =
        command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    for name in names {
        let below = format!("{words} {name}");
        command = command.mut_subcommand(name, |own| decorate(own, below.trim()));
    }
    command
}

/// Phrases of the standard library's errors that do not help a user, each with its replacement.
const PHRASES: [(&str, &str); 9] = [
    ("invalid digit found in string", "a whole number is expected"),
    ("cannot parse integer from empty string", "a whole number is expected"),
    ("number too large to fit in target type", "the number is too large"),
    ("number too small to fit in target type", "the number is too small"),
    ("invalid float literal", "a number is expected"),
    ("cannot parse float from empty string", "a number is expected"),
    ("invalid socket address syntax", "an address with a port is expected, ADDRESS:PORT"),
    ("invalid IPv4 address syntax", "an IPv4 address is expected"),
    ("invalid IP address syntax", "an address is expected"),
];

/// Prints `error` for the command line `words`. Help and version go to the standard output.
pub(crate) fn print(words: &[OsString], error: &clap::Error) {
    if let Some(message) = missing_switches::message(words, error) {
        netio::stderr::print(message);
        return;
    }
    let to_stderr = error.use_stderr();
    let is_terminal = if to_stderr { stderr().is_terminal() } else { stdout().is_terminal() };
    let text = error.render();
    let text = if takes_colour(is_terminal) { text.ansi().to_string() } else { text.to_string() };
    let text = in_plain_words(text);
    if to_stderr {
        netio::stderr::print(text);
    } else {
        // A closed output is not worth an error message.
        let _ = netio::stdout::print(&text);
    }
}

fn in_plain_words(text: String) -> String {
    PHRASES.iter().fold(text, |text, (phrase, words)| text.replace(phrase, words))
}

/// Returns true if output may have color: on a terminal, unless the user disabled it
/// (no-color.org).
fn takes_colour(is_terminal: bool) -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    is_terminal && !is_set("NO_COLOR") && !is_dumb
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commands that act by themselves and have subcommands.
    const ACTS_ALONE: [&str; 2] = ["netem", "ddns"];

    /// Calls `look` with every visible command that acts without a subcommand, and with its words.
    fn leaves(command: &Command, words: &str, look: &mut impl FnMut(&str, &Command)) {
        let subcommands = command.get_subcommands().filter(|below| !below.is_hide_set());
        let subcommands: Vec<&Command> =
            subcommands.filter(|below| below.get_name() != "help").collect();
        if subcommands.is_empty() || ACTS_ALONE.contains(&words) {
            look(words, command);
        }
        for below in subcommands {
            leaves(below, format!("{words} {}", below.get_name()).trim(), look);
        }
    }

    fn command() -> Command {
        let mut command = crate::cli::command();
        command.build();
        command
    }

    #[test]
    fn every_command_that_is_shown_has_examples_that_it_takes() {
        let mut count = 0;
        leaves(&command(), "", &mut |words, command| {
            let help = command.clone().render_help().to_string();
            assert!(help.contains("Examples:\n"), "{words}");
            count += 1;
        });
        assert_eq!(count, EXAMPLES.len(), "an example is of no command");
        let mut wrong = Vec::new();
        for line in EXAMPLES.iter().flat_map(|(_, lines)| *lines) {
            let line = line.split(['#', '>']).next().unwrap_or_default();
            let parsed = crate::cli::command().try_get_matches_from(line.split_whitespace());
            wrong.extend(parsed.err().map(|error| format!("{line}: {error}")));
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn flags_of_the_connection_are_the_same_in_all_commands_of_dccp() {
        let mut by_command = Vec::new();
        leaves(&command(), "", &mut |words, command| {
            let of_connection =
                command.get_arguments().filter(|arg| arg.get_help_heading() == Some("Connection"));
            let flags: Vec<String> = of_connection.map(|arg| arg.get_id().to_string()).collect();
            if words.starts_with("dccp ") && !flags.is_empty() {
                by_command.push((words.to_owned(), flags));
            }
        });
        assert_eq!(by_command.len(), 7);
        for (words, flags) in &by_command[1..] {
            assert_eq!(*flags, by_command[0].1, "{words} and {}", by_command[0].0);
        }
    }

    #[test]
    fn help_fits_a_terminal_of_80_columns() {
        leaves(&command(), "", &mut |words, command| {
            let help = command.clone().term_width(80).render_long_help().to_string();
            for line in help.lines().filter(|line| !line.contains("Usage:")) {
                assert!(line.chars().count() <= 80, "{words}: {line}");
            }
        });
    }

    #[test]
    fn a_value_that_is_wrong_is_refused_in_plain_words() {
        for (line, words) in [
            ("godwit capacity --leases abc", "a whole number is expected"),
            ("godwit lab run x --time-budget -5", "-5 is not in 1..=86400"),
            ("godwit lab run x --runs=", "a whole number is expected"),
            ("godwit ifpps lo -t 99999999999999999999", "too large"),
        ] {
            let parsed = crate::cli::command().try_get_matches_from(line.split_whitespace());
            let message = in_plain_words(parsed.unwrap_err().render().to_string());
            assert!(message.contains(words), "{line}: {message}");
        }
    }

    #[test]
    fn no_flag_answers_with_a_phrase_of_the_standard_library() {
        let (mut tried, whole) = (0, crate::cli::command());
        leaves(&command(), "", &mut |words, command| {
            for arg in command.get_arguments().filter(|arg| arg.get_action().takes_values()) {
                let Some(long) = arg.get_long() else { continue };
                for value in ["abc", "99999999999999999999"] {
                    let line = format!("godwit {words} --{long}={value}");
                    let parsed = whole.clone().try_get_matches_from(line.split_whitespace());
                    let Err(error) = parsed else { continue };
                    let message = in_plain_words(error.render().to_string());
                    let lower = message.to_lowercase();
                    for phrase in ["in string", "literal", "target type", "syntax", "parse"] {
                        assert!(!lower.contains(phrase), "{line}: {message}");
                    }
                    tried += 1;
                }
            }
        });
        assert!(tried > 150, "{tried}");
    }

    #[test]
    fn colour_is_for_terminals_only() {
        assert!(!takes_colour(false));
    }
}
