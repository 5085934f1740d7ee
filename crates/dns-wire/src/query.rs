//! Writer of DNS queries.

use alloc::vec::Vec;

use base::ByteWriter;

use crate::header::{DnsHeader, Flags, HEADER_BYTES};
use crate::kind::{RecordClass, RecordType};
use crate::name::{self, NAME_BYTES_MAX, NameError};
use crate::record::Edns;

/// Largest length of a DNS query without options, in bytes: header, the longest name, type and
/// class, an OPT record.
pub const QUERY_BYTES_MAX: usize = HEADER_BYTES + NAME_BYTES_MAX + 4 + 11;

/// Settings that all DNS queries of a load share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query<'a> {
    /// True to set the flag RD (recursion desired) in the queries.
    pub recursion_desired: bool,
    /// OPT record to add to the queries, if any.
    pub edns: Option<Edns>,
    /// Options of the queries' OPT record.
    pub options: EdnsOptions<'a>,
}

/// Options of an OPT record in DNS queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdnsOptions<'a> {
    /// Options as they are in the OPT record: code, length and data of each.
    pub octets: &'a [u8],
    /// Block size in bytes to a multiple of which the query is padded (RFC 7830); 0 for no padding.
    pub padding_block: u16,
}

/// Code of the EDNS option for padding (RFC 7830).
const PADDING: u16 = 12;
/// Length of an EDNS option without its data, in bytes.
const OPTION_HEAD_BYTES: usize = 4;

impl EdnsOptions<'_> {
    /// Appends the options to a message that ends with an OPT record without any, in which the last
    /// two bytes are their length.
    fn append(&self, message: &mut Vec<u8>, start: usize) {
        let length_at = message.len() - 2;
        message.extend_from_slice(self.octets);
        if self.padding_block > 0 {
            let len = message.len() - start + OPTION_HEAD_BYTES;
            let padded = len.next_multiple_of(self.padding_block.into());
            message.extend_from_slice(&PADDING.to_be_bytes());
            message.extend_from_slice(&((padded - len) as u16).to_be_bytes());
            message.resize(start + padded, 0);
        }
        let len = (message.len() - length_at - 2) as u16;
        message[length_at..length_at + 2].copy_from_slice(&len.to_be_bytes());
    }
}

impl Query<'_> {
    /// Settings of a query with the flag RD and without an OPT record.
    pub const PLAIN: Self = Self {
        recursion_desired: true,
        edns: None,
        options: EdnsOptions { octets: &[], padding_block: 0 },
    };

    /// Appends to `octets` a DNS query with identifier 0 for records of the type `kind` and the
    /// class IN of the domain name that `name` writes. On an error `octets` are unchanged.
    ///
    /// # Errors
    ///
    /// Returns the reason why `name` is no name.
    ///
    /// # Panics
    ///
    /// Panics when the options are longer than 65,535 bytes.
    pub fn append(
        &self,
        octets: &mut Vec<u8>,
        name: &[u8],
        kind: RecordType,
    ) -> Result<(), NameError> {
        let start = octets.len();
        let flags = if self.recursion_desired { Flags::RECURSION_DESIRED } else { 0 };
        let counts = [1, 0, 0, u16::from(self.edns.is_some())];
        let mut header = [0; HEADER_BYTES];
        DnsHeader { id: 0, flags: Flags(flags), counts }.emit(&mut ByteWriter::new(&mut header));
        octets.extend_from_slice(&header);
        if let Err(error) = name::append_text(octets, name) {
            octets.truncate(start);
            return Err(error);
        }
        octets.extend_from_slice(&kind.0.to_be_bytes());
        octets.extend_from_slice(&RecordClass::INTERNET.0.to_be_bytes());
        if let Some(edns) = self.edns {
            octets.extend_from_slice(&edns.emit());
            assert!(
                self.options.octets.len() <= usize::from(u16::MAX),
                "options fit into a record"
            );
            self.options.append(octets, start);
        }
        Ok(())
    }
}
