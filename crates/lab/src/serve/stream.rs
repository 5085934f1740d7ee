//! Connection of a browser in the form that `hyper` needs, and nothing else: the daemon's
//! connection also tracks the pace of its clients, and no product uses another product.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::ReadBufCursor;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;

/// Largest number of bytes that one read of a browser's connection takes.
const READ_BYTES: usize = 4 << 10;

/// TCP connection of a browser.
pub(super) struct BrowserConnection {
    tcp: TcpStream,
    waiting: Rc<RequestHeadWait>,
}

/// Time since which a browser's connection waits for the head of a request, if it does.
#[derive(Debug)]
pub(super) struct RequestHeadWait(Cell<Option<Instant>>);

impl RequestHeadWait {
    /// Creates the state of a connection that has just been accepted.
    pub(super) fn new() -> Rc<Self> {
        Rc::new(Self(Cell::new(Some(Instant::now()))))
    }

    /// Records that the server is answering a request, so that the connection waits for none.
    pub(super) fn end(&self) {
        self.0.set(None);
    }

    /// Records that a part of a response was written: from then on the next request may come.
    pub(super) fn begin(&self) {
        self.0.set(Some(Instant::now()));
    }

    /// Waits until the browser's connection has waited for the head of a request for the time
    /// `limit`.
    pub(super) async fn overdue(&self, limit: Duration) {
        loop {
            let due = self.0.get().unwrap_or_else(Instant::now) + limit;
            if due <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(due).await;
        }
    }
}

impl BrowserConnection {
    /// Creates a stream of the connection `tcp`; each write restarts the time in `waiting`.
    pub(super) const fn new(tcp: TcpStream, waiting: Rc<RequestHeadWait>) -> Self {
        Self { tcp, waiting }
    }
}

impl hyper::rt::Read for BrowserConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let mut space = [0; READ_BYTES];
        let room = cursor.remaining().min(READ_BYTES);
        let mut read = ReadBuf::new(&mut space[..room]);
        let polled = Pin::new(&mut self.tcp).poll_read(context, &mut read);
        cursor.put_slice(read.filled());
        polled
    }
}

impl hyper::rt::Write for BrowserConnection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.tcp).poll_write(context, octets);
        if matches!(polled, Poll::Ready(Ok(_))) {
            self.waiting.begin();
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(context)
    }
}
