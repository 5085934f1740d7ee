//! Two of our own ends over emulated links that delay and lose: what is sent arrives at most once and
//! whole. `tests/worlds` has every nuisance at once; rates are measured by the crate `dccp-tools`.

use base::Random;
use dccp::ccid::SenderFigures;
use dccp::connection::{Config, Connection, Ecn, Event, Path, SendError, State};
use dccp::header::{Integrity, Packet};
use dccp::sequence::SequenceNumber;
use netem::{Link, Settings};

use crate::world::{SECOND, config};

/// What both directions do. Links see packets from the DCCP header on.
const CLEAN: &str = "delay 20ms limit 10000";

struct Pair {
    now_ns: u64,
    client: Connection,
    server: Option<Connection>,
    server_config: Config,
    /// To the server and to the client, hop by hop.
    hops: [Vec<Link>; 2],
    random: Random,
    /// Which datagrams have arrived, as bits by their numbers.
    delivered: Vec<u64>,
    delivered_count: u64,
    delivered_bytes: u64,
    ended: [bool; 2],
}

fn integrity() -> Integrity {
    Integrity::Addresses { source: [10, 0, 0, 1].into(), destination: [10, 0, 0, 2].into() }
}

impl Pair {
    /// `words` has a line for each hop; both directions are alike.
    fn new(client: Config, server_config: Config, words: &str, seed: u64) -> Self {
        let hops: Vec<_> = words.lines().map(|hop| Settings::parse(hop).unwrap()).collect();
        let path = Path { local_port: 40_000, remote_port: 5_001, integrity: integrity() };
        let mut random = Random::from_seed(seed);
        let iss = SequenceNumber::new(random.next_u64());
        Self {
            now_ns: SECOND,
            client: Connection::connect(SECOND, path, client, iss, &[]),
            server: None,
            server_config,
            hops: [0, 1].map(|_| {
                let hops = hops.iter().cloned();
                hops.map(|settings| Link::new(settings, random.next_u64())).collect()
            }),
            random,
            delivered: Vec::new(),
            delivered_count: 0,
            delivered_bytes: 0,
            ended: [false; 2],
        }
    }

    /// Lets both ends send what they may, and takes their events.
    fn flush(&mut self) {
        let mut buffer = [0; 2_000];
        while let Some(transmit) = self.client.poll_transmit(self.now_ns, &mut buffer) {
            self.hops[0][0].handle_datagram(self.now_ns, 0, &buffer[..transmit.len]);
        }
        while let Some(event) = self.client.poll_event() {
            self.ended[0] |= !matches!(event, Event::Connected | Event::Received(_));
        }
        let Some(mut server) = self.server.take() else { return };
        while let Some(transmit) = server.poll_transmit(self.now_ns, &mut buffer) {
            self.hops[1][0].handle_datagram(self.now_ns, 0, &buffer[..transmit.len]);
        }
        while let Some(event) = server.poll_event() {
            match event {
                Event::Received(data) => {
                    self.delivered_count += 1;
                    self.delivered_bytes += data.len() as u64;
                    note_whole_and_once(&mut self.delivered, &data);
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

    /// Moves packets on from hop to hop, and off the last one.
    fn hop(&mut self, to_server: bool) {
        let mut buffer = [0; 2_000];
        let direction = usize::from(!to_server);
        for index in 0..self.hops[direction].len() {
            self.hops[direction][index].handle_timeout(self.now_ns);
            while let Some(transmit) =
                self.hops[direction][index].poll_transmit(self.now_ns, &mut buffer)
            {
                let octets = &buffer[..transmit.len];
                match self.hops[direction].get_mut(index + 1) {
                    Some(next) => next.handle_datagram(self.now_ns, transmit.ecn, octets),
                    None => self.arrive(to_server, octets),
                }
            }
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
            let ends = [Some(&self.client), self.server.as_ref()];
            let ends = ends.into_iter().flatten().filter_map(Connection::poll_timeout);
            let links = self.hops.iter().flatten().filter_map(Link::poll_timeout);
            let Some(next_ns) = ends.chain(links).min() else { break };
            if next_ns > end_ns {
                break;
            }
            self.now_ns = self.now_ns.max(next_ns);
            self.hop(true);
            self.hop(false);
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

/// Notes a datagram of [`greedy`].
fn note_whole_and_once(delivered: &mut Vec<u64>, data: &[u8]) {
    let number = u64::from_be_bytes(data[..8].try_into().unwrap());
    assert!(data[8..].iter().all(|&octet| octet == number as u8), "changed");
    let (word, bit) = (number as usize / 64, 1 << (number % 64));
    delivered.resize(delivered.len().max(word + 1), 0);
    assert_eq!(delivered[word] & bit, 0, "twice: {number}");
    delivered[word] |= bit;
}

#[test]
fn both_ccids_fill_a_clean_link() {
    for ccid in [2, 3] {
        // A queue of 100 ms.
        let words = "delay 20ms tbf rate 10mbit burst 2kb latency 100ms overhead 20";
        let mut pair = Pair::new(with_ccid(ccid), with_ccid(ccid), words, 1);
        pair.run(31 * SECOND, greedy(1_424));
        let rate = pair.delivered_bytes * 8 / 30;
        // 10 Mbit/s with headers.
        assert!((8_000_000..=9_800_000).contains(&rate), "CCID {ccid}: {rate}");
        pair.close();
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
    assert!(pair.delivered_count > 20);
}
