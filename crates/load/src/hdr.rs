//! Latencies in the format of HdrHistogram's log, version 1.3 with encoding V2, which its tools
//! draw, add up and compare. The buckets of [`Histogram`] are HdrHistogram's at three significant
//! digits, so the conversion rounds nothing.

use base::Histogram;
use base::time::NS_PER_S;
use base64ct::{Base64, Encoding};

/// First word of a histogram in HdrHistogram's encoding V2; the low byte states that counts take
/// one to nine bytes. The next constant is the first word of its zlib stream.
const COOKIE: u32 = 0x1c84_9313;
const COOKIE_COMPRESSED: u32 = 0x1c84_9314;
/// Largest length of a stored block of DEFLATE, in bytes (RFC 1951 section 3.2.4).
const BLOCK_MAX: usize = 65_535;

/// Returns the header lines of a HdrHistogram log.
pub fn head() -> String {
    "#[Histogram log format version 1.3]\n\
     #[StartTime: 0.000 (seconds since epoch), counted from the beginning of the run]\n\
     \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
        .to_owned()
}

/// Returns the log line of `histogram` under the name `tag`, which has neither spaces nor commas:
/// values in nanoseconds from an interval of `length_ns` that began with the run.
pub fn line(tag: &str, length_ns: u64, histogram: &Histogram) -> String {
    let length_s = length_ns as f64 / NS_PER_S as f64;
    let max_ms = histogram.max().unwrap_or(0) as f64 / 1e6;
    let encoded = Base64::encode_string(&compressed(&encoded(histogram)));
    format!("Tag={tag},0.000,{length_s:.3},{max_ms:.3},{encoded}\n")
}

/// Encodes `histogram` in HdrHistogram's encoding V2, uncompressed.
fn encoded(histogram: &Histogram) -> Vec<u8> {
    let mut counts = Vec::new();
    let mut zeros = 0;
    for &count in histogram.buckets() {
        if count == 0 {
            zeros += 1;
            continue;
        }
        put_zeros(&mut counts, zeros);
        zeros = 0;
        put_signed(&mut counts, count.cast_signed());
    }
    let mut octets = Vec::with_capacity(40 + counts.len());
    octets.extend(COOKIE.to_be_bytes());
    octets.extend((counts.len() as u32).to_be_bytes());
    // No shift of the indexes, three digits, whole nanoseconds up to the limit, conversion ratio 1.
    octets.extend([0, 0, 0, 0, 0, 0, 0, 3]);
    octets.extend(1_u64.to_be_bytes());
    octets.extend(histogram.limit().to_be_bytes());
    octets.extend(1.0_f64.to_be_bytes());
    octets.extend(counts);
    octets
}

/// Appends a run of `zeros` empty buckets of a histogram as one negative number.
fn put_zeros(octets: &mut Vec<u8>, zeros: i64) {
    match zeros {
        0 => {}
        1 => put_signed(octets, 0),
        _ => put_signed(octets, -zeros),
    }
}

/// Appends a number in zigzag encoding: seven bits a byte, eight in the ninth byte.
fn put_signed(octets: &mut Vec<u8>, number: i64) {
    let mut rest = (number << 1 ^ number >> 63).cast_unsigned();
    for _ in 0..8 {
        if rest < 0x80 {
            octets.push(rest as u8);
            return;
        }
        octets.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    octets.push(rest as u8);
}

/// Returns a zlib stream (RFC 1950) that contains `octets` in stored blocks: the format needs a
/// stream, and a histogram is a few KiB.
fn compressed(octets: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let mut blocks = octets.chunks(BLOCK_MAX).peekable();
    while let Some(block) = blocks.next() {
        let len = block.len() as u16;
        stream.push(u8::from(blocks.peek().is_none()));
        stream.extend(len.to_le_bytes());
        stream.extend((!len).to_le_bytes());
        stream.extend(block);
    }
    let (low, high) = octets.iter().fold((1_u32, 0_u32), |(low, high), &octet| {
        let low = (low + u32::from(octet)) % 65_521;
        (low, (high + low) % 65_521)
    });
    stream.extend((high << 16 | low).to_be_bytes());
    let mut whole = COOKIE_COMPRESSED.to_be_bytes().to_vec();
    whole.extend((stream.len() as u32).to_be_bytes());
    whole.extend(stream);
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_one_to_nine_octets() {
        let coded = |number| {
            let mut octets = Vec::new();
            put_signed(&mut octets, number);
            octets
        };
        assert_eq!(
            (coded(0), coded(1), coded(-1), coded(63)),
            (vec![0], vec![2], vec![1], vec![126])
        );
        assert_eq!((coded(64), coded(-2_000)), (vec![0x80, 1], vec![0x9f, 0x1f]));
        assert_eq!(coded(i64::MAX).len(), 9);
        assert_eq!(coded(i64::MIN), [0xff; 9]);
    }
}
