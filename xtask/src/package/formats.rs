//! Packages of Debian and RPM, and the archive.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::generated::text_of;
use super::layout::{self, ARCHIVE, DATA, DEBIAN, PACKAGES, RPM, read, write};
use super::{PackageRun, write_list};

/// Makes the Debian packages, and that of the program's symbols.
pub(super) fn make_debian(run: &PackageRun<'_>) -> Result<(), String> {
    let tree = run.work.join("debian/godwit");
    let generated = run.generated();
    let sources = run.sources(&run.binary, &generated);
    for name in PACKAGES {
        layout::copy(name, &DEBIAN, &sources, &tree.join("stage").join(name))?;
    }
    let script = "cp -r \"$1\" debian\n\
                  changelog() {\n\
                  echo \"godwit ($VERSION) unstable; urgency=medium\"; echo\n\
                  echo '  * Changes: CHANGELOG.md in the sources.'; echo\n\
                  echo \" -- $(sed -n 's/^Maintainer: //p' debian/control)  \
                  $(date -u -R -d @$SOURCE_DATE_EPOCH)\"\n\
                  }\n\
                  changelog >debian/changelog\n\
                  mkdir -p debian/source && echo '3.0 (native)' >debian/source/format\n\
                  dpkg-buildpackage --build=binary --no-sign\n\
                  cp ../*.deb \"$2\"";
    let data = run.root().join(DATA).join("debian");
    run.step("debian", &mut run.shell(script, &tree, &[&data, &run.output]))
}

/// Makes the RPM packages.
pub(super) fn make_rpm(run: &PackageRun<'_>) -> Result<(), String> {
    let folder = run.work.join("rpm");
    let (stage, lists) = (folder.join("stage"), folder.join("lists"));
    let binary = stripped(run)?;
    let generated = run.generated();
    let sources = run.sources(&binary, &generated);
    for name in PACKAGES {
        let paths = layout::copy(name, &RPM, &sources, &stage.join(name))?;
        let is_setting = |path: &String| path.starts_with("etc/");
        let (settings, others): (Vec<String>, Vec<String>) =
            paths.into_iter().partition(is_setting);
        let list = lists.join(name);
        write_list(&list, &others, "/")?;
        let others = read(&list)?;
        write_list(&list, &settings, "%config(noreplace) /")?;
        let pages = others.replace(".1\n", ".1*\n");
        write(&list, format!("%defattr(-,root,root)\n{pages}{}", read(&list)?))?;
    }
    let spec = read(&run.root().join(DATA).join("rpm/godwit.spec"))?
        .replace("{version}", &run.version)
        .replace("{glibc}", &glibc_minimum(&binary)?)
        .replace("{stage}", &stage.display().to_string())
        .replace("{lists}", &lists.display().to_string());
    let spec_path = folder.join("godwit.spec");
    write(&spec_path, spec)?;
    let script = "rpmbuild -bb --quiet \
                  --define \"_topdir $PWD\" --define '_buildhost godwit' \
                  --define 'use_source_date_epoch_as_buildtime 1' \
                  --define 'clamp_mtime_to_source_date_epoch 1' \
                  --define '_build_id_links none' --define \"_binary_payload w$COMPRESSION_LEVEL.xzdio\" \
                  --define '_docdir_fmt %{NAME}' \"$1\"\n\
                  cp RPMS/*/*.rpm \"$2\"";
    run.step("rpm", &mut run.shell(script, &folder, &[&spec_path, &run.output]))
}

/// Makes the archive, which is unpacked in `/usr/local`.
pub(super) fn make_archive(run: &PackageRun<'_>) -> Result<(), String> {
    let folder = run.work.join("archive");
    let name = format!("godwit-{}-x86_64-linux-gnu", run.version);
    let tree = folder.join(&name);
    let binary = stripped(run)?;
    let generated = run.generated();
    let sources = run.sources(&binary, &generated);
    for package in PACKAGES {
        layout::copy(package, &ARCHIVE, &sources, &tree)?;
    }
    let readme = format!(
        "Godwit {} for Linux on x86-64 with glibc {} or later.\n\n\
         tar --strip-components=1 -C /usr/local -xf {name}.tar.xz\n\n\
         share/doc/godwit/book/installing.md describes the rest.\n",
        run.version,
        glibc_minimum(&binary)?
    );
    write(&tree.join("share/doc/godwit/README.archive"), readme)?;
    let script = "tar -cJf \"$2/$1.tar.xz\" \"$1\"";
    run.step("archive", &mut run.shell(script, &folder, &[Path::new(&name), &run.output]))
}

/// Makes a copy of the program without symbols, and returns its path.
pub(super) fn stripped(run: &PackageRun<'_>) -> Result<PathBuf, String> {
    let path = run.work.join("stripped/godwit");
    if !path.exists() {
        let folder = path.parent().unwrap_or(&path);
        fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        run.step("strip", Command::new("strip").arg("-o").args([&path, &run.binary]))?;
    }
    Ok(path)
}

/// Returns the lowest version of glibc that has all functions that the program `binary` calls.
pub(super) fn glibc_minimum(binary: &Path) -> Result<String, String> {
    let symbols = text_of(Command::new("objdump").arg("-T").arg(binary))?;
    newest_glibc(&symbols).ok_or_else(|| format!("{} calls no glibc", binary.display()))
}

/// Returns the newest version of glibc among the dynamic symbols in `symbols`.
fn newest_glibc(symbols: &str) -> Option<String> {
    let versions = symbols.split("GLIBC_").skip(1).filter_map(|rest| {
        let text: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        let numbers: Option<Vec<u32>> = text.split('.').map(|part| part.parse().ok()).collect();
        Some((numbers?, text))
    });
    versions.max().map(|(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_glibc_counts_by_number() {
        let symbols = "x DF *UND* 0 (GLIBC_2.9) a\nx DF *UND* 0 (GLIBC_2.34) b\n\
                       x DF *UND* 0 (GLIBC_PRIVATE) c\nx DF *UND* 0 (GCC_3.0) d\n";
        assert_eq!(newest_glibc(symbols).as_deref(), Some("2.34"));
        assert_eq!(newest_glibc("none"), None);
    }
}
