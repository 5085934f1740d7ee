//! The columns of a lease file, which grew over the years.

use super::codec::RowCodec;

/// How many of its family's columns the rows of a file have.
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
    /// What new files get: all that this program knows.
    pub const NEWEST: Self = Self(u8::MAX);

    /// Whether column number `at`, counted from 0, is among them.
    #[must_use]
    pub const fn has(self, at: usize) -> bool {
        at < self.0 as usize
    }

    /// Their names.
    #[must_use]
    pub fn names<F: RowCodec>(self) -> &'static [&'static str] {
        &F::COLUMNS[..F::COLUMNS.len().min(usize::from(self.0))]
    }

    /// Appends the header line.
    pub fn encode_header<F: RowCodec>(self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.names::<F>().join(",").as_bytes());
        out.push(b'\n');
    }
}

impl Header {
    /// Reads a header line, given without its line end; `None` when it is not one.
    #[must_use]
    pub fn parse<F: RowCodec>(line: &[u8]) -> Option<Self> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let mut known = 0;
        let mut unknown = 0;
        for name in line.split(|&octet| octet == b',') {
            match F::COLUMNS.get(known) {
                Some(expected) if expected.as_bytes() == name => known += 1,
                Some(_) => return None,
                None => unknown += 1,
            }
        }
        let is_newest = known == F::COLUMNS.len();
        let columns = if is_newest { Columns::NEWEST } else { Columns(known as u8) };
        (known >= F::COLUMNS_FEWEST).then_some(Self { columns, unknown })
    }

    /// Whether `octets`, without a line end, may be what is left of a header that was being written
    /// when the power failed: its beginning, or nothing but zeros.
    #[must_use]
    pub fn is_torn<F: RowCodec>(octets: &[u8]) -> bool {
        let whole = F::COLUMNS.join(",");
        whole.as_bytes().starts_with(octets) || octets.iter().all(|&octet| octet == 0)
    }

    /// Most values that a row may have.
    #[must_use]
    pub fn most_values<F: RowCodec>(self) -> usize {
        let values = self.columns.names::<F>().len() + self.unknown;
        values.max(F::COLUMNS.len())
    }
}

#[cfg(test)]
mod tests {
    use dhcp_lease::v4::V4;
    use dhcp_lease::v6::V6;

    use super::*;

    fn names<F: RowCodec>(line: &[u8]) -> usize {
        Header::parse::<F>(line).unwrap().columns.names::<F>().len()
    }

    #[test]
    fn headers_of_all_ages_are_known() {
        let old =
            b"address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname";
        assert_eq!(names::<V4>(old), 9);
        let with = |more: &str| Header::parse::<V4>(&[&old[..], more.as_bytes()].concat());
        assert_eq!(with(",state,user_context\r").unwrap().columns.names::<V4>().len(), 11);
        let newest = with(",state,user_context,pool_id").unwrap();
        assert_eq!((newest.columns, newest.unknown), (Columns::NEWEST, 0));
        let newer = with(",state,user_context,pool_id,color").unwrap();
        assert_eq!((newer.columns, newer.unknown), (Columns::NEWEST, 1));
        assert_eq!(newer.most_values::<V4>(), 13);
        assert_eq!(with(",color"), None);
        assert_eq!(Header::parse::<V4>(&old[..old.len() - 9]), None);
    }

    #[test]
    fn headers_of_all_ages_of_the_other_family_are_known() {
        let mut line =
            "address,duid,valid_lifetime,expire,subnet_id,pref_lifetime,lease_type,iaid,\
                        prefix_len,fqdn_fwd,fqdn_rev,hostname"
                .to_owned();
        assert_eq!(names::<V6>(line.as_bytes()), 12);
        assert_eq!(Header::parse::<V4>(line.as_bytes()), None);
        for (more, count) in
            [(",hwaddr", 13), (",state", 14), (",user_context", 15), (",hwtype,hwaddr_source", 17)]
        {
            line += more;
            assert_eq!(names::<V6>(line.as_bytes()), count);
        }
        let newest = Header::parse::<V6>((line + ",pool_id").as_bytes()).unwrap();
        assert_eq!((newest.columns, newest.unknown), (Columns::NEWEST, 0));
    }

    #[test]
    fn a_torn_header_is_told_from_a_foreign_file() {
        assert!(Header::is_torn::<V4>(b"address,hwad"));
        assert!(Header::is_torn::<V4>(&[0; 9]));
        assert!(Header::is_torn::<V4>(b""));
        assert!(!Header::is_torn::<V4>(b"#!/bin/sh"));
    }
}
