//! TLS of an HTTPS control socket: its certificate, and the authorities of client certificates.

use std::path::Path;
use std::sync::Arc;

use dhcp_config::TlsFiles;
use dhcp_store::certificates;
use rustls::ServerConfig;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use tokio_rustls::TlsAcceptor;

/// Returns the acceptor of TLS connections with the certificates of `files`.
///
/// # Errors
///
/// A text that names the unusable file, and the reason.
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
    let (chain, key) =
        certificates::identity(Path::new(&files.certificate), Path::new(&files.key))?;
    let config = builder.with_single_cert(chain, key).map_err(|cause| {
        format!("{} and {} cannot be used together: {cause}", files.certificate, files.key)
    })?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn verifier(
    files: &TlsFiles,
    provider: Arc<rustls::crypto::CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, String> {
    let roots = certificates::authorities(Path::new(&files.trust_anchor))?;
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|cause| format!("{} cannot be used: {cause}", files.trust_anchor))
}
