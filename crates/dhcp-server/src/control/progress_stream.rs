//! Adapter from a control connection's stream to the traits of `hyper` that records the stream's
//! progress.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use hyper::rt::ReadBufCursor;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::progress::ControlConnectionProgress;

/// Number of bytes per read from a control connection.
const READ_BYTES: usize = 8 << 10;

/// Stream of a control connection: TCP, TLS or a Unix socket.
pub(super) trait ControlStream: AsyncRead + AsyncWrite + Unpin {}

impl<S: AsyncRead + AsyncWrite + Unpin> ControlStream for S {}

/// Stream of a control connection that reports its progress to a [`ControlConnectionProgress`].
pub(super) struct ProgressStream {
    pub(super) stream: Box<dyn ControlStream>,
    /// Bytes that were read from the control connection before this value existed.
    pub(super) ahead: Vec<u8>,
    pub(super) progress: Rc<ControlConnectionProgress>,
}

impl hyper::rt::Read for ProgressStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.ahead.is_empty() {
            let count = cursor.remaining().min(self.ahead.len());
            cursor.put_slice(&self.ahead[..count]);
            self.ahead.drain(..count);
            return Poll::Ready(Ok(()));
        }
        let mut space = [0; READ_BYTES];
        let room = cursor.remaining().min(READ_BYTES);
        let mut read = ReadBuf::new(&mut space[..room]);
        let polled = Pin::new(&mut self.stream).poll_read(context, &mut read);
        if matches!(polled, Poll::Ready(Ok(()))) {
            self.progress.received(read.filled().len());
            cursor.put_slice(read.filled());
        }
        polled
    }
}

impl hyper::rt::Write for ProgressStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, octets);
        match polled {
            Poll::Ready(Ok(count)) => self.progress.sent(count),
            Poll::Pending => self.progress.blocked(),
            Poll::Ready(Err(_)) => {}
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        if matches!(polled, Poll::Ready(Ok(()))) {
            self.progress.flushed();
        }
        polled
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
