//! Times at which an avalanche (`--scenario avalanche`) retransmits requests: those of RFC 2131 and
//! RFC 9915, or perfdhcp's (`--resend`).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use base::Random;
use base::time::{NS_PER_MS, NS_PER_S};

use super::dialect::ExchangeKind;

/// Interval at which perfdhcp looks for requests to send again, in nanoseconds.
const SCAN_NS: u64 = 200 * NS_PER_MS;

/// Rule by which clients send requests again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resend {
    /// Rule of RFC 2131 section 4.1: retransmissions after 4, 8, 16, 32, 64 seconds, each plus or
    /// minus a random time of up to one second.
    Rfc2131,
    /// Rule of RFC 9915 section 15: intervals that double from 1 second on, plus or minus up to a
    /// tenth; for SOLICIT up to an hour, for REQUEST up to 30 seconds and 10 times.
    Rfc9915,
    /// Rule of perfdhcp: 2^n seconds after the first sending, at most 64, plus or minus up to one
    /// second, drawn anew every 200 ms; the message's bytes do not change.
    Perfdhcp,
}

/// Request that is kept to be sent again.
#[derive(Clone, Debug)]
struct PendingResend {
    message: Box<[u8]>,
    count: u32,
    wait_ns: u64,
}

/// Requests that a run may send again, with the times at which it does.
#[derive(Clone, Debug)]
pub struct Resends {
    rule: Option<Resend>,
    random: Random,
    due: BinaryHeap<Reverse<(u64, usize, u64)>>,
    pending: HashMap<(ExchangeKind, u64), PendingResend>,
}

impl Resends {
    /// Creates an empty set of requests; without a `rule` it stays empty.
    pub fn new(rule: Option<Resend>, seed: u64) -> Self {
        let random = Random::from_seed(seed).fork(0x7265_7365);
        Self { rule, random, due: BinaryHeap::new(), pending: HashMap::new() }
    }

    /// Keeps the bytes of request `number` of `kind`, to be sent again.
    pub fn keep(&mut self, kind: ExchangeKind, number: u64, message: &[u8]) {
        if self.rule.is_some() {
            let message = message.into();
            self.pending.insert((kind, number), PendingResend { message, count: 0, wait_ns: 0 });
        }
    }

    /// Notes that request `number` of `kind` left for the first time at `at_ns`, and draws the time
    /// to send it again.
    pub fn record_sent(&mut self, kind: ExchangeKind, number: u64, at_ns: u64) {
        let Some(rule) = self.rule else { return };
        let wait_ns = match rule {
            Resend::Perfdhcp => SCAN_NS,
            Resend::Rfc2131 => self.around(4 * NS_PER_S, NS_PER_S),
            // SOL_TIMEOUT and REQ_TIMEOUT. The first wait of a SOLICIT is never shorter (section
            // 18.2.1).
            Resend::Rfc9915 if kind == ExchangeKind::First => {
                NS_PER_S + self.random.below(NS_PER_S / 10)
            }
            Resend::Rfc9915 => self.around(NS_PER_S, NS_PER_S / 10),
        };
        if let Some(pending) = self.pending.get_mut(&(kind, number)) {
            pending.wait_ns = wait_ns;
            self.due.push(Reverse((at_ns + wait_ns, kind.index(), number)));
        }
    }

    /// Returns a random time within `off_ns` around `middle_ns`, in nanoseconds.
    fn around(&mut self, middle_ns: u64, off_ns: u64) -> u64 {
        (middle_ns + self.random.below(2 * off_ns + 1)).saturating_sub(off_ns)
    }

    /// Returns the time at which the next request may have to be sent again, in nanoseconds; `None`
    /// without any.
    pub fn next_ns(&self) -> Option<u64> {
        self.due.peek().map(|Reverse((at_ns, ..))| *at_ns)
    }

    /// Takes the next request that is due to be sent again at `now_ns`. If its reply is still
    /// awaited, call [`Resends::write_again`]; otherwise the request is forgotten.
    pub fn next_due(&mut self, now_ns: u64) -> Option<(ExchangeKind, u64)> {
        if self.next_ns()? > now_ns {
            return None;
        }
        let Reverse((_, index, number)) = self.due.pop()?;
        Some((ExchangeKind::ALL[index], number))
    }

    /// Writes request `number` of `kind` once more into `buffer`, if the rule allows it. Returns
    /// its length, and true if its elapsed time must be set.
    pub fn write_again(
        &mut self,
        kind: ExchangeKind,
        number: u64,
        now_ns: u64,
        sent_ns: u64,
        buffer: &mut [u8],
    ) -> Option<(usize, bool)> {
        let rule = self.rule?;
        let (count, wait_ns) =
            self.pending.get(&(kind, number)).map(|pending| (pending.count, pending.wait_ns))?;
        let (is_sent, wait_ns) = match rule {
            Resend::Perfdhcp => {
                let wait_ns = self.around(NS_PER_S << count.min(6), NS_PER_S);
                (now_ns.saturating_sub(sent_ns) > wait_ns, SCAN_NS)
            }
            Resend::Rfc2131 => (
                true,
                self.around(((4 * NS_PER_S) << (count + 1).min(4)).min(64 * NS_PER_S), NS_PER_S),
            ),
            Resend::Rfc9915 => {
                let max_ns = if kind == ExchangeKind::First { 3_600 } else { 30 } * NS_PER_S;
                let middle_ns = (2 * wait_ns).min(max_ns);
                (true, self.around(middle_ns, middle_ns / 10))
            }
        };
        // REQ_MAX_RC: ten transmissions in all.
        let is_last = rule == Resend::Rfc9915 && kind == ExchangeKind::Second && count + 1 >= 9;
        if !is_last {
            self.due.push(Reverse((now_ns + wait_ns, kind.index(), number)));
        }
        if !is_sent {
            return None;
        }
        let pending = self.pending.get_mut(&(kind, number))?;
        pending.count += 1;
        pending.wait_ns = wait_ns;
        let len = pending.message.len();
        buffer[..len].copy_from_slice(&pending.message);
        Some((len, rule != Resend::Perfdhcp))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the times at which a request that left at 0 and never gets a reply is sent again.
    fn times(rule: Resend, kind: ExchangeKind, until_s: u64, seed: u64) -> Vec<u64> {
        let mut resends = Resends::new(Some(rule), seed);
        resends.keep(kind, 7, &[1, 2, 3]);
        resends.record_sent(kind, 7, 0);
        let (mut times, mut buffer) = (Vec::new(), [0; 8]);
        while let Some(now_ns) = resends.next_ns().filter(|&ns| ns < until_s * NS_PER_S) {
            assert_eq!(resends.next_due(now_ns), Some((kind, 7)));
            if let Some((len, ages)) = resends.write_again(kind, 7, now_ns, 0, &mut buffer) {
                assert_eq!((&buffer[..len], ages), (&[1, 2, 3][..], rule != Resend::Perfdhcp));
                times.push(now_ns);
            }
        }
        times
    }

    #[test]
    fn the_waits_are_those_of_the_rfcs() {
        let within = |got: u64, middle_s: u64, off_ns: u64| {
            assert!(got.abs_diff(middle_s * NS_PER_S) <= off_ns, "{got} {middle_s}");
        };
        for seed in 0..100 {
            let mut last_ns = 0;
            let waits =
                times(Resend::Rfc2131, ExchangeKind::First, 300, seed).into_iter().map(|ns| {
                    let wait_ns = ns - last_ns;
                    last_ns = ns;
                    wait_ns
                });
            for (wait_ns, middle_s) in waits.zip([4, 8, 16, 32, 64, 64]) {
                within(wait_ns, middle_s, NS_PER_S);
            }
            let solicits = times(Resend::Rfc9915, ExchangeKind::First, 20, seed);
            assert!((3..=5).contains(&solicits.len()), "{solicits:?}");
            assert!(solicits[0] >= NS_PER_S, "never early");
            let requests = times(Resend::Rfc9915, ExchangeKind::Second, 10_000, seed);
            assert_eq!(requests.len(), 9, "ten transmissions in all");
            within(requests[8] - requests[7], 30, 3 * NS_PER_S);
        }
    }

    #[test]
    fn perfdhcps_rule_is_kept_with_its_first_resends_at_a_fifth_of_a_second() {
        let at_first_scan = (0..1_000)
            .filter(|&seed| times(Resend::Perfdhcp, ExchangeKind::First, 3, seed)[0] == SCAN_NS)
            .count();
        assert!((60..150).contains(&at_first_scan), "about a tenth: {at_first_scan}");
        let late = times(Resend::Perfdhcp, ExchangeKind::First, 74, 1);
        let in_a_second = late.iter().filter(|&&ns| ns > 70 * NS_PER_S && ns <= 71 * NS_PER_S);
        assert_eq!(in_a_second.count(), 5, "at every scan once 65 seconds are over");
        let mut none = Resends::new(None, 1);
        none.keep(ExchangeKind::First, 1, &[1]);
        none.record_sent(ExchangeKind::First, 1, 0);
        assert_eq!(none.next_ns(), None);
    }
}
