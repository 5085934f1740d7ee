//! Tests of links in cases of tc-netem(8) computed by hand.

use netem::{Backlog, EmulatedLink, LinkSettings, Rate};

use crate::link::run::{DeliveredPacket, MS, SECOND, link, number, numbers, pass, run, settings};

#[test]
fn without_words_everything_passes_at_once() {
    let mut link = link("");
    let out = run(&mut link, 100, MS, 100);
    assert_eq!(numbers(&out), (0..100).map(|n| (n, n * MS)).collect::<Vec<_>>());
    assert_eq!((link.counters().sent, link.counters().sent_bytes), (100, 10_000));
}

#[test]
fn a_delay_is_kept_to_the_nanosecond() {
    let out = run(&mut link("delay 75ms"), 3, MS, 100);
    assert_eq!(numbers(&out), [(0, 75 * MS), (1, 76 * MS), (2, 77 * MS)]);
}

#[test]
fn a_rate_sends_one_packet_behind_the_other() {
    // 1,000 bytes at 8 Mbit/s take one millisecond; packets come each 0.4 ms.
    let out = run(&mut link("rate 8mbit"), 4, 400_000, 1_000);
    assert_eq!(numbers(&out), [(0, MS), (1, 2 * MS), (2, 3 * MS), (3, 4 * MS)]);
}

#[test]
fn waiting_behind_others_is_part_of_the_delay() {
    // The first leaves at 10 + 1 ms. The second comes at 0.4 ms and would begin at 10.4, so it
    // begins when the first is gone. The delay is not added once more.
    let out = run(&mut link("delay 10ms rate 8mbit"), 3, 400_000, 1_000);
    assert_eq!(numbers(&out), [(0, 11 * MS), (1, 12 * MS), (2, 13 * MS)]);
    // A packet that comes when the queue is empty again has the whole delay.
    let out = run(&mut link("delay 10ms rate 8mbit"), 2, 30 * MS, 1_000);
    assert_eq!(numbers(&out), [(0, 11 * MS), (1, 41 * MS)]);
}

#[test]
fn overhead_and_cells_make_packets_longer() {
    let wire = |words: &str| -> Rate { settings(words).rate.unwrap() };
    // 1,000 bytes at one byte per microsecond.
    assert_eq!(wire("rate 1MBps").packet_time_ns(1_000), 1_000_000);
    assert_eq!(wire("rate 1MBps 34").packet_time_ns(1_000), 1_034_000);
    assert_eq!(wire("rate 1MBps -14").packet_time_ns(1_000), 986_000);
    assert_eq!(wire("rate 1MBps -14").packet_time_ns(4), 0);
    // 1,020 bytes fill 21.25, so 22 cells of 48, each with 5 more.
    assert_eq!(wire("rate 1MBps 20 48 5").packet_time_ns(1_000), 22 * 53 * 1_000);
    assert_eq!(wire("rate 1MBps 8 48 5").packet_time_ns(1_000), 21 * 53 * 1_000);
    // A third of a nanosecond does not count.
    assert_eq!(wire("rate 24gbit").packet_time_ns(1), 0);
    assert_eq!(wire("rate 24gbit").packet_time_ns(10), 3);
}

#[test]
fn more_than_the_limit_is_dropped() {
    let mut link = link("delay 10ms limit 3");
    let out = run(&mut link, 14, MS, 50);
    // Three packets fill the queue; at 10 ms the first leaves and makes room, and so on.
    let numbers: Vec<u64> = out.iter().map(number).collect();
    assert_eq!(numbers, [0, 1, 2, 10, 11, 12]);
    assert_eq!(link.counters().over_limit, 8);
    assert_eq!(link.backlog(), Backlog::default());
}

#[test]
fn every_third_packet_overtakes_with_gap_three() {
    // Two are delayed, the third leaves at once, and so on.
    let out = run(&mut link("delay 10ms reorder 100% gap 3"), 7, MS, 50);
    assert_eq!(
        numbers(&out),
        [
            (2, 2 * MS),
            (5, 5 * MS),
            (0, 10 * MS),
            (1, 11 * MS),
            (3, 13 * MS),
            (4, 14 * MS),
            (6, 16 * MS)
        ]
    );
}

#[test]
fn with_gap_one_the_share_alone_decides() {
    let mut link = link("delay 10ms reorder 100%");
    let out = run(&mut link, 5, MS, 50);
    assert_eq!(numbers(&out), (0..5).map(|n| (n, n * MS)).collect::<Vec<_>>());
    assert_eq!(link.counters().reordered, 5);
}

#[test]
fn a_jitter_above_the_distance_of_packets_reorders() {
    let out = run(&mut link("delay 10ms 5ms"), 200, MS, 50);
    assert!(!out.iter().map(number).is_sorted());
    assert!(out.iter().map(|out| out.at_ns).is_sorted());
    for DeliveredPacket { at_ns, .. } in out.iter().filter(|out| number(out) == 100) {
        assert!((105 * MS..115 * MS).contains(at_ns), "{at_ns}");
    }
    // A rate keeps the order, even with a jitter.
    let out = run(&mut link("delay 10ms 5ms rate 100mbit"), 200, MS, 50);
    assert!(out.iter().map(number).is_sorted());
}

#[test]
fn a_jitter_above_the_delay_lets_packets_leave_at_once_and_no_earlier() {
    let out = run(&mut link("delay 1ms 5ms"), 500, 10 * MS, 50);
    let waited: Vec<u64> = out.iter().map(|out| out.at_ns - number(out) * 10 * MS).collect();
    assert!(waited.iter().filter(|&&ns| ns == 0).count() > 150);
    assert!(waited.iter().all(|&ns| ns < 6 * MS));
}

#[test]
fn every_packet_is_doubled_once() {
    let mut link = link("duplicate 100% delay 1ms");
    let out = run(&mut link, 3, MS, 50);
    assert_eq!(out.iter().map(number).collect::<Vec<_>>(), [0, 0, 1, 1, 2, 2]);
    assert_eq!((link.counters().duplicated, link.counters().sent), (3, 6));
}

#[test]
fn lost_and_doubled_makes_one() {
    let mut link = link("duplicate 100% loss 100%");
    assert_eq!(run(&mut link, 5, MS, 50).len(), 5);
    assert_eq!((link.counters().lost, link.counters().duplicated), (0, 0));
}

#[test]
fn a_copy_may_be_lost_by_itself() {
    let mut link = link("duplicate 100% loss 50%");
    run(&mut link, 1_000, MS, 50);
    let counters = *link.counters();
    // Half of the packets are lost and duplicated, hence leave once; of the others' copies half are
    // lost.
    assert!((450..550).contains(&counters.duplicated), "{counters:?}");
    assert!((200..300).contains(&counters.lost), "{counters:?}");
    assert_eq!(counters.sent, 1_000 + counters.duplicated - counters.lost);
}

#[test]
fn corruption_changes_one_bit() {
    let mut link = link("corrupt 100%");
    let mut bit_counts = [0_u32; 80];
    for _ in 0..2_000 {
        link.handle_datagram(0, 0, &[0xa5; 10]);
        let out = pass(&mut link, 0);
        let changed = out[0].octets.iter().map(|octet| octet ^ 0xa5).enumerate();
        let changed: Vec<_> = changed.filter(|&(_, bits)| bits != 0).collect();
        assert_eq!(changed.len(), 1);
        assert_eq!(changed[0].1.count_ones(), 1);
        bit_counts[changed[0].0 * 8 + changed[0].1.trailing_zeros() as usize] += 1;
    }
    assert!(bit_counts.iter().all(|&count| count > 5), "every bit is met: {bit_counts:?}");
    link.handle_datagram(0, 0, &[]);
    assert_eq!(pass(&mut link, 0)[0].octets, [], "there is no bit to change");
}

#[test]
fn marking_takes_the_place_of_loss_where_packets_allow_it() {
    let mut link = link("loss 100% ecn");
    for ecn in 0..4 {
        link.handle_datagram(0, ecn, &[ecn]);
    }
    let out: Vec<_> = pass(&mut link, 0).iter().map(|out| (out.octets[0], out.ecn)).collect();
    assert_eq!(out, [(1, 3), (2, 3), (3, 3)]);
    assert_eq!((link.counters().marked, link.counters().lost), (3, 1));
}

#[test]
fn slots_let_packets_leave_together() {
    // A slot serves packets that were due before it opened; later packets need the next slot, which
    // opens 10 ms after that.
    let mut all = link("slot 10ms");
    let out = run(&mut all, 12, 3 * MS, 50);
    let expected = [0, 13, 13, 13, 13, 25, 25, 25, 25, 37, 37, 37];
    assert_eq!(out.iter().map(|out| out.at_ns / MS).collect::<Vec<_>>(), expected);
    assert!(out.iter().map(number).is_sorted());
    // Two packets end a slot, and the next opens 10 ms later.
    let out = run(&mut link("slot 10ms packets 2"), 6, MS, 50);
    let expected = [(0, 0), (1, 11), (2, 11), (3, 21), (4, 21), (5, 31)];
    assert_eq!(numbers(&out), expected.map(|(number, ms)| (number, ms * MS)));
    // The third packet ends the slot, though it exceeds the limit.
    let out = run(&mut link("slot 10ms bytes 120"), 6, MS, 50);
    let expected = [(0, 0), (1, 11), (2, 11), (3, 11), (4, 21), (5, 21)];
    assert_eq!(numbers(&out), expected.map(|(number, ms)| (number, ms * MS)));
}

#[test]
fn a_slot_that_opens_before_a_packet_is_due_does_not_serve_it() {
    // The packet is due at 15 ms. When it comes the slot of 0 ms is too early; the next would open
    // at 10 ms, which is too early as well, and the following one counts from the packet's due
    // time.
    let mut link = link("delay 15ms slot 10ms");
    link.handle_datagram(0, 0, &[1]);
    assert_eq!(link.poll_timeout(), Some(15 * MS));
    let out = pass(&mut link, SECOND);
    assert_eq!(out[0].at_ns, 25 * MS);
}

#[test]
fn a_change_keeps_what_is_under_way() {
    let mut link = link("delay 50ms loss 100%");
    link.change(0, settings("delay 50ms"));
    link.handle_datagram(0, 0, &[1]);
    link.change(MS, settings("delay 1ms limit 1"));
    link.handle_datagram(MS, 0, &[2]);
    assert_eq!(link.counters().over_limit, 1, "the new limit counts the old packet");
    link.change(MS, settings("delay 1ms"));
    link.handle_datagram(MS, 0, &[3]);
    assert_eq!(link.backlog(), Backlog { packets: 2, bytes: 2 });
    let out: Vec<_> = pass(&mut link, SECOND).iter().map(|o| (o.octets[0], o.at_ns)).collect();
    assert_eq!(out, [(3, 2 * MS), (1, 50 * MS)]);
    assert_eq!(link.settings(), &settings("delay 1ms"));
}

#[test]
fn a_rate_that_is_given_later_begins_behind_the_last_packet() {
    let mut link = link("delay 50ms");
    link.handle_datagram(0, 0, &[1; 1_000]);
    link.change(0, settings("delay 1ms"));
    link.handle_datagram(0, 0, &[2; 1_000]);
    link.change(0, settings("rate 8mbit"));
    link.handle_datagram(0, 0, &[3; 1_000]);
    let out: Vec<_> = pass(&mut link, SECOND).iter().map(|o| (o.octets[0], o.at_ns / MS)).collect();
    assert_eq!(out, [(2, 1), (1, 50), (3, 51)]);
}

#[test]
fn a_busy_link_allocates_once() {
    let words = "delay 20ms 15ms loss 5% duplicate 5% corrupt 5% reorder 10% gap 3 \
                 rate 90mbit tbf rate 80mbit burst 4kb latency 20ms";
    let mut link = EmulatedLink::new(settings(words), 3);
    let mut buffer = [0; 2_000];
    let mut play = |link: &mut EmulatedLink, from: u64| {
        for number in from..from + 20_000 {
            let now_ns = number * 100_000;
            link.handle_timeout(now_ns);
            link.handle_datagram(now_ns, 0, &buffer[..1_400]);
            while link.poll_transmit(now_ns, &mut buffer).is_some() {}
        }
    };
    play(&mut link, 0);
    let counted = allocation_counter::measure(|| play(&mut link, 20_000));
    assert_eq!(counted.count_total, 0);
    assert!(link.counters().sent > 20_000, "{:?}", link.counters());
}

#[test]
fn the_default_is_a_limit_of_a_thousand() {
    let mut link = EmulatedLink::new(LinkSettings::default(), 0);
    for _ in 0..1_100 {
        link.handle_datagram(0, 0, &[0]);
    }
    assert_eq!((link.backlog().packets, link.counters().over_limit), (1_000, 100));
}
