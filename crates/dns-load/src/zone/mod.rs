//! Artificial DNS zones made from a seed: names, records, queries in the proportions of a busy
//! server, and the expected answer to each query. Nothing has to be downloaded, and seed, count and
//! name of the zone make the same zone on every machine and in every later version.
//!
//! A zone is like one of a company that hosts many names: addresses of both families, aliases, mail
//! exchangers, texts. It has no delegations, wildcards or signatures. Read before changing this
//! module: RFC 1034 section 4.3.2 (the answers of an authoritative server), RFC 1035 section 5 (the
//! file's format), RFC 6761 (`test.`).

mod args;
mod draw;
mod size;
mod text;

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use dns_wire::{Query, Rcode, RecordType, name};

use crate::expected::ExpectedAnswer;
use crate::queries::QueryWorkload;

pub(crate) use args::DnsZoneArgs;
pub(crate) use size::ZoneSize;

/// Largest number of names of an artificial zone.
pub const NAMES_MAX: u32 = 1_000_000;
/// Largest length of a zone's name, in bytes, so that names in it fit.
const ORIGIN_BYTES_MAX: usize = 200;

/// Name of a DNS zone, as text without the last dot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneOrigin(String);

impl FromStr for ZoneOrigin {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.strip_suffix('.').unwrap_or(text);
        let is_plain = |octet: u8| octet.is_ascii_alphanumeric() || b"-_.".contains(&octet);
        let is_name = name::append_text(&mut Vec::new(), text.as_bytes()).is_ok();
        if is_name && text.bytes().all(is_plain) && text.len() <= ORIGIN_BYTES_MAX {
            Ok(Self(text.to_owned()))
        } else {
            Err("invalid zone name: must be letters, digits, - and _ between dots, at most 200 \
                 bytes")
        }
    }
}

impl fmt::Display for ZoneOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Parameters of an artificial zone. Equal parameters make equal zones, queries and answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneLike {
    /// Seed of the zone's random choices.
    pub seed: u64,
    /// Number of the zone's names that have records, 1 to [`NAMES_MAX`], and of queries for it.
    pub names: u32,
    /// Name of the zone, as text.
    pub origin: ZoneOrigin,
}

/// Data of a record in an artificial zone. Names in the data are given by their numbers in the
/// zone.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Data {
    Address(Ipv4Addr),
    Address6(Ipv6Addr),
    Alias(u32),
    Mail(u16, u32),
    Text(String),
}

impl Data {
    const fn kind(&self) -> RecordType {
        match self {
            Self::Address(_) => RecordType::A,
            Self::Address6(_) => RecordType::AAAA,
            Self::Alias(_) => RecordType::CNAME,
            Self::Mail(..) => RecordType::MX,
            Self::Text(_) => RecordType::TXT,
        }
    }

    /// Returns the record data as bytes of a message, if it has no name in it, and nothing
    /// otherwise.
    fn octets(&self) -> Vec<u8> {
        match self {
            Self::Address(address) => address.octets().to_vec(),
            Self::Address6(address) => address.octets().to_vec(),
            Self::Alias(_) | Self::Mail(..) => Vec::new(),
            Self::Text(text) => {
                let mut octets = vec![text.len() as u8];
                octets.extend(text.as_bytes());
                octets
            }
        }
    }
}

/// Query for a zone: a name by its number, which is at least the count of names for a name that
/// does not exist, and a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ZoneQuery {
    number: u32,
    kind: RecordType,
}

/// Expected answer to a query for a zone: response code, and the records in the order in which a
/// server finds them, each with the number of its name.
struct ZoneAnswer<'z> {
    rcode: Rcode,
    records: Vec<(u32, &'z Data)>,
}

/// Artificial zone with queries for it.
#[derive(Clone, Debug)]
pub struct Zone {
    like: ZoneLike,
    /// Record data of each name, by its number.
    owners: Vec<Vec<Data>>,
    queries: Vec<ZoneQuery>,
}

impl Zone {
    /// Creates the zone that `like` describes.
    ///
    /// # Panics
    ///
    /// Panics unless the zone has 1 to [`NAMES_MAX`] names.
    pub fn new(like: ZoneLike) -> Self {
        assert!((1..=NAMES_MAX).contains(&like.names), "{} names", like.names);
        let owners = draw::owners(&like);
        let queries = draw::queries(&like);
        Self { like, owners, queries }
    }

    /// Returns the zone's name `number`, relative to the zone.
    fn relative_name(&self, number: u32) -> String {
        draw::name(self.like.seed, number)
    }

    /// Returns the zone's name `number` from the root, with the last dot.
    fn full_name(&self, number: u32) -> String {
        format!("{}.{}.", self.relative_name(number), self.like.origin)
    }

    /// Returns the answer of an authoritative server to `query` (RFC 1034 section 4.3.2): it
    /// follows an alias once, as no alias leads to another one.
    fn answer(&self, query: ZoneQuery) -> ZoneAnswer<'_> {
        let Some(data) = self.owners.get(query.number as usize) else {
            return ZoneAnswer { rcode: Rcode::NXDOMAIN, records: Vec::new() };
        };
        let of_kind = |number: u32, data: &'_ [Data]| {
            let indexes = (0..data.len()).filter(|&at| data[at].kind() == query.kind);
            indexes.map(|at| (number, at)).collect::<Vec<_>>()
        };
        let mut positions = of_kind(query.number, data);
        if let Some(&Data::Alias(target)) = data.first() {
            positions.push((query.number, 0));
            positions.extend(of_kind(target, &self.owners[target as usize]));
        }
        let records =
            positions.into_iter().map(|(number, at)| (number, &self.owners[number as usize][at]));
        ZoneAnswer { rcode: Rcode::NOERROR, records: records.collect() }
    }

    /// Returns the queries for the zone, each with the settings of `query`, and their expected
    /// answers.
    pub fn workload(&self, query: Query<'_>) -> QueryWorkload {
        let mut workload = QueryWorkload::default();
        for &zone_query in &self.queries {
            let name = self.full_name(zone_query.number);
            let answer = self.answer(zone_query);
            let data: Vec<_> =
                answer.records.iter().map(|(_, data)| (data.kind(), data.octets())).collect();
            let records = data.iter().map(|(kind, octets)| (*kind, octets.as_slice()));
            let expected = ExpectedAnswer::new(answer.rcode, records);
            workload.add(name.as_bytes(), zone_query.kind, query, expected);
        }
        workload
    }

    /// Returns the number of records in the zone's file.
    fn records(&self) -> usize {
        text::APEX_RECORDS + self.owners.iter().map(Vec::len).sum::<usize>()
    }
}
