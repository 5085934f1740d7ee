//! Container image without a daemon: the program, the libraries that it is linked with and the
//! folders of Kea, as an OCI layout in an archive.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::PackageRun;
use super::formats::stripped;
use super::generated::text_of;
use super::layout::write;

/// Files of the image's root that are written here, by their paths.
const FILES: [(&str, &str); 3] = [
    (
        "etc/passwd",
        "root:x:0:0:root:/:/sbin/nologin\n_kea:x:100:100:Kea:/var/lib/kea:/sbin/nologin\n",
    ),
    ("etc/group", "root:x:0:\n_kea:x:100:\n"),
    ("etc/nsswitch.conf", "hosts: files dns\n"),
];
/// Debian packages of the libraries, whose licenses the image has.
const LIBRARY_PACKAGES: [&str; 2] = ["libc6", "libgcc-s1"];

/// Makes the image's archive.
pub(super) fn make(run: &PackageRun<'_>) -> Result<(), String> {
    let folder = run.work.join("image");
    let root = folder.join("root");
    let binary = stripped(run)?;
    for (path, text) in FILES {
        write(&root.join(path), text)?;
    }
    let mut files = vec![(binary.clone(), PathBuf::from("usr/bin/godwit"))];
    let libraries = libraries(&text_of(Command::new("ldd").arg(&binary))?);
    files.extend(libraries.into_iter().map(|library| {
        let path = library.strip_prefix("/").unwrap_or(&library).to_owned();
        (library, path)
    }));
    let doc = Path::new("usr/share/doc");
    for package in LIBRARY_PACKAGES {
        let copyright = doc.join(package).join("copyright");
        files.push((Path::new("/").join(&copyright), copyright));
    }
    let copyright = run.root().join("contrib/packaging/debian/copyright");
    files.push((copyright, doc.join("godwit/copyright")));
    files.push((run.generated().join("third-party.txt"), doc.join("godwit/third-party.txt")));
    let mut lines = String::from("umask 022\n");
    for (source, path) in &files {
        lines += &format!("install -D -m 755 '{}' '{}'\n", source.display(), path.display());
    }
    lines += "mkdir -p etc/kea run/kea var/lib/kea var/log/kea\n\
              mkdir -m 1777 tmp\n\
              chmod 644 usr/share/doc/*/*\n\
              chmod 750 run/kea var/lib/kea var/log/kea\n";
    run.step("image-root", &mut run.shell(&lines, &root, &[]))?;
    let script = "tar -cf root.tar -C root .\n\
        created=$(date -u -d @$SOURCE_DATE_EPOCH +%FT%TZ)\n\
        umoci init --layout layout\n\
        umoci new --image layout:$VERSION\n\
        umoci raw add-layer --image layout:$VERSION --no-history root.tar\n\
        umoci config --image layout:$VERSION --no-history --created $created \
            --architecture amd64 --os linux --config.entrypoint /usr/bin/godwit \
            --config.label org.opencontainers.image.title=godwit \
            --config.label org.opencontainers.image.version=$VERSION \
            --config.label 'org.opencontainers.image.licenses=MIT OR Apache-2.0'\n\
        umoci gc --layout layout\n\
        tar -cf \"$1/godwit-$VERSION-oci.tar\" -C layout .";
    run.step("image", &mut run.shell(script, &folder, &[&run.output]))
}

/// Returns the paths of the libraries in ldd's output `listed`.
fn libraries(listed: &str) -> Vec<PathBuf> {
    let words =
        |line: &str| line.split_whitespace().find(|w| w.starts_with('/')).map(PathBuf::from);
    listed.lines().filter_map(words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_those_with_a_path() {
        let listed = "\tlinux-vdso.so.1 (0x00007ffc)\n\
                      \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n\
                      \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let paths = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"];
        assert_eq!(libraries(listed), paths.map(PathBuf::from));
    }
}
