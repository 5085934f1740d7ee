//! View that class expressions have of a DHCPv4 message.

use dhcp_config::expression::{Field4, OptionPath, OptionValueForm, PacketField, Term};
use dhcp_lease::v4::V4;
use dhcp_wire::v4::option::{
    RELAY_AGENT_INFORMATION, VENDOR_CLASS_IDENTIFIER,
    VENDOR_IDENTIFYING_VENDOR_CLASS as VENDOR_CLASS,
    VENDOR_IDENTIFYING_VENDOR_SPECIFIC_INFORMATION as VENDOR_OPTIONS, VENDOR_SPECIFIC_INFORMATION,
};
use dhcp_wire::v4::relay::SubOptions;
use dhcp_wire::v4::{Message, OptionValue};

use super::PacketView;
use super::form::convert_to_form;
use crate::interfaces::InterfaceNames;
use crate::protocol::Protocol as _;
use crate::v4::Ingress;

/// DHCPv4 message as received, in the form that class expressions read.
#[derive(Clone, Copy, Debug)]
pub struct PacketView4<'m> {
    /// Parsed DHCPv4 message.
    pub message: &'m Message<'m>,
    /// Address and interface at which the message was received.
    pub ingress: &'m Ingress,
    /// Names of the server's network interfaces.
    pub interfaces: &'m InterfaceNames,
    /// Relay agent information that the client's lease stores, which counts as option 82 of a
    /// message without that option. Empty when nothing counts.
    pub stored_relay_information: &'m [u8],
}

impl PacketView for PacketView4<'_> {
    fn read(&self, term: &Term, target: &mut Vec<u8>) -> bool {
        match term {
            Term::Option(path) => self.option(path, target),
            Term::Vendor { enterprise, path: None } => {
                self.of_enterprise(VENDOR_OPTIONS, *enterprise).is_some()
            }
            Term::Vendor { enterprise, path: Some(path) } => {
                self.vendor_option(*enterprise, &path.codes, path.form, target)
            }
            Term::VendorEnterprise => {
                put_number(self.of_enterprise(VENDOR_OPTIONS, None).map(|block| block.0), target)
            }
            Term::VendorClass { enterprise } => {
                self.of_enterprise(VENDOR_CLASS, *enterprise).is_some()
            }
            Term::VendorClassEnterprise => {
                put_number(self.of_enterprise(VENDOR_CLASS, None).map(|block| block.0), target)
            }
            Term::VendorClassData { enterprise, index } => self
                .of_enterprise(VENDOR_CLASS, *enterprise)
                .and_then(|(_, mut blocks)| blocks.nth(usize::from(*index)))
                .is_some_and(|block| put(block, OptionValueForm::Octets, 0, target)),
            Term::Packet(field) => self.packet(*field, target),
            Term::Field4(field) => {
                self.field(*field, target);
                true
            }
            // The parser refuses these terms in DHCPv4.
            Term::RelayOption { .. } | Term::Field6(_) | Term::RelayAddress { .. } => false,
        }
    }

    fn is_bootp(&self) -> bool {
        self.message.message_type().is_none()
    }

    fn has_stored_relay_information(&self) -> bool {
        !self.stored_relay_information.is_empty()
    }

    fn balance_hash(&self) -> Option<u8> {
        V4::pair_client(self.message).and_then(|client| client.hash)
    }

    fn vendor_class(&self, nth: usize, target: &mut Vec<u8>) -> bool {
        let value = if nth == 0 { self.message.vendor_class() } else { None };
        value.is_some_and(|value| {
            put(value, OptionValueForm::Characters, VENDOR_CLASS_IDENTIFIER, target)
        })
    }
}

impl<'m> PacketView4<'m> {
    /// Returns the relay agent information (option 82) about the client, from this message or an
    /// earlier one.
    #[must_use]
    pub fn relay_agent_information(&self) -> Option<OptionValue<'m>> {
        if self.stored_relay_information.is_empty() {
            return self.message.relay_agent_information();
        }
        Some(OptionValue::from_slice(self.stored_relay_information))
    }

    fn value(&self, code: u8) -> Option<OptionValue<'m>> {
        match code {
            RELAY_AGENT_INFORMATION => self.relay_agent_information(),
            _ => self.message.option(code),
        }
    }

    fn option(&self, path: &OptionPath, target: &mut Vec<u8>) -> bool {
        let Some((&outer, codes)) = path.codes.split_first() else { return false };
        let Ok(code) = u8::try_from(outer) else { return false };
        let Some(value) = self.value(code) else { return false };
        if codes.is_empty() {
            return put(value, path.form, code, target);
        }
        match code {
            RELAY_AGENT_INFORMATION | VENDOR_SPECIFIC_INFORMATION => {
                append_sub_option(value, codes, path.form, target)
            }
            VENDOR_OPTIONS => self.vendor_option(None, codes, path.form, target),
            _ => false,
        }
    }

    /// Returns the data of each vendor in the option `code` (124 or 125, RFC 3925).
    fn blocks(&self, code: u8) -> VendorBlocks<'m> {
        VendorBlocks(self.message.option(code).unwrap_or(OptionValue::from_slice(&[])))
    }

    /// Returns the data of an enterprise in the vendor option `code` (RFC 3925), and its number;
    /// without `enterprise`, of the enterprise with the lowest number in the option.
    fn of_enterprise(
        &self,
        code: u8,
        enterprise: Option<u32>,
    ) -> Option<(u32, impl Iterator<Item = OptionValue<'m>>)> {
        let mut numbers = self.blocks(code).map(|(number, _)| number);
        let meant = match enterprise {
            Some(meant) => numbers.find(|number| *number == meant)?,
            None => numbers.min()?,
        };
        let blocks = self.blocks(code).filter(move |(number, _)| *number == meant);
        Some((meant, blocks.map(|(_, value)| value)))
    }

    /// Appends to `target` a sub-option of the vendor option 124 or 125 (RFC 3925). Kea looks at
    /// the enterprise with the lowest number only, so it finds no data of the others.
    fn vendor_option(
        &self,
        enterprise: Option<u32>,
        codes: &[u16],
        form: OptionValueForm,
        target: &mut Vec<u8>,
    ) -> bool {
        let block = self.of_enterprise(VENDOR_OPTIONS, enterprise);
        block.is_some_and(|(_, mut blocks)| {
            blocks.any(|value| append_sub_option(value, codes, form, target))
        })
    }

    fn packet(&self, field: PacketField, target: &mut Vec<u8>) -> bool {
        match field {
            PacketField::Interface => {
                let name = self.interfaces.name(self.ingress.interface).unwrap_or_default();
                target.extend_from_slice(name.as_bytes());
            }
            PacketField::Source => target.extend(self.ingress.source.ip().octets()),
            PacketField::Destination if self.ingress.is_broadcast => target.extend([255; 4]),
            PacketField::Destination => target.extend(self.ingress.local.octets()),
            PacketField::Length => {
                target.extend((self.message.octets().len() as u32).to_be_bytes());
            }
        }
        true
    }

    fn field(&self, field: Field4, target: &mut Vec<u8>) {
        let message = self.message;
        let number = |number: u8| u32::from(number).to_be_bytes();
        let octets = match field {
            Field4::HardwareAddress => return target.extend_from_slice(message.chaddr()),
            Field4::HardwareLength => number(message.hlen()),
            Field4::HardwareType => number(message.htype()),
            Field4::Ciaddr => message.ciaddr().octets(),
            Field4::Giaddr => message.giaddr().octets(),
            Field4::Yiaddr => message.yiaddr().octets(),
            Field4::Siaddr => message.siaddr().octets(),
            Field4::MessageType => number(message.message_type().map_or(0, |kind| kind.code())),
            Field4::TransactionId => message.xid().to_be_bytes(),
        };
        target.extend(octets);
    }
}

fn put_number(number: Option<u32>, target: &mut Vec<u8>) -> bool {
    number.inspect(|number| target.extend(number.to_be_bytes())).is_some()
}

/// Appends to `target` the value of an option in the requested form; returns false when the value
/// counts as missing.
fn put(value: OptionValue<'_>, form: OptionValueForm, code: u8, target: &mut Vec<u8>) -> bool {
    let start = target.len();
    value.fragments().for_each(|piece| target.extend_from_slice(piece));
    convert_to_form(form, code.into(), 3, start, target)
}

/// Appends to `target` the sub-option at the end of a path of option codes. Pieces of one code are
/// joined to one value, as in Kea.
fn append_sub_option(
    value: OptionValue<'_>,
    codes: &[u16],
    form: OptionValueForm,
    target: &mut Vec<u8>,
) -> bool {
    let Some((&code, deeper)) = codes.split_first() else { return false };
    let mut values = SubOptions::new(value).filter(|&(other, _)| u16::from(other) == code);
    if !deeper.is_empty() {
        return values
            .next()
            .is_some_and(|(_, value)| append_sub_option(value, deeper, form, target));
    }
    let start = target.len();
    let mut exists = false;
    for (_, value) in values {
        exists = true;
        value.fragments().for_each(|piece| target.extend_from_slice(piece));
    }
    exists && convert_to_form(form, code, 3, start, target)
}

/// Iterator over the blocks of vendors' data in a DHCPv4 option (RFC 3925): the number of the
/// enterprise, a length of one byte, and the data. The iteration ends at a block that is cut off.
struct VendorBlocks<'m>(OptionValue<'m>);

impl<'m> Iterator for VendorBlocks<'m> {
    type Item = (u32, OptionValue<'m>);

    fn next(&mut self) -> Option<Self::Item> {
        let [a, b, c, d, len] = self.0.leading()?;
        let len = usize::from(len);
        let value = self.0.range(5, len)?;
        self.0 = self.0.range(5 + len, self.0.len() - 5 - len)?;
        Some((u32::from_be_bytes([a, b, c, d]), value))
    }
}
