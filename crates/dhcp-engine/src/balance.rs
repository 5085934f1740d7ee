//! Hash of a client's identifier, by which the servers of a load balancing pair share the clients
//! (RFC 3074).

/// Values by which the hash mixes the bytes of an identifier (RFC 3074 §6).
#[rustfmt::skip]
const MIXED: [u8; 256] = [
    251, 175, 119, 215, 81, 14, 79, 191, 103, 49, 181, 143, 186, 157, 0, 232, 31, 32, 55, 60, 152,
    58, 17, 237, 174, 70, 160, 144, 220, 90, 57, 223, 59, 3, 18, 140, 111, 166, 203, 196, 134, 243,
    124, 95, 222, 179, 197, 65, 180, 48, 36, 15, 107, 46, 233, 130, 165, 30, 123, 161, 209, 23, 97,
    16, 40, 91, 219, 61, 100, 10, 210, 109, 250, 127, 22, 138, 29, 108, 244, 67, 207, 9, 178, 204,
    74, 98, 126, 249, 167, 116, 34, 77, 193, 200, 121, 5, 20, 113, 71, 35, 128, 13, 182, 94, 25,
    226, 227, 199, 75, 27, 41, 245, 230, 224, 43, 225, 177, 26, 155, 150, 212, 142, 218, 115, 241,
    73, 88, 105, 39, 114, 62, 255, 192, 201, 145, 214, 168, 158, 221, 148, 154, 122, 12, 84, 82,
    163, 44, 139, 228, 236, 205, 242, 217, 11, 187, 146, 159, 64, 86, 239, 195, 42, 106, 198, 118,
    112, 184, 172, 87, 2, 173, 117, 176, 229, 247, 253, 137, 185, 99, 164, 102, 147, 45, 66, 231,
    52, 141, 211, 194, 206, 246, 238, 56, 110, 78, 248, 63, 240, 189, 93, 92, 51, 53, 183, 19, 171,
    72, 50, 33, 104, 101, 69, 8, 252, 83, 120, 76, 135, 85, 54, 202, 125, 188, 213, 96, 235, 136,
    208, 162, 129, 190, 132, 156, 38, 47, 1, 7, 254, 24, 4, 216, 131, 89, 21, 28, 133, 37, 153, 149,
    80, 170, 68, 6, 169, 234, 151,
];

/// Returns the hash of the identifier `octets`: its bytes are mixed from the last to the first,
/// beginning with its length.
#[must_use]
pub fn balance_hash(octets: &[u8]) -> u8 {
    let mix = |hash: u8, octet: &u8| MIXED[usize::from(hash ^ octet)];
    octets.iter().rev().fold(octets.len() as u8, mix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_mixes_all_bytes_and_the_length() {
        let mut values = MIXED;
        values.sort_unstable();
        assert!(values.into_iter().eq(0..=u8::MAX));
        assert_eq!(balance_hash(&[]), 0);
        // 1 for the length, mixed with the byte.
        assert_eq!(balance_hash(&[1]), MIXED[0]);
        assert_eq!(balance_hash(&[7, 1]), MIXED[usize::from(MIXED[usize::from(2 ^ 1_u8)] ^ 7)]);
        let even =
            (0..=255).filter(|octet| balance_hash(&[2, 0, 0, 0, 0, *octet]).is_multiple_of(2));
        assert_eq!(even.count(), 128);
    }
}
