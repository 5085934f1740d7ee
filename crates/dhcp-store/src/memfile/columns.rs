//! The columns of a lease file, which grew over the years.

use super::format::Format;

/// How many of the known columns the rows of a file have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
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
    /// What new files of this format get.
    #[must_use]
    pub const fn newest(format: &Format) -> Self {
        Self(format.names.len() as u8)
    }

    /// What Kea 2.2 gives new files: all but the pool's number.
    #[must_use]
    pub const fn without_newest(format: &Format) -> Self {
        Self(format.names.len() as u8 - 1)
    }

    /// How many.
    #[must_use]
    pub const fn count(self) -> usize {
        self.0 as usize
    }

    /// Appends the header line.
    pub fn encode_header(self, format: &Format, out: &mut Vec<u8>) {
        out.extend_from_slice(format.names[..self.count()].join(",").as_bytes());
        out.push(b'\n');
    }
}

impl Header {
    /// Reads a header line, given without its line end; `None` when it is not one.
    #[must_use]
    pub fn parse(format: &Format, line: &[u8]) -> Option<Self> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let mut columns = 0;
        let mut unknown = 0;
        for name in line.split(|&octet| octet == b',') {
            match format.names.get(columns) {
                Some(expected) if expected.as_bytes() == name => columns += 1,
                Some(_) => return None,
                None => unknown += 1,
            }
        }
        (columns >= format.fewest).then_some(Self { columns: Columns(columns as u8), unknown })
    }

    /// Whether `octets`, without a line end, may be what is left of a header that was being written
    /// when the power failed: its beginning, or nothing but zeros.
    #[must_use]
    pub fn is_torn(format: &Format, octets: &[u8]) -> bool {
        let whole = format.names.join(",");
        whole.as_bytes().starts_with(octets) || octets.iter().all(|&octet| octet == 0)
    }

    /// Most values that a row may have.
    #[must_use]
    pub fn most_values(self, format: &Format) -> usize {
        (self.columns.count() + self.unknown).max(format.names.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dhcp_lease::v4::V4;
    use dhcp_lease::v6::V6;

    const FORMAT: &Format = &Format::of::<V4>();

    #[test]
    fn a_file_of_the_other_family_is_foreign() {
        let mut header = Vec::new();
        Columns::newest(&Format::of::<V6>()).encode_header(&Format::of::<V6>(), &mut header);
        let line = header.strip_suffix(b"\n").unwrap();
        assert_eq!(Header::parse(FORMAT, line), None);
        assert_eq!(Header::parse(&Format::of::<V6>(), line).unwrap().columns.count(), 18);
        assert!(!Header::is_torn(FORMAT, line));
    }

    #[test]
    fn headers_of_all_ages_are_known() {
        let old =
            b"address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname";
        assert_eq!(Header::parse(FORMAT, old).unwrap().columns.count(), 9);
        let with = |more: &str| Header::parse(FORMAT, &[&old[..], more.as_bytes()].concat());
        assert_eq!(with(",state,user_context\r").unwrap().columns.count(), 11);
        let newest = with(",state,user_context,pool_id").unwrap();
        assert_eq!((newest.columns, newest.unknown), (Columns::newest(FORMAT), 0));
        let newer = with(",state,user_context,pool_id,color").unwrap();
        assert_eq!(
            (newer.columns, newer.unknown, newer.most_values(FORMAT)),
            (Columns::newest(FORMAT), 1, 13)
        );
        assert_eq!(with(",color"), None);
        assert_eq!(Header::parse(FORMAT, &old[..old.len() - 9]), None);
    }

    #[test]
    fn a_torn_header_is_told_from_a_foreign_file() {
        assert!(Header::is_torn(FORMAT, b"address,hwad"));
        assert!(Header::is_torn(FORMAT, &[0; 9]));
        assert!(Header::is_torn(FORMAT, b""));
        assert!(!Header::is_torn(FORMAT, b"#!/bin/sh"));
    }
}
