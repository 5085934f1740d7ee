//! Clients behind a relay agent that knows several servers of the same link: each sends to one
//! server at a time, keeps its address at the next one, and changes the server when there is no
//! reply.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base::Random;

use crate::crash::chronicle::{Chronicle, HistoryEvent};
use crate::crash::family::{CrashFamily, CrashMessage, CrashReply, CrashRequest};
use crate::crash::galera::SERVERS;

/// Number of clients.
const CLIENTS: u32 = 256;
/// Maximum of messages that wait for replies of one server at a time.
pub(crate) const MANY: usize = 16;
/// Maximum of messages that wait for replies of one server while something else needs the
/// processors.
pub(crate) const FEW: usize = 2;
/// Time without a reply after which a client sends a message again.
const RETRANSMISSION: Duration = Duration::from_millis(500);
/// Maximum of retransmissions; after them the client chooses a server anew.
const RETRANSMISSIONS_MAX: u32 = 4;
/// Time for which a client sends only to the server that it sent a release to, unless that server
/// has given it an address since: the server must receive the release before other servers receive
/// messages of the client, and tables do not tell times apart by less than a second.
const SETTLING: Duration = Duration::from_secs(60);
/// Time after which a server that has acknowledged nothing will not do so any more. A client whose
/// request for an offered address went unanswered sends to no other server meanwhile, unless that
/// server has given it an address since: the request may still be in the server's socket, and the
/// server that processes it frees, as in Kea, the address that the client has from another server.
const SILENCE_MAX: Duration = Duration::from_secs(600);
/// Interval between two looks at the waiting messages.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Message that waits for its reply.
#[derive(Clone, Copy, Debug)]
struct PendingClusterMessage {
    client: u32,
    server: usize,
    ask: CrashRequest,
    /// Time of the first transmission, in seconds since 1970.
    since_s: u64,
    sent_at: Instant,
    retransmissions: u32,
}

/// Clients of the servers.
pub(crate) struct Wanderers {
    family: CrashFamily,
    socket: UdpSocket,
    ports: [u16; SERVERS],
    server_ids: [Vec<u8>; SERVERS],
    random: Random,
    /// Waiting messages by transaction identifier.
    pending: BTreeMap<u32, PendingClusterMessage>,
    next_xid: u32,
    /// Clients that sent a release or gave up a request, with the server and the time until which
    /// they send to no other.
    settling: BTreeMap<u32, (usize, Instant)>,
    /// Maximum of waiting messages per server: [`MANY`] or [`FEW`].
    pub(crate) in_flight_max: usize,
    pub(crate) chronicle: Chronicle,
    /// Number of messages sent.
    pub(crate) sent: u64,
    /// Number of messages that got no reply.
    pub(crate) abandoned: u64,
}

impl Wanderers {
    /// Makes clients behind a relay agent at `relay_port`, of servers at `ports` with these
    /// identifiers.
    pub(crate) fn new(
        family: CrashFamily,
        ports: [u16; SERVERS],
        relay_port: u16,
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
            abandoned: 0,
        }
    }

    /// Makes clients act until every server has acknowledged `count` more leases.
    pub(crate) fn act_until_acknowledged(&mut self, count: u64) -> Result<(), String> {
        let enough = self.chronicle.acknowledged.map(|acknowledged| acknowledged + count);
        let is_short = move |acknowledged: [u64; SERVERS]| {
            acknowledged.iter().zip(enough).any(|(&found, wanted)| found < wanted)
        };
        self.act_while(|chronicle| is_short(chronicle.acknowledged))
    }

    /// Makes clients act while `goes_on` returns true, with or without replies.
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

    /// Receives all replies that clients wait for, and begins no exchange.
    pub(crate) fn receive_all(&mut self) -> Result<(), String> {
        while self.receive()? {}
        Ok(())
    }

    /// Begins exchanges until every server has the maximum of waiting messages.
    fn begin_all(&mut self) {
        let mut in_flight = [0; SERVERS];
        self.pending.values().for_each(|pending| in_flight[pending.server] += 1);
        for (server, in_flight) in in_flight.into_iter().enumerate() {
            for _ in in_flight..self.in_flight_max {
                self.begin_any(server);
            }
        }
    }

    /// Makes a random client that waits for nothing begin an exchange with `server`.
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
            (Some(address), 0..6) => CrashRequest::Renewal(address),
            (Some(address), _) => CrashRequest::Release(address),
            (None, _) => CrashRequest::Offer,
        };
        self.send(client, server, ask);
    }

    fn send(&mut self, client: u32, server: usize, ask: CrashRequest) {
        let xid = self.next_xid;
        self.next_xid += 1;
        let sent_at = Instant::now();
        let since_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        if let CrashRequest::Release(address) = ask {
            self.chronicle.record_release(address);
            self.settling.insert(client, (server, sent_at + SETTLING));
        }
        let pending =
            PendingClusterMessage { client, server, ask, since_s, sent_at, retransmissions: 0 };
        if !matches!(ask, CrashRequest::Release(_)) {
            self.pending.insert(xid, pending);
        }
        self.transmit(xid, pending);
    }

    fn transmit(&mut self, xid: u32, pending: PendingClusterMessage) {
        let PendingClusterMessage { client, server, ask, retransmissions, .. } = pending;
        let is_repeated = retransmissions > 0;
        self.chronicle.note(HistoryEvent::Request { xid, client, server, ask, is_repeated });
        let message = CrashMessage { client, xid, ask, server: &self.server_ids[server] };
        let octets = (self.family.write)(&message);
        let to = SocketAddr::new(self.family.loopback, self.ports[server]);
        self.socket.send_to(&octets, to).expect("loopback takes datagrams");
        self.sent += 1;
    }

    /// Sends overdue messages again, or gives them up.
    fn repeat_overdue(&mut self) {
        let now = Instant::now();
        let overdue = |pending: &PendingClusterMessage| now - pending.sent_at >= RETRANSMISSION;
        let waiting: Vec<u32> =
            self.pending.iter().filter(|(_, p)| overdue(p)).map(|(&xid, _)| xid).collect();
        for xid in waiting {
            let pending = self.pending.get_mut(&xid).expect("it was found there");
            if pending.retransmissions == RETRANSMISSIONS_MAX {
                let PendingClusterMessage { client, server, ask, .. } = *pending;
                if matches!(ask, CrashRequest::Lease(_)) {
                    self.settling.insert(client, (server, now + SILENCE_MAX));
                }
                self.pending.remove(&xid);
                self.chronicle.note(HistoryEvent::Abandoned { xid });
                self.abandoned += 1;
                continue;
            }
            pending.retransmissions += 1;
            pending.sent_at = now;
            let again = *pending;
            self.transmit(xid, again);
        }
    }

    /// Receives one reply if one comes soon, and returns true if one came.
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
        let CrashReply { xid, is_offer, address, .. } = answer;
        // A refusal names the servers' address, which they share, so the port tells them apart.
        let server = self.ports.iter().position(|own| *own == port);
        let server = server.ok_or("an answer of a stranger")?;
        self.chronicle.note(HistoryEvent::Reply { xid, server, is_offer, address });
        // A reply that no message waits for belongs to a repeated request, or comes too late for
        // the client.
        let Some(pending) = self.pending.remove(&xid) else { return Ok(()) };
        let PendingClusterMessage { client, ask, since_s, .. } = pending;
        match (ask, address) {
            (CrashRequest::Offer, Some(address)) if is_offer => {
                self.send(client, server, CrashRequest::Lease(address));
                Ok(())
            }
            (CrashRequest::Lease(asked) | CrashRequest::Renewal(asked), Some(address))
                if !is_offer && asked == address =>
            {
                if self.settling.get(&client).is_some_and(|&(to, _)| to == server) {
                    self.settling.remove(&client);
                }
                self.chronicle.granted(server, client, address, since_s)
            }
            (CrashRequest::Lease(_) | CrashRequest::Renewal(_), None) => {
                self.chronicle.refused(client)
            }
            _ => Err(format!("{pending:?} was told {address:?}")),
        }
    }
}
