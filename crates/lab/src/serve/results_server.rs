//! HTTP handler of `godwit lab serve`: answers to browsers' requests. The handler knows no socket:
//! requests come as values, answers go as values.

use std::path::PathBuf;

use hyper::{Method, StatusCode};
use report::served_pages::{ListPage, LivePage, progress_line, report_path};
use report::{render_comparison, render_list, render_live, render_trend};
use serde_json::json;

use super::browser_request::{BrowserRequest, UrlEncodedFields};
use super::files;
use crate::compare::{self, CompareSettings, GateSettings, margin_percent};
use crate::error::{LabError, LabResult};
use crate::folder;
use crate::journal::{self, JournalEntry, RunProgress};
use crate::stored;

const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

/// Answer of the results server for a browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BrowserResponse {
    pub(super) status: StatusCode,
    pub(super) content_type: &'static str,
    pub(super) body: Vec<u8>,
    /// Target of a redirection to another page.
    pub(super) location: Option<String>,
    /// True if another program may have written the content, so that the browser must treat it as
    /// foreign.
    pub(super) is_foreign: bool,
}

impl BrowserResponse {
    fn new(kind: &'static str, octets: impl Into<Vec<u8>>) -> Self {
        let octets = octets.into();
        Self {
            status: StatusCode::OK,
            content_type: kind,
            body: octets,
            location: None,
            is_foreign: false,
        }
    }

    pub(super) fn refusal(status: StatusCode, words: &str) -> Self {
        Self { status, ..Self::new(TEXT, format!("{words}\n")) }
    }

    fn to_list() -> Self {
        let elsewhere = Some("/".to_owned());
        Self { status: StatusCode::SEE_OTHER, location: elsewhere, ..Self::new(TEXT, "") }
    }
}

/// HTTP handler of `godwit lab serve`: serves stored results and checks the session token.
#[derive(Debug)]
pub(super) struct ResultsServer {
    results: PathBuf,
    /// Values of the `Host` header that the server accepts.
    hosts: [String; 2],
    token: String,
}

impl ResultsServer {
    pub(super) fn new(results: PathBuf, port: u16, token: String) -> Self {
        let hosts = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
        Self { results, hosts, token }
    }

    /// Returns the results server's answer to a browser's request.
    pub(super) fn answer(&self, request: &BrowserRequest) -> BrowserResponse {
        if !self.hosts.contains(&request.host) {
            let words = format!("This server is {}, not {}.", self.hosts[0], request.host);
            return BrowserResponse::refusal(StatusCode::MISDIRECTED_REQUEST, &words);
        }
        let answered = match request.method {
            Method::GET | Method::HEAD => self.get_page(request),
            Method::POST => self.apply_change(request),
            _ => {
                let words = "This server accepts only GET and POST.";
                return BrowserResponse::refusal(StatusCode::METHOD_NOT_ALLOWED, words);
            }
        };
        answered.unwrap_or_else(|error| {
            let status = match error {
                LabError::Usage(_) => StatusCode::BAD_REQUEST,
                LabError::Failed(_) | LabError::Interrupted => StatusCode::INTERNAL_SERVER_ERROR,
            };
            BrowserResponse::refusal(status, &error.to_string())
        })
    }

    fn get_page(&self, request: &BrowserRequest) -> LabResult<BrowserResponse> {
        match request.path.as_str() {
            "/" => self.list(&request.query),
            "/compare" => self.compare(&request.query),
            "/trend" => self.trend(&request.query),
            "/live" => self.live(&request.query),
            "/progress" => self.progress(&request.query),
            path => Ok(self.file(path)),
        }
    }

    /// Carries out the change of `request` if the form has the token of this server's pages and
    /// does not come from a foreign page.
    fn apply_change(&self, request: &BrowserRequest) -> LabResult<BrowserResponse> {
        let is_ours = |origin: &String| self.hosts.iter().any(|h| *origin == format!("http://{h}"));
        let is_same_token = request.form.get("token") == Some(self.token.as_str());
        if !is_same_token || !request.origin.as_ref().is_none_or(is_ours) {
            let words = "This form does not come from a page of this server. Reload the list.";
            return Ok(BrowserResponse::refusal(StatusCode::FORBIDDEN, words));
        }
        match request.path.as_str() {
            "/pin" => stored::pin(&self.results, &self.run(&request.form, "run")?.1).map(|_| ()),
            "/unpin" => {
                stored::unpin(&self.results, required_field(&request.form, "plan")?).map(|_| ())
            }
            _ => return Ok(not_found()),
        }?;
        Ok(BrowserResponse::to_list())
    }

    fn list(&self, query: &UrlEncodedFields) -> LabResult<BrowserResponse> {
        let query = query.get("q").unwrap_or_default();
        let words: Vec<String> = query.split_whitespace().map(str::to_owned).collect();
        let runs = stored::list(&self.results, &words)?;
        let results = self.results.to_string_lossy();
        let page = ListPage { results: &results, query, token: &self.token, runs: &runs };
        Ok(BrowserResponse::new(HTML, render_list(&page)))
    }

    fn compare(&self, query: &UrlEncodedFields) -> LabResult<BrowserResponse> {
        let (name_b, b) = self.run(query, "b")?;
        let (name_a, a) = match query.get("a") {
            Some(_) => self.run(query, "a").map(|(id, folder)| (id.to_owned(), folder))?,
            None => {
                let baseline = stored::find_baseline(&self.results, &b)?;
                let id = baseline.strip_prefix(&self.results).unwrap_or(&baseline);
                (format!("{} (the baseline)", id.display()), baseline)
            }
        };
        let gate = match query.get("margin").map(margin_percent) {
            Some(Err(why)) => return Err(LabError::Usage(format!("the margin is {why}"))),
            Some(Ok(margin_percent)) => Some(GateSettings { margin_percent, servers: Vec::new() }),
            None => None,
        };
        let settings = CompareSettings { a, b, force: false, html: None, gate };
        let comparison = compare::compare_folders(&settings, &name_a, name_b)?;
        Ok(BrowserResponse::new(HTML, render_comparison(&comparison)))
    }

    fn trend(&self, query: &UrlEncodedFields) -> LabResult<BrowserResponse> {
        let plan = required_field(query, "plan")?;
        let servers: Vec<String> = query.get("server").map(str::to_owned).into_iter().collect();
        let runs = stored::list(&self.results, &[])?;
        let trend = stored::trend(&self.results, &runs, plan, &servers, None)?;
        Ok(BrowserResponse::new(HTML, render_trend(&trend)))
    }

    fn live(&self, query: &UrlEncodedFields) -> LabResult<BrowserResponse> {
        let (id, folder, progress) = self.run_progress(query)?;
        // Trials are counted first: the browser will request a trial that ends meanwhile again.
        let trials = journal::finished_trials(&folder);
        let summary = if trials == 0 {
            measure::summary::digest(&progress.run, &[])
        } else {
            journal::summarize(&folder, &progress)?
        };
        let lines: Vec<(f64, String)> =
            progress.entries.iter().map(|entry| (entry.at_s, entry.words.clone())).collect();
        let now = last_entry_words(&progress.entries);
        let is_running = progress.is_running;
        let (summary, progress_lines) = (&summary, &lines[..]);
        let page = LivePage { id, summary, trials, progress_lines, activity: now, is_running };
        Ok(BrowserResponse::new(HTML, render_live(&page)))
    }

    fn progress(&self, query: &UrlEncodedFields) -> LabResult<BrowserResponse> {
        let (id, folder, run_progress) = self.run_progress(query)?;
        let from = query.get("from").unwrap_or("0").parse::<usize>();
        let from = from.map_err(|e| LabError::Usage(format!("from: {e}")))?;
        let lines: Vec<String> = run_progress
            .entries
            .iter()
            .skip(from)
            .map(|entry| progress_line(entry.at_s, &entry.words))
            .collect();
        let seen = json!({
            "lines": lines,
            "next": run_progress.entries.len(),
            "now": last_entry_words(&run_progress.entries),
            "trials": journal::finished_trials(&folder),
            "is_running": run_progress.is_running,
            "has_report": folder.join(folder::REPORT).is_file(),
            "report": report_path(id),
        });
        Ok(BrowserResponse::new(JSON, seen.to_string()))
    }

    fn file(&self, path: &str) -> BrowserResponse {
        let file = path.strip_prefix("/results/").and_then(|path| files::read(&self.results, path));
        match file {
            Some(file) => {
                BrowserResponse { is_foreign: true, ..BrowserResponse::new(file.kind, file.octets) }
            }
            None => not_found(),
        }
    }

    /// Returns the run that the field names and its progress, for a run that records its progress.
    fn run_progress<'f>(
        &self,
        query: &'f UrlEncodedFields,
    ) -> LabResult<(&'f str, PathBuf, RunProgress)> {
        let (id, folder) = self.run(query, "run")?;
        let progress = journal::read(&folder);
        let progress =
            progress.ok_or_else(|| LabError::Usage(format!("{id} has no progress to show")))?;
        Ok((id, folder, progress))
    }

    /// Returns the identifier of the stored run that the field `field` of a request names, and its
    /// folder.
    fn run<'f>(&self, fields: &'f UrlEncodedFields, field: &str) -> LabResult<(&'f str, PathBuf)> {
        let id = required_field(fields, field)?;
        let folder = files::folder(&self.results, id);
        let none = || LabError::Usage(format!("there is no run {id}"));
        Ok((id, folder.ok_or_else(none)?))
    }
}

fn required_field<'f>(fields: &'f UrlEncodedFields, field: &str) -> LabResult<&'f str> {
    fields.get(field).ok_or_else(|| LabError::Usage(format!("the form lacks `{field}`")))
}

fn not_found() -> BrowserResponse {
    BrowserResponse::refusal(StatusCode::NOT_FOUND, "This page does not exist.")
}

/// Returns the text of the last of `entries`, a run's progress.
fn last_entry_words(entries: &[JournalEntry]) -> &str {
    entries.last().map_or("", |entry| entry.words.as_str())
}
