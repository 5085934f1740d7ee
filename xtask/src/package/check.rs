//! Checks of the packages that `cargo xtask test` makes of its unoptimized program: their files,
//! the findings of lintian, mandoc and other programs, completions in each shell.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::generated::text_of;
use super::layout::read;
use super::{PackageOptions, SUMS, files_of, make};
use crate::output;
use crate::test::TestSession;
use crate::test::child;
use crate::test::tally::CheckTally;

/// Scripts that look at completions, by their shells. `$1` is the folder of the packages' files;
/// each prints the words that complete `godwit lab re`, and something for a flag.
const SHELLS: [(&str, &str); 3] = [
    ("bash", include_str!("check/complete.bash")),
    ("zsh", include_str!("check/complete.zsh")),
    ("fish", include_str!("check/complete.fish")),
];
/// Files that two formats must have, in addition to the same files.
const NEEDED: [&str; 6] = [
    "/usr/bin/godwit",
    "/usr/share/man/man1/godwit-dhcp4.1",
    "/usr/share/doc/godwit/third-party.txt",
    "/usr/lib/sysusers.d/godwit-dhcp-server.conf",
    "/etc/apparmor.d/godwit-dhcp-server",
    "/usr/share/godwit-dhcp-server/kea-dhcp4-server.conf",
];
/// Highest exposure of a unit that `systemd-analyze security` may find, in tenths.
const EXPOSURE_MAX: &str = "20";

/// Checks the packages of the program `godwit`.
pub(crate) fn run_suite(
    session: &TestSession,
    godwit: Option<&Path>,
) -> Result<CheckTally, String> {
    let Some(godwit) = godwit else { return Err("there is no godwit binary".to_owned()) };
    if !session.requires_tools {
        output::print_line("    left out: the programs that make packages may be missing");
        return Ok(CheckTally::left_out(1));
    }
    let folder = session.temporary.join("packages");
    let options = PackageOptions {
        binary: Some(godwit.to_owned()),
        is_test: true,
        ..PackageOptions::default()
    };
    let again = folder.join("again");
    make(session, &options, &again)?;
    let made = folder.join("made");
    make(session, &options, &made)?;
    let mut run = PackageChecks { session, tally: CheckTally::default(), folder, made };
    let same = read(&run.made.join(SUMS))? == read(&again.join(SUMS))?;
    run.tally.check(same, "packages of the same program are identical");
    run.unpack()?;
    run.check_files()?;
    run.check_findings()?;
    run.check_units()?;
    run.check_completions()?;
    run.check_image()?;
    drop(fs::remove_dir_all(&run.folder));
    Ok(run.tally)
}

/// Checks of one set of packages.
struct PackageChecks<'s> {
    session: &'s TestSession,
    tally: CheckTally,
    /// Folder of intermediate files.
    folder: PathBuf,
    /// Folder of the packages.
    made: PathBuf,
}

impl PackageChecks<'_> {
    /// Returns the path of the only package whose name begins with `begin` and ends with `end`.
    fn package(&self, begin: &str, end: &str) -> Result<PathBuf, String> {
        let is_meant = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            name.starts_with(begin) && name.ends_with(end)
        };
        let found: Vec<PathBuf> = files_of(&self.made)?.into_iter().filter(is_meant).collect();
        match found.as_slice() {
            [path] => Ok(path.clone()),
            _ => Err(format!("{} packages are called {begin}*{end}", found.len())),
        }
    }

    fn debian(&self) -> Result<[PathBuf; 2], String> {
        Ok([self.package("godwit_", ".deb")?, self.package("godwit-dhcp-server_", ".deb")?])
    }

    /// Folder of the unpacked Debian packages.
    fn root(&self) -> PathBuf {
        self.folder.join("root")
    }

    /// Runs `command`, and counts the check `what`: it ends with 0, and prints nothing if it
    /// `is_silent`.
    fn holds(&mut self, what: &str, command: &mut Command, is_silent: bool) -> Result<(), String> {
        let name = Path::new(command.get_program()).file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        let log = self.session.log(&format!("package-check-{name}"));
        let end = child::run(command, &self.session.marker, &log, super::STEP_LIMIT)?;
        let printed = fs::read(&log).unwrap_or_default();
        let holds = end.is_success() && (printed.is_empty() || !is_silent);
        self.tally.check(holds, what);
        if !holds {
            output::print(child::last_lines(&log, 30));
        }
        Ok(())
    }

    fn unpack(&self) -> Result<(), String> {
        for package in self.debian()? {
            text_of(Command::new("dpkg-deb").arg("-x").arg(package).arg(self.root()))?;
        }
        Ok(())
    }

    /// Compares the files of the Debian packages with those of the RPM packages.
    fn check_files(&mut self) -> Result<(), String> {
        let mut debian = BTreeSet::new();
        for package in self.debian()? {
            let listed = text_of(Command::new("dpkg-deb").arg("--contents").arg(package))?;
            let files = listed.lines().filter_map(debian_file).map(common_name);
            debian.extend(files.filter(|file| !is_only_debian(file)));
        }
        let mut rpm = BTreeSet::new();
        for begin in ["godwit-0", "godwit-dhcp-server-"] {
            let package = self.package(begin, ".rpm")?;
            let listed = text_of(Command::new("rpm").args(["-qlp"]).arg(package))?;
            rpm.extend(listed.lines().map(|line| common_name(line.to_owned())));
        }
        let only: Vec<&String> = debian.symmetric_difference(&rpm).collect();
        self.tally.check(only.is_empty(), &format!("in one format only: {only:?}"));
        for file in NEEDED {
            self.tally.check(debian.contains(file), &format!("the packages have {file}"));
        }
        let settings = text_of(
            Command::new("dpkg-deb").args(["-I"]).arg(&self.debian()?[1]).arg("conffiles"),
        )?;
        let expected = "/etc/apparmor.d/godwit-dhcp-server\n/etc/logrotate.d/godwit-dhcp-server\n";
        self.tally.check(settings == expected, &format!("settings are {settings}"));
        let bill = read(&self.package("godwit-", ".cdx.json")?)?;
        let bill: Value = serde_json::from_str(&bill).map_err(|error| error.to_string())?;
        let count = bill["components"].as_array().map_or(0, Vec::len);
        self.tally.check(count > 100, &format!("{count} components are more than 100"));
        Ok(())
    }

    /// Runs the programs that find faults in packages and in their parts.
    fn check_findings(&mut self) -> Result<(), String> {
        let mut lintian = Command::new("lintian");
        lintian.args(["--fail-on", "error,warning", "--allow-root", "--tag-display-limit", "0"]);
        lintian.args(self.debian()?);
        self.holds("lintian finds nothing", &mut lintian, false)?;
        let pages = self.root().join("usr/share/man/man1");
        let mut mandoc = Command::new("sh");
        let script = "for page in \"$1\"/*.1.gz; do zcat \"$page\" >page; \
                      mandoc -T lint -W warning page || echo \"in $page\"; done";
        mandoc.args(["-uc", script, "mandoc"]);
        mandoc.arg(&pages).current_dir(&self.folder);
        self.holds("mandoc finds nothing", &mut mandoc, true)?;
        let mut parser = Command::new("apparmor_parser");
        parser.args(["--skip-kernel-load", "--skip-cache"]);
        parser.arg(self.root().join("etc/apparmor.d/godwit-dhcp-server"));
        self.holds("the AppArmor profile is valid", &mut parser, false)?;
        for family in ["dhcp4", "dhcp6"] {
            let example = format!("usr/share/doc/godwit-dhcp-server/examples/kea-{family}.conf");
            let mut godwit = Command::new(self.root().join("usr/bin/godwit"));
            godwit.args([family, "-t"]).arg(self.root().join(example));
            self.holds(&format!("the example of {family} is valid"), &mut godwit, false)?;
        }
        Ok(())
    }

    /// Computes the exposure of each unit.
    fn check_units(&mut self) -> Result<(), String> {
        for unit in ["godwit-dhcp4", "godwit-dhcp6", "godwit-lab"] {
            let path = self.root().join("lib/systemd/system").join(format!("{unit}.service"));
            let mut analyze = Command::new("systemd-analyze");
            analyze.args(["security", "--offline=yes", "--no-pager"]);
            analyze.arg(format!("--threshold={EXPOSURE_MAX}")).arg(path);
            let what = format!("{unit} is exposed at most {EXPOSURE_MAX} tenths");
            self.holds(&what, &mut analyze, false)?;
        }
        Ok(())
    }

    fn check_completions(&mut self) -> Result<(), String> {
        for (shell, script) in SHELLS {
            let path = self.folder.join(format!("complete.{shell}"));
            super::layout::write(&path, script)?;
            let mut command = Command::new("timeout");
            command.arg("300").arg(shell).arg(&path).arg(self.root().join("usr/share"));
            command.env("HOME", &self.folder).current_dir(&self.folder);
            let printed = text_of(&mut command)?;
            let words: BTreeSet<&str> = printed.split_whitespace().collect();
            let holds = ["report", "--accept-inactive"].iter().all(|word| words.contains(word));
            self.tally.check(holds, &format!("{shell} completes; it printed {printed}"));
        }
        Ok(())
    }

    /// Runs the program of the container image in the image's root.
    fn check_image(&mut self) -> Result<(), String> {
        let image = self.package("godwit-", "-oci.tar")?;
        let script = "mkdir layout && tar -xf \"$1\" -C layout && \
                      tag=$(umoci ls --layout layout) && \
                      umoci unpack --image \"layout:$tag\" bundle && \
                      chroot bundle/rootfs /usr/bin/godwit dhcp4 -v";
        let mut command = Command::new("sh");
        command.args(["-euc", script, "image"]).arg(image).current_dir(&self.folder);
        self.holds("the program runs in the image's root", &mut command, false)
    }
}

/// Returns the path of a file in a line of `dpkg-deb --contents`; `None` for folders.
fn debian_file(line: &str) -> Option<String> {
    let is_file = line.starts_with('-');
    let path = line.split_whitespace().nth(5)?.strip_prefix('.')?;
    is_file.then(|| path.to_owned())
}

/// Returns true for files that only Debian's packages have.
fn is_only_debian(path: &str) -> bool {
    path.ends_with("/changelog")
}

/// Returns the path of a file without what differs between formats: compression, and folders of
/// units and completions.
fn common_name(path: String) -> String {
    let path = path.strip_suffix(".gz").map(str::to_owned).unwrap_or(path);
    let path = path.replace("/vendor-completions/", "/site-functions/");
    match path.strip_prefix("/lib/systemd/") {
        Some(rest) => format!("/usr/lib/systemd/{rest}"),
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_both_formats_have_common_names() {
        let line = "-rw-r--r-- root/root  1234 2026-11-29 08:48 ./usr/share/man/man1/godwit.1.gz";
        let name = debian_file(line).map(common_name);
        assert_eq!(name.as_deref(), Some("/usr/share/man/man1/godwit.1"));
        let folder = "drwxr-xr-x root/root     0 2026-11-29 08:48 ./usr/share/man/";
        assert_eq!(debian_file(folder), None);
        let unit = common_name("/lib/systemd/system/godwit-lab.service".to_owned());
        assert_eq!(unit, "/usr/lib/systemd/system/godwit-lab.service");
    }
}
