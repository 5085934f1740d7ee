//! Simulated world: two endpoints of this crate, two emulated links, the applications and the
//! virtual clock.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::IpAddr;

use base::Random;
use dccp::connection::{
    Connection, ConnectionConfig, ConnectionEvent, ConnectionState, Ecn, SendError,
};
use dccp::endpoint::{ConnectionKey, Endpoint, EndpointLimits, Listener, SipHashKey};
use dccp::feature::{Disagreement, number as feature_number};
use dccp::header::checksum::crc32c;
use dccp::header::{DccpPacket, Integrity, PacketType, ServiceCode};
use netem::EmulatedLink;

use crate::worlds::application::{ApplicationConnection, DatagramLedger};
use crate::worlds::linux::{Ccid3RequestMethod, LinuxStack, PacketTreatment};
use crate::worlds::plan::{DccpSimulationPlan, PlannedDccpEvent, TALK_NS};
use crate::worlds::witness::{self, UsedSequenceRanges};

/// Nanoseconds in a millisecond, in which times of the virtual clock are written.
pub(crate) const MS: u64 = 1_000_000;
/// Nanoseconds in a second, in which times of the virtual clock are written.
pub(crate) const SECOND: u64 = 1_000 * MS;

const SERVER_PORT: u16 = 5_001;
/// Time by which all connections are over. An end gives up a connection without answers after eight
/// minutes, and TIMEWAIT takes four; a Request before and a Close after that fit, too.
const END_NS: u64 = 2_400 * SECOND;
/// Largest number of steps of a world in which the clock does not advance.
const STILL_MAX: u32 = 10_000;

/// Counts of the events of a world, or of several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DccpSimulationReport {
    pub(crate) connected: u64,
    pub(crate) delivered: u64,
    /// Number of datagrams that connections accepted for sending.
    pub(crate) accepted: u64,
    /// Number of connections that ended because of the other end or of the protocol.
    ended: u64,
    restarts: u64,
    /// Number of packets that the links have lost.
    pub(crate) lost: u64,
    duplicated: u64,
    corrupted: u64,
    reordered: u64,
    marked: u64,
    too_big: u64,
    pub(crate) syncs: u64,
    resets: u64,
    pub(crate) allocated_bytes_max: u64,
    /// Number of data packets that came to an end of this crate before the packet that ends its
    /// handshake.
    pub(crate) overtaken_starts: u64,
    /// Number of packets that an end that speaks as Linux does has answered with a Reset.
    pub(crate) refusals: u64,
    /// Number of connections of this crate that ended with the congestion control as the reported
    /// reason.
    pub(crate) disagreements: u64,
}

impl DccpSimulationReport {
    pub(crate) fn add(&mut self, other: &Self) {
        self.allocated_bytes_max = self.allocated_bytes_max.max(other.allocated_bytes_max);
        self.overtaken_starts += other.overtaken_starts;
        self.disagreements += other.disagreements;
        self.refusals += other.refusals;
        for (sum, more) in self.sums().into_iter().zip(other.clone().sums()) {
            *sum += *more;
        }
    }

    fn sums(&mut self) -> [&mut u64; 12] {
        [
            &mut self.connected,
            &mut self.delivered,
            &mut self.ended,
            &mut self.restarts,
            &mut self.lost,
            &mut self.duplicated,
            &mut self.corrupted,
            &mut self.reordered,
            &mut self.marked,
            &mut self.too_big,
            &mut self.syncs,
            &mut self.resets,
        ]
    }

    /// Returns name, count, and least count in a thousand worlds of each kind of event.
    pub(crate) fn shares(&self) -> [(&'static str, u64, u64); 12] {
        [
            ("connections", self.connected, 1_000),
            ("datagrams", self.delivered, 10_000),
            ("ends", self.ended, 1_000),
            ("restarts", self.restarts, 100),
            ("losses", self.lost, 5_000),
            ("copies", self.duplicated, 1_000),
            ("corruption", self.corrupted, 500),
            ("reordering", self.reordered, 500),
            ("marks", self.marked, 50),
            ("packets too big", self.too_big, 100),
            ("Syncs", self.syncs, 100),
            ("Resets", self.resets, 1_000),
        ]
    }
}

/// Event that is due at a time of the virtual clock.
#[derive(Debug)]
enum DccpSimulationEvent {
    Planned(PlannedDccpEvent),
    /// Time for the applications of an end to send.
    Talk(usize),
    /// Message of the path to an end that a packet was too big.
    TooBig {
        end: usize,
        key: ConnectionKey,
        quoted: Vec<u8>,
        packet_bytes_max: usize,
    },
}

/// End of the world: endpoint, applications and record of one side.
struct SimulatedDccpEnd {
    endpoint: Endpoint,
    applications: BTreeMap<ConnectionKey, ApplicationConnection>,
    /// Record of the sequence numbers of the packets that the end has sent.
    wire: UsedSequenceRanges,
    /// Stack of an end that speaks as Linux does; `None` for an end of this crate.
    linux: Option<LinuxStack>,
}

pub(crate) struct DccpSimulation {
    plan: DccpSimulationPlan,
    now_ns: u64,
    random: Random,
    /// Client and server.
    ends: [SimulatedDccpEnd; 2],
    /// Links, each from the end of the same index.
    links: [EmulatedLink; 2],
    packet_bytes_max: usize,
    agenda: BinaryHeap<Reverse<(u64, u64)>>,
    dues: BTreeMap<u64, DccpSimulationEvent>,
    serial: u64,
    ledger: DatagramLedger,
    names_count: u32,
    report: DccpSimulationReport,
}

/// Returns the client's address and the server's.
fn addresses(is_v6: bool) -> [IpAddr; 2] {
    if is_v6 {
        [[0xfd00, 0, 0, 0, 0, 0, 0, 1].into(), [0xfd00, 0, 0, 0, 0, 0, 0, 2].into()]
    } else {
        [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()]
    }
}

fn ecn_bits(is_capable: bool) -> u8 {
    if is_capable { 2 } else { 0 }
}

const fn ecn(bits: u8) -> Ecn {
    match bits {
        0 => Ecn::NotCapable,
        1 => Ecn::Capable1,
        2 => Ecn::Capable0,
        _ => Ecn::Marked,
    }
}

impl DccpSimulation {
    pub(crate) fn new(plan: DccpSimulationPlan) -> Self {
        let mut random = Random::from_seed(plan.seed);
        let ends = [0, 1].map(|index| SimulatedDccpEnd {
            endpoint: endpoint(&plan, index == 1, &mut random),
            applications: BTreeMap::new(),
            wire: UsedSequenceRanges::default(),
            linux: (plan.linux == Some(index == 1)).then(|| {
                let asking = if plan.seed.is_multiple_of(3) {
                    Ccid3RequestMethod::ByFeature
                } else {
                    Ccid3RequestMethod::ByName
                };
                LinuxStack::new(index == 1, &plan.habits[index].config.tx_ccids, asking)
            }),
        });
        let links =
            plan.links.clone().map(|settings| EmulatedLink::new(settings, random.next_u64()));
        let mut world = Self {
            now_ns: SECOND,
            random,
            ends,
            links,
            packet_bytes_max: plan.packet_bytes_max,
            agenda: BinaryHeap::new(),
            dues: BTreeMap::new(),
            serial: 0,
            ledger: DatagramLedger::default(),
            names_count: 0,
            report: DccpSimulationReport::default(),
            plan,
        };
        for (at_ns, planned_event) in world.plan.events.clone() {
            world.plan_due(SECOND + at_ns, DccpSimulationEvent::Planned(planned_event));
        }
        for (end, is_server) in [(0, false), (1, true)] {
            if world.plan.habits[end].period_ns > 0 {
                world.plan_due(SECOND, DccpSimulationEvent::Talk(end));
            }
            let goodbye = PlannedDccpEvent::CloseAll { is_server, is_rude: false };
            world.plan_due(SECOND + TALK_NS, DccpSimulationEvent::Planned(goodbye));
        }
        world
    }

    fn plan_due(&mut self, at_ns: u64, due: DccpSimulationEvent) {
        self.serial += 1;
        self.agenda.push(Reverse((at_ns, self.serial)));
        self.dues.insert(self.serial, due);
    }

    /// Runs the world to the end of the last connection.
    pub(crate) fn run(mut self) -> DccpSimulationReport {
        let mut still_count = 0;
        loop {
            self.settle();
            let Some(next_ns) = self.next_ns() else { break };
            assert!(next_ns < END_NS, "something is left at the end: {:?}", self.left());
            still_count = if next_ns > self.now_ns { 0 } else { still_count + 1 };
            assert!(still_count < STILL_MAX, "time stands still at {}", self.now_ns);
            self.now_ns = self.now_ns.max(next_ns);
            self.handle_timeouts();
            self.do_what_is_due();
        }
        assert!(self.left().is_empty(), "left without a timer: {:?}", self.left());
        self.report.accepted = self.ledger.accepted_count();
        for (end, link) in self.ends.iter().zip(&self.links) {
            assert_eq!(end.endpoint.connections_count(), 0);
            assert_eq!(link.backlog().packets, 0);
            let counters = link.counters();
            self.report.lost += counters.dropped();
            self.report.duplicated += counters.duplicated;
            self.report.corrupted += counters.corrupted;
            self.report.reordered += counters.reordered;
            self.report.marked += counters.marked;
        }
        self.report
    }

    /// Returns the connections of both ends that still exist, with their states.
    fn left(&self) -> Vec<(ConnectionKey, ConnectionState)> {
        let keys = self.ends.iter().flat_map(|end| {
            let keys = end.applications.keys();
            keys.filter_map(|key| Some((*key, end.endpoint.connection(key)?.state())))
        });
        keys.collect()
    }

    fn next_ns(&self) -> Option<u64> {
        let ends = self.ends.iter().filter_map(|end| end.endpoint.poll_timeout());
        let links = self.links.iter().filter_map(EmulatedLink::poll_timeout);
        let agenda = self.agenda.peek().map(|&Reverse((at_ns, _))| at_ns);
        ends.chain(links).chain(agenda).min()
    }

    fn handle_timeouts(&mut self) {
        for end in &mut self.ends {
            if end.endpoint.poll_timeout().is_some_and(|at_ns| at_ns <= self.now_ns) {
                end.endpoint.handle_timeout(self.now_ns);
            }
        }
        for link in &mut self.links {
            link.handle_timeout(self.now_ns);
        }
    }

    /// Moves packets and events until there are none at the present time of the clock.
    fn settle(&mut self) {
        for round in 0.. {
            assert!(round < STILL_MAX, "packets without end at {}", self.now_ns);
            let mut is_calm = true;
            for index in 0..2 {
                is_calm &= !self.send(index);
                is_calm &= !self.arrive(index);
                self.take_events(index);
            }
            if is_calm {
                return;
            }
        }
    }

    /// Puts the packets of the end `index` onto its link, if the path is wide enough for them.
    /// Returns true if there were any.
    fn send(&mut self, index: usize) -> bool {
        let mut buffer = [0; 2_000];
        let mut has_sent = false;
        let is_udp = self.plan.carrier != dccp::endpoint::Carrier::Ip;
        let headers_len = if self.plan.is_v6 { 40 } else { 20 } + if is_udp { 8 } else { 0 };
        loop {
            let end = &mut self.ends[index];
            let Some((key, transmit)) = end.endpoint.poll_transmit(self.now_ns, &mut buffer) else {
                return has_sent;
            };
            has_sent = true;
            let octets = &buffer[..transmit.len];
            match end.wire.record_packet(octets).expect("a packet of a type that is") {
                PacketType::Sync => self.report.syncs += 1,
                PacketType::Reset => self.report.resets += 1,
                _ => (),
            }
            if transmit.len + headers_len > self.packet_bytes_max {
                self.report.too_big += 1;
                if self.plan.tells_too_big && self.random.chance(9, 10) {
                    let quoted_len = 8 + self.random.below(30) as usize;
                    let quoted = octets[..quoted_len.min(octets.len())].to_vec();
                    let packet_bytes_max = self.packet_bytes_max - headers_len;
                    let at_ns = self.now_ns + self.random.below(300) * MS;
                    self.plan_due(
                        at_ns,
                        DccpSimulationEvent::TooBig { end: index, key, quoted, packet_bytes_max },
                    );
                }
                continue;
            }
            let mut len = transmit.len;
            if let Some(linux) = &mut self.ends[index].linux {
                let integrity = key.path().integrity;
                let packet = DccpPacket::parse(&buffer[..len], integrity).expect("it is whole");
                let passage = linux.outgoing(self.now_ns, &packet);
                let Some(octets) = rewritten(&packet, passage, integrity) else { continue };
                len = octets.len();
                buffer[..len].copy_from_slice(&octets);
            }
            if is_udp {
                // This replaces the checksum of UDP.
                let sum = crc32c(&buffer[..len]).to_be_bytes();
                buffer[len..len + 4].copy_from_slice(&sum);
                len += 4;
            }
            let bits = ecn_bits(transmit.is_ecn_capable);
            self.links[index].handle_datagram(self.now_ns, bits, &buffer[..len]);
        }
    }

    /// Delivers the packets from the link of the end `index` to the other end. Returns true if
    /// there were any.
    fn arrive(&mut self, index: usize) -> bool {
        let mut buffer = [0; 2_000];
        let mut has_arrived = false;
        let addresses = addresses(self.plan.is_v6);
        let key = ConnectionKey {
            local: addresses[1 - index],
            remote: addresses[index],
            carrier: self.plan.carrier,
            local_port: 0,
            remote_port: 0,
            scope: 0,
        };
        while let Some(transmit) = self.links[index].poll_transmit(self.now_ns, &mut buffer) {
            has_arrived = true;
            let mut octets = &buffer[..transmit.len];
            if self.plan.carrier != dccp::endpoint::Carrier::Ip {
                let (whole, sum) = octets.split_last_chunk::<4>().unwrap();
                if crc32c(whole).to_be_bytes() != *sum {
                    continue;
                }
                octets = whole;
            }
            let end = &mut self.ends[1 - index];
            let integrity = key.path().integrity;
            let heard = match &mut end.linux {
                Some(linux) => {
                    let Ok(packet) = DccpPacket::parse(octets, integrity.reversed()) else {
                        continue;
                    };
                    let passage = linux.incoming(&packet);
                    if let PacketTreatment::Refused(header) = passage {
                        let mut reply = [0; 100];
                        let len = header.write(&[], &[], integrity, &mut reply).expect("room");
                        self.report.resets += 1;
                        self.report.refusals += 1;
                        self.links[1 - index].handle_datagram(self.now_ns, 0, &reply[..len]);
                        continue;
                    }
                    rewritten(&packet, passage, integrity.reversed())
                }
                None => Some(octets.to_vec()),
            };
            let Some(heard) = heard else { continue };
            let is_data = matches!(packet_type(&heard), Some(PacketType::DataAck));
            let opens_by_data = is_data && index == 0 && self.report.connected == 1;
            self.report.overtaken_starts += u64::from(opens_by_data);
            end.endpoint.handle_datagram(self.now_ns, key, ecn(transmit.ecn), &heard);
            self.take_events(1 - index);
        }
        has_arrived
    }

    fn take_events(&mut self, index: usize) {
        while let Some((key, event)) = self.ends[index].endpoint.poll_event() {
            let end = &mut self.ends[index];
            let names_count = &mut self.names_count;
            let application = end.applications.entry(key).or_insert_with(|| {
                *names_count += 1;
                ApplicationConnection::new(*names_count)
            });
            self.ledger.record_event(application, &event);
            if let ConnectionEvent::Reset(reset) | ConnectionEvent::Failed(reset) = &event
                && end.linux.is_none()
                && Disagreement::explains(reset)
                && let Some(connection) = end.endpoint.connection(&key)
            {
                let about = connection.features().disagreement().map(|why| why.feature.number);
                self.report.disagreements += u64::from(about == Some(feature_number::CCID));
            }
            match event {
                ConnectionEvent::Connected => self.report.connected += 1,
                ConnectionEvent::Received(_) => self.report.delivered += 1,
                _ => self.report.ended += 1,
            }
            let (is_over, received) = (application.is_over, application.received_count);
            if self.plan.habits[index].deaf_after == Some(received) {
                end.endpoint.with(&key, Connection::stop_receiving);
            }
            if is_over {
                end.applications.remove(&key);
            } else if self.now_ns >= SECOND + TALK_NS {
                // A connection that comes so late is closed.
                let now_ns = self.now_ns;
                end.endpoint.with(&key, |connection| connection.close(now_ns));
            }
        }
        let peer = 1 - index;
        for key in self.ends[index].applications.keys() {
            if let Some(connection) = self.ends[index].endpoint.connection(key) {
                witness::look(key, connection, &self.ends[peer].wire);
            }
        }
        assert!(self.ends[index].endpoint.connections_count() <= 4);
    }

    fn do_what_is_due(&mut self) {
        while let Some(&Reverse((at_ns, serial))) = self.agenda.peek()
            && at_ns <= self.now_ns
        {
            self.agenda.pop();
            match self.dues.remove(&serial).expect("planned") {
                DccpSimulationEvent::Planned(planned_event) => self.apply_event(planned_event),
                DccpSimulationEvent::Talk(end) => self.talk(end),
                DccpSimulationEvent::TooBig { end, key, quoted, packet_bytes_max } => {
                    let tell = |connection: &mut Connection| {
                        connection.handle_too_big(&quoted, packet_bytes_max);
                    };
                    self.ends[end].endpoint.with(&key, tell);
                }
            }
        }
    }

    fn apply_event(&mut self, planned_event: PlannedDccpEvent) {
        match planned_event {
            PlannedDccpEvent::Connect { local_port } => self.connect(local_port),
            PlannedDccpEvent::Restart { is_server } => {
                self.report.restarts += 1;
                let end = &mut self.ends[usize::from(is_server)];
                end.endpoint = endpoint(&self.plan, is_server, &mut self.random);
                end.applications.clear();
            }
            PlannedDccpEvent::ChangeLink { is_to_client, settings } => {
                self.links[usize::from(is_to_client)].change(self.now_ns, *settings);
            }
            PlannedDccpEvent::ChangePath { packet_bytes_max } => {
                self.packet_bytes_max = packet_bytes_max
            }
            PlannedDccpEvent::CloseAll { is_server, is_rude } => {
                self.close_all(usize::from(is_server), is_rude);
            }
        }
    }

    fn close_all(&mut self, index: usize, is_rude: bool) {
        let now_ns = self.now_ns;
        let end = &mut self.ends[index];
        for key in end.applications.keys() {
            end.endpoint.with(key, |connection| {
                if is_rude { connection.abort() } else { connection.close(now_ns) }
            });
        }
        if is_rude {
            end.applications.clear();
        }
    }

    fn connect(&mut self, local_port: u16) {
        let [local, remote] = addresses(self.plan.is_v6);
        let carrier = self.plan.carrier;
        let key = ConnectionKey {
            local,
            remote,
            carrier,
            local_port,
            remote_port: SERVER_PORT,
            scope: 0,
        };
        self.names_count += 1;
        let mut application = ApplicationConnection::new(self.names_count);
        let data = match self.plan.request_data_len {
            0 => Vec::new(),
            len => application.datagram(len),
        };
        let end = &mut self.ends[0];
        let config = self.plan.habits[0].config.clone();
        if end.endpoint.connect(self.now_ns, key, config, &data) {
            if !data.is_empty() {
                self.ledger.record_accepted(&mut application);
            }
            end.applications.insert(key, application);
        }
    }

    /// Sends datagrams of every application of the end `index`, as many as its connection accepts.
    fn talk(&mut self, index: usize) {
        let habit = &self.plan.habits[index];
        let (period_ns, burst_count) = (habit.period_ns, habit.burst_count);
        let end = &mut self.ends[index];
        let waits = self.plan.linux.is_some();
        for (key, application) in &mut end.applications {
            // An application gets the connection with the event, as from a call that connects.
            if waits && !application.is_connected {
                continue;
            }
            for _ in 0..self.random.below(burst_count + 1) {
                let priority = self.random.next_u32() % 4;
                let len = 16 + self.random.below(habit.data_bytes_max as u64) as usize;
                let sent = end.endpoint.with(key, |connection| {
                    let data = application.datagram(len.min(connection.data_bytes_max()));
                    connection.send(&data, priority)
                });
                match sent {
                    Some(Ok(())) => self.ledger.record_accepted(application),
                    Some(Err(SendError::QueueFull | SendError::Closed)) | None => break,
                    Some(Err(SendError::TooLong)) => panic!("{len} octets fit"),
                }
            }
        }
        if self.now_ns < SECOND + self.plan.talk_ns {
            self.plan_due(self.now_ns + period_ns, DccpSimulationEvent::Talk(index));
        }
    }
}

/// Returns the type of the packet `octets`; `None` if it is too short or its type is reserved.
fn packet_type(octets: &[u8]) -> Option<PacketType> {
    PacketType::from_number(octets.get(8)? >> 1 & 15)
}

/// Returns a packet with other options; `None` when it is dropped.
fn rewritten(
    packet: &DccpPacket<'_>,
    passage: PacketTreatment,
    integrity: Integrity,
) -> Option<Vec<u8>> {
    let PacketTreatment::Passes(options) = passage else { return None };
    let mut octets = [0; 2_000];
    let len = packet.header.write(&options, packet.data, integrity, &mut octets).expect("room");
    Some(octets[..len].to_vec())
}

fn endpoint(plan: &DccpSimulationPlan, is_server: bool, random: &mut Random) -> Endpoint {
    let secret = SipHashKey::new([random.next_u64(), random.next_u64()]);
    let limits = EndpointLimits { connections: 4, half_open: 3, resets_per_s: 100 };
    let mut endpoint = Endpoint::new(secret, limits);
    if is_server {
        let config: ConnectionConfig = plan.habits[1].config.clone();
        let service_codes = vec![ServiceCode::new(7)];
        let uses_init_cookies = plan.uses_init_cookies;
        endpoint.listen(SERVER_PORT, Listener { config, service_codes, uses_init_cookies });
    }
    endpoint
}
