//! Command line of `godwit`: its commands, and the names under which it acts as another tool.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::advise;
use crate::capacity;
use crate::completions;
use crate::convert;
use crate::db;
use crate::ddns;
use crate::dhcp::{self, DhcpServerKind};
use crate::events;
use crate::help;
use crate::kea_admin;
use crate::kea_lfc;
use crate::kea_shell;
use crate::keactrl;
use crate::lab;
use crate::man;
use crate::netem;
use crate::output;
use crate::schema;
use crate::ubench;

/// Benchmark lab for DHCP, DNS and DCCP, and a DHCP server that runs Kea configurations.
#[derive(Debug, Parser)]
#[command(name = "godwit", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: GodwitCommand,
}

#[derive(Debug, Subcommand)]
enum GodwitCommand {
    Lab(lab::LabArgs),
    /// Run the DHCPv4 server in the foreground with a Kea configuration file.
    ///
    /// SIGHUP reads the configuration again; SIGTERM and SIGINT end the server. The server accepts
    /// commands at the `control-sockets` of the configuration.
    ///
    /// Exit codes: 0 ended by a signal or a command, or the configuration is valid (-t); 1 failed
    /// at run time; 2 bad arguments, or a configuration with errors or with which the server does
    /// not start; other codes come from the command `shutdown`.
    Dhcp4(dhcp::DhcpServerArgs),
    /// Run the DHCPv6 server in the foreground with a Kea configuration file.
    ///
    /// SIGHUP reads the configuration again; SIGTERM and SIGINT end the server. The server accepts
    /// commands at the `control-sockets` of the configuration.
    ///
    /// Exit codes: 0 ended by a signal or a command, or the configuration is valid (-t); 1 failed
    /// at run time; 2 bad arguments, or a configuration with errors or with which the server does
    /// not start; other codes come from the command `shutdown`.
    Dhcp6(dhcp::DhcpServerArgs),
    /// Run the DNS updater in the foreground with a configuration file of kea-dhcp-ddns.
    ///
    /// It receives name change requests of DHCP servers and keeps the names of their clients in DNS
    /// servers. Requests that are not finished when it ends are in a queue on the disk and carried
    /// out after the next start. SIGHUP reads the configuration again; SIGTERM and SIGINT end it.
    ///
    /// Exit codes: 0 ended by a signal or a command, or the configuration is valid (-t); 1 failed
    /// at run time; 2 bad arguments, or a configuration with errors.
    Ddns(ddns::UpdaterArgs),
    Db(db::DbArgs),
    #[command(name = "kea-lfc")]
    KeaLfc(kea_lfc::KeaLfcArgs),
    #[command(name = "kea-shell")]
    KeaShell(kea_shell::KeaShellArgs),
    Keactrl(keactrl::KeactrlArgs),
    Events(events::EventsArgs),
    Advise(advise::AdviseArgs),
    Convert(convert::ConvertArgs),
    Schema(schema::SchemaArgs),
    Ubench(Box<ubench::UbenchArgs>),
    Netem(Box<netem::NetemArgs>),
    Trafgen(Box<packet_gen::TrafgenArgs>),
    Ifpps(counter_tools::IfppsArgs),
    Cpustat(counter_tools::CpustatArgs),
    /// Measure and test DCCP in user space, without kernel support
    Dccp(DccpArgs),
    /// Load-test DNS servers, make zones, and echo queries as a baseline
    Dns(DnsArgs),
    Capacity(capacity::CapacityArgs),
    Perfdhcp(Box<dhcp_load::perfdhcp::PerfdhcpArgs>),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
    /// Load-test DHCP servers at a fixed rate (the lab's generator)
    #[command(hide = true)]
    Load(LoadArgs),
}

#[derive(Debug, clap::Args)]
struct DccpArgs {
    #[command(subcommand)]
    command: dccp_tools::DccpCommand,
}

#[derive(Debug, clap::Args)]
struct DnsArgs {
    #[command(subcommand)]
    command: dns_load::DnsCommand,
}

#[derive(Debug, clap::Args)]
struct LoadArgs {
    #[command(subcommand)]
    protocol: LoadProtocol,
}

#[derive(Debug, Subcommand)]
enum LoadProtocol {
    /// DHCPv4 exchanges through a relay
    Dhcp4(Box<dhcp_load::v4::Dhcp4LoadArgs>),
    /// DHCPv6 exchanges through relays, or on the server's link
    Dhcp6(Box<dhcp_load::v6::Dhcp6LoadArgs>),
}

/// Returns the definition of the whole command line, for clap.
pub(crate) fn command() -> clap::Command {
    help::decorated(Cli::command())
}

/// Runs the command line `words` and returns the exit code. The first word is the name that the
/// user called the binary by.
pub(crate) fn run(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = words.into_iter().collect();
    if kea_admin::is_version(&words) {
        return output::exit_code(output::print_line(dhcp_server::KEA_LEVEL));
    }
    let words = translate_tool_name(words);
    let after_command: Vec<String> =
        words.iter().skip(2).map(|word| word.to_string_lossy().into_owned()).collect();
    let parsed =
        command().try_get_matches_from(&words).and_then(|matches| Cli::from_arg_matches(&matches));
    match parsed {
        Ok(Cli { command: GodwitCommand::Lab(args) }) => lab::run(&args),
        Ok(Cli { command: GodwitCommand::Dhcp4(args) }) => dhcp::run(DhcpServerKind::Dhcp4, &args),
        Ok(Cli { command: GodwitCommand::Dhcp6(args) }) => dhcp::run(DhcpServerKind::Dhcp6, &args),
        Ok(Cli { command: GodwitCommand::Ddns(args) }) => ddns::run(&args),
        Ok(Cli { command: GodwitCommand::Db(args) }) => db::run(&args),
        Ok(Cli { command: GodwitCommand::KeaLfc(args) }) => kea_lfc::run(&args),
        Ok(Cli { command: GodwitCommand::KeaShell(args) }) => kea_shell::run(&args),
        Ok(Cli { command: GodwitCommand::Keactrl(args) }) => keactrl::run(&args),
        Ok(Cli { command: GodwitCommand::Events(args) }) => events::run(&args),
        Ok(Cli { command: GodwitCommand::Advise(args) }) => advise::run(&args),
        Ok(Cli { command: GodwitCommand::Convert(args) }) => convert::run(&args),
        Ok(Cli { command: GodwitCommand::Schema(args) }) => schema::run(&args),
        Ok(Cli { command: GodwitCommand::Ubench(args) }) => ubench::run(&args),
        Ok(Cli { command: GodwitCommand::Netem(args) }) => netem::run(&args),
        Ok(Cli { command: GodwitCommand::Trafgen(args) }) => args.run(),
        Ok(Cli { command: GodwitCommand::Ifpps(args) }) => args.run(),
        Ok(Cli { command: GodwitCommand::Cpustat(args) }) => args.run(),
        Ok(Cli { command: GodwitCommand::Dccp(args) }) => args.command.run(),
        Ok(Cli { command: GodwitCommand::Dns(args) }) => args.command.run(),
        Ok(Cli { command: GodwitCommand::Capacity(args) }) => capacity::run(&args),
        Ok(Cli { command: GodwitCommand::Perfdhcp(args) }) => args.run(&after_command),
        Ok(Cli { command: GodwitCommand::Completions(args) }) => {
            completions::run(&args, &command())
        }
        Ok(Cli { command: GodwitCommand::Man(args) }) => man::run(&args, command()),
        Ok(Cli { command: GodwitCommand::Load(args) }) => match args.protocol {
            LoadProtocol::Dhcp4(args) => args.run(),
            LoadProtocol::Dhcp6(args) => args.run(),
        },
        Err(error) => {
            // Help and version come this way too, with 0.
            help::print(&words, &error);
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
        }
    }
}

/// Translates a command line that begins with another tool's name (usually a link) to the one of
/// godwit that acts as that tool.
fn translate_tool_name(mut words: Vec<OsString>) -> Vec<OsString> {
    let name = words.first().and_then(|word| Path::new(word).file_name()).map(ToOwned::to_owned);
    let command = match name.as_deref().and_then(|name| name.to_str()) {
        Some("kea-dhcp4") => "dhcp4",
        Some("kea-dhcp6") => "dhcp6",
        Some("kea-dhcp-ddns") => "ddns",
        Some("kea-lfc") => "kea-lfc",
        Some("kea-shell") => "kea-shell",
        Some("keactrl") => "keactrl",
        Some("kea-admin") => {
            kea_admin::translate(&mut words);
            "db"
        }
        Some("trafgen") => "trafgen",
        Some("ifpps") => "ifpps",
        Some("perfdhcp") => {
            // Scripts read the output of perfdhcp; Godwit's own format is at `godwit perfdhcp`.
            words.insert(1, "--compat".into());
            "perfdhcp"
        }
        Some(name @ ("dnsperf" | "resperf")) => {
            words.insert(1, name.into());
            "dns"
        }
        Some(name @ ("mpstat" | "pidstat")) => {
            words.insert(1, name.into());
            "cpustat"
        }
        Some("iperf" | "iperf3") => {
            words.insert(1, "perf".into());
            "dccp"
        }
        Some("ttcp") => {
            words.insert(1, "ttcp".into());
            "dccp"
        }
        _ => return words,
    };
    words[0] = "godwit".into();
    words.insert(1, command.into());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        let words = translate_tool_name(line.split_whitespace().map(OsString::from).collect());
        Cli::try_parse_from(words)
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_link_named_as_keas_server_serves() {
        for line in ["/usr/sbin/kea-dhcp4 -c x.conf -p 6767", "godwit dhcp4 -c x.conf -p 6767"] {
            let GodwitCommand::Dhcp4(args) = parse(line).unwrap().command else { panic!("{line}") };
            assert_eq!((args.config.unwrap().to_str(), args.port), (Some("x.conf"), Some(6767)));
        }
        let line = "kea-dhcp6 -c x.conf";
        assert!(matches!(parse(line).unwrap().command, GodwitCommand::Dhcp6(_)), "{line}");
        assert!(parse("kea-dhcp4").is_err());
        assert!(parse("godwit").is_err());
    }

    #[test]
    fn links_named_as_keas_tools_take_their_words() {
        let connection = "-u kea -p secret -n leases -h 10.0.0.1 -P 5433 -d /usr/share/kea/scripts";
        for line in [
            format!("/usr/sbin/kea-admin db-init mysql {connection}"),
            format!("kea-admin db-version pgsql {connection} -x --skip-ssl"),
            format!("kea-admin db-upgrade pgsql {connection}"),
            format!("kea-admin lease-dump mysql {connection} -4 -o leases.csv -y"),
            format!("kea-admin lease-upload mysql {connection} -6 --input leases.csv"),
        ] {
            assert!(matches!(parse(&line).unwrap().command, GodwitCommand::Db(_)), "{line}");
        }
        let files = "-p x.pid -x x.2 -i x.1 -o x.output -f x.completed -c ignored";
        let line = format!("/usr/sbin/kea-lfc -4 {files}");
        assert!(matches!(parse(&line).unwrap().command, GodwitCommand::KeaLfc(_)), "{line}");
        for line in
            ["keactrl start", "keactrl status -c x.conf -s dhcp4,dhcp6 -- -F -X", "keactrl -v"]
        {
            assert!(matches!(parse(line).unwrap().command, GodwitCommand::Keactrl(_)), "{line}");
        }
        for line in [
            "kea-shell",
            "/usr/sbin/kea-shell --host 10.0.0.1 --port=8001 --service dhcp4 --service dhcp6 x",
            "kea-shell --auth-user a --auth-password b --ca x --cert y --key z config-get",
        ] {
            assert!(matches!(parse(line).unwrap().command, GodwitCommand::KeaShell(_)), "{line}");
        }
        for line in [
            "keactrl",
            "keactrl restart",
            "keactrl stop -s netconf",
            "kea-admin",
            "kea-admin db-init",
            "kea-admin db-init memfile",
            "kea-admin init mysql",
            &format!("kea-lfc {files}"),
            "kea-lfc -6 -p x.pid",
        ] {
            assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn the_letters_of_perfdhcp_stand_as_in_perfdhcp() {
        for line in [
            "/usr/sbin/perfdhcp -4 -r100 -R 50 127.0.0.1 -n200 -d1 -d 2.5 -D 5 -D 2.5% -xaeilstT",
            "godwit perfdhcp -6 -A1 -J x -M y -o 15,00 -o 16,01 --or 1:18,61 servers -1iBcu",
            "perfdhcp -l eth0 -b mac=00::0c::01::02::03::04 -b DUID=000102030405 -P 5 -W 1 -g multi",
            "perfdhcp --generators a,root@b=eth1 --ssh-command x --remote-godwit y -R 5 10.0.0.1",
            "perfdhcp -a 3 -C , -t 1 -p 5 -y 2 -Y 1 -s 5 -w x -e address-only --scenario basic all",
        ] {
            let parsed = parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
            assert!(matches!(parsed.command, GodwitCommand::Perfdhcp(_)), "{line}");
        }
    }

    #[test]
    fn the_letters_of_kea_admin_are_understood() {
        let connection = "pgsql -u kea -p secret -n leases -h 10.0.0.1 -P 5433";
        parse(&format!("godwit db init {connection} --schema 2.2")).unwrap();
        parse(&format!("godwit db version {connection}")).unwrap();
        parse(&format!("godwit db dump {connection} -4 -o leases.csv")).unwrap();
        parse(&format!("godwit db upload {connection} -6 -i leases.csv")).unwrap();
        parse("godwit db upgrade mysql --socket /run/mysqld/mysqld.sock --password-file x")
            .unwrap();
        assert!(parse(&format!("godwit db dump {connection} -o leases.csv")).is_err());
        assert!(parse(&format!("godwit db dump {connection} -4 -6 -o leases.csv")).is_err());
    }

    #[test]
    fn the_words_of_tc_stand_anywhere_behind_the_interfaces() {
        for line in [
            "godwit netem --between eth1 eth2 delay 75ms loss 10%",
            "godwit netem --between ns1:eth1 ns2:eth2 rate 1mbit -4 48 5 --seed 3 --json",
            "godwit netem --between eth1 eth2",
            "godwit netem --seed 3 --between eth1 eth2 tbf rate 1mbit burst 5kb limit 9kb",
            "godwit netem change --socket /x --forward delay 10ms",
            "godwit netem show --socket /x --json",
            "godwit netem off --between eth1 eth2",
        ] {
            parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
        for line in [
            "godwit netem delay 75ms",
            "godwit netem --between eth1",
            "godwit netem --between eth1 eth2 --kernel --json",
            "godwit netem --between eth1 eth2 --duration 0",
            "godwit netem change --socket /x",
            "godwit netem change --socket /x --forward --backward delay 1ms",
            "godwit netem show",
        ] {
            assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn the_letters_of_trafgen_are_understood() {
        for line in [
            "trafgen --dev eth0 --conf trafgen.cfg",
            "/usr/sbin/trafgen -i - -o lo --cpp -n 1",
            "trafgen --dev em1 --conf frag_dos.cfg --rand --gap 1000us",
            "trafgen --qdisc-path -i trafgen.cfg -o eth0",
            "trafgen -c x.cfg -d x.pcap -n 5 -P 1 -E 7 -A -Q -C -J -V -S 16MiB -p -D A=1 -D B",
            "godwit trafgen {} -o lo -b 8Mbit -P 0-1 --path sendmmsg --interval 1 --json",
            "godwit trafgen {} -o lo --path xdp",
            "godwit trafgen -e",
        ] {
            let GodwitCommand::Trafgen(_) = parse(line).unwrap().command else { panic!("{line}") };
        }
        for line in [
            "trafgen --dev eth0 --conf trafgen.cfg --cpu 2 --rat 5kpps --prio --kernel 5 -k1000 -H",
            "trafgen -v",
        ] {
            let words = translate_tool_name(line.split_whitespace().map(OsString::from).collect());
            command().try_get_matches_from(words).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
        for line in ["trafgen", "trafgen -i x {}", "trafgen {} -b 5", "trafgen {} -t 1 -b 1pps"] {
            assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn the_letters_of_ifpps_mpstat_and_pidstat_are_understood() {
        for line in [
            "ifpps eth0",
            "ifpps -lpcd wlan0",
            "/usr/sbin/ifpps --dev eth0 --num-cpus 4 --interval 100 --median --percentage --no-warn",
            "ifpps --promisc --csv --loop --omit-header --dev lo",
            "godwit ifpps -d eth0 -n 3 -t 500 -mPW --json --count 2",
        ] {
            let GodwitCommand::Ifpps(_) = parse(line).unwrap().command else { panic!("{line}") };
        }
        for line in [
            "godwit cpustat",
            "godwit cpustat 0.5 3 -P ALL",
            "godwit cpustat -P all,0,2-3 1",
            "godwit cpustat 1 -p 1,2 --json",
            "mpstat",
            "/usr/bin/mpstat -P ALL 1",
            "mpstat 2 5 -P 0,2-3 -u -I SUM,SCPU --dec=1",
            "mpstat -A -N ALL -n -o JSON 1 1",
            "mpstat -V",
            "pidstat 1",
            "/usr/bin/pidstat -p 1,2 -u -l 1 3",
            "pidstat -p SELF -hurdw -tHI --dec=0",
            "pidstat -C named|kea -p ALL -V",
        ] {
            let GodwitCommand::Cpustat(_) = parse(line).unwrap().command else { panic!("{line}") };
        }
        for line in [
            "ifpps",
            "ifpps -d eth0 eth1",
            "ifpps eth0 -t 0",
            "ifpps eth0 -l",
            "ifpps eth0 -c --json",
            "godwit cpustat 0",
            "godwit cpustat 1 0",
            "godwit cpustat -P x",
            "godwit cpustat -p ALL",
            "mpstat -P x",
            "mpstat 1 0",
            "mpstat -o XML",
            "pidstat -p x",
            "pidstat -C (",
        ] {
            assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn links_named_iperf_and_iperf3_are_dccp_perf_and_other_names_stay() {
        for line in ["iperf -s", "/usr/bin/iperf3 -c 10.0.0.2 -t 30 -P 4 -J", "iperf3 -v"] {
            let GodwitCommand::Dccp(_) = parse(line).unwrap().command else { panic!("{line}") };
        }
        for line in ["sar -u 1", "/usr/bin/iostat", "godwit cpustat", "mpstat2"] {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            assert_eq!(translate_tool_name(words.clone()), words, "{line}");
        }
    }

    #[test]
    fn the_flags_of_dns_are_understood() {
        for line in [
            "godwit dns load -s 127.0.0.1:53 --rate 1000",
            "godwit dns load -s localhost",
            "dnsperf -s localhost -p 5353 -d x -l 10 -Q 5 -c 2 -T 2 -t 1 -m tcp -n 3 -q 50 -S 1",
            "godwit dns load --server [::1]:53 --rate 0.5 -d - --edns 0 --no-recursion --json -",
            "godwit dns load -s 127.0.0.1:53 --rate 1e5 --dnssec --ports 64 --threads 4 --cpus 0,1 \
             --arrivals poisson --deadline-s 0.5 --max-loss 0.1 --segmentation --timeline-s 1",
            "godwit dns echo",
            "godwit dns echo -l [::1]:53 --threads 2 --busy --seed 3 --drop 5% --duplicate 0.05 \
             --delay 50=1% --rcode servfail=10% --truncate 1% --wrong 1% --malformed 1% --json",
        ] {
            parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
        for line in [
            "godwit dns load --rate 1",
            "godwit dns load -s 127.0.0.1:53 -q 5 -Q 1",
            "godwit dns load -s 127.0.0.1:53 -m doh",
            "godwit dns load -s 127.0.0.1:53 --rate 1 --edns 100",
            "godwit dns load -s 127.0.0.1:53 --rate 1 --arrivals odd",
            "godwit dns load -s 127.0.0.1:53 --rate 1 -d x --query y",
            "godwit dns echo --drop 101%",
            "godwit dns echo --rcode BADVERS",
        ] {
            assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn the_lines_that_the_lab_types_are_understood() {
        let load = "godwit load dhcp4 --server 10.0.0.1:67 --relay 10.0.255.254:67 --rate 1000.000 \
                    --duration 0.5 --clients 100 --client-offset 7 --seed 18446744073709551615 \
                    --deadline-s 2 --drain-s 0 --json /tmp/x --leases /tmp/y --echo";
        parse(load).unwrap();
        let load = "godwit load dhcp6 --server [2001:db8::1]:547 --relay [2001:db8::2]:547 \
                    --link-address 2001:db8:1::1 --ia na+pd --rate 1000.000 --duration 0.5 \
                    --clients 100 --deadline-s 2 --drain-s 0 --quiet-s 1 --json /tmp/x --echo";
        parse(load).unwrap();
        parse("godwit load dhcp6 --direct eth0 --ia pd --rate 1000").unwrap();
        parse("godwit lab limit --listen 10.0.0.1:67").unwrap();
        parse("godwit lab limit --listen [2001:db8::1]:547").unwrap();
        parse("godwit lab limit --listen [ff02::1:2%3]:547").unwrap();
        parse("godwit dhcp4 -c /x/config.json -p 6767 -P 6768").unwrap();
    }
}
