//! DHCPv4 messages that the generator sends: DISCOVER and REQUEST are byte for byte those of
//! `perfdhcp` 2.2: relayed, one hop, without padding. The generator writes each message once and
//! patches only the changing bytes per exchange. Writing takes about 15 ns per message.

use std::net::Ipv4Addr;

use base::ByteWriter;

use super::protocol::OfferedAddress;

const HOPS: usize = 3;
const XID: usize = 4;
const SECS: usize = 8;
const FLAGS: usize = 10;
const CIADDR: usize = 12;
const CHADDR: usize = 28;
/// Offset in bytes of the first option after the message type in a DHCPv4 message.
const OPTIONS: usize = 243;
const REQUEST_ADDRESS: usize = OPTIONS + 2;
const REQUEST_SERVER: usize = OPTIONS + 8;
const RELEASE_SERVER: usize = OPTIONS + 2;

/// First byte of the field `flags` when the client wants replies by broadcast.
const BROADCAST: u8 = 0x80;

/// Parameter request list (option 55): subnet mask, broadcast address, time offset, router, domain
/// name, name servers, host name, in this order.
const PARAMETERS: [u8; 7] = [1, 28, 2, 3, 15, 6, 12];

/// Additions of the caller to perfdhcp's own DHCPv4 messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dhcp4MessageExtras {
    /// Option codes added to the parameter request list (option 55).
    pub parameters: Vec<u8>,
    /// Options added to messages, as they go on the wire, before the END option.
    pub options: Vec<u8>,
}

/// Fixed part of a DHCPv4 message, equal for all exchanges.
#[derive(Clone, Debug)]
struct Dhcp4MessageTemplate {
    octets: Vec<u8>,
    /// Offset in bytes of the hardware address in the client identifier.
    client_id: usize,
}

/// DHCPv4 message of a client about an address that a server offered or leased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dhcp4LeaseMessage {
    /// DHCPREQUEST that takes an offer.
    Request,
    /// DHCPREQUEST of a client that renews its lease (RFC 2131 section 4.3.2).
    Renewal,
    /// DHCPREQUEST of a client that had a lease before it started (RFC 2131 section 3.2).
    Reboot,
    /// DHCPINFORM of a client that has a lease.
    Inform,
    /// DHCPDECLINE of an address.
    Decline,
    /// DHCPRELEASE of an address.
    Release,
}

impl Dhcp4LeaseMessage {
    /// Returns the offsets in bytes of the address and, if the message has one, of the server
    /// (RFC 2131 tables 4 and 5).
    const fn offsets(self) -> (usize, Option<usize>) {
        match self {
            Self::Request | Self::Decline => (REQUEST_ADDRESS, Some(REQUEST_SERVER)),
            Self::Reboot => (REQUEST_ADDRESS, None),
            Self::Renewal | Self::Inform => (CIADDR, None),
            Self::Release => (CIADDR, Some(RELEASE_SERVER)),
        }
    }
}

/// All DHCPv4 messages of the generator, complete except for the changing bytes.
#[derive(Clone, Debug)]
pub struct Templates {
    discover: Dhcp4MessageTemplate,
    /// Messages about an address, by [`Dhcp4LeaseMessage`].
    about_lease: [Dhcp4MessageTemplate; 6],
}

/// Builds a DHCPv4 message: the fixed part (RFC 2131 section 2), the message type, `own` options
/// (code and length) with zeros as their values, the parameter request list unless `asks` is
/// `None`, and the client identifier.
fn message(
    giaddr: Ipv4Addr,
    message_type: u8,
    own: &[(u8, usize)],
    asks: Option<&Dhcp4MessageExtras>,
) -> Dhcp4MessageTemplate {
    let mut octets = vec![0; 2_048];
    let mut writer = ByteWriter::new(&mut octets);
    writer.put(&[1, 1, 6, 1]).fill(0, 4 + 2 + 2 + 4 + 4 + 4).put(&giaddr.octets());
    writer.fill(0, 16 + 64 + 128).put(&[0x63, 0x82, 0x53, 0x63]).put(&[53, 1, message_type]);
    for &(code, len) in own {
        writer.put(&[code, len as u8]).fill(0, len);
    }
    if let Some(extras) = asks {
        writer.put(&[55, (PARAMETERS.len() + extras.parameters.len()) as u8]);
        writer.put(&PARAMETERS).put(&extras.parameters);
    }
    writer.put(&[61, 7, 1]);
    let client_id = writer.len();
    writer.fill(0, 6);
    if let Some(extras) = asks {
        writer.put(&extras.options);
    }
    writer.u8(255);
    assert!(!writer.overflowed(), "a message has less than 2,048 octets");
    let len = writer.len();
    octets.truncate(len);
    Dhcp4MessageTemplate { octets, client_id }
}

impl Dhcp4MessageTemplate {
    /// Copies the message with transaction identifier and client's hardware address into `buffer`
    /// and returns the bytes.
    fn write<'b>(&self, buffer: &'b mut [u8], xid: u32, mac: [u8; 6]) -> &'b mut [u8] {
        let octets = &mut buffer[..self.octets.len()];
        octets.copy_from_slice(&self.octets);
        octets[XID..XID + 4].copy_from_slice(&xid.to_be_bytes());
        octets[CHADDR..CHADDR + 6].copy_from_slice(&mac);
        octets[self.client_id..self.client_id + 6].copy_from_slice(&mac);
        octets
    }
}

fn set_address(octets: &mut [u8], at: usize, address: Ipv4Addr) {
    octets[at..at + 4].copy_from_slice(&address.octets());
}

/// Writes the seconds since the client began (`secs`) into a DHCPv4 message of any type.
pub fn set_secs(octets: &mut [u8], secs: u16) {
    octets[SECS..SECS + 2].copy_from_slice(&secs.to_be_bytes());
}

/// Writes the relay address `giaddr` into a DHCPv4 message of any type.
pub fn set_relay(octets: &mut [u8], giaddr: Ipv4Addr) {
    set_address(octets, 24, giaddr);
}

impl Templates {
    /// Builds the DHCPv4 messages of a relay at `giaddr`.
    pub fn new(giaddr: Ipv4Addr) -> Self {
        Self::with(giaddr, &Dhcp4MessageExtras::default())
    }

    /// Builds the DHCPv4 messages as [`Templates::new`] does, with `extras`, which must fit a
    /// frame. A RELEASE has no extras.
    pub fn with(giaddr: Ipv4Addr, extras: &Dhcp4MessageExtras) -> Self {
        Self {
            discover: message(giaddr, 1, &[], Some(extras)),
            about_lease: [
                message(giaddr, 3, &[(50, 4), (54, 4)], Some(extras)),
                message(giaddr, 3, &[], Some(extras)),
                message(giaddr, 3, &[(50, 4)], Some(extras)),
                message(giaddr, 8, &[], Some(extras)),
                message(giaddr, 4, &[(50, 4), (54, 4)], None),
                message(giaddr, 7, &[(54, 4)], None),
            ],
        }
    }

    /// Returns the DHCPv4 messages as clients themselves send them, without a relay: with no hops.
    /// With `wants_broadcast` clients without an address ask for replies by broadcast (RFC 2131
    /// section 4.1). The relay address must be 0.0.0.0.
    #[must_use]
    pub fn direct(mut self, wants_broadcast: bool) -> Self {
        let Self { discover, about_lease: [request, renewal, reboot, others @ ..] } = &mut self;
        for message in [&mut *discover, &mut *request, &mut *reboot] {
            message.octets[FLAGS] = if wants_broadcast { BROADCAST } else { 0 };
        }
        for message in [discover, request, renewal, reboot].into_iter().chain(others) {
            message.octets[HOPS] = 0;
        }
        self
    }

    /// Returns the length of the longest DHCPv4 message of the generator, in bytes.
    pub const fn message_bytes_max(&self) -> usize {
        self.about_lease[Dhcp4LeaseMessage::Request as usize].octets.len()
    }

    /// Writes the DHCPDISCOVER of one exchange into `buffer`, which must have room for it, and
    /// returns its length in bytes.
    pub fn discover(&self, buffer: &mut [u8], xid: u32, mac: [u8; 6]) -> usize {
        self.discover.write(buffer, xid, mac).len()
    }

    /// Writes the DHCPREQUEST of one exchange into `buffer`, which must have room for it, and
    /// returns its length in bytes. `secs` is the number of whole seconds since the DISCOVER.
    pub fn request(
        &self,
        buffer: &mut [u8],
        xid: u32,
        mac: [u8; 6],
        secs: u16,
        offered: OfferedAddress,
    ) -> usize {
        let len = self.about_lease(Dhcp4LeaseMessage::Request, buffer, xid, mac, offered);
        set_secs(buffer, secs);
        len
    }

    /// Writes `message` of a client about `lease` into `buffer`, which must have room for it, and
    /// returns its length in bytes.
    pub fn about_lease(
        &self,
        message: Dhcp4LeaseMessage,
        buffer: &mut [u8],
        xid: u32,
        mac: [u8; 6],
        lease: OfferedAddress,
    ) -> usize {
        let octets = self.about_lease[message as usize].write(buffer, xid, mac);
        let (address, server) = message.offsets();
        set_address(octets, address, lease.address);
        if let Some(server) = server {
            set_address(octets, server, lease.server);
        }
        octets.len()
    }
}

#[cfg(test)]
mod tests {
    use super::Dhcp4LeaseMessage::{Decline, Inform, Reboot, Release, Renewal};
    use super::*;

    /// First bytes (to the end of `chaddr`) and options of a message that `perfdhcp` 2.2.0 sent
    /// from 127.0.0.1 in its second exchange, captured; between them are 192 zeros.
    const HEAD: &str = "0101060100000001000000000000000000000000000000007f000001000c010203050000\
                        0000000000000000";
    const DISCOVER_OPTIONS: &str = "638253633501013707011c02030f060c3d0701000c01020305ff";
    const REQUEST_OPTIONS: &str = "63825363350103\
         32040a0908073604\
         7f0000013707011c02030f060c3d0701000c01020305ff";
    const MAC: [u8; 6] = [0, 0x0c, 1, 2, 3, 5];

    fn captured(options: &str) -> Vec<u8> {
        let hex = format!("{HEAD}{}{options}", "00".repeat(192));
        let digits = hex.as_bytes().chunks(2);
        digits.map(|d| u8::from_str_radix(str::from_utf8(d).unwrap(), 16).unwrap()).collect()
    }

    #[test]
    fn both_messages_are_those_that_perfdhcp_sends() {
        let templates = Templates::new(Ipv4Addr::LOCALHOST);
        let mut buffer = [0xff; 300];
        let len = templates.discover(&mut buffer, 1, MAC);
        assert_eq!(buffer[..len], captured(DISCOVER_OPTIONS));
        let offered =
            OfferedAddress { address: Ipv4Addr::new(10, 9, 8, 7), server: Ipv4Addr::LOCALHOST };
        let len = templates.request(&mut buffer, 1, MAC, 0, offered);
        assert_eq!(buffer[..len], captured(REQUEST_OPTIONS));
        let len = templates.request(&mut buffer, 1, MAC, 0x0102, offered);
        let mut later = captured(REQUEST_OPTIONS);
        later[8..10].copy_from_slice(&[1, 2]);
        assert_eq!(buffer[..len], later);
    }

    #[test]
    fn a_client_without_a_relay_counts_no_hop_and_asks_for_broadcasts_until_it_has_an_address() {
        let lease =
            OfferedAddress { address: Ipv4Addr::new(10, 9, 8, 7), server: Ipv4Addr::LOCALHOST };
        let relayed = Templates::new(Ipv4Addr::UNSPECIFIED);
        for (wants_broadcast, flags) in [(false, 0), (true, 0x80)] {
            let direct = relayed.clone().direct(wants_broadcast);
            type Write = fn(&Templates, &mut [u8], OfferedAddress) -> usize;
            let messages: [(Write, u8); 7] = [
                (|all, buffer, _| all.discover(buffer, 7, MAC), flags),
                (|all, buffer, lease| all.request(buffer, 7, MAC, 3, lease), flags),
                (|all, buffer, lease| all.about_lease(Reboot, buffer, 7, MAC, lease), flags),
                (|all, buffer, lease| all.about_lease(Renewal, buffer, 7, MAC, lease), 0),
                (|all, buffer, lease| all.about_lease(Release, buffer, 7, MAC, lease), 0),
                (|all, buffer, lease| all.about_lease(Inform, buffer, 7, MAC, lease), 0),
                (|all, buffer, lease| all.about_lease(Decline, buffer, 7, MAC, lease), 0),
            ];
            for (write, flags) in messages {
                let (mut expected, mut buffer) = ([0xff; 300], [0xff; 300]);
                let len = write(&relayed, &mut expected, lease);
                expected[3] = 0;
                expected[10] = flags;
                assert_eq!(write(&direct, &mut buffer, lease), len);
                assert_eq!(buffer[..len], expected[..len]);
            }
        }
    }

    #[test]
    fn a_renewal_names_its_address_and_a_release_the_server_too() {
        let extras = Dhcp4MessageExtras { parameters: vec![42], options: vec![60, 2, 7, 8] };
        let templates = Templates::with(Ipv4Addr::LOCALHOST, &extras);
        let lease =
            OfferedAddress { address: Ipv4Addr::new(10, 9, 8, 7), server: Ipv4Addr::LOCALHOST };
        let mut buffer = [0xff; 400];
        let len = templates.about_lease(Renewal, &mut buffer, 1, MAC, lease);
        assert_eq!(buffer[12..16], [10, 9, 8, 7]);
        let options = [
            53, 1, 3, 55, 8, 1, 28, 2, 3, 15, 6, 12, 42, 61, 7, 1, 0, 12, 1, 2, 3, 5, 60, 2, 7, 8,
            255,
        ];
        assert_eq!(buffer[240..len], options);
        let len = templates.about_lease(Release, &mut buffer, 1, MAC, lease);
        assert_eq!(buffer[12..16], [10, 9, 8, 7]);
        let options = [53, 1, 7, 54, 4, 127, 0, 0, 1, 61, 7, 1, 0, 12, 1, 2, 3, 5, 255];
        assert_eq!(buffer[240..len], options);
    }

    #[test]
    fn what_else_a_client_says_about_its_lease() {
        let templates = Templates::new(Ipv4Addr::LOCALHOST);
        let lease =
            OfferedAddress { address: Ipv4Addr::new(10, 9, 8, 7), server: Ipv4Addr::LOCALHOST };
        let mut buffer = [0xff; 400];
        let asks = [55, 7, 1, 28, 2, 3, 15, 6, 12];
        let id = [61, 7, 1, 0, 12, 1, 2, 3, 5, 255];
        // RFC 2131 tables 4 and 5: the field of the address, and the messages that name the server.
        let len = templates.about_lease(Reboot, &mut buffer, 1, MAC, lease);
        let about = [53, 1, 3, 50, 4, 10, 9, 8, 7];
        assert_eq!(buffer[12..16], [0; 4]);
        assert_eq!(buffer[240..len], [&about[..], &asks, &id].concat());
        let len = templates.about_lease(Inform, &mut buffer, 1, MAC, lease);
        assert_eq!(buffer[12..16], [10, 9, 8, 7]);
        assert_eq!(buffer[240..len], [&[53, 1, 8][..], &asks, &id].concat());
        let len = templates.about_lease(Decline, &mut buffer, 1, MAC, lease);
        let about = [53, 1, 4, 50, 4, 10, 9, 8, 7, 54, 4, 127, 0, 0, 1];
        assert_eq!(buffer[12..16], [0; 4]);
        assert_eq!(buffer[240..len], [&about[..], &id].concat());
    }
}
