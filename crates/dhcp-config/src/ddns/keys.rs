//! Reader of `tsig-keys` (RFC 8945), with secrets in the configuration or in files of their own.

use std::collections::BTreeMap;

use base64ct::{Base64, Encoding};
use ncr::UpdateName;

use super::TsigKey;
use crate::IncludeResolver;
use crate::context::ParseContext;
use crate::fields::MapReader;
use crate::json::JsonValue;
use crate::shared::security;
use crate::source::{PositionedValue, SourcePosition};

/// Smallest number of bits to which a signature may be cut (RFC 8945 §5.2.2.1).
const DIGEST_BITS_MIN: i64 = 80;

/// Algorithm of TSIG signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TsigAlgorithm {
    /// HMAC-MD5, for older servers.
    Md5,
    /// HMAC-SHA1.
    Sha1,
    /// HMAC-SHA224.
    Sha224,
    /// HMAC-SHA256.
    Sha256,
    /// HMAC-SHA384.
    Sha384,
    /// HMAC-SHA512.
    Sha512,
}

impl TsigAlgorithm {
    /// All algorithms with their names in configurations.
    pub const ALL: [(&'static str, Self); 6] = [
        ("HMAC-MD5", Self::Md5),
        ("HMAC-SHA1", Self::Sha1),
        ("HMAC-SHA224", Self::Sha224),
        ("HMAC-SHA256", Self::Sha256),
        ("HMAC-SHA384", Self::Sha384),
        ("HMAC-SHA512", Self::Sha512),
    ];

    /// Returns the length of the algorithm's signatures in bytes.
    #[must_use]
    pub const fn signature_bytes(self) -> usize {
        match self {
            Self::Md5 => 16,
            Self::Sha1 => 20,
            Self::Sha224 => 28,
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }
}

/// Keys of a configuration, with the names by which servers refer to them.
#[derive(Default)]
pub(super) struct KeyList {
    pub(super) keys: Vec<TsigKey>,
    /// Position of each key by its name, lower case and without a final dot. `None` stands for a
    /// key with an error, so that no server that refers to it has a second one.
    by_name: BTreeMap<String, Option<usize>>,
}

impl KeyList {
    /// Reads the keys of `items`. Files are read by `resolver` as included by the file `file`.
    pub(super) fn read(
        items: &[JsonValue],
        file: &str,
        resolver: &mut dyn IncludeResolver,
        findings: &mut ParseContext,
    ) -> Self {
        let mut list = Self::default();
        let mut positions: BTreeMap<String, SourcePosition> = BTreeMap::new();
        for item in items {
            let mut reader = KeyReader { file, resolver: &mut *resolver, findings: &mut *findings };
            let Some((name, key)) = reader.read(item) else { continue };
            let folded = folded(name.value);
            if let Some(&other) = positions.get(&folded) {
                let message = format!("there is a key `{}` already", name.value);
                findings.error_with_second_position(name.at, message, "the other is at", other);
                continue;
            }
            positions.insert(folded.clone(), name.at);
            list.by_name.insert(folded, key.is_some().then_some(list.keys.len()));
            list.keys.extend(key);
        }
        list
    }

    /// Returns the position of the key `name`; reports an error if there is none.
    pub(super) fn find(
        &self,
        name: PositionedValue<&str>,
        findings: &mut ParseContext,
    ) -> Option<usize> {
        if let Some(index) = self.by_name.get(&folded(name.value)) {
            return *index;
        }
        let message = format!("there is no TSIG key `{}`", name.value);
        let near = base::nearest(name.value, self.by_name.keys().map(String::as_str));
        match near {
            Some(near) => {
                findings.error_help(name.at, message, format!("did you mean `{near}`?"));
            }
            None => findings.error_help(name.at, message, "define it in `tsig-keys`"),
        }
        None
    }
}

/// Returns the name of a key as keys are compared: names of keys are domain names.
fn folded(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

/// Reader of one key.
struct KeyReader<'a> {
    file: &'a str,
    resolver: &'a mut dyn IncludeResolver,
    findings: &'a mut ParseContext,
}

impl KeyReader<'_> {
    /// Reads the key `item`; returns its name with the key, or without if the key has an error.
    fn read<'v>(
        &mut self,
        item: &'v JsonValue,
    ) -> Option<(PositionedValue<&'v str>, Option<TsigKey>)> {
        let findings = &mut *self.findings;
        let before = findings.errors();
        let mut fields = MapReader::from_value(item, "a TSIG key", findings)?;
        for key in ["name", "algorithm"] {
            if fields.take(key).is_none() {
                findings.error(item.at, format!("a TSIG key lacks `{key}`"));
            }
        }
        let name = fields.text("name", findings);
        let algorithm = fields.word("algorithm", &TsigAlgorithm::ALL, true, findings);
        let bits = fields.integer("digest-bits", 0..=i64::from(u32::MAX), findings);
        let secret = self.secret(&mut fields, item);
        let findings = &mut *self.findings;
        fields.context(findings);
        fields.finish(findings);
        let cut_bytes = match (algorithm, bits) {
            (Some(algorithm), Some(bits)) => cut_bytes(algorithm, bits, findings),
            _ => None,
        };
        let name = name?;
        let key_name = UpdateName::from_text(name.value);
        if key_name.is_none() {
            findings.error(name.at, format!("`name`: `{}` is no domain name", name.value));
        }
        let key = || {
            let (name, algorithm, secret) = (key_name?, algorithm?, secret?);
            Some(TsigKey { name, algorithm, secret, cut_bytes })
        };
        Some((name, key().filter(|_| self.findings.errors() == before)))
    }

    /// Reads the secret of a key, from its file if there is one.
    fn secret(&mut self, fields: &mut MapReader<'_>, item: &JsonValue) -> Option<Vec<u8>> {
        let findings = &mut *self.findings;
        let own = fields.text("secret", findings);
        if let Some(path) = fields.text("secret-file", findings) {
            if let Some(own) = own {
                let message = "`secret` has no effect next to `secret-file`";
                findings.warn_help(own.at, message, "remove it");
            }
            return match self.resolver.read(self.file, path.value) {
                Ok(text) => decoded(&text, path.at, "secret-file", findings),
                Err(reason) => {
                    let message = format!("cannot read the secret in {}: {reason}", path.value);
                    findings.error(path.at, message);
                    None
                }
            };
        }
        let Some(own) = own else {
            if fields.take("secret").is_none() && fields.take("secret-file").is_none() {
                let help = "put the secret into a file and name that as `secret-file`";
                findings.error_help(item.at, "a TSIG key lacks `secret-file` or `secret`", help);
            }
            return None;
        };
        security::clear_text("secret", own.at, findings);
        decoded(own.value, own.at, "secret", findings)
    }
}

/// Decodes the secret `text`, the value of `key`.
fn decoded(
    text: &str,
    at: SourcePosition,
    key: &str,
    findings: &mut ParseContext,
) -> Option<Vec<u8>> {
    let text: String = text.chars().filter(|letter| !letter.is_ascii_whitespace()).collect();
    if text.is_empty() {
        findings.error(at, format!("`{key}`: the secret is empty"));
        return None;
    }
    let decoded = Base64::decode_vec(&text).ok();
    if decoded.is_none() {
        findings.error(at, format!("`{key}`: the secret is no Base64"));
    }
    decoded
}

/// Returns the length in bytes to which `digest-bits` cuts signatures of `algorithm`.
fn cut_bytes(
    algorithm: TsigAlgorithm,
    bits: PositionedValue<i64>,
    findings: &mut ParseContext,
) -> Option<usize> {
    let full = algorithm.signature_bytes() * 8;
    let least = if algorithm == TsigAlgorithm::Md5 || algorithm == TsigAlgorithm::Sha1 {
        DIGEST_BITS_MIN
    } else {
        DIGEST_BITS_MIN.max(full as i64 / 2)
    };
    match bits.value {
        0 => None,
        value if value < least || value % 8 != 0 => {
            let message = format!("`digest-bits` cannot be {value} for this algorithm");
            let help = format!("a multiple of 8, from {least} to {full}; 0 for whole signatures");
            findings.error_help(bits.at, message, help);
            None
        }
        // More bits than the signature has mean the whole signature, as in Kea.
        value => usize::try_from(value / 8).ok().filter(|&bytes| bytes < full / 8),
    }
}
