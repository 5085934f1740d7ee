//! File of the durable queue: requests and their ends are appended; from time to time the file is
//! written anew with the unfinished requests only, and with the names of leases if the updater is
//! inside a DHCP server.
//!
//! Lines are written before the first update of a request leaves, so a killed process loses
//! nothing. A thread flushes the file to the disk behind the writes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use crate::loggers::DAEMON;
use dhcp_ddns::{JournalEntries, JournalLine};

/// Mode of the file: names and addresses of clients are private.
const MODE: u32 = 0o640;
/// Growth since the file was last written anew after which it is written anew again, in addition to
/// twice its size then, in bytes.
const GROWTH_BYTES: u64 = 4 << 20;
/// Size of the parts in which a new file is written, in bytes.
const PART_BYTES: usize = 1 << 20;

/// File of the queue, locked while the process lives.
#[derive(Debug)]
pub(super) struct QueueFile {
    path: PathBuf,
    file: File,
    /// Lines to write.
    text: String,
    size_bytes: u64,
    /// Size of the file when it was last written anew.
    compact_bytes: u64,
    /// True after a failed write: lines are missing until the file is written anew.
    is_broken: bool,
    needs_flush: bool,
    flushes: SyncSender<File>,
}

impl QueueFile {
    /// Opens the file `path`, or creates it, and reads the requests of an earlier process. The
    /// names of leases stay in the file if `keeps_names`.
    ///
    /// # Errors
    ///
    /// The reason why the file cannot be used.
    pub(super) fn open(path: &Path, keeps_names: bool) -> io::Result<(Self, JournalEntries)> {
        let flags = netio::file::NO_FOLLOW | netio::file::NON_BLOCKING;
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(MODE).custom_flags(flags);
        let mut file = options.open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        file.try_lock().map_err(|_| io::Error::other("another updater uses it"))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let entries = JournalEntries::read(&text);
        let mut queue = Self {
            path: path.to_owned(),
            file,
            text: String::new(),
            size_bytes: text.len() as u64,
            compact_bytes: 0,
            is_broken: false,
            needs_flush: false,
            flushes: start_flushes()?,
        };
        let names = entries.names.iter().filter(|_| keeps_names).map(JournalLine::Name);
        let pending = entries.pending.iter();
        let pending = pending.map(|(number, request)| JournalLine::Arrived(*number, request));
        queue.rewrite(names.chain(pending))?;
        Ok((queue, entries))
    }

    /// Adds a line, which [`QueueFile::write`] writes.
    pub(super) fn add(&mut self, line: JournalLine<'_>) {
        line.write(&mut self.text);
    }

    /// Writes the lines added. After a failure the file is written anew with `content`: the names
    /// and the unfinished requests; if that fails, too, the next call tries again.
    pub(super) fn write<'r>(&mut self, content: impl Iterator<Item = JournalLine<'r>>) {
        let text = std::mem::take(&mut self.text);
        if !text.is_empty() && !self.is_broken {
            match self.file.write_all(text.as_bytes()) {
                Ok(()) => {
                    self.size_bytes += text.len() as u64;
                    self.needs_flush = true;
                }
                Err(cause) => self.report(&cause),
            }
        }
        let is_large = self.size_bytes > GROWTH_BYTES + 2 * self.compact_bytes;
        if (is_large || self.is_broken)
            && let Err(cause) = self.rewrite(content)
        {
            self.report(&cause);
        }
        if self.needs_flush
            && let Ok(file) = self.file.try_clone()
        {
            self.needs_flush = self.flushes.try_send(file).is_err();
        }
    }

    /// Returns true if the file has to be written again soon: a flush has to wait for another, or a
    /// write failed.
    pub(super) const fn is_unfinished(&self) -> bool {
        self.needs_flush || self.is_broken
    }

    /// Replaces the file by one with the lines `content` only.
    fn rewrite<'r>(&mut self, content: impl Iterator<Item = JournalLine<'r>>) -> io::Result<()> {
        let mut name = self.path.as_os_str().to_owned();
        name.push(".new");
        let name = PathBuf::from(name);
        fs::remove_file(&name).ok();
        let mut options = OpenOptions::new();
        let mut file = options.append(true).create_new(true).mode(MODE).open(&name)?;
        file.try_lock()?;
        let (mut text, mut size_bytes) = (String::new(), 0);
        for line in content {
            line.write(&mut text);
            if text.len() >= PART_BYTES {
                file.write_all(text.as_bytes())?;
                size_bytes += text.len() as u64;
                text.clear();
            }
        }
        file.write_all(text.as_bytes())?;
        size_bytes += text.len() as u64;
        file.sync_all()?;
        fs::rename(&name, &self.path)?;
        if let Some(folder) = self.path.parent() {
            File::open(folder)?.sync_all()?;
        }
        if self.is_broken {
            tracing::info!(
                target: DAEMON,
                id = "DHCP_DDNS_QUEUE_FILE_MENDED",
                "the queue's file {} is written again",
                self.path.display()
            );
        }
        self.file = file;
        (self.size_bytes, self.compact_bytes) = (size_bytes, size_bytes);
        (self.is_broken, self.needs_flush) = (false, false);
        Ok(())
    }

    fn report(&mut self, cause: &io::Error) {
        if !self.is_broken {
            tracing::error!(
                target: DAEMON,
                id = "DHCP_DDNS_QUEUE_FILE_FAILED",
                "cannot write the queue's file {}: {cause}; until it can be written, requests are \
                 lost if the updater ends",
                self.path.display()
            );
        }
        self.is_broken = true;
    }
}

/// Starts the thread that flushes the files that it gets.
fn start_flushes() -> io::Result<SyncSender<File>> {
    let (sender, files) = sync_channel::<File>(1);
    let flush = move || {
        while let Ok(file) = files.recv() {
            // A write that fails afterwards reports the error of the disk.
            file.sync_data().ok();
        }
    };
    thread::Builder::new().name("queue-flush".to_owned()).spawn(flush)?;
    Ok(sender)
}
