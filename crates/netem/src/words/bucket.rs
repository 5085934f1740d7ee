//! Parser of the words of `tc-tbf`: settings of a token bucket.

use core::num::NonZeroU64;

use super::look_up;
use super::reader::{SettingsWord, WordReader};
use super::units::{self, WordValueError};
use crate::settings::{BucketLimit, LinkLayer, Peak, TokenBucket};

/// Values of the token bucket's words that the parser has read so far.
#[derive(Default)]
struct BucketWordValues<'a> {
    rate: Option<NonZeroU64>,
    burst: Option<u64>,
    limit: Option<(SettingsWord<'a>, u64)>,
    latency_ns: Option<(SettingsWord<'a>, u64)>,
    peak_rate: Option<(SettingsWord<'a>, NonZeroU64)>,
    peak_burst: Option<u64>,
    packet_bytes_min: u32,
    overhead_bytes: u16,
    link_layer: LinkLayer,
}

/// Returns the full name of a word of `tc-tbf` that may be abbreviated. As in `tc`, only some words
/// may be.
fn full_name(word: &str) -> Option<&'static str> {
    match word {
        "buffer" | "maxburst" => Some("burst"),
        "mtu" | "minburst" => Some("mtu"),
        "mpu" => Some("mpu"),
        "rate" => Some("rate"),
        _ => look_up(&["limit", "latency", "burst", "peakrate", "overhead", "linklayer"], word),
    }
}

/// Reads the words of a token bucket to the end of the text; `tbf` is the word before them.
pub(super) fn read(reader: &mut WordReader<'_>, tbf: SettingsWord<'_>) -> Option<TokenBucket> {
    reader.forget();
    let mut parts = BucketWordValues::default();
    while let Some(word) = reader.take() {
        let Some(name) = full_name(word.text) else {
            let message = format!("unknown keyword `{}` of tbf", word.text);
            let help = "keywords are rate, burst, limit, latency, peakrate, mtu, mpu, overhead and \
                        linklayer; keywords of netem come before `tbf`";
            reader.problem_at(word, message, help);
            continue;
        };
        reader.note(word, name);
        read_one(reader, &mut parts, word, name);
    }
    check(reader, &parts, tbf)
}

fn read_one<'a>(
    reader: &mut WordReader<'a>,
    parts: &mut BucketWordValues<'a>,
    word: SettingsWord<'a>,
    name: &str,
) {
    match name {
        "rate" => parts.rate = reader.value(name, units::bytes_per_s),
        "burst" => parts.burst = reader.value(name, burst),
        "limit" => parts.limit = reader.value(name, units::size).map(|bytes| (word, bytes)),
        "latency" => {
            parts.latency_ns = reader.value(name, units::time_of_us_ns).map(|ns| (word, ns));
        }
        "peakrate" => {
            parts.peak_rate = reader.value(name, units::bytes_per_s).map(|rate| (word, rate));
        }
        "mtu" => parts.peak_burst = reader.value(name, burst),
        "mpu" => parts.packet_bytes_min = reader.value(name, units::size_u32).unwrap_or_default(),
        "overhead" => parts.overhead_bytes = reader.value(name, units::whole).unwrap_or_default(),
        _ => parts.link_layer = reader.value(name, link_layer).unwrap_or_default(),
    }
}

/// Reads a bucket's depth in bytes, which is not 0.
fn burst(word: &str) -> Result<u64, WordValueError> {
    match units::size_and_cell(word)? {
        0 => Err(WordValueError::Size),
        bytes => Ok(bytes),
    }
}

fn link_layer(word: &str) -> Result<LinkLayer, WordValueError> {
    match word {
        "ethernet" => Ok(LinkLayer::Ethernet),
        "atm" | "adsl" => Ok(LinkLayer::Atm),
        _ => Err(WordValueError::LinkLayer),
    }
}

/// Checks the bucket's words for missing ones and for words that exclude each other; returns the
/// settings.
fn check(
    reader: &mut WordReader<'_>,
    parts: &BucketWordValues<'_>,
    tbf: SettingsWord<'_>,
) -> Option<TokenBucket> {
    // A word with a wrong value has its own problem already.
    let mut missing = |name: &'static str, help: &str| {
        if !reader.has_seen(name) {
            reader.problem_at(tbf, format!("`{name}` of tbf is missing"), help);
        }
    };
    missing("rate", "give the rate of tokens, such as `rate 100mbit`");
    missing("burst", "give the size of the bucket, such as `burst 5kb`");
    if parts.peak_rate.is_some() {
        missing("mtu", "a `peakrate` needs the size of its bucket, such as `mtu 2kb`");
    }
    if !reader.has_seen("limit") {
        missing_room(reader, tbf);
    }
    if let (Some((word, _)), Some(_)) = (parts.latency_ns, parts.limit) {
        let message = "`latency` and `limit` both set the size of the queue".to_owned();
        reader.problem_at(word, message, "leave one of them out");
    }
    if let (Some((word, peak_rate)), Some(rate)) = (parts.peak_rate, parts.rate)
        && peak_rate <= rate
    {
        let message = "`peakrate` is not above `rate`".to_owned();
        reader.problem_at(word, message, "give a higher `peakrate`, or leave it out");
    }
    let room = match (parts.limit, parts.latency_ns) {
        (Some((_, bytes)), _) => BucketLimit::Bytes(bytes),
        (None, Some((_, latency_ns))) => BucketLimit::Time { latency_ns },
        (None, None) => return None,
    };
    let peak = parts.peak_rate.zip(parts.peak_burst);
    Some(TokenBucket {
        bytes_per_s: parts.rate?,
        burst_bytes: parts.burst?,
        limit: room,
        peak: peak.map(|((_, bytes_per_s), burst_bytes)| Peak { bytes_per_s, burst_bytes }),
        packet_bytes_min: parts.packet_bytes_min,
        overhead_bytes: parts.overhead_bytes,
        link_layer: parts.link_layer,
    })
}

fn missing_room(reader: &mut WordReader<'_>, tbf: SettingsWord<'_>) {
    if !reader.has_seen("latency") {
        let message = "`latency` or `limit` of tbf is missing".to_owned();
        reader.problem_at(tbf, message, "give the size of the queue, such as `latency 50ms`");
    }
}
