//! Copy of the lab on another machine: it keeps a folder there as long as it is connected to the
//! lab that started it.

use std::fs;
use std::io::{self, BufRead, Write};
use std::net::IpAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

use netio::Clock;
use testbed::topology::allowed_cpus;

use super::message::{Copy, Hello, RemoteAnswer, RemoteOrder};
use crate::error::{LabError, LabResult};

/// Folder of a session on another machine, which is removed when this value is dropped.
struct SessionFolder(PathBuf);

impl Drop for SessionFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Carries out the orders of the lab in `orders`, one a line, and writes a line to `answers` for
/// each, until the orders end. Removes its folder afterwards.
///
/// # Errors
/// The folder cannot be made, or the answers cannot be written.
pub fn run_agent(orders: impl BufRead, mut answers: impl Write) -> LabResult<()> {
    let name = format!("godwit-lab-{}-{}", std::process::id(), Clock::mono_ns());
    let folder = SessionFolder(std::env::temp_dir().join(name));
    fs::DirBuilder::new()
        .mode(0o700)
        .create(&folder.0)
        .map_err(|e| LabError::cannot(format!("create {}", folder.0.display()), e))?;
    let mut say = |answer: &RemoteAnswer| {
        let line = serde_json::to_string(answer).expect("answers are plain data");
        let written = writeln!(answers, "{line}").and_then(|()| answers.flush());
        written.map_err(|e| LabError::cannot("answer the lab", e))
    };
    say(&RemoteAnswer::Hello(hello(&folder.0)?))?;
    for line in orders.lines() {
        let line = line.map_err(|e| LabError::cannot("read the lab's commands", e))?;
        say(&match serde_json::from_str(&line) {
            Ok(order) => carry_out(order, &folder.0),
            Err(e) => RemoteAnswer::Failed(format!("`{line}` is not a command: {e}")),
        })?;
    }
    Ok(())
}

fn hello(folder: &Path) -> LabResult<Hello> {
    let all = netio::interface::list().map_err(|e| LabError::cannot("list interfaces", e))?;
    let interfaces = all.into_iter().map(|one| {
        let own: &[IpAddr] = if one.is_loopback { &LOOPBACK } else { &[] };
        let addresses = one.addresses.iter().chain(own).copied().collect();
        (one.name, addresses)
    });
    Ok(Hello {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        processors: allowed_cpus(),
        folder: folder.to_string_lossy().into_owned(),
        interfaces: interfaces.collect(),
    })
}

/// Addresses of the loopback interface, which the copy of the lab on another machine always
/// reports.
const LOOPBACK: [IpAddr; 2] =
    [IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), IpAddr::V6(std::net::Ipv6Addr::LOCALHOST)];

fn carry_out(order: RemoteOrder, folder: &Path) -> RemoteAnswer {
    let path = match &order {
        RemoteOrder::Clock => return RemoteAnswer::Clock(Clock::mono_ns()),
        RemoteOrder::Put(Copy { path, .. }) | RemoteOrder::Clear(path) | RemoteOrder::Get(path) => {
            path.clone()
        }
    };
    if !is_inside(Path::new(&path), folder) {
        return RemoteAnswer::Failed(format!("{path} is not in {}", folder.display()));
    }
    let tried = match order {
        RemoteOrder::Put(Copy { text, .. }) => write_file(Path::new(&path), &text),
        RemoteOrder::Clear(_) => clear(Path::new(&path)),
        RemoteOrder::Get(_) => return read_files(Path::new(&path)),
        RemoteOrder::Clock => unreachable!("answered above"),
    };
    match tried {
        Ok(()) => RemoteAnswer::Done,
        Err(e) => RemoteAnswer::Failed(format!("{path}: {e}")),
    }
}

/// Returns true if `path` is below `folder` and has no `..`.
fn is_inside(path: &Path, folder: &Path) -> bool {
    path.starts_with(folder) && !path.components().any(|part| part == Component::ParentDir)
}

fn write_file(path: &Path, text: &str) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, text)
}

fn clear(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Returns the text files in `folder` as an answer to the lab; none if the folder does not exist.
fn read_files(folder: &Path) -> RemoteAnswer {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.path().is_file()).filter_map(|entry| {
        let text = fs::read_to_string(entry.path()).ok()?;
        Some(Copy { path: entry.file_name().to_string_lossy().into_owned(), text })
    });
    RemoteAnswer::Files(files.collect())
}

#[cfg(test)]
mod tests {
    use testkit::TempFolder;

    use super::*;

    fn answers(orders: &[RemoteOrder]) -> Vec<RemoteAnswer> {
        let lines: Vec<String> =
            orders.iter().map(|order| serde_json::to_string(order).unwrap() + "\n").collect();
        let mut output = Vec::new();
        run_agent(lines.concat().as_bytes(), &mut output).unwrap();
        let output = String::from_utf8(output).unwrap();
        output.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn it_says_who_it_is_and_its_folder_goes_with_it() {
        let answers = answers(&[RemoteOrder::Clock]);
        let [RemoteAnswer::Hello(hello), RemoteAnswer::Clock(at_ns)] = &answers[..] else {
            panic!("{answers:?}")
        };
        assert_eq!(hello.version, env!("CARGO_PKG_VERSION"));
        assert!(!hello.processors.is_empty() && *at_ns > 0);
        let has = |ip: &IpAddr| hello.interfaces.iter().any(|(_, own)| own.contains(ip));
        assert!(LOOPBACK.iter().all(has), "{:?}", hello.interfaces);
        assert!(!Path::new(&hello.folder).exists());
    }

    #[test]
    fn nothing_outside_its_folder_is_touched() {
        let path = |text: &str| text.to_owned();
        let outside = answers(&[
            RemoteOrder::Put(Copy { path: path("/tmp/godwit-lab-x/y"), text: path("z") }),
            RemoteOrder::Clear(path("/tmp")),
            RemoteOrder::Get(path("/etc")),
        ]);
        assert!(
            outside[1..].iter().all(|answer| matches!(answer, RemoteAnswer::Failed(_))),
            "{outside:?}"
        );
        let folder = Path::new("/tmp/godwit-lab-1");
        for (path, expected) in [
            ("/tmp/godwit-lab-1/servers/x", true),
            ("/tmp/godwit-lab-1/../y", false),
            ("/tmp/godwit-lab-12", false),
        ] {
            assert_eq!(is_inside(Path::new(path), folder), expected, "{path}");
        }
    }

    #[test]
    fn files_come_back_as_they_were_put() {
        let temporary = TempFolder::new("hosts");
        let folder = &temporary.path().join("own");
        let path = folder.join("servers/godwit/config.json").display().to_string();
        let put = carry_out(RemoteOrder::Put(Copy { path, text: "{}".to_owned() }), folder);
        assert_eq!(put, RemoteAnswer::Done);
        let at = folder.join("servers/godwit").display().to_string();
        let copy = Copy { path: "config.json".to_owned(), text: "{}".to_owned() };
        assert_eq!(
            carry_out(RemoteOrder::Get(at.clone()), folder),
            RemoteAnswer::Files(vec![copy])
        );
        assert_eq!(carry_out(RemoteOrder::Clear(at.clone()), folder), RemoteAnswer::Done);
        assert_eq!(
            carry_out(RemoteOrder::Clear(at.clone()), folder),
            RemoteAnswer::Done,
            "it is gone already"
        );
        assert_eq!(carry_out(RemoteOrder::Get(at), folder), RemoteAnswer::Files(Vec::new()));
    }
}
