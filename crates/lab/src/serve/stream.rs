//! A connection as `hyper` wants it, and nothing else: the daemon's keeps the pace of its clients besides, and
//! no product uses another.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::rt::ReadBufCursor;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Octets per read.
const READ_BYTES: usize = 4 << 10;

/// A connection of TCP.
pub(super) struct Stream(pub(super) TcpStream);

impl hyper::rt::Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let mut space = [0; READ_BYTES];
        let room = cursor.remaining().min(READ_BYTES);
        let mut read = ReadBuf::new(&mut space[..room]);
        let polled = Pin::new(&mut self.0).poll_read(context, &mut read);
        cursor.put_slice(read.filled());
        polled
    }
}

impl hyper::rt::Write for Stream {
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
