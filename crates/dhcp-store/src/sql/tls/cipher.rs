//! Ciphers of Kea's setting `cipher-list`: OpenSSL's names of the ciphers that `rustls` has.

use rustls::{CipherSuite, SupportedCipherSuite};

/// Ciphers that `rustls` has, with OpenSSL's names of them.
const NAMES: [(&str, CipherSuite); 9] = [
    ("TLS_AES_256_GCM_SHA384", CipherSuite::TLS13_AES_256_GCM_SHA384),
    ("TLS_AES_128_GCM_SHA256", CipherSuite::TLS13_AES_128_GCM_SHA256),
    ("TLS_CHACHA20_POLY1305_SHA256", CipherSuite::TLS13_CHACHA20_POLY1305_SHA256),
    ("ECDHE-ECDSA-AES256-GCM-SHA384", CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
    ("ECDHE-ECDSA-AES128-GCM-SHA256", CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
    ("ECDHE-ECDSA-CHACHA20-POLY1305", CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256),
    ("ECDHE-RSA-AES256-GCM-SHA384", CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384),
    ("ECDHE-RSA-AES128-GCM-SHA256", CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256),
    ("ECDHE-RSA-CHACHA20-POLY1305", CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256),
];

/// Words of Kea's `cipher-list` that mean all strong ciphers; `rustls` has no others.
const ALL: [&str; 4] = ["ALL", "DEFAULT", "HIGH", "SECURE"];

/// Returns the ciphers of `available` that `list` names. The function ignores unknown names, as
/// OpenSSL does, and names with `!` or `-` before them, since `rustls` has no weak ciphers to
/// exclude.
///
/// # Errors
///
/// Returns an error if `available` has none of them; it contains the names that could be used.
pub(super) fn chosen(
    list: &str,
    available: &[SupportedCipherSuite],
) -> Result<Vec<SupportedCipherSuite>, String> {
    let words: Vec<&str> =
        list.split([':', ',', ' ']).map(str::trim).filter(|word| !word.is_empty()).collect();
    let is_all = words.iter().any(|word| ALL.contains(word));
    let name = |suite: &SupportedCipherSuite| {
        NAMES.iter().find(|(_, of)| *of == suite.suite()).map_or("", |(name, _)| *name)
    };
    let (forbidden, listed): (Vec<&str>, Vec<&str>) =
        words.into_iter().partition(|word| word.starts_with(['!', '-']));
    let is_chosen = |suite: &&SupportedCipherSuite| {
        (is_all || listed.contains(&name(suite)))
            && !forbidden.iter().any(|word| &word[1..] == name(suite))
    };
    let chosen: Vec<_> = available.iter().filter(is_chosen).copied().collect();
    if chosen.is_empty() {
        let suites: Vec<&str> = available.iter().map(name).collect();
        return Err(format!(
            "cipher-list `{list}` names no available cipher; available: {}",
            suites.join(" ")
        ));
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suites(list: &str) -> Result<Vec<CipherSuite>, String> {
        let available = rustls::crypto::ring::ALL_CIPHER_SUITES;
        Ok(chosen(list, available)?.into_iter().map(|suite| suite.suite()).collect())
    }

    #[test]
    fn every_cipher_has_a_name() {
        let available = rustls::crypto::ring::ALL_CIPHER_SUITES;
        let mut names: Vec<CipherSuite> = NAMES.iter().map(|(_, suite)| *suite).collect();
        let mut all: Vec<CipherSuite> = available.iter().map(|suite| suite.suite()).collect();
        names.sort_by_key(|suite| u16::from(*suite));
        all.sort_by_key(|suite| u16::from(*suite));
        assert_eq!(names, all);
    }

    #[test]
    fn a_list_is_read_as_openssl_would() {
        let two = suites("ECDHE-RSA-AES128-GCM-SHA256:AES128-SHA:TLS_AES_128_GCM_SHA256").unwrap();
        assert_eq!(
            two,
            [
                CipherSuite::TLS13_AES_128_GCM_SHA256,
                CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
            ]
        );
        assert_eq!(suites("HIGH:!aNULL:!TLS_AES_128_GCM_SHA256").unwrap().len(), 8);
        let error = suites("RC4:DES").unwrap_err();
        assert!(error.contains("`RC4:DES`") && error.contains("ECDHE-RSA-AES256-GCM-SHA384"));
    }
}
