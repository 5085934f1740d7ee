//! Command `godwit dccp probe`: figures of congestion control while a connection sent, from a file
//! of `godwit dccp perf --probe` or of a Linux kernel that still had DCCP. `line` is the format,
//! `recorder` writes it, `rows` prints it on the terminal, `charts` draws a page.

mod charts;
mod line;
mod recorder;
mod rows;

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use base::{ToolError, ToolResult};
use netio::signal::Signals;
use serde::Serialize;

use crate::outcome::{DccpCommandOutcome, print_text};
use crate::units::parse_seconds;
use line::ProbeSample;
pub(crate) use recorder::ProbeRecorder;
use rows::ProbeIntervalTable;

/// Schema version of the JSON documents of `dccp probe`.
const SCHEMA_VERSION: u32 = 1;
/// Time after which a file that has ended is read again with -f.
const LOOK: Duration = Duration::from_millis(100);

/// Show samples of congestion control: rate, round-trip time, loss event rate, window.
///
/// Reads a file of `godwit dccp perf --probe FILE`, with -f while it grows, or of the dccp_probe of
/// a Linux kernel (/proc/net/dccpprobe, up to 4.15). Only the sending program knows this state, so
/// it must write the file.
///
/// Exit codes: 0 done; 1 failed; 2 bad arguments, or not a probe file; 130 interrupted (the usual
/// end of -f).
#[derive(Clone, Debug, clap::Args)]
pub struct DccpProbeArgs {
    /// File with samples, `-` for standard input [default: standard input]
    file: Option<PathBuf>,
    /// Follow the file as it grows, until interrupted
    #[arg(short = 'f', long)]
    follow: bool,
    /// Seconds that each printed line summarizes
    #[arg(short = 'i', long, value_name = "S", default_value = "1", value_parser = parse_seconds)]
    interval: Duration,
    /// Write charts against time as a self-contained page instead of lines
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print all samples as one JSON document instead of lines
    #[arg(long)]
    json: bool,
}

/// JSON document with all samples of a probe file.
#[derive(Debug, Serialize)]
struct ProbeDocument<'a> {
    tool: &'static str,
    schema_version: u32,
    samples: &'a [ProbeSample],
}

/// Runs `godwit dccp probe`: prints samples as lines, a page or a JSON document.
///
/// # Errors
///
/// Returns the error that made it impossible.
pub fn run(args: &DccpProbeArgs) -> ToolResult<DccpCommandOutcome> {
    let signals = Signals::for_command()?;
    let (name, mut input) = open_samples(args.file.as_deref())?;
    let keeps_lines = args.html.is_some() || args.json;
    let (mut lines, mut rows) = (Vec::new(), ProbeIntervalTable::new(args.interval));
    let (mut text, mut number) = (String::new(), 1);
    let outcome = loop {
        if signals.stop().load(Ordering::Acquire) {
            break DccpCommandOutcome::Interrupted;
        }
        let read = input
            .read_line(&mut text)
            .map_err(|error| ToolError::Failed(format!("cannot read {name}: {error}")))?;
        if read == 0 && args.follow {
            // With -f the rows so far must be visible, and a half-written line waits for its end.
            std::thread::sleep(LOOK);
            continue;
        }
        if read > 0 && args.follow && !text.ends_with('\n') {
            continue;
        }
        if read == 0 && text.is_empty() {
            break DccpCommandOutcome::Done;
        }
        let line = ProbeSample::read(&text)
            .map_err(|wrong| ToolError::Usage(format!("{name}, line {number}: {wrong}")))?;
        (text, number) = (String::new(), number + 1);
        match line {
            Some(line) if keeps_lines => lines.push(line),
            Some(line) => print_text(&rows.take(line))?,
            None => {}
        }
    };
    if keeps_lines {
        return show(args, &lines).map(|()| DccpCommandOutcome::Done);
    }
    print_text(&rows.end())?;
    Ok(outcome)
}

/// Opens a probe file, or the standard input without a file name or with `-`. Returns its name for
/// messages and its reader.
fn open_samples(file: Option<&Path>) -> ToolResult<(String, Box<dyn BufRead>)> {
    let Some(path) = file.filter(|path| *path != Path::new("-")) else {
        return Ok(("standard input".to_owned(), Box::new(io::stdin().lock())));
    };
    let name = path.display().to_string();
    match File::open(path) {
        Ok(file) => Ok((name, Box::new(BufReader::new(file)))),
        Err(error) => Err(ToolError::Failed(format!("cannot open {name}: {error}"))),
    }
}

/// Writes the samples of a probe file as a page, as JSON, or both.
fn show(args: &DccpProbeArgs, lines: &[ProbeSample]) -> ToolResult<()> {
    if let Some(path) = &args.html {
        let page = charts::page(lines);
        std::fs::write(path, page).map_err(|error| {
            ToolError::Failed(format!("cannot write {}: {error}", path.display()))
        })?;
    }
    if args.json {
        let tool = "godwit dccp probe";
        let document = ProbeDocument { tool, schema_version: SCHEMA_VERSION, samples: lines };
        let json = serde_json::to_string(&document)
            .map_err(|error| ToolError::Failed(format!("cannot write JSON: {error}")))?;
        print_text(&format!("{json}\n"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dash_is_the_standard_input() {
        let name = |file: Option<&str>| match open_samples(file.map(Path::new)) {
            Ok((name, _)) => name,
            Err(error) => error.to_string(),
        };
        assert_eq!([name(None), name(Some("-"))], ["standard input", "standard input"]);
        assert!(name(Some("/nonexistent/x")).contains("cannot open /nonexistent/x"));
    }
}
