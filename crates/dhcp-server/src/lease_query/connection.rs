//! One connection of a requester: queries, one after the other, each with its replies. Messages
//! have their length in two bytes before them (RFC 6926 §6.1, RFC 5460 §5.1).

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use dhcp_engine::bulk::BulkStep;
use netio::Clock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::yield_now;
use tokio::time::timeout;

use super::RequesterRegistration;
use crate::service::DaemonFamily;

/// Length of the length before each message, in bytes.
const LENGTH_LEN: usize = 2;
/// Number of bytes of replies that are written at once.
const WRITE_BYTES: usize = 32 * 1024;

/// Serves the connection `stream` until the requester closes it, sends something that is no query,
/// or is silent for too long.
pub(super) async fn serve<P: DaemonFamily>(
    mut stream: TcpStream,
    registration: RequesterRegistration<P>,
) {
    let Ok(local) = stream.local_addr() else { return };
    let mut message = vec![0; LENGTH_LEN + usize::from(u16::MAX)];
    loop {
        let idle = idle_time(&registration);
        let Ok(Ok(query)) = timeout(idle, read(&mut stream)).await else { return };
        let answered = answer::<P>(&mut stream, &query, local.ip(), &mut message, &registration);
        match answered.await {
            Ok(BulkAnswer::Whole) => {}
            Ok(BulkAnswer::NoQuery) | Err(_) => return,
        }
    }
}

fn idle_time<P: DaemonFamily>(registration: &RequesterRegistration<P>) -> Duration {
    Duration::from_secs(registration.requesters.terms().bulk.idle_time_s.into())
}

/// Reads a message; an empty one is an error.
async fn read(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let len = stream.read_u16().await?;
    if len == 0 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut octets = vec![0; usize::from(len)];
    stream.read_exact(&mut octets).await?;
    Ok(octets)
}

/// Outcome of a message.
enum BulkAnswer {
    /// The whole reply was written.
    Whole,
    /// The message is no query that the server answers.
    NoQuery,
}

async fn answer<P: DaemonFamily>(
    stream: &mut TcpStream,
    octets: &[u8],
    local: IpAddr,
    message: &mut [u8],
    registration: &RequesterRegistration<P>,
) -> io::Result<BulkAnswer> {
    let shared = &registration.requesters.shared;
    let snapshot = shared.snapshot.newest();
    let table = Arc::clone(&shared.table);
    let Some(mut query) = P::begin_bulk(&snapshot, octets, local) else {
        return Ok(BulkAnswer::NoQuery);
    };
    let mut unwritten = Vec::new();
    loop {
        let (length, content) = message.split_at_mut(LENGTH_LEN);
        let step = P::next_bulk(&mut query, &snapshot, &table, Clock::now(), content);
        if let BulkStep::Message(len) = step {
            // The buffer is no longer than a length can say.
            length.copy_from_slice(&(len as u16).to_be_bytes());
            unwritten.extend_from_slice(&message[..LENGTH_LEN + len]);
            if unwritten.len() < WRITE_BYTES {
                continue;
            }
        }
        // Time for the search does not count as the requester's silence.
        timeout(idle_time(registration), stream.write_all(&unwritten)).await??;
        unwritten.clear();
        if step == BulkStep::End {
            return Ok(BulkAnswer::Whole);
        }
        // Others are served between two steps of a long search.
        yield_now().await;
    }
}
