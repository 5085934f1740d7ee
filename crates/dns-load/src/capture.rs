//! Queries from a capture file: those that were sent over UDP to a DNS port, in their order,
//! unchanged except for the identifier.

use dns_wire::{DnsMessage, Flags};
use load::replay::{self, PacketCounts};

use crate::queries::QueryWorkload;

/// UDP and TCP port of DNS servers (RFC 1035 section 4.2).
pub(crate) const DNS_PORT: u16 = 53;
/// Largest length of a captured query, in bytes; longer queries are left out.
const QUERY_BYTES_MAX: usize = 2_048;
/// Queries in a capture file, with their times and the counts of its packets.
#[derive(Debug, Default)]
pub(crate) struct CapturedQueries {
    /// Queries in the capture, in their order.
    pub(crate) workload: QueryWorkload,
    /// Time at which each query was captured, in nanoseconds since 1970.
    pub(crate) times_ns: Vec<u64>,
    /// Counts of the capture's packets. Packets with other messages than queries of one question,
    /// or with longer ones, are unwanted.
    pub(crate) packets: PacketCounts,
    /// Largest answer that a query of the capture offers to accept, in bytes.
    pub(crate) answer_bytes: u16,
}

/// Returns true if a payload is a standard query that can be sent and matched with its answer: one
/// question, followed by nothing but EDNS and the like.
pub(crate) fn is_query(payload: &[u8]) -> bool {
    payload.len() <= QUERY_BYTES_MAX
        && DnsMessage::parse(payload).is_ok_and(|message| {
            let header = message.header();
            let is_standard = header.flags.opcode() == 0 && !header.flags.has(Flags::RESPONSE);
            is_standard && header.counts[..3] == [1, 0, 0]
        })
}

/// Returns true if a payload is a message that can be sent and matched with its answer: it has a
/// DNS header without the flag QR (response), and any opcode.
pub(crate) fn is_request(payload: &[u8]) -> bool {
    const HEADER_BYTES: usize = 12;
    const RESPONSE: u8 = 0x80;
    (HEADER_BYTES..=QUERY_BYTES_MAX).contains(&payload.len()) && payload[2] & RESPONSE == 0
}

/// Returns the queries to one of `ports` in the capture `file`, with their times.
///
/// # Errors
///
/// Returns a message when the file cannot be read or has no queries.
pub(crate) fn queries(file: &[u8], ports: &[u16]) -> Result<CapturedQueries, String> {
    let mut captured = CapturedQueries::default();
    let mut problem = None;
    let packets = replay::datagrams(file, ports, |time_ns, payload| {
        if !is_query(payload) {
            return false;
        }
        let edns = DnsMessage::parse(payload).ok().and_then(|message| message.edns());
        let offered = edns.map_or(0, |edns| edns.udp_payload_bytes);
        captured.answer_bytes = captured.answer_bytes.max(offered);
        captured.times_ns.push(time_ns);
        if let Err(why) = captured.workload.add_as_it_is(payload) {
            problem = Some(why);
        }
        true
    })?;
    captured.packets = packets;
    match problem {
        Some(problem) => Err(format!("holds {problem}")),
        None if captured.workload.is_empty() => {
            let mut ports: Vec<String> = ports.iter().map(u16::to_string).collect();
            ports.dedup();
            Err(format!("has no queries to port {}: {packets}", ports.join(" or ")))
        }
        None => Ok(captured),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

    use base::ByteWriter;
    use packet_wire::pcap::{self, ByteOrder, LINK_RAW_IP, Resolution};
    use packet_wire::{ipv4, ipv6, protocol, udp};

    use super::*;

    /// Returns a query for `a. A` with RD, the identifier 0x1234 and `additional` after its
    /// question.
    pub(crate) fn query(additional: &[u8]) -> Vec<u8> {
        let head = b"\x12\x34\x01\0\0\x01\0\0\0\0\0";
        let count = u8::from(!additional.is_empty());
        [&head[..], &[count], b"\x01a\0\0\x01\0\x01", additional].concat()
    }

    /// Returns a pcap file of UDP datagrams, each with its time, true for IPv6, its port and
    /// payload.
    pub(crate) fn capture(packets: &[(u64, bool, u16, &[u8])]) -> Vec<u8> {
        let mut file =
            pcap::CaptureWriter::new(LINK_RAW_IP, ByteOrder::Little, Resolution::Nanoseconds);
        for &(time_ns, is_v6, port, payload) in packets {
            let mut buffer = vec![0; 4_096];
            let mut writer = ByteWriter::new(&mut buffer);
            let bytes = udp::HEADER_LEN + payload.len();
            let (from, to): (SocketAddr, SocketAddr) = if is_v6 {
                let address = Ipv6Addr::LOCALHOST;
                ipv6::Header::new(protocol::UDP, address, address).emit(bytes, &mut writer);
                ((address, 9).into(), (address, port).into())
            } else {
                let address = Ipv4Addr::LOCALHOST;
                ipv4::Header::new(protocol::UDP, address, address).emit(bytes, &mut writer);
                ((address, 9).into(), (address, port).into())
            };
            writer.put(&udp::header_for(from, to, payload)).put(payload);
            file.packet(time_ns, writer.written());
        }
        file.into_octets()
    }

    #[test]
    fn queries_come_in_order_as_they_were_but_for_their_identifiers() {
        let edns = b"\0\0\x29\x04\xd0\0\0\x80\0\0\x04\0\x0a\0\0";
        let (plain, cookie) = (query(b""), query(edns));
        let mut answer = plain.clone();
        answer[2] |= 0x80;
        let mut update = plain.clone();
        update[2] |= 5 << 3;
        let file = capture(&[
            (5, false, 53, &cookie),
            (3, true, 5_353, &plain),
            (7, false, 53, &answer),
            (8, false, 53, &update),
            (9, false, 54, &plain),
            (10, true, 53, &plain[..16]),
        ]);
        assert!(pcap::is_capture(&file) && !pcap::is_capture(b"a.example"));
        let captured = queries(&file, &[53, 5_353]).unwrap();
        assert_eq!(captured.times_ns, [5, 3]);
        let PacketCounts { read, used, unwanted, other_ports, .. } = captured.packets;
        assert_eq!((read, used, unwanted, other_ports), (6, 2, 3, 1));
        assert_eq!(captured.answer_bytes, 1_232);
        let workload = captured.workload;
        assert_eq!((workload.len(), workload.longest()), (2, cookie.len()));
        for (index, query) in [cookie, plain].iter().enumerate() {
            assert_eq!(workload.query(index)[..2], [0, 0]);
            assert_eq!(workload.query(index)[2..], query[2..]);
            // An answer repeats the question and nothing that follows it.
            let mut answer = self::query(b"");
            answer[2] |= 0x80;
            assert!(workload.has_question_of(index, &DnsMessage::parse(&answer).unwrap()));
            answer[13] = b'b';
            assert!(!workload.has_question_of(index, &DnsMessage::parse(&answer).unwrap()));
        }
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        let error = |file: &[u8]| queries(file, &[53]).unwrap_err();
        assert!(error(b"\x0a\x0d\x0d\x0a....").contains("ends inside"));
        assert!(
            error(b"nothing of the kind, but long enough").contains("neither a pcap nor a pcapng")
        );
        let file = capture(&[(1, false, 53, b"x")]);
        for (ports, port_text) in
            [(&[53][..], "53"), (&[53, 53], "53"), (&[53, 9_053], "53 or 9053")]
        {
            let expected = format!(
                "has no queries to port {port_text}: 0 of 1 packets are used; left out: 1 with other \
                 messages"
            );
            assert_eq!(queries(&file, ports).unwrap_err(), expected);
        }
    }
}
