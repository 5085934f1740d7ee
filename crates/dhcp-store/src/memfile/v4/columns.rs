//! The columns of a lease file, which grew over the years.

/// The columns of Kea 3, in order. Files begin with the first 9 of them at least.
const NAMES: [&str; 12] = [
    "address",
    "hwaddr",
    "client_id",
    "valid_lifetime",
    "expire",
    "subnet_id",
    "fqdn_fwd",
    "fqdn_rev",
    "hostname",
    "state",
    "user_context",
    "pool_id",
];

/// Fewest columns that a lease file has (Kea 0.9).
const FEWEST: usize = 9;

/// How many of the known columns the rows of a file have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Columns(u8);

/// A header that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Known columns.
    pub columns: Columns,
    /// Further columns, of a Kea newer than this program.
    pub unknown: usize,
}

impl Columns {
    /// What new files get.
    pub const NEWEST: Self = Self(NAMES.len() as u8);

    /// How many.
    #[must_use]
    pub const fn count(self) -> usize {
        self.0 as usize
    }

    /// Appends the header line.
    pub fn encode_header(self, out: &mut Vec<u8>) {
        out.extend_from_slice(NAMES[..self.count()].join(",").as_bytes());
        out.push(b'\n');
    }
}

impl Header {
    /// Reads a header line, given without its line end; `None` when it is not one.
    #[must_use]
    pub fn parse(line: &[u8]) -> Option<Self> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let mut columns = 0;
        let mut unknown = 0;
        for name in line.split(|&octet| octet == b',') {
            match NAMES.get(columns) {
                Some(expected) if expected.as_bytes() == name => columns += 1,
                Some(_) => return None,
                None => unknown += 1,
            }
        }
        (columns >= FEWEST).then_some(Self { columns: Columns(columns as u8), unknown })
    }

    /// Whether `octets`, without a line end, may be what is left of a header that was being written
    /// when the power failed: its beginning, or nothing but zeros.
    #[must_use]
    pub fn is_torn(octets: &[u8]) -> bool {
        let whole = NAMES.join(",");
        whole.as_bytes().starts_with(octets) || octets.iter().all(|&octet| octet == 0)
    }

    /// Most values that a row may have.
    #[must_use]
    pub const fn most_values(self) -> usize {
        let values = self.columns.count() + self.unknown;
        if values < NAMES.len() { NAMES.len() } else { values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_all_ages_are_known() {
        let old =
            b"address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname";
        assert_eq!(Header::parse(old).unwrap().columns.count(), 9);
        let with = |more: &str| Header::parse(&[&old[..], more.as_bytes()].concat());
        assert_eq!(with(",state,user_context\r").unwrap().columns.count(), 11);
        let newest = with(",state,user_context,pool_id").unwrap();
        assert_eq!((newest.columns, newest.unknown), (Columns::NEWEST, 0));
        let newer = with(",state,user_context,pool_id,color").unwrap();
        assert_eq!((newer.columns, newer.unknown, newer.most_values()), (Columns::NEWEST, 1, 13));
        assert_eq!(with(",color"), None);
        assert_eq!(Header::parse(&old[..old.len() - 9]), None);
    }

    #[test]
    fn a_torn_header_is_told_from_a_foreign_file() {
        assert!(Header::is_torn(b"address,hwad"));
        assert!(Header::is_torn(&[0; 9]));
        assert!(Header::is_torn(b""));
        assert!(!Header::is_torn(b"#!/bin/sh"));
    }
}
