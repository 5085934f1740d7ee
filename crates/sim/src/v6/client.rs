//! Simulated DHCPv6 client of addresses and prefixes, direct or behind relay agents: the exchanges
//! of RFC 9915 §18.2 with random behaviour from a seed.

use std::net::Ipv6Addr;

use base::Random;
use dhcp_lease::v6::{Resource, ResourceKind};
use dhcp_wire::v6::{
    IaKind as WireKind, Message, MessageType, MessageWriter, RelayWriter, StatusCode, option,
};

/// Address of the relay agent nearest to the simulated DHCPv6 server.
pub const RELAY: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 1);
/// DUID of the simulated DHCPv6 server.
pub const SERVER_DUID: [u8; 10] = [0, 3, 0, 1, 2, 0, 0, 0, 0, 99];
const OTHER_SERVER: [u8; 10] = [0, 3, 0, 1, 2, 0, 0, 0, 0, 98];

/// State of a simulated DHCPv6 client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulatedClientState6 {
    /// State in which the client waits for no reply.
    Idle,
    /// State in which the client waits for an ADVERTISE, or for a REPLY if it requested one at once
    /// (Rapid Commit).
    Soliciting,
    /// State in which the client has accepted an ADVERTISE and waits for the REPLY.
    Requesting,
    /// State in which the client requests that its server extends its leases (RENEW).
    Renewing,
    /// State in which the client requests that any server extends its leases (REBIND).
    Rebinding,
    /// State in which the client requests confirmation that its addresses fit the link (CONFIRM).
    Confirming,
}

/// Address or prefix that a simulated DHCPv6 client has, or was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientResource {
    /// IAID of the identity association of the resource.
    pub iaid: u32,
    /// Address or prefix of the resource.
    pub resource: Resource,
    /// End of the client's lease, as a wall-clock second.
    pub until_s: u64,
}

/// Simulated DHCPv6 client.
#[derive(Clone, Debug)]
pub struct SimulatedClient6 {
    /// Number of the simulated client.
    pub index: usize,
    /// Number of relay agents between the simulated client and the server.
    pub relays: usize,
    state: SimulatedClientState6,
    associations: Vec<(ResourceKind, u32)>,
    has: Vec<ClientResource>,
    exchange: u32,
}

impl SimulatedClient6 {
    /// Returns a simulated DHCPv6 client that has just been switched on. Its number decides which
    /// identity associations it has.
    pub fn new(index: usize, relays: usize) -> Self {
        use ResourceKind::{Address, Prefix};
        let associations: &[_] = match index % 5 {
            0 => &[(Address, 1)],
            1 => &[(Prefix, 1)],
            2 => &[(Address, 1), (Prefix, 1)],
            3 => &[(Address, 1), (Address, 2)],
            _ => &[(Prefix, 1), (Address, 7), (Address, 8), (Prefix, 2)],
        };
        Self {
            index,
            relays,
            state: SimulatedClientState6::Idle,
            associations: associations.to_vec(),
            has: Vec::new(),
            exchange: 0,
        }
    }

    /// Returns the DUID of the simulated client.
    pub const fn duid(&self) -> [u8; 10] {
        let [.., a, b] = (self.index as u32).to_be_bytes();
        [0, 3, 0, 1, 2, 0, 0, 0, a, b]
    }

    /// Returns the link-local address from which the client sends when there is no relay agent.
    pub const fn link_local(&self) -> Ipv6Addr {
        Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 1, self.index as u16)
    }

    /// Returns the number of the simulated client with this DUID.
    pub const fn index_of(duid: &[u8]) -> Option<usize> {
        match duid {
            [0, 3, 0, 1, 2, 0, 0, 0, a, b] => Some(*a as usize * 256 + *b as usize),
            _ => None,
        }
    }

    /// Returns the address or prefix number `number`, as the client would request it in its first
    /// identity association.
    pub const fn resource(kind: ResourceKind, number: u32) -> Resource {
        let number = number as u16;
        match kind {
            ResourceKind::Address => {
                let address = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 0x10 + number);
                Resource::address(address)
            }
            ResourceKind::Prefix => {
                let prefix = Ipv6Addr::new(0x2001, 0xdb8, 0x100, number << 8, 0, 0, 0, 0);
                Resource::prefix(prefix, 56)
            }
        }
    }

    /// Runs the client's timer at `now_s`; returns the message that the client sends, if any.
    pub fn on_timer(&mut self, random: &mut Random, now_s: u64) -> Option<Vec<u8>> {
        self.has.retain(|having| having.until_s > now_s);
        match self.state {
            SimulatedClientState6::Soliciting => Some(self.solicit(random)),
            SimulatedClientState6::Requesting if random.chance(1, 5) => Some(self.solicit(random)),
            SimulatedClientState6::Requesting => {
                Some(self.message(MessageType::Request, &self.has))
            }
            _ if self.has.is_empty() => Some(self.solicit(random)),
            SimulatedClientState6::Renewing if random.chance(1, 3) => {
                Some(self.begin(SimulatedClientState6::Rebinding, MessageType::Rebind))
            }
            SimulatedClientState6::Renewing => Some(self.message(MessageType::Renew, &self.has)),
            SimulatedClientState6::Rebinding => Some(self.message(MessageType::Rebind, &self.has)),
            SimulatedClientState6::Idle | SimulatedClientState6::Confirming => self.act(random),
        }
    }

    /// Chooses a random action of a client with leases: a RENEW or REBIND mostly, or a RELEASE, a
    /// DECLINE, a CONFIRM, a SOLICIT, a claim of a wrong address or prefix, or silence. Returns the
    /// message that the client sends, if any.
    fn act(&mut self, random: &mut Random) -> Option<Vec<u8>> {
        match random.below(12) {
            0 => Some(self.give_up(random, MessageType::Release)),
            1 => Some(self.give_up(random, MessageType::Decline)),
            2 => Some(self.begin(SimulatedClientState6::Confirming, MessageType::Confirm)),
            3 => Some(self.solicit(random)),
            4 => None,
            5 => {
                // The client remembers a wrong address or prefix, which may be another client's.
                let number = random.below(26) as u32;
                Some(self.claim(number, u64::MAX))
            }
            6 | 7 => Some(self.begin(SimulatedClientState6::Rebinding, MessageType::Rebind)),
            _ => Some(self.begin(SimulatedClientState6::Renewing, MessageType::Renew)),
        }
    }

    /// Makes the client believe that it has the address or prefix number `number` until `until_s`;
    /// returns a message that requests to keep it, whichever client has it.
    pub fn claim(&mut self, number: u32, until_s: u64) -> Vec<u8> {
        let (kind, iaid) = self.associations[0];
        self.has.retain(|having| having.iaid != iaid || having.resource.kind != kind);
        self.has.push(ClientResource { iaid, resource: Self::resource(kind, number), until_s });
        self.begin(SimulatedClientState6::Rebinding, MessageType::Rebind)
    }

    /// Passes a DHCPv6 reply to the client; returns the message with which the client answers an
    /// offer at once, if any.
    pub fn on_reply(
        &mut self,
        random: &mut Random,
        reply: &Message<'_>,
        now_s: u64,
    ) -> Option<Vec<u8>> {
        if reply.transaction_id() != self.transaction_id() {
            return None;
        }
        match (reply.message_type(), self.state) {
            (MessageType::Advertise, SimulatedClientState6::Soliciting) => {
                let offered = leases(reply, now_s);
                if offered.is_empty() {
                    self.state = SimulatedClientState6::Idle;
                    return None;
                }
                self.has = offered;
                if random.chance(1, 12) {
                    self.state = SimulatedClientState6::Idle;
                    self.exchange += 1;
                    let has = core::mem::take(&mut self.has);
                    return Some(self.message_to(&OTHER_SERVER, MessageType::Request, &has));
                }
                Some(self.begin(SimulatedClientState6::Requesting, MessageType::Request))
            }
            (MessageType::Reply, SimulatedClientState6::Confirming) => {
                let code = reply.status().map(|(code, _)| code);
                if code == Some(StatusCode::NotOnLink.code()) {
                    self.has.clear();
                }
                self.state = SimulatedClientState6::Idle;
                None
            }
            (MessageType::Reply, SimulatedClientState6::Idle) => None,
            (MessageType::Reply, _) => {
                self.has = leases(reply, now_s);
                self.state = SimulatedClientState6::Idle;
                None
            }
            _ => None,
        }
    }

    const fn transaction_id(&self) -> u32 {
        (self.index as u32 * 4096 + self.exchange) & 0x00ff_ffff
    }

    fn begin(&mut self, state: SimulatedClientState6, kind: MessageType) -> Vec<u8> {
        self.exchange += 1;
        self.state = state;
        self.message(kind, &self.has)
    }

    fn solicit(&mut self, random: &mut Random) -> Vec<u8> {
        self.has.clear();
        self.exchange += 1;
        self.state = SimulatedClientState6::Soliciting;
        let mut requested = Vec::new();
        for &(kind, iaid) in &self.associations {
            if random.chance(2, 3) {
                continue;
            }
            let resource = Self::resource(kind, random.below(26) as u32);
            requested.push(ClientResource { iaid, resource, until_s: 0 });
        }
        let is_rapid = random.chance(1, 2);
        self.write(MessageType::Solicit, &requested, |writer| {
            if is_rapid {
                writer.option(option::RAPID_COMMIT, &[]);
            }
        })
    }

    /// Gives up all leases of the client, or one; returns the message of the type `kind` (RELEASE
    /// or DECLINE).
    fn give_up(&mut self, random: &mut Random, kind: MessageType) -> Vec<u8> {
        self.exchange += 1;
        self.state = SimulatedClientState6::Idle;
        let ended = if random.chance(1, 2) {
            core::mem::take(&mut self.has)
        } else {
            let at = random.below(self.has.len() as u64) as usize;
            vec![self.has.swap_remove(at)]
        };
        self.write(kind, &ended, |writer| {
            writer.option(option::SERVERID, &SERVER_DUID);
        })
    }

    fn message(&self, kind: MessageType, has: &[ClientResource]) -> Vec<u8> {
        match kind {
            MessageType::Rebind | MessageType::Confirm => self.write(kind, has, |_| ()),
            _ => self.message_to(&SERVER_DUID, kind, has),
        }
    }

    fn message_to(&self, server: &[u8], kind: MessageType, has: &[ClientResource]) -> Vec<u8> {
        self.write(kind, has, |writer| {
            writer.option(option::SERVERID, server);
        })
    }

    /// Writes a message of the client about all its identity associations; a RELEASE or DECLINE is
    /// about those of `resources` alone.
    fn write(
        &self,
        kind: MessageType,
        resources: &[ClientResource],
        more: impl FnOnce(&mut MessageWriter<'_>),
    ) -> Vec<u8> {
        let is_partial = matches!(kind, MessageType::Release | MessageType::Decline);
        let mut buffer = [0; 1000];
        let mut levels = RelayWriter::forward(&mut buffer);
        for hop in (0..self.relays).rev() {
            levels = levels.level(
                hop as u8,
                if hop == 0 { RELAY } else { Ipv6Addr::UNSPECIFIED },
                RELAY,
            );
        }
        let mut writer = levels.message(kind, self.transaction_id());
        writer.option(option::CLIENTID, &self.duid());
        more(&mut writer);
        for &(ia_kind, iaid) in &self.associations {
            let mut resources = resources
                .iter()
                .filter(|having| having.iaid == iaid && having.resource.kind == ia_kind)
                .peekable();
            if is_partial && resources.peek().is_none() {
                continue;
            }
            let wire_kind =
                if ia_kind == ResourceKind::Address { WireKind::Na } else { WireKind::Pd };
            let mark = writer.ia(wire_kind, iaid, 0, 0);
            for having in resources {
                let Resource { kind, len, address } = having.resource;
                match kind {
                    ResourceKind::Address => writer.ia_address(address, 0, 0),
                    ResourceKind::Prefix => writer.ia_prefix(address, len, 0, 0),
                };
            }
            writer.end(mark);
        }
        let len = writer.finish().expect("1000 octets hold the few options above");
        buffer[..len].to_vec()
    }
}

/// Returns the leases that a DHCPv6 reply grants, each with the second at which it ends.
fn leases(reply: &Message<'_>, now_s: u64) -> Vec<ClientResource> {
    granted(reply)
        .map(|(iaid, resource, valid_s)| ClientResource {
            iaid,
            resource,
            until_s: now_s + u64::from(valid_s),
        })
        .collect()
}

/// Returns IAID, address or prefix, and valid lifetime in seconds of all leases that a DHCPv6 reply
/// grants.
pub fn granted<'m>(reply: &Message<'m>) -> impl Iterator<Item = (u32, Resource, u32)> + use<'m> {
    let resources = |ia: dhcp_wire::v6::Ia<'m>| {
        let addresses = ia.addresses().map(|a| (Resource::address(a.address), a.valid_s));
        let prefixes = ia.prefixes().map(|p| (Resource::prefix(p.prefix, p.len), p.valid_s));
        addresses.chain(prefixes).map(move |(resource, valid_s)| (ia.iaid, resource, valid_s))
    };
    reply.ias().flat_map(resources).filter(|&(_, _, valid_s)| valid_s > 0)
}
