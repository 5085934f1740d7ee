//! TCP connection that never blocks: DNS messages queued for it, and those that have come over it.
//! Both ends use it, the generator and the responder.
//!
//! Budget: a system call per flush and per fill, for any number of messages; nothing is allocated
//! once the buffers have reached their largest size.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;

use dns_wire::stream::{self, LENGTH_BYTES, MESSAGE_BYTES_MAX};

/// Largest number of bytes of a connection that wait to be written; no further messages are queued
/// for a peer that does not read.
const WAITING_BYTES_MAX: usize = 1 << 20;
/// Number of bytes that a connection reads at a time, at first.
const INPUT_BYTES: usize = 1 << 14;

/// Result of writing a connection's waiting messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamFlush {
    /// Number of messages that the kernel has accepted whole.
    pub(crate) messages: u64,
    /// True if the rest of the messages must wait for room in the socket.
    pub(crate) is_stalled: bool,
}

/// Result of reading from a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FillResult {
    /// Bytes came from the peer.
    Some,
    /// No bytes came from the peer for now.
    Nothing,
    /// End of the stream: the peer sends no more.
    End,
}

/// TCP connection for DNS messages, with its buffers.
pub(crate) struct DnsTcpStream {
    socket: TcpStream,
    input: Vec<u8>,
    /// Start of the bytes in `input` that were read and not consumed, `input[consumed..filled]`.
    consumed: usize,
    filled: usize,
    output: Vec<u8>,
    /// Number of bytes of `output` that the kernel has taken.
    written: usize,
    /// End of each message in `output` that the kernel has not taken whole.
    ends: VecDeque<usize>,
}

impl DnsTcpStream {
    /// Creates a DNS stream over `socket`, which must not block.
    pub(crate) fn new(socket: TcpStream) -> Self {
        Self {
            socket,
            input: vec![0; INPUT_BYTES],
            consumed: 0,
            filled: 0,
            output: Vec::new(),
            written: 0,
            ends: VecDeque::new(),
        }
    }

    pub(crate) const fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Returns the number of queued messages that the kernel has not taken whole.
    pub(crate) fn waiting(&self) -> u64 {
        self.ends.len() as u64
    }

    /// Queues a message of `len` bytes, which `write` writes; returns false when too many bytes
    /// wait.
    pub(crate) fn queue(&mut self, len: usize, write: impl FnOnce(&mut [u8])) -> bool {
        let whole = LENGTH_BYTES + len;
        if self.output.len() - self.written + whole > WAITING_BYTES_MAX {
            return false;
        }
        let length = u16::try_from(len).expect("a message has 65,535 octets at most");
        self.output.extend(length.to_be_bytes());
        let start = self.output.len();
        self.output.resize(start + len, 0);
        write(&mut self.output[start..]);
        self.ends.push_back(self.output.len());
        true
    }

    /// Writes waiting bytes to the connection, as many as there is room for.
    pub(crate) fn flush(&mut self) -> io::Result<StreamFlush> {
        let mut flushed = StreamFlush::default();
        while self.written < self.output.len() {
            match self.socket.write(&self.output[self.written..]) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    flushed.is_stalled = true;
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        while self.ends.front().is_some_and(|&end| end <= self.written) {
            self.ends.pop_front();
            flushed.messages += 1;
        }
        if self.written == self.output.len() {
            self.output.clear();
            self.written = 0;
        } else if self.written > WAITING_BYTES_MAX {
            self.output.drain(..self.written);
            for end in &mut self.ends {
                *end -= self.written;
            }
            self.written = 0;
        }
        Ok(flushed)
    }

    /// Reads the bytes that have come over the connection, as many as there is room for.
    pub(crate) fn fill(&mut self) -> io::Result<FillResult> {
        if self.consumed == self.filled {
            (self.consumed, self.filled) = (0, 0);
        }
        if self.filled == self.input.len() {
            if self.consumed > 0 {
                self.input.copy_within(self.consumed.., 0);
                self.filled -= self.consumed;
                self.consumed = 0;
            } else {
                let bytes = (2 * self.input.len()).min(LENGTH_BYTES + MESSAGE_BYTES_MAX);
                self.input.resize(bytes, 0);
            }
        }
        loop {
            match self.socket.read(&mut self.input[self.filled..]) {
                Ok(0) => return Ok(FillResult::End),
                Ok(count) => {
                    self.filled += count;
                    return Ok(FillResult::Some);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Ok(FillResult::Nothing);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the next complete message that has come over the connection; `None` when there is
    /// none yet.
    pub(crate) fn next_message(&mut self) -> Option<&[u8]> {
        let (message, _) = stream::split(&self.input[self.consumed..self.filled])?;
        self.consumed += LENGTH_BYTES + message.len();
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use base::Random;
    use netio::{PollFd, poll};

    use super::*;

    fn pair() -> (DnsTcpStream, DnsTcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        for socket in [&near, &far] {
            socket.set_nonblocking(true).unwrap();
        }
        (DnsTcpStream::new(near), DnsTcpStream::new(far))
    }

    #[test]
    fn messages_of_all_lengths_come_as_they_were_sent() {
        let (mut near, mut far) = pair();
        let mut random = Random::from_seed(1);
        let (mut sent, mut came) = (VecDeque::new(), 0);
        let (mut flushed, mut is_full) = (0, false);
        while came < 2_000 {
            let bound = if random.chance(1, 50) { 65_536 } else { 600 };
            let mut message = vec![0; random.below(bound) as usize];
            random.fill(&mut message);
            if near.queue(message.len(), |room| room.copy_from_slice(&message)) {
                sent.push_back(message);
            } else {
                is_full = true;
            }
            flushed += near.flush().unwrap().messages;
            // The far end reads only now and then, so that both buffers fill.
            if is_full || random.chance(1, 400) {
                poll(&mut [PollFd::readable(far.socket())], Some(1_000_000_000)).unwrap();
                assert_ne!(far.fill().unwrap(), FillResult::End);
                while let Some(message) = far.next_message() {
                    assert_eq!(message, sent.pop_front().unwrap());
                    came += 1;
                }
            }
        }
        assert!(is_full, "the queue has an end");
        assert!(flushed >= came && near.waiting() <= sent.len() as u64, "{flushed} {came}");
    }

    #[test]
    fn the_end_is_told() {
        let (near, mut far) = pair();
        assert_eq!(far.fill().unwrap(), FillResult::Nothing);
        drop(near);
        poll(&mut [PollFd::readable(far.socket())], None).unwrap();
        assert_eq!(far.fill().unwrap(), FillResult::End);
        assert_eq!(far.next_message(), None);
    }
}
