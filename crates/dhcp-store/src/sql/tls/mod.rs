//! TLS to databases: certificate files that the settings name, verification of the server's
//! certificate, and the reason for a refusal.
//!
//! A [`Connector`] over `rustls` encrypts PostgreSQL's connections; the driver of MariaDB and MySQL
//! has `rustls` inside and takes the same files. Certificates are of version 3 and name their hosts
//! as alternative names, as `rustls` requires; the versions of TLS are 1.2 and 1.3.

mod cipher;
mod connector;
mod verifier;

use std::error::Error;
use std::io;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::{AlertDescription, CertificateError, ClientConfig};

pub(super) use connector::Connector;

use super::settings::{DatabaseSslMode, SqlSettings};
use crate::certificates;

/// Returns the TLS configuration of database connections with `settings`.
///
/// # Errors
///
/// Names the file or cipher that is unusable, and the reason.
pub(super) fn client_config(settings: &SqlSettings) -> Result<Arc<ClientConfig>, String> {
    let mut provider = rustls::crypto::ring::default_provider();
    if let Some(list) = &settings.cipher_list {
        provider.cipher_suites = cipher::chosen(list, &provider.cipher_suites)?;
    }
    let provider = Arc::new(provider);
    let roots = settings.trust_anchor.as_deref().map(certificates::authorities).transpose()?;
    let verifier = verifier::for_mode(settings.tls(), roots, &provider)?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|cause| format!("cannot set up TLS: {cause}"))?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let (Some(certificate), Some(key)) = (&settings.cert_file, &settings.key_file) else {
        if let Some(alone) = settings.cert_file.as_ref().or(settings.key_file.as_ref()) {
            return Err(format!(
                "{} cannot be used alone: a certificate needs its key (cert-file and key-file)",
                alone.display()
            ));
        }
        return Ok(Arc::new(builder.with_no_client_auth()));
    };
    let (chain, read) = certificates::identity(certificate, key)?;
    let config = builder.with_client_auth_cert(chain, read).map_err(|cause| {
        let (certificate, key) = (certificate.display(), key.display());
        format!("{certificate} and {key} cannot be used together: {cause}")
    })?;
    Ok(Arc::new(config))
}

/// Returns the ciphers that `settings` allow, strongest first; an empty list means all.
///
/// # Errors
///
/// Returns an error if no listed cipher exists.
pub(super) fn suites(settings: &SqlSettings) -> Result<Vec<rustls::SupportedCipherSuite>, String> {
    let CryptoProvider { cipher_suites, .. } = rustls::crypto::ring::default_provider();
    let list = settings.cipher_list.as_deref();
    list.map_or_else(|| Ok(Vec::new()), |list| cipher::chosen(list, &cipher_suites))
}

/// Returns the reason why TLS to a database failed, if `error` came from TLS.
pub(super) fn reason(settings: &SqlSettings, error: &(dyn Error + 'static)) -> Option<String> {
    tls_error(error).map(|error| error_message(settings, error))
}

/// Returns the TLS error in a chain of errors. Errors of the operating system contain theirs.
fn tls_error<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e rustls::Error> {
    if let Some(rustls_error) = error.downcast_ref::<rustls::Error>() {
        return Some(rustls_error);
    }
    let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    let inner = inner.map(|inner| inner as &(dyn Error + 'static));
    inner.or_else(|| error.source()).and_then(tls_error)
}

fn error_message(settings: &SqlSettings, error: &rustls::Error) -> String {
    let anchor =
        settings.trust_anchor.as_ref().map_or_else(String::new, |at| at.display().to_string());
    match error {
        rustls::Error::InvalidCertificate(error) => match error {
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                format!("the server's certificate does not come from an authority in {anchor}")
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                format!("the server's certificate is not for {}: {error}", settings.host)
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                format!(
                    "the server's certificate has expired ({error}); it was checked with {anchor}"
                )
            }
            other => format!("the server's certificate cannot be used: {other} ({anchor})"),
        },
        rustls::Error::AlertReceived(AlertDescription::CertificateRequired) => {
            "the server demands a certificate (cert-file, key-file)".to_owned()
        }
        rustls::Error::AlertReceived(alert) => match &settings.cert_file {
            Some(file) => format!("the server refuses TLS with {}: {alert:?}", file.display()),
            None => format!("the server refuses TLS: {alert:?}"),
        },
        other => format!("TLS fails: {other}"),
    }
}

/// Returns true if a database connection without TLS may follow one whose TLS failed.
pub(super) fn may_do_without(settings: &SqlSettings) -> bool {
    settings.tls() == DatabaseSslMode::Prefer
}
