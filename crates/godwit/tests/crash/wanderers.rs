//! Clients behind a relay agent that knows several servers of the same link: each asks one server at a
//! time, keeps its address at whichever it asks next, and turns to another one when there is no answer.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base::Random;

use crate::crash::chronicle::{Chronicle, Event};
use crate::crash::family::{Answer, Ask, Family, Message};
use crate::crash::galera::SERVERS;

/// Clients altogether.
const CLIENTS: u32 = 256;
/// Messages that wait for the answers of one server at a time, at most.
pub(crate) const MANY: usize = 16;
/// The same while something else needs the processors.
pub(crate) const FEW: usize = 2;
/// After so long without an answer a message is sent again, as clients do.
const RETRANSMISSION: Duration = Duration::from_millis(500);
/// How often; then the client turns to some server anew.
const RETRANSMISSIONS_MAX: u32 = 4;
/// How long a client asks nobody else than the server that it sent a release to, unless that one has
/// given it an address since: it has to hear of the release before others hear of the client, and
/// tables do not tell more than seconds apart.
const SETTLING: Duration = Duration::from_secs(20);
/// A server that acknowledges nothing for so long will not do it any more. A client whose request for
/// an offered address went unanswered asks nobody else meanwhile, unless that server has given it an
/// address since: the request may still lie in the server's socket, and taking it frees, as in Kea,
/// what the client was given elsewhere.
const SILENCE_MAX: Duration = Duration::from_secs(600);
/// Between two looks at what waits.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A message that waits for its answer.
#[derive(Clone, Copy, Debug)]
struct Pending {
    client: u32,
    server: usize,
    ask: Ask,
    /// When it was sent first, seconds since 1970.
    since_s: u64,
    sent_at: Instant,
    retransmissions: u32,
}

/// All clients of the servers.
pub(crate) struct Wanderers {
    family: Family,
    socket: UdpSocket,
    ports: [u16; SERVERS],
    server_ids: [Vec<u8>; SERVERS],
    random: Random,
    /// By transaction identifier.
    pending: BTreeMap<u32, Pending>,
    next_xid: u32,
    /// Clients that sent a release or gave up a request, to whom, and until when nobody else is
    /// asked.
    settling: BTreeMap<u32, (usize, Instant)>,
    /// [`MANY`] or [`FEW`].
    pub(crate) in_flight_max: usize,
    pub(crate) chronicle: Chronicle,
    /// Messages sent.
    pub(crate) sent: u64,
    /// Messages that were never answered.
    pub(crate) given_up: u64,
}

impl Wanderers {
    /// Clients behind a relay agent at `relay_port`, of servers at `ports` with these identifiers.
    pub(crate) fn new(
        family: Family,
        (ports, relay_port): ([u16; SERVERS], u16),
        server_ids: [Vec<u8>; SERVERS],
        seed: u64,
    ) -> Self {
        let socket = UdpSocket::bind((family.loopback, relay_port)).expect("the port was free");
        socket.set_read_timeout(Some(LOOK_EVERY)).expect("it is not zero");
        Self {
            family,
            socket,
            ports,
            server_ids,
            random: Random::from_seed(seed),
            pending: BTreeMap::new(),
            next_xid: 1,
            settling: BTreeMap::new(),
            in_flight_max: MANY,
            chronicle: Chronicle::default(),
            sent: 0,
            given_up: 0,
        }
    }

    /// Acts until every server has acknowledged `count` leases more.
    pub(crate) fn act_until_acknowledged(&mut self, count: u64) -> Result<(), String> {
        let enough = self.chronicle.acknowledged.map(|acknowledged| acknowledged + count);
        let is_short = move |acknowledged: [u64; SERVERS]| {
            acknowledged.iter().zip(enough).any(|(&found, wanted)| found < wanted)
        };
        self.act_while(|chronicle| is_short(chronicle.acknowledged))
    }

    /// Acts as long as `goes_on`, whether there are answers or not.
    pub(crate) fn act_while(&mut self, goes_on: impl Fn(&Chronicle) -> bool) -> Result<(), String> {
        let mut heard =
            self.chronicle.acknowledged.map(|acknowledged| (acknowledged, Instant::now()));
        while goes_on(&self.chronicle) {
            self.begin_all();
            self.receive()?;
            self.repeat_overdue();
            for (server, (count, since)) in heard.iter_mut().enumerate() {
                if self.chronicle.acknowledged[server] > *count {
                    (*count, *since) = (self.chronicle.acknowledged[server], Instant::now());
                }
                if since.elapsed() > SILENCE_MAX {
                    return Err(format!("server {server} has acknowledged nothing for so long"));
                }
            }
        }
        Ok(())
    }

    /// Takes what was sent to clients, and begins nothing.
    pub(crate) fn receive_all(&mut self) -> Result<(), String> {
        while self.receive()? {}
        Ok(())
    }

    /// Every server has as much to do as it may have.
    fn begin_all(&mut self) {
        let mut in_flight = [0; SERVERS];
        self.pending.values().for_each(|pending| in_flight[pending.server] += 1);
        for (server, in_flight) in in_flight.into_iter().enumerate() {
            for _ in in_flight..self.in_flight_max {
                self.begin_any(server);
            }
        }
    }

    /// Some client that waits for nothing begins something with `server`.
    fn begin_any(&mut self, server: usize) {
        let now = Instant::now();
        self.settling.retain(|_, (_, until)| *until > now);
        let is_idle = |client: &u32| {
            let is_elsewhere = |(to, _): &(usize, Instant)| *to != server;
            !self.settling.get(client).is_some_and(is_elsewhere)
                && !self.pending.values().any(|pending| pending.client == *client)
        };
        let first = self.random.below(u64::from(CLIENTS)) as u32;
        let Some(client) = (0..CLIENTS).map(|n| (first + n) % CLIENTS).find(is_idle) else {
            return;
        };
        let ask = match (self.chronicle.lease_of(client), self.random.below(10)) {
            (Some(address), 0..6) => Ask::Renewal(address),
            (Some(address), _) => Ask::Release(address),
            (None, _) => Ask::Offer,
        };
        self.send(client, server, ask);
    }

    fn send(&mut self, client: u32, server: usize, ask: Ask) {
        let xid = self.next_xid;
        self.next_xid += 1;
        let sent_at = Instant::now();
        let since_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        if let Ask::Release(address) = ask {
            self.chronicle.given_back(address);
            self.settling.insert(client, (server, sent_at + SETTLING));
        }
        let pending = Pending { client, server, ask, since_s, sent_at, retransmissions: 0 };
        if !matches!(ask, Ask::Release(_)) {
            self.pending.insert(xid, pending);
        }
        self.transmit(xid, pending);
    }

    fn transmit(&mut self, xid: u32, pending: Pending) {
        let Pending { client, server, ask, retransmissions, .. } = pending;
        let is_repeated = retransmissions > 0;
        self.chronicle.note(Event::Asked { xid, client, server, ask, is_repeated });
        let message = Message { client, xid, ask, server: &self.server_ids[server] };
        let octets = (self.family.write)(&message);
        let to = SocketAddr::new(self.family.loopback, self.ports[server]);
        self.socket.send_to(&octets, to).expect("loopback takes datagrams");
        self.sent += 1;
    }

    /// Sends again what waits for too long, or gives it up.
    fn repeat_overdue(&mut self) {
        let now = Instant::now();
        let overdue = |pending: &Pending| now - pending.sent_at >= RETRANSMISSION;
        let waiting: Vec<u32> =
            self.pending.iter().filter(|(_, p)| overdue(p)).map(|(&xid, _)| xid).collect();
        for xid in waiting {
            let pending = self.pending.get_mut(&xid).expect("it was found there");
            if pending.retransmissions == RETRANSMISSIONS_MAX {
                let Pending { client, server, ask, .. } = *pending;
                if matches!(ask, Ask::Lease(_)) {
                    self.settling.insert(client, (server, now + SILENCE_MAX));
                }
                self.pending.remove(&xid);
                self.chronicle.note(Event::GivenUp { xid });
                self.given_up += 1;
                continue;
            }
            pending.retransmissions += 1;
            pending.sent_at = now;
            let again = *pending;
            self.transmit(xid, again);
        }
    }

    /// Takes one answer, if one comes soon; whether one came.
    fn receive(&mut self) -> Result<bool, String> {
        let mut buffer = [0; 2048];
        match self.socket.recv_from(&mut buffer) {
            Ok((len, from)) => self.hear(from.port(), &buffer[..len]).map(|()| true),
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                ) =>
            {
                Ok(false)
            }
            Err(error) => panic!("the clients' socket: {error}"),
        }
    }

    fn hear(&mut self, port: u16, octets: &[u8]) -> Result<(), String> {
        let answer = (self.family.read)(octets).ok_or("an answer that cannot be read")?;
        let Answer { xid, is_offer, address, .. } = answer;
        // A refusal names the address that the server listens at, which they share.
        let server = self.ports.iter().position(|own| *own == port);
        let server = server.ok_or("an answer of a stranger")?;
        self.chronicle.note(Event::Answered { xid, server, is_offer, address });
        // What is not waited for was sent twice, or comes too late for the client to care.
        let Some(pending) = self.pending.remove(&xid) else { return Ok(()) };
        let Pending { client, ask, since_s, .. } = pending;
        match (ask, address) {
            (Ask::Offer, Some(address)) if is_offer => {
                self.send(client, server, Ask::Lease(address));
                Ok(())
            }
            (Ask::Lease(asked) | Ask::Renewal(asked), Some(address))
                if !is_offer && asked == address =>
            {
                if self.settling.get(&client).is_some_and(|&(to, _)| to == server) {
                    self.settling.remove(&client);
                }
                self.chronicle.granted(server, client, address, since_s)
            }
            (Ask::Lease(_) | Ask::Renewal(_), None) => self.chronicle.refused(client),
            _ => Err(format!("{pending:?} was told {address:?}")),
        }
    }
}
