//! Responder on a thread that treats each client as a plan says and counts the requests.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{io, iter};

use crate::common::PATIENCE;

/// Receive buffer of a responder in bytes.
const ROOM_BYTES: usize = 16 << 20;

/// Treatment of a client by the responder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientTreatment {
    Good,
    /// No reply to any message.
    Nothing,
    /// No reply to messages of one type.
    NothingTo(u8),
    /// DHCPv4: a DHCPNAK to the REQUEST; DHCPv6: NoAddrsAvail.
    Nak,
    /// Every reply twice.
    Twice,
    /// OFFERs with another transaction identifier.
    WrongNumber,
    /// ACKs that name another client.
    OtherClient,
    /// OFFERs without an address.
    NoAddress,
    /// OFFERs without a server identifier.
    NoServer,
    /// OFFERs that end in the middle.
    Cut,
    /// One address for all of these clients.
    SameAddress,
}

#[derive(Default)]
struct ResponderState {
    /// Numbers of requests received: first, second, renewal, release.
    requests: [u64; 4],
    clients: BTreeSet<u32>,
    relays: BTreeSet<[u8; 4]>,
    /// Number of INFORMs and DECLINEs.
    others: u64,
    /// Number of times that each reply is sent on release; `None` holds none back.
    copies: Option<usize>,
    is_released: bool,
}

pub(crate) struct DhcpResponder {
    pub(crate) port: u16,
    pub(crate) is_v6: bool,
    ledger: Arc<(Mutex<ResponderState>, Condvar)>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Listener of the responder: it receives requests and sends replies.
pub(crate) trait ResponderListener: Send + 'static {
    /// Address of a client, for the reply.
    type From;

    /// Returns the next request and its sender; `None` if none comes for a moment.
    fn receive(&mut self, octets: &mut [u8]) -> Option<(usize, Self::From)>;

    /// Sends a reply.
    fn send(&mut self, answer: &[u8], to: &Self::From);
}

impl ResponderListener for UdpSocket {
    type From = SocketAddr;

    fn receive(&mut self, octets: &mut [u8]) -> Option<(usize, SocketAddr)> {
        self.recv_from(octets).ok()
    }

    fn send(&mut self, answer: &[u8], to: &SocketAddr) {
        self.send_to(answer, to).ok();
    }
}

fn loopback(is_v6: bool) -> IpAddr {
    if is_v6 { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() }
}

impl DhcpResponder {
    pub(crate) fn start(is_v6: bool, plan: fn(u32) -> ClientTreatment) -> Self {
        Self::on(UdpSocket::bind((loopback(is_v6), 0)).unwrap(), is_v6, plan)
    }

    pub(crate) fn start_at(port: u16, plan: fn(u32) -> ClientTreatment) -> io::Result<Self> {
        Ok(Self::on(UdpSocket::bind((loopback(false), port))?, false, plan))
    }

    /// Starts a responder on a socket that the test opened. The socket gets room for all requests
    /// that may wait for this thread.
    pub(crate) fn on(socket: UdpSocket, is_v6: bool, plan: fn(u32) -> ClientTreatment) -> Self {
        let same = OwnedFd::from(socket.try_clone().unwrap());
        netio::UdpSocket::from(same).set_receive_buffer(ROOM_BYTES).unwrap();
        let port = socket.local_addr().unwrap().port();
        socket.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        Self::behind(socket, port, is_v6, plan)
    }

    /// Starts a responder on a listener of another kind, at `port`.
    pub(crate) fn behind(
        mut listener: impl ResponderListener,
        port: u16,
        is_v6: bool,
        plan: fn(u32) -> ClientTreatment,
    ) -> Self {
        let ledger = Arc::new((Mutex::new(ResponderState::default()), Condvar::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let (shared, stopped) = (Arc::clone(&ledger), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let (mut octets, mut held) = ([0; 2_048], Vec::new());
            while !stopped.load(Ordering::Relaxed) {
                let copies = {
                    let ledger = shared.0.lock().unwrap();
                    ledger.copies.filter(|_| ledger.is_released)
                };
                if let Some(copies) = copies {
                    for (answers, from) in held.drain(..) {
                        let answers: Vec<Vec<u8>> = answers;
                        for answer in answers.iter().flat_map(|one| iter::repeat_n(one, copies)) {
                            listener.send(answer, &from);
                        }
                    }
                    shared.0.lock().unwrap().copies = None;
                    shared.1.notify_all();
                }
                let Some((len, from)) = listener.receive(&mut octets) else { continue };
                let request = &octets[..len];
                let (answers, is_held) = {
                    let mut ledger = shared.0.lock().unwrap();
                    let answers = if is_v6 {
                        v6(request, plan, &mut ledger)
                    } else {
                        v4(request, plan, &mut ledger)
                    };
                    (answers, ledger.copies.is_some())
                };
                shared.1.notify_all();
                if is_held {
                    held.push((answers, from));
                } else {
                    answers.iter().for_each(|answer| listener.send(answer, &from));
                }
            }
        });
        Self { port, is_v6, ledger, stop, thread: Some(thread) }
    }

    /// Returns the numbers of requests received: first, second, renewal, release.
    pub(crate) fn counts(&self) -> [u64; 4] {
        self.ledger.0.lock().unwrap().requests
    }

    /// Returns the clients seen, by the last four bytes of their hardware addresses.
    pub(crate) fn clients(&self) -> Vec<u32> {
        self.ledger.0.lock().unwrap().clients.iter().copied().collect()
    }

    /// Returns the number of INFORMs and DECLINEs received.
    pub(crate) fn others(&self) -> u64 {
        self.ledger.0.lock().unwrap().others
    }

    /// Returns the number of relay addresses seen.
    pub(crate) fn relays(&self) -> usize {
        self.ledger.0.lock().unwrap().relays.len()
    }

    /// Holds all replies back, until [`DhcpResponder::release`] sends each `copies` times.
    pub(crate) fn hold(&self, copies: u32) {
        self.ledger.0.lock().unwrap().copies = Some(copies as usize);
    }

    /// Sends the held replies, and returns once all are sent.
    pub(crate) fn release(&self) {
        let mut ledger = self.ledger.0.lock().unwrap();
        ledger.is_released = true;
        drop(ledger);
        self.wait_while(|ledger| ledger.copies.is_some());
    }

    /// Waits for `count` first requests.
    pub(crate) fn wait_for(&self, count: u64) {
        self.wait_while(|ledger| ledger.requests[0] < count);
    }

    fn wait_while(&self, is_so: impl Fn(&ResponderState) -> bool) {
        let ledger = self.ledger.0.lock().unwrap();
        let waited = self.ledger.1.wait_timeout_while(ledger, PATIENCE, |ledger| is_so(ledger));
        let (ledger, waited) = waited.unwrap();
        assert!(!waited.timed_out(), "requests: {:?}", ledger.requests);
    }
}

impl Drop for DhcpResponder {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// First hardware address of perfdhcp's default clients.
const BASE: u32 = 0x0102_0304;

fn word(octets: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(octets[at..at + 4].try_into().unwrap())
}

/// Returns the client's number: byte by byte from the base, without carry, as perfdhcp counts.
fn number(mac: u32) -> u32 {
    let digits = mac.to_be_bytes().into_iter().zip(BASE.to_be_bytes());
    digits.fold(0, |number, (octet, base)| number << 8 | u32::from(octet.wrapping_sub(base)))
}

const DECLINE: u8 = 4;
const INFORM: u8 = 8;

/// Returns the ACK to an INFORM.
fn parameters(request: &[u8]) -> Vec<u8> {
    let mut answer = request[..240].to_vec();
    answer[0] = 2;
    answer.extend([53, 1, 5, 54, 4, 127, 0, 0, 1, 255]);
    answer
}

fn v4(
    request: &[u8],
    plan: fn(u32) -> ClientTreatment,
    ledger: &mut ResponderState,
) -> Vec<Vec<u8>> {
    let (message_type, mac) = (request[242], word(request, 30));
    let client = number(mac);
    let holds = request[12..16] != [0; 4];
    let kind = match message_type {
        1 => 0,
        3 if holds => 2,
        3 => 1,
        _ => 3,
    };
    if message_type == INFORM || message_type == DECLINE {
        ledger.others += 1;
        return if message_type == INFORM { vec![parameters(request)] } else { Vec::new() };
    }
    ledger.requests[kind] += 1;
    ledger.clients.insert(mac);
    ledger.relays.insert(request[24..28].try_into().unwrap());
    let act = plan(client);
    if kind == 3
        || act == ClientTreatment::Nothing
        || act == ClientTreatment::NothingTo(message_type)
    {
        return Vec::new();
    }
    let (is_offer, is_ack) = (kind == 0, kind == 1);
    let address = match act {
        ClientTreatment::NoAddress if is_offer => Ipv4Addr::UNSPECIFIED,
        ClientTreatment::SameAddress => Ipv4Addr::new(10, 255, 0, 1),
        _ => Ipv4Addr::from(0x0a00_0000 + (client & 0xff_ffff)),
    };
    let is_nak = act == ClientTreatment::Nak && is_ack;
    let mut answer = request[..240].to_vec();
    answer[0] = 2;
    if !is_nak {
        answer[16..20].copy_from_slice(&address.octets());
    }
    let answer_type = if is_nak { 6 } else { [2, 5][usize::from(!is_offer)] };
    answer.extend([53, 1, answer_type]);
    if act != ClientTreatment::NoServer || !is_offer {
        answer.extend([54, 4, 127, 0, 0, 1]);
    }
    answer.extend([51, 4, 0, 0, 14, 16, 255]);
    match act {
        ClientTreatment::WrongNumber if is_offer => answer[4] ^= 0x40,
        ClientTreatment::OtherClient if is_ack => answer[29] ^= 1,
        ClientTreatment::Cut if is_offer => answer.truncate(250),
        _ => {}
    }
    vec![answer; if act == ClientTreatment::Twice { 2 } else { 1 }]
}

fn v6(
    request: &[u8],
    plan: fn(u32) -> ClientTreatment,
    ledger: &mut ResponderState,
) -> Vec<Vec<u8>> {
    if request[0] == 12 {
        return relayed(request, plan, ledger);
    }
    let (kind, answer_type) = match request[0] {
        1 => (0, 2),
        3 => (1, 7),
        5 => (2, 7),
        _ => (3, 7),
    };
    ledger.requests[kind] += 1;
    let mut options = Vec::new();
    let mut at = 4;
    while at < request.len() {
        let len = usize::from(request[at + 2]) << 8 | usize::from(request[at + 3]);
        options.push((request[at + 1], &request[at + 4..at + 4 + len]));
        at += 4 + len;
    }
    let duid = options.iter().find(|option| option.0 == 1).unwrap().1;
    let client = number(word(duid, duid.len() - 4));
    ledger.clients.insert(client);
    let is_rapid = options.iter().any(|option| option.0 == 14);
    let mut answer =
        vec![if is_rapid { 7 } else { answer_type }, request[1], request[2], request[3]];
    let mut put = |code: u8, value: &[u8]| {
        answer.extend([0, code]);
        answer.extend((value.len() as u16).to_be_bytes());
        answer.extend(value);
    };
    put(1, duid);
    put(2, &[0, 2, 0, 0, 9, 0xbf, 1, 2, 3, 4, 5]);
    if is_rapid {
        put(14, &[]);
    }
    if plan(client) == ClientTreatment::Nak && kind > 0 {
        put(13, &[0, 2]);
        return vec![answer];
    }
    for (code, value) in options.iter().filter(|option| [3, 25].contains(&option.0) && kind != 3) {
        let mut ia = value[..4].to_vec();
        ia.extend([0, 0, 3, 132, 0, 0, 5, 160]);
        let times = [0, 0, 7, 8, 0, 0, 14, 16];
        let [high, low] = [client >> 16, client].map(|half| (half as u16).to_be_bytes());
        let address =
            [[0x20, 1], [0x0d, 0xb8], [0, *code], high, low, [0; 2], [0; 2], [0; 2]].concat();
        if *code == 3 {
            ia.extend([0, 5, 0, 24]);
            ia.extend(address);
            ia.extend(times);
        } else {
            ia.extend([0, 26, 0, 25]);
            ia.extend(times);
            ia.push(80);
            ia.extend(address);
        }
        put(*code, &ia);
    }
    vec![answer]
}

fn relayed(
    request: &[u8],
    plan: fn(u32) -> ClientTreatment,
    ledger: &mut ResponderState,
) -> Vec<Vec<u8>> {
    // The Relay Message option is the last one.
    let mut at = 34;
    while request[at..at + 2] != [0, 9] {
        at += 4 + usize::from(request[at + 3]);
    }
    let wrap = |message: Vec<u8>| {
        let mut wrapped = request[..34].to_vec();
        wrapped[0] = 13;
        wrapped.extend([0, 9]);
        wrapped.extend((message.len() as u16).to_be_bytes());
        wrapped.extend(message);
        wrapped
    };
    v6(&request[at + 4..], plan, ledger).into_iter().map(wrap).collect()
}
