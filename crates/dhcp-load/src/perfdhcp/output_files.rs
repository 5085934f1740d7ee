//! Files for the result of a run, opened before the run, so that an unwritable file is reported
//! before any load is sent.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::args::PerfdhcpArgs;
use super::plan::{PerfdhcpFailure, PerfdhcpResult};

/// File that a result of the run goes to.
#[derive(Debug)]
pub(crate) struct OutputFile {
    path: PathBuf,
    file: File,
}

impl OutputFile {
    /// Opens the file at `path` for writing. Its content stays until [`Self::write`].
    fn open(path: &Path) -> PerfdhcpResult<Self> {
        let opened = OpenOptions::new().write(true).create(true).truncate(false).open(path);
        let file = opened.map_err(|error| failed(path, &error))?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Replaces the content of the file with `octets`.
    pub(crate) fn write(&self, octets: &[u8]) -> PerfdhcpResult<()> {
        let write = || {
            // Pipes and devices have no length.
            if self.file.metadata()?.is_file() {
                self.file.set_len(0)?;
            }
            (&self.file).write_all(octets)
        };
        write().map_err(|error| failed(&self.path, &error))
    }
}

fn failed(path: &Path, error: &std::io::Error) -> PerfdhcpFailure {
    PerfdhcpFailure::Environment(format!("cannot write {}: {error}", path.display()))
}

/// Files for results that the command line names.
#[derive(Debug)]
pub(crate) struct OutputFiles {
    /// File of the switch `--json`; `None` without one, or if it is standard output.
    pub(crate) json: Option<OutputFile>,
    /// File of the switch `--hdr` (HdrHistogram log); `None` without one.
    pub(crate) hdr: Option<OutputFile>,
    /// File of the switch `--pcap` (capture); `None` without one.
    pub(crate) pcap: Option<OutputFile>,
}

impl OutputFiles {
    /// Opens the files for results that `args` name.
    pub(crate) fn open(args: &PerfdhcpArgs) -> PerfdhcpResult<Self> {
        let open = |path: Option<&PathBuf>| path.map(|path| OutputFile::open(path)).transpose();
        Ok(Self {
            json: open(args.json.as_ref().filter(|path| path.as_os_str() != "-"))?,
            hdr: open(args.hdr.as_ref())?,
            pcap: open(args.pcap.as_ref())?,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use clap::Parser;
    use testkit::TempFolder;

    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_is_found_before_the_run_and_others_keep_their_content() {
        let temporary = TempFolder::new("output");
        let folder = temporary.path();
        let path = folder.join("result");
        fs::write(&path, "of an earlier run").unwrap();
        for flag in ["--json", "--hdr", "--pcap"] {
            let open = |path: &Path| {
                let line = ["perfdhcp", flag, path.to_str().unwrap(), "127.0.0.1"];
                OutputFiles::open(&PerfdhcpArgs::try_parse_from(line).unwrap())
            };
            let missing = folder.join("missing/result");
            let Err(PerfdhcpFailure::Environment(problem)) = open(&missing) else {
                panic!("{flag} opened {}", missing.display())
            };
            assert!(problem.contains(&format!("cannot write {}", missing.display())), "{problem}");
            let files = open(&path).unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"of an earlier run");
            let file = files.json.or(files.hdr).or(files.pcap).unwrap();
            file.write(b"short").unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"short");
            fs::write(&path, "of an earlier run").unwrap();
        }
    }
}
