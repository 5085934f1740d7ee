//! Data folders of new database servers, stored as templates: making one takes a second of
//! processor time, copying it at most a sixth of that.
//!
//! Templates are in the folder that the environment variable `GODWIT_DATABASE_TEMPLATES` names,
//! which the test command sets. Without it, each server makes its own data folder.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::command::CommandLine;
use crate::error::{TestbedError, TestbedResult};

const VARIABLE: &str = "GODWIT_DATABASE_TEMPLATES";

/// Makes the data folder `data` by `make`, or copies the template that an earlier call stored for
/// the same `program`. Calls of several processes wait for the one that makes it.
///
/// # Errors
/// `make` fails, or a folder cannot be read or written.
pub(super) fn copy_or_make(
    program: &Path,
    data: &Path,
    make: impl FnOnce() -> TestbedResult<()>,
) -> TestbedResult<()> {
    match std::env::var_os(VARIABLE) {
        Some(folder) => copy_or_make_in(Path::new(&folder), program, data, make),
        None => make(),
    }
}

fn copy_or_make_in(
    folder: &Path,
    program: &Path,
    data: &Path,
    make: impl FnOnce() -> TestbedResult<()>,
) -> TestbedResult<()> {
    fs::create_dir_all(folder).map_err(|e| failure("make", folder, e))?;
    let template = folder.join(template_name(program)?);
    let lock_path = template.with_extension("lock");
    let lock = File::create(&lock_path).map_err(|e| failure("make", &lock_path, e))?;
    lock.lock().map_err(|e| failure("lock", &lock_path, e))?;
    if !template.exists() {
        make()?;
        // Another name until it is complete: the process that copies it may end on the way.
        let part = template.with_extension("part");
        if part.exists() {
            fs::remove_dir_all(&part).map_err(|e| failure("remove", &part, e))?;
        }
        copy(data, &part)?;
        return fs::rename(&part, &template).map_err(|e| failure("rename", &part, e));
    }
    drop(lock);
    copy(&template, data)
}

/// Returns the path of the template of a database server's data folder, a different one for each
/// version of the program.
fn template_name(program: &Path) -> TestbedResult<PathBuf> {
    let metadata = fs::metadata(program).map_err(|e| failure("read", program, e))?;
    let stem = program.file_name().unwrap_or_default().to_string_lossy();
    Ok(format!("{stem}-{}-{}", metadata.mtime(), metadata.len()).into())
}

/// Copies the folder `from` to `to` with owners and permissions.
pub(super) fn copy(from: &Path, to: &Path) -> TestbedResult<()> {
    let [from, to] = [from, to].map(|path| path.display().to_string());
    CommandLine::new("cp").arg("-a").arg(from).arg(to).run().map(drop)
}

fn failure(what: &str, path: &Path, error: std::io::Error) -> TestbedError {
    TestbedError::new(format!("cannot {what} {}", path.display()), error)
}

#[cfg(test)]
mod tests {
    use testkit::TempFolder;

    use super::*;

    #[test]
    fn a_data_folder_is_made_once_for_a_version_of_the_program() {
        let temporary = TempFolder::new("template");
        let folder = temporary.path();
        let program = folder.join("program");
        let templates = folder.join("templates");
        let mut count = 0;
        for (number, version) in ["1", "1", "22"].into_iter().enumerate() {
            // An unchanged file keeps its modification time only if it is not written again.
            if fs::read_to_string(&program).ok().as_deref() != Some(version) {
                fs::write(&program, version).unwrap();
            }
            let data = folder.join(number.to_string());
            copy_or_make_in(&templates, &program, &data, || {
                count += 1;
                fs::create_dir(&data).unwrap();
                fs::write(data.join("file"), version).unwrap();
                Ok(())
            })
            .unwrap();
            assert_eq!(fs::read_to_string(data.join("file")).unwrap(), version);
        }
        assert_eq!(count, 2);
        let failed = copy_or_make_in(&templates, &folder.join("none"), folder, || Ok(()));
        assert!(failed.unwrap_err().to_string().contains("cannot read"));
    }
}
