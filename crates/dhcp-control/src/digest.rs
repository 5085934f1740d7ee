//! SHA-256 digest (FIPS 180-4), by which clients compare configurations.

use base::Hex;
use sha2::{Digest, Sha256};

/// Returns the SHA-256 digest of `octets` in upper-case hexadecimal digits.
pub(crate) fn sha256_hex(octets: &[u8]) -> String {
    format!("{:X}", Hex(&Sha256::digest(octets)))
}

#[cfg(test)]
mod tests {
    use super::sha256_hex;

    #[test]
    fn the_standard_s_examples_come_out() {
        for (text, digest) in [
            ("", "E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855"),
            ("abc", "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248D6A61D20638B8E5C026930C3E6039A33CE45964FF2167F6ECEDD419DB06C1",
            ),
        ] {
            assert_eq!(sha256_hex(text.as_bytes()), digest);
        }
        let million = vec![b'a'; 1_000_000];
        let digest = "CDC76E5C9914FB9281A1C7E284D73E67F1809A48A497200E046D39CCC7112CD0";
        assert_eq!(sha256_hex(&million), digest);
    }
}
