//! Adapter from a stream to the traits of `hyper` that records the stream's progress.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use hyper::rt::ReadBufCursor;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::progress::ControlConnectionProgress;

/// Bytes per read.
const READ_BYTES: usize = 8 << 10;

/// Stream that reports its progress to a [`ControlConnectionProgress`].
#[derive(Debug)]
pub(super) struct ProgressStream<S> {
    pub(super) stream: S,
    /// Bytes already read from the stream.
    pub(super) ahead: Vec<u8>,
    pub(super) progress: Rc<ControlConnectionProgress>,
}

impl<S: AsyncRead + Unpin> hyper::rt::Read for ProgressStream<S> {
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

impl<S: AsyncWrite + Unpin> hyper::rt::Write for ProgressStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, octets);
        if let Poll::Ready(Ok(count)) = polled {
            self.progress.sent(count);
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
