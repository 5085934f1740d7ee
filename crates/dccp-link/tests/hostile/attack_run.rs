//! Run of a server under attack, with a connection that must continue to work.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dccp_link::{
    BlockingConnection, BlockingEndpoint, BlockingListener, CarrierKind, CarrierOptions, DccpError,
    EndpointAnswerCounts, EndpointLimits, Occupancy, Peer,
};

use super::forge::{Attack, FORGED};
use super::relay::UdpRelay;
use super::senders::{AttackedConnection, Permits, abuse, send_attack};
use crate::common::{PATIENCE, PORT, V4, config, open, service};

/// Limits of the server's endpoint: low, so that the test reaches them.
const LIMITS: EndpointLimits =
    EndpointLimits { connections: 64, half_open: 16, resets_per_s: 1_024 };
/// Port of the server whose application accepts any client, the attacking ones too.
const ABUSED: u16 = PORT + 1;
/// Time without an answer after which a sender repeats a datagram.
const AGAIN: Duration = Duration::from_millis(100);
/// Length of a datagram of the connection, in bytes.
const DATAGRAM_BYTES: usize = 200;
/// Largest number of items in the queues of one connection, its own packets included.
const QUEUED_MAX: usize = 300;

/// Speed of the attacks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttackSpeed {
    /// 64 packets of each attack for every datagram that went there and back; the next datagram
    /// waits for them. No packet is lost in a full queue, and the server processes all of them.
    WithTheFlow,
    /// As many packets as the kernel accepts: most are lost where the server cannot read them as
    /// fast, the connection's packets, too.
    LineRate,
}

/// Size of an attack run.
#[derive(Clone, Copy)]
pub(crate) struct AttackRunSize {
    pub(crate) speed: AttackSpeed,
    /// Time after which a datagram that has not come back has failed.
    pub(crate) patience: Duration,
    /// Number of datagrams there and back, before the attack and after it; during the attack as
    /// many as it lasts.
    pub(crate) exchanges: u32,
    /// Number of packets of each attack.
    pub(crate) packets: u64,
    /// Number of clients that connect in order to abuse their connection.
    pub(crate) clients: u32,
}

/// Result of an attack run.
#[derive(Clone, Copy, Default)]
pub(crate) struct AttackRunResult {
    /// Number of datagrams there and back, their time, and the number of repetitions: before,
    /// during and after the attacks.
    phases: [(u32, Duration, u32); 3],
    sent: [u64; 4],
    /// Duration of all attacks together.
    attack: Duration,
    pub(crate) abusers: u32,
    /// Greatest occupancy of the server's endpoint in the run, that at the end included.
    pub(crate) most: Occupancy,
    /// Occupancy of the server's endpoint at the end of the run.
    pub(crate) occupancy: Occupancy,
    pub(crate) answers: EndpointAnswerCounts,
    rss_kib: [u64; 2],
}

/// Sender that repeats each datagram until it comes back.
struct RepeatingSender {
    connection: BlockingConnection,
    patience: Duration,
    next: u32,
    again: u32,
}

fn datagram(number: u32) -> Vec<u8> {
    let mut octets = number.to_be_bytes().to_vec();
    octets.resize(DATAGRAM_BYTES, number as u8);
    octets
}

/// Returns the number that a datagram contains, and checks its content.
fn number(octets: &[u8]) -> u32 {
    let number = u32::from_be_bytes(*octets.first_chunk().expect("a number in front"));
    assert_eq!(octets, datagram(number), "changed on the way, or not ours");
    number
}

impl RepeatingSender {
    fn new(mut connection: BlockingConnection, patience: Duration) -> Self {
        connection.set_send_timeout(Some(AGAIN));
        connection.set_receive_timeout(Some(AGAIN));
        Self { connection, patience, next: 0, again: 0 }
    }

    /// Sends one datagram there and back.
    fn exchange(&mut self) {
        let until = Instant::now() + self.patience;
        let mut tries = 0;
        loop {
            assert!(
                Instant::now() < until,
                "datagram {} does not come back after {tries} tries: {:?}",
                self.next,
                self.connection.sender_figures()
            );
            match self.connection.send(&datagram(self.next)) {
                Ok(()) => tries += 1,
                Err(DccpError::TimedOut(_)) => {}
                Err(error) => panic!("the connection ended: {error}"),
            }
            loop {
                match self.connection.receive() {
                    Ok(Some(octets)) if number(&octets) == self.next => {
                        self.next += 1;
                        self.again += tries - 1;
                        return;
                    }
                    // A repeated datagram may come back twice.
                    Ok(Some(octets)) => assert!(number(&octets) < self.next),
                    Ok(None) => panic!("the connection was closed"),
                    Err(DccpError::TimedOut(_)) => break,
                    Err(error) => panic!("the connection ended: {error}"),
                }
            }
        }
    }

    /// Sends at least `count` datagrams, and until `is_over`. Returns their count, the time and the
    /// repetitions.
    fn run(&mut self, count: u32, mut is_over: impl FnMut() -> bool) -> (u32, Duration, u32) {
        let (begun, first, again) = (Instant::now(), self.next, self.again);
        while self.next < first + count || !is_over() {
            self.exchange();
        }
        (self.next - first, begun.elapsed(), self.again - again)
    }
}

/// Accepts connections until `stop` is set, and hands each to `serve`.
fn accept(
    listener: &BlockingListener,
    stop: &AtomicBool,
    mut serve: impl FnMut(BlockingConnection),
) {
    while !stop.load(Ordering::Relaxed) {
        match listener.accept_within(AGAIN) {
            Ok(connection) => serve(connection),
            Err(DccpError::TimedOut(_)) => {}
            Err(error) => panic!("cannot accept: {error}"),
        }
    }
}

/// Sends received datagrams back, and checks that the connection's client sent each.
fn echo(mut connection: BlockingConnection, stop: &AtomicBool) {
    connection.set_receive_timeout(Some(AGAIN));
    connection.set_send_timeout(Some(AGAIN));
    while !stop.load(Ordering::Relaxed) {
        match connection.receive() {
            Ok(Some(octets)) => {
                number(&octets);
                // Without room in the queue the client repeats it.
                let _ = connection.send(&octets);
            }
            Err(DccpError::TimedOut(_)) => {}
            Ok(None) => return,
            Err(error) => panic!("the connection ended at the server: {error}"),
        }
    }
}

/// Reads the datagrams of an abused connection, and checks that each is [`FORGED`], the content
/// that its client sends.
fn read_forged(mut connection: BlockingConnection) {
    connection.set_receive_timeout(Some(Duration::from_millis(5)));
    while let Ok(Some(octets)) = connection.receive() {
        assert_eq!(octets, FORGED);
    }
    connection.abort();
}

/// Returns an occupancy with the greater of `a` and `b` for each count.
fn most(a: Occupancy, b: Occupancy) -> Occupancy {
    Occupancy {
        connections: a.connections.max(b.connections),
        half_open: a.half_open.max(b.half_open),
        time_wait: a.time_wait.max(b.time_wait),
        replies: a.replies.max(b.replies),
        spent_cookies: a.spent_cookies.max(b.spent_cookies),
        queued: a.queued.max(b.queued),
        queued_at_one: a.queued_at_one.max(b.queued_at_one),
    }
}

fn assert_bounded(occupancy: &Occupancy) {
    let is_bounded = occupancy.connections <= LIMITS.connections
        && occupancy.half_open <= LIMITS.half_open
        && occupancy.replies <= 128
        && occupancy.spent_cookies <= 65_536
        && occupancy.queued_at_one <= QUEUED_MAX;
    assert!(is_bounded, "{occupancy:?}");
}

fn rss_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    line.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// Runs a connection with the congestion control `ccid` before, during and after all attacks, which
/// run at once.
pub(crate) fn run_attacks(kind: CarrierKind, ccid: u8, scale: AttackRunSize) -> AttackRunResult {
    let carrier = CarrierOptions { addresses: vec![V4], ..CarrierOptions::new(kind) };
    let server = BlockingEndpoint::open(&carrier, LIMITS).unwrap();
    let udp_port = server.udp_port();
    let listener = server.listen(PORT, &config(ccid), vec![service()], 8);
    let abused = server.listen(ABUSED, &config(ccid), vec![service()], 8);
    let server_address = super::senders::at(V4, udp_port.unwrap_or(0));
    let relay = udp_port.map(|_| UdpRelay::new(server_address));
    let direct = Peer { address: V4, port: PORT, udp_port: udp_port.unwrap_or(0) };
    let relayed = Peer { udp_port: relay.as_ref().map_or(0, UdpRelay::port), ..direct };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            accept(&listener, &stop, |connection| {
                let stop = &stop;
                scope.spawn(move || echo(connection, stop));
            });
        });
        scope.spawn(|| accept(&abused, &stop, read_forged));
        if let Some(relay) = &relay {
            scope.spawn(|| relay.run());
        }
        // A test that fails must end, too.
        let ending = ServingThreadsGuard { stop: &stop, relay: relay.as_ref() };
        let client = open(kind, V4);
        let connection = client.connect(relayed, &config(ccid)).unwrap();
        let victim = AttackedConnection {
            key: *connection.key(),
            server: server_address,
            relay: relay.as_ref(),
        };
        let mut outcome = attack_connection(&server, connection, victim, direct, scale, ccid);
        assert!(client.wait_closed(PATIENCE), "closing is answered");
        assert_eq!(client.connections_count(), 1, "what is over is remembered for a while");
        outcome.occupancy = server.occupancy();
        outcome.most = most(outcome.most, outcome.occupancy);
        drop(ending);
        outcome
    })
}

/// Guard that ends the serving threads when it is dropped.
struct ServingThreadsGuard<'a> {
    stop: &'a AtomicBool,
    relay: Option<&'a UdpRelay>,
}

impl Drop for ServingThreadsGuard<'_> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(relay) = self.relay {
            relay.stop();
        }
    }
}

fn attack_connection(
    server: &BlockingEndpoint,
    connection: BlockingConnection,
    victim: AttackedConnection<'_>,
    direct: Peer,
    scale: AttackRunSize,
    ccid: u8,
) -> AttackRunResult {
    let mut flow = RepeatingSender::new(connection, scale.patience);
    let mut outcome = AttackRunResult { rss_kib: [rss_kib(), 0], ..AttackRunResult::default() };
    outcome.phases[0] = flow.run(scale.exchanges, || true);
    let sent: [AtomicU64; 4] = Default::default();
    let abusers = AtomicU32::new(0);
    let permits = Permits::new(scale.speed);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let mut tasks: Vec<_> = Attack::ALL
            .into_iter()
            .zip(&sent)
            .map(|(attack, sent)| {
                let permits = &permits;
                scope.spawn(move || send_attack(attack, victim, scale.packets, sent, permits))
            })
            .collect();
        if victim.relay.is_some() {
            tasks.push(scope.spawn(|| {
                let count = abuse(victim.server, ABUSED, scale.clients, scale.patience);
                abusers.store(count, Ordering::Relaxed);
            }));
        }
        tasks.push(scope.spawn(|| connect_during_attacks(direct, victim, ccid, &sent, scale)));
        let _all = permits.end();
        let mut attack_time = None;
        outcome.phases[1] = flow.run(scale.exchanges, || {
            permits.give();
            // Senders that have not sent yet would send more at once later, and fill a queue.
            while tasks.iter().zip(&sent).any(|(task, sent)| {
                !task.is_finished() && permits.are_unused_by(sent.load(Ordering::Relaxed))
            }) {
                std::thread::sleep(Duration::from_micros(20));
            }
            let occupancy = server.occupancy();
            assert_bounded(&occupancy);
            outcome.most = most(outcome.most, occupancy);
            if attack_time.is_none() && tasks[..4].iter().all(|task| task.is_finished()) {
                attack_time = Some(begun.elapsed());
            }
            tasks.iter().all(|task| task.is_finished())
        });
        outcome.attack = attack_time.unwrap_or_else(|| begun.elapsed());
    });
    outcome.abusers = abusers.into_inner();
    outcome.sent = sent.map(AtomicU64::into_inner);
    outcome.phases[2] = flow.run(scale.exchanges, || true);
    outcome.answers = server.answers();
    outcome.rss_kib[1] = rss_kib();
    flow.connection.close();
    outcome
}

/// Runs a new client that connects in the middle of the attacks, and is served. It measures a long
/// round trip, so its lost datagrams would be repeated only after minutes: it sends data when the
/// flood is over.
fn connect_during_attacks(
    direct: Peer,
    victim: AttackedConnection<'_>,
    ccid: u8,
    sent: &[AtomicU64; 4],
    scale: AttackRunSize,
) {
    let wait_for = |count: u64| {
        while sent.iter().any(|sent| sent.load(Ordering::Relaxed) < count) {
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    wait_for(1_000);
    let kind = match victim.relay {
        Some(_) => crate::common::UDP,
        None => crate::common::RAW,
    };
    let client = open(kind, V4);
    // Its Requests may be lost in the flood; they are repeated.
    let mut flow =
        RepeatingSender::new(client.connect(direct, &config(ccid)).unwrap(), scale.patience);
    wait_for(scale.packets);
    flow.run(10, || true);
    flow.connection.close();
    assert!(client.wait_closed(PATIENCE));
}

impl fmt::Display for AttackRunResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let attack_s = self.attack.as_secs_f64();
        for (attack, sent) in Attack::ALL.into_iter().zip(self.sent) {
            let rate = sent as f64 / attack_s / 1e3;
            writeln!(f, "  {:<26} {sent:>9} packets, {rate:>6.0} thousand/s", attack.name())?;
        }
        writeln!(f, "  clients that abuse theirs  {:>9}", self.abusers)?;
        for (name, (count, time, again)) in ["before", "during", "after"].iter().zip(self.phases) {
            let rate = f64::from(count) / time.as_secs_f64();
            writeln!(
                f,
                "  {name}: {count} datagrams there and back, all whole, {rate:.0}/s, {again} said again"
            )?;
        }
        let Occupancy { connections, half_open, time_wait, replies, .. } = self.most;
        writeln!(
            f,
            "  held at most: {connections} of {} connections ({half_open} of {} half-open, \
             {time_wait} in TIMEWAIT), {replies} of 128 replies, {} spent cookies, {} queued, {} at one",
            LIMITS.connections,
            LIMITS.half_open,
            self.most.spent_cookies,
            self.most.queued,
            self.most.queued_at_one,
        )?;
        let EndpointAnswerCounts { accepted, cookies, restored, refused, ignored } = self.answers;
        writeln!(
            f,
            "  Requests: {accepted} kept, {cookies} answered with a cookie, of which {restored} came back; \
             {refused} Resets, {ignored} packets ignored"
        )?;
        write!(f, "  memory of the process: {} -> {} KiB", self.rss_kib[0], self.rss_kib[1])
    }
}
