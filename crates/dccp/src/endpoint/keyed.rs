//! SipHash-2-4 (Aumasson and Bernstein, 2012), a keyed hash that cannot be predicted without its
//! key: for first sequence numbers (RFC 4340 §7.2) and the seal of Init Cookies (§8.1.4).

/// Secret key of SipHash, 128 bits.
#[derive(Clone, Copy, Debug)]
pub struct SipHashKey {
    words: [u64; 2],
}

impl SipHashKey {
    /// Returns a key made of two random words; the caller draws them anew for each process.
    pub const fn new(words: [u64; 2]) -> Self {
        Self { words }
    }

    /// Returns the SipHash-2-4 of `octets` under this key.
    pub fn hash(&self, octets: &[u8]) -> u64 {
        let [k0, k1] = self.words;
        let mut v = [
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ];
        let (words, rest) = octets.as_chunks::<8>();
        for word in words {
            absorb(&mut v, u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        last[7] = octets.len() as u8;
        absorb(&mut v, u64::from_le_bytes(last));
        v[2] ^= 0xff;
        for _ in 0..4 {
            round(&mut v);
        }
        v[0] ^ v[1] ^ v[2] ^ v[3]
    }
}

fn absorb(v: &mut [u64; 4], word: u64) {
    v[3] ^= word;
    round(v);
    round(v);
    v[0] ^= word;
}

const fn round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[2] = v[2].rotate_left(32);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vector_of_the_paper() {
        // Appendix A: key 00 01 .. 0f, message 00 01 .. 0e.
        let secret = SipHashKey::new([0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908]);
        let message: [u8; 15] = core::array::from_fn(|index| index as u8);
        assert_eq!(secret.hash(&message), 0xa129_ca61_49be_45e5);
    }
}
