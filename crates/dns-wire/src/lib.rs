//! Subset of DNS that a load generator and a responder need: a checked view of a message (header,
//! questions, records, EDNS), and a writer of queries.
//!
//! The crate turns bytes into values; only the functions that turn text into bytes before a run
//! allocate. It does not interpret record data, and has no zones, signatures or transports. Read
//! before changing this crate: RFC 1035 sections 3 and 4, RFC 2181 sections 8 to 11, RFC 3597, RFC
//! 4343, RFC 6891.
//!
//! Budget: parsing an answer of one question and one record takes less than 100 ns, and comparing
//! its question with the one that was sent is one comparison of bytes.

#![no_std]

extern crate alloc;

pub mod header;
pub mod kind;
pub mod malformed;
pub mod message;
pub mod name;
pub mod query;
pub mod rcode;
pub mod record;
pub mod stream;

pub use header::{DnsHeader, Flags};
pub use kind::{RecordClass, RecordType};
pub use malformed::DnsMessageDefect;
pub use message::{DnsMessage, Question};
pub use name::{DnsName, NameError};
pub use query::{EdnsOptions, Query};
pub use rcode::Rcode;
pub use record::{DnsRecord, Edns};
