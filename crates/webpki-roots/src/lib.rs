//! Empty replacement of the crate of the same name with Mozilla's certificate authorities.
//!
//! The MySQL driver trusts those in addition to any trust anchor that it gets. A database's
//! certificate has to come from the operator's own authority, and if names are not compared
//! (`verify-ca`) any certificate from any of those authorities would pass instead.
//! `[patch.crates-io]` in the workspace's manifest replaces the original by this crate.

#![no_std]

use rustls_pki_types::{Der, TrustAnchor};

/// Authority without a name and without a key, which issues no certificate: verifiers need at least
/// one.
pub const TLS_SERVER_ROOTS: &[TrustAnchor<'static>] = &[TrustAnchor {
    subject: Der::from_slice(&[]),
    subject_public_key_info: Der::from_slice(&[]),
    name_constraints: None,
}];
