//! Implementation of `godwit lab serve`, which shows stored runs in a browser on this machine:
//! list, filter, pin, compare, follow.
//!
//! The server listens on 127.0.0.1 only. Any page that a browser on this machine shows can send
//! requests there, so a request must name this server as its host, which a foreign name that
//! resolves to this machine does not, and a change must bring back a token that only our pages
//! have. Stored pages are shown in a sandbox: they come from folders that other users may have
//! filled.

mod browser_request;
mod files;
mod results_server;
mod stream;

use std::convert::Infallible;
use std::fs::File;
use std::io::Read as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use netio::ServiceManager;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{LocalSet, spawn_local};

use crate::error::{LabError, LabResult};
use browser_request::{BrowserRequest, UrlEncodedFields, decoded};
use results_server::{BrowserResponse, ResultsServer};
use stream::{BrowserConnection, RequestHeadWait};

/// Time between checks whether the user wants the server to end.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// Longest life of a browser's connection; browsers open another one.
const CONNECTION_LIFETIME: Duration = Duration::from_secs(300);
/// Time in which the head of a browser's HTTP request must arrive, and a form after it.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Largest number of browsers' connections at a time; further ones wait to be accepted.
const CONNECTIONS: usize = 64;
/// Content security policy of the lab's own pages, as in the pages themselves, which also forbids
/// to frame them.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      img-src data:; connect-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";
/// Largest size of a form that a browser sends, in bytes.
const FORM_MAX_BYTES: usize = 16 << 10;
/// Largest size of the head of a browser's request, in bytes.
const HEAD_MAX_BYTES: usize = 16 << 10;

/// Settings of `godwit lab serve` that the user requested.
#[derive(Clone, Debug)]
pub struct ServeSettings {
    /// Path of the folder with stored runs.
    pub results: PathBuf,
    /// Port of the server on 127.0.0.1; 0 for any.
    pub port: u16,
}

/// Serves the results of `settings` to browsers until `stop` is set; `ready` gets the address.
///
/// # Errors
/// There is no such folder, the port is in use, or the system lacks something.
pub fn serve(
    settings: &ServeSettings,
    stop: &AtomicBool,
    ready: &mut dyn FnMut(SocketAddr) -> LabResult<()>,
) -> LabResult<()> {
    let results = &settings.results;
    if !results.is_dir() {
        return Err(LabError::Usage(format!("there is no folder {}", results.display())));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| LabError::cannot("serve", e))?;
    LocalSet::new().block_on(&runtime, async {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, settings.port));
        let listener = TcpListener::bind(address)
            .await
            .map_err(|e| LabError::cannot(format!("listen on {address}"), e))?;
        let address =
            listener.local_addr().map_err(|e| LabError::cannot("listen on 127.0.0.1", e))?;
        let server = Rc::new(ResultsServer::new(results.clone(), address.port(), token()?));
        ready(address)?;
        spawn_local(accept(listener, server));
        let manager = ServiceManager::from_environment();
        let reported = manager.report_ready(&format!("http://{address}/"));
        reported.map_err(|e| LabError::cannot("report to the service manager", e))?;
        let sign_interval = manager.watchdog_ns().map(|ns| Duration::from_nanos(ns / 4));
        let mut sign_due = Instant::now();
        while !stop.load(Ordering::Acquire) {
            if let Some(interval) = sign_interval.filter(|_| Instant::now() >= sign_due) {
                sign_due = Instant::now() + interval;
                // The next sign of life may arrive.
                manager.report_life().ok();
            }
            tokio::time::sleep(STOP_CHECK_INTERVAL).await;
        }
        // The manager sees the end of the process in any case.
        manager.report_end().ok();
        Ok(())
    })
}

/// Returns a new token, which a page must send back for a change: random bytes from the kernel in
/// hexadecimal digits.
fn token() -> LabResult<String> {
    let mut octets = [0; 16];
    File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut octets))
        .map_err(|e| LabError::cannot("read /dev/urandom", e))?;
    Ok(octets.iter().map(|octet| format!("{octet:02x}")).collect())
}

async fn accept(listener: TcpListener, server: Rc<ResultsServer>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let server = Rc::clone(&server);
                spawn_local(async move {
                    connection(stream, server).await;
                    drop(permit);
                });
            }
            // A resource is missing, which may come back.
            Err(_) => tokio::time::sleep(STOP_CHECK_INTERVAL).await,
        }
    }
}

/// Serves one browser's connection to its end. The server answers the browser's errors; when the
/// browser has gone, there is no one to report an error to.
async fn connection(stream: TcpStream, server: Rc<ResultsServer>) {
    let waiting = RequestHeadWait::new();
    let service = {
        let waiting = Rc::clone(&waiting);
        service_fn(move |request| {
            waiting.end();
            respond(request, Rc::clone(&server))
        })
    };
    let connection = http1::Builder::new()
        .header_read_timeout(None)
        .max_buf_size(HEAD_MAX_BYTES)
        .serve_connection(BrowserConnection::new(stream, Rc::clone(&waiting)), service);
    tokio::select! {
        _ = tokio::time::timeout(CONNECTION_LIFETIME, connection) => {}
        () = waiting.overdue(HEAD_TIMEOUT) => {}
    }
}

async fn respond(
    request: Request<Incoming>,
    server: Rc<ResultsServer>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let answer = match read_request(request).await {
        Some(browser_request) => server.answer(&browser_request),
        None => BrowserResponse::refusal(
            StatusCode::BAD_REQUEST,
            "The server does not understand this request.",
        ),
    };
    Ok(response(answer))
}

/// Returns the parts of a request that an answer depends on; `None` when no browser sends such a
/// request.
async fn read_request(request: Request<Incoming>) -> Option<BrowserRequest> {
    let text = |headers: &HeaderMap, name: HeaderName| {
        headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
    };
    let (parts, body) = request.into_parts();
    let body = Limited::new(body, FORM_MAX_BYTES).collect();
    let body = tokio::time::timeout(HEAD_TIMEOUT, body).await.ok()?.ok()?.to_bytes();
    Some(BrowserRequest {
        path: decoded(parts.uri.path())?,
        query: UrlEncodedFields::parse(parts.uri.query().unwrap_or_default())?,
        form: UrlEncodedFields::parse(std::str::from_utf8(&body).ok()?)?,
        host: text(&parts.headers, header::HOST)?,
        origin: text(&parts.headers, header::ORIGIN),
        method: parts.method,
    })
}

fn response(answer: BrowserResponse) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(answer.body)));
    *response.status_mut() = answer.status;
    let headers = response.headers_mut();
    let always = [
        (header::CONTENT_TYPE, answer.content_type),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        // With a stricter policy browsers would not report the origin of a form.
        (header::REFERRER_POLICY, "same-origin"),
    ];
    for (name, value) in always {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let policy = if answer.is_foreign { "sandbox allow-scripts" } else { POLICY };
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    if let Some(location) =
        answer.location.and_then(|location| HeaderValue::try_from(location).ok())
    {
        headers.insert(header::LOCATION, location);
    }
    if answer.status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(header::ALLOW, HeaderValue::from_static("GET, HEAD, POST"));
    }
    response
}

#[cfg(test)]
mod tests;
