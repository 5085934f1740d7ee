//! Command `godwit man`: manual pages of all commands, in the format of man(7).

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use base::CivilTime;
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use netio::Clock;

use crate::{help, output};

/// Write a manual page for every command into a folder.
///
/// The pages are those that packages install: godwit(1), godwit-dhcp4(1), godwit-lab-run(1) and so
/// on. `man -l PAGE` shows one.
///
/// Exit codes: 0 done; 1 a page cannot be written; 2 bad arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// Folder of the pages; it is made if it is missing
    folder: PathBuf,
    /// Date in the pages' last line [default: today]
    #[arg(long, value_name = "YYYY-MM-DD")]
    date: Option<String>,
}

/// Section of the manual in which the pages are (commands).
const SECTION: &str = "1";
const MANUAL: &str = "Godwit manual";
/// Beginning of the paragraph of a command's help that lists its exit codes.
const EXIT_CODES: &str = "Exit codes: ";
const SOURCE: &str = concat!("godwit ", env!("CARGO_PKG_VERSION"));

/// Writes the pages of the definition `command` into the folder of `args`.
pub(crate) fn run(args: &ManArgs, command: Command) -> ExitCode {
    let date = args.date.clone().unwrap_or_else(today);
    output::exit_code(write_all(&args.folder, &date, command))
}

/// Returns the date in UTC.
fn today() -> String {
    let now_s = Clock::now().wall_us / 1_000_000;
    let CivilTime { year, month, day, .. } = CivilTime::from_unix_s(now_s.cast_signed());
    format!("{year:04}-{month:02}-{day:02}")
}

fn write_all(folder: &Path, date: &str, command: Command) -> Result<(), String> {
    let failed =
        |path: &Path, error: io::Error| format!("cannot write {}: {error}", path.display());
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    for (name, text) in pages(command, date).map_err(|error| failed(folder, error))? {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

/// Returns the file name and the text of the page of each command that help shows.
fn pages(command: Command, date: &str) -> io::Result<Vec<(String, String)>> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    let mut open = vec![(command, None)];
    while let Some((command, parent)) = open.pop() {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            open.push((below.clone(), Some(name.clone())));
        }
        let file = format!("{name}.{SECTION}");
        pages.push((file, page(command, &name, parent.as_deref(), date)?));
    }
    Ok(pages)
}

/// Returns the page of `command`, which the command `parent` contains.
fn page(command: Command, name: &str, parent: Option<&str>, date: &str) -> io::Result<String> {
    let examples = help::examples_of(command.get_bin_name().unwrap_or_default());
    let about = command.get_long_about().or_else(|| command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    let has_options = command.get_arguments().any(|argument| !argument.is_hide_set());
    let has_commands = command.has_subcommands();
    let man = Man::new(command)
        .title(name.to_uppercase())
        .section(SECTION)
        .date(date)
        .source(SOURCE)
        .manual(MANUAL);
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    write_description(&about, &mut text)?;
    if has_options {
        man.render_options_section(&mut text)?;
    }
    if has_commands {
        man.render_subcommands_section(&mut text)?;
    }
    write_exit_status(&about, &mut text)?;
    write_examples(examples, &mut text)?;
    write_see_also(parent, &mut text)?;
    Ok(tidied(&String::from_utf8_lossy(&text)))
}

fn write_description(about: &str, output: &mut impl Write) -> io::Result<()> {
    let mut roff = Roff::new();
    roff.control("SH", ["DESCRIPTION"]);
    let paragraphs = about.split("\n\n").filter(|text| !text.starts_with(EXIT_CODES));
    for (index, paragraph) in paragraphs.enumerate() {
        if index > 0 {
            roff.control("PP", []);
        }
        roff.text([roman(paragraph)]);
    }
    roff.to_writer(output)
}

fn write_exit_status(about: &str, output: &mut impl Write) -> io::Result<()> {
    let paragraph = about.split("\n\n").find_map(|text| text.strip_prefix(EXIT_CODES));
    let Some(codes) = paragraph else { return Ok(()) };
    let mut roff = Roff::new();
    roff.control("SH", ["EXIT STATUS"]);
    roff.text([roman(codes)]);
    roff.to_writer(output)
}

fn write_examples(examples: &[&str], output: &mut impl Write) -> io::Result<()> {
    if examples.is_empty() {
        return Ok(());
    }
    let mut roff = Roff::new();
    roff.control("SH", ["EXAMPLES"]);
    roff.control("nf", []);
    for line in examples {
        roff.text([roman(*line)]);
    }
    roff.control("fi", []);
    roff.to_writer(output)
}

fn write_see_also(parent: Option<&str>, output: &mut impl Write) -> io::Result<()> {
    let Some(parent) = parent else { return Ok(()) };
    let mut roff = Roff::new();
    roff.control("SH", ["SEE ALSO"]);
    roff.text([bold(parent), roman(format!("({SECTION})"))]);
    roff.to_writer(output)
}

/// Lines that define the apostrophe, with which `clap_mangen` begins each section.
const APOSTROPHE: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";
/// Lines of `clap_mangen` above possible values, and those that leave the same space.
const SPACE: [&str; 2] = ["\n.br\n\n.br\n", "\n.sp\n"];

/// Returns the page `text` with one definition of the apostrophe, without blanks at line ends and
/// without breaks that have no effect.
fn tidied(text: &str) -> String {
    let text = APOSTROPHE.to_owned() + &text.replace(APOSTROPHE, "");
    let text = text.lines().fold(String::new(), |done, line| done + line.trim_end() + "\n");
    text.replace(SPACE[0], SPACE[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_the_examples_and_exit_codes_of_help() {
        let pages = pages(crate::cli::command(), "2026-11-29").unwrap();
        let page = |name: &str| {
            let found = pages.iter().find(|(file, _)| file == name);
            &found.unwrap_or_else(|| panic!("no page {name}")).1
        };
        let text = page("godwit-lab-run.1");
        for words in [
            ".TH GODWIT-LAB-RUN 1 2026-11-29",
            ".SH EXAMPLES",
            "godwit lab run dhcp4\\-quick \\-\\-server godwit,kea",
            ".SH \"EXIT STATUS\"",
            "\\fBgodwit\\-lab\\fR(1)",
        ] {
            assert!(text.contains(words), "no {words} in {text}");
        }
        assert!(page("godwit.1").contains("godwit\\-dhcp4(1)"));
        assert!(!pages.iter().any(|(file, _)| file == "godwit-load.1"), "it is hidden");
    }
}
