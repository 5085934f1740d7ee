//! Scripted tester: it writes arbitrary packets and checks the packets that the device sends.

use dccp::connection::{
    Connection, ConnectionConfig, ConnectionEvent, ConnectionPath, ConnectionState, Ecn, Role,
    Transmit,
};
use dccp::header::{DccpHeader, DccpPacket, Integrity, PacketType, Reset, ResetCode, ServiceCode};
use dccp::option::{DccpOption, DccpOptionIterator};
use dccp::sequence::SequenceNumber;

/// Nanoseconds in a millisecond, in which times of the virtual clock are written.
pub(crate) const MS: u64 = 1_000_000;
/// Nanoseconds in a second, in which times of the virtual clock are written.
pub(crate) const SECOND: u64 = 1_000 * MS;
/// Time that the tester T takes to answer while a connection is made.
pub(crate) const RTT: u64 = 100 * MS;
/// First sequence number of the tester T.
pub(crate) const T_ISS: u64 = 1_000;
/// First sequence number of the device D.
pub(crate) const D_ISS: u64 = 500_000;

/// Returns the sequence number with this value.
pub(crate) fn n(value: u64) -> SequenceNumber {
    SequenceNumber::new(value)
}

/// Packet that the device D sent.
#[derive(Clone, Debug)]
pub(crate) struct DevicePacket {
    pub(crate) header: DccpHeader,
    pub(crate) options: Vec<u8>,
    pub(crate) data: Vec<u8>,
    pub(crate) octets: Vec<u8>,
    pub(crate) transmit: Transmit,
}

impl DevicePacket {
    pub(crate) fn packet_type(&self) -> PacketType {
        self.header.packet_type
    }

    /// Returns the value of the packet's option `number`, without number and length; `None` if it
    /// has none.
    pub(crate) fn option(&self, number: u8) -> Option<Vec<u8>> {
        let mut values = DccpOptionIterator::new(&self.options).filter(|raw| raw.number == number);
        values.next().map(|raw| raw.value.to_vec())
    }

    pub(crate) fn reset(&self) -> (ResetCode, [u8; 3]) {
        let Reset { code, data } = self.header.reset.unwrap();
        (code, data)
    }
}

pub(crate) fn t_to_d() -> Integrity {
    Integrity::Addresses { source: [10, 0, 0, 1].into(), destination: [10, 0, 0, 2].into() }
}

/// World of a conformance case: the tester T, the device D and the virtual clock.
pub(crate) struct ConformanceSimulation {
    pub(crate) d: Connection,
    pub(crate) now_ns: u64,
    /// Sequence number of the tester T's last packet.
    pub(crate) t_gss: u64,
    /// Greatest sequence number of the device D that the tester T has received.
    pub(crate) t_gsr: u64,
    pub(crate) ecn: Ecn,
    /// Options that confirm the Changes that the device D has sent.
    confirms: Vec<u8>,
}

pub(crate) fn config() -> ConnectionConfig {
    ConnectionConfig { service_code: ServiceCode::new(7), ..ConnectionConfig::default() }
}

/// Returns a configuration with CCID 2 alone, which needs few features.
pub(crate) fn config_2() -> ConnectionConfig {
    ConnectionConfig { tx_ccids: vec![2], rx_ccids: vec![2], ..config() }
}

fn path() -> ConnectionPath {
    ConnectionPath { local_port: 5_001, remote_port: 40_000, integrity: t_to_d().reversed() }
}

/// Changes for Ack Vectors both ways, as CCID 2 needs them.
pub(crate) const VECTORS: [u8; 8] = [34, 4, 6, 1, 32, 4, 6, 1];

impl ConformanceSimulation {
    fn new(d: Connection) -> Self {
        Self {
            d,
            now_ns: SECOND,
            t_gss: T_ISS - 1,
            t_gsr: 0,
            ecn: Ecn::NotCapable,
            confirms: Vec::new(),
        }
    }

    /// Returns a world in which the device D is a client that has just begun.
    pub(crate) fn client(config: ConnectionConfig) -> Self {
        Self::client_from(config, D_ISS, &[])
    }

    pub(crate) fn client_from(config: ConnectionConfig, iss: u64, data: &[u8]) -> Self {
        Self::new(Connection::connect(SECOND, path(), config, n(iss), data))
    }

    /// Returns a world in which the device D is a server that has received the tester T's Request
    /// with these options and data.
    pub(crate) fn server_with(
        config: ConnectionConfig,
        iss: u64,
        options: &[u8],
        data: &[u8],
    ) -> Self {
        let octets = packet(
            DccpHeader {
                service_code: Some(config.service_code),
                ..DccpHeader::new(PacketType::Request, T_ISS)
            },
            options,
            data,
        );
        let request = DccpPacket::parse(&octets, t_to_d()).unwrap();
        let mut world = Self::new(Connection::accept(path(), config, n(iss), &request));
        world.t_gss = T_ISS;
        world.d.handle_packet(world.now_ns, Ecn::NotCapable, &request);
        world
    }

    /// Returns a world in which the device D is a server in RESPOND whose Response the tester T has
    /// received.
    pub(crate) fn server(config: ConnectionConfig) -> Self {
        let mut world = Self::server_with(config, D_ISS, &VECTORS, &[]);
        assert_eq!(world.take_one().packet_type(), PacketType::Response);
        world
    }

    /// Returns a world in which the device D is a server in OPEN with nothing left to send.
    pub(crate) fn open_server(config: ConnectionConfig) -> Self {
        let mut world = Self::server(config);
        world.now_ns += RTT;
        world.send(PacketType::Ack, &[35, 4, 6, 1, 33, 4, 6, 1], &[]);
        assert_eq!(world.d.state(), ConnectionState::Open);
        assert_eq!(world.d.poll_event(), Some(ConnectionEvent::Connected));
        world.settle();
        world
    }

    /// Returns a world in which the device D is a client in OPEN with nothing left to send.
    pub(crate) fn open_client(config: ConnectionConfig) -> Self {
        let mut world = Self::client(config);
        world.take();
        world.now_ns += RTT;
        world.send(PacketType::Response, &VECTORS, &[]);
        world.take();
        world.now_ns += RTT;
        world.send(PacketType::Ack, &[], &[]);
        assert_eq!(world.d.state(), ConnectionState::Open);
        assert_eq!(world.d.poll_event(), Some(ConnectionEvent::Connected));
        world.settle();
        world
    }

    /// Takes the packets that the device D still has to send, and confirms its Changes.
    pub(crate) fn settle(&mut self) {
        for _ in 0..10 {
            self.take();
            let confirms = core::mem::take(&mut self.confirms);
            if confirms.is_empty() {
                return;
            }
            self.now_ns += RTT;
            self.send(PacketType::Ack, &confirms, &[]);
        }
        panic!("the features do not settle");
    }

    fn answer_changes(&mut self, options: &[u8]) {
        for raw in DccpOptionIterator::new(options) {
            if let DccpOption::Feature { kind, feature, value } = raw.option
                && kind.is_change()
            {
                let is_list = feature != 3 && feature != 5;
                let value = if is_list { &value[..1] } else { value };
                // Confirm R answers Change L, Confirm L answers Change R.
                let number = if raw.number == 32 { 35 } else { 33 };
                self.confirms.extend([number, value.len() as u8 + 3, feature]);
                self.confirms.extend(value);
            }
        }
    }

    /// Returns all packets that the device D has to send now.
    pub(crate) fn take(&mut self) -> Vec<DevicePacket> {
        let mut packets = Vec::new();
        let mut buffer = [0; 2_000];
        while let Some(transmit) = self.d.poll_transmit(self.now_ns, &mut buffer) {
            let octets = buffer[..transmit.len].to_vec();
            let packet = DccpPacket::parse(&octets, t_to_d().reversed()).unwrap();
            self.answer_changes(packet.options);
            let (header, options) = (packet.header, packet.options.to_vec());
            let data = packet.data.to_vec();
            if header.packet_type != PacketType::Reset {
                self.t_gsr = header.sequence;
            }
            packets.push(DevicePacket { header, options, data, octets, transmit });
            assert!(packets.len() < 1_000, "D does not stop");
        }
        packets
    }

    pub(crate) fn take_one(&mut self) -> DevicePacket {
        let mut packets = self.take();
        assert_eq!(packets.len(), 1, "{packets:?}");
        packets.remove(0)
    }

    pub(crate) fn take_types(&mut self) -> Vec<PacketType> {
        self.take().iter().map(DevicePacket::packet_type).collect()
    }

    pub(crate) fn assert_quiet(&mut self) {
        assert_eq!(self.take_types(), []);
    }

    /// Sends the next packet of the tester T, which acknowledges the greatest number that T has
    /// received.
    pub(crate) fn send(&mut self, packet_type: PacketType, options: &[u8], data: &[u8]) {
        self.t_gss += 1;
        self.send_at(packet_type, self.t_gss, self.t_gsr, options, data);
    }

    /// Sends a packet of the tester T with these numbers.
    pub(crate) fn send_at(
        &mut self,
        packet_type: PacketType,
        sequence: u64,
        acknowledgement: u64,
        options: &[u8],
        data: &[u8],
    ) {
        let header = self.header(packet_type, sequence, acknowledgement);
        self.deliver(&packet(header, options, data));
    }

    pub(crate) fn header(&self, packet_type: PacketType, sequence: u64, number: u64) -> DccpHeader {
        DccpHeader {
            source_port: 40_000,
            destination_port: 5_001,
            acknowledgement: packet_type.has_acknowledgement().then_some(n(number).value()),
            service_code: packet_type.has_service_code().then_some(ServiceCode::new(7)),
            reset: (packet_type == PacketType::Reset).then(|| Reset::plain(ResetCode::Closed)),
            ..DccpHeader::new(packet_type, n(sequence).value())
        }
    }

    pub(crate) fn deliver(&mut self, octets: &[u8]) {
        self.d.handle_datagram(self.now_ns, self.ecn, octets);
    }

    /// Lets time pass, with all timers on the way. Returns the packets that the device D sends
    /// meanwhile, with the times.
    pub(crate) fn pass(&mut self, duration_ns: u64) -> Vec<(u64, DevicePacket)> {
        let end_ns = self.now_ns + duration_ns;
        let mut packets = Vec::new();
        loop {
            let now_ns = self.now_ns;
            packets.extend(self.take().into_iter().map(|out| (now_ns, out)));
            match self.d.poll_timeout() {
                Some(at_ns) if at_ns <= end_ns => {
                    self.now_ns = at_ns.max(self.now_ns);
                    self.d.handle_timeout(self.now_ns);
                }
                _ => break,
            }
        }
        self.now_ns = end_ns;
        packets
    }

    /// Returns the datagrams that the application gets.
    pub(crate) fn received(&mut self) -> Vec<Vec<u8>> {
        let mut datagrams = Vec::new();
        while let Some(event) = self.d.poll_event() {
            if let ConnectionEvent::Received(data) = event {
                datagrams.push(data);
            }
        }
        datagrams
    }

    pub(crate) fn gsr(&self) -> u64 {
        self.d.greatest_numbers().1.value()
    }
}

/// Returns the bytes of a packet of the tester T.
pub(crate) fn packet(header: DccpHeader, options: &[u8], data: &[u8]) -> Vec<u8> {
    let header = DccpHeader { source_port: 40_000, destination_port: 5_001, ..header };
    let mut buffer = [0; 3_000];
    let len = header.write(options, data, t_to_d(), &mut buffer).unwrap();
    buffer[..len].to_vec()
}

/// Returns worlds of both roles, for cases that hold for either.
pub(crate) fn open_worlds() -> [ConformanceSimulation; 2] {
    let worlds = [
        ConformanceSimulation::open_server(config_2()),
        ConformanceSimulation::open_client(config_2()),
    ];
    assert_eq!(worlds[0].d.role(), Role::Server);
    worlds
}

/// Writes the checksum of a packet of the tester T again, after its bytes were changed.
pub(crate) fn seal(octets: &mut [u8]) {
    octets[6..8].fill(0);
    let sum = t_to_d().pseudo_header(octets.len()).unwrap().with(octets).finish();
    octets[6..8].copy_from_slice(&sum.to_be_bytes());
}
