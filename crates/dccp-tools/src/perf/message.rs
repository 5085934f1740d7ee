//! Messages that `dccp perf` exchanges in datagrams. Data begins with a number, if it is long
//! enough for one. The few other messages are JSON after the same head, so that an older end
//! ignores messages that it does not know.
//!
//! ```text
//! 0        2        3        4                 12
//! | 67 57  | version|  kind  |  number (data)  |  zeros (data)
//!                            |  JSON (others)
//! ```

use serde::{Deserialize, Serialize};

use super::figures::{ReceivedDataFigures, SentDataFigures};

const MAGIC: [u8; 2] = *b"gW";
const VERSION: u8 = 1;
const DATA: u8 = 0;
const HELLO: u8 = 1;
const FIN: u8 = 2;
const REPORT: u8 = 3;
/// Bytes of a message before its JSON.
const HEAD_BYTES: usize = 4;
/// Least length in bytes of a data datagram that has a number.
const DATA_HEAD_BYTES: usize = 12;

/// Parameters of a transfer of data that a client requests from its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TransferParameters {
    /// Length of a datagram in bytes; the sender uses shorter ones if its path requires it.
    pub(crate) datagram_bytes: usize,
    /// Duration of the transfer that the client requests, in milliseconds.
    pub(crate) duration_ms: u64,
    /// Bytes of data after which sending ends, if that is sooner than the duration; `None` for no
    /// limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) octets: Option<u64>,
    /// Rate of the transfer's data in bits per second; `None` for as fast as possible.
    pub(crate) bits_per_s: Option<u64>,
    /// Settling time at the start in milliseconds, in which congestion control finds its rate:
    /// datagrams that are due in it and not sent do not count.
    #[serde(default)]
    pub(crate) settling_ms: u64,
}

/// Message of `dccp perf` in a datagram.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PerfMessage {
    /// Data, with the number of its datagram.
    Data(u64),
    /// Request that the other end send data with these parameters.
    Hello(TransferParameters),
    /// End of the sender's data, with the figures that it counted.
    Fin(SentDataFigures),
    /// Figures that the receiver counted of the data.
    Report(ReceivedDataFigures),
    /// Data of another program, or a datagram too short for a number.
    Plain,
}

impl PerfMessage {
    /// Parses a datagram into a message; unknown datagrams are plain data.
    pub(crate) fn read(datagram: &[u8]) -> Self {
        let Some((head, rest)) = datagram.split_first_chunk::<HEAD_BYTES>() else {
            return Self::Plain;
        };
        if head[..2] != MAGIC || head[2] != VERSION {
            return Self::Plain;
        }
        let read = match head[3] {
            DATA => rest.first_chunk().map(|number| Self::Data(u64::from_be_bytes(*number))),
            HELLO => serde_json::from_slice(rest).ok().map(Self::Hello),
            FIN => serde_json::from_slice(rest).ok().map(Self::Fin),
            REPORT => serde_json::from_slice(rest).ok().map(Self::Report),
            _ => None,
        };
        read.unwrap_or(Self::Plain)
    }

    /// Writes a data message's head and `number` into the datagram in `buffer`, if the datagram is
    /// long enough.
    pub(crate) fn number(buffer: &mut [u8], number: u64) {
        if let Some(head) = buffer.first_chunk_mut::<DATA_HEAD_BYTES>() {
            head[..HEAD_BYTES].copy_from_slice(&head_of(DATA));
            head[HEAD_BYTES..].copy_from_slice(&number.to_be_bytes());
        }
    }

    /// Returns the datagram of a control message.
    pub(crate) fn write(&self) -> Vec<u8> {
        let (kind, json) = match self {
            Self::Hello(order) => (HELLO, serde_json::to_vec(order)),
            Self::Fin(sent) => (FIN, serde_json::to_vec(sent)),
            Self::Report(received) => (REPORT, serde_json::to_vec(received)),
            Self::Data(_) | Self::Plain => (DATA, Ok(vec![0; DATA_HEAD_BYTES - HEAD_BYTES])),
        };
        let json = json.expect("plain figures are JSON");
        [&head_of(kind)[..], &json].concat()
    }
}

const fn head_of(kind: u8) -> [u8; HEAD_BYTES] {
    [MAGIC[0], MAGIC[1], VERSION, kind]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        let order = TransferParameters {
            datagram_bytes: 1_424,
            duration_ms: 10,
            octets: None,
            bits_per_s: None,
            settling_ms: 2,
        };
        // An older end sends no settling time.
        let older = br#"{"datagram_bytes":1,"duration_ms":2,"bits_per_s":3}"#;
        assert_eq!(serde_json::from_slice::<TransferParameters>(older).unwrap().settling_ms, 0);
        let sent =
            SentDataFigures { datagrams: 7, bytes: 9, never_sent: 3, ..SentDataFigures::default() };
        let received =
            ReceivedDataFigures { datagrams: 7, lost: 2, ..ReceivedDataFigures::default() };
        for message in
            [PerfMessage::Hello(order), PerfMessage::Fin(sent), PerfMessage::Report(received)]
        {
            let octets = message.write();
            assert!(octets.len() < 400, "{} octets", octets.len());
            assert_eq!(PerfMessage::read(&octets), message);
        }
        let mut data = [0; 12];
        PerfMessage::number(&mut data, 1 << 40);
        assert_eq!(PerfMessage::read(&data), PerfMessage::Data(1 << 40));
        let mut short = [0; 11];
        PerfMessage::number(&mut short, 5);
        assert_eq!((short, PerfMessage::read(&short)), ([0; 11], PerfMessage::Plain));
        for foreign in [&b""[..], b"gW", b"gW\x01\x01{}", b"gW\x02\x00abcdefgh", b"gW\x01\x09{}"] {
            assert_eq!(PerfMessage::read(foreign), PerfMessage::Plain, "{foreign:?}");
        }
    }
}
