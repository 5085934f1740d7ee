//! Clients behind a relay agent, several in flight, and the ledger of the replies that they
//! received.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{IpAddr, UdpSocket};
use std::time::Duration;

use base::Random;

use crate::crash::family::{CrashFamily, CrashMessage, CrashReply, CrashRequest};
use crate::crash::ledger::CrashLedger;

/// Number of clients.
const CLIENTS: u32 = 256;
/// Maximum of messages that wait for replies at a time.
const IN_FLIGHT_MAX: usize = 32;
/// Time without any reply after which clients send all waiting messages again.
const RETRANSMISSION: Duration = Duration::from_millis(300);
/// Maximum of retransmissions in a row.
const RETRANSMISSIONS_MAX: u32 = 2_000;

/// Message that waits for its reply.
#[derive(Clone, Copy, Debug)]
struct PendingCrashMessage {
    client: u32,
    ask: CrashRequest,
}

/// Clients of one server, or of a pair of servers that both get each message, with their socket and
/// ledger.
pub(crate) struct CrashClients {
    family: CrashFamily,
    socket: UdpSocket,
    servers: Vec<(IpAddr, u16)>,
    random: Random,
    /// Waiting messages by transaction identifier.
    pending: BTreeMap<u32, PendingCrashMessage>,
    next_xid: u32,
    server_id: Vec<u8>,
    pub(crate) ledger: CrashLedger,
    /// Number of messages that the clients have sent.
    pub(crate) sent: u64,
}

impl CrashClients {
    /// Makes clients behind a relay agent at the port `relay_port`, of a server at `port`.
    pub(crate) fn new(family: CrashFamily, [port, relay_port]: [u16; 2], seed: u64) -> Self {
        let socket = UdpSocket::bind((family.loopback, relay_port)).expect("the port was free");
        socket.set_read_timeout(Some(RETRANSMISSION)).expect("it is not zero");
        Self {
            family,
            socket,
            servers: vec![(family.loopback, port)],
            random: Random::from_seed(seed),
            pending: BTreeMap::new(),
            next_xid: 1,
            server_id: Vec::new(),
            ledger: CrashLedger::default(),
            sent: 0,
        }
    }

    /// Sends each further message to the servers at `ports`.
    pub(crate) fn use_servers(&mut self, ports: &[u16]) {
        let address = self.family.loopback;
        self.servers = ports.iter().map(|port| (address, *port)).collect();
    }

    /// Makes clients act until `acknowledgements` more acknowledgements have come and, after that,
    /// the clients have sent `messages` more messages.
    pub(crate) fn act(&mut self, acknowledgements: u64, messages: u64) -> Result<(), String> {
        self.act_if(acknowledgements, messages, &mut || true)
    }

    /// Makes clients act like [`Self::act`], but gives up when no reply comes and `goes_on` returns
    /// false.
    pub(crate) fn act_if(
        &mut self,
        acknowledgements: u64,
        messages: u64,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<(), String> {
        let enough = self.ledger.acknowledged + acknowledgements;
        let mut left = messages;
        loop {
            while self.pending.len() < IN_FLIGHT_MAX {
                if self.ledger.acknowledged >= enough {
                    if left == 0 {
                        return Ok(());
                    }
                    left -= 1;
                }
                self.begin_any();
            }
            if left == 0 && self.ledger.acknowledged >= enough {
                return Ok(());
            }
            self.receive(goes_on)?;
        }
    }

    /// Makes clients act while `goes_on` returns true, with or without replies.
    pub(crate) fn act_while(&mut self, goes_on: impl Fn() -> bool) -> Result<(), String> {
        self.socket.set_nonblocking(true).expect("a socket can be asked without waiting");
        let mut buffer = [0; 2048];
        while goes_on() {
            while self.pending.len() < IN_FLIGHT_MAX {
                self.begin_any();
            }
            match self.socket.recv(&mut buffer) {
                Ok(len) => self.hear(&buffer[..len])?,
                Err(_) => std::thread::yield_now(),
            }
        }
        self.socket.set_nonblocking(false).expect("a socket can be waited for");
        Ok(())
    }

    /// Makes every client with a lease renew it.
    pub(crate) fn renew_all(&mut self) -> Result<(), String> {
        for client in 0..CLIENTS {
            self.wait_for_room(IN_FLIGHT_MAX)?;
            if let Some(address) = self.ledger.lease_of(client) {
                self.send(client, CrashRequest::Renewal(address));
            }
        }
        self.wait_for_room(1)
    }

    /// Reads the replies that the killed server sent before its end, and gives up the messages
    /// without a reply.
    pub(crate) fn lose_server(&mut self) -> Result<(), String> {
        self.socket.set_nonblocking(true).expect("a socket can be asked without waiting");
        let mut buffer = [0; 2048];
        while let Ok(len) = self.socket.recv(&mut buffer) {
            self.hear(&buffer[..len])?;
        }
        self.socket.set_nonblocking(false).expect("a socket can be waited for");
        for PendingCrashMessage { client, ask } in core::mem::take(&mut self.pending).into_values()
        {
            if matches!(ask, CrashRequest::Lease(_) | CrashRequest::Renewal(_)) {
                self.ledger.gave_up(client);
            }
        }
        Ok(())
    }

    fn wait_for_room(&mut self, below: usize) -> Result<(), String> {
        while self.pending.len() >= below {
            self.receive(&mut || true)?;
        }
        Ok(())
    }

    /// Makes a random client that waits for nothing begin an exchange.
    fn begin_any(&mut self) {
        let is_waiting = |client| self.pending.values().any(|pending| pending.client == client);
        let mut client = self.random.below(u64::from(CLIENTS)) as u32;
        while is_waiting(client) {
            client = (client + 1) % CLIENTS;
        }
        let ask = match (self.ledger.lease_of(client), self.random.below(10)) {
            (Some(address), 0..5) => CrashRequest::Renewal(address),
            (Some(address), 5..9) => CrashRequest::Release(address),
            _ => CrashRequest::Offer,
        };
        self.send(client, ask);
    }

    fn send(&mut self, client: u32, ask: CrashRequest) {
        let xid = self.next_xid;
        self.next_xid += 1;
        match ask {
            CrashRequest::Lease(address) => self.ledger.asked(address),
            CrashRequest::Release(address) => self.ledger.releasing(address),
            CrashRequest::Offer | CrashRequest::Renewal(_) => {}
        }
        if self.family.confirms_releases || !matches!(ask, CrashRequest::Release(_)) {
            self.pending.insert(xid, PendingCrashMessage { client, ask });
        }
        self.transmit(xid, client, ask);
    }

    fn transmit(&mut self, xid: u32, client: u32, ask: CrashRequest) {
        let message = CrashMessage { client, xid, ask, server: &self.server_id };
        let octets = (self.family.write)(&message);
        for server in &self.servers {
            self.socket.send_to(&octets, server).expect("loopback takes datagrams");
        }
        self.sent += 1;
    }

    /// Receives one reply. Sends waiting messages again if none comes, while `goes_on` returns
    /// true.
    fn receive(&mut self, goes_on: &mut dyn FnMut() -> bool) -> Result<(), String> {
        let mut buffer = [0; 2048];
        for _ in 0..RETRANSMISSIONS_MAX {
            match self.socket.recv(&mut buffer) {
                Ok(len) => return self.hear(&buffer[..len]),
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    if !goes_on() {
                        break;
                    }
                    let waiting: Vec<_> = self.pending.iter().map(|(&x, &p)| (x, p)).collect();
                    for (xid, PendingCrashMessage { client, ask }) in waiting {
                        self.transmit(xid, client, ask);
                    }
                }
                // A killed server's closed port refused a message, or a signal interrupted the
                // wait.
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::ConnectionRefused | ErrorKind::Interrupted
                    ) => {}
                Err(error) => panic!("the clients' socket: {error}"),
            }
        }
        Err(format!("no answer to any of {:?}", self.pending))
    }

    fn hear(&mut self, octets: &[u8]) -> Result<(), String> {
        let answer = (self.family.read)(octets).ok_or("an answer that cannot be read")?;
        // A reply that no message waits for belongs to a repeated request.
        let Some(PendingCrashMessage { client, ask }) = self.pending.remove(&answer.xid) else {
            return Ok(());
        };
        let CrashReply { is_offer, address, server, .. } = answer;
        self.server_id = server;
        match (ask, address) {
            (CrashRequest::Offer, Some(address)) if is_offer => {
                self.send(client, CrashRequest::Lease(address));
                Ok(())
            }
            (CrashRequest::Lease(_) | CrashRequest::Renewal(_), Some(address)) if !is_offer => {
                self.ledger.granted(client, address)
            }
            (CrashRequest::Release(address), _) if !is_offer => {
                self.ledger.released(client, address);
                Ok(())
            }
            (CrashRequest::Offer | CrashRequest::Lease(_) | CrashRequest::Renewal(_), None) => {
                self.ledger.refused(client)
            }
            _ => Err(format!("client {client} asked for {ask:?} and was told {address:?}")),
        }
    }
}
