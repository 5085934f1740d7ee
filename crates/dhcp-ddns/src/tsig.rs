//! Signatures of updates and of their answers (RFC 8945).

use dhcp_config::{TsigAlgorithm, TsigKey};
use domain::base::iana::{Class, Rtype, TsigRcode};
use domain::base::name::{ParsedName, ToName};
use domain::base::{Message, Ttl};
use domain::rdata::tsig::{Time48, Tsig};
use hmac::{Hmac, KeyInit, Mac};

/// Time by which the clocks of updater and server may differ, in seconds (RFC 8945 §10).
const FUDGE_S: u16 = 300;
/// Position of the number of additional records in a message.
const ADDITIONAL_COUNT: usize = 10;

/// Reason why an answer is not accepted as signed by the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TsigFault {
    /// Message that is no DNS message.
    Malformed,
    /// Answer without a signature.
    Unsigned,
    /// Signature by another key or algorithm, of a wrong length, or of another message.
    Forged,
    /// Signature of a time that is not now.
    Late,
    /// Refusal of the updater's signature by the server, with its reason.
    Refused(TsigRcode),
}

/// Fields of a TSIG record that a signature covers.
struct TsigVariables<'a> {
    key: &'a TsigKey,
    time: Time48,
    fudge: u16,
    error: TsigRcode,
    other: &'a [u8],
}

impl TsigVariables<'_> {
    /// Returns the fields as signatures cover them (RFC 8945 §4.3.3).
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.key.name.canonical_wire();
        bytes.extend(Class::ANY.to_int().to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(algorithm_name(self.key.algorithm));
        bytes.extend(self.time.into_octets());
        bytes.extend(self.fudge.to_be_bytes());
        bytes.extend(self.error.to_int().to_be_bytes());
        bytes.extend((self.other.len() as u16).to_be_bytes());
        bytes.extend(self.other);
        bytes
    }
}

/// Signs `message` with `key` at the time `now_s` in seconds since 1970: appends the signature and
/// returns it, as the check of the answer needs it.
pub(crate) fn sign(key: &TsigKey, message: &mut Vec<u8>, now_s: u64) -> Vec<u8> {
    let time = time_of(now_s);
    let variables =
        TsigVariables { key, time, fudge: FUDGE_S, error: TsigRcode::NOERROR, other: &[] };
    let mut signature = hmac(key, &[message, &variables.bytes()]);
    signature.truncate(key.cut_bytes.unwrap_or(signature.len()));
    let id = [message[0], message[1]];
    let mut data = algorithm_name(key.algorithm).to_vec();
    data.extend(time.into_octets());
    data.extend(FUDGE_S.to_be_bytes());
    data.extend((signature.len() as u16).to_be_bytes());
    data.extend(&signature);
    data.extend(id);
    data.extend([0; 4]);
    message.extend(key.name.canonical_wire());
    message.extend(Rtype::TSIG.to_int().to_be_bytes());
    message.extend(Class::ANY.to_int().to_be_bytes());
    message.extend([0; 4]);
    message.extend((data.len() as u16).to_be_bytes());
    message.extend(data);
    // An update has no additional record before.
    message[ADDITIONAL_COUNT + 1] += 1;
    signature
}

/// Checks that the server with `key` has signed the answer `message` to the update that was signed
/// with `request_signature`.
///
/// # Errors
///
/// The reason why the answer is not accepted.
pub(crate) fn verify(
    key: &TsigKey,
    request_signature: &[u8],
    message: &[u8],
    now_s: u64,
) -> Result<(), TsigFault> {
    let parsed = Message::from_slice(message).map_err(|_| TsigFault::Malformed)?;
    let mut section = parsed.additional().map_err(|_| TsigFault::Malformed)?;
    let mut last = None;
    loop {
        let at = section.pos();
        match section.next() {
            Some(Ok(record)) => last = Some((at, record)),
            Some(Err(_)) => return Err(TsigFault::Malformed),
            None => break,
        }
    }
    let (at, record) = last.filter(|(_, r)| r.rtype() == Rtype::TSIG).ok_or(TsigFault::Unsigned)?;
    let record = record
        .into_record::<Tsig<&[u8], ParsedName<&[u8]>>>()
        .ok()
        .flatten()
        .ok_or(TsigFault::Malformed)?;
    if record.class() != Class::ANY || record.ttl() != Ttl::ZERO {
        return Err(TsigFault::Malformed);
    }
    let tsig = record.data();
    let is_key = canonical(record.owner()) == key.name.canonical_wire();
    let is_algorithm = canonical(tsig.algorithm()) == algorithm_name(key.algorithm);
    if !is_key || !is_algorithm {
        return Err(TsigFault::Forged);
    }
    // Answers about an unknown key or a wrong signature cannot be signed themselves.
    if matches!(tsig.error(), TsigRcode::BADKEY | TsigRcode::BADSIG) {
        return Err(TsigFault::Refused(tsig.error()));
    }
    let mut covered = message[..at].to_vec();
    covered[..2].copy_from_slice(&tsig.original_id().to_be_bytes());
    let count = u16::from_be_bytes([covered[ADDITIONAL_COUNT], covered[ADDITIONAL_COUNT + 1]]);
    covered[ADDITIONAL_COUNT..ADDITIONAL_COUNT + 2].copy_from_slice(&(count - 1).to_be_bytes());
    let variables = TsigVariables {
        key,
        time: tsig.time_signed(),
        fudge: tsig.fudge(),
        error: tsig.error(),
        other: tsig.other(),
    };
    let len = (request_signature.len() as u16).to_be_bytes();
    let expected = hmac(key, &[&len, request_signature, &covered, &variables.bytes()]);
    let least = key.cut_bytes.unwrap_or(expected.len());
    let signature = tsig.mac_slice();
    if signature.len() < least || !is_beginning(signature, &expected) {
        return Err(TsigFault::Forged);
    }
    if tsig.error() != TsigRcode::NOERROR {
        return Err(TsigFault::Refused(tsig.error()));
    }
    let is_now = tsig.time_signed().eq_fudged(time_of(now_s), u64::from(tsig.fudge()));
    if is_now { Ok(()) } else { Err(TsigFault::Late) }
}

/// Returns true if `expected` begins with `signature`, in a time that does not depend on the
/// content.
fn is_beginning(signature: &[u8], expected: &[u8]) -> bool {
    let differences = signature.iter().zip(expected).fold(0, |sum, (a, b)| sum | (a ^ b));
    signature.len() <= expected.len() && core::hint::black_box(differences) == 0
}

fn time_of(now_s: u64) -> Time48 {
    Time48::from_u64(now_s & 0xffff_ffff_ffff)
}

/// Returns a name of a message in lower case, as bytes on the wire.
fn canonical(name: &impl ToName) -> Vec<u8> {
    let name: domain::base::Name<Vec<u8>> = name.to_canonical_name();
    name.as_slice().to_vec()
}

/// Returns the name of the algorithm as on the wire.
const fn algorithm_name(algorithm: TsigAlgorithm) -> &'static [u8] {
    match algorithm {
        TsigAlgorithm::Md5 => b"\x08hmac-md5\x07sig-alg\x03reg\x03int\0",
        TsigAlgorithm::Sha1 => b"\x09hmac-sha1\0",
        TsigAlgorithm::Sha224 => b"\x0bhmac-sha224\0",
        TsigAlgorithm::Sha256 => b"\x0bhmac-sha256\0",
        TsigAlgorithm::Sha384 => b"\x0bhmac-sha384\0",
        TsigAlgorithm::Sha512 => b"\x0bhmac-sha512\0",
    }
}

/// Returns the code of the parts, one after the other, by the algorithm and secret of `key`.
fn hmac(key: &TsigKey, parts: &[&[u8]]) -> Vec<u8> {
    fn of<M: Mac + KeyInit>(secret: &[u8], parts: &[&[u8]]) -> Vec<u8> {
        let mut mac = <M as KeyInit>::new_from_slice(secret).expect("HMAC takes any secret");
        parts.iter().for_each(|part| mac.update(part));
        mac.finalize().into_bytes().to_vec()
    }
    let secret = &key.secret;
    match key.algorithm {
        TsigAlgorithm::Md5 => of::<Hmac<md5::Md5>>(secret, parts),
        TsigAlgorithm::Sha1 => of::<Hmac<sha1::Sha1>>(secret, parts),
        TsigAlgorithm::Sha224 => of::<Hmac<sha2::Sha224>>(secret, parts),
        TsigAlgorithm::Sha256 => of::<Hmac<sha2::Sha256>>(secret, parts),
        TsigAlgorithm::Sha384 => of::<Hmac<sha2::Sha384>>(secret, parts),
        TsigAlgorithm::Sha512 => of::<Hmac<sha2::Sha512>>(secret, parts),
    }
}

#[cfg(test)]
mod tests {
    use ncr::UpdateName;

    use super::*;

    const NOW_S: u64 = 1_800_000_000;
    const MD5: &str = "d83abc392d312e6b2c3d0a7b21b01409";
    const SHA256_CUT: &str = "1ecb55962e0dd32364c697fc2134d281";

    fn key(algorithm: TsigAlgorithm, cut_bytes: Option<usize>) -> TsigKey {
        let name = UpdateName::from_text("Key.Example").unwrap();
        TsigKey { name, algorithm, secret: b"a secret".to_vec(), cut_bytes }
    }

    fn message(flags: u8) -> Vec<u8> {
        vec![0x12, 0x34, 0x28 | flags, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    }

    /// Signs an answer as a server does: like an update, but with the update's signature before.
    fn signed_answer(key: &TsigKey, request_signature: &[u8], now_s: u64) -> Vec<u8> {
        let mut answer = message(0x80);
        let time = time_of(now_s);
        let variables =
            TsigVariables { key, time, fudge: FUDGE_S, error: TsigRcode::NOERROR, other: &[] };
        let len = (request_signature.len() as u16).to_be_bytes();
        let signature = hmac(key, &[&len, request_signature, &answer, &variables.bytes()]);
        let kept = key.cut_bytes.unwrap_or(signature.len());
        let own = sign(key, &mut answer, now_s);
        // The record ends with the signature, the identifier, and four bytes without a meaning.
        let end = answer.len() - 6;
        answer[end - own.len()..end].copy_from_slice(&signature[..kept]);
        answer
    }

    #[test]
    fn a_signature_is_the_one_of_the_standard_s_fields() {
        // Computed by Python's hmac module from the fields of RFC 8945 §4.3.
        let mut message = message(0);
        let signature = sign(&key(TsigAlgorithm::Md5, None), &mut message, NOW_S);
        assert_eq!(base::Hex(&signature).to_string(), MD5);
        let mut message = self::message(0);
        let signature = sign(&key(TsigAlgorithm::Sha256, Some(16)), &mut message, NOW_S);
        assert_eq!(base::Hex(&signature).to_string(), SHA256_CUT);
        assert_eq!(message[11], 1, "one additional record");
    }

    #[test]
    fn only_the_right_answer_is_accepted() {
        for (_, algorithm) in TsigAlgorithm::ALL {
            for cut_bytes in [None, Some(algorithm.signature_bytes() / 2 + 2)] {
                let key = key(algorithm, cut_bytes);
                let mut update = message(0);
                let signature = sign(&key, &mut update, NOW_S);
                let answer = signed_answer(&key, &signature, NOW_S + 10);
                let verified = |answer: &[u8], now_s| verify(&key, &signature, answer, now_s);
                assert_eq!(verified(&answer, NOW_S), Ok(()));
                assert_eq!(verified(&answer, NOW_S + 400), Err(TsigFault::Late));
                assert_eq!(verified(&message(0x80), NOW_S), Err(TsigFault::Unsigned));
                let other = TsigKey { secret: b"another".to_vec(), ..key.clone() };
                assert_eq!(verify(&other, &signature, &answer, NOW_S), Err(TsigFault::Forged));
                let renamed =
                    TsigKey { name: UpdateName::from_text("other").unwrap(), ..key.clone() };
                assert_eq!(verify(&renamed, &signature, &answer, NOW_S), Err(TsigFault::Forged));
                assert_eq!(verify(&key, b"", &answer, NOW_S), Err(TsigFault::Forged));
                for at in 0..answer.len() {
                    let mut damaged = answer.clone();
                    damaged[at] ^= 1;
                    // Upper and lower case of names differ in one bit, and count as equal.
                    let is_case = damaged[at].is_ascii_alphabetic();
                    // The identifier of the header is replaced by the original one.
                    let is_equal = at < 2 || is_case;
                    assert!(is_equal || verified(&damaged, NOW_S).is_err(), "{at}");
                    assert_ne!(verified(&answer[..at], NOW_S), Ok(()));
                }
            }
        }
    }
}
