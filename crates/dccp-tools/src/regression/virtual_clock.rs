//! Regression without waiting and without a kernel: two connections and emulated links on a clock
//! that advances as fast as the processor permits. A seed gives the same figures on every machine.
//!
//! Only this module measures rates over emulated links in one loop, also for tests of the core. The
//! core and the links are in the same layer, so neither can contain it.

use std::cell::Cell;

use base::{Random, ToolError, ToolResult};
use dccp::connection::{
    Connection, ConnectionConfig, ConnectionEvent, ConnectionPath, Ecn, SendError,
};
use dccp::header::{DccpPacket, Integrity};
use dccp::sequence::SequenceNumber;
use netem::{EmulatedLink, LinkSettings};

/// Nanoseconds per second.
const SECOND_NS: u64 = 1_000_000_000;
/// Time in nanoseconds at which the client begins; delivered data counts from `COUNT_NS` on.
const START_NS: u64 = SECOND_NS;
const COUNT_NS: u64 = 2 * SECOND_NS;
/// Largest size of any packet in the simulation, in bytes.
const PACKET_BYTES_MAX: usize = 2_000;
const CLIENT_PORT: u16 = 40_000;
const SERVER_PORT: u16 = 5_001;

fn integrity() -> Integrity {
    Integrity::Addresses { source: [10, 9, 0, 1].into(), destination: [10, 9, 0, 2].into() }
}

/// Simulation of two ends and the links between them; `sink` gets the data that the server reads.
struct EmulatedLinkSimulation<S> {
    now_ns: u64,
    client: Connection,
    server: Option<Connection>,
    server_config: ConnectionConfig,
    /// Emulated links to the server and to the client, hop by hop.
    hops: [Vec<EmulatedLink>; 2],
    random: Random,
    sink: S,
}

/// Returns the bits of data per second that a simulated server reads from a client that always has
/// datagrams of `datagram_bytes`, over `hops` in each direction. `configs` are the client's and the
/// server's.
///
/// # Errors
///
/// Returns an error when the words of a hop make no sense.
pub(super) fn measure(
    configs: [ConnectionConfig; 2],
    hops: &[String],
    seed: u64,
    seconds: f64,
    datagram_bytes: usize,
) -> ToolResult<f64> {
    let delivered_bytes = Cell::new(0);
    let count = |data: &[u8]| delivered_bytes.set(delivered_bytes.get() + data.len() as u64);
    let mut world = EmulatedLinkSimulation::new(configs, hops, seed, count)?;
    let mut feed = EndlessDatagramSource { buffer: vec![0; datagram_bytes], number: 0 };
    world.run(COUNT_NS, |client| feed.fill(client));
    let before = delivered_bytes.get();
    world.run(COUNT_NS + (seconds * 1e9) as u64, |client| feed.fill(client));
    Ok((delivered_bytes.get() - before) as f64 * 8.0 / seconds)
}

/// Endless source of numbered datagrams.
struct EndlessDatagramSource {
    buffer: Vec<u8>,
    number: u64,
}

impl EndlessDatagramSource {
    /// Queues as many datagrams as the client's connection accepts.
    fn fill(&mut self, client: &mut Connection) {
        loop {
            if let Some(head) = self.buffer.first_chunk_mut() {
                *head = self.number.to_be_bytes();
            }
            match client.send(&self.buffer, 0) {
                Ok(()) => self.number += 1,
                Err(SendError::TooLong) => self.buffer.truncate(client.data_bytes_max()),
                Err(SendError::QueueFull | SendError::Closed) => return,
            }
        }
    }
}

impl<S: FnMut(&[u8])> EmulatedLinkSimulation<S> {
    fn new(
        configs: [ConnectionConfig; 2],
        words: &[String],
        seed: u64,
        sink: S,
    ) -> ToolResult<Self> {
        let [client, server_config] = configs;
        let hops: Result<Vec<_>, _> = words.iter().map(|hop| LinkSettings::parse(hop)).collect();
        let hops = hops.map_err(|problems| {
            let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
            ToolError::Usage(problems.join("; "))
        })?;
        let path = ConnectionPath {
            local_port: CLIENT_PORT,
            remote_port: SERVER_PORT,
            integrity: integrity(),
        };
        let mut random = Random::from_seed(seed);
        let iss = SequenceNumber::new(random.next_u64());
        Ok(Self {
            now_ns: START_NS,
            client: Connection::connect(START_NS, path, client, iss, &[]),
            server: None,
            server_config,
            hops: [0, 1].map(|_| {
                let hops = hops.iter().cloned();
                hops.map(|settings| EmulatedLink::new(settings, random.next_u64())).collect()
            }),
            random,
            sink,
        })
    }

    /// Lets both ends send their packets into the links, and handles their events.
    fn flush(&mut self) {
        let mut buffer = [0; PACKET_BYTES_MAX];
        let [to_server, to_client] = &mut self.hops;
        while let Some(transmit) = self.client.poll_transmit(self.now_ns, &mut buffer) {
            to_server[0].handle_datagram(self.now_ns, 0, &buffer[..transmit.len]);
        }
        while self.client.poll_event().is_some() {}
        let Some(server) = &mut self.server else { return };
        while let Some(transmit) = server.poll_transmit(self.now_ns, &mut buffer) {
            to_client[0].handle_datagram(self.now_ns, 0, &buffer[..transmit.len]);
        }
        while let Some(event) = server.poll_event() {
            if let ConnectionEvent::Received(data) = event {
                (self.sink)(&data);
                server.recycle(data);
            }
        }
    }

    fn arrive(&mut self, to_server: bool, octets: &[u8]) {
        let now_ns = self.now_ns;
        if !to_server {
            return self.client.handle_datagram(now_ns, Ecn::NotCapable, octets);
        }
        if self.server.is_none()
            && let Ok(request) = DccpPacket::parse(octets, integrity())
        {
            let path = ConnectionPath {
                local_port: SERVER_PORT,
                remote_port: CLIENT_PORT,
                integrity: integrity().reversed(),
            };
            let iss = SequenceNumber::new(self.random.next_u64());
            let config = self.server_config.clone();
            self.server = Some(Connection::accept(path, config, iss, &request));
        }
        if let Some(server) = &mut self.server {
            server.handle_datagram(now_ns, Ecn::NotCapable, octets);
        }
    }

    /// Moves packets from link to link, and delivers those that leave the last link.
    fn hop(&mut self, to_server: bool) {
        let mut buffer = [0; PACKET_BYTES_MAX];
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

    /// Runs the simulation until `end_ns`, and calls `feed` with the client before each step.
    fn run(&mut self, end_ns: u64, mut feed: impl FnMut(&mut Connection)) {
        loop {
            // A datagram that leaves makes room for the next.
            loop {
                let before = self.client.greatest_numbers().0;
                feed(&mut self.client);
                self.flush();
                if self.client.greatest_numbers().0 == before {
                    break;
                }
            }
            let ends = [Some(&self.client), self.server.as_ref()];
            let ends = ends.into_iter().flatten().filter_map(Connection::poll_timeout);
            let links = self.hops.iter().flatten().filter_map(EmulatedLink::poll_timeout);
            let next_ns = ends.chain(links).min().filter(|&at_ns| at_ns <= end_ns);
            let Some(next_ns) = next_ns else { break };
            self.now_ns = self.now_ns.max(next_ns);
            self.hop(true);
            self.hop(false);
            self.client.handle_timeout(self.now_ns);
            if let Some(server) = &mut self.server {
                server.handle_timeout(self.now_ns);
            }
        }
        self.now_ns = end_ns;
    }
}

#[cfg(test)]
mod tests {
    use dccp::ccid::SenderFigures;
    use dccp::connection::ConnectionState;

    use super::super::case::tests::{RAW, named};
    use super::*;

    fn with_ccid(ccid: u8) -> ConnectionConfig {
        ConnectionConfig {
            tx_ccids: vec![ccid],
            rx_ccids: vec![ccid],
            ..ConnectionConfig::default()
        }
    }

    /// Notes in `delivered` the number of a datagram of [`EndlessDatagramSource`], and checks that
    /// the datagram is whole and came once.
    fn note_whole_and_once(delivered: &mut Vec<u64>, data: &[u8]) {
        let number = u64::from_be_bytes(data[..8].try_into().unwrap());
        assert!(data.len() == 1_424 && data[8..].iter().all(|&octet| octet == 0), "changed");
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        delivered.resize(delivered.len().max(word + 1), 0);
        assert_eq!(delivered[word] & bit, 0, "twice: {number}");
        delivered[word] |= bit;
    }

    #[test]
    fn a_queue_is_filled_and_all_comes_whole_and_once_until_both_have_closed() {
        for ccid in [2, 3] {
            // A queue of 100 ms.
            let hops =
                ["delay 20ms tbf rate 10mbit burst 2kb latency 100ms overhead 20".to_owned()];
            let (mut delivered, mut bytes) = (Vec::new(), 0);
            let note = |data: &[u8]| {
                note_whole_and_once(&mut delivered, data);
                bytes += data.len() as u64;
            };
            let configs = [with_ccid(ccid), with_ccid(ccid)];
            let mut world = EmulatedLinkSimulation::new(configs, &hops, 1, note).unwrap();
            let mut feed = EndlessDatagramSource { buffer: vec![0; 1_424], number: 0 };
            world.run(31 * SECOND_NS, |client| feed.fill(client));
            world.client.close(31 * SECOND_NS);
            world.run(1_231 * SECOND_NS, |_| ());
            let ends = [Some(&world.client), world.server.as_ref()];
            assert_eq!(ends.map(|end| end.unwrap().state()), [ConnectionState::Closed; 2]);
            assert_eq!(world.client.poll_timeout(), None);
            // 10 Mbit/s with headers, for half a minute and the queue at its end.
            let rate = bytes * 8 / 30;
            assert!((8_000_000..=9_900_000).contains(&rate), "CCID {ccid}: {rate}");
        }
    }

    #[test]
    fn each_direction_has_the_ccid_that_both_can_do() {
        let client = ConnectionConfig {
            tx_ccids: vec![3, 2],
            rx_ccids: vec![2],
            ..ConnectionConfig::default()
        };
        let server = ConnectionConfig {
            tx_ccids: vec![2, 3],
            rx_ccids: vec![3, 2],
            ..ConnectionConfig::default()
        };
        let mut count = 0;
        let hops = ["delay 20ms limit 10000".to_owned()];
        let mut world =
            EmulatedLinkSimulation::new([client, server], &hops, 5, |_: &[u8]| count += 1).unwrap();
        let mut feed = EndlessDatagramSource { buffer: vec![0; 100], number: 0 };
        world.run(3 * SECOND_NS, |client| feed.fill(client));
        let figures = world.client.sender_figures();
        assert!(matches!(figures, Some(SenderFigures::Rate { .. })), "{figures:?}");
        let figures = world.server.as_ref().unwrap().sender_figures();
        assert!(matches!(figures, Some(SenderFigures::Window { .. })), "{figures:?}");
        assert!(count > 20, "{count}");
    }

    /// Returns the rates of simulated runs of a minute of the case `name`, one for each seed.
    fn rates(name: &str, ccid: u8, seeds: &[u64]) -> Vec<f64> {
        let case = named(name);
        let config = with_ccid(ccid);
        let rates: Vec<_> = seeds
            .iter()
            .map(|&seed| {
                let configs = [config.clone(), config.clone()];
                measure(configs, &case.hops(RAW), seed, 60.0, RAW.datagram_bytes()).unwrap()
            })
            .collect();
        println!("CCID {ccid}, {name}: {rates:?} bit/s");
        rates
    }

    #[test]
    fn losses_leave_what_the_equation_says() {
        for (name, ccid_3, ccid_2) in
            [("loss10", 125e3..=215e3, 150e3..=350e3), ("loss1", 2.9e6..=3.7e6, 3.0e6..=4.5e6)]
        {
            for (ccid, range) in [(3, ccid_3), (2, ccid_2)] {
                let rates = rates(name, ccid, &[1, 2, 3]);
                let mean = rates.iter().sum::<f64>() / 3.0;
                assert!(range.contains(&mean), "CCID {ccid}, {name}: {mean} bit/s");
            }
        }
    }

    #[test]
    fn a_link_without_losses_is_filled() {
        for name in ["direct", "routed"] {
            for ccid in [3, 2] {
                let rates = rates(name, ccid, &[1]);
                assert!(rates[0] >= 94.5e6, "CCID {ccid}, {name}: {rates:?} bit/s");
            }
        }
    }

    #[test]
    fn a_seed_gives_the_same_figure_again() {
        let rate = |seed| {
            let config = ConnectionConfig::default();
            let hops = ["delay 5ms loss 2% rate 2mbit".to_owned()];
            measure([config.clone(), config], &hops, seed, 3.0, 1_000).unwrap()
        };
        assert!((rate(7) - rate(7)).abs() < f64::EPSILON && (rate(7) - rate(8)).abs() > 1.0);
    }
}
