//! Tests with messages of other programs: answers of dnsmasq 2.90 (Debian 12) to queries over
//! loopback, and the query of the slides on which the DNS benchmark is based; then damaged copies
//! of them.

use base::Random;
use dns_wire::{
    DnsMessage, DnsMessageDefect, DnsRecord, Edns, Flags, Query, Rcode, RecordClass, RecordType,
};

/// Query for `www.google.com` AAAA with RD and EDNS of 4096 bytes.
const SLIDES: &str = "1000010000010000000000010377777706676f6f676c6503636f6d00001c000100002910000\
                      00000000000";
const ADDRESS: &str = "1000858000010001000000010377777706676f6f676c6503636f6d00001c0001c00c001c00\
                       010000012c001020010db800000000000000000000000100002904d0000000000000";
const ALIAS: &str = "10018580000100020000000005616c696173076578616d706c65036f72670000010001c00c00\
                     0500010000012c000f0161076578616d706c65036f726700c02f000100010000012c0004c000\
                     0207";
const MAIL: &str = "100285800001000200000001076578616d706c65036f726700000f0001c00c000f00010000012c\
                    00150014056d61696c32076578616d706c65036f726700c00c000f00010000012c0014000a046d\
                    61696c076578616d706c65036f72670000002904d0000000000000";
const TEXT_DNSSEC_OK: &str = "100385800001000100000001076578616d706c65036f72670000100001c00c001000\
                              010000012c000c0568656c6c6f05776f726c6400002904d0000080000000";
const MISSING: &str = "100481830001000000000001076d697373696e67076578616d706c65036f726700000100010\
                       0002904d0000000000000";
const CHAOS: &str = "1005858000010001000000000776657273696f6e0462696e640000100003c00c00100003000000\
                     00000d0c646e736d6173712d322e3930";
const TRUNCATED: &str = "10068780000100000000000103626967076578616d706c65036f72670000100001000029\
                         04d0000000000000";
const ALL: [&str; 8] = [SLIDES, ADDRESS, ALIAS, MAIL, TEXT_DNSSEC_OK, MISSING, CHAOS, TRUNCATED];

fn octets(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(pair).collect()
}

fn shown(record: &DnsRecord<'_>) -> String {
    format!("{} {} {} {:?}", record.name, record.ttl_s(), record.kind, record.data)
}

#[test]
fn the_query_of_the_slides_is_written_to_the_octet() {
    let edns = Edns { udp_payload_bytes: 4_096, extended_rcode: 0, version: 0, dnssec_ok: false };
    let query = Query { edns: Some(edns), ..Query::PLAIN };
    let mut written = Vec::new();
    query.append(&mut written, b"www.google.com", RecordType::AAAA).unwrap();
    let mut expected = octets(SLIDES);
    expected[..2].fill(0);
    assert_eq!(written, expected);
    // 85 bytes on the wire: Ethernet, IPv4 and UDP take 42.
    assert_eq!(written.len() + 42, 85);
    query.append(&mut written, b"a..b", RecordType::AAAA).unwrap_err();
    assert_eq!(written, expected);
    let plain = Query { recursion_desired: false, ..Query::PLAIN };
    written.clear();
    plain.append(&mut written, b".", RecordType::SOA).unwrap();
    assert_eq!(written, [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 1]);
    let dnssec = Query { edns: Some(Edns { dnssec_ok: true, ..edns }), ..query };
    written.clear();
    dnssec.append(&mut written, b"x", RecordType::A).unwrap();
    assert!(DnsMessage::parse(&written).unwrap().edns().unwrap().dnssec_ok);
}

#[test]
fn answers_are_read() {
    let (query, answer) = (octets(SLIDES), octets(ADDRESS));
    let (query, answer) = (DnsMessage::parse(&query).unwrap(), DnsMessage::parse(&answer).unwrap());
    assert!(answer.has_same_questions(&query));
    assert_eq!((answer.header().id, answer.header().counts), (0x1000, [1, 1, 0, 1]));
    assert!(
        answer.header().flags.has(Flags::RESPONSE) && !query.header().flags.has(Flags::RESPONSE)
    );
    assert_eq!(answer.edns().unwrap().udp_payload_bytes, 1_232);
    let questions: Vec<_> = answer.questions().collect();
    assert_eq!(questions.len(), 1);
    assert_eq!(questions[0].name.to_string(), "www.google.com.");
    assert_eq!((questions[0].kind, questions[0].class), (RecordType::AAAA, RecordClass::INTERNET));
    let records: Vec<_> = answer.records().map(|record| shown(&record)).collect();
    assert_eq!(
        records,
        [
            "www.google.com. 300 AAAA [32, 1, 13, 184, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]",
            ". 0 OPT []"
        ]
    );
    let alias = octets(ALIAS);
    let alias = DnsMessage::parse(&alias).unwrap();
    let names: Vec<_> =
        alias.records().map(|record| format!("{} {}", record.name, record.kind)).collect();
    assert_eq!(names, ["alias.example.org. CNAME", "a.example.org. A"]);
    assert!(alias.edns().is_none() && !alias.has_same_questions(&query));
    let mail = octets(MAIL);
    assert_eq!(DnsMessage::parse(&mail).unwrap().records().count(), 3);
}

#[test]
fn flags_codes_and_classes_are_read() {
    let (missing, truncated) = (octets(MISSING), octets(TRUNCATED));
    let missing = DnsMessage::parse(&missing).unwrap();
    assert_eq!((missing.rcode(), missing.records().count()), (Rcode::NXDOMAIN, 1));
    let truncated = DnsMessage::parse(&truncated).unwrap();
    assert!(truncated.header().flags.has(Flags::TRUNCATED));
    let dnssec_ok = octets(TEXT_DNSSEC_OK);
    assert!(DnsMessage::parse(&dnssec_ok).unwrap().edns().unwrap().dnssec_ok);
    let chaos = octets(CHAOS);
    let chaos = DnsMessage::parse(&chaos).unwrap();
    assert_eq!(chaos.questions().next().unwrap().class, RecordClass(3));
    // BADVERS is 16: 1 in the OPT record, 0 in the header (RFC 6891 section 9).
    let mut bad_version = octets(ADDRESS);
    let extended = bad_version.len() - 6;
    bad_version[extended] = 1;
    assert_eq!(DnsMessage::parse(&bad_version).unwrap().rcode(), Rcode(16));
}

#[test]
fn the_case_of_letters_does_not_matter_and_nothing_else_is_overlooked() {
    let query = octets(SLIDES);
    let query = DnsMessage::parse(&query).unwrap();
    let changed = |at: usize, to: u8| {
        let mut answer = octets(ADDRESS);
        answer[at] = to;
        DnsMessage::parse(&answer).unwrap().has_same_questions(&query)
    };
    assert!(changed(13, b'W') && !changed(13, b'v'));
    // Type and class of the question end at 32.
    assert!(!changed(29, 1) && !changed(31, 3));
    let mut none = octets(ADDRESS);
    none.splice(12..32, []);
    none[5] = 0;
    // The pointer to the question now points into the record's own data.
    assert!(DnsMessage::parse(&none).is_err());
}

#[test]
fn times_to_live_beyond_31_bits_count_as_none() {
    let mut answer = octets(ADDRESS);
    let ttl_at = 12 + 20 + 6;
    answer[ttl_at] = 0x80;
    let parsed = DnsMessage::parse(&answer).unwrap();
    assert_eq!(parsed.records().next().unwrap().ttl_s(), 0);
}

#[test]
fn a_message_that_ends_early_or_late_is_refused_unless_it_says_truncated() {
    for hex in ALL {
        let whole = octets(hex);
        for len in 0..whole.len() {
            let reason = DnsMessage::parse(&whole[..len]).map(|_| ());
            let is_late = len >= 12 && whole[2] & 2 != 0;
            let expected =
                if len < 12 { DnsMessageDefect::Header } else { DnsMessageDefect::Truncated };
            // dnsmasq's truncated answer may end anywhere after its question.
            assert!(reason == Err(expected) || (is_late && reason == Ok(())), "{len}: {reason:?}");
        }
        let longer = [&whole[..], &[0]].concat();
        assert_eq!(DnsMessage::parse(&longer).map(|_| ()), Err(DnsMessageDefect::Trailing));
    }
}

#[test]
fn a_second_or_misplaced_opt_record_is_refused() {
    let opt = octets("00002904d0000000000000");
    let mut two = [octets(ADDRESS), opt.clone()].concat();
    two[11] = 2;
    assert_eq!(DnsMessage::parse(&two).map(|_| ()), Err(DnsMessageDefect::Opt));
    let mut answer = [octets(CHAOS), opt].concat();
    answer[7] = 2;
    assert_eq!(DnsMessage::parse(&answer).map(|_| ()), Err(DnsMessageDefect::Opt));
    let mut named = octets(MISSING);
    let at = named.len() - 11;
    named.splice(at..=at, [0xc0, 12]);
    assert_eq!(DnsMessage::parse(&named).map(|_| ()), Err(DnsMessageDefect::Opt));
}

#[test]
fn damaged_messages_are_read_to_an_end() {
    let mut random = Random::from_seed(6_891);
    let (mut sound, mut refused) = (0_u32, [0_u32; DnsMessageDefect::ALL.len()]);
    for _ in 0..100_000 {
        let mut message = octets(random.pick(&ALL).unwrap());
        for _ in 0..=random.below(6) {
            let at = random.below(message.len() as u64) as usize;
            message[at] = match random.below(4) {
                0 => 0xc0,
                1 => random.below(64) as u8,
                _ => random.next_u32() as u8,
            };
        }
        message.truncate(message.len() - random.below(3) as usize);
        match DnsMessage::parse(&message) {
            Ok(parsed) => {
                sound += 1;
                // The accessors can read everything that parsing has checked.
                let questions = parsed.questions().inspect(|question| {
                    assert!(question.name.to_string().ends_with('.'));
                });
                assert_eq!(questions.count(), usize::from(parsed.header().counts[0]));
                let records: Vec<_> = parsed.records().map(|record| shown(&record)).collect();
                let announced: u32 =
                    parsed.header().counts[1..].iter().map(|&n| u32::from(n)).sum();
                let may_lack = parsed.header().flags.has(Flags::TRUNCATED);
                assert!(
                    records.len() as u32 == announced || may_lack,
                    "{records:?} of {announced}"
                );
                assert!(parsed.has_same_questions(&parsed));
            }
            Err(reason) => refused[reason.index()] += 1,
        }
    }
    // The messages are neither shorter than a header nor long enough for a name that is too long.
    // The damage must cause every other defect, or the test proves nothing.
    let met = DnsMessageDefect::ALL.map(|reason| refused[reason.index()] > 0);
    assert_eq!(met, [false, true, true, true, false, true, true], "{refused:?}");
    assert!(sound > 10_000, "{sound}");
}
