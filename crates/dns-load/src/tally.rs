//! Counts of one generator thread's datagrams by kind, and faults of the datagrams that name a
//! query.

use dns_wire::{DnsMessageDefect, Rcode};
use load::ExchangeClass;

base::named! {
    /// Fault of a DNS message that carries the port and the identifier of a query. Names are those
    /// of records.
    pub enum AnswerFault {
        /// The question of the answer differs from the query's.
        Question = "question",
        /// The flag QR (response) of the answer is not set.
        NotAResponse = "not_a_response",
        /// The opcode of the answer differs from the query's.
        Opcode = "opcode",
        /// The response code is NOERROR where NXDOMAIN was expected, or the other way round.
        ResponseCode = "response_code",
        /// The answer section has other records than the expected ones.
        Records = "records",
    }
}

impl AnswerFault {
    /// Returns the class of a query whose first answer has the fault.
    pub const fn class(self) -> ExchangeClass {
        match self {
            Self::Question | Self::ResponseCode | Self::Records => ExchangeClass::WrongClient,
            Self::NotAResponse | Self::Opcode => ExchangeClass::Invalid,
        }
    }
}

base::counts! {
    /// Counts of one generator thread's datagrams, and of messages over TCP, by kind. `received` is
    /// the sum of the others up to `foreign`, except `octets`.
    #[derive(Clone, Debug)]
    pub struct DnsMessageTally {
        /// Number of datagrams received, and of messages over TCP.
        pub received: u64,
        /// Number of bytes of the messages from the server, without headers of UDP and IP.
        pub octets: u64,
        /// Numbers of first answers to queries, also late ones, by response code.
        pub rcodes: Vec<u64>,
        /// Number of answers with the flag TC (truncated) after which the query was sent again over
        /// TCP.
        pub asked_again: u64,
        /// Number of further answers to queries that had an answer already.
        pub repeated: u64,
        /// Numbers of messages with port and identifier of a query that are no valid answer to it,
        /// by [`AnswerFault`].
        pub faults: [u64; AnswerFault::ALL.len()],
        /// Numbers of datagrams that are no DNS messages, by [`DnsMessageDefect::index`].
        pub malformed: [u64; DnsMessageDefect::ALL.len()],
        /// Number of messages that belong to no query that is watched.
        pub unmatched: u64,
        /// Number of datagrams from another address or port than the server's.
        pub foreign: u64,
        /// Number of first answers with the flag TC (truncated) set.
        pub truncated: u64,
        /// Number of first answers that came after their deadline.
        pub late: u64,
    }
}

impl Default for DnsMessageTally {
    fn default() -> Self {
        Self {
            received: 0,
            octets: 0,
            rcodes: vec![0; Rcode::COUNT],
            asked_again: 0,
            repeated: 0,
            faults: [0; AnswerFault::ALL.len()],
            malformed: [0; DnsMessageDefect::ALL.len()],
            unmatched: 0,
            foreign: 0,
            truncated: 0,
            late: 0,
        }
    }
}

impl DnsMessageTally {
    /// Returns the number of first answers to queries.
    pub fn answered(&self) -> u64 {
        self.rcodes.iter().sum()
    }
}
