//! Tests of `godwit lab` as a user sees it: messages, exit codes, and leftovers (none).

mod dns;
mod exhaustion;
mod features;
mod other_load;
mod profile;
mod queues;
mod regression;
mod target;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::common::{TempFolder, waited_until};
use crate::schema;
use testbed::command::find_program;
use testbed::{DatabaseEngine, namespace, registry};

const GODWIT: &str = env!("CARGO_BIN_EXE_godwit");

/// Folder of one test, with the plans that it uses.
struct LabTestFolder(TempFolder);

impl LabTestFolder {
    fn new(name: &str) -> Self {
        // Some servers and commands run as another user.
        let folder = TempFolder::open_to_others(name);
        std::fs::create_dir(folder.path().join("plans")).expect("a folder");
        let test_folder = Self(folder);
        test_folder.plan("tiny", "");
        test_folder
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a plan that any server meets and that ends soon; its budget is for a machine with
    /// much other load.
    fn plan(&self, name: &str, more: &str) {
        let text = format!(
            "name = \"{name}\"\ntitle = \"Test\"\ntopology = \"loopback\"\ntime_budget_s = 3000.0\n{more}\n\
             [search]\nstart_per_s = 200.0\nmax_per_s = 400.0\ndwell_s = 0.2\nconfirm_dwell_s = 0.2\n\
             [blocks]\nrounds = 1\ndwell_s = 0.0\n[curve]\nfractions = [0.5]\ndwell_s = 0.2\n"
        );
        std::fs::write(self.path().join(format!("plans/{name}.toml")), text).expect("a file");
    }

    /// Adds tables to a plan of stores, whose servers and machine may be slow.
    fn more(&self, name: &str, tables: &str) {
        let path = self.path().join(format!("plans/{name}.toml"));
        let text = std::fs::read_to_string(&path).expect("the plan");
        // A process that stood still for seconds answers all waiting queries afterwards.
        let text = text.replace("[search]", "[search]\nloss_percent = 99.0\ndeadline_s = 60.0");
        // A run does the same with each store at any rate.
        let text =
            text.replace("_per_s = 200.0\nmax_per_s = 400.0", "_per_s = 50.0\nmax_per_s = 100.0");
        let void = "[void]\nlate_sends_percent = 100.0\nsocket_drops_percent = 100.0\n\
                    softnet_drops_percent = 100.0\nsteal_percent = 100.0\n";
        std::fs::write(&path, format!("{text}{tables}{void}")).expect("the plan");
    }

    /// Replaces the text `old` by `new` in the plan `name`.
    fn change(&self, name: &str, old: &str, new: &str) {
        let path = self.path().join(format!("plans/{name}.toml"));
        let text = std::fs::read_to_string(&path).expect("the plan");
        assert!(text.contains(old), "{text}");
        std::fs::write(&path, text.replace(old, new)).expect("the plan");
    }

    fn godwit(&self, words: &[&str]) -> Command {
        let mut command = Command::new(GODWIT);
        command.args(words).current_dir(self.path()).stdin(Stdio::null());
        command
    }

    /// Runs the lab to its end; the timeout only ends a broken build.
    fn lab(&self, words: &[&str]) -> Output {
        self.lab_by(Command::new("env"), words)
    }

    /// Runs the lab by `wrapper` to its end.
    fn lab_by(&self, mut wrapper: Command, words: &[&str]) -> Output {
        wrapper.args(["timeout", "-k", "10", "3600", GODWIT, "lab"]).args(words);
        // Databases of a run have their folders here.
        wrapper.env("TMPDIR", self.path());
        wrapper.current_dir(self.path()).stdin(Stdio::null()).output().expect("it starts")
    }

    /// Returns the result folders, finished or not.
    fn results(&self) -> Vec<PathBuf> {
        let entries =
            std::fs::read_dir(self.path().join("results")).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    }
}

fn output_text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the one sentence of a failed run, after checking its exit code and that nothing is left.
fn refused(test_folder: &LabTestFolder, words: &[&str], code: i32) -> String {
    let output = test_folder.lab(words);
    let output_text = output_text(&output);
    assert_eq!(output.status.code(), Some(code), "{words:?}: {output_text}");
    assert_eq!(test_folder.results(), Vec::<PathBuf>::new(), "{words:?}");
    assert!(
        output_text.lines().last().is_some_and(|line| line.starts_with("error: ")),
        "{output_text}"
    );
    output_text
}

/// Returns true if the tests that need root can run; prints why not otherwise.
fn is_root() -> bool {
    let able = registry::user_id() == 0 && find_program("ip").is_some();
    able || testkit::skip("needs root and ip (package iproute2)")
}

fn namespaces_of(pid: u32) -> Vec<String> {
    namespace::list().into_iter().filter(|name| namespace::owner(name) == Some(pid)).collect()
}

/// Returns the processes whose command line contains `folder` or a path in it.
fn processes_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").expect("proc is mounted").flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| {
            // The name of another folder may begin with this one.
            let goes_on = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphanumeric());
            line.split(&*folder.to_string_lossy()).skip(1).any(|rest| !goes_on(rest))
        })
        .collect()
}

/// Waits until `holds` returns true, for a state that the machine reaches by itself; the limit only
/// ends a broken test.
fn until(what: &str, holds: impl FnMut() -> bool) {
    assert!(waited_until(holds), "never came about: {what}");
}

/// Checks that no process that concerns `folder` runs any more. A killed process may take a moment
/// to end.
pub(crate) fn nothing_runs_in(folder: &Path) {
    let is_gone = waited_until(|| processes_in(folder).is_empty());
    assert!(is_gone, "{:?}", processes_in(folder));
}

#[test]
fn bad_arguments_and_plans_are_refused_in_words() {
    let test_folder = LabTestFolder::new("bad");
    assert!(
        refused(&test_folder, &["run", "no-such-plan"], 2).contains("`godwit lab plans` lists all")
    );
    assert!(refused(&test_folder, &["run", "dhcp4-qick"], 2).contains("dhcp4-quick"));
    assert!(refused(&test_folder, &["run", "x/none.toml"], 2).contains("x/none.toml"));
    test_folder.plan("wrong", "time_budget = 3\nseed = -1");
    let text = refused_plan(&test_folder, "wrong");
    assert!(text.contains("plans/wrong.toml:5:") && text.contains("plans/wrong.toml:6:"), "{text}");
    let unknown = refused(&test_folder, &["run", "tiny", "--server", "bind"], 2);
    assert!(unknown.contains("bind serves DNS, which this plan does not measure"), "{unknown}");
    let unknown = refused(&test_folder, &["run", "tiny", "--server", "nobody"], 2);
    assert!(unknown.contains("no server is called nobody"), "{unknown}");
    assert!(refused(&test_folder, &["run", "tiny", "--server", "kea,kea"], 2).contains("twice"));
    let template = ["run", "tiny", "--server-command", "sh {nonsense}"];
    assert!(refused(&test_folder, &template, 2).contains("{nonsense} is not known"));
    assert!(refused(&test_folder, &["report", "nowhere"], 2).contains("nowhere"));
    let output = test_folder.lab(&["run"]);
    assert_eq!(output.status.code(), Some(2));
}

/// Runs a bad plan. Problems of plans have first words of their own, so it checks only exit code
/// and leftovers.
fn refused_plan(test_folder: &LabTestFolder, plan: &str) -> String {
    let output = test_folder.lab(&["run", plan]);
    assert_eq!((output.status.code(), test_folder.results().len()), (Some(2), 0));
    output_text(&output)
}

#[test]
fn missing_programs_and_servers_that_fail_are_named() {
    let test_folder = LabTestFolder::new("missing");
    let missing = ["run", "tiny", "--server-command", "godwit-no-such-server {config}"];
    assert!(refused(&test_folder, &missing, 1).contains("godwit-no-such-server: not found"));
    let failing = ["run", "tiny", "--server-command", "sh -c 'echo the reason >&2; exit 7'"];
    let text = refused(&test_folder, &failing, 1);
    assert!(text.contains("command did not start: exited with code 7: the reason"), "{text}");
    let output = test_folder.lab(&["limit", "--listen", "127.0.0.1:70000"]);
    assert_eq!(output.status.code(), Some(2));
    let taken = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let output = test_folder.lab(&["limit", "--listen", &address]);
    let text = output_text(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains(&address) && text.to_lowercase().contains("in use"), "{text}");
}

#[test]
fn a_run_leaves_records_summary_and_report_and_can_be_judged_again() {
    let test_folder = LabTestFolder::new("run");
    // The responder instead of a server: its answers are no leases, so the service falls short.
    let responder = format!("{GODWIT} lab limit --listen {{address}}:{{port}}");
    let output = test_folder.lab(&["run", "tiny", "--json", "--server-command", &responder]);
    assert_eq!(output.status.code(), Some(3), "{}", output_text(&output));
    assert!(
        output_text(&output).contains("command: no rate could be confirmed"),
        "{}",
        output_text(&output)
    );
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON only");
    assert_eq!(summary["schema"], "godwit.summary.v1");
    assert_eq!(summary["environment"]["topology"], "loopback");
    let results = test_folder.results();
    assert_eq!(results.len(), 1);
    for name in ["run.json", "summary.json", "report.html", "leases.json", "trials", "servers"] {
        assert!(results[0].join(name).exists(), "{name}");
    }
    for file in summary["files"].as_array().expect("a list") {
        let path = results[0].join(file.as_str().expect("a path"));
        assert!(path.exists(), "{}", path.display());
    }
    schema::check_run(&results[0]);
    for (name, words) in [("stored", &["list"][..]), ("trend", &["trend", "tiny"])] {
        let output = test_folder.lab(&[words, &["--json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
        schema::check_document(name, &serde_json::from_slice(&output.stdout).expect("JSON only"));
    }
    std::fs::remove_file(results[0].join("report.html")).expect("it was there");
    let again = test_folder.lab(&["report", "--json", &results[0].to_string_lossy()]);
    assert_eq!(again.status.code(), Some(0), "{}", output_text(&again));
    let again: serde_json::Value = serde_json::from_slice(&again.stdout).expect("JSON only");
    assert_eq!(again, summary);
    assert!(results[0].join("report.html").exists());
    nothing_runs_in(test_folder.path());
}

#[test]
fn servers_that_take_a_whole_interface_have_one_or_are_refused() {
    let test_folder = LabTestFolder::new("whole");
    for (server, program) in [("isc-dhcpd", "dhcpd"), ("dnsmasq", "dnsmasq")] {
        if find_program(program).is_none() {
            testkit::skip(format_args!("{program} is not installed"));
            continue;
        }
        let output_text = refused(&test_folder, &["run", "tiny", "--server", server], 1);
        assert!(output_text.contains("cannot be measured on loopback"), "{output_text}");
    }
    if !is_root() || ["dhcpd", "dnsmasq"].iter().any(|name| find_program(name).is_none()) {
        return;
    }
    let words = ["run", "tiny", "--topology", "veth", "--server", "isc-dhcpd,godwit,dnsmasq"];
    let output = test_folder.lab(&words);
    // The number of colliding clients of dnsmasq is not part of this test.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", output_text(&output));
    let folder = &test_folder.results()[0];
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a record");
    let leases: serde_json::Value = serde_json::from_str(&read("leases.json")).expect("JSON");
    let leases = leases.as_array().expect("a list");
    assert_eq!(leases.len(), 4, "Godwit stands there with two durabilities");
    for verified in leases {
        assert!(verified["given"].as_u64() > Some(0), "{verified}");
        assert_eq!(verified["given"], verified["found"], "{verified}");
    }
    let is_grouped = |trial: &str| {
        let load: serde_json::Value = serde_json::from_str(&read(trial)).expect("JSON");
        load["settings"]["segmentation"] != "off"
    };
    assert!(!is_grouped("trials/000-isc-dhcpd-pool-of-16-384/load.json"));
    assert!(is_grouped("trials/001-godwit-none-durability-none/load.json"));
    let run = read("run.json");
    assert!(run.contains("isc-dhcpd (pool of 16,384) reads raw frames"));
    assert!(run.contains("isc-dhcpd is measured with a pool of 16,384 instead of 262,144"));
    assert!(run.contains("dnsmasq is measured with 1,000 clients"));
    let trial: serde_json::Value =
        serde_json::from_str(&read("trials/000-isc-dhcpd-pool-of-16-384/trial.json"))
            .expect("JSON");
    assert_eq!(trial["rate_per_s"], 60.0, "slow servers are not met with the plan's first rate");
    assert!(trial["wait_s"].as_f64() > Some(0.0), "it was asked before whether it answers");
    nothing_runs_in(test_folder.path());
}

#[test]
fn servers_of_dhcpv6_are_measured_and_all_leases_are_in_their_files() {
    let programs = ["kea-dhcp6", "dhcpd", "dnsmasq"];
    if !is_root() || programs.iter().any(|name| find_program(name).is_none()) {
        testkit::skip("needs root, kea-dhcp6, dhcpd and dnsmasq");
        return;
    }
    let test_folder = LabTestFolder::new("six");
    test_folder.plan("six", "protocol = \"dhcp6\"");
    let runs: [(&[&str], &[&str]); 2] = [
        (&["--topology", "veth", "--server", "kea,isc-dhcpd,dnsmasq"], &["kea", "isc", "dnsmasq"]),
        (&["--topology", "loopback", "--server", "kea"], &["kea"]),
    ];
    for (words, servers) in runs {
        let all = [&["run", "six", "--results", words[1]], words].concat();
        let output = test_folder.lab(&all);
        // The speed of a server on this machine is not part of this test.
        assert!(matches!(output.status.code(), Some(0 | 3)), "{}", output_text(&output));
        let mut entries = std::fs::read_dir(test_folder.path().join(words[1])).expect("a folder");
        let folder = entries.next().expect("a result").expect("an entry").path();
        let leases = std::fs::read_to_string(folder.join("leases.json")).expect("a record");
        let leases: serde_json::Value = serde_json::from_str(&leases).expect("JSON");
        for server in servers {
            let of = |v: &&serde_json::Value| {
                v["server"].as_str().is_some_and(|name| name.starts_with(server))
            };
            let verified = leases.as_array().and_then(|all| all.iter().find(of)).expect(server);
            assert!(verified["given"].as_u64() > Some(0), "{verified}");
            assert_eq!(verified["given"], verified["found"], "{verified}");
            assert_eq!(verified["shared"], 0, "{verified}");
        }
    }
    nothing_runs_in(test_folder.path());
}

/// Returns true if Kea and both databases are installed; prints why not otherwise.
fn has_stores() -> bool {
    let missing: Vec<String> =
        DatabaseEngine::ALL.into_iter().filter_map(DatabaseEngine::missing).collect();
    let able = missing.is_empty() && find_program("kea-dhcp4").is_some();
    able || testkit::skip(format_args!("needs kea-dhcp4 and databases: {missing:?}"))
}

/// Returns the contents of `leases.json` of the only result: leases given and found per server.
fn verified(test_folder: &LabTestFolder) -> Vec<(String, u64, u64)> {
    let text =
        std::fs::read_to_string(test_folder.results()[0].join("leases.json")).expect("a record");
    let leases: Vec<serde_json::Value> = serde_json::from_str(&text).expect("JSON");
    let count = |of: &serde_json::Value| of.as_u64().expect("a count");
    let each = |v: &serde_json::Value| {
        assert_eq!(v["shared"], 0, "{v}");
        let server = v["server"].as_str().expect("a name").to_owned();
        (server, count(&v["given"]), count(&v["found"]))
    };
    leases.iter().map(each).collect()
}

#[test]
fn kea_on_databases_is_measured_and_all_leases_are_found_there() {
    if !has_stores() {
        return;
    }
    let test_folder = LabTestFolder::new("stores");
    let stores =
        "[server]\nstores = [\"mysql\", \"postgresql\"]\nsharing = [\"open\", \"two-servers\"]\n";
    test_folder.plan("stores", "");
    test_folder.more("stores", stores);
    let output = test_folder.lab(&["run", "stores", "--json", "--server", "kea"]);
    // The speed of a server on this machine is not part of this test.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", output_text(&output));
    let leases = verified(&test_folder);
    assert_eq!(leases.len(), 8, "both ways of running, both stores, alone and two: {leases:?}");
    for (server, given, found) in &leases {
        assert!(*given > 0 && given == found, "{server}: {found} of {given}");
        assert!(server.starts_with("kea-mysql") || server.starts_with("kea-postgresql"));
    }
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON only");
    let flushes = summary["flushes"].as_array().expect("a list");
    assert!(flushes.iter().all(|flush| flush["median_us"].as_f64() > Some(0.0)), "{flushes:?}");
    assert!(!flushes.is_empty());
    let trial = &test_folder.results()[0].join("trials/000-kea-mysql-single-threaded/trial.json");
    let trial = std::fs::read_to_string(trial).expect("a record");
    let trial: serde_json::Value = serde_json::from_str(&trial).expect("JSON");
    assert!(trial["flush_us"].as_f64() > Some(0.0), "{trial}");
    for ratio in summary["ratios"].as_array().expect("a list") {
        let store = |name: &str| ratio[name].as_str().expect("a name").contains("mysql");
        assert_eq!(store("server"), store("to"), "{ratio}");
    }
    nothing_runs_in(test_folder.path());
}

#[test]
fn godwit_is_measured_on_every_store_and_its_databases_are_ended_under_load() {
    if !has_stores() {
        return;
    }
    let test_folder = LabTestFolder::new("every");
    test_folder.plan("every", "");
    let stores = "[server]\nstores = [\"memfile\", \"sqlite\", \"mysql\", \"postgresql\"]\n\
                  sharing = [\"exclusive\", \"two-servers\"]\ndurability = [\"always\"]\n\
                  [restart]\ndatabase = \"both\"\ndwell_s = 3.0\nat_s = 1.0\n";
    test_folder.more("every", stores);
    // What is lost while a database is away is waited for until its deadline.
    test_folder.change("every", "deadline_s = 60.0", "deadline_s = 10.0");
    let output = test_folder.lab(&["run", "every", "--json"]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", output_text(&output));
    let servers: Vec<String> = verified(&test_folder)
        .into_iter()
        .map(|(server, given, found)| {
            assert!(given > 0 && given == found, "{server}: {found} of {given}");
            server
        })
        .collect();
    assert_eq!(
        servers,
        [
            "godwit-memfile (durability always)",
            "godwit-sqlite (durability always)",
            "godwit-mysql-exclusive",
            "godwit-mysql-two-servers",
            "godwit-postgresql-exclusive",
            "godwit-postgresql-two-servers",
        ]
    );
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON only");
    let restarts = summary["restarts"].as_array().expect("a list");
    assert_eq!(restarts.len(), 8, "every line on a database, stopped and killed: {restarts:?}");
    for restart in restarts {
        assert_eq!((&restart["wrong"], &restart["answered_again"]), (&0.into(), &0.into()));
        let at = |name: &str| restart["restart"][name].as_f64().expect("a time");
        assert!(at("ended_at_s") < at("started_at_s"), "{restart}");
        assert!(at("started_at_s") < at("answered_at_s"), "{restart}");
        assert!(restart["due"].as_u64() > Some(0), "{restart}");
    }
    let report =
        std::fs::read_to_string(test_folder.results()[0].join("report.html")).expect("a page");
    assert!(report.contains("godwit-mysql-exclusive: database killed and started again"));
    nothing_runs_in(test_folder.path());
}

#[test]
fn plans_and_peers_are_listed() {
    let test_folder = LabTestFolder::new("lists");
    let output = test_folder.lab(&["plans"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("dhcp4-quick") && text.contains("tiny"), "{text}");
    let output = test_folder.lab(&["peers", "--json"]);
    let peers: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let peers = peers["peers"].as_array().expect("a list");
    for (name, package) in
        [("kea", "kea-dhcp4-server"), ("isc-dhcpd", "isc-dhcp-server"), ("dnsmasq", "dnsmasq-base")]
    {
        let peer = peers.iter().find(|p| p["name"] == name).expect(name);
        assert_eq!((&peer["package"], &peer["driven"]), (&package.into(), &true.into()));
    }
}

/// Starts a run whose server never answers, in namespaces, and waits until the run waits for the
/// server.
fn waiting_run(test_folder: &LabTestFolder) -> std::process::Child {
    test_folder.plan("veth", "");
    let words = ["lab", "run", "veth", "--topology", "veth", "--server-command", "sleep 1000.5"];
    let child = test_folder.godwit(&words).stderr(Stdio::null()).spawn().expect("godwit starts");
    until("the server of the run", || {
        std::fs::read_dir(test_folder.path().join("results")).is_ok_and(|mut entries| {
            entries.any(|e| e.is_ok_and(|e| e.path().join("servers/command/server.err").exists()))
        })
    });
    child
}

#[test]
fn an_interrupt_leaves_nothing() {
    if !is_root() {
        return;
    }
    let test_folder = LabTestFolder::new("interrupt");
    let mut child = waiting_run(&test_folder);
    assert_eq!(namespaces_of(child.id()).len(), 2);
    interrupt_impatiently(child.id());
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(130));
    assert_eq!(namespaces_of(child.id()), Vec::<String>::new());
    assert_eq!(test_folder.results(), Vec::<PathBuf>::new());
    assert!(!Path::new(&format!("/run/godwit/{}.run", child.id())).exists());
}

/// Sends SIGINT to the process several times within a millisecond, as an impatient user does by
/// Ctrl-C.
fn interrupt_impatiently(pid: u32) {
    let kill = format!("for n in 1 2 3 4 5 6; do kill -s INT {pid}; done 2>/dev/null");
    Command::new("sh").args(["-c", &kill]).status().expect("sh");
}

#[test]
fn an_interrupt_in_the_middle_of_a_trial_leaves_nothing() {
    if !is_root() {
        return;
    }
    let test_folder = LabTestFolder::new("middle");
    // Once a rate was met, a trial follows that lasts as long as this test may take to interrupt
    // it.
    test_folder.plan("middle", "servers = [\"godwit\"]");
    test_folder.more("middle", "[server]\ndurability = [\"none\"]\n");
    test_folder.change("middle", "confirm_dwell_s = 0.2", "confirm_dwell_s = 3600.0");
    test_folder.change("middle", "time_budget_s = 3000.0", "time_budget_s = 80000.0");
    test_folder.change("middle", "\"loopback\"", "\"veth\"");
    let mut command = test_folder.godwit(&["lab", "run", "middle", "--ignore-load"]);
    let mut child = command.stderr(Stdio::piped()).spawn().expect("godwit starts");
    let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    let line = lines.next().expect("a line").expect("text");
    let is_announced = line.contains(" at most, for 2 configurations: godwit");
    assert!(line.starts_with("about ") && is_announced, "{line}");
    // The next line appears when a trial has ended, and the next trial begins at once.
    let line = lines.next().expect("a line").expect("text");
    assert!(line.contains("search") && line.contains(" left] round 1 of 1, "), "{line}");
    interrupt_impatiently(child.id());
    let output_lines: Vec<String> = lines.map(|line| line.expect("text")).collect();
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(130), "{output_lines:?}");
    assert_eq!(namespaces_of(child.id()), Vec::<String>::new());
    assert_eq!(test_folder.results(), Vec::<PathBuf>::new());
    assert!(!Path::new(&format!("/run/godwit/{}.run", child.id())).exists());
}

#[test]
fn an_interrupted_suite_ends_with_130_and_leaves_nothing() {
    let test_folder = LabTestFolder::new("suite-interrupt");
    // Trials that last as long as this test may take to interrupt them.
    for (name, more) in [("four", "protocol = \"dhcp4\""), ("six", "protocol = \"dhcp6\"")] {
        test_folder.plan(name, more);
        test_folder.change(name, "dwell_s = 0.2", "dwell_s = 3600.0");
        test_folder.change(name, "time_budget_s = 3000.0", "time_budget_s = 80000.0");
    }
    let suite = "name = \"two\"\ntitle = \"Two\"\n[[part]]\nplan = \"four\"\n\
                 quick_time_budget_s = 8.0\n[[part]]\nplan = \"six\"\n\
                 quick_time_budget_s = 8.0\n";
    std::fs::write(test_folder.path().join("plans/two.toml"), suite)
        .expect("the folder can be written");
    let mut command = test_folder.godwit(&["lab", "run", "two", "--topology", "loopback"]);
    let mut child = command.stderr(Stdio::piped()).spawn().expect("godwit starts");
    let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    let line = lines.next().expect("a line").expect("text");
    assert!(line.starts_with("about ") && line.ends_with(" for 2 plans"), "{line}");
    let line = lines.next().expect("a line").expect("text");
    assert!(line.starts_with("plan four (1 of 2), ") && line.ends_with(" left"), "{line}");
    interrupt_impatiently(child.id());
    let output_lines: Vec<String> = lines.map(|line| line.expect("text")).collect();
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(130), "{output_lines:?}");
    let told = output_lines.iter().filter(|line| line.contains("interrupted")).count();
    assert_eq!(told, 1, "{output_lines:?}");
    assert_eq!(test_folder.results(), Vec::<PathBuf>::new());
}

#[test]
fn what_a_killed_run_left_is_cleaned() {
    if !is_root() {
        return;
    }
    let test_folder = LabTestFolder::new("killed");
    let mut child = waiting_run(&test_folder);
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert_eq!(namespaces_of(child.id()).len(), 2);
    let output = test_folder.lab(&["clean"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}");
    for name in ["s", "c"] {
        assert!(text.contains(&format!("gwt{:x}{name}", child.id())), "{text}");
    }
    assert_eq!(namespaces_of(child.id()), Vec::<String>::new());
    assert_eq!(test_folder.results(), Vec::<PathBuf>::new());
}

#[test]
fn without_permission_namespaces_are_refused_and_loopback_is_taken() {
    if !is_root() {
        return;
    }
    let test_folder = LabTestFolder::new("nobody");
    test_folder.plan("auto", "");
    let auto = test_folder.path().join("plans/auto.toml");
    let text = std::fs::read_to_string(&auto).expect("the plan");
    std::fs::write(&auto, text.replace("\"loopback\"", "\"auto\"")).expect("the plan");
    // The user `nobody` must reach the binary and its own folder.
    let binary = test_folder.path().join("godwit");
    std::fs::copy(GODWIT, &binary).expect("a copy");
    let as_nobody = |words: &[&str]| {
        let own = ["--reuid=65534", "--regid=65534", "--clear-groups"];
        let mut command = Command::new("timeout");
        command
            .args(["-k", "10", "3600", "setpriv"])
            .args(own)
            .arg(&binary)
            .args(words)
            .current_dir(test_folder.path());
        command.env_remove("XDG_RUNTIME_DIR").output().expect("setpriv starts")
    };
    let output = as_nobody(&["lab", "run", "auto"]);
    assert_eq!(output.status.code(), Some(1), "{}", output_text(&output));
    assert!(
        output_text(&output).contains("cannot create the folder results"),
        "{}",
        output_text(&output)
    );
    let free = test_folder.path().join("free");
    std::fs::create_dir(&free).expect("a folder");
    std::os::unix::fs::chown(&free, Some(65534), Some(65534)).expect("root may");
    let output = as_nobody(&["lab", "run", "auto", "--topology", "veth", "--results", "free"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output_text(&output).contains("no permission to build network namespaces"));
    let responder = format!("{} lab limit --listen {{address}}:{{port}}", binary.display());
    let words = ["lab", "run", "auto", "--results", "free", "--server-command", &responder];
    let output = as_nobody(&words);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(3), "{}", output_text(&output));
    assert!(text.contains("network namespaces need root"), "{text}");
    let _ = std::fs::remove_dir_all(std::env::temp_dir().join("godwit-65534"));
}
