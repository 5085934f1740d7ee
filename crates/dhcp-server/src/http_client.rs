//! Client of control sockets over HTTP or HTTPS, the counterpart of the sockets that this server
//! opens, for programs that send commands to servers.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use base64ct::{Base64, Encoding};
use dhcp_store::certificates;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::rt::ReadBufCursor;
use hyper::{Request, Response};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Number of bytes per read from the server's connection.
const READ_BYTES: usize = 8 << 10;

/// Interval at which a request looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(50);

/// Control command to a server, with its address and credentials.
#[derive(Clone, Debug)]
pub struct CommandRequest {
    /// Name or address of the server's host.
    pub host: String,
    /// TCP port of the server's control socket.
    pub port: u16,
    /// Path of the request's URL, which begins with a slash.
    pub path: String,
    /// Value of the header `User-Agent`.
    pub user_agent: String,
    /// User and password of HTTP basic authentication.
    pub credentials: Option<(String, String)>,
    /// Certificates for TLS; without them the connection to the server is plain.
    pub tls: Option<ClientTls>,
    /// Control command as JSON.
    pub body: String,
    /// Time limit of the whole request to the server.
    pub timeout: Duration,
    /// Maximum number of bytes of the answer's body.
    pub answer_max: usize,
}

/// Files with certificates for TLS to a server's control socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientTls {
    /// Path of the file or folder with the certificates of trusted authorities.
    pub authorities: PathBuf,
    /// Paths of the client certificate and of its key.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// True if the certificate must be for the host name or address in the request.
    pub checks_name: bool,
}

/// Answer of a server to a [`CommandRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandResponse {
    /// HTTP status code of the answer.
    pub status: u16,
    /// Name of the HTTP status.
    pub reason: &'static str,
    /// Answer of the server to the command, as text.
    pub body: String,
}

/// Reason why a [`CommandRequest`] has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandFailure {
    /// Failure of the server to answer within the time limit.
    Timeout,
    /// Other failure of the request, as text.
    Failed(String),
}

/// Sends the control command `request` to its server and waits for the answer.
///
/// # Errors
///
/// The reason why there is no answer. An answer with any status is not an error.
pub fn send_command(request: &CommandRequest) -> Result<CommandResponse, CommandFailure> {
    send_command_unless(request, &|| false)
}

/// Sends a command as [`send_command`] does, but gives up soon after `is_over` returns true.
///
/// # Errors
///
/// The reason why there is no answer.
pub(crate) fn send_command_unless(
    request: &CommandRequest,
    is_over: &dyn Fn() -> bool,
) -> Result<CommandResponse, CommandFailure> {
    let failed = |cause: String| CommandFailure::Failed(cause);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| failed(format!("cannot wait for sockets: {error}")))?;
    runtime.block_on(async {
        let over = async {
            while !is_over() {
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::select! {
            answered = tokio::time::timeout(request.timeout, exchange(request)) => match answered {
                Ok(done) => done.map_err(failed),
                Err(_) => Err(CommandFailure::Timeout),
            },
            () = over => Err(CommandFailure::Failed("the server ends".to_owned())),
        }
    })
}

/// Connects to the server of `request`, sends the command and returns the answer.
async fn exchange(request: &CommandRequest) -> Result<CommandResponse, String> {
    let stream = connected(request).await?;
    match &request.tls {
        Some(tls) => sent(secured(stream, request, tls).await?, request).await,
        None => sent(stream, request).await,
    }
}

/// Opens the TCP connection to the server of `request`.
async fn connected(request: &CommandRequest) -> Result<TcpStream, String> {
    let CommandRequest { host, port, .. } = request;
    TcpStream::connect((host.as_str(), *port))
        .await
        .map_err(|error| format!("cannot connect to {host}:{port}: {error}"))
}

/// Begins TLS on the connection `stream` to the server of `request`.
async fn secured(
    stream: TcpStream,
    request: &CommandRequest,
    tls: &ClientTls,
) -> Result<TlsStream<TcpStream>, String> {
    let CommandRequest { host, port, .. } = request;
    let name = ServerName::try_from(host.clone())
        .map_err(|_| format!("`{host}` is not a name that a certificate can have"))?;
    TlsConnector::from(Arc::new(client_config(tls)?))
        .connect(name, stream)
        .await
        .map_err(|error| format!("cannot use TLS with {host}:{port}: {error}"))
}

/// Returns an error of the HTTP connection with its causes: one of TLS, for example.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let further = error.to_string();
        if !text.contains(&further) {
            text.push_str(": ");
            text.push_str(&further);
        }
        cause = error.source();
    }
    text
}

/// Returns the TLS settings of the client: trusted authorities, and its own certificate.
fn client_config(tls: &ClientTls) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("cannot set up TLS: {error}"))?;
    let builder = if tls.checks_name {
        builder.with_root_certificates(certificates::authorities(&tls.authorities)?)
    } else {
        let verifier = certificates::verifier_for_any_name(&tls.authorities, provider)?;
        builder.dangerous().with_custom_certificate_verifier(verifier)
    };
    let Some((certificate, key)) = &tls.identity else { return Ok(builder.with_no_client_auth()) };
    let (chain, private) = certificates::identity(certificate, key)?;
    builder.with_client_auth_cert(chain, private).map_err(|error| {
        format!("{} and {} cannot be used together: {error}", certificate.display(), key.display())
    })
}

/// Converts a control command to an HTTP request, or returns why that is impossible. The connection
/// ends with the answer, or it `stays_open`.
fn http_request(
    request: &CommandRequest,
    stays_open: bool,
) -> Result<Request<Full<Bytes>>, String> {
    let is_v6 = request.host.contains(':');
    let host = if is_v6 { format!("[{}]", request.host) } else { request.host.clone() };
    let mut built = Request::post(&request.path)
        .header("Host", format!("{host}:{}", request.port))
        .header("User-Agent", &request.user_agent)
        .header("Accept", "*/*")
        .header("Content-Type", "application/json");
    if !stays_open {
        built = built.header("Connection", "close");
    }
    if let Some((user, password)) = &request.credentials {
        let secret = Base64::encode_string(format!("{user}:{password}").as_bytes());
        built = built.header("Authorization", format!("Basic {secret}"));
    }
    let body = Full::new(Bytes::from(request.body.clone()));
    built.body(body).map_err(|error| error.to_string())
}

/// Sends the HTTP request on `stream` and returns the answer.
async fn sent<S>(stream: S, request: &CommandRequest) -> Result<CommandResponse, String>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let built = http_request(request, false)?;
    let (mut sender, connection) =
        http1::handshake(ClientStream(stream)).await.map_err(|error| with_causes(&error))?;
    let answered = async {
        let answer = sender.send_request(built).await.map_err(|error| with_causes(&error))?;
        command_response(answer, request.answer_max).await
    };
    tokio::pin!(answered);
    tokio::select! {
        answer = &mut answered => answer,
        // The connection ends with the last byte of an answer, or because of a fault.
        served = connection => match served {
            Ok(()) => answered.await,
            Err(error) => Err(with_causes(&error)),
        },
    }
}

/// Reads the answer to a command, whose body has at most `answer_max` bytes.
async fn command_response(
    answer: Response<Incoming>,
    answer_max: usize,
) -> Result<CommandResponse, String> {
    let status = answer.status();
    let body = Limited::new(answer.into_body(), answer_max).collect().await;
    let body = body.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
        Some(_) => format!("the answer has more than {answer_max} bytes"),
        None => with_causes(&*error),
    })?;
    Ok(CommandResponse {
        status: status.as_u16(),
        reason: status.canonical_reason().unwrap_or_default(),
        body: String::from_utf8_lossy(&body.to_bytes()).into_owned(),
    })
}

/// Connection to a control socket for many commands, one at a time. If it is dropped, what has not
/// been delivered is not delivered later.
pub(crate) struct PersistentConnection {
    sender: http1::SendRequest<Full<Bytes>>,
}

impl PersistentConnection {
    /// Opens a connection to the server of `request`.
    pub(crate) async fn open(request: &CommandRequest) -> Result<Self, String> {
        let stream = connected(request).await?;
        // Without an answer in time the kernel must not deliver the command later: the lease may
        // have changed again by then.
        stream.set_zero_linger().map_err(|error| error.to_string())?;
        stream.set_nodelay(true).ok();
        match &request.tls {
            Some(tls) => Self::over(secured(stream, request, tls).await?).await,
            None => Self::over(stream).await,
        }
    }

    async fn over<S>(stream: S) -> Result<Self, String>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, connection) =
            http1::handshake(ClientStream(stream)).await.map_err(|error| with_causes(&error))?;
        tokio::spawn(async {
            // The sender reports the end of the connection.
            let _ = connection.await;
        });
        Ok(Self { sender })
    }

    /// Sends the command `request` and waits for the answer, without a time limit.
    pub(crate) async fn send(
        &mut self,
        request: &CommandRequest,
    ) -> Result<CommandResponse, String> {
        let built = http_request(request, true)?;
        self.sender.ready().await.map_err(|error| with_causes(&error))?;
        let answer = self.sender.send_request(built).await.map_err(|error| with_causes(&error))?;
        command_response(answer, request.answer_max).await
    }
}

/// Adapter from a stream of `tokio` to the traits of `hyper`.
#[derive(Debug)]
struct ClientStream<S>(S);

impl<S: AsyncRead + Unpin> hyper::rt::Read for ClientStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let mut space = [0; READ_BYTES];
        let room = cursor.remaining().min(READ_BYTES);
        let mut read = ReadBuf::new(&mut space[..room]);
        let polled = Pin::new(&mut self.0).poll_read(context, &mut read);
        if matches!(polled, Poll::Ready(Ok(()))) {
            cursor.put_slice(read.filled());
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> hyper::rt::Write for ClientStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, octets)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
