//! Tests of zones made from a seed against a second account of them: by the rules of RFC 1034
//! section 4.3.2 the master file, which this test reads itself, gives the content of the file of
//! answers, and the expectation of the generator.

use std::collections::BTreeMap;

use dns_load::{AnswerFault, Zone, ZoneLike};
use dns_wire::{DnsMessage, Query, Rcode, RecordType, name};

const QUERY: Query<'_> = Query { recursion_desired: false, ..Query::PLAIN };

fn like(seed: u64, names: u32) -> ZoneLike {
    ZoneLike { seed, names, origin: "zone.test".parse().unwrap() }
}

/// Records of a zone by name: type and data as text.
type Records<'t> = BTreeMap<&'t str, Vec<(&'t str, String)>>;

/// Reads the records of a master file whose names are relative to `zone.test`.
fn read(text: &str) -> Records<'_> {
    let mut records = Records::new();
    for line in text.lines().filter(|line| !line.starts_with([';', '$', '@'])) {
        let mut words = line.splitn(4, ' ');
        let (name, class) = (words.next().unwrap(), words.next().unwrap());
        let (kind, data) = (words.next().unwrap(), words.next().unwrap());
        assert_eq!(class, "IN", "{line}");
        let data = match kind {
            "CNAME" | "MX" => format!("{data}.zone.test."),
            _ => data.to_owned(),
        };
        records.entry(name).or_default().push((kind, data));
    }
    records
}

/// Returns response code and records of a server's answer, each record as `NAME TYPE DATA`.
fn answer(records: &Records<'_>, full_name: &str, kind: &str) -> (&'static str, Vec<String>) {
    let name = full_name.strip_suffix(".zone.test.").unwrap();
    let Some(records_of_name) = records.get(name) else { return ("NXDOMAIN", Vec::new()) };
    if let [("CNAME", target)] = &records_of_name[..] {
        let mut all = vec![format!("{full_name} CNAME {target}")];
        all.extend(answer(records, target, kind).1);
        return ("NOERROR", all);
    }
    let of_kind = records_of_name.iter().filter(|(has, _)| *has == kind);
    ("NOERROR", of_kind.map(|(kind, data)| format!("{full_name} {kind} {data}")).collect())
}

#[test]
fn zone_queries_and_answers_agree() {
    for (seed, names) in [(1, 2_000), (2, 1), (3, 7)] {
        let zone = Zone::new(like(seed, names));
        let (text, queries, expected) =
            (zone.master_file(), zone.query_file(), zone.expected_file());
        let records = read(&text);
        assert_eq!(records.len() as u32, names + 2, "with the two name servers");
        assert_eq!(
            (queries.lines().count(), expected.lines().count()),
            (names as usize, names as usize)
        );
        let mut seen: BTreeMap<String, u32> = BTreeMap::new();
        for (query, line) in queries.lines().zip(expected.lines()) {
            let (name, kind) = query.split_once(' ').unwrap();
            let (code, answers) = answer(&records, name, kind);
            let mut fields = vec![name.to_owned(), kind.to_owned(), code.to_owned()];
            fields.push(answers.len().to_string());
            *seen.entry(format!("{code} {}", !answers.is_empty())).or_default() += 1;
            fields.extend(answers);
            assert_eq!(line, fields.join("\t"));
        }
        if names == 2_000 {
            assert!((150..=250).contains(&seen["NXDOMAIN false"]), "{seen:?}");
            assert!(seen["NOERROR true"] > 1_000 && seen["NOERROR false"] > 200, "{seen:?}");
        }
    }
}

#[test]
fn a_larger_zone_begins_with_the_smaller_one_and_another_seed_is_another_zone() {
    let lines = |seed, names| {
        let text = Zone::new(like(seed, names)).master_file();
        text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    let (small, large) = (lines(5, 100), lines(5, 1_000));
    assert_eq!(small, large[..small.len()]);
    assert_ne!(small, lines(6, 100));
}

/// Returns an answer as a server writes it, names uncompressed.
fn message(query: &[u8], code: &str, records: &[&str]) -> Vec<u8> {
    let mut octets = query.to_vec();
    octets[2] |= 0x84;
    octets[3] = code.parse::<Rcode>().unwrap().0 as u8;
    octets[7] = records.len() as u8;
    for record in records {
        let mut words = record.splitn(3, ' ');
        name::append_text(&mut octets, words.next().unwrap().as_bytes()).unwrap();
        let kind: RecordType = words.next().unwrap().parse().unwrap();
        octets.extend(kind.0.to_be_bytes());
        octets.extend([0, 1, 0, 0, 14, 16]);
        let text = words.next().unwrap();
        let mut data = Vec::new();
        match kind {
            RecordType::A => data.extend(text.parse::<std::net::Ipv4Addr>().unwrap().octets()),
            RecordType::AAAA => data.extend(text.parse::<std::net::Ipv6Addr>().unwrap().octets()),
            RecordType::TXT => {
                let text = text.trim_matches('"');
                data.push(text.len() as u8);
                data.extend(text.as_bytes());
            }
            RecordType::MX => {
                let (preference, host) = text.split_once(' ').unwrap();
                data.extend(preference.parse::<u16>().unwrap().to_be_bytes());
                name::append_text(&mut data, host.as_bytes()).unwrap();
            }
            _ => name::append_text(&mut data, text.as_bytes()).unwrap(),
        }
        octets.extend((data.len() as u16).to_be_bytes());
        octets.extend(data);
    }
    octets
}

#[test]
fn the_generator_expects_what_the_file_says_and_nothing_else() {
    let zone = Zone::new(like(1, 500));
    let (workload, expected) = (zone.workload(QUERY), zone.expected_file());
    assert_eq!(workload.len(), 500);
    let mut damaged = 0;
    for (index, line) in expected.lines().enumerate() {
        let fields: Vec<_> = line.split('\t').collect();
        let (code, mut records) = (fields[2], fields[4..].to_vec());
        let compare = |code: &str, records: &[&str]| {
            let octets = message(workload.query(index), code, records);
            let answer = DnsMessage::parse(&octets).unwrap();
            assert!(workload.has_question_of(index, &answer), "{line}");
            workload.expected(index).unwrap().compare(&answer)
        };
        // The records may be in any order, because servers rotate it.
        records.reverse();
        assert_eq!(compare(code, &records), Ok(()), "{line}");
        let other = if code == "NOERROR" { "NXDOMAIN" } else { "NOERROR" };
        assert_eq!(compare(other, &records), Err(AnswerFault::ResponseCode), "{line}");
        let changed = "x.zone.test. A 192.0.2.99";
        assert_eq!(compare(code, &[&records[..], &[changed]].concat()), Err(AnswerFault::Records));
        if let Some(last) = records.last_mut().filter(|record| record.contains(" A ")) {
            *last = changed;
            damaged += 1;
            assert_eq!(compare(code, &records), Err(AnswerFault::Records), "{line}");
        }
    }
    assert!(damaged > 100, "{damaged}");
}

/// Records of the zone of seed 1 and its first queries with twelve names; a change means that zones
/// that servers have loaded differ from those that the generator expects.
const PINNED: &str = "\
www.moti-0 IN A 10.0.78.180
www.moti-0 IN A 10.240.205.37
www.moti-0 IN A 10.213.228.54
www.moti-0 IN A 10.88.93.240
kupodo-1 IN A 10.132.82.190
kupodo-1 IN A 10.162.193.96
bimu-2 IN A 10.60.198.130
bimu-2 IN A 10.255.250.150
bimu-2 IN AAAA 2001:db8::d170:8127:2613:8f30
bimu-2 IN TXT \"v=spf1 ip4:10.69.144.0/24 -all\"
";
const PINNED_QUERIES: [&str; 3] =
    ["tutudo-b.zone.test. HTTPS", "luso-5.zone.test. A", "kupodo-1.zone.test. A"];

#[test]
fn a_seed_means_the_same_zone_for_ever() {
    let text = Zone::new(like(1, 3)).master_file();
    assert!(text.ends_with(PINNED), "{text}");
    let queries = Zone::new(like(1, 12)).query_file();
    assert_eq!(queries.lines().take(3).collect::<Vec<_>>(), PINNED_QUERIES);
}
