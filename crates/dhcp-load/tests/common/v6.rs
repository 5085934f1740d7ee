//! Miniature DHCPv6 server behind a relay, and errors that it may make.

use std::net::Ipv6Addr;

use base::ByteWriter;
use dhcp_load::Expect;
use dhcp_load::v6::RequestedAssociations;
use dhcp_load::v6::answer::{code, kind};
use dhcp_load::v6::protocol::Dhcp6ClientMessages;

use crate::common::{MS, VirtualRunOutcome, play_world};

/// Length of RELAY-FORW header and Relay Message option header, in bytes.
pub(crate) const RELAY_LEN: usize = 38;
/// Link addresses of the relay.
pub(crate) const LINKS: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 1),
    Ipv6Addr::new(0x2001, 0xdb8, 2, 0, 0, 0, 0, 1),
];
pub(crate) const SERVER: [u8; 11] = [0, 2, 0, 0, 9, 0xbf, 1, 2, 3, 4, 5];

/// Address or prefix in a reply.
#[derive(Clone, Debug)]
pub(crate) struct TestIaLease {
    pub(crate) address: Ipv6Addr,
    pub(crate) prefix_len: u8,
    pub(crate) preferred_s: u32,
    pub(crate) valid_s: u32,
}

/// Identity association in a reply.
#[derive(Clone, Debug)]
pub(crate) struct TestIa {
    pub(crate) is_prefix: bool,
    pub(crate) iaid: u32,
    pub(crate) t1_s: u32,
    pub(crate) t2_s: u32,
    pub(crate) leases: Vec<TestIaLease>,
    pub(crate) status: Option<u16>,
}

/// Reply before it becomes bytes.
#[derive(Clone, Debug)]
pub(crate) struct Dhcp6TestReply {
    /// RELAY-REPL header without the option; empty for a bare reply.
    pub(crate) relay: Vec<u8>,
    pub(crate) kind: u8,
    pub(crate) xid: u32,
    pub(crate) client_id: Option<Vec<u8>>,
    pub(crate) server_id: Option<Vec<u8>>,
    pub(crate) status: Option<u16>,
    pub(crate) rapid: bool,
    pub(crate) ias: Vec<TestIa>,
}

/// Request as a server sees it.
pub(crate) struct Dhcp6TestRequest<'a> {
    pub(crate) octets: &'a [u8],
}

fn word(octets: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([octets[at], octets[at + 1]])
}

impl Dhcp6TestRequest<'_> {
    fn message(&self) -> &[u8] {
        let at = if self.octets[0] == kind::RELAY_FORW { RELAY_LEN } else { 0 };
        &self.octets[at..]
    }

    pub(crate) fn kind(&self) -> u8 {
        self.message()[0]
    }

    pub(crate) fn link(&self) -> Ipv6Addr {
        Ipv6Addr::from(*self.octets[2..].first_chunk::<16>().unwrap())
    }

    pub(crate) fn client(&self) -> u32 {
        u32::from_be_bytes(*self.message()[18..].first_chunk().unwrap())
    }

    /// Returns code and IAID of the requested associations.
    fn requested_ias(&self) -> Vec<(u16, u32)> {
        let message = self.message();
        let (mut at, mut requested_ias) = (4, Vec::new());
        while at < message.len() {
            let (option, len) = (word(message, at), usize::from(word(message, at + 2)));
            if option == code::IA_NA || option == code::IA_PD {
                let iaid = u32::from_be_bytes(*message[at + 4..].first_chunk().unwrap());
                requested_ias.push((option, iaid));
            }
            at += 4 + len;
        }
        requested_ias
    }

    fn asks_for(&self, option: u16) -> bool {
        let message = self.message();
        let mut at = 4;
        while at < message.len() && word(message, at) != option {
            at += 4 + usize::from(word(message, at + 2));
        }
        at < message.len()
    }

    pub(crate) fn names_a_server(&self) -> bool {
        self.asks_for(code::SERVER_ID)
    }

    /// Returns the resource that a well-behaved server gives to this client for an association.
    fn own(&self, is_prefix: bool, iaid: u32) -> TestIaLease {
        let [a, b] = [self.client() >> 16, self.client()].map(|half| half as u16);
        let address = if is_prefix {
            Ipv6Addr::new(0x2001, 0xdb8, 0x8000 + iaid as u16, a, b, 0, 0, 0)
        } else {
            Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, iaid as u16, a, b)
        };
        let prefix_len = if is_prefix { 80 } else { 128 };
        TestIaLease { address, prefix_len, preferred_s: 1_800, valid_s: 3_600 }
    }

    /// Returns an ADVERTISE to a SOLICIT and a REPLY to a REQUEST, as a well-behaved server gives
    /// them.
    pub(crate) fn good(&self) -> Dhcp6TestReply {
        let mut relay = self.octets[..RELAY_LEN - 4].to_vec();
        relay[0] = kind::RELAY_REPL;
        if self.octets[0] != kind::RELAY_FORW {
            relay.clear();
        }
        let message = self.message();
        let ias = self.requested_ias().into_iter().map(|(option, iaid)| {
            let is_prefix = option == code::IA_PD;
            let leases = vec![self.own(is_prefix, iaid)];
            TestIa { is_prefix, iaid, t1_s: 900, t2_s: 1_440, leases, status: None }
        });
        Dhcp6TestReply {
            relay,
            kind: if self.kind() == kind::SOLICIT { kind::ADVERTISE } else { kind::REPLY },
            xid: u32::from_be_bytes([0, message[1], message[2], message[3]]),
            client_id: Some(message[8..22].to_vec()),
            server_id: Some(SERVER.to_vec()),
            status: None,
            rapid: false,
            ias: ias.collect(),
        }
    }

    /// Returns the reply of [`Dhcp6TestRequest::good`], but a REPLY to a SOLICIT that requests
    /// Rapid Commit.
    pub(crate) fn rapid(&self) -> Dhcp6TestReply {
        let mut reply = self.good();
        if self.asks_for(code::RAPID_COMMIT) {
            (reply.kind, reply.rapid) = (kind::REPLY, true);
        }
        reply
    }
}

fn put_status(writer: &mut ByteWriter<'_>, status: Option<u16>) {
    if let Some(status) = status {
        writer.u16(code::STATUS_CODE).u16(2 + 4).u16(status).put(b"text");
    }
}

impl Dhcp6TestReply {
    pub(crate) fn octets(&self) -> Vec<u8> {
        let mut buffer = [0; 2_048];
        let mut writer = ByteWriter::new(&mut buffer);
        writer.u32(self.xid | u32::from(self.kind) << 24);
        let ids = [(code::CLIENT_ID, &self.client_id), (code::SERVER_ID, &self.server_id)];
        for (option, id) in ids {
            if let Some(id) = id {
                writer.u16(option).u16(id.len() as u16).put(id);
            }
        }
        if self.rapid {
            writer.u16(code::RAPID_COMMIT).u16(0);
        }
        for ia in &self.ias {
            let item = if ia.is_prefix { 25 } else { 24 };
            let len = 12 + ia.leases.len() * (4 + item) + ia.status.map_or(0, |_| 10);
            writer.u16(if ia.is_prefix { code::IA_PD } else { code::IA_NA }).u16(len as u16);
            writer.u32(ia.iaid).u32(ia.t1_s).u32(ia.t2_s);
            for lease in &ia.leases {
                let times = [lease.preferred_s, lease.valid_s];
                let address = lease.address.octets();
                if ia.is_prefix {
                    writer.u16(code::IAPREFIX).u16(25).u32(times[0]).u32(times[1]);
                    writer.u8(lease.prefix_len).put(&address);
                } else {
                    writer.u16(code::IAADDR).u16(24).put(&address).u32(times[0]).u32(times[1]);
                }
            }
            put_status(&mut writer, ia.status);
        }
        put_status(&mut writer, self.status);
        assert!(!writer.overflowed());
        let message = writer.written().to_vec();
        if self.relay.is_empty() {
            return message;
        }
        let mut octets = self.relay.clone();
        octets.extend(code::RELAY_MSG.to_be_bytes());
        octets.extend((message.len() as u16).to_be_bytes());
        octets.extend(message);
        octets
    }
}

/// Returns relayed clients that request `ask`, on two links.
pub(crate) fn relayed(ask: RequestedAssociations) -> Dhcp6ClientMessages {
    Dhcp6ClientMessages::new(ask, Expect::Dhcp, &LINKS, 1)
}

/// Plays 100 exchanges within one second, each with the request `ask`.
pub(crate) fn hundred(
    ask: RequestedAssociations,
    server: impl FnMut(&Dhcp6TestRequest<'_>) -> Vec<(u64, Vec<u8>)>,
) -> VirtualRunOutcome {
    hundred_of(relayed(ask), server)
}

/// Plays 100 exchanges of `clients` within one second.
pub(crate) fn hundred_of(
    clients: Dhcp6ClientMessages,
    mut server: impl FnMut(&Dhcp6TestRequest<'_>) -> Vec<(u64, Vec<u8>)>,
) -> VirtualRunOutcome {
    let kind = |octets: &[u8]| Dhcp6TestRequest { octets }.kind();
    play_world(clients, 100.0, 1_000 * MS, kind, |_, octets| server(&Dhcp6TestRequest { octets }))
}
