//! Building once, and running the test programs that the build made.
//!
//! The programs are run directly rather than through `cargo test -p CRATE`, because cargo would
//! choose features anew for every crate and build the shared ones again.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::Session;
use super::child;
use super::tally::{Tally, read_output};

/// A program of tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TestProgram {
    /// Folder of its crate, which it runs in.
    pub(crate) folder: PathBuf,
    /// Name of its target.
    pub(crate) target: String,
    /// The file to run.
    pub(crate) executable: PathBuf,
}

/// What the build made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Built {
    /// Programs of tests, in no order that means anything.
    pub(crate) programs: Vec<TestProgram>,
    /// The `godwit` binary.
    pub(crate) godwit: Option<PathBuf>,
}

impl Built {
    /// The program of tests called `target`.
    pub(crate) fn program(&self, target: &str) -> Result<&TestProgram, String> {
        let found = self.programs.iter().find(|program| program.target == target);
        found.ok_or_else(|| format!("cargo made no program {target}"))
    }
}

const BUILD_LIMIT: Duration = Duration::from_secs(3600);
/// Longer than any program of tests may take.
const PROGRAM_LIMIT: Duration = Duration::from_secs(900);

/// Builds all tests and the binary, optimised and with assertions.
pub(crate) fn build(session: &Session) -> Result<(Built, Tally), String> {
    let tests = ["test", "--workspace", "--no-run"];
    let mut built = Built::default();
    let mut tally = Tally::default();
    let messages = build_step(session, "build", &tests, &mut tally)?;
    collect(&messages, &mut built);
    if tally.failed == 0 && built.godwit.is_none() {
        let binary = ["build", "--package", "godwit", "--bin", "godwit"];
        let messages = build_step(session, "build-binary", &binary, &mut tally)?;
        collect(&messages, &mut built);
        tally.check(built.godwit.is_some(), "the build makes the godwit binary");
    }
    Ok((built, tally))
}

/// Builds the programs of tests called `names`, with the features that the whole workspace chooses.
pub(crate) fn build_programs(
    session: &Session,
    step: &str,
    names: &[&str],
) -> Result<Built, String> {
    let mut names = names.to_vec();
    names.sort_unstable();
    names.dedup();
    let mut arguments = vec!["test", "--workspace", "--no-run"];
    arguments.extend(names.iter().flat_map(|name| ["--test", name]));
    let mut tally = Tally::default();
    let messages = build_step(session, step, &arguments, &mut tally)?;
    if tally.failed > 0 {
        return Err(format!("{} cannot be built", names.join(", ")));
    }
    let mut built = Built::default();
    collect(&messages, &mut built);
    Ok(built)
}

/// Has cargo do `arguments`; its messages.
pub(crate) fn build_step(
    session: &Session,
    name: &str,
    arguments: &[&str],
    tally: &mut Tally,
) -> Result<String, String> {
    let messages = session.logs.join(format!("{name}.json"));
    let log = session.log(name);
    let create = |path: &Path| File::create(path).map_err(|e| format!("{}: {e}", path.display()));
    let mut command = session.cargo();
    command
        .args(arguments)
        .args(["--message-format=json-render-diagnostics"])
        .stdout(create(&messages)?)
        .stderr(create(&log)?);
    let end = child::wait(&mut command, &session.marker, BUILD_LIMIT)?;
    if !end.is_success() {
        println!("    cargo {}: {}; {}", arguments.join(" "), end.describe(), log.display());
        print!("{}", child::last_lines(&log, 60));
    }
    *tally += Tally::one(end.is_success());
    fs::read_to_string(&messages).map_err(|error| format!("{}: {error}", messages.display()))
}

/// Picks the programs out of cargo's messages, one JSON object a line.
pub(crate) fn collect(messages: &str, built: &mut Built) {
    for line in messages.lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        let Some(executable) = message["executable"].as_str() else { continue };
        let target = message["target"]["name"].as_str().unwrap_or_default();
        let manifest = Path::new(message["manifest_path"].as_str().unwrap_or_default());
        let executable = PathBuf::from(executable);
        if message["profile"]["test"] == true {
            built.programs.push(TestProgram {
                folder: manifest.parent().unwrap_or(manifest).to_owned(),
                target: target.to_owned(),
                executable,
            });
        } else if target == "godwit" && message["target"]["kind"][0] == "bin" {
            built.godwit = Some(executable);
        }
    }
}

/// Runs the test programs of one crate.
pub(crate) fn run_crate(
    session: &Session,
    name: &str,
    folder: &Path,
    built: &Built,
) -> Result<Tally, String> {
    let mut programs: Vec<&TestProgram> =
        built.programs.iter().filter(|program| program.folder == folder).collect();
    programs.sort_by(|a, b| (&a.target, &a.executable).cmp(&(&b.target, &b.executable)));
    let mut total = Tally::default();
    for program in programs {
        let log = session.log(&format!("test-{name}-{}", program.target));
        let mut environment = session.environment();
        environment.push(("CARGO_MANIFEST_DIR".to_owned(), folder.display().to_string()));
        environment.extend(
            built.godwit.iter().map(|path| ("GODWIT_BIN".to_owned(), path.display().to_string())),
        );
        let path = program.executable.to_string_lossy();
        let mut command = session.privilege.command(&path, &environment);
        command.arg("--show-output").current_dir(folder);
        let end = child::run(&mut command, &session.marker, &log, PROGRAM_LIMIT)?;
        total += judge(&format!("{name} {}", program.target), end, &log);
    }
    Ok(total)
}

/// Runs the examples in the documentation of all crates.
pub(crate) fn run_documentation(session: &Session) -> Result<Tally, String> {
    let log = session.log("doc");
    let mut command = session.cargo();
    command
        .args(["test", "--workspace", "--doc", "--profile", "checked"])
        .envs(session.environment());
    let end = child::run(&mut command, &session.marker, &log, BUILD_LIMIT)?;
    Ok(judge("documentation", end, &log))
}

/// Counts what a program of tests printed; one that ended badly without a failed test counts as
/// one failure.
fn judge(what: &str, end: child::End, log: &Path) -> Tally {
    let octets = fs::read(log).unwrap_or_default();
    let (mut tally, reasons) = read_output(&String::from_utf8_lossy(&octets));
    for reason in reasons {
        println!("    left out in {what}: {reason}");
    }
    if !end.is_success() {
        tally.failed = tally.failed.max(1);
        println!("    {what}: {}; the whole log: {}", end.describe(), log.display());
        print!("{}", child::last_lines(log, 60));
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_the_messages_of_cargo() {
        let messages = r#"
{"reason":"compiler-artifact","manifest_path":"/w/crates/a/Cargo.toml","target":{"kind":["lib"],"name":"a"},"profile":{"test":true},"executable":"/w/t/a-1"}
{"reason":"compiler-artifact","manifest_path":"/w/crates/a/Cargo.toml","target":{"kind":["lib"],"name":"a"},"profile":{"test":false},"executable":null}
{"reason":"compiler-artifact","manifest_path":"/w/crates/godwit/Cargo.toml","target":{"kind":["bin"],"name":"godwit"},"profile":{"test":true},"executable":"/w/t/godwit-1"}
{"reason":"compiler-artifact","manifest_path":"/w/crates/godwit/Cargo.toml","target":{"kind":["bin"],"name":"godwit"},"profile":{"test":false},"executable":"/w/t/godwit"}
{"reason":"build-finished","success":true}
not JSON"#;
        let mut built = Built::default();
        collect(messages, &mut built);
        assert_eq!(built.godwit, Some(PathBuf::from("/w/t/godwit")));
        let targets: Vec<&str> = built.programs.iter().map(|each| each.target.as_str()).collect();
        assert_eq!(targets, ["a", "godwit"]);
        assert_eq!(built.programs[0].folder, Path::new("/w/crates/a"));
    }
}
