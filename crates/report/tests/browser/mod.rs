//! Pages in headless Chromium, inspected by a script in a frame around them.

mod chromium_path;
pub(crate) mod widths;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

pub(crate) use chromium_path::chromium;

/// Runs `probe` around the page `html`, which is its `page`. Returns the text of the element
/// `#result` that the probe leaves, and the messages of the console.
pub(crate) fn browse(browser: &Path, name: &str, html: &str, probe: &str) -> (String, String) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("chromium-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a writable target folder");
    // A script that comes first collects the errors of the page's own script.
    let watch = "<script>found=[];addEventListener('error',e=>found.push(e.message));\
                 addEventListener('securitypolicyviolation',e=>found.push(e.violatedDirective));\
                 </script><meta charset=\"utf-8\">";
    let watched = html.replacen("<meta charset=\"utf-8\">", watch, 1);
    assert_ne!(watched, html);
    let text = serde_json::to_string(&watched).expect("text is JSON").replace('<', "\\u003c");
    let outer = format!("<!doctype html><body><script>const page={text};{probe}</script></body>");
    let file = folder.join("outer.html");
    fs::write(&file, outer).expect("a writable target folder");
    let mut command = Command::new(browser);
    command
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
        ])
        .args(["--disable-component-update", "--disable-sync", "--no-first-run"])
        .args(["--enable-logging=stderr", "--window-size=1400,1000"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .args(["--virtual-time-budget=20000", "--dump-dom"])
        .arg(format!("file://{}", file.display()));
    let (dom, log) = dumped(&mut command);
    let (_, rest) = dom.split_once(RESULT).expect("it is there");
    let (json, _) = rest.split_once("</pre>").expect("a closed element");
    let json = json.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    // Helpers of the browser may write to its profile for a while after it has ended.
    let is_removed = (0..1_200).any(|_| {
        let is_done = fs::remove_dir_all(&folder).is_ok();
        if !is_done {
            std::thread::sleep(Duration::from_millis(100));
        }
        is_done
    });
    assert!(is_removed, "{} stays", folder.display());
    (json, log.lines().filter(|line| line.contains("CONSOLE")).collect())
}

/// Start of the element that a probe leaves.
const RESULT: &str = "id=\"result\">";
/// Number of times that the browser is started for a page: on a busy machine it may print the page
/// before the frames in it are laid out, for which its virtual clock does not wait.
const STARTS: usize = 40;

/// Runs the browser until its output contains a probe's result; returns the dumped page and the
/// log.
fn dumped(command: &mut Command) -> (String, String) {
    let mut last = String::new();
    for _ in 0..STARTS {
        let Output { status, stdout, stderr } = command.output().expect("the browser starts");
        let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
        let (dom, log) = (text(&stdout), text(&stderr));
        if status.success() && dom.contains(RESULT) {
            return (dom, log);
        }
        last = format!("{status}: {log}");
    }
    panic!("no result: {last}");
}
