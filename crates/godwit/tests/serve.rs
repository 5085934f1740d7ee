//! Tests of `godwit lab serve` as a user sees it, in headless Chromium: stored runs are listed,
//! filtered, pinned, compared and opened, and the page follows a running one until its report
//! exists.
//!
//! The tests skip the parts that need the browser if Chromium is not installed, unless
//! `GODWIT_REQUIRE_TOOLS=1`.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use crate::chromium::{self, Browser};
use crate::results::runs::runs_plan;
use crate::results::slower::stored;
use crate::results::{GODWIT, TestResultsFolder, outcome};

/// Server that ends with its test.
struct LabServeProcess {
    child: Child,
    /// URL of the server's first page, with a slash at its end.
    url: String,
}

impl LabServeProcess {
    fn start(test_folder: &TestResultsFolder) -> Self {
        let mut command = Command::new(GODWIT);
        command.args(["lab", "serve", "--port", "0"]).current_dir(test_folder.path());
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("godwit starts");
        let mut url = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut url).expect("a line");
        let url = url.trim().to_owned();
        assert!(url.starts_with("http://127.0.0.1:"), "{url}");
        Self { child, url }
    }

    fn address(&self) -> &str {
        self.url.trim_start_matches("http://").trim_end_matches('/')
    }

    /// Returns the answer to the HTTP request with these lines.
    fn raw(&self, lines: &str) -> String {
        let mut stream = TcpStream::connect(self.address()).expect("it listens");
        stream.write_all(lines.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers in text");
        answer
    }
}

impl Drop for LabServeProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal to a process that the test has started.
fn signal(name: &str, child: &Child) {
    let kill = format!("kill -s {name} {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().expect("sh").success());
}

/// Largest number of sockets of a server: 64 connections, the listener, and the two ends of the
/// pair by which signals wake it.
const SOCKETS_MAX: usize = 67;

/// Returns the number of open sockets of a process.
fn sockets_of(child: &Child) -> usize {
    let files = std::fs::read_dir(format!("/proc/{}/fd", child.id())).expect("it runs");
    let targets = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    targets.filter(|target| target.to_string_lossy().starts_with("socket:")).count()
}

#[test]
fn silent_connections_end_and_leave_room_and_pages_have_a_policy() {
    let test_folder = TestResultsFolder::new("serve-silent");
    stored(&test_folder, "2024-a", 1.0, "aaaa");
    let server = LabServeProcess::start(&test_folder);
    // More connections than the server accepts at a time; the first of them begin a head and stop
    // there.
    let silent: Vec<TcpStream> = (0..80)
        .map(|number| {
            let mut stream = TcpStream::connect(server.address()).expect("it listens");
            let begun = if number < 40 { "GET / HTTP/1.1\r\n" } else { "" };
            stream.write_all(begun.as_bytes()).expect("it reads");
            stream
        })
        .collect();
    let head = format!("GET / HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.address());
    let page = server.raw(&head);
    assert!(page.starts_with("HTTP/1.1 200 OK"), "{page}");
    assert!(sockets_of(&server.child) <= SOCKETS_MAX, "connections beyond the limit wait");
    let policy = page.lines().find(|line| line.starts_with("content-security-policy: "));
    assert!(policy.is_some_and(|policy| policy.contains("default-src 'none'")), "{policy:?}");
    for mut stream in silent {
        // The server ends the connection, although the client sent no request: by a reset if it has
        // not read all bytes.
        let ended = stream.read_to_end(&mut Vec::new());
        let is_reset = |error: &std::io::Error| error.kind() == ErrorKind::ConnectionReset;
        assert!(ended.as_ref().err().is_none_or(is_reset), "{ended:?}");
    }
}

#[test]
fn it_listens_on_this_machine_only_and_ends_when_told() {
    let test_folder = TestResultsFolder::new("serve-plain");
    let (code, _, err) = outcome(&test_folder.lab(&["serve", "--port", "0"]));
    assert_eq!(code, Some(2));
    assert!(err.contains("there is no folder results"), "{err}");
    stored(&test_folder, "2024-a", 1.0, "aaaa");
    let mut server = LabServeProcess::start(&test_folder);
    let get = |host: &str| {
        let head = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        server.raw(&head).lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(get(server.address()), "HTTP/1.1 200 OK");
    assert_eq!(get("evil.example"), "HTTP/1.1 421 Misdirected Request");
    let (_, port) = server.address().rsplit_once(':').expect("a port");
    let (code, _, err) = outcome(&test_folder.lab(&["serve", "--port", port]));
    assert_eq!(code, Some(1));
    assert!(err.contains(&format!("cannot listen on 127.0.0.1:{port}")), "{err}");
    let form = "run=2024-a&token=guessed";
    let post = format!(
        "POST /pin HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{form}",
        server.address(),
        form.len()
    );
    assert!(server.raw(&post).starts_with("HTTP/1.1 403 Forbidden"));
    assert!(!test_folder.has("results/baselines.json"));
    signal("TERM", &server.child);
    assert_eq!(server.child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn runs_are_listed_filtered_pinned_and_compared_in_a_browser() {
    let Some(program) = chromium::chromium() else { return };
    let test_folder = TestResultsFolder::new("serve-list");
    stored(&test_folder, "2024-whole", 1.0, "aaaa");
    stored(&test_folder, "2025-half", 0.5, "bbbb");
    let server = LabServeProcess::start(&test_folder);
    let mut browser = Browser::start(&program, "list");
    browser.open(&server.url);
    let rows = "[...document.querySelectorAll('#runs tbody tr')].filter(row => !row.hidden)";
    assert_eq!(
        browser.run(&format!("{rows}.map(row => row.dataset.run).join()")),
        "2025-half,2024-whole"
    );

    browser.run(
        "const field = document.querySelector('#filter input'); field.value = 'WHOLE godwit'; \
         field.dispatchEvent(new Event('input')); 0",
    );
    assert_eq!(browser.run(&format!("{rows}.map(row => row.dataset.run).join()")), "2024-whole");
    browser.run("document.querySelector('#filter').requestSubmit(); 0");
    browser.wait_for(&format!("location.search === '?q=WHOLE+godwit' && {rows}.length === 1"));

    browser.run("document.querySelector('tr[data-run=\"2024-whole\"] button').click(); 0");
    let pinned = "document.querySelector('tr[data-run=\"2024-whole\"] button[aria-pressed=true]')";
    browser.wait_for(&format!("{pinned} !== null && {rows}.length === 2"));
    assert!(test_folder.has("results/baselines.json"));

    browser.run(
        "document.querySelector('input[name=b][value=\"2025-half\"]').click(); \
         document.querySelector('#margin').value = '10'; \
         document.querySelector('#pair').requestSubmit(); 0",
    );
    browser.wait_for("document.querySelector('[data-gate=regressed]') !== null");
    assert!(
        browser.run("document.querySelectorAll('[data-chart=ratios] .mark').length").as_u64()
            > Some(2)
    );

    browser.open(&server.url);
    browser
        .run("document.querySelector('tr[data-run=\"2025-half\"] a[href^=\"/trend\"]').click(); 0");
    let marks =
        "document.querySelectorAll('[data-chart=trend-rate-godwit-none] svg.wide .mark').length";
    browser.wait_for(&format!("{marks} === 2"));

    browser.open(&server.url);
    browser.run("document.querySelector('tr[data-run=\"2024-whole\"] a').click(); 0");
    browser.wait_for("document.querySelectorAll('[data-chart=\"load-curve\"] .mark').length > 2");
    // A stored page has no origin, so that its scripts cannot send requests to this server.
    assert_eq!(browser.run("self.origin"), "null");

    browser.resize(360);
    browser.open(&server.url);
    assert_eq!(browser.run("document.documentElement.scrollWidth <= 360"), true);
    browser.run(&format!("{pinned}.click(); 0"));
    browser.wait_for(&format!("{rows}.length === 2 && {pinned} === null"));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_run_that_goes_on_is_followed_until_its_report_is_there() {
    let Some(program) = chromium::chromium() else { return };
    let test_folder = TestResultsFolder::new("serve-live");
    std::fs::create_dir_all(test_folder.path().join("results")).expect("a folder");
    let plan = runs_plan(test_folder.path(), 100);
    // So many runs of some seconds outlast what the browser does.
    let path = test_folder.path().join(&plan);
    let text = std::fs::read_to_string(&path).expect("the plan");
    let text = text.replace("confirm_dwell_s = 0.1", "confirm_dwell_s = 5.0");
    std::fs::write(&path, text).expect("the plan");
    let server = LabServeProcess::start(&test_folder);
    let mut browser = Browser::start(&program, "live");
    let mut command = Command::new(GODWIT);
    command.args(["lab", "run", &plan, "--server", "godwit", "--time-budget", "80000"]);
    let mut child = command
        .current_dir(test_folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("godwit starts");
    let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    let second = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("round 2 of 100")));
    assert!(second.is_some(), "a second run begins");
    let rest = std::thread::spawn(move || lines.for_each(drop));

    browser.open(&server.url);
    assert_eq!(browser.run("document.querySelectorAll('#runs tbody tr').length"), 1);
    assert!(outcome(&test_folder.lab(&["list", "running"])).1.contains("running"));
    browser.run("document.querySelector('a.follow').click(); 0");
    browser
        .wait_for("document.querySelector('#so-far [data-chart=\"load-curve\"] .mark') !== null");
    // A whole run is over, so the page has a figure.
    browser.wait_for("document.querySelector('#so-far .card .figure .unit') !== null");
    // Its texts and charts change without any input to the page.
    browser.run("window.same = true; window.first = document.querySelector('#now').textContent; 0");
    browser.wait_for("window.same && document.querySelector('#now').textContent !== window.first");
    browser.run("window.drawn = document.querySelector('#so-far').firstElementChild; 0");
    browser.wait_for(
        "window.same && document.querySelector('#so-far').firstElementChild !== window.drawn",
    );
    assert!(browser.run("document.querySelectorAll('#told li').length").as_u64() > Some(1));

    signal("INT", &child);
    browser.wait_for(
        "location.pathname.endsWith('/report.html') \
         && document.querySelectorAll('[data-chart=runs] .mark').length > 0",
    );
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    rest.join().expect("the reader ends");
    browser.open(&server.url);
    assert_eq!(browser.run("document.querySelector('a.follow') === null"), true);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
