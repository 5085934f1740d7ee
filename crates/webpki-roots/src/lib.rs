//! Nobody, in place of the crate of the same name with Mozilla's authorities.
//!
//! The MySQL driver believes those beside whatever trust anchor it is given. A database's certificate
//! has to come from the operator's own authority, and where names are not compared (`verify-ca`) any
//! certificate that any of those authorities ever gave out would do instead. `[patch.crates-io]` in
//! the workspace's manifest puts this crate in its place.

#![no_std]

use rustls_pki_types::{Der, TrustAnchor};

/// One authority, without a name and without a key, which no certificate comes from: verifiers want
/// at least one.
pub const TLS_SERVER_ROOTS: &[TrustAnchor<'static>] = &[TrustAnchor {
    subject: Der::from_slice(&[]),
    subject_public_key_info: Der::from_slice(&[]),
    name_constraints: None,
}];
