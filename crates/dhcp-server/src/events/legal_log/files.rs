//! Files of the legal log: names, rotation, and writing without incomplete lines.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

use dhcp_config::LegalLogFiles;
use netio::Clock;

use super::LEGAL_LOG;
use super::calendar::FileTime;
use super::rotation_scripts::RotationScripts;

/// Mode of a log file, as with Kea's umask.
const MODE: u32 = 0o640;

/// Files of the legal log, of which one is open.
#[derive(Debug)]
pub(super) struct LogFiles {
    folder: PathBuf,
    settings: LegalLogFiles,
    /// True if lines are flushed to the disk.
    is_flushed: bool,
    scripts: RotationScripts,
    current: Option<CurrentFile>,
    /// Path of the file that was opened last.
    last_path: PathBuf,
    /// True from the end of a file on until the next one is open.
    is_rotating: bool,
}

/// File that the legal log appends to.
#[derive(Debug)]
struct CurrentFile {
    file: File,
    path: PathBuf,
    begun: FileTime,
    /// Length of the file, in bytes.
    len: u64,
}

impl LogFiles {
    /// Opens the file for lines of `wall_s` seconds after 1970 in `folder`: the newest one unless
    /// its time is over.
    ///
    /// # Errors
    ///
    /// The reason why the file cannot be opened, with its path.
    pub(super) fn open(
        settings: LegalLogFiles,
        folder: PathBuf,
        is_flushed: bool,
        scripts: RotationScripts,
        wall_s: u64,
    ) -> Result<Self, String> {
        let (current, last_path) = (None, PathBuf::new());
        let mut files =
            Self { folder, settings, is_flushed, scripts, current, last_path, is_rotating: false };
        let now = files.file_time(wall_s);
        let begun = files.newest_file().filter(|time| !files.has_ended(*time, now));
        let opened = files.open_file(begun.unwrap_or(now))?;
        files.last_path.clone_from(&opened.path);
        files.current = Some(opened);
        Ok(files)
    }

    /// Appends `lines` to the file, which is another one if the time of the present one is over.
    /// Either all lines are in the file or none.
    ///
    /// # Errors
    ///
    /// The reason why a file cannot be opened or written, with its path. The next call opens it
    /// again.
    pub(super) fn append(&mut self, lines: &[u8], wall_s: u64) -> Result<(), String> {
        self.rotate(wall_s)?;
        // A file that fails is opened again: what it did not flush may be lost although a later
        // flush succeeds.
        let Some(mut current) = self.current.take() else { return Ok(()) };
        if let Err(cause) = current.append(lines, self.is_flushed) {
            let path = current.path.display();
            return Err(format!("error writing to file:{path} reason: {cause}"));
        }
        self.current = Some(current);
        Ok(())
    }

    /// Makes the file of the time `wall_s` the open one. Between the end of a file and the start of
    /// the next one, `prerotate` is called for the former, and after it `postrotate` for the
    /// latter, each once, also if the next one can be opened only later.
    fn rotate(&mut self, wall_s: u64) -> Result<(), String> {
        let now = self.file_time(wall_s);
        let begun = match self.current.take() {
            Some(current) if self.settings.count == 0 || !self.has_ended(current.begun, now) => {
                self.current = Some(current);
                return Ok(());
            }
            Some(_) => now,
            // Writing failed: the file may still be usable.
            None => self.newest_file().filter(|time| !self.has_ended(*time, now)).unwrap_or(now),
        };
        let is_other = self.path_of(begun) != self.last_path;
        if is_other && !std::mem::replace(&mut self.is_rotating, true) {
            self.scripts.call_before(&self.last_path);
        }
        let opened = self.open_file(begun)?;
        self.last_path.clone_from(&opened.path);
        self.current = Some(opened);
        if std::mem::take(&mut self.is_rotating) {
            self.scripts.call_after(&self.last_path);
        }
        Ok(())
    }

    fn path_of(&self, begun: FileTime) -> PathBuf {
        self.folder.join(begun.file_name(&self.settings.base_name))
    }

    fn file_time(&self, wall_s: u64) -> FileTime {
        FileTime::new(self.settings.time_unit, wall_s, Clock::utc_offset_s(wall_s))
    }

    fn has_ended(&self, begun: FileTime, now: FileTime) -> bool {
        begun.has_ended(now, self.settings.time_unit, self.settings.count)
    }

    /// Returns the time of the newest file of this log in the folder.
    fn newest_file(&self) -> Option<FileTime> {
        let LegalLogFiles { base_name, time_unit, .. } = &self.settings;
        let names = fs::read_dir(&self.folder).ok()?.filter_map(Result::ok);
        let names = names.filter_map(|entry| entry.file_name().into_string().ok());
        let is_own =
            |name: &String| FileTime::from_file_name(name, base_name, *time_unit).is_some();
        let newest = names.filter(is_own).max()?;
        FileTime::from_file_name(&newest, base_name, *time_unit)
    }

    fn open_file(&self, begun: FileTime) -> Result<CurrentFile, String> {
        let path = self.path_of(begun);
        let failed =
            |cause: io::Error| format!("cannot open file:{} reason: {cause}", path.display());
        let mut current = CurrentFile::open(path.clone(), begun).map_err(failed)?;
        current.end_incomplete_line().map_err(failed)?;
        if self.is_flushed {
            // The file's name, too, must survive a power cut.
            File::open(&self.folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
        }
        let shown = current.path.display();
        let id = "LEGAL_LOG_STORE_OPENED";
        tracing::info!(target: LEGAL_LOG, id, "Legal store opened: {shown}");
        Ok(current)
    }
}

impl CurrentFile {
    fn open(path: PathBuf, begun: FileTime) -> io::Result<Self> {
        // A symbolic link in the folder must not lead to another file, nor a pipe without a reader
        // hold up the log.
        let flags = netio::file::NO_FOLLOW | netio::file::NON_BLOCKING;
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(MODE).custom_flags(flags);
        let file = options.open(&path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        Ok(Self { file, path, begun, len: metadata.len() })
    }

    /// Ends the last line, which is incomplete if the server was killed while it wrote.
    fn end_incomplete_line(&mut self) -> io::Result<()> {
        let mut last = [b'\n'];
        if self.len > 0 {
            self.file.read_exact_at(&mut last, self.len - 1)?;
        }
        if last != [b'\n'] {
            self.file.write_all(b"\n")?;
            self.len += 1;
        }
        Ok(())
    }

    fn append(&mut self, lines: &[u8], is_flushed: bool) -> io::Result<()> {
        if let Err(cause) = self.file.write_all(lines) {
            // A part of the lines would be written twice. If this fails, too, the next file begins
            // after the end of its incomplete line.
            self.file.set_len(self.len).ok();
            return Err(cause);
        }
        if is_flushed {
            self.file.sync_data()?;
        }
        self.len += lines.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use dhcp_config::RotationUnit;
    use testkit::TempFolder;

    use super::*;

    /// Noon of 31 January 2026 in UTC.
    const NOON_S: u64 = 1_769_860_800;
    const DAY_S: u64 = 86_400;

    fn settings(time_unit: RotationUnit, count: u32) -> LegalLogFiles {
        LegalLogFiles {
            folder: None,
            base_name: "legal".to_owned(),
            time_unit,
            count,
            prerotate: None,
            postrotate: None,
        }
    }

    fn open_files(settings: LegalLogFiles, folder: PathBuf, at_s: u64) -> Result<LogFiles, String> {
        LogFiles::open(settings, folder, true, RotationScripts::default(), at_s)
    }

    fn contents(folder: &Path) -> Vec<(String, String)> {
        let mut files: Vec<(String, String)> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| {
                let name = entry.file_name().into_string().unwrap();
                (name, fs::read_to_string(entry.path()).unwrap())
            })
            .collect();
        files.sort();
        files
    }

    /// Appends a line at each of `times_s` and returns the files, with a restart after every line
    /// if `restarts`.
    fn written(unit: RotationUnit, count: u32, times_s: &[u64], restarts: bool) -> Vec<String> {
        let temporary = TempFolder::new("legal");
        let folder = temporary.path();
        let open = |at_s| open_files(settings(unit, count), folder.to_owned(), at_s).unwrap();
        let mut files = open(times_s[0]);
        for (at_s, number) in times_s.iter().zip(0..) {
            if restarts {
                files = open(*at_s);
            }
            files.append(format!("{number}\n").as_bytes(), *at_s).unwrap();
        }
        let shown = contents(folder).into_iter();
        shown.map(|(name, text)| format!("{name} {}", text.replace('\n', "."))).collect()
    }

    #[test]
    fn files_are_rotated_by_units_of_the_calendar_and_continued_after_a_restart() {
        let times_s = [0, 1, DAY_S, DAY_S + 1, 3 * DAY_S].map(|after_s| NOON_S + after_s);
        let daily = ["legal.20260131.txt 0.1.", "legal.20260201.txt 2.3.", "legal.20260203.txt 4."];
        let two_days = ["legal.20260131.txt 0.1.2.3.", "legal.20260203.txt 4."];
        for restarts in [false, true] {
            assert_eq!(written(RotationUnit::Day, 1, &times_s, restarts), daily);
            assert_eq!(written(RotationUnit::Day, 2, &times_s, restarts), two_days);
        }
        let monthly = ["legal.20260131.txt 0.1.2.3.4."];
        assert_eq!(written(RotationUnit::Month, 1, &times_s, true), monthly);
        let never = written(RotationUnit::Day, 0, &times_s, false);
        assert_eq!(never, ["legal.20260131.txt 0.1.2.3.4."]);
        let seconds = written(RotationUnit::Second, 2, &times_s[..3], false);
        let expected =
            ["legal.T00000000001769860800.txt 0.1.", "legal.T00000000001769947200.txt 2."];
        assert_eq!(seconds, expected);
    }

    #[test]
    fn an_incomplete_line_is_ended_and_a_part_of_lines_is_taken_back() {
        let temporary = TempFolder::new("legal-part");
        let folder = temporary.path();
        let path = folder.join("legal.20260131.txt");
        fs::write(&path, "whole\npar").unwrap();
        let unit = settings(RotationUnit::Day, 1);
        let mut files = open_files(unit.clone(), folder.to_owned(), NOON_S).unwrap();
        files.append(b"next\n", NOON_S).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "whole\npar\nnext\n");
        // A file that is open for reading only cannot be written.
        let current = files.current.as_mut().unwrap();
        current.file = File::open(&path).unwrap();
        let why = files.append(b"lost\n", NOON_S).unwrap_err();
        assert!(why.starts_with("error writing to file:/") && files.current.is_none(), "{why}");
        files.append(b"again\n", NOON_S).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "whole\npar\nnext\nagain\n");
    }

    #[test]
    fn a_missing_folder_and_a_link_are_errors() {
        let temporary = TempFolder::new("legal-link");
        let folder = temporary.path();
        fs::write(folder.join("precious"), "precious").unwrap();
        let link = folder.join("legal.20260131.txt");
        std::os::unix::fs::symlink(folder.join("precious"), link).unwrap();
        for folder in [folder.to_owned(), folder.join("missing")] {
            let unit = settings(RotationUnit::Day, 1);
            let why = open_files(unit, folder, NOON_S).unwrap_err();
            assert!(why.starts_with("cannot open file:/"), "{why}");
        }
        assert_eq!(fs::read_to_string(folder.join("precious")).unwrap(), "precious");
    }

    #[test]
    fn scripts_are_called_once_for_each_new_file_also_if_it_opens_late() {
        let temporary = TempFolder::new("legal-scripts");
        let folder = temporary.path();
        let mut files =
            open_files(settings(RotationUnit::Day, 1), folder.to_owned(), NOON_S).unwrap();
        let shown = |calls: Vec<String>| -> Vec<String> {
            let prefix = format!("{}/legal.", folder.display());
            calls.into_iter().map(|call| call.replace(&prefix, "")).collect()
        };
        files.append(b"a\n", NOON_S).unwrap();
        // A failure to write opens the same file again.
        files.current = None;
        files.append(b"b\n", NOON_S + 1).unwrap();
        assert!(files.scripts.take_calls().is_empty());
        let next = folder.join("legal.20260201.txt");
        fs::create_dir(&next).unwrap();
        for _ in 0..2 {
            files.append(b"c\n", NOON_S + DAY_S).unwrap_err();
        }
        assert_eq!(shown(files.scripts.take_calls()), ["before 20260131.txt"]);
        fs::remove_dir(&next).unwrap();
        files.append(b"c\n", NOON_S + DAY_S).unwrap();
        assert_eq!(shown(files.scripts.take_calls()), ["after 20260201.txt"]);
        files.append(b"d\n", NOON_S + 2 * DAY_S).unwrap();
        let calls = ["before 20260201.txt", "after 20260202.txt"];
        assert_eq!(shown(files.scripts.take_calls()), calls);
        // The time of a file is over before it could be written again.
        files.current = None;
        files.append(b"e\n", NOON_S + 3 * DAY_S).unwrap();
        let calls = ["before 20260202.txt", "after 20260203.txt"];
        assert_eq!(shown(files.scripts.take_calls()), calls);
    }
}
