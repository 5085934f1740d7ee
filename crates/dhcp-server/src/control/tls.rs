//! TLS of an HTTPS socket: its certificate, and the authorities that clients must come from.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dhcp_config::TlsFiles;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

/// What takes TLS connections as `files` say.
///
/// # Errors
///
/// Which file does not serve, and why; in words.
pub(super) fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|cause| format!("cannot set up TLS: {cause}"))?;
    let builder = if files.is_client_certificate_required {
        builder.with_client_cert_verifier(verifier(files, provider)?)
    } else {
        builder.with_no_client_auth()
    };
    let chain = certificates(Path::new(&files.certificate))?;
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|cause| format!("cannot read the key {}: {cause}", files.key))?;
    let config = builder.with_single_cert(chain, key).map_err(|cause| {
        format!("{} and {} do not serve together: {cause}", files.certificate, files.key)
    })?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn verifier(
    files: &TlsFiles,
    provider: Arc<rustls::crypto::CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, String> {
    let mut roots = RootCertStore::empty();
    for path in anchors(&files.trust_anchor)? {
        for certificate in certificates(&path)? {
            roots.add(certificate).map_err(|cause| {
                format!("{} holds no certificate of an authority: {cause}", path.display())
            })?;
        }
    }
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|cause| format!("{} does not serve: {cause}", files.trust_anchor))
}

/// The file `anchor`, or the files of the folder `anchor`.
fn anchors(anchor: &str) -> Result<Vec<PathBuf>, String> {
    let path = PathBuf::from(anchor);
    if !path.is_dir() {
        return Ok(vec![path]);
    }
    let unreadable = |cause| format!("cannot read the folder {anchor}: {cause}");
    let mut files = Vec::new();
    for entry in fs::read_dir(&path).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    files.sort_unstable();
    Ok(files)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let wrong = |cause| format!("cannot read certificates from {}: {cause}", path.display());
    let found: Vec<_> = CertificateDer::pem_file_iter(path)
        .map_err(wrong)?
        .collect::<Result<_, _>>()
        .map_err(wrong)?;
    if found.is_empty() {
        return Err(format!("{} holds no certificate", path.display()));
    }
    Ok(found)
}
