//! View that class expressions have of a DHCPv6 message and of the options that relay agents add
//! around it.

use core::net::Ipv6Addr;

use dhcp_config::expression::{Field6, OptionPath, PacketField, Term};
use dhcp_lease::v6::V6;
use dhcp_wire::v6::{Dhcp6OptionIterator, Packet, Relay, Tuples, option};

use super::PacketView;
use super::form::convert_to_form;
use crate::interfaces::InterfaceNames;
use crate::protocol::Protocol as _;
use crate::v6::Ingress;

/// Multicast address to which clients and relay agents send when they know no server (RFC 9915
/// §7.1).
const ALL_AGENTS_AND_SERVERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2);

/// Vendor class texts that become client classes `VENDOR_CLASS_<text>` at any position in the
/// client's Vendor Class option (16, RFC 9915 §21.16).
const DOCSIS: [&[u8]; 2] = [b"docsis3.0", b"eRouter1.0"];

/// DHCPv6 message as received, in the form that class expressions read.
#[derive(Clone, Copy, Debug)]
pub struct PacketView6<'m> {
    /// Parsed DHCPv6 message with its relay levels.
    pub packet: &'m Packet<'m>,
    /// Address and interface at which the message was received.
    pub ingress: &'m Ingress,
    /// Names of the server's network interfaces.
    pub interfaces: &'m InterfaceNames,
}

impl PacketView for PacketView6<'_> {
    fn read(&self, term: &Term, target: &mut Vec<u8>) -> bool {
        match term {
            Term::Option(path) => append_option(self.options(), path, target),
            Term::RelayOption { level, path } => {
                // The relayed message is none of an agent's options, as in Kea.
                let relay = self.relay(*level);
                let relay =
                    if path.codes.first() != Some(&option::RELAY_MSG) { relay } else { None };
                relay.is_some_and(|relay| append_option(relay.options, path, target))
            }
            Term::RelayAddress { level, peer } => {
                let Some(relay) = self.relay(*level) else { return false };
                let address = if *peer { relay.peer_address } else { relay.link_address };
                target.extend(address.octets());
                true
            }
            Term::Vendor { enterprise, path: None } => {
                self.of_enterprise(option::VENDOR_OPTS, *enterprise).is_some()
            }
            Term::Vendor { enterprise, path: Some(path) } => {
                self.of_enterprise(option::VENDOR_OPTS, *enterprise).is_some_and(|(_, value)| {
                    append_option(Dhcp6OptionIterator::new(value), path, target)
                })
            }
            Term::VendorEnterprise => {
                put_number(self.of_enterprise(option::VENDOR_OPTS, None), target)
            }
            Term::VendorClass { enterprise } => {
                self.of_enterprise(option::VENDOR_CLASS, *enterprise).is_some()
            }
            Term::VendorClassEnterprise => {
                put_number(self.of_enterprise(option::VENDOR_CLASS, None), target)
            }
            Term::VendorClassData { enterprise, index } => {
                let class = self.of_enterprise(option::VENDOR_CLASS, *enterprise);
                let piece =
                    class.and_then(|(_, value)| Tuples::to_the_end(value).nth(usize::from(*index)));
                piece.inspect(|piece| target.extend_from_slice(piece)).is_some()
            }
            Term::Packet(field) => self.field(*field, target),
            Term::Field6(field) => {
                let message = self.packet.message();
                let number = match field {
                    Field6::MessageType => u32::from(message.message_type().code()),
                    Field6::TransactionId => message.transaction_id(),
                };
                target.extend(number.to_be_bytes());
                true
            }
            // The parser refuses this term in DHCPv6.
            Term::Field4(_) => false,
        }
    }

    fn balance_hash(&self) -> Option<u8> {
        V6::pair_client(self.packet).and_then(|client| client.hash)
    }

    fn vendor_class(&self, nth: usize, target: &mut Vec<u8>) -> bool {
        let classes = self.options().all(option::VENDOR_CLASS).filter_map(|value| {
            let pieces = || Tuples::to_the_end(value.get(4..).unwrap_or_default());
            let docsis = DOCSIS.into_iter().find(|name| pieces().any(|piece| piece == *name));
            docsis.or_else(|| pieces().next())
        });
        let class = classes.into_iter().nth(nth);
        class.inspect(|class| target.extend_from_slice(class)).is_some()
    }
}

impl<'m> PacketView6<'m> {
    fn options(&self) -> Dhcp6OptionIterator<'m> {
        self.packet.message().options()
    }

    /// Returns the data that a relay agent added to a DHCPv6 message: level 0 is the agent nearest
    /// to the server, level -1 the agent nearest to the client.
    fn relay(&self, level: i8) -> Option<Relay<'m>> {
        let count = self.packet.relay_count();
        let index = match usize::try_from(level) {
            Ok(index) => index,
            Err(_) => count.checked_sub(usize::from(level.unsigned_abs()))?,
        };
        (index < count).then(|| self.packet.relay(index))
    }

    /// Returns the number of an enterprise and its data in the vendor option `code` (16 or 17, RFC
    /// 9915); the first enterprise when `enterprise` is `None`. Kea sees the first option only, so
    /// it finds no data of other enterprises.
    fn of_enterprise(&self, code: u16, enterprise: Option<u32>) -> Option<(u32, &'m [u8])> {
        let blocks = self.options().all(code).filter_map(|value| {
            let (number, rest) = value.split_first_chunk()?;
            Some((u32::from_be_bytes(*number), rest))
        });
        blocks.into_iter().find(|(number, _)| enterprise.is_none_or(|meant| meant == *number))
    }

    fn field(&self, field: PacketField, target: &mut Vec<u8>) -> bool {
        match field {
            PacketField::Interface => {
                let name = self.interfaces.name(self.ingress.interface).unwrap_or_default();
                target.extend_from_slice(name.as_bytes());
            }
            PacketField::Source => target.extend(self.ingress.source.ip().octets()),
            PacketField::Destination if self.ingress.is_multicast => {
                target.extend(ALL_AGENTS_AND_SERVERS.octets());
            }
            PacketField::Destination => target.extend(self.ingress.local.octets()),
            PacketField::Length => {
                target.extend((self.packet.octets().len() as u32).to_be_bytes());
            }
        }
        true
    }
}

fn put_number(block: Option<(u32, &[u8])>, target: &mut Vec<u8>) -> bool {
    block.inspect(|(number, _)| target.extend(number.to_be_bytes())).is_some()
}

/// Appends to `target` the option at the end of a path of codes, the first option of each code.
fn append_option(
    options: Dhcp6OptionIterator<'_>,
    path: &OptionPath,
    target: &mut Vec<u8>,
) -> bool {
    let mut options = options;
    let mut codes = path.codes.iter().peekable();
    while let Some(&code) = codes.next() {
        let Some(value) = options.get(code) else { return false };
        if codes.peek().is_none() {
            let start = target.len();
            target.extend_from_slice(value);
            return convert_to_form(path.form, code, 5, start, target);
        }
        let Some(inner) = options_at(code).and_then(|at| value.get(at..)) else { return false };
        options = Dhcp6OptionIterator::new(inner);
    }
    false
}

/// Returns the position at which the options nested in an option of code `code` begin, in bytes;
/// `None` when such an option contains none.
const fn options_at(code: u16) -> Option<usize> {
    match code {
        option::IA_NA | option::IA_PD => Some(12),
        option::IA_TA | option::VENDOR_OPTS => Some(4),
        option::IAADDR => Some(24),
        option::IAPREFIX => Some(25),
        option::RSOO
        | option::NTP_SERVER
        | option::S46_CONT_MAPE
        | option::S46_CONT_MAPT
        | option::S46_CONT_LW => Some(0),
        _ => None,
    }
}
