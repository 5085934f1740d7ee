//! Files that control commands write.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Mode of a file that a control command writes: it may hold passwords.
const MODE: u32 = 0o640;

/// Returns the path of the file `name` in the folder of the server's file `own`.
///
/// # Errors
///
/// A text, if `name` is in another folder.
pub(crate) fn path_next_to(own: &Path, name: &Path) -> Result<PathBuf, String> {
    let none = Path::new("");
    let folder = own.parent().unwrap_or(none);
    let file = name.file_name().ok_or_else(|| format!("`{}` names no file", name.display()))?;
    match name.parent() {
        Some(parent) if parent != none && parent != folder => Err(format!(
            "`{}` is not in the folder `{}`, where the server writes such files",
            name.display(),
            folder.display()
        )),
        _ => Ok(folder.join(file)),
    }
}

/// Replaces the file `path` by the bytes that `write` writes in one step: a reader finds the old or
/// the new file, also after a crash.
pub(crate) fn replace(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".tmp{}", std::process::id()));
    let temporary = PathBuf::from(temporary);
    // `create_new` follows no link that another program may have put under that name.
    fs::remove_file(&temporary).ok();
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(MODE);
    let written = options.open(&temporary).and_then(|file| {
        if let Some(old) = fs::symlink_metadata(path).ok().filter(Metadata::is_file) {
            file.set_permissions(old.permissions())?;
        }
        let mut file = BufWriter::new(file);
        write(&mut file)?;
        file.into_inner()?.sync_all()
    });
    let renamed = written.and_then(|()| fs::rename(&temporary, path));
    if renamed.is_err() {
        fs::remove_file(&temporary).ok();
    }
    renamed
}

/// Keeps the content of the file `path` under its name with `.bak` and the process identifier, as
/// Kea does. Nothing depends on the copy: [`replace`] leaves the old file or the new one.
pub(super) fn keep_backup(path: &Path) {
    let mut backup = path.as_os_str().to_owned();
    backup.push(format!(".bak{}", std::process::id()));
    fs::remove_file(&backup).ok();
    fs::hard_link(path, &backup).ok();
}

#[cfg(test)]
mod tests {
    use testkit::TempFolder;

    use super::*;

    #[test]
    fn files_are_written_beside_the_configuration_only() {
        let own = Path::new("/etc/kea/kea-dhcp4.conf");
        let written = |name: &str| path_next_to(own, Path::new(name)).ok();
        assert_eq!(written("other.conf"), Some("/etc/kea/other.conf".into()));
        assert_eq!(written("/etc/kea/other.conf"), Some("/etc/kea/other.conf".into()));
        for name in ["/etc/passwd", "../passwd", "/etc/kea/../passwd", "sub/x", "..", "/"] {
            assert_eq!(written(name), None, "{name}");
        }
        assert_eq!(path_next_to(Path::new("own.conf"), Path::new("x")), Ok("x".into()));
    }

    #[test]
    fn a_link_under_the_temporary_name_is_replaced_and_not_followed() {
        let temporary = TempFolder::new("files");
        let folder = temporary.path();
        let (path, precious) = (folder.join("written.conf"), folder.join("precious"));
        let temporary = folder.join(format!("written.conf.tmp{}", std::process::id()));
        fs::write(&precious, "precious").unwrap();
        std::os::unix::fs::symlink(&precious, &temporary).unwrap();
        replace(&path, |file| io::Write::write_all(file, b"new")).unwrap();
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert!(!fs::symlink_metadata(&path).unwrap().is_symlink());
    }
}
