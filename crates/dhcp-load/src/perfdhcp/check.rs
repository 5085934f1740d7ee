//! Check for switches of `godwit perfdhcp` that cannot be combined: perfdhcp's rules, all problems
//! at once.

use std::net::IpAddr;

use load::LoadShapeArg;

use super::args::{
    AWAY_DEFAULT_S, GeneratorHost, LeaseType, MaxDrops, PerfdhcpArgs, PerfdhcpScenario,
};
use super::holders::CLIENTS_MAX;

/// Codes of options that the generator's DHCPv4 messages already have; `-o` must not add them.
const OWN4: [u16; 6] = [0, 50, 53, 54, 61, 255];
/// Codes of options that the generator's DHCPv6 messages already have; `-o` must not add them.
const OWN6: [u16; 8] = [1, 2, 3, 6, 8, 9, 14, 25];

/// List of problems with the switches of a command line, as texts.
struct Problems(Vec<String>);

impl Problems {
    fn when(&mut self, holds: bool, problem: impl Into<String>) {
        if holds {
            self.0.push(problem.into());
        }
    }
}

/// Returns every problem with the switches in `args`, as texts; empty when the run can begin.
pub(crate) fn problems(args: &PerfdhcpArgs) -> Vec<String> {
    let mut problems = Problems(Vec::new());
    problems.when(args.v4 && args.v6, "-4 and -6: choose one");
    templates(args, &mut problems);
    offer_only(args, &mut problems);
    family(args, &mut problems);
    rates(args, &mut problems);
    lifecycle(args, &mut problems);
    let takes_output = args.json.as_ref().is_some_and(|path| path.as_os_str() == "-");
    problems.when(args.live && takes_output, "--live and --json -: both use standard output");
    let has_local = |host: &GeneratorHost| host.local.is_some();
    let has_locals = !args.generators.is_empty() && args.generators.iter().all(has_local);
    problems.when(
        !args.direct && args.server.is_none() && args.local.is_none() && !has_locals,
        "without an interface (-l), SERVER is required",
    );
    problems
        .when(args.mac_list.is_some() && !args.bases.is_empty(), "-M cannot be combined with -b");
    problems.when(
        args.age_for_s.is_some() != args.age_from_s.is_some(),
        "-y and -Y must be used \
                together",
    );
    problems.when(args.bases.len() > 4, "-b can be given 4 times at most");
    problems.when(args.counts.len() > 2, "-n can be given twice at most");
    problems.when(args.deadlines.len() > 2, "-d can be given twice at most");
    let is_avalanche = args.scenario == PerfdhcpScenario::Avalanche;
    problems.when(is_avalanche && args.clients == 0, "--scenario avalanche needs -R");
    let unused = args.rate.is_some()
        || args.shape.is_some()
        || args.renew_rate.is_some()
        || args.release_rate.is_some()
        || args.preload > 0
        || args.period_s.is_some()
        || !args.counts.is_empty()
        || !args.max_drops.is_empty()
        || !args.deadlines.is_empty();
    problems.when(
        is_avalanche && unused,
        "-d, -D, -f, -F, -n, -p, -P, -r and --shape have no meaning in --scenario avalanche: all clients begin at once \
         and the run ends when all are served",
    );
    for is_count in [true, false] {
        let kind = |limit: &&MaxDrops| matches!(limit, MaxDrops::Count(_)) == is_count;
        problems.when(
            args.max_drops.iter().filter(kind).count() > 2,
            "-D can be given twice at most for counts and twice for shares",
        );
    }
    shape(args, &mut problems);
    direct(args, &mut problems);
    several(args, &mut problems);
    problems.0
}

/// Adds problems with the switches for clients on the generator's link (`--direct`).
fn direct(args: &PerfdhcpArgs, problems: &mut Problems) {
    if !args.direct {
        for (is_given, name) in
            [(args.broadcast_flag, "--broadcast-flag"), (args.answer_arp, "--answer-arp")]
        {
            problems.when(
                is_given,
                format!("{name} is for clients on a link of this machine: it needs --direct"),
            );
        }
        return;
    }
    problems.when(
        args.v6,
        "--direct is for DHCPv4: without -A DHCPv6 clients are on a link of this \
                        machine anyway",
    );
    let locals = args.generators.iter().filter_map(|host| host.local.as_ref());
    let own = args.local.iter().chain(locals);
    for address in own.filter(|local| local.parse::<IpAddr>().is_ok()) {
        problems.when(true, format!("-l {address}: --direct needs an interface, not an address"));
    }
    let has_local = |host: &GeneratorHost| host.local.is_some();
    let has_locals = !args.generators.is_empty() && args.generators.iter().all(has_local);
    problems.when(
        args.local.is_none() && !has_locals,
        "--direct needs -l: the interface whose link the clients are on",
    );
    let everybody = [None, Some("all"), Some("255.255.255.255")];
    if !args.v6
        && let Some(server) = &args.server
        && !everybody.contains(&Some(server.as_str()))
    {
        problems.when(
            true,
            format!(
                "SERVER {server}: clients with --direct send broadcasts: write `all`, or leave \
                     it out"
            ),
        );
    }
    let unused = [
        (
            args.relay_list.is_some(),
            "-J has no meaning with --direct: there is no relay before clients",
        ),
        (
            args.broadcast,
            "-B has no effect with --direct, which may always broadcast; --broadcast-flag makes the \
             server broadcast its answers",
        ),
        (
            args.broadcast_flag && !args.templates.is_empty(),
            "--broadcast-flag cannot be put into packets (-T)",
        ),
        (args.answer_arp && args.offer_only, "--answer-arp is not compatible with -i"),
        (
            args.frames.interface.is_some(),
            "--interface has no meaning with --direct: such clients always send frames, through \
             the interface of -l",
        ),
    ];
    for (is_given, problem) in unused {
        problems.when(is_given, problem);
    }
    problems.when(
        args.answer_arp && u64::from(args.clients) > CLIENTS_MAX,
        format!("--answer-arp: takes {CLIENTS_MAX} clients (-R) at most"),
    );
}

/// Adds problems with the switches for several generators (`--generators`).
fn several(args: &PerfdhcpArgs, problems: &mut Problems) {
    let count = args.generators.len() as u64;
    if count == 0 {
        return;
    }
    let unknown = [
        (args.live, "--live"),
        (args.frames.interface.is_some(), "--interface"),
        (args.pcap.is_some(), "--pcap"),
        (!args.diagnostics.is_empty(), "-x"),
        (!args.max_drops.is_empty(), "-D"),
    ];
    for (is_given, name) in unknown {
        problems.when(is_given, format!("{name} is not available with --generators"));
    }
    let is_short = args.mac_list.is_none() && u64::from(args.clients) < count;
    problems.when(is_short, "--generators needs -R: a client for each generator at least");
    for &requests in &args.counts {
        let is_short = u64::from(requests) < count;
        problems.when(is_short, format!("-n {requests}: fewer than there are generators"));
    }
    let ssh = args.ssh_command.trim();
    problems.when(ssh.is_empty(), "--ssh-command is empty");
    problems.when(args.remote_godwit.trim().is_empty(), "--remote-godwit is empty");
}

/// Adds problems with the load shape (`--shape`).
fn shape(args: &PerfdhcpArgs, problems: &mut Problems) {
    let Some(load_shape) = &args.shape else { return };
    let needs_rate = !load_shape.is_replay() && args.rate.is_none();
    problems.when(needs_rate, "--shape needs the rate -r");
    let fills = matches!(load_shape, LoadShapeArg::Shape(shape) if shape.fills_the_run());
    let needs_period = fills && args.period_s.is_none();
    problems.when(needs_period, "--shape ramp and steps need -p: how long the run is");
}

/// Adds problems with the switches for packets from files (`-T`).
fn templates(args: &PerfdhcpArgs, problems: &mut Problems) {
    let count = args.templates.len();
    problems
        .when(args.v6 && count > 0 && args.relay.is_some(), "-A cannot be put into packets (-T)");
    problems.when(args.v6 && count > 0 && args.rapid_commit, "-c cannot be put into packets (-T)");
    problems
        .when(args.v6 && count > 0 && args.first_server, "-1 cannot be put into packets of DHCPv6");
    problems.when(
        count > 0 && args.lease_type != LeaseType::AddressOnly,
        "-T (packets from files) works only with -e address-only",
    );
    problems.when(count > 2, "-T can be given twice at most");
    let several = [(args.client_offsets.len(), "-O"), (args.xid_offsets.len(), "-X")];
    for (count_given, name) in several {
        problems.when(count_given > count, format!("{name}: more offsets than packets (-T)"));
    }
    let second =
        [(args.elapsed_offset, "-E"), (args.server_offset, "-S"), (args.address_offset, "-I")];
    for (offset, name) in second {
        problems.when(offset.is_some() && count < 2, format!("{name} is for a second packet (-T)"));
        let is_needed = count == 2 && !args.v6 && offset.is_none() && name != "-E";
        problems.when(
            is_needed,
            format!("{name} must give the offset of the option in the second packet (-T)"),
        );
    }
    problems.when(count > 0 && !args.options.is_empty(), "-o cannot be put into packets (-T)");
    problems.when(count > 0 && args.relay_list.is_some(), "-J cannot be put into packets (-T)");
    problems
        .when(count > 0 && args.age_for_s.is_some(), "-y and -Y cannot be put into packets (-T)");
}

fn offer_only(args: &PerfdhcpArgs, problems: &mut Problems) {
    if !args.offer_only {
        problems.when(args.rapid_commit, "-c needs -i");
        return;
    }
    let second = |limits: &[MaxDrops]| {
        let counts = limits.iter().filter(|limit| matches!(limit, MaxDrops::Count(_))).count();
        counts > 1 || limits.len() - counts > 1
    };
    let wrong = [
        (args.counts.len() > 1, "a second -n"),
        (args.deadlines.len() > 1, "a second -d"),
        (second(&args.max_drops), "a second -D"),
        (args.templates.len() > 1, "a second -T"),
        (args.client_offsets.len() > 1, "a second -O"),
        (args.xid_offsets.len() > 1, "a second -X"),
        (args.elapsed_offset.is_some(), "-E"),
        (args.server_offset.is_some(), "-S"),
        (args.address_offset.is_some(), "-I"),
        (args.first_server, "-1"),
        (args.renew_rate.is_some(), "-f"),
        (args.release_rate.is_some(), "-F"),
    ];
    for (holds, name) in wrong {
        problems.when(holds, format!("{name} is not compatible with -i"));
    }
}

fn family(args: &PerfdhcpArgs, problems: &mut Problems) {
    let own: &[u16] = if args.v6 { &OWN6 } else { &OWN4 };
    for (code, value) in &args.options {
        let is_doubled = own.contains(code);
        problems.when(is_doubled, format!("-o {code}: the messages have this option already"));
        let is_wide = !args.v6 && (*code > 254 || value.len() > 255);
        problems.when(
            is_wide,
            format!("-o {code}: a DHCPv4 option has a code up to 254 and at most 255 bytes"),
        );
    }
    let sizes = [("-o", &args.options), ("--or", &args.relay_options)];
    for (name, options) in sizes {
        let octets: usize = options.iter().map(|(_, value)| 4 + value.len()).sum();
        problems.when(octets > 700, format!("{name}: more than 700 bytes of options"));
    }
    if args.v6 {
        problems.when(args.broadcast, "-B is not compatible with IPv6 (-6)");
        problems.when(
            !args.relay_options.is_empty() && args.relay.is_none(),
            "--or needs -A: it goes into the RELAY-FORW",
        );
        problems.when(
            args.relay_options.iter().any(|(code, _)| *code == 9),
            "--or 9: the RELAY-FORW has this option already",
        );
        problems.when(
            args.relay_list.is_some() && args.relay.is_none(),
            "-J needs -A with -6: link addresses go into the RELAY-FORW",
        );
    } else {
        problems.when(args.rapid_commit, "-c needs -6");
        problems.when(args.relay.is_some(), "-A is for DHCPv6: it needs -6");
        problems.when(!args.relay_options.is_empty(), "--or is for DHCPv6: it needs -6 and -A");
        problems
            .when(args.lease_type != LeaseType::AddressOnly, "-e other than address-only needs -6");
    }
}

fn rates(args: &PerfdhcpArgs, problems: &mut Problems) {
    let (renew, release) = (args.renew_rate.unwrap_or(0), args.release_rate.unwrap_or(0));
    match args.rate {
        None => {
            problems.when(renew > 0, "-f needs the rate -r");
            problems.when(release > 0, "-F needs the rate -r");
        }
        Some(rate) => problems.when(
            u64::from(renew) + u64::from(release) > u64::from(rate),
            "the sum of -f and -F must not exceed -r",
        ),
    }
}

/// Adds problems with the switches for a population of clients (`--scenario lifecycle`).
fn lifecycle(args: &PerfdhcpArgs, problems: &mut Problems) {
    let own = [
        (args.speed != 1.0, "--speed"),
        (args.stay.is_some(), "--stay"),
        (args.away != AWAY_DEFAULT_S, "--away"),
        (args.releasing > 0, "--releasing"),
        (args.informing > 0, "--informing"),
        (args.declining > 0, "--declining"),
    ];
    if args.scenario != PerfdhcpScenario::Lifecycle {
        for (is_given, name) in own {
            problems.when(is_given, format!("{name} is for --scenario lifecycle"));
        }
        return;
    }
    let is_ready = args.clients > 0
        && (args.rate.is_some() || args.shape.is_some())
        && args.period_s.is_some();
    problems.when(
        !is_ready,
        "--scenario lifecycle needs -R, -r and -p: clients, how fast they join, how long",
    );
    let unused = [
        (!args.templates.is_empty(), "-T"),
        (args.offer_only, "-i"),
        (args.renew_rate.is_some(), "-f"),
        (args.release_rate.is_some(), "-F"),
        (args.preload > 0, "-P"),
        (!args.counts.is_empty(), "-n"),
        (args.mac_list.is_some(), "-M"),
    ];
    for (is_given, name) in unused {
        problems.when(is_given, format!("{name} has no meaning in --scenario lifecycle"));
    }
    problems
        .when(args.clients > 1_000_000, "-R: --scenario lifecycle takes a million clients at most");
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn problems_of(words: &str) -> String {
        problems(&PerfdhcpArgs::try_parse_from(words.split(' ')).unwrap()).join("\n")
    }

    #[test]
    fn a_flag_without_effect_is_refused() {
        assert_eq!(problems_of("perfdhcp --scenario avalanche -R 5 127.0.0.1"), "");
        let problem = problems_of("perfdhcp --scenario avalanche -R 5 -p 2 127.0.0.1");
        assert!(problem.contains("-p, ") && problem.contains("have no meaning"), "{problem}");
        assert_eq!(problems_of("perfdhcp --away 600 127.0.0.1"), "");
        let problem = problems_of("perfdhcp --away 60 127.0.0.1");
        assert_eq!(problem, "--away is for --scenario lifecycle");
    }
}
