//! Reader of the small files that a configuration names: passwords, certificates, identifiers.
//!
//! Such a name may lead to a device or a pipe. Reading one could take all memory or never end, and
//! would block the command that sets the configuration. So only regular files of a bounded size are
//! read.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::Path;

/// Maximum size in bytes of a file that the configuration names, 4 MiB: more than all certificate
/// authorities of an operating system together.
pub const MAX_BYTES: u64 = 4 << 20;

/// Returns the bytes of the regular file `path`.
///
/// # Errors
///
/// Returns an error if the file cannot be read, is not regular, or has more than [`MAX_BYTES`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for a writer, so the kind of the file is checked first.
    refuse_other_kinds(&fs::metadata(path)?)?;
    let file = File::open(path)?;
    refuse_other_kinds(&file.metadata()?)?;
    let mut octets = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut octets)?;
    if octets.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("it has more than {MAX_BYTES} bytes")));
    }
    Ok(octets)
}

/// Returns the text of the regular file `path`.
///
/// # Errors
///
/// See [`read`]; or the file is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not text in UTF-8"))
}

fn refuse_other_kinds(metadata: &Metadata) -> io::Result<()> {
    if metadata.is_file() { Ok(()) } else { Err(io::Error::other("it is not a regular file")) }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use testkit::TempFolder;

    use super::*;

    #[test]
    fn devices_pipes_folders_and_large_files_are_refused() {
        let temporary = TempFolder::new("regular");
        let folder = temporary.path();
        let path = |name: &str| folder.join(name);
        assert!(Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
        File::create(path("large")).unwrap().set_len(MAX_BYTES + 1).unwrap();
        File::create(path("whole")).unwrap().set_len(MAX_BYTES).unwrap();
        fs::write(path("text"), "caf\u{e9}").unwrap();
        fs::write(path("latin"), b"caf\xe9").unwrap();
        for (name, why) in [
            ("pipe", "it is not a regular file"),
            ("", "it is not a regular file"),
            ("large", "it has more than 4194304 bytes"),
        ] {
            assert_eq!(read(&path(name)).unwrap_err().to_string(), why, "{name}");
        }
        let error = read(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.to_string(), "it is not a regular file");
        assert_eq!(read(&path("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(read(&path("whole")).unwrap().len() as u64, MAX_BYTES);
        assert_eq!(read_text(&path("text")).unwrap(), "caf\u{e9}");
        assert!(read_text(&path("latin")).is_err());
    }
}
