//! tshark's reading of a capture, as PDML.

use std::path::Path;
use std::process::Command;

use crate::common::Vectors;

/// Returns tshark's reading of a capture, packet by packet; `None` when it is not installed, unless
/// `GODWIT_REQUIRE_TOOLS=1` makes that a failure.
pub(crate) fn packets(file: &Path) -> Option<Vec<String>> {
    let Ok(output) = Command::new("tshark").arg("-r").arg(file).args(["-T", "pdml"]).output()
    else {
        testkit::skip("tshark is not installed");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.split("<packet>").skip(1).map(str::to_owned).collect())
}

/// Returns the value of an attribute in a line of PDML; empty when it has none.
pub(crate) fn attribute<'a>(line: &'a str, name: &str) -> &'a str {
    let Some((_, rest)) = line.split_once(&format!(" {name}=\"")) else { return "" };
    rest.split_once('"').map_or("", |(value, _)| value)
}

/// Asserts that the text counterparts of the captures equal tshark's reading of them, in the form
/// that `render` returns. Writes them first when the environment requests it.
pub(crate) fn check_twins(vectors: Vectors, render: impl Fn(&[String]) -> String) {
    for capture in vectors.captures {
        let Some(packets) = packets(&vectors.file(&format!("{capture}.pcap"))) else { return };
        let text = render(&packets);
        let twin = vectors.file(&format!("{capture}.txt"));
        if std::env::var_os("GODWIT_WRITE_TWINS").is_some_and(|value| value == "1") {
            std::fs::write(&twin, &text).unwrap();
        }
        assert_eq!(std::fs::read_to_string(twin).unwrap(), text, "{capture}");
    }
}
