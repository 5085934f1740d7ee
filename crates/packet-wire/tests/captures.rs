//! Tests with damaged capture files, pcap and pcapng: reading ends without a panic, and every
//! record lies inside of the file.
//!
//! `GODWIT_FUZZ_CASES=n` sets the number of cases, `GODWIT_SIM_SEED=s` the seed.

use base::Random;
use packet_wire::pcap::CaptureReader;

use crate::frames::number;
use crate::vectors::vector;

/// Least number of bytes in front of the bytes of every record.
const RECORD_HEAD_MIN: usize = 12;
/// Number of bytes at the beginning of a file in which damage is likely to hit headers.
const HEADER_BYTES: u64 = 200;

/// Returns four bytes with a number that readers often compare lengths, counts and numbers of
/// interfaces with.
fn word(random: &mut Random, len: usize) -> [u8; 4] {
    let near = (len as u32).wrapping_add(random.below(16) as u32).wrapping_sub(8);
    let value = match random.below(6) {
        0 => 0,
        1 => u32::MAX - random.below(8) as u32,
        2 => random.below(64) as u32,
        3 => near,
        4 => 1 << random.below(32),
        _ => random.next_u64() as u32,
    };
    if random.below(2) == 0 { value.to_le_bytes() } else { value.to_be_bytes() }
}

/// Damages a capture file at random; it may become shorter or longer.
fn damage(random: &mut Random, file: &mut Vec<u8>) {
    for _ in 0..=random.below(4) {
        if file.len() < 8 {
            return;
        }
        let limit = if random.below(2) == 0 { HEADER_BYTES } else { u64::MAX };
        let at = random.below(limit.min(file.len() as u64 - 4)) as usize;
        let aligned = at & !3;
        match random.below(5) {
            0 => file[at] ^= 1 << random.below(8),
            1 => file.truncate(at),
            2 => {
                let word = word(random, file.len());
                file[aligned..aligned + 4].copy_from_slice(&word);
            }
            3 => {
                let end = at + random.below(file.len() as u64 - at as u64) as usize;
                let copy = file[at..end].to_vec();
                file.splice(aligned..aligned, copy);
            }
            _ => drop(file.drain(aligned..aligned + 4)),
        }
    }
}

/// Reads a capture file to its end; returns the number of records.
fn read(file: &[u8]) -> usize {
    let Ok(reader) = CaptureReader::new(file) else { return 0 };
    let (mut records, mut octets) = (0, 0);
    for record in reader {
        let Ok(record) = record else { break };
        assert!(record.octets.len() <= record.original_len as usize);
        let range = record.octets.as_ptr_range();
        let whole = file.as_ptr_range();
        assert!(record.octets.is_empty() || whole.start <= range.start && range.end <= whole.end);
        records += 1;
        octets += record.octets.len();
    }
    assert!(records * RECORD_HEAD_MIN + octets <= file.len());
    records
}

#[test]
fn damaged_captures_are_read_to_an_end() {
    let cases = number("GODWIT_FUZZ_CASES", 100_000);
    let seed = number("GODWIT_SIM_SEED", 1);
    println!(
        "seed {seed}; repeat with: GODWIT_SIM_SEED={seed} GODWIT_FUZZ_CASES={cases} \
         cargo test -p packet-wire --test main captures::"
    );
    let mut random = Random::from_seed(seed);
    let sources = ["udp.pcap", "udp.pcapng"].map(|name| std::fs::read(vector(name)).unwrap());
    let whole = sources.each_ref().map(|file| read(file));
    let (mut all, mut some, mut none) = (0_u64, 0_u64, 0_u64);
    for case in 0..cases {
        let source = (case % 2) as usize;
        let mut file = sources[source].clone();
        damage(&mut random, &mut file);
        match read(&file) {
            0 => none += 1,
            records if records < whole[source] => some += 1,
            _ => all += 1,
        }
    }
    println!("{cases} cases: of {all} all records were read, of {some} some, of {none} none");
    assert!(cases < 1_000 || all.min(some).min(none) * 20 > cases, "{all} {some} {none}");
}
