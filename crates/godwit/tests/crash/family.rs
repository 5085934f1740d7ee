//! Messages of each family, relayed over loopback.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

use dhcp_wire::v4::{self, Dhcp4Header};
use dhcp_wire::v6::{self, IaKind, Packet, RelayWriter};

use crate::common;

/// Address of the server and of the relay agent, at different ports.
const RELAY4: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// Address of the relay agent on the clients' link.
pub(crate) const LINK6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 1);
/// Lifetime that the clients request; the server decides otherwise.
const LIFETIME_S: u32 = 3600;

/// Request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CrashRequest {
    /// Request for an offer.
    Offer,
    /// Request for the offered address.
    Lease(IpAddr),
    /// Renewal of the client's address.
    Renewal(IpAddr),
    /// Release of the client's address.
    Release(IpAddr),
}

impl CrashRequest {
    /// Returns the address in the request.
    pub(crate) const fn address(self) -> Option<IpAddr> {
        match self {
            Self::Offer => None,
            Self::Lease(address) | Self::Renewal(address) | Self::Release(address) => Some(address),
        }
    }
}

/// Message of a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CrashMessage<'m> {
    pub(crate) client: u32,
    /// Transaction identifier of 24 bits.
    pub(crate) xid: u32,
    pub(crate) ask: CrashRequest,
    /// Server identifier from an earlier reply; empty before the first one.
    pub(crate) server: &'m [u8],
}

/// Reply of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CrashReply {
    pub(crate) xid: u32,
    /// True if the reply is an offer, false if it is final.
    pub(crate) is_offer: bool,
    /// Address in the reply; `None` if the server refuses.
    pub(crate) address: Option<IpAddr>,
    /// Server identifier in the reply.
    pub(crate) server: Vec<u8>,
}

/// Family (DHCPv4 or DHCPv6) with its differences for the crash tests.
#[derive(Clone, Copy)]
pub(crate) struct CrashFamily {
    /// Name of the server.
    pub(crate) server: &'static str,
    /// Address of the server and the relay agent.
    pub(crate) loopback: IpAddr,
    /// Function that writes a message.
    pub(crate) write: fn(&CrashMessage<'_>) -> Vec<u8>,
    /// Function that reads a reply.
    pub(crate) read: fn(&[u8]) -> Option<CrashReply>,
    /// Function that writes the server's configuration into the folder and returns its path.
    pub(crate) configuration: fn(&Path) -> PathBuf,
    /// True if the server replies to a release.
    pub(crate) confirms_releases: bool,
}

/// Family DHCPv4.
pub(crate) const V4: CrashFamily = CrashFamily {
    server: "dhcp4",
    loopback: IpAddr::V4(RELAY4),
    write: write_v4,
    read: read_v4,
    configuration: |folder| {
        let path = common::configuration(folder, "always", 2);
        // Only a few more addresses than clients, so that released ones are soon leased again.
        replace(&path, "127.1.255.254", "127.1.1.44");
        path
    },
    confirms_releases: false,
};

/// Family DHCPv6: clients with even numbers request addresses, the others prefixes.
pub(crate) const V6: CrashFamily = CrashFamily {
    server: "dhcp6",
    loopback: IpAddr::V6(Ipv6Addr::LOCALHOST),
    write: write_v6,
    read: read_v6,
    configuration: |folder| {
        let server_id =
            r#""server-id": { "type": "LL", "identifier": "020000000099", "persist": false },"#;
        let subnet = r#"{ "id": 1, "subnet": "2001:db8:1::/64", "interface": "lo",
                          "pools": [ { "pool": "2001:db8:1::100 - 2001:db8:1::195" } ],
                          "pd-pools": [ { "prefix": "2001:db8:8000::", "prefix-len": 48,
                                          "delegated-len": 56 } ] }"#;
        common::configuration6(folder, r#""lo/::1""#, server_id, subnet)
    },
    confirms_releases: true,
};

/// Replaces every text `right` in the file by `other`.
pub(crate) fn replace(path: &Path, right: &str, other: &str) {
    let text = std::fs::read_to_string(path).expect("it was written here");
    assert!(text.contains(right), "{text}");
    std::fs::write(path, text.replace(right, other)).expect("the folder can be written");
}

/// Returns the hardware address of the client with this number, which its DUID contains, too.
fn hardware(client: u32) -> [u8; 6] {
    let [a, b, c, d] = client.to_be_bytes();
    [2, 0, a, b, c, d]
}

fn write_v4(message: &CrashMessage<'_>) -> Vec<u8> {
    let mut chaddr = [0; 16];
    chaddr[..6].copy_from_slice(&hardware(message.client));
    let ciaddr = match message.ask {
        CrashRequest::Renewal(IpAddr::V4(address)) | CrashRequest::Release(IpAddr::V4(address)) => {
            address
        }
        _ => Ipv4Addr::UNSPECIFIED,
    };
    let header = Dhcp4Header {
        xid: message.xid,
        hops: 1,
        ciaddr,
        giaddr: RELAY4,
        chaddr,
        ..Dhcp4Header::default()
    };
    let mut octets = vec![0; 1024];
    let mut writer = v4::MessageWriter::new(&mut octets, &header);
    writer.message_type(match message.ask {
        CrashRequest::Offer => v4::MessageType::Discover,
        CrashRequest::Lease(_) | CrashRequest::Renewal(_) => v4::MessageType::Request,
        CrashRequest::Release(_) => v4::MessageType::Release,
    });
    if message.client.is_multiple_of(2) {
        writer.option(v4::option::CLIENT_IDENTIFIER, &[&[0], &chaddr[..6]].concat());
    }
    if let CrashRequest::Lease(IpAddr::V4(address)) = message.ask {
        writer.option(v4::option::REQUESTED_IP_ADDRESS, &address.octets());
    }
    if let CrashRequest::Lease(_) | CrashRequest::Release(_) = message.ask {
        writer.option(v4::option::SERVER_IDENTIFIER, message.server);
    }
    let len = writer.finish(v4::BOOTP_MIN_LEN).expect("there is room");
    octets.truncate(len);
    octets
}

fn read_v4(octets: &[u8]) -> Option<CrashReply> {
    let message = v4::Message::parse(octets).ok()?;
    let (is_offer, is_yes) = match message.message_type()? {
        v4::MessageType::Offer => (true, true),
        v4::MessageType::Ack => (false, true),
        v4::MessageType::Nak => (false, false),
        _ => return None,
    };
    let address = is_yes.then(|| message.yiaddr().into());
    let server = message.server_identifier()?.octets().to_vec();
    Some(CrashReply { xid: message.xid(), is_offer, address, server })
}

fn write_v6(message: &CrashMessage<'_>) -> Vec<u8> {
    let kind = match message.ask {
        CrashRequest::Offer => v6::MessageType::Solicit,
        CrashRequest::Lease(_) => v6::MessageType::Request,
        CrashRequest::Renewal(_) => v6::MessageType::Renew,
        CrashRequest::Release(_) => v6::MessageType::Release,
    };
    let mut octets = vec![0; 1024];
    let peer = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, message.client as u16);
    let levels = RelayWriter::forward(&mut octets).level(0, LINK6, peer);
    let mut writer = levels.message(kind, message.xid);
    let duid = [&[0, 3, 0, 1][..], &hardware(message.client)].concat();
    writer.option(v6::option::CLIENTID, &duid);
    if message.ask != CrashRequest::Offer {
        writer.option(v6::option::SERVERID, message.server);
    }
    writer.option_u16(v6::option::ELAPSED_TIME, 0);
    let is_address = message.client.is_multiple_of(2);
    let mark = writer.ia(if is_address { IaKind::Na } else { IaKind::Pd }, 1, 0, 0);
    if let CrashRequest::Lease(address)
    | CrashRequest::Renewal(address)
    | CrashRequest::Release(address) = message.ask
    {
        let IpAddr::V6(address) = address else { panic!("{address} is of the other family") };
        if is_address {
            writer.ia_address(address, LIFETIME_S, LIFETIME_S)
        } else {
            writer.ia_prefix(address, 56, LIFETIME_S, LIFETIME_S)
        };
    }
    writer.end(mark);
    let len = writer.finish().expect("there is room");
    octets.truncate(len);
    octets
}

fn read_v6(octets: &[u8]) -> Option<CrashReply> {
    let packet = Packet::parse(octets).ok()?;
    let message = packet.message();
    let is_offer = match message.message_type() {
        v6::MessageType::Advertise => true,
        v6::MessageType::Reply => false,
        _ => return None,
    };
    let ia = message.ias().next();
    let address = ia.and_then(|ia| {
        let address = ia.addresses().find(|a| a.valid_s > 0).map(|a| a.address.into());
        address.or_else(|| ia.prefixes().find(|p| p.valid_s > 0).map(|p| p.prefix.into()))
    });
    let server = message.server_id()?.to_vec();
    Some(CrashReply { xid: message.transaction_id(), is_offer, address, server })
}
