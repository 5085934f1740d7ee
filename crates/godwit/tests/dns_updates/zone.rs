//! Content of a zone, read by a zone transfer over TCP (RFC 5936).

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};

use base::Hex;
use domain::base::iana::{Class, Rcode, Rtype};
use domain::base::name::{Name, ParsedName};
use domain::base::rdata::UnknownRecordData;
use domain::base::{Message, MessageBuilder, ParsedRecord};
use domain::rdata::{A, Aaaa, Ptr};

use crate::common::waited_until;

/// Returns the records of `zone` at the server on `port` of loopback, each as a line, without those
/// that every zone has. Returns `None` if the server does not transfer the zone.
pub(super) fn records(port: u16, zone: &str) -> Option<BTreeSet<String>> {
    let mut query = MessageBuilder::new_stream_vec().question();
    let name: Name<Vec<u8>> = zone.parse().expect("it is a name");
    query.push((&name, Rtype::AXFR, Class::IN)).expect("it fits");
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    stream.write_all(query.finish().as_stream_slice()).ok()?;
    let (mut lines, mut starts_and_ends) = (BTreeSet::new(), 0);
    while starts_and_ends < 2 {
        let mut len = [0; 2];
        stream.read_exact(&mut len).ok()?;
        let mut message = vec![0; usize::from(u16::from_be_bytes(len))];
        stream.read_exact(&mut message).ok()?;
        let message = Message::from_slice(&message).ok()?;
        if message.header().rcode() != Rcode::NOERROR {
            return None;
        }
        for record in message.answer().ok()? {
            let record = record.ok()?;
            match record.rtype() {
                Rtype::SOA => starts_and_ends += 1,
                Rtype::NS => {}
                _ => drop(lines.insert(line(&record)?)),
            }
        }
    }
    Some(lines)
}

/// Returns the records of `zone` as soon as the server transfers it.
pub(super) fn records_when_served(port: u16, zone: &str) -> BTreeSet<String> {
    let mut found = None;
    assert!(waited_until(|| {
        found = records(port, zone);
        found.is_some()
    }));
    found.expect("it was found")
}

/// Returns a record as a line: name, time to live, type and data.
fn line(record: &ParsedRecord<'_, [u8]>) -> Option<String> {
    let data = match record.rtype() {
        Rtype::A => record.to_record::<A>().ok()??.data().to_string(),
        Rtype::AAAA => record.to_record::<Aaaa>().ok()??.data().to_string(),
        Rtype::PTR => record.to_record::<Ptr<ParsedName<&[u8]>>>().ok()??.data().to_string(),
        _ => {
            let record = record.to_record::<UnknownRecordData<&[u8]>>().ok()??;
            Hex(record.data().data()).to_string()
        }
    };
    let owner = record.owner().to_string().to_lowercase();
    let (ttl, rtype) = (record.ttl().as_secs(), record.rtype());
    Some(format!("{owner}. {ttl} {rtype} {}", data.to_lowercase()))
}
