//! Places of the packages' files: the lists of files in `contrib/packaging`, the words in them that
//! differ between formats, and the root folders that they are copied to.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Folder of the packages' descriptions, from the root of the workspace.
pub(super) const DATA: &str = "contrib/packaging";
/// Names of the packages. Each has a list of files, `NAME.files`.
pub(super) const PACKAGES: [&str; 2] = ["godwit", "godwit-dhcp-server"];

/// Words of a format that stand for those in braces in the lists of files, and for those between
/// at signs in units and settings.
pub(super) struct PackageLayout {
    /// Words in braces: folders.
    folders: &'static [(&'static str, &'static str)],
    /// Words between at signs: names on the machine that the package is for.
    words: &'static [(&'static str, &'static str)],
    /// True if paths have no `usr/`, because the user chooses the folder.
    is_relocated: bool,
}

const DEBIAN_WORDS: &[(&str, &str)] = &[
    ("@BIN@", "/usr/bin/godwit"),
    ("@KEA_USER@", "_kea"),
    ("@KEA_DHCP4_UNIT@", "kea-dhcp4-server.service"),
    ("@KEA_DHCP6_UNIT@", "kea-dhcp6-server.service"),
];

/// Layout of Debian packages.
pub(super) const DEBIAN: PackageLayout = PackageLayout {
    folders: &[
        ("{units}", "lib/systemd/system"),
        ("{etc}", "etc"),
        ("{zsh}", "usr/share/zsh/vendor-completions"),
        ("{fish}", "usr/share/fish/vendor_completions.d"),
    ],
    words: DEBIAN_WORDS,
    is_relocated: false,
};

/// Layout of RPM packages.
pub(super) const RPM: PackageLayout = PackageLayout {
    folders: &[
        ("{units}", "usr/lib/systemd/system"),
        ("{etc}", "etc"),
        ("{zsh}", "usr/share/zsh/site-functions"),
        ("{fish}", "usr/share/fish/vendor_completions.d"),
    ],
    words: &[
        ("@BIN@", "/usr/bin/godwit"),
        ("@KEA_USER@", "kea"),
        ("@KEA_DHCP4_UNIT@", "kea-dhcp4.service"),
        ("@KEA_DHCP6_UNIT@", "kea-dhcp6.service"),
    ],
    is_relocated: false,
};

/// Layout of the archive that is unpacked in `/usr/local`.
pub(super) const ARCHIVE: PackageLayout = PackageLayout {
    folders: &[
        ("{units}", "usr/lib/systemd/system"),
        ("{etc}", "usr/share/godwit-dhcp-server"),
        ("{zsh}", "usr/share/zsh/site-functions"),
        ("{fish}", "usr/share/fish/vendor_completions.d"),
    ],
    words: &[
        ("@BIN@", "/usr/local/bin/godwit"),
        ("@KEA_USER@", "_kea"),
        ("@KEA_DHCP4_UNIT@", "kea-dhcp4-server.service"),
        ("@KEA_DHCP6_UNIT@", "kea-dhcp6-server.service"),
    ],
    is_relocated: true,
};

/// Sources of the packages' files.
pub(super) struct PackageSources<'s> {
    /// Folder of the workspace.
    pub(super) root: &'s Path,
    /// Path of the program.
    pub(super) binary: &'s Path,
    /// Folder of the files that the program and cargo have generated.
    pub(super) generated: &'s Path,
}

/// File of a package: its source, its path below the root folder, and its mode.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PackageFile {
    source: PathBuf,
    path: String,
    mode: u32,
}

/// Copies the files of the package `name` in `layout` to the folder `into`, and returns their
/// paths below it, sorted.
pub(super) fn copy(
    name: &str,
    layout: &PackageLayout,
    sources: &PackageSources<'_>,
    into: &Path,
) -> Result<Vec<String>, String> {
    let list = sources.root.join(DATA).join(format!("{name}.files"));
    let text = read(&list)?;
    let mut paths = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let files = files_of(line, layout, sources)
            .map_err(|reason| format!("{}:{}: {reason}", list.display(), index + 1))?;
        for file in files {
            copy_file(&file, layout, &into.join(&file.path))?;
            paths.push(file.path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Returns the files of a line of a list; none for remarks.
fn files_of(
    line: &str,
    layout: &PackageLayout,
    sources: &PackageSources<'_>,
) -> Result<Vec<PackageFile>, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [source, path, mode] = match words.as_slice() {
        [] | ["#", ..] => return Ok(Vec::new()),
        [source, path, mode] => [*source, *path, *mode],
        _ => return Err("three columns are expected: source, destination, mode".to_owned()),
    };
    let mode = u32::from_str_radix(mode, 8).map_err(|_| format!("{mode} is no mode"))?;
    let mut path = path.to_owned();
    for (word, folder) in layout.folders {
        path = path.replace(word, folder);
    }
    if layout.is_relocated {
        path = path.strip_prefix("usr/").unwrap_or(&path).to_owned();
    }
    let found = found(source, sources)?;
    if found.is_empty() {
        return Err(format!("no file is called {source}"));
    }
    let files = found.into_iter().map(|source| {
        let is_folder = path.ends_with('/');
        let name = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = if is_folder { format!("{path}{name}") } else { path.clone() };
        PackageFile { source, path, mode }
    });
    Ok(files.collect())
}

/// Returns the files that `source` names, sorted; it may have one `*` in its last part.
fn found(source: &str, sources: &PackageSources<'_>) -> Result<Vec<PathBuf>, String> {
    if source == "{binary}" {
        return Ok(vec![sources.binary.to_owned()]);
    }
    let path = match source.strip_prefix("{generated}/") {
        Some(rest) => sources.generated.join(rest),
        None => sources.root.join(source),
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Some((begin, end)) = name.split_once('*') else {
        return Ok(if path.is_file() { vec![path] } else { Vec::new() });
    };
    let folder = path.parent().unwrap_or(&path);
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut matching: Vec<PathBuf> = names
        .filter(|name| name.starts_with(begin) && name.ends_with(end))
        .map(|name| folder.join(name))
        .collect();
    matching.sort();
    Ok(matching)
}

fn copy_file(file: &PackageFile, layout: &PackageLayout, target: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", target.display());
    fs::create_dir_all(target.parent().unwrap_or(target)).map_err(failed)?;
    match fs::read_to_string(&file.source) {
        Ok(text) if text.contains('@') => {
            let fill = |text: String, (word, name): &(&str, &str)| text.replace(word, name);
            let text = layout.words.iter().fold(text, fill);
            fs::write(target, text).map_err(failed)?;
        }
        _ => {
            fs::copy(&file.source, target).map_err(failed)?;
        }
    }
    fs::set_permissions(target, fs::Permissions::from_mode(file.mode)).map_err(failed)
}

/// Returns the text of the file `path`.
pub(super) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// Writes `text` to the file `path`, and makes its folder.
pub(super) fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    fs::create_dir_all(path.parent().unwrap_or(path)).map_err(failed)?;
    fs::write(path, text).map_err(failed)
}

#[cfg(test)]
mod tests {
    use testkit::TempFolder;

    use super::*;

    fn with_sources<T>(check: impl FnOnce(&PackageSources<'_>, &Path) -> T) -> T {
        let folder = TempFolder::new("package-layout");
        let generated = folder.path().join("generated");
        write(&generated.join("man/a.1"), "page").unwrap();
        write(&generated.join("man/b.1"), "page").unwrap();
        let sources = PackageSources {
            root: crate::workspace_root(),
            binary: Path::new("/bin/true"),
            generated: &generated,
        };
        check(&sources, folder.path())
    }

    #[test]
    fn a_line_names_one_file_or_all_of_a_kind() {
        with_sources(|sources, _| {
            let paths = |line: &str, layout: &PackageLayout| {
                let files = files_of(line, layout, sources)?;
                Ok(files.into_iter().map(|file| file.path).collect::<Vec<_>>())
            };
            let pages = ["usr/share/man/man1/a.1", "usr/share/man/man1/b.1"].map(str::to_owned);
            let line = "{generated}/man/*.1 usr/share/man/man1/ 644";
            assert_eq!(paths(line, &DEBIAN), Ok::<_, String>(pages.to_vec()));
            let line = "{binary} usr/bin/godwit 755";
            assert_eq!(paths(line, &ARCHIVE), Ok(vec!["bin/godwit".to_owned()]));
            assert_eq!(paths("# remark", &DEBIAN), Ok(Vec::new()));
            for wrong in ["{binary} usr/bin/godwit", "{binary} usr/bin/godwit rw", "none x 644"] {
                assert!(paths(wrong, &DEBIAN).is_err(), "{wrong}");
            }
        });
    }

    #[test]
    fn no_word_between_at_signs_is_left_in_the_server_package() {
        with_sources(|sources, folder| {
            for (number, layout) in [DEBIAN, RPM, ARCHIVE].iter().enumerate() {
                let into = folder.join(number.to_string());
                let paths = copy("godwit-dhcp-server", layout, sources, &into).unwrap();
                assert!(paths.iter().any(|path| path.ends_with("godwit-dhcp4.service")));
                for path in paths {
                    let text = read(&into.join(&path)).unwrap();
                    let words = ["@BIN@", "@KEA_USER@", "@KEA_DHCP"];
                    assert!(!words.iter().any(|word| text.contains(word)), "{path}: {text}");
                }
            }
        });
    }

    #[test]
    fn both_formats_describe_the_packages_with_the_same_words() {
        let data = crate::workspace_root().join(DATA);
        let control = read(&data.join("debian/control")).unwrap();
        let spec = read(&data.join("rpm/godwit.spec")).unwrap();
        let mut lines = 0;
        for line in control.lines().filter(|line| line.starts_with(' ')) {
            assert!(spec.contains(line.trim()), "not in godwit.spec: {line}");
            lines += 1;
        }
        assert!(lines > 8);
    }
}
