//! Expected content of an answer to a DNS query, small enough to be stored with each query, and
//! cheap enough to be compared at full rate: the response code, the number of records in the answer
//! section, and a sum over them that does not depend on their order, because servers rotate it.
//!
//! For types without names in their data (A, AAAA, TXT) the sum covers type and data; for others
//! the type alone, as names in data may be compressed. Budget: about 10 ns per record and 1 ns per
//! byte of data; nothing is allocated.

use dns_wire::{DnsMessage, Flags, Rcode, RecordType};

use crate::tally::AnswerFault;

/// Expected answer to a DNS query: response code, number of records, and their sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedAnswer {
    rcode: Rcode,
    answers: u16,
    sum: u64,
}

impl ExpectedAnswer {
    /// Creates the expectation of an answer with `rcode` and `records`, type and data of each, in
    /// any order.
    pub fn new<'a>(rcode: Rcode, records: impl Iterator<Item = (RecordType, &'a [u8])>) -> Self {
        let mut expected = Self { rcode, answers: 0, sum: 0 };
        for (kind, data) in records {
            expected.answers += 1;
            expected.sum = expected.sum.wrapping_add(mark(kind, data));
        }
        expected
    }

    /// Compares `answer`, which has NOERROR or NXDOMAIN, with the expected one. If TC is set,
    /// compares only the response code.
    ///
    /// # Errors
    ///
    /// [`AnswerFault::ResponseCode`], or [`AnswerFault::Records`].
    pub fn compare(&self, answer: &DnsMessage<'_>) -> Result<(), AnswerFault> {
        if answer.rcode() != self.rcode {
            return Err(AnswerFault::ResponseCode);
        }
        let header = answer.header();
        if header.flags.has(Flags::TRUNCATED) {
            return Ok(());
        }
        let records = answer.records().take(header.counts[1].into());
        let sum =
            records.fold(0_u64, |sum, record| sum.wrapping_add(mark(record.kind, record.data)));
        if (header.counts[1], sum) == (self.answers, self.sum) {
            Ok(())
        } else {
            Err(AnswerFault::Records)
        }
    }
}

/// Returns the share of the sum that a record has: FNV-1a over its type and, where no name can be
/// in it, its data.
fn mark(kind: RecordType, data: &[u8]) -> u64 {
    let data =
        if matches!(kind, RecordType::A | RecordType::AAAA | RecordType::TXT) { data } else { &[] };
    let octets = kind.0.to_be_bytes().into_iter().chain(data.iter().copied());
    octets.fold(0xcbf2_9ce4_8422_2325, |hash, octet| {
        (hash ^ u64::from(octet)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an answer to `a. A` with records of these types and data.
    fn answer(flags: u16, records: &[(u16, &[u8])]) -> Vec<u8> {
        let mut octets = vec![0, 1];
        octets.extend((0x8000 | flags).to_be_bytes());
        octets.extend([0, 1, 0, records.len() as u8, 0, 0, 0, 0]);
        octets.extend(b"\x01a\0\0\x01\0\x01");
        for (kind, data) in records {
            octets.extend([0xc0, 12]);
            octets.extend(kind.to_be_bytes());
            octets.extend([0, 1, 0, 0, 0, 60, 0, data.len() as u8]);
            octets.extend(*data);
        }
        octets
    }

    #[test]
    fn records_count_in_any_order_and_each_of_them_counts() {
        let (one, two) = ([192, 0, 2, 1], [192, 0, 2, 2]);
        let records =
            [(RecordType::A, &one[..]), (RecordType::CNAME, b"\x01b\0"), (RecordType::A, &two)];
        let expected = ExpectedAnswer::new(Rcode::NOERROR, records.into_iter());
        let compare = |flags, records: &[(u16, &[u8])]| {
            expected.compare(&DnsMessage::parse(&answer(flags, records)).unwrap())
        };
        // The name in a CNAME may be compressed.
        assert_eq!(compare(0, &[(1, &two), (5, b"\xc0\x0c"), (1, &one)]), Ok(()));
        assert_eq!(compare(0, &[(1, &one), (5, b"\x01b\0"), (1, &one)]), Err(AnswerFault::Records));
        assert_eq!(compare(0, &[(1, &one), (1, &two)]), Err(AnswerFault::Records));
        assert_eq!(compare(0, &[(28, &one), (5, b""), (1, &two)]), Err(AnswerFault::Records));
        assert_eq!(compare(0, &[]), Err(AnswerFault::Records));
        assert_eq!(compare(Flags::TRUNCATED, &[]), Ok(()));
        assert_eq!(compare(3, &[]), Err(AnswerFault::ResponseCode));
        assert_eq!(compare(Flags::TRUNCATED | 3, &[]), Err(AnswerFault::ResponseCode));
        let nothing = ExpectedAnswer::new(Rcode::NXDOMAIN, std::iter::empty());
        let message = answer(3, &[]);
        assert_eq!(nothing.compare(&DnsMessage::parse(&message).unwrap()), Ok(()));
    }
}
