//! Files that a command line names: read from the file system, or sent together with the command
//! line to another machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use load::LoadShapeArg;

use super::args::{self, PerfdhcpArgs};

/// Source of the files that a command line names.
#[derive(Clone, Debug, Default)]
pub(crate) enum NamedFileSource {
    /// Files are read from this machine's file system.
    #[default]
    Here,
    /// Files came with the command line from another machine.
    Brought(BTreeMap<PathBuf, Vec<u8>>),
}

impl NamedFileSource {
    /// Returns the content of the file that the command line names `path`.
    pub(crate) fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self {
            Self::Here => fs::read(path),
            Self::Brought(files) => {
                files.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
            }
        }
    }

    /// Returns the files of the pairs that [`pack`] made; `None` when one is damaged.
    pub(crate) fn unpack(packed: Vec<(String, String)>) -> Option<Self> {
        let unpacked =
            packed.into_iter().map(|(path, hex)| Some((path.into(), args::octets(&hex).ok()?)));
        unpacked.collect::<Option<_>>().map(Self::Brought)
    }
}

/// Returns every file that `args` name, as pairs of its path and its content in hexadecimal digits.
pub(crate) fn pack(args: &PerfdhcpArgs) -> io::Result<Vec<(String, String)>> {
    let lists = [&args.mac_list, &args.relay_list].into_iter().flatten().map(PathBuf::as_path);
    let replay = match &args.shape {
        Some(LoadShapeArg::Replay(path)) => Some(Path::new(path)),
        _ => None,
    };
    let templates = args.templates.iter().map(PathBuf::as_path);
    let packed = lists.chain(templates).chain(replay).map(|path| {
        let octets = args.files.read(path)?;
        let hex = octets.iter().map(|octet| format!("{octet:02x}")).collect();
        Ok((path.to_string_lossy().into_owned(), hex))
    });
    packed.collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use testkit::TempFolder;

    use super::*;

    #[test]
    fn files_that_were_brought_along_are_the_same_files() {
        let temporary = TempFolder::new("files");
        let folder = temporary.path();
        let path = |name: &str| folder.join(name).display().to_string();
        let names = ["macs", "relays", "first", "second", "times"].map(path);
        for (name, octet) in names.iter().zip(0_u8..) {
            fs::write(name, [octet, b'\n', 0xff]).unwrap();
        }
        let [macs, relays, first, second, times] = &names;
        let shape = format!("--shape=replay:{times}");
        let line = ["perfdhcp", "-M", macs, "-J", relays, "-T", first, "-T", second, &shape];
        let packed = pack(&PerfdhcpArgs::try_parse_from(line).unwrap()).unwrap();
        fs::remove_dir_all(folder).unwrap();
        assert_eq!(packed.len(), 5);
        let files = NamedFileSource::unpack(packed).unwrap();
        for (name, octet) in names.iter().zip(0_u8..) {
            assert_eq!(files.read(Path::new(name)).unwrap(), [octet, b'\n', 0xff]);
        }
        assert!(files.read(Path::new("other")).is_err());
        assert!(NamedFileSource::unpack(vec![("x".into(), "0g".into())]).is_none());
    }
}
