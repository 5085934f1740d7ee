//! Tests of profiles of the built-in echo by this machine's perf, and the messages without perf.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use testbed::command::find_program;

use super::{GODWIT, LabTestFolder, nothing_runs_in, output_text};

/// Plan with a rate high enough for samples, which any machine meets because almost everything may
/// be lost.
const PLAN: &str = "name = \"dns\"\ntitle = \"Test\"\nprotocol = \"dns\"\nservers = [\"echo\"]\n\
    topology = \"loopback\"\ntime_budget_s = 3000.0\n\
    [search]\nloss_percent = 100.0\nstart_per_s = 20000.0\nmax_per_s = 40000.0\ndwell_s = 0.2\n\
    confirm_dwell_s = 0.2\n[blocks]\nrounds = 1\ndwell_s = 0.0\n[curve]\nfractions = []\n\
    [profile]\nfractions = [0.25, 1.0]\nseconds = 2.0\n\
    [void]\nlate_sends_percent = 100.0\nsocket_drops_percent = 100.0\n\
    softnet_drops_percent = 100.0\nsteal_percent = 100.0\n";

fn test_folder(name: &str) -> LabTestFolder {
    let test_folder = LabTestFolder::new(name);
    std::fs::write(test_folder.path().join("plans/dns.toml"), PLAN).expect("the plan");
    test_folder
}

/// Returns a folder with the programs that the lab starts. It has no perf, or the script `perf` in
/// place of it.
fn tools(test_folder: &LabTestFolder, perf: Option<&str>) -> String {
    let folder = test_folder.path().join("tools");
    std::fs::create_dir_all(&folder).expect("a folder");
    for name in ["sh", "setpriv", "taskset", "kill", "ip", "nice"] {
        if let Some(path) = find_program(name) {
            symlink(path, folder.join(name)).expect("a link");
        }
    }
    if let Some(text) = perf {
        let path = folder.join("perf");
        std::fs::write(&path, text).expect("a program");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("its mode");
    }
    folder.to_string_lossy().into_owned()
}

fn run_with(test_folder: &LabTestFolder, path: &str) -> Output {
    let mut command = test_folder.godwit(&["lab", "run", "dns", "--json"]);
    command.env("PATH", path).output().expect("godwit starts")
}

fn summary(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", output_text(output));
    serde_json::from_slice(&output.stdout).expect("JSON only")
}

/// Returns the sentences about profiles that could not be taken.
fn notes(summary: &Value) -> Vec<&str> {
    let all = summary["warnings"].as_array().expect("a list").iter().filter_map(Value::as_str);
    all.filter(|words| words.starts_with("Nothing was profiled")).collect()
}

/// Returns true if this machine lets perf profile the user's own processes; otherwise
/// `output_text`, the lab's output, must have the reason.
fn works(output_text: &str) -> bool {
    let is_missing = find_program("perf").is_none();
    let reasons =
        ["it is in Debian's package linux-perf", "the setting kernel.perf_event_paranoid"];
    if !is_missing && !output_text.contains(reasons[1]) {
        return true;
    }
    assert!(output_text.contains(reasons[usize::from(!is_missing)]), "{output_text}");
    testkit::skip(output_text)
}

#[test]
fn the_echo_is_profiled_at_two_rates() {
    let test_folder = test_folder("profile");
    let summary = summary(&test_folder.lab(&["run", "dns", "--json"]));
    if !works(&notes(&summary).concat()) {
        return;
    }
    assert_eq!(notes(&summary), Vec::<&str>::new());
    let profiles = summary["profiles"].as_array().expect("a list");
    assert_eq!(profiles.len(), 2, "{}", summary["warnings"]);
    let rate = |at: usize| profiles[at]["offered_per_s"].as_f64().expect("a rate");
    assert!((rate(1) / rate(0) - 4.0).abs() < 0.01, "{} and {}", rate(0), rate(1));
    for of in profiles {
        let profile = &of["profile"];
        assert_eq!((&of["server"], &profile["call_graph"]), (&"echo".into(), &"dwarf".into()));
        let samples = profile["samples"].as_u64().expect("a count");
        let seconds = profile["seconds"].as_f64().expect("a time");
        assert!(samples > 0 && seconds > 1.5, "{samples} in {seconds} s");
        let names = profile["stacks"]["functions"].to_string();
        assert!(names.contains("netio::responder"), "our own names are resolved: {names}");
        assert!(!profile["event"].as_str().expect("a name").is_empty());
    }
    let trials = summary["trials"].as_array().expect("a list");
    assert_eq!(trials.iter().filter(|trial| trial["purpose"] == "profile").count(), 2);
    let folder = &test_folder.results()[0];
    let page = std::fs::read_to_string(folder.join("report.html")).expect("a page");
    assert_eq!(page.matches("<section class=\"profile\"").count(), 2);
    assert!(page.contains("netio::responder") && page.contains("flame-search"));
    assert_eq!(left_over(&folder.join("trials")), Vec::<String>::new());
    nothing_runs_in(test_folder.path());
}

/// Returns the names of perf's raw files that still exist below `trials`.
fn left_over(trials: &Path) -> Vec<String> {
    let folders = std::fs::read_dir(trials).expect("trials").flatten();
    let files =
        folders.flat_map(|folder| std::fs::read_dir(folder.path()).expect("files").flatten());
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains("perf")).collect()
}

#[test]
fn without_perf_a_run_goes_on_and_says_so_once() {
    let test_folder = test_folder("unprofiled");
    let path = tools(&test_folder, None);
    let absent = summary(&run_with(&test_folder, &path));
    let told = "Nothing was profiled: perf is not installed; it is in Debian's package linux-perf.";
    assert_eq!(notes(&absent), [told]);
    // A perf without permission, with the words of perf 6.1.
    std::fs::remove_dir_all(test_folder.path().join("tools")).expect("the folder");
    let refused = "#!/bin/sh\necho 'Error:' >&2\necho 'Access to performance monitoring and \
                   observability operations is limited.' >&2\nexit 255\n";
    let path = tools(&test_folder, Some(refused));
    let limited = summary(&run_with(&test_folder, &path));
    let told = notes(&limited);
    assert_eq!(told.len(), 1, "{told:?}");
    let begins = "Nothing was profiled: no permission to profile the server: run as root, or as";
    assert!(
        told[0].starts_with(begins) && told[0].contains("kernel.perf_event_paranoid"),
        "{told:?}"
    );
    for summary in [absent, limited] {
        assert!(summary["results"][0]["leases_per_s"].as_f64().is_some());
        assert_eq!(summary["profiles"].as_array().map(Vec::len), Some(0));
    }
    for folder in test_folder.results() {
        let page = std::fs::read_to_string(folder.join("report.html")).expect("a page");
        assert!(page.contains("Nothing was profiled") && !page.contains("data-chart=\"profile\""));
    }
}

/// Echo under load, which ends with the value.
struct LoadedEcho(Vec<Child>);

impl LoadedEcho {
    fn start(test_folder: &LabTestFolder) -> Self {
        let mut echo = test_folder.godwit(&["dns", "echo", "--listen", "127.0.0.1:0"]);
        let mut echo = echo.stderr(Stdio::piped()).spawn().expect("an echo");
        let mut output_text = String::new();
        let stderr = echo.stderr.take().expect("a pipe");
        BufReader::new(stderr).read_line(&mut output_text).expect("a line");
        let (_, address) = output_text.trim().rsplit_once(' ').expect("its address");
        let load = ["dns", "load", "--server", address, "--rate", "20000", "--duration", "3600"];
        let load = test_folder.godwit(&load).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Self(vec![echo, load.expect("a load")])
    }
}

impl Drop for LoadedEcho {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn the_functions_of_a_running_server_are_shown() {
    let test_folder = test_folder("top");
    let loaded = LoadedEcho::start(&test_folder);
    let pid = loaded.0[0].id().to_string();
    let output = test_folder.lab(&["top", "--pid", &pid, "-n", "2", "--interval", "2", "--json"]);
    if !works(&output_text(&output)) {
        assert_eq!(output.status.code(), Some(1));
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let looks: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(looks.len(), 2);
    let busy = looks.iter().find(|look| look["samples"].as_u64() > Some(0)).expect("samples");
    assert_eq!((&busy["schema"], busy["lost"].is_u64()), (&"godwit.top.v1".into(), true));
    let first = &busy["functions"][0];
    assert!(first["own"].as_f64() > Some(0.0) && first["total"].as_f64() >= first["own"].as_f64());
    // As text, until it is interrupted.
    let mut top = test_folder
        .godwit(&["lab", "top", "--pid", &pid, "-i", "0.3", "--rows", "5"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("godwit starts");
    let lines = BufReader::new(top.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
    let head = lines.into_iter().find(|line| line.starts_with(" SELF %")).expect("a table");
    assert!(head.contains("TOTAL %  FUNCTION") && head.ends_with("OBJECT"), "{head}");
    let interrupt = Command::new("sh").args(["-c", &format!("kill -s INT {}", top.id())]).status();
    assert!(interrupt.expect("sh").success());
    assert_eq!(top.wait().expect("it ends").code(), Some(0));
    // The command reports a server that ends.
    drop(loaded);
    let output = test_folder.lab(&["top", "--pid", &pid]);
    assert_eq!(output.status.code(), Some(2), "{}", output_text(&output));
    assert!(
        output_text(&output).contains(&format!("there is no process {pid}")),
        "{}",
        output_text(&output)
    );
}

#[test]
fn top_says_what_is_wrong() {
    let test_folder = test_folder("top-wrong");
    let own = std::process::id().to_string();
    let output = Command::new(GODWIT)
        .args(["lab", "top", "--pid", &own])
        .env("PATH", "/nonexistent")
        .output()
        .expect("godwit starts");
    assert_eq!(output.status.code(), Some(1), "{}", output_text(&output));
    let told = "error: perf is not installed; it is in Debian's package linux-perf\n";
    assert_eq!(output_text(&output), told);
    let output = test_folder.lab(&["top", "godwit-no-such-server"]);
    assert_eq!(output.status.code(), Some(2), "{}", output_text(&output));
    assert!(
        output_text(&output).contains("no process is called godwit-no-such-server"),
        "{}",
        output_text(&output)
    );
    assert_eq!(test_folder.lab(&["top"]).status.code(), Some(2));
    assert_eq!(test_folder.lab(&["top", "--pid", "1", "-n", "0"]).status.code(), Some(2));
}
