//! Updates under way: each has an identifier, a deadline and, with a key, the signature that the
//! answer refers to.

use core::net::SocketAddr;
use std::collections::{BTreeMap, BTreeSet};

use base::{Now, Random};
use domain::base::iana::Rcode;

use super::zone::UpdateFailure;
use super::{Updater, UpdaterOutput};
use crate::counts::KeyCounts;
use crate::message::{UpdateAnswer, UpdateMessage};
use crate::notice::NoticeLevel;
use crate::order::RequestNumber;
use crate::tsig::{self, TsigFault};

/// Time for an exchange over TCP as a multiple of that for a datagram: it has two round trips more.
const STREAM_TIMEOUT_FACTOR: u32 = 4;

/// Number of an exchange.
type ExchangeNumber = u64;

/// Update that was sent and has no answer yet.
#[derive(Debug)]
struct UpdateExchange {
    request: RequestNumber,
    server: SocketAddr,
    id: u16,
    due_ns: u64,
    /// Position of the key, and the signature of the message.
    signature: Option<(usize, Vec<u8>)>,
    message: Vec<u8>,
    is_stream: bool,
    /// Fault of an answer that was not accepted.
    fault: Option<TsigFault>,
}

/// All updates under way.
#[derive(Debug)]
pub(super) struct UpdateExchanges {
    random: Random,
    next: ExchangeNumber,
    exchanges: BTreeMap<ExchangeNumber, UpdateExchange>,
    by_id: BTreeMap<(SocketAddr, u16), ExchangeNumber>,
    deadlines: BTreeSet<(u64, ExchangeNumber)>,
}

impl UpdateExchanges {
    pub(super) const fn new(random: Random) -> Self {
        Self {
            random,
            next: 0,
            exchanges: BTreeMap::new(),
            by_id: BTreeMap::new(),
            deadlines: BTreeSet::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.exchanges.len()
    }

    pub(super) fn clear(&mut self) {
        self.exchanges.clear();
        self.by_id.clear();
        self.deadlines.clear();
    }

    /// Returns an identifier that no update to `server` under way has.
    fn new_id(&mut self, server: SocketAddr) -> u16 {
        loop {
            let id = self.random.next_u32() as u16;
            if !self.by_id.contains_key(&(server, id)) {
                return id;
            }
        }
    }

    fn insert(&mut self, exchange: UpdateExchange) {
        let number = self.next;
        self.next += 1;
        self.by_id.insert((exchange.server, exchange.id), number);
        self.deadlines.insert((exchange.due_ns, number));
        self.exchanges.insert(number, exchange);
    }

    fn remove(&mut self, number: ExchangeNumber) -> Option<UpdateExchange> {
        let exchange = self.exchanges.remove(&number)?;
        self.by_id.remove(&(exchange.server, exchange.id));
        self.deadlines.remove(&(exchange.due_ns, number));
        Some(exchange)
    }

    /// Returns the exchange that a datagram from `from` answers.
    pub(super) fn of_datagram(&self, from: SocketAddr, bytes: &[u8]) -> Option<ExchangeNumber> {
        let answer = UpdateAnswer::parse(bytes)?;
        let number = *self.by_id.get(&(from, answer.id))?;
        self.exchanges.get(&number).filter(|exchange| !exchange.is_stream)?;
        Some(number)
    }

    pub(super) fn next_due_ns(&self) -> Option<u64> {
        self.deadlines.first().map(|(due_ns, _)| *due_ns)
    }

    /// Returns an exchange whose answer is overdue.
    pub(super) fn overdue(&self, now_ns: u64) -> Option<ExchangeNumber> {
        self.deadlines.first().filter(|(due_ns, _)| *due_ns <= now_ns).map(|(_, number)| *number)
    }

    /// Returns the fault of an answer to the exchange that was not accepted.
    pub(super) fn fault(&self, number: ExchangeNumber) -> Option<TsigFault> {
        self.exchanges.get(&number)?.fault
    }

    /// Moves an exchange to TCP: it gets the deadline `due_ns`.
    fn move_to_stream(&mut self, number: ExchangeNumber, due_ns: u64) -> Option<&UpdateExchange> {
        let exchange = self.exchanges.get_mut(&number)?;
        self.deadlines.remove(&(exchange.due_ns, number));
        exchange.is_stream = true;
        exchange.due_ns = due_ns;
        self.deadlines.insert((due_ns, number));
        Some(exchange)
    }
}

impl Updater {
    /// Sends the update that a request is at to the server that it uses.
    pub(super) fn send(&mut self, number: RequestNumber, now: Now) {
        let Some(pending) = self.requests.get(&number) else { return };
        let Some((zone, step)) = pending.zone().zip(pending.step()) else { return };
        let Some(server) = pending.server(&self.zones) else { return };
        let id = self.exchanges.new_id(server.address);
        let request = &pending.request;
        let message = UpdateMessage { id, zone: &self.zones.zones[zone].name, step, request };
        let mut message = message.write();
        let key = server.key.and_then(|index| Some((index, self.zones.keys.get(index)?)));
        let signature =
            key.map(|(index, key)| (index, tsig::sign(key, &mut message, now.wall_s())));
        match &signature {
            Some(_) => self.counts.signed += 1,
            None => self.counts.unsigned += 1,
        }
        self.outputs
            .push_back(UpdaterOutput::Datagram { to: server.address, bytes: message.clone() });
        self.count(signature.as_ref().map(|(key, _)| *key), |counts| counts.sent += 1);
        self.exchanges.insert(UpdateExchange {
            request: number,
            server: server.address,
            id,
            due_ns: now.mono_ns.saturating_add(self.zones.server_timeout.as_nanos() as u64),
            signature,
            message,
            is_stream: false,
            fault: None,
        });
    }

    /// Takes a message that answers the exchange by its identifier.
    pub(super) fn handle_answer(&mut self, number: ExchangeNumber, bytes: &[u8], now: Now) {
        let Some(exchange) = self.exchanges.exchanges.get_mut(&number) else { return };
        let answer = UpdateAnswer::parse(bytes).filter(|answer| answer.id == exchange.id);
        let is_stream = exchange.is_stream;
        let Some(answer) = answer else { return };
        if answer.is_truncated && !is_stream {
            self.continue_over_tcp(number, now);
            return;
        }
        let key = exchange.signature.as_ref().map(|(index, _)| *index);
        let verified = match &exchange.signature {
            Some((index, signature)) => {
                tsig::verify(&self.zones.keys[*index], signature, bytes, now.wall_s())
            }
            None => Ok(()),
        };
        match verified {
            Ok(()) => {
                if let Some(request) = self.end_exchange(number, |counts| counts.success += 1) {
                    self.handle_rcode(request, answer.rcode, now);
                }
            }
            Err(TsigFault::Refused(code)) => {
                if let Some(request) = self.end_exchange(number, |counts| counts.error += 1) {
                    self.try_next_server(request, UpdateFailure::Key(code), now);
                }
            }
            // An attacker may have sent it, so the server's own answer is awaited (RFC 8945 §5.3).
            Err(fault) => {
                exchange.fault = Some(fault);
                self.count(key, |counts| counts.error += 1);
            }
        }
    }

    /// Follows the response code of an accepted answer.
    fn handle_rcode(&mut self, number: RequestNumber, rcode: Rcode, now: Now) {
        match rcode {
            // The server cannot or may not carry out updates of the zone; another may.
            Rcode::SERVFAIL | Rcode::NOTIMP | Rcode::REFUSED | Rcode::NOTAUTH => {
                self.counts.refused += 1;
                self.try_next_server(number, UpdateFailure::Refused(rcode), now);
            }
            _ => {
                self.zone_succeeded(number);
                let step = self.requests.get(&number).and_then(|pending| pending.step());
                if let Some(step) = step {
                    self.follow(number, step.verdict(rcode), rcode.to_int(), now);
                }
            }
        }
    }

    fn continue_over_tcp(&mut self, number: ExchangeNumber, now: Now) {
        let timeout = self.zones.server_timeout * STREAM_TIMEOUT_FACTOR;
        let due_ns = now.mono_ns.saturating_add(timeout.as_nanos() as u64);
        if let Some(exchange) = self.exchanges.move_to_stream(number, due_ns) {
            let (to, bytes) = (exchange.server, exchange.message.clone());
            self.counts.truncated += 1;
            if self.truncating.insert(to) {
                let text = format!(
                    "answers of {} port {} do not fit a datagram: its updates go over TCP, too",
                    to.ip(),
                    to.port()
                );
                self.notice(NoticeLevel::Info, "DHCP_DDNS_ANSWER_TRUNCATED", text);
            }
            self.outputs.push_back(UpdaterOutput::Stream { exchange: number, to, bytes, timeout });
        }
    }

    /// Ends an exchange, counts it, and returns its request.
    pub(super) fn end_exchange(
        &mut self,
        number: ExchangeNumber,
        count: impl Fn(&mut KeyCounts),
    ) -> Option<RequestNumber> {
        let exchange = self.exchanges.remove(number)?;
        self.count(exchange.signature.map(|(key, _)| key), count);
        Some(exchange.request)
    }

    fn count(&mut self, key: Option<usize>, count: impl Fn(&mut KeyCounts)) {
        count(&mut self.counts.updates);
        if let Some(counts) = key.and_then(|key| self.counts.keys.get_mut(key)) {
            count(counts);
        }
    }
}
