//! Tests of the standard output of every command without a reader, and with a full device.

use std::fs::File;
use std::io::pipe;
use std::process::{Command, Output, Stdio};

use crate::common::{TempFolder, configuration};

/// Runs `words` with `output` as standard output.
fn run(words: &[&str], output: Stdio) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
    command.args(words).stdin(Stdio::null()).stdout(output);
    command.stderr(Stdio::piped()).output().expect("the binary starts")
}

#[test]
fn a_reader_that_has_gone_is_no_error_and_a_full_disk_is_one_sentence() {
    let folder = TempFolder::new("output");
    let config = configuration(folder.path(), "none", 1);
    let config = config.to_str().expect("the path is plain");
    let commands: [&[&str]; 13] = [
        &["--help"],
        &["dhcp4", "-v"],
        &["dhcp6", "-V"],
        &["dhcp4", "-W"],
        &["dhcp4", "-t", config],
        &["lab", "plans"],
        &["lab", "plans", "--json"],
        &["lab", "peers"],
        &["lab", "peers", "--json"],
        &["lab", "--help"],
        &["ifpps", "lo", "--csv", "-t", "10"],
        &["ifpps", "lo", "--json", "-t", "10", "--count", "1"],
        &["cpustat"],
    ];
    for words in commands {
        let (reader, writer) = pipe().expect("the kernel has pipes");
        drop(reader);
        let output = run(words, writer.into());
        let output_text = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && output_text.is_empty(),
            "{words:?}: {output_text} {}",
            output.status
        );
        if words.contains(&"--help") {
            continue;
        }
        let full = File::options().write(true).open("/dev/full").expect("Linux has it");
        let output = run(words, full.into());
        let output_text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {output_text}");
        assert!(
            output_text.starts_with("error: cannot write to standard output: "),
            "{words:?}: {output_text}"
        );
        assert_eq!(output_text.lines().count(), 1, "{output_text}");
    }
}
