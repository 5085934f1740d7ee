//! Server's end of a link, frame by frame: requests of clients come in, replies to their stations
//! go out.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddrV4};

use base::ByteWriter;
use netio::{FrameReceiver, FrameSender, PollFd, interface, poll};
use packet_wire::arp;
use packet_wire::ethernet::{self, MacAddress};
use packet_wire::frame::{self, Endpoints};

use crate::common::link::{LinkNamespaces, SERVER_END};
use crate::generator::responder::ResponderListener;

/// Hardware address of the server, and its IP address.
pub(crate) const MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
pub(crate) const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// Message type DHCPNAK.
const NAK: u8 = 6;
/// Time to wait for a request before the thread checks other conditions.
const MOMENT_NS: u64 = 5_000_000;

/// Frames of the server's end.
pub(crate) struct ServerLinkFrames {
    receiver: FrameReceiver,
    sender: FrameSender,
    requests: VecDeque<(Vec<u8>, Endpoints)>,
    /// ARP answers received, each with the hardware address of its frame.
    pub(crate) arp_answers: Vec<(MacAddress, arp::ArpMessage)>,
}

impl ServerLinkFrames {
    /// Opens the server's end of `link`.
    pub(crate) fn at(link: &LinkNamespaces) -> Self {
        link.opened_at_server(|| {
            let found = interface::named(SERVER_END).unwrap();
            let receiver = FrameReceiver::open(&found).unwrap();
            let sender = FrameSender::open(&found).unwrap();
            Self { receiver, sender, requests: VecDeque::new(), arp_answers: Vec::new() }
        })
    }

    /// Receives the frames that have come, or come within 5 ms, and returns true if there were any.
    pub(crate) fn take(&mut self) -> bool {
        poll(&mut [PollFd::readable(&self.receiver)], Some(MOMENT_NS)).unwrap();
        let count = self.receiver.receive().unwrap();
        for index in 0..count {
            let octets = self.receiver.frame(index).unwrap().octets;
            if let Ok((endpoints, payload)) = frame::open(octets) {
                if endpoints.destination.port() == 67 {
                    self.requests.push_back((payload.to_vec(), endpoints));
                }
            } else if let Ok((header, payload)) = ethernet::EthernetHeader::parse(octets)
                && header.ether_type == ethernet::TYPE_ARP
            {
                let message = arp::ArpMessage::parse(payload).unwrap();
                self.arp_answers.push((header.source, message));
            }
        }
        count > 0
    }

    /// Waits for the next request and returns it.
    pub(crate) fn next(&mut self) -> (Vec<u8>, Endpoints) {
        for _ in 0..60_000 {
            if let Some(request) = self.requests.pop_front() {
                return request;
            }
            self.take();
        }
        panic!("no request has come");
    }

    /// Sends an ARP request for `address` as a broadcast.
    pub(crate) fn ask(&mut self, address: Ipv4Addr) {
        let message = arp::ArpMessage {
            operation: arp::REQUEST,
            sender_mac: MAC,
            sender: ADDRESS,
            target_mac: MacAddress::default(),
            target: address,
        };
        let mut writer = ByteWriter::new(self.sender.slot().unwrap());
        let header = ethernet::EthernetHeader {
            destination: MacAddress::BROADCAST,
            source: MAC,
            tags: [None; ethernet::TAGS_MAX],
            ether_type: ethernet::TYPE_ARP,
        };
        header.emit(&mut writer);
        message.emit(&mut writer);
        let len = writer.len();
        self.sender.commit(len);
        self.flush();
    }

    fn flush(&mut self) {
        while !self.sender.is_empty() {
            self.sender.flush();
        }
    }
}

impl ResponderListener for ServerLinkFrames {
    type From = Endpoints;

    fn receive(&mut self, octets: &mut [u8]) -> Option<(usize, Endpoints)> {
        if self.requests.is_empty() {
            self.take();
        }
        let (request, from) = self.requests.pop_front()?;
        octets[..request.len()].copy_from_slice(&request);
        Some((request.len(), from))
    }

    /// Sends a reply as a broadcast if the client requested that or is refused (RFC 2131 sections
    /// 4.1 and 4.3.2), else to its station.
    fn send(&mut self, answer: &[u8], to: &Endpoints) {
        let [own, given] = [12, 16]
            .map(|at| Ipv4Addr::from(answer[at..].first_chunk::<4>().copied().unwrap_or_default()));
        let is_broadcast = answer[10] & 0x80 != 0 || answer[242] == NAK;
        let (destination_mac, address) = match (own.is_unspecified(), is_broadcast) {
            (false, _) => (to.source_mac, own),
            (true, true) => (MacAddress::BROADCAST, Ipv4Addr::BROADCAST),
            (true, false) => (to.source_mac, given),
        };
        let endpoints = Endpoints {
            source_mac: MAC,
            destination_mac,
            source: SocketAddrV4::new(ADDRESS, 67),
            destination: SocketAddrV4::new(address, 68),
        };
        let slot = self.sender.slot().unwrap();
        slot[frame::HEADROOM..frame::HEADROOM + answer.len()].copy_from_slice(answer);
        let len = frame::seal(slot, answer.len(), &endpoints);
        self.sender.commit(len);
        self.flush();
    }
}
