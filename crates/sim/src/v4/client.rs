//! Simulated DHCPv4 client behind a relay or on the server's own link: the states of RFC 2131 §4.4
//! with random behaviour from a seed.

use std::net::Ipv4Addr;

use base::Random;
use dhcp_wire::v4::{Dhcp4Header, Message, MessageType, MessageWriter, option};

/// Address of the relay for simulated DHCPv4 clients that are not on the server's link.
pub const RELAY: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// Broadcast flag of a DHCPv4 message: the top bit of `flags`.
const BROADCAST_FLAG: u16 = 0x8000;
/// Address of the simulated DHCPv4 server.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

/// Link of a simulated DHCPv4 client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulatedClientLink {
    /// Link behind the relay [`RELAY`].
    Relayed,
    /// Link of the server itself.
    Direct {
        /// True if the client cannot receive unicast before it has an address (RFC 2131 §4.1).
        wants_broadcast: bool,
    },
}

/// State of a simulated DHCPv4 client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulatedClientState4 {
    /// State without a lease; the client's next message is a DISCOVER.
    Init,
    /// State in which the client waits for an OFFER.
    Selecting,
    /// State in which the client has accepted an OFFER of this address and waits for the ACK.
    Requesting(Ipv4Addr),
    /// State in which the client has restarted and requests this address, which it remembers.
    Rebooting(Ipv4Addr),
    /// State in which the client has a lease of this address until this wall-clock second.
    Bound(Ipv4Addr, u64),
    /// State in which the client has a lease of this address until this wall-clock second and
    /// requests to keep it.
    Renewing(Ipv4Addr, u64),
}

/// Simulated DHCPv4 client.
#[derive(Clone, Debug)]
pub struct SimulatedClient4 {
    /// Number of the simulated client.
    pub index: usize,
    /// State of the client's lease.
    pub state: SimulatedClientState4,
    /// Link to which the simulated client is attached.
    pub link: SimulatedClientLink,
    has_client_id: bool,
    xid: u32,
}

impl SimulatedClient4 {
    /// Returns a simulated DHCPv4 client that has just been switched on.
    pub const fn new(index: usize, link: SimulatedClientLink, has_client_id: bool) -> Self {
        Self {
            index,
            state: SimulatedClientState4::Init,
            link,
            has_client_id,
            xid: index as u32 * 65_536,
        }
    }

    /// Returns the hardware address of the simulated client.
    pub const fn hardware(&self) -> [u8; 6] {
        let [.., a, b] = (self.index as u32).to_be_bytes();
        [2, 0, 0, 0, a, b]
    }

    /// Returns the number of the client with hardware address `chaddr`.
    pub fn index_of(chaddr: &[u8]) -> usize {
        usize::from(chaddr[4]) * 256 + usize::from(chaddr[5])
    }

    /// Returns the address that the client's interface has, as far as the client knows.
    pub const fn address(&self) -> Option<Ipv4Addr> {
        match self.state {
            SimulatedClientState4::Bound(address, _)
            | SimulatedClientState4::Renewing(address, _) => Some(address),
            _ => None,
        }
    }

    /// Runs the client's timer at `now_s`; returns the message that the client sends, if any.
    pub fn on_timer(&mut self, random: &mut Random, now_s: u64) -> Option<Vec<u8>> {
        match self.state {
            SimulatedClientState4::Init | SimulatedClientState4::Selecting => {
                Some(self.discover(random))
            }
            SimulatedClientState4::Requesting(address) => {
                if random.chance(1, 5) {
                    return Some(self.discover(random));
                }
                Some(self.request(Some(address), Some(SERVER), Ipv4Addr::UNSPECIFIED))
            }
            SimulatedClientState4::Rebooting(address) => {
                if random.chance(1, 5) {
                    return Some(self.discover(random));
                }
                Some(self.request(Some(address), None, Ipv4Addr::UNSPECIFIED))
            }
            SimulatedClientState4::Bound(_, until_s)
            | SimulatedClientState4::Renewing(_, until_s)
                if until_s <= now_s =>
            {
                Some(self.discover(random))
            }
            SimulatedClientState4::Bound(address, until_s) => self.act(random, address, until_s),
            SimulatedClientState4::Renewing(address, _) => Some(self.request(None, None, address)),
        }
    }

    /// Chooses a random action of a client that has a lease of `address` until `until_s`: a renewal
    /// mostly, or a RELEASE, a DECLINE, a restart with the right or a wrong address, a DISCOVER, or
    /// silence. Returns the message that the client sends, if any.
    fn act(&mut self, random: &mut Random, address: Ipv4Addr, until_s: u64) -> Option<Vec<u8>> {
        match random.below(10) {
            0 => {
                self.state = SimulatedClientState4::Init;
                Some(self.message(
                    MessageType::Release,
                    address,
                    &[(option::SERVER_IDENTIFIER, &SERVER.octets())],
                ))
            }
            1 => {
                self.state = SimulatedClientState4::Init;
                let (address_octets, server_octets) = (address.octets(), SERVER.octets());
                let options: [(u8, &[u8]); 2] = [
                    (option::REQUESTED_IP_ADDRESS, &address_octets),
                    (option::SERVER_IDENTIFIER, &server_octets),
                ];
                Some(self.message(MessageType::Decline, Ipv4Addr::UNSPECIFIED, &options))
            }
            2 => {
                self.next_exchange();
                self.state = SimulatedClientState4::Rebooting(address);
                Some(self.request(Some(address), None, Ipv4Addr::UNSPECIFIED))
            }
            3 => Some(self.discover(random)),
            4 => None,
            5 => {
                // The client remembers a wrong address, which may be another client's.
                self.next_exchange();
                let wrong = Ipv4Addr::new(10, 0, 0, 10 + random.below(26) as u8);
                self.state = SimulatedClientState4::Rebooting(wrong);
                Some(self.request(Some(wrong), None, Ipv4Addr::UNSPECIFIED))
            }
            _ => {
                self.next_exchange();
                self.state = SimulatedClientState4::Renewing(address, until_s);
                Some(self.request(None, None, address))
            }
        }
    }

    /// Makes the client believe that it has `address` until `until_s`; returns a message that
    /// requests to keep the address, whichever client has it.
    pub fn claim(&mut self, address: Ipv4Addr, until_s: u64) -> Vec<u8> {
        self.next_exchange();
        self.state = SimulatedClientState4::Renewing(address, until_s);
        self.request(None, None, address)
    }

    /// Passes a DHCPv4 reply to the client, whose next timer may then come sooner; returns the
    /// message that the client sends at once, if any.
    pub fn on_reply(
        &mut self,
        random: &mut Random,
        reply: &Message<'_>,
        now_s: u64,
    ) -> Option<Vec<u8>> {
        if reply.xid() != self.xid {
            return None;
        }
        match (reply.message_type(), self.state) {
            (Some(MessageType::Offer), SimulatedClientState4::Selecting) => {
                if random.chance(1, 12) {
                    // The client accepts the offer of another server.
                    self.state = SimulatedClientState4::Init;
                    let other = Ipv4Addr::new(192, 0, 2, 99);
                    return Some(self.request(
                        Some(reply.yiaddr()),
                        Some(other),
                        Ipv4Addr::UNSPECIFIED,
                    ));
                }
                self.state = SimulatedClientState4::Requesting(reply.yiaddr());
                Some(self.request(Some(reply.yiaddr()), Some(SERVER), Ipv4Addr::UNSPECIFIED))
            }
            (
                Some(MessageType::Ack),
                SimulatedClientState4::Requesting(_)
                | SimulatedClientState4::Rebooting(_)
                | SimulatedClientState4::Renewing(..),
            ) => {
                let lifetime_s = u64::from(reply.lease_time().unwrap_or(0));
                self.state = SimulatedClientState4::Bound(reply.yiaddr(), now_s + lifetime_s);
                None
            }
            (
                Some(MessageType::Nak),
                SimulatedClientState4::Requesting(_)
                | SimulatedClientState4::Rebooting(_)
                | SimulatedClientState4::Renewing(..),
            ) => {
                self.state = SimulatedClientState4::Init;
                None
            }
            _ => None,
        }
    }

    fn next_exchange(&mut self) {
        self.xid += 1;
    }

    fn discover(&mut self, random: &mut Random) -> Vec<u8> {
        self.next_exchange();
        self.state = SimulatedClientState4::Selecting;
        let requested = Ipv4Addr::new(10, 0, 0, 10 + random.below(26) as u8).octets();
        let options: &[(u8, &[u8])] =
            if random.chance(1, 3) { &[(option::REQUESTED_IP_ADDRESS, &requested)] } else { &[] };
        self.message(MessageType::Discover, Ipv4Addr::UNSPECIFIED, options)
    }

    fn request(
        &self,
        requested: Option<Ipv4Addr>,
        server: Option<Ipv4Addr>,
        ciaddr: Ipv4Addr,
    ) -> Vec<u8> {
        let (requested, server) = (requested.map(|a| a.octets()), server.map(|a| a.octets()));
        let mut options: Vec<(u8, &[u8])> = Vec::new();
        if let Some(octets) = &requested {
            options.push((option::REQUESTED_IP_ADDRESS, octets));
        }
        if let Some(octets) = &server {
            options.push((option::SERVER_IDENTIFIER, octets));
        }
        self.message(MessageType::Request, ciaddr, &options)
    }

    fn message(&self, kind: MessageType, ciaddr: Ipv4Addr, options: &[(u8, &[u8])]) -> Vec<u8> {
        let mut chaddr = [0; 16];
        chaddr[..6].copy_from_slice(&self.hardware());
        let nowhere = Ipv4Addr::UNSPECIFIED;
        let is_relayed = self.link == SimulatedClientLink::Relayed;
        let wants_broadcast = self.link == SimulatedClientLink::Direct { wants_broadcast: true };
        let flags = if wants_broadcast { BROADCAST_FLAG } else { 0 };
        let header = Dhcp4Header {
            op: 1,
            htype: 1,
            hlen: 6,
            hops: u8::from(is_relayed),
            xid: self.xid,
            secs: 0,
            flags,
            ciaddr,
            yiaddr: nowhere,
            siaddr: nowhere,
            giaddr: if is_relayed { RELAY } else { nowhere },
            chaddr,
        };
        let mut buffer = [0; 600];
        let mut writer = MessageWriter::new(&mut buffer, &header);
        writer.option(option::MESSAGE_TYPE, &[kind.code()]);
        for &(code, octets) in options {
            writer.option(code, octets);
        }
        if self.has_client_id {
            writer.option(option::CLIENT_ID, &[0, self.index as u8, (self.index >> 8) as u8, 7]);
        }
        let len = writer.finish(0).expect("600 octets hold the few options above");
        buffer[..len].to_vec()
    }
}
