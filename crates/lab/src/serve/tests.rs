//! Answers of `godwit lab serve` to requests, most of them without a socket.

use std::fs;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

use hyper::{Method, StatusCode};
use measure::record::RunRecord;
use measure::summary::RunSummary;
use testkit::TempFolder;

use super::browser_request::{BrowserRequest, UrlEncodedFields};
use super::results_server::{BrowserResponse, ResultsServer};
use crate::journal::{JournalEntryKind, RunJournal};

const HOST: &str = "127.0.0.1:8067";
const TOKEN: &str = "0123456789abcdef";

/// Results folder with two runs, and the HTTP handler that serves it.
struct ResultsFixture {
    results: TempFolder,
    server: ResultsServer,
}

impl ResultsFixture {
    fn new(name: &str) -> Self {
        let results = TempFolder::new(&format!("desk-{name}"));
        for run in ["a", "b"] {
            let text = include_str!("../../../report/tests/data/summary.json");
            let mut summary: RunSummary = serde_json::from_str(text).unwrap();
            for result in &mut summary.results {
                result.segmentation = Some(true);
            }
            summary.noise.iter_mut().for_each(|noise| noise.typical_percent = 3.0);
            "mine".clone_into(&mut summary.plan.name);
            let folder = results.path().join(run);
            fs::create_dir_all(&folder).unwrap();
            let text = serde_json::to_string(&summary).unwrap();
            fs::write(folder.join("summary.json"), text).unwrap();
            fs::write(folder.join("report.html"), "<p>the report").unwrap();
        }
        let server = ResultsServer::new(results.path().to_owned(), 8067, TOKEN.to_owned());
        Self { results, server }
    }

    fn get(&self, target: &str) -> BrowserResponse {
        self.server.answer(&get(target))
    }

    fn post(&self, path: &str, form: &str, origin: Option<&str>) -> BrowserResponse {
        let request = BrowserRequest {
            method: Method::POST,
            form: UrlEncodedFields::parse(form).unwrap(),
            origin: origin.map(str::to_owned),
            ..get(path)
        };
        self.server.answer(&request)
    }

    fn has_baselines(&self) -> bool {
        self.results.path().join("baselines.json").exists()
    }
}

fn get(target: &str) -> BrowserRequest {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    BrowserRequest {
        method: Method::GET,
        path: path.to_owned(),
        query: UrlEncodedFields::parse(query).unwrap(),
        form: UrlEncodedFields::default(),
        host: HOST.to_owned(),
        origin: None,
    }
}

fn text(answer: &BrowserResponse) -> String {
    String::from_utf8(answer.body.clone()).unwrap()
}

#[test]
fn a_name_that_is_not_this_servers_is_not_answered() {
    let fixture = ResultsFixture::new("host");
    for (host, status) in [
        (HOST, StatusCode::OK),
        ("localhost:8067", StatusCode::OK),
        ("evil.example:8067", StatusCode::MISDIRECTED_REQUEST),
        ("127.0.0.1", StatusCode::MISDIRECTED_REQUEST),
        ("127.0.0.1:8068", StatusCode::MISDIRECTED_REQUEST),
    ] {
        let answer = fixture.server.answer(&BrowserRequest { host: host.to_owned(), ..get("/") });
        assert_eq!(answer.status, status, "{host}");
    }
}

#[test]
fn only_our_own_pages_change_anything() {
    let fixture = ResultsFixture::new("token");
    let right = format!("token={TOKEN}&run=a");
    let ours = Some("http://127.0.0.1:8067");
    for (form, origin) in [
        ("run=a", ours),
        ("token=&run=a", ours),
        ("token=0123456789abcdee&run=a", ours),
        (right.as_str(), Some("http://evil.example")),
        (right.as_str(), Some("null")),
        (right.as_str(), Some("https://127.0.0.1:8067")),
    ] {
        assert_eq!(fixture.post("/pin", form, origin).status, StatusCode::FORBIDDEN, "{form}");
        assert!(!fixture.has_baselines(), "{form} {origin:?}");
    }
    let in_query = BrowserRequest { method: Method::POST, ..get(&format!("/pin?{right}")) };
    assert_eq!(fixture.server.answer(&in_query).status, StatusCode::FORBIDDEN);
    assert_eq!(fixture.get(&format!("/pin?{right}")).status, StatusCode::NOT_FOUND);
    let answer = fixture.post("/pin", &right, ours);
    assert_eq!((answer.status, answer.location.as_deref()), (StatusCode::SEE_OTHER, Some("/")));
    assert!(fixture.has_baselines());
    assert!(text(&fixture.get("/?q=pinned")).contains("data-run=\"a\""));
    assert!(!text(&fixture.get("/?q=pinned")).contains("data-run=\"b\""));
    let answer = fixture.post("/unpin", &format!("token={TOKEN}&plan=mine"), None);
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    assert!(!text(&fixture.get("/?q=pinned")).contains("data-run"));
    assert_eq!(fixture.post("/else", &right, ours).status, StatusCode::NOT_FOUND);
}

#[test]
fn runs_are_compared_and_drawn() {
    let fixture = ResultsFixture::new("compare");
    assert!(text(&fixture.get("/compare?a=a&b=b")).contains("data-chart=\"ratios\""));
    let judged = text(&fixture.get("/compare?a=a&b=b&margin=50"));
    assert!(judged.contains("data-gate="), "{judged}");
    for (target, words) in [
        ("/compare?b=b", "no run of mine is pinned"),
        ("/compare?a=a", "the form lacks `b`"),
        ("/compare?a=a&b=none", "there is no run none"),
        ("/compare?a=a&b=../b", "there is no run ../b"),
        ("/compare?a=a&b=b&margin=100", "the margin is not from 0 to below 100"),
        ("/trend?plan=other", "there is no run of other"),
        ("/live?run=a", "a has no progress to show"),
    ] {
        let answer = fixture.get(target);
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{target}");
        assert!(text(&answer).contains(words), "{target}: {}", text(&answer));
    }
    assert!(
        text(&fixture.get("/trend?plan=mine")).contains("data-chart=\"trend-rate-godwit-none\"")
    );
}

#[test]
fn stored_files_are_shown_as_foreign_and_nothing_else_is() {
    let fixture = ResultsFixture::new("files");
    let answer = fixture.get("/results/a/report.html");
    assert_eq!((answer.status, answer.is_foreign), (StatusCode::OK, true));
    assert_eq!(text(&answer), "<p>the report");
    assert!(!fixture.get("/").is_foreign);
    let outside = format!("/results/{}", fixture.results.path().join("a/report.html").display());
    for target in ["/results/../desk", "/results/", "/results/a", &outside, "/etc/passwd", "/x"] {
        assert_eq!(fixture.get(target).status, StatusCode::NOT_FOUND, "{target}");
    }
    let put = BrowserRequest { method: Method::PUT, ..get("/") };
    assert_eq!(fixture.server.answer(&put).status, StatusCode::METHOD_NOT_ALLOWED);
}

#[test]
fn a_run_that_goes_on_tells_what_it_does() {
    let fixture = ResultsFixture::new("live");
    let folder = fixture.results.path().join("running");
    fs::create_dir_all(&folder).unwrap();
    let mut run = RunRecord::default();
    "<b>mine".clone_into(&mut run.plan.title);
    let mut journal = RunJournal::new(&folder, &run);
    journal.record(1.0, JournalEntryKind::Step, "first");
    let seen = |from: usize| -> serde_json::Value {
        let answer = fixture.get(&format!("/progress?run=running&from={from}"));
        serde_json::from_slice(&answer.body).unwrap()
    };
    assert_eq!(seen(0)["lines"], serde_json::json!(["[  1 s] first"]));
    journal.record(2.0, JournalEntryKind::Done, "second");
    let more = seen(1);
    assert_eq!(more["lines"], serde_json::json!(["[  2 s] second"]));
    assert_eq!((&more["next"], &more["now"]), (&2.into(), &"second".into()));
    assert_eq!((&more["is_running"], &more["has_report"]), (&true.into(), &false.into()));
    let page = text(&fixture.get("/live?run=running"));
    assert!(page.contains("No trial has ended yet") && page.contains("&lt;b&gt;mine"), "{page}");
    assert!(text(&fixture.get("/?q=running")).contains("/live?run=running"));
    drop(journal);
    // A process that another test starts at this moment has the journal's lock until it executes
    // another program.
    let until = Instant::now() + Duration::from_secs(300);
    while seen(0)["is_running"] == true && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(seen(0)["is_running"], false);
    fs::write(folder.join("report.html"), "").unwrap();
    assert_eq!(seen(0)["report"], "/results/running/report.html");
}

/// Returns the answer for a client that sends `octets` and waits for the end, which may be a reset.
fn reply(address: std::net::SocketAddr, octets: &[u8]) -> String {
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let mut answer = String::new();
    let sent = stream.write_all(octets).and_then(|()| stream.read_to_string(&mut answer));
    sent.map_or_else(|_| String::new(), |_| answer)
}

#[test]
fn connections_that_send_nothing_end_and_make_room_and_pages_say_what_they_may_load() {
    // Time passes when there is nothing else to do.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let fixture = ResultsFixture::new("room");
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server =
            ResultsServer::new(fixture.results.path().to_owned(), address.port(), TOKEN.to_owned());
        tokio::task::spawn_local(super::accept(listener, std::rc::Rc::new(server)));
        let begin = tokio::time::Instant::now();
        let (head_sender, head_ended) = tokio::sync::oneshot::channel();
        let (sender, answered) = tokio::sync::oneshot::channel();
        let client = std::thread::spawn(move || {
            let idle: Vec<_> = (0..super::CONNECTIONS)
                .map(|_| std::net::TcpStream::connect(address).unwrap())
                .collect();
            let slow = reply(address, b"GET / HT");
            head_sender.send(()).unwrap();
            let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
            // Time may pass before the request has left.
            let page = (0..10_000)
                .map(|_| reply(address, request.as_bytes()))
                .find(|page| !page.is_empty())
                .unwrap_or_default();
            drop(idle);
            sender.send((slow, page)).unwrap();
        });
        head_ended.await.unwrap();
        assert!(begin.elapsed() < super::CONNECTION_LIFETIME, "a head has a limit of its own");
        let (slow, page) = answered.await.unwrap();
        client.join().unwrap();
        assert_eq!(slow, "", "a request that does not come is not waited for");
        assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
        assert!(page.contains("content-security-policy: default-src 'none'"), "{page}");
    });
}
