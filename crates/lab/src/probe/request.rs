//! Requests of the probe that checks whether a server answers, and the check that a message answers
//! one.

use std::net::IpAddr;

use base::Random;
use dns_wire::{DnsMessage, Edns, Flags, Query, Rcode, RecordType};
use measure::plan::QUERY;

use super::message;
use crate::driver::ANSWER;

/// First byte of the transaction identifiers in the probe's messages, which have 24 bits in DHCPv6
/// and 16 in DNS.
pub(super) const XID: u32 = 0x67_0000;
/// UDP payload size in the EDNS record (RFC 6891) of the probe's DNS query, in bytes, equal to the
/// load generator's.
const PAYLOAD_BYTES: u16 = 4_096;

/// Kind of request that the probe sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProbeRequest {
    /// DISCOVER or SOLICIT through a relay agent, with the address by which servers choose the
    /// subnet (giaddr, link-address).
    Dhcp(IpAddr),
    /// Query that plans of DNS send.
    Dns,
}

impl ProbeRequest {
    /// Returns the probe's message with identifier `xid`.
    pub(super) fn message(self, xid: u32) -> Vec<u8> {
        match self {
            Self::Dhcp(link) => message::first(link, xid),
            Self::Dns => {
                let mut octets = query();
                octets[..2].copy_from_slice(&(xid as u16).to_be_bytes());
                octets
            }
        }
    }

    /// Returns true if `answer` answers the probe's message with identifier `xid`.
    pub(super) fn is_answered_by(self, answer: &[u8], xid: u32) -> bool {
        match self {
            Self::Dhcp(link) => message::transaction_id(link, answer) == Some(xid),
            Self::Dns => DnsMessage::parse(answer).is_ok_and(|message| {
                let header = message.header();
                header.flags.has(Flags::RESPONSE) && header.id == xid as u16
            }),
        }
    }

    /// Returns the probe's first transaction identifier: a constant for DHCP, where the client's
    /// address or DUID also identifies the probe; random for DNS, where only the identifier tells
    /// an answer to the probe from a late answer to the generator.
    pub(super) fn first_xid(self) -> u32 {
        match self {
            Self::Dhcp(_) => XID,
            Self::Dns => XID | Random::from_seed(u64::from(std::process::id())).next_u32() & 0xffff,
        }
    }
}

/// Returns the probe's DNS query, with 0 as its identifier.
fn query() -> Vec<u8> {
    let edns =
        Edns { udp_payload_bytes: PAYLOAD_BYTES, extended_rcode: 0, version: 0, dnssec_ok: false };
    let mut octets = Vec::new();
    let (name, kind) = QUERY.split_once(' ').expect("a name and a type");
    let kind: RecordType = kind.parse().expect("a type that is known");
    Query { edns: Some(edns), ..Query::PLAIN }
        .append(&mut octets, name.as_bytes(), kind)
        .expect("a name that is sound");
    octets
}

/// Returns the fault of `answer`, a response to the query of DNS plans by a server with the lab's
/// zone; `None` when it is the answer that all servers must give: NOERROR, one AAAA record, nothing
/// truncated.
pub(super) fn answer_fault(answer: &[u8]) -> Option<String> {
    let message = match DnsMessage::parse(answer) {
        Ok(message) => message,
        Err(malformed) => return Some(format!("something other than a DNS message ({malformed})")),
    };
    let (header, rcode) = (message.header(), message.rcode());
    if rcode != Rcode::NOERROR {
        return Some(rcode.to_string());
    }
    if header.flags.has(Flags::TRUNCATED) {
        return Some("a truncated message".to_owned());
    }
    let is_the_one = message.records().next().is_some_and(|record| record.data == ANSWER.octets());
    let counts = [header.counts[1], header.counts[2]];
    (counts != [1, 0] || !is_the_one).then(|| {
        format!(
            "{} answer records and {} authority records, instead of the one answer record that the \
             zone has",
            counts[0], counts[1]
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes the DNS answer that servers give: a pointer to the name, AAAA, IN, 300 s, 16 bytes.
    fn answer() -> Vec<u8> {
        let mut octets = ProbeRequest::Dns.message(XID | 0x1234);
        let opt = octets.split_off(octets.len() - 11);
        octets[2] |= 0x84;
        octets[7] = 1;
        octets.extend_from_slice(&[0xc0, 12, 0, 28, 0, 1, 0, 0, 1, 44, 0, 16]);
        octets.extend_from_slice(&ANSWER.octets());
        octets.extend_from_slice(&opt);
        octets
    }

    #[test]
    fn the_query_is_that_of_the_plans_frame() {
        // Headers of Ethernet, IPv4 and UDP around it.
        let frame = 14 + 20 + 8 + ProbeRequest::Dns.message(XID).len();
        assert_eq!(frame as f64, measure::plan::QUERY_FRAME_BYTES);
    }

    #[test]
    fn answers_are_known_by_identifier_and_direction() {
        let answered = |octets: &[u8]| ProbeRequest::Dns.is_answered_by(octets, XID | 0x1234);
        assert!(answered(&answer()));
        let query = ProbeRequest::Dns.message(XID | 0x1234);
        assert!(!answered(&query), "a query is no answer");
        let mut other = answer();
        other[1] ^= 1;
        assert!(!answered(&other) && !answered(&answer()[..40]));
    }

    #[test]
    fn only_the_record_of_the_zone_is_a_good_answer() {
        assert_eq!(answer_fault(&answer()), None);
        let changed = |at: usize, octet: u8| {
            let mut octets = answer();
            octets[at] = octet;
            answer_fault(&octets)
        };
        assert_eq!(changed(3, 5).as_deref(), Some("REFUSED"));
        assert_eq!(changed(2, 0x86).as_deref(), Some("a truncated message"));
        let last_of_address = answer().len() - 12;
        assert!(
            changed(last_of_address, 9).is_some_and(|words| words.contains("instead of the one"))
        );
        let mut echo = ProbeRequest::Dns.message(XID);
        echo[2] |= 0x80;
        assert!(answer_fault(&echo).is_some_and(|words| words.starts_with("0 answer records")));
        assert!(answer_fault(&[1, 2]).is_some_and(|words| words.starts_with("something other")));
    }
}
