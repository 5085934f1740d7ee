//! Two of our own ends over a link that delays, loses, reorders and doubles: what is sent arrives at
//! most once and whole, rates are those of the equations, and every connection ends.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use base::Random;
use dccp::ccid::SenderFigures;
use dccp::connection::{Config, Connection, Ecn, Event, Path, SendError, State};
use dccp::header::{Integrity, Packet};
use dccp::sequence::SequenceNumber;

use crate::world::{MS, SECOND, config};

/// A link in one direction.
#[derive(Clone, Copy)]
struct Link {
    delay_ns: u64,
    jitter_ns: u64,
    loss_percent: u64,
    doubled_percent: u64,
    /// Octets per second; 0 for no limit.
    rate: u64,
}

const CLEAN: Link =
    Link { delay_ns: 20 * MS, jitter_ns: 0, loss_percent: 0, doubled_percent: 0, rate: 0 };

/// A packet under way: due, order, to the server, octets.
type UnderWay = Reverse<(u64, u64, bool, Vec<u8>)>;

struct Pair {
    now_ns: u64,
    client: Connection,
    server: Option<Connection>,
    server_config: Config,
    link: Link,
    busy_until_ns: [u64; 2],
    under_way: BinaryHeap<UnderWay>,
    random: Random,
    count: u64,
    delivered: Vec<Vec<u8>>,
    delivered_bytes: u64,
    ended: [bool; 2],
}

fn integrity() -> Integrity {
    Integrity::Addresses { source: [10, 0, 0, 1].into(), destination: [10, 0, 0, 2].into() }
}

impl Pair {
    fn new(client: Config, server_config: Config, link: Link, seed: u64) -> Self {
        let path = Path { local_port: 40_000, remote_port: 5_001, integrity: integrity() };
        let mut random = Random::from_seed(seed);
        let iss = SequenceNumber::new(random.next_u64());
        Self {
            now_ns: SECOND,
            client: Connection::connect(SECOND, path, client, iss, &[]),
            server: None,
            server_config,
            link,
            busy_until_ns: [0; 2],
            under_way: BinaryHeap::new(),
            random,
            count: 0,
            delivered: Vec::new(),
            delivered_bytes: 0,
            ended: [false; 2],
        }
    }

    fn put(&mut self, to_server: bool, octets: &[u8]) {
        if self.random.chance(self.link.loss_percent, 100) {
            return;
        }
        let copies = 1 + u64::from(self.random.chance(self.link.doubled_percent, 100));
        for _ in 0..copies {
            let busy_ns = &mut self.busy_until_ns[usize::from(to_server)];
            let mut at_ns = self.now_ns;
            let on_wire = (octets.len() as u64 + 20) * 1_000_000_000;
            if let Some(sending_ns) = on_wire.checked_div(self.link.rate) {
                at_ns = at_ns.max(*busy_ns);
                // A queue of 100 ms; what does not fit is lost.
                if at_ns > self.now_ns + 100 * MS {
                    return;
                }
                at_ns += sending_ns;
                *busy_ns = at_ns;
            }
            at_ns += self.link.delay_ns + self.random.below(self.link.jitter_ns + 1);
            self.count += 1;
            self.under_way.push(Reverse((at_ns, self.count, to_server, octets.to_vec())));
        }
    }

    /// Lets both ends send what they may, and takes their events.
    fn flush(&mut self) {
        let mut buffer = [0; 2_000];
        while let Some(transmit) = self.client.poll_transmit(self.now_ns, &mut buffer) {
            self.put(true, &buffer[..transmit.len]);
        }
        while let Some(event) = self.client.poll_event() {
            self.ended[0] |= !matches!(event, Event::Connected | Event::Received(_));
        }
        let Some(mut server) = self.server.take() else { return };
        while let Some(transmit) = server.poll_transmit(self.now_ns, &mut buffer) {
            self.put(false, &buffer[..transmit.len]);
        }
        while let Some(event) = server.poll_event() {
            match event {
                Event::Received(data) => {
                    self.delivered_bytes += data.len() as u64;
                    self.delivered.push(data);
                }
                Event::Connected => (),
                _ => self.ended[1] = true,
            }
        }
        self.server = Some(server);
    }

    fn arrive(&mut self, to_server: bool, octets: &[u8]) {
        if !to_server {
            return self.client.handle_datagram(self.now_ns, Ecn::NotCapable, octets);
        }
        if self.server.is_none() {
            let packet = Packet::parse(octets, integrity()).unwrap();
            let path =
                Path { local_port: 5_001, remote_port: 40_000, integrity: integrity().reversed() };
            let iss = SequenceNumber::new(self.random.next_u64());
            let config = self.server_config.clone();
            self.server = Some(Connection::accept(path, config, iss, &packet));
        }
        if let Some(server) = &mut self.server {
            server.handle_datagram(self.now_ns, Ecn::NotCapable, octets);
        }
    }

    /// Runs until `end_ns` with `feed` called whenever something has happened.
    fn run(&mut self, end_ns: u64, mut feed: impl FnMut(&mut Connection, u64)) {
        let mut steps = 0_u64;
        loop {
            // A datagram that leaves makes room for the next.
            loop {
                let before = self.client.greatest_numbers().0;
                feed(&mut self.client, self.now_ns);
                self.flush();
                if self.client.greatest_numbers().0 == before {
                    break;
                }
            }
            let timers = [Some(&self.client), self.server.as_ref()];
            let timeout = timers.into_iter().flatten().filter_map(Connection::poll_timeout).min();
            let arrival = self.under_way.peek().map(|Reverse((at_ns, ..))| *at_ns);
            let Some(next_ns) = timeout.into_iter().chain(arrival).min() else { break };
            if next_ns > end_ns {
                break;
            }
            self.now_ns = self.now_ns.max(next_ns);
            while let Some(Reverse((at_ns, ..))) = self.under_way.peek()
                && *at_ns <= self.now_ns
            {
                let Reverse((_, _, to_server, octets)) = self.under_way.pop().unwrap();
                self.arrive(to_server, &octets);
            }
            self.client.handle_timeout(self.now_ns);
            if let Some(server) = &mut self.server {
                server.handle_timeout(self.now_ns);
            }
            steps += 1;
            assert!(steps < 5_000_000, "time stands still at {}", self.now_ns);
        }
        self.now_ns = end_ns;
    }

    /// Closes from the client's side and waits for the end of everything.
    fn close(&mut self) {
        let now_ns = self.now_ns;
        self.client.close(now_ns);
        self.run(now_ns + 1_200 * SECOND, |_, _| ());
        assert_eq!(self.client.state(), State::Closed);
        assert_eq!(self.server.as_ref().unwrap().state(), State::Closed);
        assert_eq!((self.client.poll_timeout(), self.ended), (None, [true; 2]));
    }
}

fn with_ccid(ccid: u8) -> Config {
    Config { tx_ccids: vec![ccid], rx_ccids: vec![ccid], ..config() }
}

/// Sends as many datagrams as the queue takes, each with its number.
fn greedy(len: usize) -> impl FnMut(&mut Connection, u64) {
    let mut number = 0_u64;
    move |client, _| {
        loop {
            let mut data = vec![number as u8; len];
            data[..8].copy_from_slice(&number.to_be_bytes());
            match client.send(&data, 0) {
                Ok(()) => number += 1,
                Err(SendError::QueueFull | SendError::Closed) => return,
                Err(SendError::TooLong) => panic!("the datagram fits"),
            }
        }
    }
}

fn assert_whole_and_once(pair: &Pair) {
    let mut seen = BTreeSet::new();
    for data in &pair.delivered {
        let number = u64::from_be_bytes(data[..8].try_into().unwrap());
        assert!(data[8..].iter().all(|&octet| octet == number as u8), "changed");
        assert!(seen.insert(number), "twice: {number}");
    }
}

#[test]
fn both_ccids_fill_a_clean_link() {
    for ccid in [2, 3] {
        let link = Link { rate: 1_250_000, ..CLEAN };
        let mut pair = Pair::new(with_ccid(ccid), with_ccid(ccid), link, 1);
        pair.run(31 * SECOND, greedy(1_424));
        let rate = pair.delivered_bytes * 8 / 30;
        // 10 Mbit/s with headers.
        assert!((8_000_000..=9_800_000).contains(&rate), "CCID {ccid}: {rate}");
        assert_whole_and_once(&pair);
        pair.close();
    }
}

#[test]
fn ccid_3_keeps_to_the_equation_at_a_tenth_lost_and_150_ms() {
    let link = Link { delay_ns: 75 * MS, loss_percent: 10, ..CLEAN };
    let mut total = 0;
    for seed in 1..=3 {
        let mut pair = Pair::new(with_ccid(3), with_ccid(3), link, seed);
        pair.run(61 * SECOND, greedy(1_424));
        total += pair.delivered_bytes * 8 / 60;
        assert_whole_and_once(&pair);
    }
    let mean = total / 3;
    assert!((125_000..=215_000).contains(&mean), "{mean} bit/s");
}

#[test]
fn ccid_3_keeps_to_the_equation_at_a_hundredth_lost_and_40_ms() {
    let link = Link { loss_percent: 1, ..CLEAN };
    let mut total = 0;
    for seed in 1..=3 {
        let mut pair = Pair::new(with_ccid(3), with_ccid(3), link, seed);
        pair.run(61 * SECOND, greedy(1_424));
        total += pair.delivered_bytes * 8 / 60;
    }
    let mean = total / 3;
    assert!((2_900_000..=3_700_000).contains(&mean), "{mean} bit/s");
}

#[test]
fn ccid_2_holds_its_own_against_losses() {
    for (delay_ns, loss_percent, range) in
        [(75 * MS, 10, 150_000..=350_000), (20 * MS, 1, 3_000_000..=4_500_000)]
    {
        let link = Link { delay_ns, loss_percent, ..CLEAN };
        let mut total = 0;
        for seed in 1..=3 {
            let mut pair = Pair::new(with_ccid(2), with_ccid(2), link, seed);
            pair.run(61 * SECOND, greedy(1_424));
            total += pair.delivered_bytes * 8 / 60;
            assert_whole_and_once(&pair);
        }
        assert!(range.contains(&(total / 3)), "{} bit/s", total / 3);
    }
}

#[test]
fn each_direction_has_the_ccid_that_both_can_do() {
    let client = Config { tx_ccids: vec![3, 2], rx_ccids: vec![2], ..config() };
    let server = Config { tx_ccids: vec![2, 3], rx_ccids: vec![3, 2], ..config() };
    let mut pair = Pair::new(client, server, CLEAN, 5);
    pair.run(3 * SECOND, greedy(100));
    assert!(matches!(pair.client.sender_figures(), Some(SenderFigures::Rate { .. })));
    let server = pair.server.as_ref().unwrap();
    assert!(matches!(server.sender_figures(), Some(SenderFigures::Window { .. })));
    assert!(pair.delivered.len() > 20);
}

/// Worlds with every nuisance at once: each connection ends, and nothing is delivered twice.
#[test]
fn every_connection_ends_and_delivers_at_most_once() {
    for seed in 0..1_000 {
        let mut random = Random::from_seed(seed ^ 0xdcc0);
        let link = Link {
            delay_ns: random.below(200) * MS,
            jitter_ns: random.below(100) * MS,
            loss_percent: random.below(51),
            doubled_percent: random.below(20),
            rate: random.below(2) * 100_000,
        };
        let ccids = [vec![2], vec![3], vec![2, 3], vec![3, 2]];
        let mut pick = || random.pick(&ccids).unwrap().clone();
        let client = Config { tx_ccids: pick(), rx_ccids: vec![2, 3], ..config() };
        let server = Config { tx_ccids: pick(), rx_ccids: vec![2, 3], ..config() };
        let mut pair = Pair::new(client, server, link, seed);
        pair.run(20 * SECOND, greedy(200));
        assert_whole_and_once(&pair);
        if pair.server.is_some() {
            let now_ns = pair.now_ns;
            pair.client.close(now_ns);
            pair.run(now_ns + 1_500 * SECOND, |_, _| ());
            assert_eq!(pair.client.state(), State::Closed, "seed {seed}");
            assert_eq!(pair.server.as_ref().unwrap().state(), State::Closed, "seed {seed}");
            assert_whole_and_once(&pair);
        }
    }
}
