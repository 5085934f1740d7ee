//! Command `godwit kea-lfc`: Kea's clean-up of lease files, for scripts that call `kea-lfc`. The
//! servers clean up by themselves.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use dhcp_store::memfile::{Cleanup, CleanupOutcome, LeaseFiles};
use dhcp_store::regular_file;
use dhcp_store::storage::{DiskStorage, Storage};

use crate::output;

/// Clean up rotated lease files, like Kea's kea-lfc; Godwit's servers need no separate clean-up.
///
/// Merges the previous file and the copy into a file with one row per lease, which replaces the
/// previous file. Exit codes: 0 done, 1 a file cannot be read or written or another clean-up runs,
/// 2 bad arguments.
#[derive(Debug, clap::Args)]
#[command(disable_version_flag = true, arg_required_else_help = true)]
pub(crate) struct KeaLfcArgs {
    #[command(flatten)]
    family: KeaLfcFamilyArgs,
    /// PID file of the clean-up
    #[arg(short = 'p', value_name = "FILE", required_unless_present_any = ["version", "extended"])]
    pid_file: Option<PathBuf>,
    /// Previous lease file: result of the last clean-up
    #[arg(short = 'x', value_name = "FILE", required_unless_present_any = ["version", "extended"])]
    previous: Option<PathBuf>,
    /// Copy of the lease file: rows since the last clean-up
    #[arg(short = 'i', value_name = "FILE", required_unless_present_any = ["version", "extended"])]
    copy: Option<PathBuf>,
    /// File for the merged leases while the clean-up runs
    #[arg(short = 'o', value_name = "FILE", required_unless_present_any = ["version", "extended"])]
    output: Option<PathBuf>,
    /// Name of the file with the merged leases when it is complete
    #[arg(short = 'f', value_name = "FILE", required_unless_present_any = ["version", "extended"])]
    finish: Option<PathBuf>,
    /// Configuration file; accepted and not read, as in Kea
    #[arg(short = 'c', value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print the progress of the clean-up
    #[arg(short = 'd')]
    verbose: bool,
    /// Print the compatible version of Kea and exit
    #[arg(short = 'v')]
    version: bool,
    /// Print the compatible version of Kea and this program's version, and exit
    #[arg(short = 'V')]
    extended: bool,
}

#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct KeaLfcFamilyArgs {
    /// Clean up leases of DHCPv4
    #[arg(short = '4', id = "lfc4", required_unless_present_any = ["lfc6", "version", "extended"])]
    is_v4: bool,
    /// Clean up leases of DHCPv6
    #[arg(short = '6', id = "lfc6")]
    is_v6: bool,
}

/// Runs the clean-up of lease files that `args` select, and returns the exit code.
pub(crate) fn run(args: &KeaLfcArgs) -> ExitCode {
    let level = dhcp_server::KEA_LEVEL;
    if args.version {
        return output::exit_code(output::print_line(level));
    }
    if args.extended {
        return output::exit_code(output::print_line(format_args!(
            "{level} (godwit {})",
            env!("CARGO_PKG_VERSION")
        )));
    }
    output::exit_code(clean_up(args).and_then(|cleaned| {
        for error in &cleaned.report.errors {
            netio::stderr::print_line(format_args!("warning: {error}"));
        }
        if args.verbose {
            output::print_line(format_args!("wrote {} leases", cleaned.leases))?;
        }
        Ok(())
    }))
}

fn clean_up(args: &KeaLfcArgs) -> Result<CleanupOutcome, String> {
    let path = |option: &Option<PathBuf>| option.clone().unwrap_or_default();
    let files = LeaseFiles {
        previous: path(&args.previous),
        rotated: path(&args.copy),
        scratch: path(&args.output),
        completed: path(&args.finish),
        ..LeaseFiles::new(&path(&args.previous))
    };
    if args.verbose {
        let number = if args.family.is_v6 { 6 } else { 4 };
        let (previous, rotated) = (files.previous.display(), files.rotated.display());
        output::print_line(format_args!("DHCPv{number}: {previous} and {rotated}"))?;
    }
    let _pid_file = CleanupPidFile::claim(path(&args.pid_file))?;
    let cleanup = if args.family.is_v6 {
        Cleanup::alone::<V6>(Arc::new(DiskStorage), files)
    } else {
        Cleanup::alone::<V4>(Arc::new(DiskStorage), files)
    };
    cleanup.run().map_err(|error| error.to_string())
}

/// PID file of a clean-up that prevents a second one of the same files. Dropping the value removes
/// the file.
struct CleanupPidFile(PathBuf);

impl CleanupPidFile {
    fn claim(path: PathBuf) -> Result<Self, String> {
        let text = regular_file::read_text(&path).unwrap_or_default();
        // Another program may have the number of a clean-up that ended without removing the file.
        let pid = text.trim().parse().ok();
        if let Some(pid) = pid.filter(|&pid| DiskStorage.is_cleanup_running(pid)) {
            return Err(format!(
                "process {pid} cleans up already, according to {}",
                path.display()
            ));
        }
        // The target of a link with this name belongs to another program.
        fs::remove_file(&path).ok();
        fs::File::create_new(&path)
            .and_then(|mut file| writeln!(file, "{}", std::process::id()))
            .map_err(|cause| format!("cannot write {}: {cause}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for CleanupPidFile {
    fn drop(&mut self) {
        fs::remove_file(&self.0).ok();
    }
}
