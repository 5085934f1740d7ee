//! Client of control sockets over HTTP or HTTPS, the counterpart of the sockets that this server
//! opens, for programs that send commands to servers.

use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use base64ct::{Base64, Encoding};
use dhcp_store::certificates;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::rt::ReadBufCursor;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Number of bytes per read from the server's connection.
const READ_BYTES: usize = 8 << 10;

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
}

/// Files with certificates for TLS to a server's control socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientTls {
    /// Path of the file or folder with the certificates of trusted authorities.
    pub authorities: PathBuf,
    /// Paths of the client certificate and of its key.
    pub identity: Option<(PathBuf, PathBuf)>,
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
    let failed = |cause: String| CommandFailure::Failed(cause);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| failed(format!("cannot wait for sockets: {error}")))?;
    runtime.block_on(async {
        match tokio::time::timeout(request.timeout, exchange(request)).await {
            Ok(done) => done.map_err(failed),
            Err(_) => Err(CommandFailure::Timeout),
        }
    })
}

/// Connects to the server of `request`, sends the command and returns the answer.
async fn exchange(request: &CommandRequest) -> Result<CommandResponse, String> {
    let authority = format!("{}:{}", request.host, request.port);
    let stream = TcpStream::connect((request.host.as_str(), request.port))
        .await
        .map_err(|error| format!("cannot connect to {authority}: {error}"))?;
    let Some(tls) = &request.tls else { return sent(stream, request).await };
    let name = ServerName::try_from(request.host.clone())
        .map_err(|_| format!("`{}` is not a name that a certificate can have", request.host))?;
    let stream = TlsConnector::from(Arc::new(client_config(tls)?))
        .connect(name, stream)
        .await
        .map_err(|error| format!("cannot use TLS with {authority}: {error}"))?;
    sent(stream, request).await
}

/// Returns the TLS settings of the client: trusted authorities, and its own certificate.
fn client_config(tls: &ClientTls) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("cannot set up TLS: {error}"))?
        .with_root_certificates(certificates::authorities(&tls.authorities)?);
    let Some((certificate, key)) = &tls.identity else { return Ok(builder.with_no_client_auth()) };
    let (chain, private) = certificates::identity(certificate, key)?;
    builder.with_client_auth_cert(chain, private).map_err(|error| {
        format!("{} and {} cannot be used together: {error}", certificate.display(), key.display())
    })
}

/// Converts a control command to an HTTP request, or returns why that is impossible.
fn http_request(request: &CommandRequest) -> Result<Request<Full<Bytes>>, String> {
    let mut built = Request::post(&request.path)
        .header("Host", format!("{}:{}", request.host, request.port))
        .header("User-Agent", &request.user_agent)
        .header("Accept", "*/*")
        .header("Content-Type", "application/json")
        .header("Connection", "close");
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
    let built = http_request(request)?;
    let (mut sender, connection) =
        http1::handshake(ClientStream(stream)).await.map_err(|error| error.to_string())?;
    let answered = async {
        let answer = sender.send_request(built).await.map_err(|error| error.to_string())?;
        let status = answer.status();
        let body = answer.into_body().collect().await.map_err(|error| error.to_string())?;
        Ok(CommandResponse {
            status: status.as_u16(),
            reason: status.canonical_reason().unwrap_or_default(),
            body: String::from_utf8_lossy(&body.to_bytes()).into_owned(),
        })
    };
    tokio::pin!(answered);
    tokio::select! {
        answer = &mut answered => answer,
        // The connection ends with the last byte of an answer, or because of a fault.
        served = connection => match served {
            Ok(()) => answered.await,
            Err(error) => Err(error.to_string()),
        },
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
