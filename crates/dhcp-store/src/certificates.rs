//! Readers of certificates and keys from files, for TLS connections to databases and TLS at control
//! sockets. An error message names the file that is unusable.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::lenient_verifier::LenientVerifier;
use crate::regular_file;

/// Reads the certificates of authorities from the file `anchor`, or from the files of the folder
/// `anchor`.
///
/// # Errors
///
/// Names the file that is unusable, and the reason.
pub fn authorities(anchor: &Path) -> Result<RootCertStore, String> {
    let mut files = vec![anchor.to_owned()];
    if anchor.is_dir() {
        let unreadable = |cause| format!("cannot read the folder {}: {cause}", anchor.display());
        let entries = fs::read_dir(anchor).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        files = entries.map_err(unreadable)?.into_iter().map(|entry| entry.path()).collect();
        files.retain(|path| path.is_file());
        files.sort_unstable();
    }
    let mut roots = RootCertStore::empty();
    for path in files {
        for certificate in chain(&path)? {
            roots.add(certificate).map_err(|cause| {
                format!(
                    "{} contains no certificate of a certificate authority: {cause}",
                    path.display()
                )
            })?;
        }
    }
    Ok(roots)
}

/// Returns a verifier of servers' certificates that come from the authorities in `anchor`, for any
/// host name.
///
/// # Errors
///
/// Names the file that is unusable, and the reason.
pub fn verifier_for_any_name(
    anchor: &Path,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, String> {
    let roots = Arc::new(authorities(anchor)?);
    let strict = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider))
        .build()
        .map_err(|cause| format!("{} cannot be used: {cause}", anchor.display()))?;
    Ok(Arc::new(LenientVerifier { strict: Some(strict), provider }))
}

/// Reads a certificate with its chain up to its authority from the file `certificate`, and its
/// private key from `key`.
///
/// # Errors
///
/// Names the file that is unusable, and the reason.
pub fn identity(
    certificate: &Path,
    key: &Path,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), String> {
    let chain = chain(certificate)?;
    let unreadable =
        |cause: &dyn fmt::Display| format!("cannot read the key {}: {cause}", key.display());
    let octets = regular_file::read(key).map_err(|cause| unreadable(&cause))?;
    let key = PrivateKeyDer::from_pem_slice(&octets).map_err(|cause| unreadable(&cause))?;
    Ok((chain, key))
}

fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let wrong = |cause: &dyn fmt::Display| {
        format!("cannot read certificates from {}: {cause}", path.display())
    };
    let octets = regular_file::read(path).map_err(|cause| wrong(&cause))?;
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(&octets)
        .collect::<Result<_, _>>()
        .map_err(|cause| wrong(&cause))?;
    if certificates.is_empty() {
        return Err(format!("{} contains no certificate", path.display()));
    }
    Ok(certificates)
}
