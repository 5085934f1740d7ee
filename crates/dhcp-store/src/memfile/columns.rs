//! Columns of a lease file; newer versions of Kea have more columns.

use super::format::RowFileFormat;

/// Number of columns in the rows of a lease file that this program knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Columns(u8);

/// Parsed header of a lease file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseFileHeader {
    /// Known columns of the lease file.
    pub columns: Columns,
    /// Number of columns of the lease file that a Kea newer than this program has added.
    pub unknown: usize,
}

impl Columns {
    /// Returns the columns of new lease files of this format.
    #[must_use]
    pub const fn newest(format: &RowFileFormat) -> Self {
        Self(format.names.len() as u8)
    }

    /// Returns the columns of new lease files in Kea 2.2: all except `pool_id`.
    #[must_use]
    pub const fn without_newest(format: &RowFileFormat) -> Self {
        Self(format.names.len() as u8 - 1)
    }

    /// Returns the number of known columns in the file's rows.
    #[must_use]
    pub const fn count(self) -> usize {
        self.0 as usize
    }

    /// Appends the header line of a lease file with these columns to `out`.
    pub fn encode_header(self, format: &RowFileFormat, out: &mut Vec<u8>) {
        out.extend_from_slice(format.names[..self.count()].join(",").as_bytes());
        out.push(b'\n');
    }
}

impl LeaseFileHeader {
    /// Parses a header line of a lease file, passed without its line end; returns `None` if it is
    /// not a header.
    #[must_use]
    pub fn parse(format: &RowFileFormat, line: &[u8]) -> Option<Self> {
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

    /// Returns true if `octets`, without a line end, may be the rest of a header that was being
    /// written when the power failed: its beginning, or only zeros.
    #[must_use]
    pub fn is_torn(format: &RowFileFormat, octets: &[u8]) -> bool {
        let whole = format.names.join(",");
        whole.as_bytes().starts_with(octets) || octets.iter().all(|&octet| octet == 0)
    }

    /// Returns the maximum number of values in a row of a file with these columns.
    #[must_use]
    pub fn most_values(self, format: &RowFileFormat) -> usize {
        (self.columns.count() + self.unknown).max(format.names.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dhcp_lease::v4::V4;
    use dhcp_lease::v6::V6;

    const FORMAT: &RowFileFormat = &RowFileFormat::for_family::<V4>();

    #[test]
    fn a_file_of_the_other_family_is_foreign() {
        let mut header = Vec::new();
        Columns::newest(&RowFileFormat::for_family::<V6>())
            .encode_header(&RowFileFormat::for_family::<V6>(), &mut header);
        let line = header.strip_suffix(b"\n").unwrap();
        assert_eq!(LeaseFileHeader::parse(FORMAT, line), None);
        assert_eq!(
            LeaseFileHeader::parse(&RowFileFormat::for_family::<V6>(), line)
                .unwrap()
                .columns
                .count(),
            18
        );
        assert!(!LeaseFileHeader::is_torn(FORMAT, line));
    }

    #[test]
    fn headers_of_all_ages_are_known() {
        let old =
            b"address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname";
        assert_eq!(LeaseFileHeader::parse(FORMAT, old).unwrap().columns.count(), 9);
        let with =
            |more: &str| LeaseFileHeader::parse(FORMAT, &[&old[..], more.as_bytes()].concat());
        assert_eq!(with(",state,user_context\r").unwrap().columns.count(), 11);
        let newest = with(",state,user_context,pool_id").unwrap();
        assert_eq!((newest.columns, newest.unknown), (Columns::newest(FORMAT), 0));
        let newer = with(",state,user_context,pool_id,color").unwrap();
        assert_eq!(
            (newer.columns, newer.unknown, newer.most_values(FORMAT)),
            (Columns::newest(FORMAT), 1, 13)
        );
        assert_eq!(with(",color"), None);
        assert_eq!(LeaseFileHeader::parse(FORMAT, &old[..old.len() - 9]), None);
    }

    #[test]
    fn a_torn_header_is_told_from_a_foreign_file() {
        assert!(LeaseFileHeader::is_torn(FORMAT, b"address,hwad"));
        assert!(LeaseFileHeader::is_torn(FORMAT, &[0; 9]));
        assert!(LeaseFileHeader::is_torn(FORMAT, b""));
        assert!(!LeaseFileHeader::is_torn(FORMAT, b"#!/bin/sh"));
    }
}
