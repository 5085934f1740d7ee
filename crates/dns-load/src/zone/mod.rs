//! Zones that do not exist, made from a seed: names, records, queries in the proportions of a busy server,
//! and what each must be answered with. Nothing has to be downloaded, and whoever knows seed, count and
//! name of the zone makes the same one, on every machine and in every later version.
//!
//! A zone is like one of a company that hosts many names: addresses of both families, aliases, mail
//! exchangers, texts. It has no delegations, wildcards or signatures. To have read: RFC 1034 section 4.3.2
//! (what an authoritative server answers), RFC 1035 section 5 (the file's format), RFC 6761 (`test.`).

mod args;
mod draw;
mod size;
mod text;

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use dns_wire::{Kind, Query, Rcode, name};

use crate::expected::Expected;
use crate::queries::Workload;

pub(crate) use args::Args;
pub(crate) use size::Size;

/// Names of a zone at most.
pub const NAMES_MAX: u32 = 1_000_000;
/// Octets of a zone's name at most, so that names in it fit.
const ORIGIN_BYTES_MAX: usize = 200;

/// The name of a zone, as text without the last dot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(String);

impl FromStr for Origin {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.strip_suffix('.').unwrap_or(text);
        let is_plain = |octet: u8| octet.is_ascii_alphanumeric() || b"-_.".contains(&octet);
        let is_name = name::append_text(&mut Vec::new(), text.as_bytes()).is_ok();
        if is_name && text.bytes().all(is_plain) && text.len() <= ORIGIN_BYTES_MAX {
            Ok(Self(text.to_owned()))
        } else {
            Err("no name of a zone: letters, digits, - and _ between dots, 200 octets at most")
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a zone is made from. The same makes the same zone, queries and answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneLike {
    /// Random seed.
    pub seed: u64,
    /// Names that have records, 1 to [`NAMES_MAX`], and as many queries.
    pub names: u32,
    /// The zone's name.
    pub origin: Origin,
}

/// What a name has. Other names are by their number.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Data {
    Address(Ipv4Addr),
    Address6(Ipv6Addr),
    Alias(u32),
    Mail(u16, u32),
    Text(String),
}

impl Data {
    const fn kind(&self) -> Kind {
        match self {
            Self::Address(_) => Kind::A,
            Self::Address6(_) => Kind::AAAA,
            Self::Alias(_) => Kind::CNAME,
            Self::Mail(..) => Kind::MX,
            Self::Text(_) => Kind::TXT,
        }
    }

    /// The data as octets of a message, as far as it has no name in it.
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

/// A query: a name by its number, from the count of names on one that does not exist, and a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Asked {
    number: u32,
    kind: Kind,
}

/// What a query must be answered with: code, and the records in the order in which a server finds them,
/// each with the number of its name.
struct Answer<'z> {
    rcode: Rcode,
    records: Vec<(u32, &'z Data)>,
}

/// A zone with queries for it.
#[derive(Clone, Debug)]
pub struct Zone {
    like: ZoneLike,
    /// What each name has, by its number.
    owners: Vec<Vec<Data>>,
    queries: Vec<Asked>,
}

impl Zone {
    /// The zone that `like` describes.
    ///
    /// # Panics
    ///
    /// Unless it has 1 to [`NAMES_MAX`] names.
    #[must_use]
    pub fn new(like: ZoneLike) -> Self {
        assert!((1..=NAMES_MAX).contains(&like.names), "{} names", like.names);
        let owners = draw::owners(&like);
        let queries = draw::queries(&like);
        Self { like, owners, queries }
    }

    /// The name of this number, relative to the zone.
    fn relative_name(&self, number: u32) -> String {
        draw::name(self.like.seed, number)
    }

    /// The name of this number from the root, with the last dot.
    fn full_name(&self, number: u32) -> String {
        format!("{}.{}.", self.relative_name(number), self.like.origin)
    }

    /// What an authoritative server answers (RFC 1034 section 4.3.2): an alias is followed once, as none
    /// leads to another one.
    fn answer(&self, asked: Asked) -> Answer<'_> {
        let Some(data) = self.owners.get(asked.number as usize) else {
            return Answer { rcode: Rcode::NXDOMAIN, records: Vec::new() };
        };
        let of_kind = |number: u32, data: &'_ [Data]| {
            let found = (0..data.len()).filter(|&at| data[at].kind() == asked.kind);
            found.map(|at| (number, at)).collect::<Vec<_>>()
        };
        let mut places = of_kind(asked.number, data);
        if let Some(&Data::Alias(target)) = data.first() {
            places.push((asked.number, 0));
            places.extend(of_kind(target, &self.owners[target as usize]));
        }
        let records =
            places.into_iter().map(|(number, at)| (number, &self.owners[number as usize][at]));
        Answer { rcode: Rcode::NOERROR, records: records.collect() }
    }

    /// The queries, each with what `query` says, and what they must be answered with.
    #[must_use]
    pub fn workload(&self, query: Query<'_>) -> Workload {
        let mut workload = Workload::default();
        for &asked in &self.queries {
            let name = self.full_name(asked.number);
            let answer = self.answer(asked);
            let data: Vec<_> =
                answer.records.iter().map(|(_, data)| (data.kind(), data.octets())).collect();
            let records = data.iter().map(|(kind, octets)| (*kind, octets.as_slice()));
            let expected = Expected::new(answer.rcode, records);
            workload.add(name.as_bytes(), asked.kind, query, expected);
        }
        workload
    }

    /// Records in the zone's file.
    fn records(&self) -> usize {
        text::APEX_RECORDS + self.owners.iter().map(Vec::len).sum::<usize>()
    }
}
