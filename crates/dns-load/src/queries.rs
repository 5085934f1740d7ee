//! DNS queries of a run, made once before it from a file of queries, a zone or a capture.

use dns_wire::header::HEADER_BYTES;
use dns_wire::{DnsMessage, Query, RecordType};

use crate::expected::ExpectedAnswer;
use crate::query_file::{self, BadLines};

/// DNS queries of a run as bytes, with identifier 0, and their expected answers.
#[derive(Clone, Debug, Default)]
pub struct QueryWorkload {
    octets: Vec<u8>,
    ends: Vec<u32>,
    /// Expected answer to each query; empty when it is not known.
    expected: Vec<ExpectedAnswer>,
}

impl QueryWorkload {
    /// Reads the queries of `text`, in dnsperf's format, each with the settings of `query`. `file`
    /// names the text in problems.
    ///
    /// # Errors
    ///
    /// Returns all problems with line and column, the first ten in words.
    pub fn parse(file: &str, text: &[u8], query: Query<'_>) -> Result<Self, String> {
        query_file::read(file, text, query, BadLines::Refuse).map(|file| file.workload)
    }

    /// Adds a query for records of the type `kind` of the name that `name` writes.
    ///
    /// # Errors
    ///
    /// Returns the reason why `name` is no name, or that there is no room.
    pub(crate) fn add_query(
        &mut self,
        name: &[u8],
        kind: RecordType,
        query: Query<'_>,
    ) -> Result<(), String> {
        query.append(&mut self.octets, name, kind).map_err(|why| why.to_string())?;
        self.end().map_err(str::to_owned)
    }

    /// Ends the query whose bytes were appended last to the workload; fails when there is no room
    /// for more.
    fn end(&mut self) -> Result<(), &'static str> {
        let end = u32::try_from(self.octets.len()).map_err(|_| "more than 4 GiB of queries")?;
        self.ends.push(end);
        Ok(())
    }

    /// Adds the query for records of the type `kind` of `name`, with the answer `expected`.
    ///
    /// # Panics
    ///
    /// Panics when `name` is no name, or when other queries were added without an expected answer.
    pub(crate) fn add(
        &mut self,
        name: &[u8],
        kind: RecordType,
        query: Query<'_>,
        expected: ExpectedAnswer,
    ) {
        assert_eq!(self.expected.len(), self.ends.len(), "all are expected to be something");
        query.append(&mut self.octets, name, kind).expect("names that were made are names");
        self.end().expect("a zone has a million queries of 282 octets at most");
        self.expected.push(expected);
    }

    /// Adds a captured query's bytes unchanged, except for its identifier, which becomes 0.
    ///
    /// # Errors
    ///
    /// Fails when there is no room.
    pub(crate) fn add_as_it_is(&mut self, query: &[u8]) -> Result<(), &'static str> {
        self.octets.extend([0, 0]);
        self.octets.extend(&query[2..]);
        self.end()
    }

    /// Returns the length of the longest query of the run, in bytes.
    pub fn longest(&self) -> usize {
        (0..self.len()).map(|index| self.query(index).len()).max().unwrap_or(0)
    }

    /// Returns the mean length of the run's queries, in bytes, rounded down.
    pub const fn mean_bytes(&self) -> usize {
        match self.octets.len().checked_div(self.len()) {
            Some(mean) => mean,
            None => 0,
        }
    }

    /// Returns the operation of query `index` (OPCODE, RFC 1035 §4.1.1): 0 for a standard query.
    pub(crate) fn operation(&self, index: usize) -> u8 {
        self.query(index).get(2).map_or(0, |octet| octet >> 3 & 0x0f)
    }

    /// Returns the number of the run's queries.
    pub const fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true when the run has no query.
    pub const fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the bytes of query `index`, with identifier 0.
    ///
    /// # Panics
    ///
    /// Panics when there are not that many queries.
    pub fn query(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.octets[start..self.ends[index] as usize]
    }

    /// Returns the expected answer to query `index`, if it is known.
    pub fn expected(&self, index: usize) -> Option<&ExpectedAnswer> {
        self.expected.get(index)
    }

    /// Returns true when `answer` repeats the question of query `index`, letters in any case.
    pub fn has_question_of(&self, index: usize, answer: &DnsMessage<'_>) -> bool {
        let query = self.query(index);
        let is_repeated = answer.header().counts[0] == 1
            && query[HEADER_BYTES..].starts_with(answer.question_octets());
        is_repeated || DnsMessage::parse(query).is_ok_and(|query| answer.has_same_questions(&query))
    }
}
