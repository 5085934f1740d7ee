//! Tests of a link's token bucket (`tbf`) in cases computed by hand.

use crate::link::run::{DeliveredPacket, MS, SECOND, link, number, numbers, pass, run, settings};

#[test]
fn the_burst_leaves_at_once_and_the_rest_at_the_rate() {
    // 1 byte per microsecond; the bucket holds 3,000 bytes, so three packets of 1,000 leave at once
    // and one each millisecond after that.
    let mut link = link("tbf rate 8mbit burst 3000 limit 10kb");
    for number in 0..6_u64 {
        let mut octets = [0; 1_000];
        octets[..8].copy_from_slice(&number.to_be_bytes());
        link.handle_datagram(0, 0, &octets);
    }
    assert_eq!(numbers(&pass(&mut link, 0)), [(0, 0), (1, 0), (2, 0)]);
    assert_eq!(link.poll_timeout(), Some(MS));
    assert_eq!(numbers(&pass(&mut link, SECOND)), [(3, MS), (4, 2 * MS), (5, 3 * MS)]);
    // A tenth of a millisecond adds 100 bytes, 5 ms fill the bucket.
    link.handle_datagram(3 * MS + 100_000, 0, &[0; 1_000]);
    assert_eq!(pass(&mut link, SECOND)[0].at_ns, 4 * MS);
    for _ in 0..4 {
        link.handle_datagram(9 * MS, 0, &[0; 1_000]);
    }
    let times: Vec<u64> = pass(&mut link, SECOND).iter().map(|out| out.at_ns).collect();
    assert_eq!(times, [9 * MS, 9 * MS, 9 * MS, 10 * MS]);
}

#[test]
fn the_time_of_the_next_packet_is_rounded_up() {
    // Three bytes per second: one byte takes a third of a second.
    let mut link = link("tbf rate 24bit burst 2 limit 100");
    for _ in 0..5 {
        link.handle_datagram(0, 0, &[0]);
    }
    let times: Vec<u64> = pass(&mut link, 2 * SECOND).iter().map(|out| out.at_ns).collect();
    // Rounding does not add up: the third of them is exact again.
    assert_eq!(times, [0, 0, 333_333_334, 666_666_667, SECOND]);
}

#[test]
fn what_waits_is_bounded_in_octets() {
    // 50 ms at 8 Mbit/s are 50,000 bytes, and 5,000 of the bucket.
    let bucket = settings("tbf rate 8mbit burst 5000 latency 50ms").bucket.unwrap();
    assert_eq!(bucket.limit_bytes(), 55_000);
    let mut link = link("tbf rate 8mbit burst 5000 latency 50ms");
    for _ in 0..100 {
        link.handle_datagram(0, 0, &[0; 1_000]);
    }
    assert_eq!((link.backlog().bytes, link.counters().over_bucket_limit), (55_000, 45));
    let out = pass(&mut link, SECOND);
    // The last accepted packet waits for the configured latency.
    assert_eq!((out.len(), out[54].at_ns), (55, 50 * MS));
    // A peak rate may set the smaller limit: 1,000 + 2,000 bytes.
    let words = "tbf rate 8kbit burst 5000 latency 1s peakrate 16kbit mtu 1000";
    assert_eq!(settings(words).bucket.unwrap().limit_bytes(), 3_000);
}

#[test]
fn packets_longer_than_the_bucket_never_pass() {
    let mut link = link("tbf rate 8mbit burst 1000 limit 10kb overhead 20");
    link.handle_datagram(0, 0, &[0; 980]);
    link.handle_datagram(0, 0, &[0; 981]);
    assert_eq!((link.backlog().packets, link.counters().too_long), (1, 1));
}

#[test]
fn lengths_count_with_overhead_minimum_and_cells() {
    let cost = |words: &str, bytes| {
        let words = format!("tbf rate 8mbit burst 5kb limit 10kb {words}");
        settings(&words).bucket.unwrap().cost_bytes(bytes)
    };
    assert_eq!(cost("", 100), 100);
    assert_eq!(cost("overhead 14", 100), 114);
    assert_eq!(cost("overhead 14 mpu 64", 20), 64);
    assert_eq!(cost("linklayer atm overhead 8", 1_000), 21 * 53);
    assert_eq!(cost("linklayer adsl", 49), 106);
}

#[test]
fn a_peak_rate_spreads_the_burst() {
    // The burst of 3,000 bytes leaves at 2 bytes per microsecond, each packet 0.5 ms after the
    // other.
    let mut link = link("tbf rate 8mbit burst 3000 limit 10kb peakrate 16mbit mtu 1000");
    for _ in 0..6 {
        link.handle_datagram(0, 0, &[0; 1_000]);
    }
    let times: Vec<u64> = pass(&mut link, SECOND).iter().map(|out| out.at_ns).collect();
    // By 2 ms the bucket has passed 5 packets: 3,000 + 2,000 bytes; the sixth waits for the rate.
    assert_eq!(times, [0, 500_000, MS, 1_500_000, 2 * MS, 3 * MS]);
}

#[test]
fn no_stretch_of_time_gets_more_than_burst_and_rate() {
    let mut random = base::Random::from_seed(5);
    let mut link = link("tbf rate 12mbit burst 4000 limit 60kb peakrate 30mbit mtu 1600");
    let mut now_ns = 0;
    let mut out: Vec<DeliveredPacket> = Vec::new();
    for _ in 0..3_000 {
        now_ns += random.below(900_000);
        out.extend(pass(&mut link, now_ns));
        let len = 40 + random.below(1_460) as usize;
        link.handle_datagram(now_ns, 0, &vec![0; len]);
    }
    assert!(link.counters().over_bucket_limit > 0);
    for (rate, burst) in [(1_500_000, 4_000), (3_750_000, 1_600)] {
        for from in (0..out.len()).step_by(7) {
            let mut bytes = 0;
            for packet in &out[from..(from + 60).min(out.len())] {
                bytes += packet.octets.len() as u128;
                let elapsed_ns = u128::from(packet.at_ns - out[from].at_ns);
                assert!(bytes * 1_000_000_000 <= burst * 1_000_000_000 + elapsed_ns * rate);
            }
        }
    }
}

#[test]
fn both_stages_follow_each_other() {
    // 10 ms, then one packet per millisecond; the burst passes the first two at once.
    let mut link = link("delay 10ms tbf rate 8mbit burst 2000 limit 100kb");
    let out = run(&mut link, 4, 1_000, 1_000);
    let expected = [(0, 10_000_000), (1, 10_001_000), (2, 11_000_000), (3, 12_000_000)];
    assert_eq!(numbers(&out), expected);
    // Packets that overtake wait for tokens too.
    let out = run(&mut link, 1, 1, 1_000);
    assert_eq!(out.len(), 1);
}

#[test]
fn taking_the_bucket_away_lets_the_rest_out() {
    let mut link = link("tbf rate 8kbit burst 1000 limit 100kb");
    for _ in 0..5 {
        link.handle_datagram(0, 0, &[0; 1_000]);
    }
    assert_eq!(pass(&mut link, 0).len(), 1);
    link.change(MS, settings("delay 5ms"));
    link.handle_datagram(MS, 0, &[1; 1_000]);
    let mut buffer = [0; 1_000];
    let mut count = 0;
    while link.poll_transmit(MS, &mut buffer).is_some() {
        count += 1;
    }
    assert_eq!((count, link.poll_timeout()), (4, Some(6 * MS)));
    // A change of the bucket fills it.
    link.change(MS, settings("tbf rate 8kbit burst 1000 limit 100kb"));
    assert_eq!(pass(&mut link, 6 * MS).len(), 1);
}

#[test]
fn the_rate_is_the_rate_over_a_long_time() {
    let mut link = link("tbf rate 10mbit burst 10000 limit 30000");
    let out = run(&mut link, 20_000, 500_000, 1_474);
    let first_ns = out[1_000].at_ns;
    let bytes: u64 = out[1_001..].iter().map(|out| out.octets.len() as u64).sum();
    let elapsed_ns = out[out.len() - 1].at_ns - first_ns;
    let rate = bytes * 8 * SECOND / elapsed_ns;
    assert!(rate.abs_diff(10_000_000) < 10_000, "{rate}");
    assert!(number(&out[out.len() - 1]) > 19_950);
}
