//! Smoke test, which checks that the host that frames go to still answers pings. The generator
//! pings the host after every frame, and reports the frame after which the host does not answer any
//! more.
//!
//! Not a hot path: the next frame waits for an answer. References: RFC 792, RFC 4443 §4; raw(7).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::sync::atomic::{AtomicBool, Ordering};

use base::ByteWriter;
use netio::{Clock, NetError, PollFd, RawOptions, RawSocket, RecvBatch, SendBatch, poll};
use packet_wire::icmp::{ECHO_V4, ECHO_V6, EchoTypes, IcmpEcho};
use packet_wire::{ipv4, protocol};

use crate::output::packet_text;
use crate::report::{LastFrame, SmokeTest};

/// Number of consecutive pings that may remain without an answer, as in trafgen.
const PINGS_MAX: u32 = 100;
/// Time in nanoseconds that each ping waits for its answer, as in trafgen.
const PATIENCE_NS: u64 = 50_000_000;
/// Data of a ping after its header: as many bytes as ping(8) sends.
const DATA: [u8; 56] = [0x67; 56];
/// Number of ICMP packets that wait at a time; a host under test may get more than answers.
const SLOTS: usize = 32;
const SLOT_BYTES: usize = 2_048;
const BUFFER_BYTES: usize = 1 << 20;

/// Smoke test of a host: the socket to the host, and the last frame sent to it.
pub(crate) struct Smoke {
    host: SocketAddr,
    types: EchoTypes,
    socket: RawSocket,
    send: SendBatch,
    receive: RecvBatch,
    next: IcmpEcho,
    frame: Vec<u8>,
    /// Number of frames after which the host has answered.
    survived: u64,
    report: SmokeTest,
}

impl Smoke {
    /// Opens a socket for pings to `host`; `scope` is the index of the interface of a link-local
    /// address.
    ///
    /// # Errors
    ///
    /// A raw socket that cannot be opened.
    pub(crate) fn open(host: IpAddr, scope: u32) -> Result<Self, NetError> {
        let (bind, protocol, types, to) = match host {
            IpAddr::V4(_) => {
                (Ipv4Addr::UNSPECIFIED.into(), protocol::ICMP, ECHO_V4, SocketAddr::new(host, 0))
            }
            IpAddr::V6(address) => {
                let scope = if address.is_unicast_link_local() { scope } else { 0 };
                let to = SocketAddrV6::new(address, 0, 0, scope);
                (Ipv6Addr::UNSPECIFIED.into(), protocol::ICMPV6, ECHO_V6, to.into())
            }
        };
        let options = RawOptions {
            bind,
            protocol,
            receive_buffer_bytes: BUFFER_BYTES,
            send_buffer_bytes: BUFFER_BYTES,
        };
        Ok(Self {
            host: to,
            types,
            socket: RawSocket::open(&options)?,
            send: SendBatch::new(1, SLOT_BYTES, false),
            receive: RecvBatch::new(SLOTS, SLOT_BYTES),
            next: IcmpEcho { identifier: std::process::id() as u16, sequence: 0 },
            frame: Vec::new(),
            survived: 0,
            report: SmokeTest { host: host.to_string(), ..SmokeTest::default() },
        })
    }

    /// Keeps a copy of the frame that will leave now, for the report.
    pub(crate) fn keep(&mut self, frame: &[u8]) {
        self.frame.clear();
        self.frame.extend_from_slice(frame);
    }

    /// Returns true if the host still answers pings after `frames` frames, of which the last one
    /// was kept; also if `stop` was set before an answer came.
    ///
    /// # Errors
    ///
    /// An error of the socket.
    pub(crate) fn survives(&mut self, frames: u64, stop: &AtomicBool) -> io::Result<bool> {
        if self.survived == frames {
            return Ok(true);
        }
        if !self.answers(stop)? {
            let text = packet_text(&self.frame);
            self.report.silent_after = Some(LastFrame { number: frames, text });
            return Ok(false);
        }
        self.survived = frames;
        Ok(true)
    }

    /// Returns true if the host answers one of the pings that are sent from now on; also if `stop`
    /// is set.
    ///
    /// # Errors
    ///
    /// An error of the socket.
    pub(crate) fn answers(&mut self, stop: &AtomicBool) -> io::Result<bool> {
        // An answer to an earlier ping says nothing about the current state of the host.
        let first = self.next.sequence;
        for pings in 1..=PINGS_MAX {
            self.ping();
            let until_ns = Clock::mono_ns() + PATIENCE_NS;
            while let Some(left_ns) = until_ns.checked_sub(Clock::mono_ns()) {
                if poll(&mut [PollFd::readable(&self.socket)], Some(left_ns))? > 0
                    && self.hears(first, pings)?
                {
                    self.report.answers += 1;
                    return Ok(true);
                }
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn ping(&mut self) {
        let slot = self.send.slot().expect("the batch is emptied after each ping");
        let mut writer = ByteWriter::new(slot);
        self.next.emit_request(self.types, &DATA, &mut writer);
        let len = writer.len();
        self.send.commit(len, self.host, None);
        self.send.flush(&self.socket);
        // A ping that the kernel refuses counts as lost on the network: there will be no answer.
        self.send.discard();
        self.next.sequence = self.next.sequence.wrapping_add(1);
        self.report.pings += 1;
    }

    /// Returns true if the socket has an answer to one of the `pings` pings from number `first` on.
    fn hears(&mut self, first: u16, pings: u32) -> io::Result<bool> {
        let mut is_heard = false;
        while self.receive.receive(&self.socket)? > 0 {
            is_heard |= self.receive.iter().any(|datagram| {
                let message = match self.host {
                    SocketAddr::V4(_) => ipv4::Header::parse(datagram.octets).map(|(_, rest)| rest),
                    SocketAddr::V6(_) => Ok(datagram.octets),
                };
                let reply = message.and_then(|message| IcmpEcho::parse_reply(self.types, message));
                datagram.source.ip() == self.host.ip()
                    && reply.is_ok_and(|echo| {
                        echo.identifier == self.next.identifier
                            && u32::from(echo.sequence.wrapping_sub(first)) < pings
                    })
            });
        }
        Ok(is_heard)
    }

    /// Returns the result of the smoke test for the report.
    pub(crate) fn into_report(self) -> SmokeTest {
        self.report
    }
}
