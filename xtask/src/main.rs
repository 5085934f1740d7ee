//! Automation of the repository: `cargo xtask tidy`, `cargo xtask language`, `cargo xtask test`,
//! `cargo xtask crash`, `cargo xtask ha`, `cargo xtask hostile`, `cargo xtask differ`, `cargo xtask
//! dccp-linux`, `cargo xtask dccp-worlds`, `cargo xtask pages`, `cargo xtask book`, `cargo xtask
//! package` and `cargo xtask package-test`.

mod book;
mod output;
mod package;
mod test;
mod tidy;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask tidy [--fast] [--root FOLDER]
           the project rules, then cargo fmt --check and cargo clippy
           --fast     the rules only
           --root     another workspace than this one
       cargo xtask language [RULE]
           how many places break each rule of plain language, and all places of one rule
       cargo xtask test [--skip-install] [--changed [REV]] [--repeat N] [--busy] [SUITE...]
           all tests and checks, or those of the suites named
           --skip-install   leave the machine's packages as they are
           --changed        only crates that differ from REV (HEAD), and all that depend on them
           --repeat         run the tests N times
           --busy           keep processors and disk busy meanwhile
       cargo xtask test --list
           print the names of the suites
       cargo xtask crash [--moments N] [--seed S] [--only SUITE]
           kill -9 and power cuts at random moments, which `cargo xtask test` has a few of
           --moments  how many in each suite (200)
           --seed     where the moments are drawn from (1)
           --only     one suite
       cargo xtask ha [--kills N] [--seed S] [--only SUITE]
           kill -9 of either server of a pair, and cuts of the link between them, at random moments,
           for pairs of Godwit with Godwit and Kea, of which `cargo xtask test` has a few
           --kills    how many in each suite (200)
           --seed     where the moments are drawn from (1)
           --only     one suite
       cargo xtask hostile [--count N] [--seed S] [--only SUITE]
           hostile datagrams at servers over each store, and leases made of hostile messages, which
           `cargo xtask test` has a few of
           --count    how many in each suite (1000000)
           --seed     where they are drawn from (1)
           --only     one suite
       cargo xtask differ [--count N] [--seed S] [--only SUITE]
           the same messages to Godwit and to Kea, and what they answer differently, of which
           `cargo xtask test` has a few
           --count    how many sequences in each suite (100000)
           --seed     where they are drawn from (1)
           --only     one suite
       cargo xtask dccp-linux [--rounds N] [--seed S] [--only PART]
           our DCCP and that of Linux 6.1 in virtual machines, of which `cargo xtask test` has a
           few parts
           --rounds   how often the whole matrix is played (3)
           --seed     where what is random is drawn from (1)
           --only     one part, or all whose names begin so: `cell/ours`, `conformance/seq`;
                      `goodput`, which no round has, compares what both stacks reach
       cargo xtask dccp-worlds [--count N] [--seed S] [--only SUITE]
           connections over emulated links on a virtual clock, of which `cargo xtask test` has a
           few
           --count    how many seeds (10000)
           --seed     the first of them (1)
           --only     one suite: `ours`, `linux`
       cargo xtask pages FOLDER
           every page below the folder, a lab's results say, looked at in headless Chromium: what
           is cut off, empty, out of place or no number
       cargo xtask book [--output FOLDER]
           the manual as a site, made by mdBook, and its links checked without a network
           --output   where to (target/book)
       cargo xtask package [--check|--check-reproducible] [--output FOLDER] [--binary FILE]
                           [--version VERSION] [--skip-install]
           packages of Debian and RPM, an archive, a container image and their checksums
           --output   where to (target/package)
           --binary   this program instead of one built with the profile `dist`
           --version  instead of the workspace's
           --check    look for faults in packages as `cargo xtask test` does, and keep none
           --check-reproducible  build and make all twice, in different folders, and compare
       cargo xtask package-test [--binary FILE] [--skip-install]
           the packages in a virtual machine with Debian 12: install, serve, upgrade, change over
           from Kea and back, purge";

fn main() -> ExitCode {
    if ran_as_helper_process(std::env::args_os().skip(1)) {
        return ExitCode::SUCCESS;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["tidy", rest @ ..] => tidy_command(rest),
        ["language"] => tidy::language(workspace_root(), None).map_err(XtaskError::Failed),
        ["language", rule] => {
            tidy::language(workspace_root(), Some(rule)).map_err(XtaskError::Failed)
        }
        ["test", rest @ ..] => test_command(rest),
        ["crash", rest @ ..] => long_command(&test::crash::SUITES, rest),
        ["ha", rest @ ..] => long_command(&test::ha::SUITES, rest),
        ["hostile", rest @ ..] => long_command(&test::hostile::SUITES, rest),
        ["differ", rest @ ..] => long_command(&test::differ::SUITES, rest),
        ["dccp-linux", rest @ ..] => long_command(&test::dccp_linux::SUITES, rest),
        ["dccp-worlds", rest @ ..] => long_command(&test::dccp_worlds::SUITES, rest),
        ["pages", folder] => {
            test::pages::run(workspace_root(), Path::new(folder)).map_err(XtaskError::Failed)
        }
        ["book"] => book::run(workspace_root(), None).map_err(XtaskError::Failed),
        ["book", "--output", folder] => {
            book::run(workspace_root(), Some(Path::new(folder))).map_err(XtaskError::Failed)
        }
        ["package", rest @ ..] => package_command(rest),
        ["package-test", rest @ ..] => package_test_command(rest),
        ["help" | "--help" | "-h"] => {
            output::print_line(USAGE);
            return ExitCode::SUCCESS;
        }
        _ => Err(XtaskError::Usage),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(XtaskError::Usage) => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
        Err(XtaskError::Failed(reason)) => {
            eprintln!("xtask: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a helper process (busy machine, clean-up) that a test run has started from this program.
/// Returns false if the arguments are those of a command instead.
fn ran_as_helper_process(mut arguments: impl Iterator<Item = OsString>) -> bool {
    let Some(word) = arguments.next() else { return false };
    if word == test::BUSY_WORD {
        let path = arguments.next().map(PathBuf::from);
        if let Err(reason) = test::keep_busy(path.as_deref()) {
            eprintln!("xtask: {reason}");
        }
        return true;
    }
    if word == test::CLEAN_UP_WORD {
        let marker = arguments.next().unwrap_or_default();
        let temporary = arguments.next().map(PathBuf::from).unwrap_or_default();
        test::clean_up_after(std::io::stdin(), &marker.to_string_lossy(), &temporary);
        return true;
    }
    false
}

/// Reason why an xtask command has no verdict.
enum XtaskError {
    /// Invalid arguments on the command line.
    Usage,
    /// Action that failed, with its error.
    Failed(String),
}

/// Returns the folder of this workspace.
fn workspace_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

fn tidy_command(arguments: &[&str]) -> Result<bool, XtaskError> {
    let mut root = PathBuf::from(workspace_root());
    let mut extent = tidy::CheckExtent::All;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match *argument {
            "--fast" => extent = tidy::CheckExtent::Texts,
            "--root" => root = PathBuf::from(rest.next().ok_or(XtaskError::Usage)?),
            _ => return Err(XtaskError::Usage),
        }
    }
    let verdict = tidy::run(&root, extent).map_err(XtaskError::Failed)?;
    output::print_line(format_args!(
        "tidy: {} rules hold, {} broken",
        verdict.passed, verdict.failed
    ));
    Ok(verdict.failed == 0)
}

fn test_command(arguments: &[&str]) -> Result<bool, XtaskError> {
    let mut options = test::TestOptions::default();
    let mut rest = arguments.iter().copied().peekable();
    while let Some(argument) = rest.next() {
        match argument {
            "--skip-install" => options.is_install_skipped = true,
            "--busy" => options.is_busy = true,
            "--repeat" => {
                let count = rest.next().and_then(|word| word.parse().ok());
                options.repetitions = count.filter(|count| *count > 0).ok_or(XtaskError::Usage)?;
            }
            "--changed" => {
                let names = test::suite_names(workspace_root()).map_err(XtaskError::Failed)?;
                let is_revision =
                    |word: &&str| !word.starts_with('-') && !names.iter().any(|name| name == word);
                let revision = rest.next_if(is_revision).unwrap_or("HEAD");
                options.changed_since = Some(revision.to_owned());
            }
            "--list" => {
                let names = test::suite_names(workspace_root()).map_err(XtaskError::Failed)?;
                output::print_line(names.join("\n"));
                return Ok(true);
            }
            option if option.starts_with('-') => return Err(XtaskError::Usage),
            suite => options.suites.push(suite.to_owned()),
        }
    }
    test::run(workspace_root(), &options).map_err(XtaskError::Failed)
}

fn package_command(arguments: &[&str]) -> Result<bool, XtaskError> {
    let (action, rest): (fn(&Path, &package::PackageOptions) -> _, _) = match arguments {
        ["--check-reproducible", rest @ ..] => (package::check_reproducible, rest),
        ["--check", rest @ ..] => (package::check, rest),
        rest => (package::run, rest),
    };
    action(workspace_root(), &package_options(rest)?).map_err(XtaskError::Failed)
}

fn package_test_command(arguments: &[&str]) -> Result<bool, XtaskError> {
    let options = package_options(arguments)?;
    package::run_in_machine(workspace_root(), &options).map_err(XtaskError::Failed)
}

fn package_options(arguments: &[&str]) -> Result<package::PackageOptions, XtaskError> {
    let mut options = package::PackageOptions::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().map(|word| (*word).to_owned()).ok_or(XtaskError::Usage);
        match *argument {
            "--binary" => options.binary = Some(value()?.into()),
            "--output" => options.output = Some(value()?.into()),
            "--version" => options.version = Some(value()?),
            "--skip-install" => options.is_install_skipped = true,
            _ => return Err(XtaskError::Usage),
        }
    }
    Ok(options)
}

fn long_command(suites: &test::long::LongSuites, arguments: &[&str]) -> Result<bool, XtaskError> {
    let mut request = test::long::SuiteRequest { count: suites.count_default, seed: 1, only: None };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let value = *rest.next().ok_or(XtaskError::Usage)?;
        let number = || value.parse().map_err(|_| XtaskError::Usage);
        match *argument {
            flag if flag == suites.count_flag => request.count = number()?,
            "--seed" => request.seed = number()?,
            "--only" => request.only = Some(value.to_owned()),
            _ => return Err(XtaskError::Usage),
        }
    }
    test::long::run(workspace_root(), suites, &request).map_err(XtaskError::Failed)
}
