//! Verifiers of database servers' certificates, by `ssl-mode`.

use std::sync::Arc;

use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;

use super::DatabaseSslMode;
use crate::lenient_verifier::LenientVerifier;

/// Returns a verifier of server certificates that is as strict as `mode` requires.
///
/// # Errors
///
/// Returns an error if `mode` needs authorities and there are none.
pub(super) fn for_mode(
    mode: DatabaseSslMode,
    roots: Option<RootCertStore>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, String> {
    let provider = provider.clone();
    let Some(roots) = roots else {
        if matches!(mode, DatabaseSslMode::VerifyCa | DatabaseSslMode::VerifyFull) {
            return Err(format!("ssl-mode {} needs a trust-anchor", mode.name()));
        }
        return Ok(Arc::new(LenientVerifier { strict: None, provider }));
    };
    let strict = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .build()
        .map_err(|cause| format!("the trust-anchor cannot be used: {cause}"))?;
    Ok(match mode {
        DatabaseSslMode::VerifyFull => strict,
        _ => Arc::new(LenientVerifier { strict: Some(strict), provider }),
    })
}
