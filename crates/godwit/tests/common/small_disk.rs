//! Disk of a few KiB in a mount namespace of its own.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Disk mounted on a folder, visible only to programs started through it. Dropping the value
/// removes it.
pub(crate) struct SmallDisk {
    holder: Child,
    folder: PathBuf,
}

impl SmallDisk {
    /// Mounts a disk of `kib` KiB on the existing `folder`.
    pub(crate) fn mount(folder: &Path, kib: u32) -> Self {
        // The process lives until its input is closed, at the latest with this process.
        let script = r#"mount -t tmpfs -o "size=$1k" tmpfs "$2" && echo mounted && exec cat"#;
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "sh", "-c", script, "sh", &kib.to_string()]).arg(folder);
        unshare.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut holder = unshare.spawn().expect("unshare runs");
        let mut line = String::new();
        let stdout = holder.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("a pipe");
        assert_eq!(line, "mounted\n");
        Self { holder, folder: folder.to_owned() }
    }

    /// Returns the command that starts a program that sees the disk.
    pub(crate) fn wrapper(&self) -> Command {
        let mut nsenter = Command::new("nsenter");
        nsenter.args(["--mount", "--target", &self.holder.id().to_string(), "--"]);
        nsenter
    }

    /// Returns the path of the file `name` on the disk, as seen from outside.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.holder.id()));
        root.join(self.folder.strip_prefix("/").expect("an absolute path")).join(name)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        self.holder.kill().ok();
        self.holder.wait().ok();
    }
}
