//! Tests of clients on the generator's link on virtual time: the frames that reach each client, and
//! the answers to ARP requests for an address.

use std::net::{Ipv4Addr, SocketAddrV4};

use base::time::NS_PER_S;
use dhcp_load::perfdhcp::dialect::ExchangeKind;
use dhcp_load::perfdhcp::dialect4::Dialect4;
use dhcp_load::perfdhcp::lifecycle::LifecycleSettings;
use dhcp_load::perfdhcp::rules::RequestRules;
use dhcp_load::perfdhcp::traffic::{LinkCounts, RequestTraffic};
use dhcp_load::v4::answer::kind;
use dhcp_load::v4::template::Dhcp4MessageExtras;
use dhcp_load::wire::OutgoingMessage;
use dhcp_load::wire::ReceivedDatagram;
use packet_wire::ethernet::MacAddress;
use packet_wire::frame::Endpoints;

use crate::common::{Dhcp4TestRequest, MS, RELAY, SERVER};
use crate::perfdhcp::world::{ExchangeKindCounts, START_NS, personas, rules};

const CLIENTS: u32 = 50;
const SERVER_MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
/// Hardware address of another station on the link.
const STRANGER: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);

fn mac(client: u32) -> MacAddress {
    MacAddress(personas(CLIENTS).mac(client))
}

/// Clients on a link with a server that the test scripts.
struct DirectClientSimulation {
    traffic: RequestTraffic<Dialect4>,
    now_ns: u64,
    buffer: Vec<u8>,
}

impl DirectClientSimulation {
    fn new(rules: RequestRules) -> Self {
        let dialect = Dialect4::new(
            personas(CLIENTS),
            vec![Ipv4Addr::UNSPECIFIED],
            &Dhcp4MessageExtras::default(),
            false,
        )
        .direct([68, 67], false);
        let mut traffic = RequestTraffic::new(dialect, personas(CLIENTS), rules);
        traffic.starts_at(START_NS);
        Self { traffic, now_ns: START_NS, buffer: vec![0; 400] }
    }

    /// Returns the message of a request, once it has left, with the source and destination of its
    /// frame.
    fn sent(&mut self, outgoing: Option<OutgoingMessage>) -> (Vec<u8>, Endpoints) {
        let outgoing = outgoing.expect("there is a message");
        self.now_ns += MS;
        self.traffic.record_sent(outgoing.number, self.now_ns);
        (self.buffer[..outgoing.len].to_vec(), outgoing.endpoints.expect("it leaves in a frame"))
    }

    /// Sends the next client's first request.
    fn begin(&mut self) -> Vec<u8> {
        let outgoing = self.traffic.begin(self.now_ns, &mut self.buffer, true);
        self.sent(outgoing).0
    }

    /// Receives `octets` from the server, sent to the station `to`. Returns the message that they
    /// call for.
    fn comes(&mut self, octets: &[u8], to: MacAddress) -> Option<(Vec<u8>, Endpoints)> {
        self.now_ns += MS;
        let endpoints = Some(Endpoints {
            source_mac: SERVER_MAC,
            destination_mac: to,
            source: SocketAddrV4::new(SERVER, 67),
            destination: SocketAddrV4::new(
                if to.is_group() { Ipv4Addr::BROADCAST } else { RELAY },
                68,
            ),
        });
        let incoming = ReceivedDatagram { octets, endpoints, is_damaged: false };
        let outgoing = self.traffic.process_datagram(self.now_ns, &incoming, &mut self.buffer);
        outgoing.map(|outgoing| self.sent(Some(outgoing)))
    }

    /// Gets a lease for the next client. Returns its address.
    fn lease(&mut self) -> Ipv4Addr {
        let discover = self.begin();
        let request = Dhcp4TestRequest { octets: &discover };
        let station = mac(request.client());
        let (octets, _) = self.comes(&request.good(), station).expect("an offer is taken up");
        let request = Dhcp4TestRequest { octets: &octets };
        assert!(self.comes(&request.good(), station).is_none());
        request.own_address()
    }

    fn holder(&mut self, address: Ipv4Addr) -> Option<MacAddress> {
        self.traffic.holder(self.now_ns, address).map(MacAddress)
    }

    fn counts(&self, kind: ExchangeKind) -> ExchangeKindCounts {
        let account = &self.traffic.accounts[kind.index()];
        ExchangeKindCounts {
            sent: account.sent(),
            on_time: account.on_time(),
            wrong_client: account.ledger.count(load::ExchangeClass::WrongClient),
            duplicates: account.duplicates,
            unmatched: account.unmatched,
            malformed: account.malformed,
            ..ExchangeKindCounts::default()
        }
    }
}

#[test]
fn an_answer_is_taken_by_broadcast_or_by_the_station_that_it_is_for() {
    let mut simulation = DirectClientSimulation::new(rules(1));
    for to in [mac(0), MacAddress::BROADCAST] {
        let discover = simulation.begin();
        let request = Dhcp4TestRequest { octets: &discover };
        assert_eq!(discover[24..28], [0; 4], "no relay");
        assert!(simulation.comes(&request.good(), to).is_some());
    }
    let link = LinkCounts { broadcast: 1, unicast: 1, ..LinkCounts::default() };
    assert_eq!((simulation.traffic.link, simulation.traffic.received), (link, 2));
    let discover = simulation.begin();
    // Client 2's reply, sent to client 3: neither client has got its reply.
    assert!(simulation.comes(&Dhcp4TestRequest { octets: &discover }.good(), mac(3)).is_none());
    assert!(simulation.comes(&Dhcp4TestRequest { octets: &discover }.good(), STRANGER).is_none());
    let expected =
        ExchangeKindCounts { sent: 3, on_time: 2, unmatched: 1, ..ExchangeKindCounts::default() };
    assert_eq!(simulation.counts(ExchangeKind::First), expected);
    let link = LinkCounts { broadcast: 1, unicast: 2, overheard: 1, arp_answered: 0 };
    assert_eq!((simulation.traffic.link, simulation.traffic.received), (link, 3));
}

#[test]
fn what_others_on_the_link_are_told_is_overheard_and_strays_for_us_are_not() {
    let mut simulation = DirectClientSimulation::new(rules(1));
    let discover = simulation.begin();
    let good = Dhcp4TestRequest { octets: &discover }.good();
    let mut foreign = good.clone();
    foreign[4..8].copy_from_slice(&[0xde, 0xad, 0xbe, 0xef]);
    let ours = foreign.clone();
    foreign[28..34].copy_from_slice(&STRANGER.0);
    assert!(simulation.comes(&foreign, MacAddress::BROADCAST).is_none());
    assert_eq!((simulation.traffic.link.overheard, simulation.traffic.received), (1, 0));
    // A reply of no exchange, but for one of the clients.
    assert!(simulation.comes(&ours, MacAddress::BROADCAST).is_none());
    assert_eq!((simulation.traffic.link.overheard, simulation.traffic.received), (1, 1));
    let strays: u64 = simulation.traffic.accounts.iter().map(|account| account.unmatched).sum();
    assert_eq!(strays, 1);
    // A reply of our exchange, with a stranger's name in it, by broadcast and to the client.
    let mut wrong = good.clone();
    wrong[28..34].copy_from_slice(&STRANGER.0);
    assert!(simulation.comes(&wrong, MacAddress::BROADCAST).is_none());
    assert_eq!(simulation.counts(ExchangeKind::First).wrong_client, 1);
    assert!(simulation.comes(&good, mac(0)).is_none());
    assert_eq!(simulation.counts(ExchangeKind::First).duplicates, 1);
}

#[test]
fn what_no_station_would_take_is_malformed_and_answers_nothing() {
    let mut simulation = DirectClientSimulation::new(rules(1));
    let discover = simulation.begin();
    let octets = Dhcp4TestRequest { octets: &discover }.good();
    let incoming = ReceivedDatagram { is_damaged: true, ..ReceivedDatagram::from_udp(&octets) };
    assert_eq!(
        simulation.traffic.process_datagram(simulation.now_ns, &incoming, &mut simulation.buffer),
        None
    );
    assert_eq!((simulation.traffic.malformed, simulation.traffic.too_short), (1, 0));
    assert_eq!(
        simulation.counts(ExchangeKind::First),
        ExchangeKindCounts { sent: 1, ..ExchangeKindCounts::default() }
    );
    assert!(simulation.comes(&octets, mac(0)).is_some(), "the true one is still awaited");
}

#[test]
fn who_is_given_an_address_answers_for_it_until_it_is_given_back() {
    let with_arp = RequestRules { answers_arp: true, keeps_leases: true, ..rules(1) };
    let mut simulation = DirectClientSimulation::new(with_arp);
    let discover = simulation.begin();
    let request = Dhcp4TestRequest { octets: &discover };
    let address = request.own_address();
    let (octets, _) = simulation.comes(&request.good(), mac(0)).expect("an offer is taken up");
    assert_eq!(simulation.holder(address), None, "an offer is no lease");
    simulation.comes(&Dhcp4TestRequest { octets: &octets }.good(), mac(0));
    assert_eq!(simulation.holder(address), Some(mac(0)));
    // The client announces the address once.
    assert_eq!(simulation.traffic.announcement(), Some((mac(0).0, address)));
    assert_eq!(simulation.traffic.announcement(), None);
    assert_eq!(simulation.holder(Ipv4Addr::new(10, 1, 2, 3)), None);
    assert_eq!(simulation.traffic.link.arp_answered, 1);
    let now_ns = simulation.now_ns;
    let outgoing = simulation.traffic.begin_on_lease(
        ExchangeKind::Release,
        now_ns,
        now_ns,
        &mut simulation.buffer,
    );
    let (_, endpoints) = simulation.sent(outgoing);
    assert_eq!((*endpoints.source.ip(), *endpoints.destination.ip()), (address, SERVER));
    assert_eq!(endpoints.destination_mac, SERVER_MAC);
    assert_eq!(simulation.holder(address), None);
    // The address of another client, until its lease ends.
    let address = simulation.lease();
    assert_eq!(simulation.holder(address), Some(mac(1)));
    simulation.now_ns += 3_600 * NS_PER_S;
    assert_eq!(simulation.holder(address), None);
}

#[test]
fn a_refused_renewal_ends_the_answering_and_without_the_flag_nobody_answers() {
    for answers_arp in [true, false] {
        let mut simulation = DirectClientSimulation::new(RequestRules {
            answers_arp,
            keeps_leases: true,
            ..rules(1)
        });
        let address = simulation.lease();
        assert_eq!(simulation.traffic.announcement().is_some(), answers_arp);
        assert_eq!(simulation.holder(address).is_some(), answers_arp);
        let now_ns = simulation.now_ns;
        let outgoing = simulation.traffic.begin_on_lease(
            ExchangeKind::Renewal,
            now_ns,
            now_ns,
            &mut simulation.buffer,
        );
        let (octets, endpoints) = simulation.sent(outgoing);
        assert_eq!((*endpoints.source.ip(), endpoints.destination_mac), (address, SERVER_MAC));
        let nak = Dhcp4TestRequest { octets: &octets }.answer(kind::NAK, Ipv4Addr::UNSPECIFIED);
        simulation.comes(&nak, mac(0));
        assert_eq!(simulation.holder(address), None);
    }
}

#[test]
fn a_client_that_is_away_does_not_answer_until_it_is_back() {
    let habits = LifecycleSettings {
        clients: 1,
        speed: 1.0,
        stay_s: Some(1.0),
        away_s: 1.0,
        releasing_percent: 0,
        informing_percent: 0,
        declining_percent: 0,
    };
    let mut simulation = DirectClientSimulation::new(RequestRules {
        answers_arp: true,
        habits: Some(habits),
        ..rules(1)
    });
    let address = simulation.lease();
    assert_eq!(simulation.holder(address), Some(mac(0)));
    // The client leaves silently, which sends nothing, and comes back.
    let mut reboot = None;
    while reboot.is_none() {
        simulation.now_ns = simulation.traffic.next_life_ns().expect("it goes on");
        reboot =
            simulation.traffic.begin_lifecycle_exchange(simulation.now_ns, &mut simulation.buffer);
        assert_eq!(
            simulation.holder(address),
            None,
            "it is away, or has not been told that it may"
        );
    }
    let (octets, endpoints) = simulation.sent(reboot);
    assert!(endpoints.source.ip().is_unspecified());
    simulation.comes(&Dhcp4TestRequest { octets: &octets }.good(), mac(0));
    assert_eq!(simulation.holder(address), Some(mac(0)));
}
