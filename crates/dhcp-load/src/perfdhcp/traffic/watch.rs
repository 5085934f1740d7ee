//! Passing of time for the requests of a perfdhcp run: overdue requests are counted, requests given
//! up, and requests sent again.

use base::time::NS_PER_S;
use load::ExchangeClass;

use super::{ReplyState, RequestTraffic};
use crate::perfdhcp::dialect::{Dialect, ExchangeKind, MessageSender};
use crate::perfdhcp::lifecycle::LifecycleExchangeEnd;
use crate::wire::OutgoingMessage;

impl<D: Dialect> RequestTraffic<D> {
    /// Counts requests that are overdue at `now_ns`, and gives up requests that have been watched
    /// long enough.
    pub fn expire(&mut self, now_ns: u64) {
        for kind in ExchangeKind::ALL {
            let index = kind.index();
            let deadline_ns = self.rules.deadline_ns(kind);
            let ring = &mut self.rings[index];
            while let Some((due_ns, turn)) = ring.find(self.overdue[index])
                && due_ns.saturating_add(deadline_ns) < now_ns
            {
                let is_missed = turn.state == ReplyState::Awaited && turn.is_counted;
                self.accounts[index].overdue += u64::from(is_missed);
                self.overdue[index] += 1;
            }
            let watch_ns = deadline_ns.saturating_add(self.rules.grace_ns);
            while let Some((due_ns, turn)) = self.rings[index].find(self.watched[index])
                && due_ns.saturating_add(watch_ns) < now_ns
            {
                let (was_awaited, is_counted) =
                    (turn.state == ReplyState::Awaited, turn.is_counted);
                let (sent_ns, who) = (turn.sent_ns, turn.who);
                if was_awaited {
                    turn.state = ReplyState::GivenUp;
                }
                if was_awaited && is_counted {
                    self.lose(now_ns, kind, self.watched[index], sent_ns, who);
                }
                self.watched[index] += 1;
            }
            self.forget(now_ns, kind, watch_ns);
        }
        if let Some(capture) = &mut self.capture {
            // An exchange's second request may be watched as long as its first one before.
            let watched_ns = [ExchangeKind::First, ExchangeKind::Second]
                .map(|kind| self.rules.deadline_ns(kind).saturating_add(self.rules.grace_ns));
            let all_ns = watched_ns[0].saturating_add(watched_ns[1]);
            capture.settle(now_ns.saturating_sub(all_ns));
        }
    }

    /// Counts request `number` of `kind`, which got no reply, as lost.
    fn lose(
        &mut self,
        now_ns: u64,
        kind: ExchangeKind,
        number: u64,
        sent_ns: u64,
        who: MessageSender,
    ) {
        self.accounts[kind.index()].ledger.record_end(ExchangeClass::Lost);
        self.unsettled -= 1;
        self.trace.times(kind, sent_ns, None);
        self.mark_failed(kind, number);
        self.record_exchange_end(now_ns, kind, who, LifecycleExchangeEnd::Failed);
    }

    /// Forgets requests of `kind` for whose replies the run does not wait any more.
    fn forget(&mut self, now_ns: u64, kind: ExchangeKind, watch_ns: u64) {
        let index = kind.index();
        let ring = &mut self.rings[index];
        // A request that a full ring gave up early is past both marks.
        let oldest = ring.next_number() - ring.len();
        self.overdue[index] = self.overdue[index].max(oldest);
        self.watched[index] = self.watched[index].max(oldest);
        let second_ns =
            self.rules.deadline_ns(ExchangeKind::Second).saturating_add(self.rules.grace_ns);
        let keep_ns = if kind == ExchangeKind::First { second_ns } else { 0 };
        let before_ns = now_ns.saturating_sub(watch_ns.saturating_add(keep_ns));
        while ring.oldest_due_ns().is_some_and(|due_ns| due_ns < before_ns) {
            ring.close_oldest(before_ns);
        }
    }

    /// Writes the next request that must be sent again at `now_ns` into `buffer` and returns it.
    pub fn resend(&mut self, now_ns: u64, buffer: &mut [u8]) -> Option<OutgoingMessage> {
        while let Some((kind, number)) = self.resends.next_due(now_ns) {
            let Some((_, turn)) = self.rings[kind.index()].find(number) else { continue };
            if turn.state != ReplyState::Awaited {
                continue;
            }
            let (sent_ns, age_s, who) = (turn.sent_ns, u64::from(turn.age_s), turn.who);
            let Some((len, ages)) = self.resends.write_again(kind, number, now_ns, sent_ns, buffer)
            else {
                continue;
            };
            if ages {
                let secs = age_s + now_ns.saturating_sub(sent_ns) / NS_PER_S;
                self.dialect.set_age(&mut buffer[..len], u16::try_from(secs).unwrap_or(u16::MAX));
            }
            self.accounts[kind.index()].resent += 1;
            let endpoints = self.dialect.endpoints(kind, who, None);
            return Some(self.outgoing_message(kind, number, &buffer[..len], endpoints));
        }
        None
    }

    /// Returns the time at which the next request must be sent again, in nanoseconds; `None`
    /// without any.
    pub fn next_resend_ns(&self) -> Option<u64> {
        self.resends.next_ns()
    }

    /// Ends the run at `now_ns`: requests past their deadlines are lost, the others stay in flight.
    pub fn finish(&mut self, now_ns: u64) {
        self.expire(now_ns);
        for kind in ExchangeKind::ALL {
            let index = kind.index();
            for number in self.watched[index]..self.overdue[index] {
                let Some((_, turn)) = self.rings[index].find(number) else { continue };
                if turn.state == ReplyState::Awaited && turn.is_counted {
                    turn.state = ReplyState::GivenUp;
                    let (sent_ns, who) = (turn.sent_ns, turn.who);
                    self.lose(now_ns, kind, number, sent_ns, who);
                }
            }
        }
    }
}
