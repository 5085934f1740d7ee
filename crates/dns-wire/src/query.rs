//! Writing queries.

use alloc::vec::Vec;

use base::Writer;

use crate::header::{Flags, HEADER_BYTES, Header};
use crate::kind::{Class, Kind};
use crate::name::{self, NAME_BYTES_MAX, NameError};
use crate::record::Edns;

/// Octets of a query at most: header, the longest name, type and class, an OPT record without options.
pub const QUERY_BYTES_MAX: usize = HEADER_BYTES + NAME_BYTES_MAX + 4 + 11;

/// What all queries of a load have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query {
    /// Set RD.
    pub recursion_desired: bool,
    /// Add an OPT record.
    pub edns: Option<Edns>,
}

impl Query {
    /// Appends a query with identifier 0 for records of the type `kind` and the class IN of the name
    /// that `name` writes. On an error `octets` are as before.
    ///
    /// # Errors
    ///
    /// Why `name` is no name.
    pub fn append(&self, octets: &mut Vec<u8>, name: &[u8], kind: Kind) -> Result<(), NameError> {
        let start = octets.len();
        let flags = if self.recursion_desired { Flags::RECURSION_DESIRED } else { 0 };
        let counts = [1, 0, 0, u16::from(self.edns.is_some())];
        let mut header = [0; HEADER_BYTES];
        Header { id: 0, flags: Flags(flags), counts }.emit(&mut Writer::new(&mut header));
        octets.extend_from_slice(&header);
        if let Err(error) = name::append_text(octets, name) {
            octets.truncate(start);
            return Err(error);
        }
        octets.extend_from_slice(&kind.0.to_be_bytes());
        octets.extend_from_slice(&Class::INTERNET.0.to_be_bytes());
        if let Some(edns) = self.edns {
            octets.extend_from_slice(&edns.emit());
        }
        Ok(())
    }
}
