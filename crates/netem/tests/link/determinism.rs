//! Tests that the same seed gives the same run of a link.

use netem::{EmulatedLink, LinkSettings};

use crate::link::run::{MS, number, numbers, pass, run, settings};

const WORDS: &str = "delay 30ms 10ms 25% distribution paretonormal loss gemodel 2% 30% duplicate 3% \
                     corrupt 2% reorder 10% 50% gap 4 slot 1ms 3ms packets 5 rate 50mbit";

fn play(settings: LinkSettings, seed: u64) -> (Vec<(u64, u64)>, Vec<Vec<u8>>) {
    let out = run(&mut EmulatedLink::new(settings, seed), 2_000, MS, 40);
    (numbers(&out), out.into_iter().map(|out| out.octets).collect())
}

#[test]
fn the_same_seed_gives_the_same_packets_at_the_same_times() {
    assert_eq!(play(settings(WORDS), 7), play(settings(WORDS), 7));
    assert_ne!(play(settings(WORDS), 7).0, play(settings(WORDS), 8).0);
}

#[test]
fn a_seed_in_the_words_goes_before_the_other() {
    let seeded = settings(&format!("{WORDS} seed 7"));
    assert_eq!(play(seeded, 99), play(settings(WORDS), 7));
}

#[test]
fn a_change_with_a_seed_begins_anew() {
    let seeded = settings("loss 30% seed 5");
    let lost =
        |link: &mut EmulatedLink| run(link, 500, MS, 8).iter().map(number).collect::<Vec<_>>();
    let mut link = EmulatedLink::new(seeded.clone(), 0);
    let first = lost(&mut link);
    assert_ne!(lost(&mut link), first);
    link.change(0, seeded);
    assert_eq!(lost(&mut link), first);
}

#[test]
fn what_is_lost_does_not_depend_on_other_settings() {
    let numbers_with = |words: &str| {
        let out = run(&mut EmulatedLink::new(settings(words), 3), 3_000, MS, 40);
        let mut numbers: Vec<_> = out.iter().map(number).collect();
        numbers.sort_unstable();
        numbers
    };
    let alone = numbers_with("loss 10%");
    assert!(alone.len() < 2_800);
    assert_eq!(numbers_with("loss 10% delay 50ms 40ms"), alone);
    assert_eq!(numbers_with("loss 10% delay 5ms reorder 30% rate 1gbit"), alone);
}

#[test]
fn asking_more_often_changes_nothing() {
    let calm = play(settings(WORDS), 11).0;
    let mut link = EmulatedLink::new(settings(WORDS), 11);
    let mut out = Vec::new();
    let mut buffer = [0; 64];
    for number in 0..2_000_u64 {
        // Before each packet, and each tenth of a millisecond, even if no packet is due.
        for tenth in 0..10 {
            let now_ns = (number * 10 + tenth) * (MS / 10);
            out.extend(numbers(&pass(&mut link, now_ns)));
            link.handle_timeout(now_ns);
            assert_eq!(link.poll_transmit(now_ns, &mut buffer), None);
            if tenth == 0 {
                let mut octets = [0; 40];
                octets[..8].copy_from_slice(&number.to_be_bytes());
                link.handle_datagram(now_ns, 0, &octets);
            }
        }
    }
    out.extend(numbers(&pass(&mut link, u64::MAX / 4)));
    assert_eq!(out, calm);
}
