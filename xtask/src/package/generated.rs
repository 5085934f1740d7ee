//! Files of packages that are generated: manual pages and completions by the program itself, its
//! components and their licenses from cargo's metadata.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::PackageRun;
use super::layout::{read, write};
use super::sbom;

/// Completion scripts: the shell's name and the file's.
pub(super) const COMPLETIONS: [(&str, &str); 3] =
    [("bash", "godwit.bash"), ("zsh", "_godwit"), ("fish", "godwit.fish")];
/// Name of the bill of materials.
pub(super) const BILL: &str = "godwit.cdx.json";
/// Platform whose crates count.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// Makes the generated files of `run`.
pub(super) fn make(run: &PackageRun<'_>) -> Result<(), String> {
    let folder = run.generated();
    let date =
        text_of(Command::new("date").args(["-u", "-d", &format!("@{}", run.epoch_s), "+%F"]))?;
    let mut command = Command::new(&run.binary);
    command.args(["man", "--date", date.trim()]).arg(folder.join("man"));
    run.step("man", &mut command)?;
    for (shell, file) in COMPLETIONS {
        let script = text_of(Command::new(&run.binary).args(["completions", shell]))?;
        write(&folder.join("completions").join(file), script)?;
    }
    let mut command = run.session.cargo();
    command.args(["metadata", "--format-version", "1", "--locked", "--filter-platform", PLATFORM]);
    let metadata: Value = serde_json::from_str(&text_of(&mut command)?)
        .map_err(|error| format!("cargo metadata: {error}"))?;
    write_bill(run, &folder, &metadata, &format!("{}T00:00:00Z", date.trim()))
}

fn write_bill(
    run: &PackageRun<'_>,
    folder: &Path,
    metadata: &Value,
    timestamp: &str,
) -> Result<(), String> {
    let components = sbom::components(metadata, "godwit")?;
    let checksums = sbom::checksums(&read(&run.root().join("Cargo.lock"))?);
    let bill = format!("{:#}\n", sbom::bill(&components, &checksums, timestamp));
    write(&run.output.join(format!("godwit-{}.cdx.json", run.version)), &bill)?;
    write(&folder.join(BILL), bill)?;
    write(&folder.join("third-party.txt"), sbom::licenses(&components)?)
}

/// Runs `command` and returns its output.
pub(super) fn text_of(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("cannot run {name}: {error}"))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("{name}: {}\n{reason}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("{name} prints no text"))
}
