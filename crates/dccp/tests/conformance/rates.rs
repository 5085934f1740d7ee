//! What a minute of sending comes to: the rows that DCCP was measured by when Linux had it, with
//! datagrams of 1,424 octets and a send queue of five. `--nocapture` shows the figures.

use crate::exchange::{Pair, greedy, with_ccid};
use crate::world::SECOND;

/// Bit per second of application data within a minute, after one to begin.
fn rate(ccid: u8, words: &str, seed: u64) -> u64 {
    let mut pair = Pair::new(with_ccid(ccid), with_ccid(ccid), words, seed);
    let mut feed = greedy(1_424);
    pair.run(2 * SECOND, &mut feed);
    let before = pair.delivered_bytes;
    pair.run(62 * SECOND, &mut feed);
    (pair.delivered_bytes - before) * 8 / 60
}

fn mean_of_three(ccid: u8, words: &str) -> u64 {
    let rates = [1, 2, 3].map(|seed| rate(ccid, words, seed));
    let mean = rates.iter().sum::<u64>() / 3;
    println!("CCID {ccid}, {}: {mean} bit/s of {rates:?}", words.replace('\n', " then "));
    mean
}

/// 100 Mbit/s Ethernet: an IP header of 20 octets and a frame of 38 with each packet, so that no more
/// than 95.06 Mbit/s of data pass.
const ETHERNET: &str = "delay 100us rate 100mbit 58";

#[test]
fn losses_leave_what_the_equation_says() {
    for (words, ccid_3, ccid_2) in [
        ("delay 75ms loss 10%", 125_000..=215_000, 150_000..=350_000),
        ("delay 20ms loss 1%", 2_900_000..=3_700_000, 3_000_000..=4_500_000),
    ] {
        for (ccid, range) in [(3, ccid_3), (2, ccid_2)] {
            let mean = mean_of_three(ccid, words);
            assert!(range.contains(&mean), "CCID {ccid}, {words}: {mean} bit/s");
        }
    }
}

#[test]
fn a_link_without_losses_is_filled() {
    let routed = format!("{ETHERNET}\n{ETHERNET}");
    for words in [ETHERNET, &routed] {
        for ccid in [3, 2] {
            let rate = rate(ccid, words, 1);
            println!("CCID {ccid}, {}: {rate} bit/s", words.replace('\n', " then "));
            assert!(rate >= 94_500_000, "CCID {ccid}, {words}: {rate} bit/s");
        }
    }
}
