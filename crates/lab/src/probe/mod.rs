//! Probe that checks whether a server answers: a relayed DISCOVER or SOLICIT, or the query of DNS
//! plans, every 50 ms from the generator's side; while the server starts, after every hundredth of
//! the time that it has taken, so that this time is known to a hundredth.
//!
//! The DHCP client of the probe takes a lease once, so that it gets answers from an exhausted pool
//! as well, and from a large one without a search. A DNS server with the lab's zone must answer
//! from it before it is measured: a refusal is quick.

mod message;
mod request;

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::{LabError, LabResult};
pub(crate) use request::ProbeRequest;
use request::XID;

const REQUEST_INTERVAL: Duration = Duration::from_millis(50);
/// Least time between the probe's requests to a server that starts; `PART` is the divisor of the
/// time that the start has taken.
const LEAST_REQUEST_INTERVAL: Duration = Duration::from_millis(2);
const START_TIME_DIVISOR: u32 = 100;
/// Number of the probe's requests for a lease; a server that grants none is accepted all the same.
const REQUESTS: u32 = 5;
/// Number of times that the probe repeats its DNS query after a wrong answer: a server may answer
/// before it has read its zone.
const REPEATS: u32 = 100;

/// Probe that checks whether a server answers, with a socket bound to an address of the generator's
/// namespace.
#[derive(Debug)]
pub(crate) struct ServerProbe {
    socket: UdpSocket,
    request: ProbeRequest,
    xid: u32,
}

impl ServerProbe {
    /// Opens a probe with a socket at `local`, which for DHCP is the relay's address, inside the
    /// network namespace at `namespace` if given.
    ///
    /// # Errors
    /// The address cannot be bound (a port in use, no permission), or the namespace entered.
    pub(crate) fn open(
        local: SocketAddr,
        question: ProbeRequest,
        namespace: Option<&Path>,
    ) -> LabResult<Self> {
        let bind = || {
            let socket = UdpSocket::bind(local).map_err(|e| cannot_bind(local, &e))?;
            Ok(Self { socket, request: question, xid: question.first_xid() })
        };
        let Some(namespace) = namespace else { return bind() };
        // Only the thread that opens the socket enters the namespace; the socket stays in it.
        let inside = || {
            netio::namespace::enter(namespace)?;
            bind()
        };
        std::thread::scope(|scope| {
            let opened = scope.spawn(inside).join();
            opened.unwrap_or_else(|_| Err(LabError::Failed("cannot probe".into())))
        })
    }

    /// Sends requests to `server` until it answers the last one within 50 ms, so that no earlier
    /// message waits at the server any more; returns true then, and false when `give_up` returns
    /// true.
    ///
    /// # Errors
    /// The socket fails in a way that waiting does not mend.
    pub(crate) fn wait_for_answer(
        &mut self,
        server: SocketAddr,
        mut give_up: impl FnMut() -> bool,
    ) -> LabResult<bool> {
        while !give_up() {
            let xid = self.next_xid();
            if self.exchange(server, &self.request.message(xid), xid)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Sends requests to `server`, which was started at `began`, until it answers one that is less
    /// than 50 ms old; returns true then, and false when `give_up` returns true.
    ///
    /// # Errors
    /// As for [`ServerProbe::wait_for_answer`].
    pub(crate) fn wait_for_start(
        &mut self,
        server: SocketAddr,
        began: Instant,
        mut give_up: impl FnMut() -> bool,
    ) -> LabResult<bool> {
        let mut requests: VecDeque<(u32, Instant)> = VecDeque::new();
        while !give_up() {
            let (xid, now) = (self.next_xid(), Instant::now());
            while requests
                .front()
                .is_some_and(|&(_, at)| now.duration_since(at) >= REQUEST_INTERVAL)
            {
                requests.pop_front();
            }
            requests.push_back((xid, now));
            self.send(server, &self.request.message(xid));
            let pause = (now.duration_since(began) / START_TIME_DIVISOR)
                .clamp(LEAST_REQUEST_INTERVAL, REQUEST_INTERVAL);
            let is_answer = |answer: &[u8]| {
                requests.iter().any(|&(xid, _)| self.request.is_answered_by(answer, xid))
            };
            if self.receive(server, now + pause, is_answer)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Checks that `server` serves its data: takes the lease that it offers, if it offers and
    /// acknowledges one soon, or waits until it answers from the zone. A wrong answer is returned
    /// as `Some`.
    ///
    /// # Errors
    /// As for [`ServerProbe::wait_for_answer`].
    pub(crate) fn check(&mut self, server: SocketAddr) -> LabResult<Option<String>> {
        match self.request {
            ProbeRequest::Dhcp(link) => self.take_lease(link, server).map(|()| None),
            ProbeRequest::Dns => self.check_answer(server),
        }
    }

    fn check_answer(&mut self, server: SocketAddr) -> LabResult<Option<String>> {
        let mut fault = None;
        for _ in 0..REPEATS {
            let xid = self.next_xid();
            let Some(answer) = self.exchange(server, &self.request.message(xid), xid)? else {
                continue;
            };
            fault = request::answer_fault(&answer);
            if fault.is_none() {
                break;
            }
            std::thread::sleep(REQUEST_INTERVAL);
        }
        Ok(fault)
    }

    fn take_lease(&mut self, link: IpAddr, server: SocketAddr) -> LabResult<()> {
        for _ in 0..REQUESTS {
            let xid = self.next_xid();
            let Some(offer) = self.exchange(server, &self.request.message(xid), xid)? else {
                continue;
            };
            let xid = self.next_xid();
            let Some(request) = message::second(link, xid, &offer) else { break };
            if self.exchange(server, &request, xid)?.is_some() {
                break;
            }
        }
        Ok(())
    }

    fn next_xid(&mut self) -> u32 {
        self.xid = XID | (self.xid + 1) & 0xffff;
        self.xid
    }

    /// Sends `message` with the identifier `xid` to `server` and waits for its answer; `None` when
    /// none came in time.
    fn exchange(&self, server: SocketAddr, message: &[u8], xid: u32) -> LabResult<Option<Vec<u8>>> {
        let until = Instant::now() + REQUEST_INTERVAL;
        self.send(server, message);
        self.receive(server, until, |answer| self.request.is_answered_by(answer, xid))
    }

    fn send(&self, server: SocketAddr, message: &[u8]) {
        // The kernel refuses the send as long as the server has not opened its port; the probe
        // waits for that.
        let _ = self.socket.send_to(message, server);
    }

    /// Returns the message from `server` that `is_answer` accepts, if it arrives before `until`.
    fn receive(
        &self,
        server: SocketAddr,
        until: Instant,
        is_answer: impl Fn(&[u8]) -> bool,
    ) -> LabResult<Option<Vec<u8>>> {
        let mut answer = [0; 2048];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            self.socket
                .set_read_timeout(Some(left))
                .map_err(|e| LabError::cannot("set a timeout on a socket", e))?;
            match self.socket.recv_from(&mut answer) {
                Ok((len, from)) => {
                    let answer = &answer[..len];
                    if from.ip() == server.ip() && is_answer(answer) {
                        return Ok(Some(answer.to_vec()));
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {
                    std::thread::sleep(left.min(REQUEST_INTERVAL / 5));
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(LabError::cannot("receive answers to probes", e)),
            }
        }
    }
}

/// Makes the error "cannot use ADDRESS: ..." with the remedy for the two causes that users meet.
pub(crate) fn cannot_bind(address: SocketAddr, error: &io::Error) -> LabError {
    let cause = match error.kind() {
        io::ErrorKind::AddrInUse => "the port is in use by another program".to_owned(),
        io::ErrorKind::PermissionDenied => {
            "no permission (ports below 1024 need root or CAP_NET_BIND_SERVICE)".to_owned()
        }
        _ => error.to_string(),
    };
    LabError::Failed(format!("cannot use UDP {address}: {cause}"))
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    const LOCALHOSTS: [IpAddr; 2] =
        [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

    fn any(ip: IpAddr) -> SocketAddr {
        SocketAddr::new(ip, 0)
    }

    #[test]
    fn an_answer_to_the_last_question_ends_the_wait_and_silence_does_not() {
        for ip in LOCALHOSTS {
            let mut probe = ServerProbe::open(any(ip), ProbeRequest::Dhcp(ip), None).unwrap();
            let server = UdpSocket::bind(any(ip)).unwrap();
            let address = server.local_addr().unwrap();
            let mut rounds = 0;
            let silent = probe.wait_for_answer(address, || {
                rounds += 1;
                rounds > 2
            });
            assert!(!silent.unwrap());
            let answering = std::thread::spawn(move || {
                let (mut message, mut before) = ([0; 400], Vec::new());
                // The first few messages are answered when the next one has come; an empty message
                // is the end.
                for count in 0.. {
                    let (len, from) = server.recv_from(&mut message).unwrap();
                    if len == 0 {
                        return count;
                    }
                    let answer = if count < 4 { &before[..] } else { &message[..len] };
                    server.send_to(answer, from).unwrap();
                    before = message[..len].to_vec();
                }
                unreachable!("numbers do not run out")
            });
            assert!(probe.wait_for_answer(address, || false).unwrap());
            probe.socket.send_to(&[], address).unwrap();
            assert!(answering.join().unwrap() > 4, "late answers were taken");
        }
    }

    #[test]
    fn a_server_that_starts_is_asked_again_before_its_answer_has_come() {
        let ip = LOCALHOSTS[0];
        let mut probe = ServerProbe::open(any(ip), ProbeRequest::Dhcp(ip), None).unwrap();
        let server = UdpSocket::bind(any(ip)).unwrap();
        let address = server.local_addr().unwrap();
        let answering = std::thread::spawn(move || {
            let (mut message, mut before) = ([0; 400], Vec::new());
            // Each message is answered when the next one has come; an empty message is the end.
            loop {
                let (len, from) = server.recv_from(&mut message).unwrap();
                if len == 0 {
                    return;
                }
                server.send_to(&before, from).unwrap();
                before = message[..len].to_vec();
            }
        });
        let mut rounds = 0;
        let late = probe.wait_for_answer(address, || {
            rounds += 1;
            rounds > 4
        });
        assert!(!late.unwrap(), "the next one comes after 50 ms");
        // On a busy machine the first second, in which it asks so often, may pass without an
        // answer.
        let has_answered = (0..1_000).any(|_| {
            let mut rounds = 0;
            let started = probe.wait_for_start(address, Instant::now(), || {
                rounds += 1;
                rounds > 20
            });
            started.unwrap()
        });
        assert!(has_answered);
        probe.socket.send_to(&[], address).unwrap();
        answering.join().unwrap();
    }

    #[test]
    fn the_lease_that_is_offered_is_taken() {
        let ip = LOCALHOSTS[0];
        let mut probe = ServerProbe::open(any(ip), ProbeRequest::Dhcp(ip), None).unwrap();
        let server = UdpSocket::bind(any(ip)).unwrap();
        let address = server.local_addr().unwrap();
        let answering = std::thread::spawn(move || {
            let mut message = [0; 400];
            loop {
                let (len, from) = server.recv_from(&mut message).unwrap();
                let is_request = message[242] == 3;
                message[0] = 2;
                message[16..20].copy_from_slice(&[10, 1, 0, 9]);
                message[240..250].copy_from_slice(&[53, 1, 2, 54, 4, 127, 0, 0, 1, 255]);
                server.send_to(&message[..len], from).unwrap();
                if is_request {
                    return;
                }
            }
        });
        // A slow machine answers a later request.
        while !answering.is_finished() {
            assert_eq!(probe.check(address).unwrap(), None);
        }
        answering.join().unwrap();
    }

    #[test]
    fn a_port_in_use_is_said_in_one_sentence() {
        let bound_socket = UdpSocket::bind(any(LOCALHOSTS[0])).unwrap();
        let local = bound_socket.local_addr().unwrap();
        let error = ServerProbe::open(local, ProbeRequest::Dhcp(local.ip()), None).unwrap_err();
        assert_eq!(error.exit_code(), 1);
        assert!(error.to_string().ends_with("the port is in use by another program"), "{error}");
    }
}
