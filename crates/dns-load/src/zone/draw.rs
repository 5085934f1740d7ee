//! Random choices of an artificial zone. Every choice depends only on the number of a name or
//! query, so that a larger zone of a seed begins with the smaller one, and uses only integers and
//! operations that IEEE 754 fixes to the bit.

use std::net::{Ipv4Addr, Ipv6Addr};

use base::Random;
use dns_wire::RecordType;

use super::{Data, ZoneLike, ZoneQuery};

/// Percentage of a zone's names that are aliases (CNAME); the next constants are percentages of
/// other names with an IPv6 address (AAAA), mail exchanger (MX) and text (TXT).
const ALIASES: u64 = 10;
const WITH_ADDRESS6: u64 = 60;
const WITH_MAIL: u64 = 10;
const WITH_TEXT: u64 = 10;
/// Largest number of IPv4 addresses of a zone's name.
const ADDRESSES_MAX: u64 = 4;
/// Percentage of queries for names that do not exist in the zone.
const MISSING: u64 = 10;
/// Record types of the queries for a zone, with their percentages. No name has an HTTPS record.
const KINDS: [(u64, RecordType); 5] = [
    (55, RecordType::A),
    (25, RecordType::AAAA),
    (8, RecordType::MX),
    (6, RecordType::TXT),
    (6, RecordType::HTTPS),
];

/// Numbers of the random streams of one seed: for names (here), for their data, and for queries.
const NAME_STREAM: u64 = 1;
const DATA_STREAM: u64 = 2;
const QUERY_STREAM: u64 = 3;

const CONSONANTS: &[u8; 14] = b"bdfgklmnprstvz";
const VOWELS: &[u8; 5] = b"aeiou";
const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// Returns the random numbers for name or query `number` in the stream `stream` of `seed`.
fn stream(seed: u64, stream: u64, number: u32) -> Random {
    Random::from_seed(seed).fork(stream).fork(number.into())
}

/// Returns name `number` of a zone, relative to the zone: pronounceable, and different from every
/// other name, because the number follows after a hyphen.
pub(super) fn name(seed: u64, number: u32) -> String {
    let random = &mut stream(seed, NAME_STREAM, number);
    let mut name = match random.below(10) {
        0 | 1 => "www.".to_owned(),
        2 => "mail.".to_owned(),
        _ => String::new(),
    };
    let letter = |random: &mut Random, letters: &[u8]| {
        char::from(*random.pick(letters).expect("there are letters"))
    };
    for _ in 0..2 + random.below(2) {
        name.push(letter(random, CONSONANTS));
        name.push(letter(random, VOWELS));
    }
    name.push('-');
    let (mut digits, mut rest) = (Vec::new(), number as usize);
    while digits.is_empty() || rest > 0 {
        digits.push(char::from(DIGITS[rest % 36]));
        rest /= 36;
    }
    name.extend(digits.into_iter().rev());
    name
}

/// Returns the record data of every name of a zone.
pub(super) fn owners(like: &ZoneLike) -> Vec<Vec<Data>> {
    let mut owners: Vec<Vec<Data>> = Vec::with_capacity(like.names as usize);
    for number in 0..like.names {
        let random = &mut stream(like.seed, DATA_STREAM, number);
        let data = if number > 0 && random.below(100) < ALIASES {
            vec![Data::Alias(host_before(random, &owners))]
        } else {
            host(random, &owners)
        };
        owners.push(data);
    }
    owners
}

/// Returns the number of an earlier name of the zone that is no alias.
fn host_before(random: &mut Random, owners: &[Vec<Data>]) -> u32 {
    let number = random.below(owners.len() as u64) as u32;
    match owners[number as usize].first() {
        Some(&Data::Alias(target)) => target,
        _ => number,
    }
}

fn host(random: &mut Random, owners: &[Vec<Data>]) -> Vec<Data> {
    let mut data = Vec::new();
    for _ in 0..1 + random.below(ADDRESSES_MAX) {
        let [_, b, c, d] = random.next_u32().to_be_bytes();
        let address = Data::Address(Ipv4Addr::new(10, b, c, d));
        // A set of records has each record once.
        if !data.contains(&address) {
            data.push(address);
        }
    }
    if random.below(100) < WITH_ADDRESS6 {
        let network = 0x2001_0db8_u128 << 96;
        data.push(Data::Address6(Ipv6Addr::from(network | u128::from(random.next_u64()))));
    }
    if !owners.is_empty() && random.below(100) < WITH_MAIL {
        data.push(Data::Mail(10, host_before(random, owners)));
        if random.chance(1, 2) {
            data.push(Data::Mail(20, host_before(random, owners)));
        }
    }
    if random.below(100) < WITH_TEXT {
        let [_, b, c, _] = random.next_u32().to_be_bytes();
        data.push(Data::Text(format!("v=spf1 ip4:10.{b}.{c}.0/24 -all")));
    }
    data
}

/// Returns as many queries as the zone has names: popular names by Zipf's law with the exponent 1,
/// in random order.
pub(super) fn queries(like: &ZoneLike) -> Vec<ZoneQuery> {
    let mut random = Random::from_seed(like.seed).fork(QUERY_STREAM);
    let mut by_popularity: Vec<u32> = (0..like.names).collect();
    random.shuffle(&mut by_popularity);
    let mut sum = 0.0;
    let sums: Vec<f64> = (1..=like.names)
        .map(|rank| {
            sum += 1.0 / f64::from(rank);
            sum
        })
        .collect();
    let draw = |_| {
        let number = if random.below(100) < MISSING {
            like.names + random.below(like.names.into()) as u32
        } else {
            let point = random.unit() * sum;
            let rank = sums.partition_point(|&sum| sum <= point);
            by_popularity[rank.min(by_popularity.len() - 1)]
        };
        ZoneQuery { number, kind: kind(&mut random) }
    };
    (0..like.names).map(draw).collect()
}

fn kind(random: &mut Random) -> RecordType {
    let mut point = random.below(100);
    for (share, kind) in KINDS {
        if point < share {
            return kind;
        }
        point -= share;
    }
    unreachable!("the shares make a hundred")
}
