//! Command `godwit keactrl`: starts, stops, reloads and looks at the DHCP servers that Kea's
//! `keactrl.conf` names.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use dhcp_store::regular_file;

use crate::output;

/// Start, stop, reload or show the servers that a keactrl.conf lists, like Kea's keactrl.
///
/// The file selects the servers (`dhcp4_srv`, `dhcp6_srv`, `dhcp_ddns_srv`).
///
/// Exit codes: 0 done, 1 a file is missing or wrong, 2 bad arguments.
#[derive(Debug, clap::Args)]
#[command(disable_version_flag = true, arg_required_else_help = true)]
pub(crate) struct KeactrlArgs {
    /// Action on the servers; needed except with -v and -V
    #[arg(value_enum, required_unless_present_any = ["level", "extended"])]
    action: Option<KeactrlAction>,
    /// Path of the keactrl.conf to read
    #[arg(short = 'c', long = "ctrl-config", value_name = "FILE", default_value = CONFIGURATION)]
    config: PathBuf,
    /// Servers to act on: all, dhcp4, dhcp6, dhcp_ddns
    #[arg(short = 's', long = "server", value_name = "NAME", value_delimiter = ',')]
    #[arg(default_value = "all", value_parser = ["all", "dhcp4", "dhcp6", "dhcp_ddns"])]
    servers: Vec<String>,
    /// Print the compatible version of Kea and exit
    #[arg(short = 'v', long = "version")]
    level: bool,
    /// Print the compatible version of Kea and this program's version, and exit
    #[arg(short = 'V')]
    extended: bool,
    /// Options to pass to each server that is started
    #[arg(last = true, value_name = "SERVER_OPTIONS")]
    options: Vec<String>,
}

/// Path of keactrl.conf in Kea's packages.
const CONFIGURATION: &str = "/etc/kea/keactrl.conf";

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum KeactrlAction {
    Start,
    Stop,
    Reload,
    Status,
    Version,
}

/// DHCP server that `godwit keactrl` controls.
struct KeactrlServer {
    /// Name of the server in keactrl.conf.
    name: &'static str,
    /// Name of the server's program.
    program: &'static str,
    /// Names of the server in the lines that show its state and its configuration file.
    titles: [&'static str; 2],
}

const SERVERS: [KeactrlServer; 3] = [
    KeactrlServer { name: "dhcp4", program: "kea-dhcp4", titles: ["DHCPv4 server", "DHCPv4"] },
    KeactrlServer { name: "dhcp6", program: "kea-dhcp6", titles: ["DHCPv6 server", "DHCPv6"] },
    KeactrlServer {
        name: "dhcp_ddns",
        program: "kea-dhcp-ddns",
        titles: ["DHCP DDNS", "DHCP DDNS"],
    },
];

/// Runs the action on the servers that `args` select, and returns the exit code.
pub(crate) fn run(args: &KeactrlArgs) -> ExitCode {
    let level = dhcp_server::KEA_LEVEL;
    if args.level {
        return output::exit_code(output::print_line(level));
    }
    let action = match args.action {
        Some(action) if !args.extended => action,
        _ => {
            return output::exit_code(output::print_line(format_args!(
                "{level} (godwit {})",
                env!("CARGO_PKG_VERSION")
            )));
        }
    };
    match act(action, args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            // Like Kea's keactrl, print errors to the standard output.
            let _ = output::print_line(format_args!("ERROR/keactrl: {problem}"));
            ExitCode::FAILURE
        }
    }
}

fn act(action: KeactrlAction, args: &KeactrlArgs) -> Result<(), String> {
    let path = args.config.display();
    let text = fs::read_to_string(&args.config)
        .map_err(|_| format!("keactrl configuration file doesn't exist in {path}."))?;
    let settings = read(&text);
    if action == KeactrlAction::Version {
        output::print_line(format_args!("keactrl: {}", dhcp_server::KEA_LEVEL))?;
    }
    if action == KeactrlAction::Status {
        return status(&settings, &args.config);
    }
    for server in SERVERS {
        let is_server = |name: &String| name == "all" || name == server.name;
        let is_on = setting(&settings, server.name)?.eq_ignore_ascii_case("yes");
        // Like Kea, stop and show also servers that are switched off.
        if !args.servers.iter().any(is_server) || action == KeactrlAction::Start && !is_on {
            continue;
        }
        on_server(action, &server, &settings, &args.options)?;
    }
    Ok(())
}

/// Prints the state of each server and the paths of the configuration files.
fn status(settings: &Settings, own: &Path) -> Result<(), String> {
    let mut configs = Vec::new();
    for server in SERVERS {
        let (program, config, pid_file) = files(&server, settings)?;
        let state = if running_pid(&pid_file, program).is_some() { "active" } else { "inactive" };
        output::print_line(format_args!("{}: {state}", server.titles[0]))?;
        configs.push((server.titles[1], config));
    }
    for (title, config) in &configs {
        output::print_line(format_args!("Kea {title} configuration file: {config}"))?;
    }
    output::print_line(format_args!("keactrl configuration file: {}", own.display()))?;
    match configs.iter().find(|(_, config)| !Path::new(config).is_file()) {
        Some((_, config)) => Err(format!("Configuration file for Kea does not exist: {config}.")),
        None => Ok(()),
    }
}

/// Returns the program of a server, its configuration file and its PID file.
fn files<'s>(
    server: &KeactrlServer,
    settings: &'s Settings,
) -> Result<(&'s str, &'s str, PathBuf), String> {
    let program = setting(settings, &format!("{}_srv", server.name))?;
    let config = setting(settings, &format!("kea_{}_config_file", server.name))?;
    let name = Path::new(program).file_name().and_then(OsStr::to_str).unwrap_or(server.program);
    Ok((program, config, pid_file(Path::new(config), name)))
}

fn on_server(
    action: KeactrlAction,
    server: &KeactrlServer,
    settings: &Settings,
    options: &[String],
) -> Result<(), String> {
    let (program, config, pid_file) = files(server, settings)?;
    let (name, pid) = (server.program, running_pid(&pid_file, program));
    match (action, pid) {
        (KeactrlAction::Start, Some(pid)) => {
            let file = pid_file.display();
            output::print_line(format_args!(
                "INFO/keactrl: {name} appears to be running, see: PID {pid}, PID file: {file}."
            ))?;
        }
        (KeactrlAction::Start, None) => {
            let words = words(server, settings, options);
            output::print_line(format_args!(
                "INFO/keactrl: Starting {program} -c {config} {}",
                words.join(" ")
            ))?;
            let mut command = Command::new(program);
            command.arg("-c").arg(config).args(words).stdin(Stdio::null());
            command.spawn().map_err(|cause| format!("cannot start {program}: {cause}"))?;
        }
        (KeactrlAction::Stop | KeactrlAction::Reload, None) => {
            output::print_line(format_args!("INFO/keactrl: {name} isn't running."))?;
        }
        (KeactrlAction::Stop, Some(pid)) => {
            output::print_line(format_args!("INFO/keactrl: Stopping {name}..."))?;
            signal("TERM", pid)?;
        }
        (KeactrlAction::Reload, Some(pid)) => {
            output::print_line(format_args!("INFO/keactrl: Reloading {name}..."))?;
            signal("HUP", pid)?;
        }
        (KeactrlAction::Status | KeactrlAction::Version, _) => {
            let output = Command::new(program).arg("-v").output();
            let version = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
            let version = version.unwrap_or_else(|_| format!("unknown, {program} missing"));
            output::print_line(format_args!("{name}: {}", version.trim_end()))?;
        }
    }
    Ok(())
}

/// Returns the options for the start of `server`: all of the command line, and those of
/// keactrl.conf that the command line does not have.
fn words(server: &KeactrlServer, settings: &Settings, options: &[String]) -> Vec<String> {
    let mut words = options.to_vec();
    let is_verbose = settings.get("kea_verbose").is_some_and(|value| value == "yes");
    if is_verbose && !words.iter().any(|word| word == "-d") {
        words.insert(0, "-d".to_owned());
    }
    let own = settings.get(&format!("{}_cli_options", server.name)).cloned().unwrap_or_default();
    for word in own.split_whitespace() {
        if !words.iter().any(|other| other == word) {
            words.push(word.to_owned());
        }
    }
    words
}

/// Returns the path of the PID file of the server `name` with the configuration `config`.
fn pid_file(config: &Path, name: &str) -> PathBuf {
    let folder = std::env::var_os("KEA_PIDFILE_DIR").unwrap_or_else(|| "/run/kea".into());
    let stem = config.file_stem().and_then(OsStr::to_str).unwrap_or_default();
    Path::new(&folder).join(format!("{stem}.{name}.pid"))
}

/// Returns the identifier of the process that `pid_file` names, if it runs. After a crash another
/// program may have that number and must not get signals, so the process must be called `program`
/// or have the name of this program.
fn running_pid(pid_file: &Path, program: &str) -> Option<u32> {
    let pid = regular_file::read_text(pid_file).ok()?.trim().parse::<u32>().ok()?;
    let command = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    let own = std::env::current_exe().unwrap_or_default();
    let names = [Path::new(program).file_name(), own.file_name()];
    names.into_iter().flatten().any(|name| is_command(command.trim_end(), name)).then_some(pid)
}

/// Returns true if `command` is `name` as the kernel stores a process's name, cut after 15 bytes
/// (proc_pid_comm(5)).
fn is_command(command: &str, name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    command.as_bytes() == &name[..name.len().min(15)]
}

fn signal(name: &str, pid: u32) -> Result<(), String> {
    let sent = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status();
    if sent.is_ok_and(|status| status.success()) {
        Ok(())
    } else {
        Err(format!("could not send signal {name} to process {pid}."))
    }
}

/// Variables of a keactrl.conf: name to value.
type Settings = BTreeMap<String, String>;

/// Reads the assignments of a keactrl.conf, which the shell reads for Kea. Values may have quotes.
/// `$name` and `${name}` in them are replaced by the values of earlier variables.
fn read(text: &str) -> Settings {
    let mut settings = Settings::new();
    for line in text.lines() {
        let Some((name, value)) = line.trim().split_once('=') else { continue };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            continue;
        }
        let value = match (value.strip_prefix('\''), value.strip_prefix('"')) {
            (Some(plain), _) => plain.split('\'').next().unwrap_or_default().to_owned(),
            (_, Some(quoted)) => expanded(quoted.split('"').next().unwrap_or_default(), &settings),
            _ => expanded(value.split_whitespace().next().unwrap_or_default(), &settings),
        };
        settings.insert(name.to_owned(), value);
    }
    settings
}

fn expanded(value: &str, settings: &Settings) -> String {
    let mut parts = value.split('$');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, rest) = match part.strip_prefix('{').and_then(|part| part.split_once('}')) {
            Some(name_and_rest) => name_and_rest,
            None => part.split_at(part.find(|c| !is_name(c)).unwrap_or(part.len())),
        };
        text += settings.get(name).map_or("", String::as_str);
        text += rest;
    }
    text
}

fn setting<'s>(settings: &'s Settings, name: &str) -> Result<&'s str, String> {
    settings.get(name).map(String::as_str).ok_or_else(|| format!("{name} parameter not specified"))
}

#[cfg(test)]
mod tests {
    use testkit::TempFolder;

    use super::*;

    #[test]
    fn a_number_of_another_program_is_no_server() {
        let folder = TempFolder::new("keactrl");
        let file = folder.path().join("pid");
        let own = std::env::current_exe().unwrap();
        let number = std::process::id();
        for (text, program, expected) in [
            (number.to_string(), own.to_str().unwrap(), Some(number)),
            ("1".to_owned(), "/usr/sbin/kea-dhcp4", None),
            ("0".to_owned(), "kea-dhcp4", None),
            ("-1".to_owned(), "kea-dhcp4", None),
            (String::new(), "kea-dhcp4", None),
        ] {
            fs::write(&file, &text).unwrap();
            assert_eq!(running_pid(&file, program), expected, "{text}");
        }
        fs::remove_file(&file).unwrap();
        assert_eq!(running_pid(&file, "kea-dhcp4"), None);
        assert!(is_command("kea-dhcp4", OsStr::new("kea-dhcp4")));
        assert!(is_command("a-server-with-a", OsStr::new("a-server-with-a-name")));
        assert!(!is_command("kea-dhcp4", OsStr::new("kea-dhcp6")));
    }

    #[test]
    fn the_file_is_read_as_the_shell_reads_it() {
        let settings = read(
            "# comment=1\nprefix=\"/usr\"\nexec_prefix=${prefix}\n  dhcp4_srv=\"$exec_prefix/sbin/kea-dhcp4\" # x\n\
             dhcp4=yes # and\nname='$prefix'x\nodd name=1\ndhcp4_cli_options=\"-X -d\"\nkea_verbose=no\n",
        );
        assert_eq!(settings["dhcp4_srv"], "/usr/sbin/kea-dhcp4");
        assert_eq!((&*settings["dhcp4"], &*settings["name"]), ("yes", "$prefix"));
        assert!(!settings.contains_key("odd name") && !settings.contains_key("# comment"));
        let options = ["-d".to_owned(), "-F".to_owned()];
        assert_eq!(words(&SERVERS[0], &settings, &options), ["-d", "-F", "-X"]);
    }
}
