//! Tests of the link against a plain model: packets in one list, searched from the start each time,
//! and decisions written out by the manual. Only the random streams are shared.

use base::Random;

use crate::chance::Chances;
use crate::settings::{LinkSettings, Loss, TokenBucket};
use crate::{EmulatedLink, LinkCounters};

#[derive(Clone, Debug)]
struct ModelPacket {
    due_ns: i64,
    order: i64,
    octets: Vec<u8>,
}

/// Plain model of the emulated link, without slots, which have tests of their own.
struct LinkModel {
    settings: LinkSettings,
    chances: Chances,
    is_bad: bool,
    passed: u32,
    order: i64,
    netem: Vec<ModelPacket>,
    bucket: Vec<Vec<u8>>,
    /// Bytes that have left the token bucket, with their times in nanoseconds.
    spent: Vec<(u64, u64)>,
    counters: LinkCounters,
}

impl LinkModel {
    fn new(settings: LinkSettings, seed: u64) -> Self {
        Self {
            settings,
            chances: Chances::from_seed(seed),
            is_bad: false,
            passed: 0,
            order: 0,
            netem: Vec::new(),
            bucket: Vec::new(),
            spent: Vec::new(),
            counters: LinkCounters::default(),
        }
    }

    fn is_lost(&mut self) -> bool {
        match self.settings.loss {
            Loss::None | Loss::State { .. } => false,
            Loss::Random(often) => self.chances.loss.hits(often),
            Loss::Gilbert { to_bad, to_good, bad_loss, good_loss } => {
                let zero = crate::UnitShare::NONE;
                let was_bad = self.is_bad;
                let leaves = if was_bad { to_good } else { to_bad };
                if leaves.hits(self.chances.loss.draw(zero)) {
                    self.is_bad = !was_bad;
                }
                let share = if was_bad { bad_loss } else { good_loss };
                share.hits(self.chances.loss.draw(zero))
            }
        }
    }

    fn take(&mut self, now_ns: u64, octets: &[u8]) {
        self.counters.received += 1;
        let doubled = self.chances.duplicate.hits(self.settings.duplicate);
        let lost = self.is_lost();
        if lost && !doubled {
            self.counters.lost += 1;
            return;
        }
        if doubled && !lost {
            self.counters.duplicated += 1;
            if self.is_lost() {
                self.counters.lost += 1;
            } else {
                self.enter(now_ns, octets);
            }
        }
        self.enter(now_ns, octets);
    }

    fn enter(&mut self, now_ns: u64, octets: &[u8]) {
        let mut octets = octets.to_vec();
        let corrupt = self.chances.corrupt.hits(self.settings.corrupt);
        let bits = octets.len() as u64 * 8;
        let bit = if corrupt && bits > 0 { Some(self.chances.bit.below(bits)) } else { None };
        if self.netem.len() >= self.settings.limit_packets as usize {
            self.counters.over_limit += 1;
            return;
        }
        if let Some(bit) = bit {
            octets[bit as usize / 8] ^= 1 << (bit % 8);
            self.counters.corrupted += 1;
        }
        self.order += 1;
        let mut ahead = false;
        if let Some(reorder) = self.settings.reorder
            && self.passed + 1 >= reorder.gap
        {
            ahead = self.chances.reorder.hits(reorder.often);
        }
        if ahead {
            self.counters.reordered += 1;
            self.passed = 0;
            // Before all packets in the queue; of several that overtake, the last one is first.
            self.netem.push(ModelPacket { due_ns: i64::MIN, order: -self.order, octets });
            return;
        }
        self.passed += 1;
        let delay = self.settings.delay;
        let mut due_ns = delay.base_ns as i64;
        if delay.jitter_ns > 0 {
            let drawn = self.chances.delay.draw(delay.correlation);
            due_ns = delay.distribution.time_ns(delay.base_ns, delay.jitter_ns, drawn);
        }
        due_ns += now_ns as i64;
        if let Some(rate) = self.settings.rate {
            for other in self.netem.iter().filter(|other| other.due_ns > i64::MIN) {
                due_ns = due_ns.max(other.due_ns);
            }
            due_ns += rate.packet_time_ns(octets.len()) as i64;
        }
        self.netem.push(ModelPacket { due_ns, order: self.order, octets });
    }

    /// Removes and returns the next due packet of the model's netem stage.
    fn leave_netem(&mut self, now_ns: u64) -> Option<Vec<u8>> {
        let due = self.netem.iter().enumerate().filter(|(_, w)| w.due_ns <= now_ns as i64);
        let (index, _) = due.min_by_key(|(_, waiting)| (waiting.due_ns, waiting.order))?;
        Some(self.netem.remove(index).octets)
    }

    /// Returns true if a packet of `cost` bytes may leave the token bucket by the definition: in no
    /// interval that ends now do more bytes leave than the burst and the rate multiplied by its
    /// length.
    fn conforms(&self, bucket: &TokenBucket, now_ns: u64, cost: u64) -> bool {
        let within = |rate: u64, burst: u64| {
            let mut bytes = u128::from(cost);
            let mut fits = bytes <= u128::from(burst);
            for &(at_ns, spent) in self.spent.iter().rev() {
                bytes += u128::from(spent);
                let filled = u128::from(rate) * u128::from(now_ns - at_ns);
                fits &= bytes * 1_000_000_000 <= u128::from(burst) * 1_000_000_000 + filled;
            }
            fits
        };
        within(bucket.bytes_per_s.get(), bucket.burst_bytes)
            && bucket.peak.is_none_or(|peak| within(peak.bytes_per_s.get(), peak.burst_bytes))
    }

    fn give(&mut self, now_ns: u64) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        while let Some(octets) = self.leave_netem(now_ns) {
            let Some(bucket) = self.settings.bucket else {
                out.push(octets);
                continue;
            };
            let cost = bucket.cost_bytes(octets.len());
            let waiting: usize = self.bucket.iter().map(Vec::len).sum();
            let is_too_long = cost > bucket.burst_bytes
                || bucket.peak.is_some_and(|peak| cost > peak.burst_bytes);
            if is_too_long {
                self.counters.too_long += 1;
            } else if (waiting + octets.len()) as u64 > bucket.limit_bytes() {
                self.counters.over_bucket_limit += 1;
            } else {
                self.bucket.push(octets);
            }
        }
        while let (Some(bucket), Some(first)) = (self.settings.bucket, self.bucket.first()) {
            let cost = bucket.cost_bytes(first.len());
            if !self.conforms(&bucket, now_ns, cost) {
                break;
            }
            self.spent.push((now_ns, cost));
            out.push(self.bucket.remove(0));
        }
        self.counters.sent += out.len() as u64;
        self.counters.sent_bytes += out.iter().map(|octets| octets.len() as u64).sum::<u64>();
        out
    }
}

/// Returns random settings in words of `tc` for a link that gets a packet every half millisecond.
fn random_words(random: &mut Random) -> String {
    let mut words = format!("limit {}", 1 + random.below(60));
    if random.chance(3, 4) {
        words += &format!(
            " delay {}us {}us {}%",
            random.below(20_000) + 1,
            random.below(9_000),
            random.below(80)
        );
        if random.chance(1, 2) {
            words += &format!(
                " reorder {}% {}% gap {}",
                random.below(99) + 1,
                random.below(60),
                random.below(6)
            );
        }
    }
    match random.below(3) {
        0 => words += &format!(" loss {}% {}%", random.below(50) + 1, random.below(80)),
        1 => {
            words += &format!(
                " loss gemodel {}% {}% {}% {}%",
                random.below(50),
                random.below(90) + 1,
                random.below(100),
                random.below(20)
            )
        }
        _ => (),
    }
    words += &format!(
        " duplicate {}% {}% corrupt {}%",
        random.below(30),
        random.below(50),
        random.below(30)
    );
    if random.chance(1, 2) {
        words += &format!(" rate {}kbit {}", 500 + random.below(20_000), random.below(60));
    }
    if random.chance(1, 2) {
        words += &format!(
            " tbf rate {}kbit burst {} limit {}",
            500 + random.below(20_000),
            500 + random.below(4_000),
            100 + random.below(20_000)
        );
        if random.chance(1, 3) {
            words += &format!(" peakrate 40mbit mtu {}", 500 + random.below(1_500));
        }
    }
    words
}

fn compare(seed: u64) {
    let mut random = Random::from_seed(seed);
    let words = random_words(&mut random);
    let settings = LinkSettings::parse(&words).unwrap_or_else(|p| panic!("{words}: {p:?}"));
    let mut link = EmulatedLink::new(settings.clone(), seed);
    let mut model = LinkModel::new(settings, seed);
    let mut buffer = [0; 2_000];
    let mut now_ns = 0;
    let mut comes_ns = 0;
    for number in 0..300_u64 {
        // The clock stops at every due time of the link, and when the next packet comes.
        loop {
            link.handle_timeout(now_ns);
            let mut out = Vec::new();
            while let Some(transmit) = link.poll_transmit(now_ns, &mut buffer) {
                out.push(buffer[..transmit.len].to_vec());
            }
            assert_eq!(out, model.give(now_ns), "seed {seed} at {now_ns}: {words}");
            let counters = link.counters();
            assert_eq!(counters, &model.counters, "seed {seed} at {now_ns}: {words}");
            let backlog = link.backlog();
            assert_eq!(backlog.packets, model.netem.len() + model.bucket.len(), "{words}");
            let came = counters.received + counters.duplicated;
            assert_eq!(came, counters.sent + counters.dropped() + backlog.packets as u64);
            match link.poll_timeout() {
                Some(at_ns) if at_ns < comes_ns || number == 299 => now_ns = now_ns.max(at_ns),
                _ => break,
            }
        }
        now_ns = comes_ns;
        let mut octets = vec![0; random.below(1_500) as usize];
        random.fill(&mut octets);
        // The model sees the same order: due packets leave before the new one comes, or after it.
        link.handle_datagram(now_ns, 0, &octets);
        model.take(now_ns, &octets);
        comes_ns = now_ns + random.below(1_000_000);
    }
}

#[test]
fn a_plain_model_does_the_same() {
    for seed in 0..600 {
        compare(seed);
    }
}
