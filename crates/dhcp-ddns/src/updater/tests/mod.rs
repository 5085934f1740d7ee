//! Worlds of an updater and a model DNS server on a virtual clock: with losses, failing servers and
//! crashes, the zones end as if the requests were carried out one after the other.

mod server;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use base::time::NS_PER_MS;
use base::{Now, Random};
use dhcp_config::{ConfigParseOptions, NoIncludes, parse_ddns};
use ncr::{ConflictMode, Dhcid, NameChangeKind, NameChangeRequest, UpdateName};

use super::{Updater, UpdaterOutput};
use crate::journal::{JournalEntries, JournalLine};
use crate::zones::DnsZones;
use server::ModelServer;

const CONFIG: &str = r#"{ "DhcpDdns": {
    "forward-ddns": { "ddns-domains": [
        { "name": "example.", "dns-servers": [ { "ip-address": "10.0.0.1" },
                                               { "ip-address": "10.0.0.2" } ] },
        { "name": "sub.example", "dns-servers": [ { "ip-address": "10.0.0.2" } ] } ] },
    "reverse-ddns": { "ddns-domains": [
        { "name": "10.in-addr.arpa.", "dns-servers": [ { "ip-address": "10.0.0.2" },
                                                       { "ip-address": "10.0.0.1" } ] },
        { "name": "8.b.d.0.1.0.0.2.ip6.arpa.",
          "dns-servers": [ { "ip-address": "10.0.0.1" } ] } ] } } }"#;

fn zones() -> DnsZones {
    let options = ConfigParseOptions::default();
    let checked = parse_ddns(&options, "test", CONFIG, &mut NoIncludes);
    DnsZones::from_config(&checked.unwrap_or_else(|problems| panic!("{problems:?}")).config.zones)
}

fn request(random: &mut Random) -> NameChangeRequest {
    let names = ["a.example.", "A.Example.", "b.example.", "b.sub.example.", "c.sub.example."];
    let addresses = ["10.0.0.9", "10.0.1.9", "10.0.2.9", "2001:db8::1", "2001:db8::2"];
    let name = UpdateName::from_text(random.pick(&names).unwrap()).unwrap();
    let client = random.below(3) as u8;
    NameChangeRequest {
        kind: if random.chance(1, 2) { NameChangeKind::Add } else { NameChangeKind::Remove },
        forward: random.chance(5, 6),
        reverse: true,
        dhcid: Dhcid::from_bytes(&[0, 1, 1, client]).unwrap(),
        name,
        address: random.pick(&addresses).unwrap().parse().unwrap(),
        ttl_s: 600,
        conflict_mode: *random.pick(&ConflictMode::ALL).unwrap(),
    }
}

/// Effects of a world that are under way.
enum NetworkArrival {
    Update(SocketAddr, Vec<u8>, Option<u64>),
    Answer(SocketAddr, Vec<u8>, Option<u64>),
}

/// World of one updater, a network and a server with two addresses.
struct World {
    random: Random,
    now: Now,
    updater: Updater,
    server: ModelServer,
    journal: String,
    arrivals: BTreeMap<(u64, u64), NetworkArrival>,
    next_arrival: u64,
    /// Share of datagrams that are lost, in percent.
    loss: u64,
    /// Time until which the server answers nothing.
    down_until_ns: u64,
    log: Vec<String>,
    max_in_flight: usize,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random::from_seed(seed);
        Self {
            updater: Updater::new(zones(), random.fork(1)),
            now: Now { mono_ns: 1, wall_us: 1_800_000_000_000_000 },
            server: ModelServer::default(),
            journal: String::new(),
            arrivals: BTreeMap::new(),
            next_arrival: 0,
            loss: random.below(30),
            down_until_ns: 0,
            log: Vec::new(),
            max_in_flight: 0,
            random,
        }
    }

    fn arrive(&mut self, arrival: NetworkArrival) {
        let delay_ns = (1 + self.random.below(40)) * NS_PER_MS;
        self.arrivals.insert((self.now.mono_ns + delay_ns, self.next_arrival), arrival);
        self.next_arrival += 1;
    }

    fn carry_out(&mut self) {
        self.max_in_flight = self.max_in_flight.max(self.updater.in_flight());
        while let Some(output) = self.updater.poll_output() {
            match output {
                UpdaterOutput::Datagram { to, bytes } => {
                    if !self.random.chance(self.loss, 100) {
                        self.arrive(NetworkArrival::Update(to, bytes, None));
                    }
                }
                UpdaterOutput::Stream { exchange, to, bytes, .. } => {
                    self.arrive(NetworkArrival::Update(to, bytes, Some(exchange)));
                }
                UpdaterOutput::Finished(number) => {
                    JournalLine::Finished(number).write(&mut self.journal);
                }
                UpdaterOutput::Notice(notice) => self.log.push(notice.id),
            }
        }
    }

    /// Moves to the next event and carries it out; returns false if there is none.
    fn step(&mut self) -> bool {
        let arrival = self.arrivals.first_key_value().map(|((at, _), _)| *at);
        let Some(at) = arrival.into_iter().chain(self.updater.next_due_ns()).min() else {
            return false;
        };
        self.now = self.now.after_ns(at.saturating_sub(self.now.mono_ns));
        if arrival == Some(at) {
            let (_, arrival) = self.arrivals.pop_first().unwrap();
            self.take(arrival);
        } else {
            self.updater.handle_timeout(self.now);
        }
        self.carry_out();
        true
    }

    fn take(&mut self, arrival: NetworkArrival) {
        match arrival {
            NetworkArrival::Update(at, bytes, stream) => {
                if self.now.mono_ns < self.down_until_ns {
                    return;
                }
                let mut answer = self.server.answer(&bytes);
                if stream.is_none() && self.random.chance(1, 20) {
                    answer[2] |= 2;
                }
                if stream.is_some() || !self.random.chance(self.loss, 100) {
                    self.arrive(NetworkArrival::Answer(at, answer, stream));
                }
            }
            NetworkArrival::Answer(from, bytes, None) => {
                self.updater.handle_datagram(from, &bytes, self.now);
            }
            NetworkArrival::Answer(_, bytes, Some(exchange)) => {
                self.updater.handle_stream(exchange, Some(&bytes), self.now);
            }
        }
    }

    /// Ends the updater without warning, and starts another from the journal.
    fn crash(&mut self) {
        let cut = self.journal.rfind('\n').map_or(0, |end| end + 1);
        self.journal.truncate(cut);
        let entries = JournalEntries::read(self.journal.as_bytes());
        assert_eq!(entries.damaged_lines, 0);
        self.updater = Updater::new(zones(), self.random.fork(2));
        // Answers to the earlier process find no port.
        self.arrivals.retain(|_, arrival| matches!(arrival, NetworkArrival::Update(..)));
        for (number, request) in entries.pending {
            self.updater.accept(number, request, self.now);
        }
        self.carry_out();
    }
}

/// Carries out requests one after the other without faults.
fn expected(requests: &[NameChangeRequest]) -> ModelServer {
    let mut world = World::new(0);
    world.loss = 0;
    for (number, request) in (0..).zip(requests) {
        world.updater.accept(number, request.clone(), world.now);
        world.carry_out();
        while world.updater.pending() > 0 {
            assert!(world.step());
        }
    }
    world.server
}

fn play(seed: u64) {
    let mut world = World::new(seed);
    let mut requests = Vec::new();
    for number in 0..60 {
        let request = request(&mut world.random);
        JournalLine::Arrived(number, &request).write(&mut world.journal);
        world.updater.accept(number, request.clone(), world.now);
        requests.push(request);
        world.carry_out();
        for _ in 0..world.random.below(6) {
            world.step();
        }
        if world.random.chance(1, 25) {
            let down_ms = world.random.below(20_000);
            world.down_until_ns = world.now.mono_ns + down_ms * NS_PER_MS;
        }
        if world.random.chance(1, 30) {
            world.crash();
        }
    }
    let mut steps = 0;
    while world.updater.pending() > 0 {
        assert!(world.step(), "seed {seed}: requests wait for nothing");
        steps += 1;
        assert!(steps < 100_000, "seed {seed}: no end");
    }
    let again = format!("repeat: GODWIT_DDNS_SEED={seed} cargo test -p dhcp-ddns worlds");
    assert_eq!(world.server, expected(&requests), "seed {seed}; {again}");
    assert!(JournalEntries::read(world.journal.as_bytes()).pending.is_empty(), "seed {seed}");
}

#[test]
fn worlds_end_as_if_requests_were_carried_out_in_order() {
    if let Some(seed) = std::env::var("GODWIT_DDNS_SEED").ok().and_then(|seed| seed.parse().ok()) {
        return play(seed);
    }
    (0..300).for_each(play);
}

fn add(name: &str, address: &str) -> NameChangeRequest {
    NameChangeRequest {
        kind: NameChangeKind::Add,
        forward: true,
        reverse: false,
        name: UpdateName::from_text(name).unwrap(),
        address: address.parse().unwrap(),
        dhcid: Dhcid::from_bytes(&[0, 1, 1, 7]).unwrap(),
        ttl_s: 600,
        conflict_mode: ConflictMode::CheckWithDhcid,
    }
}

#[test]
fn a_silent_zone_pauses_with_one_line_and_keeps_its_requests() {
    let mut world = World::new(1);
    (world.loss, world.down_until_ns) = (0, 300_000 * NS_PER_MS);
    for number in 0..1_000 {
        let request = add(&format!("n{number}.example."), &format!("10.1.{}.1", number % 200));
        world.updater.accept(number, request, world.now);
        world.carry_out();
    }
    let mut sent = 0;
    while world.now.mono_ns < world.down_until_ns {
        assert!(world.step());
        sent = world.updater.counts().updates.sent;
    }
    // 32 at the first two servers three times each; then one at a time, with longer and longer
    // pauses.
    assert!(sent < 300, "{sent}");
    assert_eq!(world.updater.pending(), 1_000);
    let count = |world: &World, id: &str| world.log.iter().filter(|line| *line == id).count();
    while world.updater.pending() > 0 {
        assert!(world.step());
    }
    assert_eq!(count(&world, "DHCP_DDNS_ZONE_RESUMED"), 1);
    assert_eq!(count(&world, "DHCP_DDNS_ADD_SUCCEEDED"), 1_000);
    assert_eq!(world.server.names.len(), 1_000);
    assert_eq!(world.max_in_flight, 32);
}

#[test]
fn names_without_a_zone_are_given_up_however_many_wait() {
    let mut world = World::new(2);
    for number in 0..20_000 {
        world.updater.accept(number, add("a.other.", "10.0.0.1"), world.now);
    }
    world.carry_out();
    assert_eq!(world.updater.pending(), 0);
    assert_eq!(world.updater.counts().failed, 20_000);
    assert_eq!(world.log[0], "DHCP_DDNS_NO_FWD_MATCH_ERROR");
}
