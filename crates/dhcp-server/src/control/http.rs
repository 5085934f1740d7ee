//! HTTP and HTTPS control sockets: POST carries commands, whose answer is a list of one map; `GET
//! /metrics` returns the counters, and `GET /events` the lease events as they come.

use std::cell::RefCell;
use std::convert::Infallible;
use std::net::IpAddr;
use std::rc::Rc;

use dhcp_config::{HttpPurpose, HttpSocket};
use dhcp_ha::with_origin;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::auth::HttpCredentials;
use super::budget::{Budget, IncomingCommand, OutgoingAnswer, UNAUTHENTICATED_MAX_BYTES};
use super::connections::ConnectionRegistration;
use super::event_stream::{EventBody, EventStreams, ResponseBody};
use super::parse::parse;
use super::partner;
use super::progress::{ControlConnectionPhase, ControlConnectionProgress};
use super::progress_stream::{ControlStream, ProgressStream};
use super::requests::{ControlRequest, ControlRequestSender};
use super::tls;
use super::unix::{failure, no_room};
use crate::events::EventFormat;

/// Path of the URL at which HTTP control sockets return the counters for Prometheus.
const METRICS_PATH: &str = "/metrics";
/// Path of the URL at which HTTP control sockets return lease events.
const EVENTS_PATH: &str = "/events";
/// Size of an HTTP connection's read buffer in bytes, and so of the largest head of a request.
const HEAD_MAX_BYTES: usize = 16 << 10;
/// Maximum number of headers that a configuration (`http-headers`) adds to each HTTP response:
/// `hyper` limits the number.
const HEADERS_MAX: usize = 1_000;
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const EXPOSITION: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4");
const SERVER_SENT: HeaderValue = HeaderValue::from_static("text/event-stream");
const JSON_LINES: HeaderValue = HeaderValue::from_static("application/x-ndjson");

/// Settings of an HTTP control socket other than its address.
#[derive(Default)]
pub(super) struct HttpSocketSettings {
    pub(super) credentials: Option<HttpCredentials>,
    headers: Vec<(HeaderName, HeaderValue)>,
    tls: Option<TlsAcceptor>,
    /// True if the control socket needs neither credentials nor a client certificate.
    is_open_to_all: bool,
    purpose: HttpPurpose,
}

impl HttpSocketSettings {
    /// Reads the settings of an HTTP control socket, with the files that `config` names.
    ///
    /// # Errors
    ///
    /// A text that names the unusable setting or file, and the reason.
    pub(super) fn open(config: &HttpSocket) -> Result<Self, String> {
        if config.headers.len() > HEADERS_MAX {
            let count = config.headers.len();
            return Err(format!(
                "{count} HTTP headers are too many; at most {HEADERS_MAX} are \
                                allowed"
            ));
        }
        let headers = config.headers.iter().map(|(name, value)| {
            let wrong = |_| format!("`{name}: {value}` is not an HTTP header");
            let value = HeaderValue::from_str(value).map_err(|cause| wrong(cause.to_string()))?;
            let name = HeaderName::from_bytes(name.as_bytes());
            Ok((name.map_err(|cause| wrong(cause.to_string()))?, value))
        });
        Ok(Self {
            credentials: config.authentication.as_ref().map(HttpCredentials::open).transpose()?,
            headers: headers.collect::<Result<_, String>>()?,
            tls: config.tls.as_ref().map(tls::acceptor).transpose()?,
            is_open_to_all: is_open_to_all(config),
            purpose: config.purpose,
        })
    }
}

/// Returns true if an HTTP control socket for operators needs neither credentials nor client
/// certificates.
pub(super) fn is_open_to_all(config: &HttpSocket) -> bool {
    let has_certificates =
        config.tls.as_ref().is_some_and(|tls| tls.is_client_certificate_required);
    let is_for_control = config.purpose == HttpPurpose::Control;
    is_for_control && config.authentication.is_none() && !has_certificates
}

/// Returns true if `host`, the name of this server in a request, is an address or a name of this
/// machine. A page of another site can have a name of its site resolve to this machine (DNS
/// rebinding); the browser would then treat the page as one of this server. Names of sites have a
/// dot; names without one belong to the local network.
fn is_own(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|octet| octet.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let is_hostname = || {
        let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        name.eq_ignore_ascii_case(own.trim())
    };
    let is_local = !name.is_empty() && !name.contains('.');
    address.parse::<IpAddr>().is_ok() || is_local || is_hostname()
}

/// State that the connections of one HTTP control socket share.
#[derive(Clone)]
pub(super) struct HttpControl {
    /// Settings of the socket; replaced when its configuration changes.
    pub(super) settings: Rc<RefCell<Rc<HttpSocketSettings>>>,
    pub(super) budget: Rc<Budget>,
    pub(super) request_sender: ControlRequestSender,
    pub(super) events: EventStreams,
}

/// Serves one connection of an HTTP control socket until it ends.
pub(super) async fn serve(
    stream: TcpStream,
    registration: ConnectionRegistration,
    control: HttpControl,
) {
    let tls = control.settings.borrow().tls.clone();
    let Some(tls) = tls else {
        return serve_http(Box::new(stream), Vec::new(), &registration.progress, control).await;
    };
    let handshake = tokio::select! {
        handshake = tls.accept(stream) => handshake,
        () = registration.progress.wait_for_eviction() => return,
        () = registration.progress.wait_until_overdue() => return,
    };
    match handshake {
        Ok(stream) => {
            serve_http(Box::new(stream), Vec::new(), &registration.progress, control).await
        }
        Err(cause) => tracing::info!(
            target: "http",
            id = "HTTP_CONNECTION_HANDSHAKE_FAILED",
            "the TLS handshake with a client of the control socket failed: {cause}"
        ),
    }
}

/// Serves HTTP on `stream` until the connection ends; the bytes of `ahead` have been read from the
/// stream already.
pub(super) async fn serve_http(
    stream: Box<dyn ControlStream>,
    ahead: Vec<u8>,
    progress: &Rc<ControlConnectionProgress>,
    control: HttpControl,
) {
    let line = ProgressStream { stream, ahead, progress: Rc::clone(progress) };
    let events = control.events.clone();
    let service = {
        let progress = Rc::clone(progress);
        service_fn(move |request| {
            Box::pin(serve_request(request, control.clone(), Rc::clone(&progress)))
        })
    };
    let mut connection = http1::Builder::new()
        .header_read_timeout(None)
        .max_buf_size(HEAD_MAX_BYTES)
        .serve_connection(line, service);
    tokio::select! {
        // Hyper answers the client's errors. If the client has gone, there is no one to report the
        // error to.
        _ = &mut connection => return,
        () = progress.wait_for_eviction() => return,
        () = progress.wait_until_overdue() => {}
    }
    if progress.phase() == ControlConnectionPhase::Streaming {
        events.count_cut_off();
    }
    if progress.phase() == ControlConnectionPhase::Receiving {
        tracing::info!(
            target: "http",
            id = "HTTP_CLIENT_REQUEST_TIMEOUT_OCCURRED",
            "a client of the control socket did not send its request in time; connection closed"
        );
        let mut stream = connection.into_parts().io.stream;
        let text = too_slow();
        progress.enter(ControlConnectionPhase::Answering);
        tokio::select! {
            _ = async {
                stream.write_all(text.as_bytes()).await?;
                stream.shutdown().await
            } => {}
            () = progress.wait_until_overdue() => {}
        }
    }
}

/// Returns the HTTP response for a client whose request did not end in time.
fn too_slow() -> String {
    let body = status_map(StatusCode::REQUEST_TIMEOUT, None);
    format!(
        "HTTP/1.1 408 Request Timeout\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn status_map(status: StatusCode, why: Option<&str>) -> String {
    let mut text = status.canonical_reason().unwrap_or_default().to_owned();
    if let Some(why) = why {
        text.push_str(": ");
        text.push_str(why);
    }
    json!({ "result": status.as_u16(), "text": text }).to_string()
}

/// Status of a refused HTTP request, with the reason if it helps the client.
pub(super) struct HttpRefusal {
    pub(super) status: StatusCode,
    pub(super) why: Option<&'static str>,
}

impl HttpRefusal {
    pub(super) const fn bad_request(why: &'static str) -> Self {
        Self { status: StatusCode::BAD_REQUEST, why: Some(why) }
    }
}

impl From<StatusCode> for HttpRefusal {
    fn from(status: StatusCode) -> Self {
        Self { status, why: None }
    }
}

/// Returns the page for `GET /`, which shows the path of the counters and an example of a command.
/// `host` is the name by which the client reached this server.
fn page(host: Option<&HeaderValue>, is_tls: bool) -> String {
    let is_plain = |host: &&str| {
        host.bytes().all(|octet| octet.is_ascii_alphanumeric() || b".:[]-_".contains(&octet))
    };
    let host = host.and_then(|host| host.to_str().ok()).filter(is_plain).unwrap_or("ADDRESS:PORT");
    let scheme = if is_tls { "https" } else { "http" };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <title>Godwit DHCP server</title>\n<h1>Godwit DHCP server</h1>\n\
         <p><a href=\"/metrics\">Counters for Prometheus</a></p>\n\
         <p>Send commands as JSON by POST. This command lists all commands:</p>\n\
         <pre>curl -s -H 'Content-Type: application/json' \\\n     \
         -d '{{ \"command\": \"list-commands\" }}' {scheme}://{host}/</pre>\n</html>\n"
    )
}

/// Content of an HTTP response.
enum HttpResponseContent {
    /// Response with the answer to a control command, as JSON.
    Answer(String),
    /// Response with the counters in the format of Prometheus.
    Metrics(String),
    /// Response with the page for `GET /`.
    Page(String),
    /// Response with lease events, which ends when the client or the server ends it.
    Events(EventBody, EventFormat),
    /// Response that refuses the HTTP request.
    Refusal(HttpRefusal),
}

impl From<StatusCode> for HttpResponseContent {
    fn from(status: StatusCode) -> Self {
        Self::Refusal(status.into())
    }
}

async fn serve_request(
    request: Request<Incoming>,
    control: HttpControl,
    progress: Rc<ControlConnectionProgress>,
) -> Result<Response<ResponseBody>, Infallible> {
    // A request keeps the settings with which it began until it ends.
    let settings = Rc::clone(&control.settings.borrow());
    let outcome = outcome(request, &settings, &control, &progress).await;
    if !matches!(outcome, HttpResponseContent::Events(..)) {
        progress.enter(ControlConnectionPhase::Answering);
    }
    let whole =
        |answer| ResponseBody::Whole(Full::new(Bytes::from_owner::<OutgoingAnswer>(answer)));
    let answer = |text| OutgoingAnswer::new(&control.budget, text, |len| failure(&no_room(len)));
    let (status, kind, body) = match outcome {
        HttpResponseContent::Answer(map) => (StatusCode::OK, JSON, whole(answer(map).in_list())),
        HttpResponseContent::Metrics(text) => (StatusCode::OK, EXPOSITION, whole(answer(text))),
        HttpResponseContent::Page(text) => (StatusCode::OK, HTML, whole(answer(text))),
        HttpResponseContent::Events(body, EventFormat::ServerSent) => {
            (StatusCode::OK, SERVER_SENT, ResponseBody::Events(body))
        }
        HttpResponseContent::Events(body, EventFormat::JsonLines) => {
            (StatusCode::OK, JSON_LINES, ResponseBody::Events(body))
        }
        HttpResponseContent::Refusal(HttpRefusal { status, why }) => {
            (status, JSON, whole(answer(status_map(status, why))))
        }
    };
    let is_stream = matches!(body, ResponseBody::Events(_));
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, kind);
    if is_stream {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    for (name, value) in &settings.headers {
        headers.append(name.clone(), value.clone());
    }
    let challenge =
        if status == StatusCode::UNAUTHORIZED { settings.credentials.as_ref() } else { None };
    if let Some(Ok(value)) =
        challenge.map(|credentials| HeaderValue::try_from(credentials.challenge()))
    {
        headers.insert(header::WWW_AUTHENTICATE, value);
    }
    if status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(header::ALLOW, HeaderValue::from_static("POST"));
    }
    Ok(response)
}

/// Returns the refusal of an HTTP request that this server and a proxy in front of it could
/// interpret differently: its destination (RFC 9112 §3.2) or its end (RFC 9112 §6.1).
fn ambiguity(request: &Request<Incoming>) -> Option<HttpRefusal> {
    let headers = request.headers();
    let codings: Vec<_> = headers.get_all(header::TRANSFER_ENCODING).iter().collect();
    let is_plainly_chunked =
        |value: &&HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"chunked");
    if headers.get_all(header::HOST).iter().count() > 1 {
        return Some(HttpRefusal::bad_request("it has more than one header `Host`"));
    }
    // A `Content-Length` next to it cannot be detected here: hyper removes it.
    let is_sound = codings.len() <= 1 && codings.iter().all(is_plainly_chunked);
    (!is_sound).then(|| HttpRefusal::bad_request("`Transfer-Encoding` is not `chunked`"))
}

async fn outcome(
    request: Request<Incoming>,
    settings: &HttpSocketSettings,
    control: &HttpControl,
    progress: &Rc<ControlConnectionProgress>,
) -> HttpResponseContent {
    let authorization = request.headers().get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
    if settings.credentials.as_ref().is_some_and(|credentials| !credentials.admits(authorization)) {
        return StatusCode::UNAUTHORIZED.into();
    }
    if let Some(refusal) = ambiguity(&request) {
        return HttpResponseContent::Refusal(refusal);
    }
    let host = request.headers().get(header::HOST);
    let is_foreign = host.is_some_and(|host| !host.to_str().is_ok_and(is_own))
        || request.uri().authority().is_some_and(|authority| !is_own(authority.as_str()));
    if settings.is_open_to_all && is_foreign {
        return StatusCode::MISDIRECTED_REQUEST.into();
    }
    let is_for_partner = settings.purpose != HttpPurpose::Control;
    let control_request = match (request.method(), request.uri().path()) {
        (&Method::GET, _) if is_for_partner => return StatusCode::BAD_REQUEST.into(),
        (&Method::GET, METRICS_PATH) => ControlRequest::Metrics,
        (&Method::GET, "/") => {
            return HttpResponseContent::Page(page(host, settings.tls.is_some()));
        }
        (&Method::GET, EVENTS_PATH) => {
            return match control.events.open(&request, control, progress) {
                Ok((body, format)) => HttpResponseContent::Events(body, format),
                Err(refusal) => HttpResponseContent::Refusal(refusal),
            };
        }
        (&Method::GET, _) => return StatusCode::NOT_FOUND.into(),
        // As in Kea, commands are accepted under any path.
        (&Method::POST, _) => match command(request, settings, control).await {
            Ok(command) if !partner::is_permitted(settings.purpose, &command) => {
                return StatusCode::FORBIDDEN.into();
            }
            Ok(command) if is_for_partner => {
                let command = with_origin(command);
                ControlRequest::Command(partner::directed(settings.purpose, command))
            }
            Ok(command) => ControlRequest::Command(command),
            Err(refusal) => return HttpResponseContent::Refusal(refusal),
        },
        _ => return StatusCode::METHOD_NOT_ALLOWED.into(),
    };
    #[cfg(test)]
    crate::panics::planted("http");
    let is_command = matches!(control_request, ControlRequest::Command(_));
    progress.enter(ControlConnectionPhase::Working);
    match control.request_sender.send_request(control_request).await {
        None => StatusCode::INTERNAL_SERVER_ERROR.into(),
        Some(answer) if is_command => HttpResponseContent::Answer(answer),
        Some(text) => HttpResponseContent::Metrics(text),
    }
}

async fn command(
    request: Request<Incoming>,
    settings: &HttpSocketSettings,
    control: &HttpControl,
) -> Result<serde_json::Value, HttpRefusal> {
    let content_type = request.headers().get(header::CONTENT_TYPE);
    if !is_json(content_type) {
        return Err(HttpRefusal::bad_request(match content_type {
            None => "the header `Content-Type: application/json` is missing",
            Some(_) => "`Content-Type` is not `application/json`",
        }));
    }
    let mut body = request.into_body();
    if !control.budget.has_room_for(body.size_hint().lower()) {
        return Err(StatusCode::PAYLOAD_TOO_LARGE.into());
    }
    let mut command = if settings.is_open_to_all {
        IncomingCommand::within(&control.budget, UNAUTHENTICATED_MAX_BYTES)
    } else {
        IncomingCommand::new(&control.budget)
    };
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| HttpRefusal::bad_request("the body is incomplete"))?;
        if let Some(octets) = frame.data_ref() {
            command.put(octets).map_err(|_| StatusCode::PAYLOAD_TOO_LARGE)?;
        }
    }
    parse(command.octets()).map_err(|_| HttpRefusal::bad_request("the body is not JSON"))
}

/// Returns true if the value of a `Content-Type` header is `application/json`, with any parameters.
fn is_json(value: Option<&HeaderValue>) -> bool {
    let text = value.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = text.split_once(';').map_or(text, |(kind, _)| kind);
    kind.trim().eq_ignore_ascii_case("application/json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_the_server_as_the_client_does_and_nothing_else() {
        let page_of =
            |host: &'static str, is_tls| page(Some(&HeaderValue::from_static(host)), is_tls);
        assert!(page_of("[::1]:8000", false).contains(" http://[::1]:8000/</pre>"));
        assert!(page_of("dhcp1", true).contains(" https://dhcp1/</pre>"));
        assert!(page_of("<b>x", false).contains(" http://ADDRESS:PORT/</pre>"));
        assert!(page(None, false).contains("href=\"/metrics\""));
    }

    #[test]
    fn names_of_other_sites_are_not_this_machines() {
        for host in [
            "127.0.0.1",
            "192.0.2.1:8000",
            "localhost:80",
            "dhcp1:8000",
            "[::1]:8000",
            "[2001:db8::1]",
        ] {
            assert!(is_own(host), "{host}");
        }
        for host in ["evil.example", "evil.example:8000", "localhost.evil.example", "", "1.2.3.4.x"]
        {
            assert!(!is_own(host), "{host}");
        }
    }
}
