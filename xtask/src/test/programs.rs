//! Test programs of the workspace: the run builds them once, with the features that the whole
//! workspace selects, and reads the names of their tests.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::TestSession;
use super::child;
use super::tally::{CheckTally, read_output};
use crate::output;

/// Test program that cargo has built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TestProgram {
    /// Folder of the program's crate, in which the program runs.
    pub(crate) folder: PathBuf,
    /// Name of the program's cargo target.
    pub(crate) target: String,
    /// True for an integration program (below `tests/`), false for the tests inside a library or
    /// binary.
    pub(crate) is_integration: bool,
    /// Path of the program's executable file.
    pub(crate) executable: PathBuf,
}

impl TestProgram {
    /// Returns the names of the program's tests, ignored ones included.
    pub(crate) fn tests(&self) -> Result<Vec<String>, String> {
        let mut command = Command::new(&self.executable);
        command.args(["--list", "--format", "terse"]).current_dir(&self.folder);
        let failed = |reason: String| format!("{} --list: {reason}", self.executable.display());
        let output = command.output().map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            return Err(failed(output.status.to_string()));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    }
}

/// Files that cargo has built for a test run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BuildOutputs {
    /// Test programs, in no particular order.
    pub(crate) programs: Vec<TestProgram>,
    /// Path of the `godwit` binary; `None` if it was not built.
    pub(crate) godwit: Option<PathBuf>,
}

impl BuildOutputs {
    /// Returns the integration program of the crate `name`.
    pub(crate) fn integration_program(&self, name: &str) -> Result<&TestProgram, String> {
        let is_wanted = |program: &&TestProgram| {
            program.is_integration && program.folder.file_name().is_some_and(|last| last == name)
        };
        let program = self.programs.iter().find(is_wanted);
        program.ok_or_else(|| format!("cargo made no integration program for {name}"))
    }
}

/// Maximum time for a build of the workspace without earlier results.
pub(crate) const BUILD_LIMIT: Duration = Duration::from_secs(3600);

/// Name of the example program whose processor instructions a test counts.
const COUNTED_EXAMPLE: &str = "features";

/// Builds all test programs and the `godwit` binary. Only clippy compiles the other examples: no
/// test runs them.
pub(crate) fn build(session: &TestSession) -> Result<(BuildOutputs, CheckTally), String> {
    let tests = ["test", "--workspace", "--lib", "--bins", "--tests", "--no-run"];
    let programs = ["build", "--workspace", "--bin", "godwit", "--example", COUNTED_EXAMPLE];
    let mut built = BuildOutputs::default();
    let mut tally = CheckTally::default();
    for (step, arguments) in [("build", &tests[..]), ("build-programs", &programs)] {
        let messages = build_step(session, step, arguments, &mut tally)?;
        collect(&messages, &mut built);
    }
    tally.check(built.godwit.is_some(), "the build makes the godwit binary");
    Ok((built, tally))
}

/// Builds only the integration programs of the workspace.
pub(crate) fn build_integration_programs(
    session: &TestSession,
    step: &str,
) -> Result<BuildOutputs, String> {
    let arguments = ["test", "--workspace", "--test", "main", "--no-run"];
    let mut tally = CheckTally::default();
    let messages = build_step(session, step, &arguments, &mut tally)?;
    if tally.failed > 0 {
        return Err("the integration programs cannot be built".to_owned());
    }
    let mut built = BuildOutputs::default();
    collect(&messages, &mut built);
    Ok(built)
}

/// Runs cargo with `arguments` as the build step `name` and returns cargo's messages.
fn build_step(
    session: &TestSession,
    name: &str,
    arguments: &[&str],
    tally: &mut CheckTally,
) -> Result<String, String> {
    // Another run may build in the same folder.
    let messages = session.logs.join(format!("{name}-{}.json", std::process::id()));
    let log = session.log(name);
    let create = |path: &Path| File::create(path).map_err(|e| format!("{}: {e}", path.display()));
    let mut command = session.cargo();
    command
        .args(arguments)
        .arg("--message-format=json-render-diagnostics")
        .stdout(create(&messages)?)
        .stderr(create(&log)?);
    let end = child::wait(&mut command, &session.marker, BUILD_LIMIT)?;
    if !end.is_success() {
        output::print_line(format_args!(
            "    cargo {}: {}; {}",
            arguments.join(" "),
            end.describe(),
            log.display()
        ));
        output::print(child::last_lines(&log, 60));
    }
    *tally += CheckTally::one(end.is_success());
    let text = fs::read_to_string(&messages);
    let _ = fs::remove_file(&messages);
    text.map_err(|error| format!("{}: {error}", messages.display()))
}

/// Collects the built programs from cargo's messages, one JSON object per line, in `built`.
fn collect(messages: &str, built: &mut BuildOutputs) {
    for line in messages.lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        let Some(executable) = message["executable"].as_str() else { continue };
        let target = message["target"]["name"].as_str().unwrap_or_default();
        let kind = &message["target"]["kind"][0];
        let manifest = Path::new(message["manifest_path"].as_str().unwrap_or_default());
        let executable = PathBuf::from(executable);
        if message["profile"]["test"] == true {
            built.programs.push(TestProgram {
                folder: manifest.parent().unwrap_or(manifest).to_owned(),
                target: target.to_owned(),
                is_integration: kind == "test",
                executable,
            });
        } else if target == "godwit" && kind == "bin" {
            built.godwit = Some(executable);
        }
    }
}

/// Runs the examples in the documentation of those crates in `names` that have any.
pub(crate) fn run_documentation(
    session: &TestSession,
    names: &[String],
) -> Result<CheckTally, String> {
    if names.is_empty() {
        output::print_line("    no crate has an example in its documentation");
        return Ok(CheckTally::one(true));
    }
    let log = session.log("doc");
    let mut command = session.cargo();
    command.args(["test", "--workspace", "--doc"]).envs(session.environment());
    let end = child::run(&mut command, &session.marker, &log, BUILD_LIMIT)?;
    let octets = fs::read(&log).unwrap_or_default();
    let (mut tally, _) = read_output(&String::from_utf8_lossy(&octets));
    if !end.is_success() {
        tally.failed = tally.failed.max(1);
        output::print_line(format_args!(
            "    documentation: {}; the whole log: {}",
            end.describe(),
            log.display()
        ));
        output::print(child::last_lines(&log, 60));
    }
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_the_messages_of_cargo() {
        let messages = r#"
{"reason":"compiler-artifact","manifest_path":"/w/crates/a/Cargo.toml","target":{"kind":["lib"],"name":"a"},"profile":{"test":true},"executable":"/w/t/a-1"}
{"reason":"compiler-artifact","manifest_path":"/w/crates/a/Cargo.toml","target":{"kind":["lib"],"name":"a"},"profile":{"test":false},"executable":null}
{"reason":"compiler-artifact","manifest_path":"/w/crates/a/Cargo.toml","target":{"kind":["test"],"name":"main"},"profile":{"test":true},"executable":"/w/t/main-1"}
{"reason":"compiler-artifact","manifest_path":"/w/crates/godwit/Cargo.toml","target":{"kind":["bin"],"name":"godwit"},"profile":{"test":true},"executable":"/w/t/godwit-1"}
{"reason":"compiler-artifact","manifest_path":"/w/crates/godwit/Cargo.toml","target":{"kind":["bin"],"name":"godwit"},"profile":{"test":false},"executable":"/w/t/godwit"}
{"reason":"build-finished","success":true}
not JSON"#;
        let mut built = BuildOutputs::default();
        collect(messages, &mut built);
        assert_eq!(built.godwit, Some(PathBuf::from("/w/t/godwit")));
        let targets: Vec<&str> = built.programs.iter().map(|each| each.target.as_str()).collect();
        assert_eq!(targets, ["a", "main", "godwit"]);
        let integration = built.integration_program("a").unwrap();
        assert_eq!(integration.executable, Path::new("/w/t/main-1"));
        assert!(built.integration_program("b").is_err());
    }
}
