//! Account of one kind of DHCP exchange (a request with its reply, such as DISCOVER and OFFER):
//! every request that came due, by its end, and every reply that ended no request.

use load::{ExchangeClass, ExchangeLedger};
use serde::{Deserialize, Serialize};

use crate::fault::{ReplyFault, ServerRefusal};
use crate::protocol::Judgment;

base::counts! {
    /// Counts of one kind of DHCP exchange of a perfdhcp run.
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    pub struct ExchangeAccount {
        /// Requests of this kind by their end, latencies, late sends. The ledger never has
        /// [`ExchangeClass::DuplicateAnswered`]: a request with a reply on time stays on time, and
        /// each further reply is one of `duplicates`.
        #[serde(skip)]
        pub ledger: ExchangeLedger,
        /// Numbers of refusals by [`ServerRefusal::index`]; each is an exchange that ended as
        /// [`ExchangeClass::Nak`].
        pub refusals: [u64; ServerRefusal::ALL.len()],
        /// Numbers of invalid replies by [`ReplyFault::index`]; each is an exchange that ended as
        /// [`ExchangeClass::Invalid`].
        pub faults: [u64; ReplyFault::ALL.len()],
        /// Number of second and further replies to the same request.
        pub duplicates: u64,
        /// Number of replies of this kind that belong to no request whose reply the generator still
        /// awaits.
        pub unmatched: u64,
        /// Number of datagrams that are no DHCP messages but carry the transaction identifier of a
        /// watched request.
        pub malformed: u64,
        /// Number of times that requests were retransmitted.
        pub resent: u64,
        /// Number of renewals and releases that the generator could not send because no client had
        /// a lease.
        pub without_lease: u64,
        /// Number of requests whose deadline passed without a reply, also when one came later.
        pub overdue: u64,
        pub(crate) delay: RunningMoments,
    }
}

/// Mean and spread of values that come one by one (Welford's method).
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RunningMoments {
    count: u64,
    mean: f64,
    squares: f64,
}

impl RunningMoments {
    fn add(&mut self, value: f64) {
        self.count += 1;
        let off = value - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (value - self.mean);
    }

    /// Adds the mean and spread of other values (method of Chan, Golub and LeVeque).
    fn merge(&mut self, other: &Self) {
        let count = self.count + other.count;
        if count == 0 {
            return;
        }
        let share = other.count as f64 / count as f64;
        let off = other.mean - self.mean;
        self.squares += other.squares + off * off * self.count as f64 * share;
        self.mean += off * share;
        self.count = count;
    }
}

impl ExchangeAccount {
    /// Notes the due, sending and reply time of a request that ended as [`ExchangeClass::OnTime`]
    /// or [`ExchangeClass::Late`].
    pub fn record_completed(
        &mut self,
        class: ExchangeClass,
        [due_ns, sent_ns, answered_ns]: [u64; 3],
    ) {
        if class == ExchangeClass::OnTime {
            self.ledger.record_completed(due_ns, sent_ns, answered_ns);
        } else {
            self.ledger.record_completed_late(due_ns, sent_ns, answered_ns);
        }
        self.delay.add(answered_ns.saturating_sub(sent_ns) as f64);
    }

    /// Counts the end of a request whose reply means `judgment`, and returns its class.
    pub(crate) fn judged<O>(&mut self, judgment: Judgment<O>, is_late: bool) -> ExchangeClass {
        let class =
            match judgment {
                Judgment::OtherClient | Judgment::Unmatched => ExchangeClass::WrongClient,
                Judgment::Faulty(fault) => {
                    self.faults[fault.index()] += 1;
                    ExchangeClass::Invalid
                }
                Judgment::Refused(refusal) => {
                    self.refusals[refusal.index()] += 1;
                    ExchangeClass::Nak
                }
                Judgment::Offer(_) | Judgment::Granted { .. } | Judgment::Continued(_) => {
                    if is_late { ExchangeClass::Late } else { ExchangeClass::OnTime }
                }
            };
        self.ledger.record_end(class);
        class
    }

    /// Returns the number of requests of this kind that left.
    pub const fn sent(&self) -> u64 {
        self.ledger.sent()
    }

    /// Returns the number of requests of this kind with a reply on time.
    pub const fn on_time(&self) -> u64 {
        self.ledger.count(ExchangeClass::OnTime)
    }

    /// Returns the number of refusals by servers other than a DHCPNAK: DHCPv6 status codes.
    pub fn rejected(&self) -> u64 {
        self.ledger.count(ExchangeClass::Nak) - self.refusals[ServerRefusal::Nak.index()]
    }

    /// Returns the number of requests of this kind that ended otherwise than on time.
    pub fn failed(&self) -> u64 {
        self.ledger.due() - self.ledger.in_flight() - self.on_time()
    }

    /// Returns the number of messages received for this kind of exchange, of any type.
    pub fn received_messages(&self) -> u64 {
        let ended: u64 = ExchangeClass::ALL.iter().map(|&class| self.ledger.count(class)).sum();
        ended - self.ledger.count(ExchangeClass::Lost)
            + self.duplicates
            + self.unmatched
            + self.malformed
    }

    /// Returns the standard deviation of the delay from sending to reply of this kind's requests,
    /// in nanoseconds.
    pub fn delay_deviation_ns(&self) -> f64 {
        (self.delay.squares / self.delay.count.max(1) as f64).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deviation_is_that_of_the_whole_population() {
        let mut account = ExchangeAccount::default();
        for answered_ns in [2, 4, 4, 4, 5, 5, 7, 9] {
            account.record_completed(ExchangeClass::OnTime, [0, 0, answered_ns]);
        }
        assert!((account.delay_deviation_ns() - 2.0).abs() < 1e-12);
    }

    #[test]
    fn the_deviation_of_several_is_that_of_all_their_values() {
        let mut whole = ExchangeAccount::default();
        let mut parts = [(); 3].map(|()| ExchangeAccount::default());
        for (index, answered_ns) in [9, 1_000, 4, 70, 2, 8, 33, 5_000].into_iter().enumerate() {
            whole.record_completed(ExchangeClass::OnTime, [0, 0, answered_ns]);
            parts[index % 2].record_completed(ExchangeClass::OnTime, [0, 0, answered_ns]);
        }
        let [mut merged, second, empty] = parts;
        merged.merge(&empty);
        merged.merge(&second);
        assert!((merged.delay_deviation_ns() - whole.delay_deviation_ns()).abs() < 1e-9);
        assert_eq!(merged.ledger.latency_sent(), whole.ledger.latency_sent());
        let mut other = empty;
        other.merge(&whole);
        assert!((other.delay_deviation_ns() - whole.delay_deviation_ns()).abs() < 1e-9);
    }
}
