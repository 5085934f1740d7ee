//! A disk of a few kibibytes, in a mount namespace of its own.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Mounted on a folder for those alone who are started through it. Goes away with the value.
pub(crate) struct SmallDisk {
    holder: Child,
    folder: PathBuf,
}

impl SmallDisk {
    /// A disk of `kib` KiB on `folder`, which is there.
    pub(crate) fn mount(folder: &Path, kib: u32) -> Self {
        // It stays until its input is closed, at the latest with this process.
        let script = r#"mount -t tmpfs -o "size=$1k" tmpfs "$2" && echo mounted && exec cat"#;
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "sh", "-c", script, "sh", &kib.to_string()]).arg(folder);
        unshare.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut holder = unshare.spawn().expect("unshare runs");
        let mut line = String::new();
        let said = holder.stdout.take().expect("it is piped");
        BufReader::new(said).read_line(&mut line).expect("a pipe");
        assert_eq!(line, "mounted\n");
        Self { holder, folder: folder.to_owned() }
    }

    /// What starts a program that sees the disk.
    pub(crate) fn wrapper(&self) -> Command {
        let mut nsenter = Command::new("nsenter");
        nsenter.args(["--mount", "--target", &self.holder.id().to_string(), "--"]);
        nsenter
    }

    /// The file `name` of the disk as seen from here.
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
