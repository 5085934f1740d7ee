//! Headless Chromium, controlled over a pair of pipes in its own protocol (for each message a JSON
//! object and a byte of zero): tests load pages from the server, click in them and examine them.

#[path = "../../../report/tests/browser/chromium_path.rs"]
mod chromium_path;

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::PATIENCE;

pub(crate) use chromium_path::chromium;

/// Browser with one page.
pub(crate) struct Browser {
    child: Child,
    folder: PathBuf,
    to: File,
    from: Receiver<Value>,
    /// Number of calls so far.
    calls: u64,
    session: Option<String>,
    events: VecDeque<Value>,
}

impl Browser {
    /// Starts the browser with a profile of its own.
    pub(crate) fn start(program: &Path, name: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("serve-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a writable target folder");
        let pipes = ["in", "out"].map(|name| folder.join(name));
        assert!(Command::new("mkfifo").args(&pipes).status().expect("mkfifo").success());
        // Opened both ways, so that neither end waits for the other to open.
        let open = |path: &PathBuf| {
            OpenOptions::new().read(true).write(true).open(path).expect("a pipe of our own")
        };
        let (to, from) = (open(&pipes[0]), open(&pipes[1]));
        let child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<\"$IN\" 4>\"$OUT\"", "sh"])
            .arg(program)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update"])
            .args(["--disable-sync", "--remote-debugging-pipe", "--window-size=1400,1000"])
            .arg(format!("--user-data-dir={}", folder.join("profile").display()))
            .arg("about:blank")
            .env("IN", &pipes[0])
            .env("OUT", &pipes[1])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the browser starts");
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(from);
            let mut octets = Vec::new();
            while reader.read_until(0, &mut octets).is_ok_and(|count| count > 0) {
                let message = serde_json::from_slice(octets.strip_suffix(b"\0").unwrap_or(&octets));
                octets.clear();
                if sender.send(message.expect("the browser speaks JSON")).is_err() {
                    break;
                }
            }
        });
        let mut browser = Self {
            child,
            folder,
            to,
            from: receiver,
            calls: 0,
            session: None,
            events: VecDeque::new(),
        };
        let target = browser.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", &attach);
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    /// Calls a method and waits for its answer. Keeps events that arrive in the meantime.
    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.calls += 1;
        let mut message = json!({ "id": self.calls, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let text = message.to_string() + "\0";
        self.to.write_all(text.as_bytes()).expect("the browser listens");
        loop {
            let message = self.from.recv_timeout(PATIENCE).expect("the browser answers");
            if message["id"] != self.calls {
                self.events.push_back(message);
            } else if message["error"].is_null() {
                return Ok(message["result"].clone());
            } else {
                return Err(message["error"]["message"].to_string());
            }
        }
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.ask(method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// Loads a page.
    pub(crate) fn open(&mut self, url: &str) {
        let loaded = self.call("Page.navigate", &json!({ "url": url }));
        assert!(loaded["errorText"].is_null(), "{url}: {loaded}");
        let here = serde_json::to_string(url).expect("JSON");
        self.wait_for(&format!("location.href === {here} && document.readyState === 'complete'"));
    }

    /// Waits until an expression is true in the page that the browser shows at that time, and
    /// returns its value.
    pub(crate) fn wait_for(&mut self, condition: &str) -> Value {
        let look = format!(
            "new Promise(resolve => {{ const end = Date.now() + 1000; const look = () => {{ \
             let value = null; try {{ value = ({condition}); }} catch {{ value = null; }} \
             if (value || Date.now() > end) resolve(value || null); else setTimeout(look, 20); \
             }}; look(); }})"
        );
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let params = json!({ "expression": look, "awaitPromise": true, "returnByValue": true });
            // A page that the browser leaves during the call gives no answer.
            let value = self.ask("Runtime.evaluate", &params).unwrap_or_default();
            if !value["result"]["value"].is_null() {
                return value["result"]["value"].clone();
            }
        }
        let shown =
            self.run("document.title + '\\n' + location.href + '\\n' + document.body.innerText");
        panic!("never true: {condition}\n{shown}");
    }

    /// Runs a script in the page and returns its value.
    pub(crate) fn run(&mut self, script: &str) -> Value {
        let params = json!({ "expression": script, "awaitPromise": true, "returnByValue": true });
        let value = self.call("Runtime.evaluate", &params);
        assert!(value["exceptionDetails"].is_null(), "{script}: {value}");
        value["result"]["value"].clone()
    }

    /// Sets the width of pages from now on, in pixels.
    pub(crate) fn resize(&mut self, width: u32) {
        let metrics =
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", &metrics);
    }

    /// Returns the errors of pages: errors of scripts, of the console, of policies. Requests for
    /// icons come from the browser and not from pages, so they do not count.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        self.run("0");
        let is_one = |event: &&Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => event["params"]["type"] == "error",
            Some("Log.entryAdded") => event["params"]["entry"]["level"] == "error",
            _ => false,
        };
        let found = self.events.iter().filter(is_one).map(Value::to_string);
        found.filter(|text| !text.contains("favicon")).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // On this request the browser ends its own processes. Kill a browser that does not react.
        let close = json!({ "id": 0, "method": "Browser.close" }).to_string() + "\0";
        let _ = self.to.write_all(close.as_bytes());
        let until = Instant::now() + Duration::from_secs(60);
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
