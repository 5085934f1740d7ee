//! Readings of a DHCPv6 packet, tshark's and ours, in one form: place, name and value of each
//! field.

use dhcp_wire::v6::duid::Duid;
use dhcp_wire::v6::{Dhcp6OptionIterator, Ia, IaKind, Message, Packet, Tuples, option};

use crate::vectors::hex;
use crate::vectors::tshark::attribute;

/// Field: its offset, tshark's name without `dhcpv6.`, and its value in hexadecimal. A packet is
/// read as a sorted list of them.
pub(super) type Field = (usize, String, String);

/// Names of the fields that are compared.
const NAMES: [&str; 39] = [
    "msgtype",
    "xid",
    "hopcount",
    "linkaddr",
    "peeraddr",
    "option.type",
    "option.length",
    "duid.type",
    "duidll.hwtype",
    "duidll.link_layer_addr",
    "duidllt.hwtype",
    "duidllt.time",
    "duidllt.link_layer_addr",
    "duiden.enterprise",
    "duiden.identifier",
    "duiduuid.bytes",
    "iaid",
    "iaid.t1",
    "iaid.t2",
    "iata",
    "iaaddr.ip",
    "iaaddr.pref_lifetime",
    "iaaddr.valid_lifetime",
    "iaprefix.pref_lifetime",
    "iaprefix.valid_lifetime",
    "iaprefix.pref_len",
    "iaprefix.pref_addr",
    "status_code",
    "status_msg",
    "requested_option_code",
    "elapsed_time",
    "interface_id",
    "remoteid.enterprise",
    "relay_port",
    "vendorclass.enterprise",
    "vendorclass.data",
    "userclass.opaque_data",
    "pd_exclude.pref_len",
    "subscriber_id",
];

/// Reduces the PDML of one packet.
pub(super) fn theirs(pdml: &str) -> Vec<Field> {
    let mut start = None;
    let mut fields = Vec::new();
    for line in pdml.lines().map(str::trim_start) {
        let pos = || attribute(line, "pos").parse::<usize>().unwrap();
        if line.starts_with("<proto name=\"dhcpv6\"") && start.is_none() {
            start = Some(pos());
        }
        let Some(start) = start else { continue };
        let name = attribute(line, "name").strip_prefix("dhcpv6.").unwrap_or_default();
        let value = attribute(line, "value");
        if NAMES.contains(&name) && !value.is_empty() {
            fields.push((pos() - start, name.to_owned(), value.to_owned()));
        }
    }
    fields.sort();
    fields
}

/// Returns the text form of tshark's packets.
pub(super) fn render(packets: &[String]) -> String {
    let mut text = String::new();
    for (index, pdml) in packets.iter().enumerate() {
        text += &format!("packet {}\n", index + 1);
        for (pos, name, value) in theirs(pdml) {
            text += &format!("{pos} {name} {value}\n");
        }
    }
    text
}

/// Reads the text form.
pub(super) fn parse(text: &str) -> Vec<Vec<Field>> {
    let mut packets: Vec<Vec<Field>> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["packet", _] => packets.push(Vec::new()),
            [pos, name, value] => {
                let field = (pos.parse().unwrap(), name.to_owned(), value.to_owned());
                packets.last_mut().unwrap().push(field);
            }
            _ => panic!("{line}"),
        }
    }
    packets
}

/// Returns our reading of a packet.
pub(super) fn ours(packet: &Packet<'_>) -> Vec<Field> {
    let mut ours = PacketFields { base: packet.octets(), fields: Vec::new() };
    for relay in packet.relays() {
        let at = ours.at(relay.options.octets()) - 34;
        ours.push(at, "msgtype", [packet.relay_type().unwrap().code()]);
        ours.push(at + 1, "hopcount", [relay.hop_count]);
        ours.push(at + 2, "linkaddr", relay.link_address.octets());
        ours.push(at + 18, "peeraddr", relay.peer_address.octets());
        ours.headers(relay.options);
        if let Some(id) = relay.interface_id() {
            ours.push(ours.at(id), "interface_id", id.iter().copied());
        }
        if let Some((number, id)) = relay.remote_id() {
            ours.push(ours.at(id) - 4, "remoteid.enterprise", number.to_be_bytes());
        }
        if let Some(id) = relay.options.get(option::SUBSCRIBER_ID) {
            ours.push(ours.at(id), "subscriber_id", id.iter().copied());
        }
        if let Some(id) = relay.options.get(option::RELAY_ID) {
            ours.duid(id);
        }
        if let Some(port) = relay.relay_port() {
            let at = ours.at(relay.options.get(option::RELAY_PORT).unwrap());
            ours.push(at, "relay_port", port.to_be_bytes());
        }
        if let Some(codes) = relay.options.get(option::ERO) {
            for code in codes.chunks(2) {
                ours.push(ours.at(code), "requested_option_code", code.iter().copied());
            }
        }
    }
    ours.message(&packet.message());
    ours.fields.retain(|(_, _, value)| !value.is_empty());
    ours.fields.sort();
    ours.fields
}

struct PacketFields<'a> {
    base: &'a [u8],
    fields: Vec<Field>,
}

impl PacketFields<'_> {
    /// Returns the offset of a part of the packet.
    fn at(&self, part: &[u8]) -> usize {
        part.as_ptr().addr() - self.base.as_ptr().addr()
    }

    fn push(&mut self, at: usize, name: &str, value: impl IntoIterator<Item = u8>) {
        assert!(NAMES.contains(&name), "{name}");
        self.fields.push((at, name.to_owned(), hex(value)));
    }

    /// Adds codes and lengths of the options in one place.
    fn headers(&mut self, options: Dhcp6OptionIterator<'_>) {
        for (code, value) in options {
            let at = self.at(value);
            self.push(at - 4, "option.type", code.to_be_bytes());
            self.push(at - 2, "option.length", (value.len() as u16).to_be_bytes());
        }
    }

    fn message(&mut self, message: &Message<'_>) {
        let at = self.at(message.octets());
        self.push(at, "msgtype", [message.message_type().code()]);
        self.push(at + 1, "xid", message.transaction_id().to_be_bytes().into_iter().skip(1));
        self.headers(message.options());
        for duid in [message.client_id(), message.server_id()].into_iter().flatten() {
            self.duid(duid);
        }
        if let Some(oro) = message.option(option::ORO) {
            for (index, code) in message.requested_options().enumerate() {
                let at = self.at(oro) + 2 * index;
                self.push(at, "requested_option_code", code.to_be_bytes());
                assert!(message.requests(code));
            }
        }
        if let Some(time) = message.elapsed_time() {
            let at = self.at(message.option(option::ELAPSED_TIME).unwrap());
            self.push(at, "elapsed_time", time.to_be_bytes());
        }
        if let Some((number, mut data)) = message.vendor_class() {
            let value = message.option(option::VENDOR_CLASS).unwrap();
            self.push(self.at(value), "vendorclass.enterprise", number.to_be_bytes());
            // tshark takes all bytes after the first length as one piece.
            let at = self.at(data.next().unwrap());
            self.push(at, "vendorclass.data", value[6..].iter().copied());
        }
        if let Some(data) = message.user_class() {
            self.tuples("userclass.opaque_data", data);
        }
        self.status(message.status());
        let options = message.options().filter(|&(code, _)| IaKind::from_code(code).is_some());
        for ((_, value), ia) in options.zip(message.ias()) {
            self.ia(self.at(value), &ia);
        }
    }

    fn tuples(&mut self, name: &str, tuples: Tuples<'_>) {
        for piece in tuples {
            self.push(self.at(piece), name, piece.iter().copied());
        }
    }

    fn status(&mut self, status: Option<(u16, &[u8])>) {
        if let Some((code, text)) = status {
            let at = self.at(text);
            self.push(at - 2, "status_code", code.to_be_bytes());
            self.push(at, "status_msg", text.iter().copied());
        }
    }

    fn ia(&mut self, at: usize, ia: &Ia<'_>) {
        if ia.kind == IaKind::Ta {
            self.push(at, "iata", ia.iaid.to_be_bytes());
        } else {
            self.push(at, "iaid", ia.iaid.to_be_bytes());
            self.push(at + 4, "iaid.t1", ia.t1_s.to_be_bytes());
            self.push(at + 8, "iaid.t2", ia.t2_s.to_be_bytes());
        }
        self.headers(ia.options);
        self.status(ia.status());
        for leased in ia.addresses() {
            let at = self.at(leased.options.octets()) - 24;
            self.push(at, "iaaddr.ip", leased.address.octets());
            self.push(at + 16, "iaaddr.pref_lifetime", leased.preferred_s.to_be_bytes());
            self.push(at + 20, "iaaddr.valid_lifetime", leased.valid_s.to_be_bytes());
            self.headers(leased.options);
            self.status(leased.status());
        }
        for leased in ia.prefixes() {
            let at = self.at(leased.options.octets()) - 25;
            self.push(at, "iaprefix.pref_lifetime", leased.preferred_s.to_be_bytes());
            self.push(at + 4, "iaprefix.valid_lifetime", leased.valid_s.to_be_bytes());
            self.push(at + 8, "iaprefix.pref_len", [leased.len]);
            self.push(at + 9, "iaprefix.pref_addr", leased.prefix.octets());
            self.headers(leased.options);
            self.status(leased.status());
            if let Some((_, len)) = leased.excluded() {
                let at = self.at(leased.options.get(option::PD_EXCLUDE).unwrap());
                self.push(at, "pd_exclude.pref_len", [len]);
            }
        }
    }

    fn duid(&mut self, octets: &[u8]) {
        let at = self.at(octets);
        self.push(at, "duid.type", octets[..2].iter().copied());
        match Duid::parse(octets) {
            Duid::LinkLayerTime { hardware_type, time_s, address } => {
                self.push(at + 2, "duidllt.hwtype", hardware_type.to_be_bytes());
                self.push(at + 4, "duidllt.time", time_s.to_be_bytes());
                self.push(at + 8, "duidllt.link_layer_addr", address.iter().copied());
            }
            Duid::Enterprise { number, identifier } => {
                self.push(at + 2, "duiden.enterprise", number.to_be_bytes());
                self.push(at + 6, "duiden.identifier", identifier.iter().copied());
            }
            Duid::LinkLayer { hardware_type, address } => {
                self.push(at + 2, "duidll.hwtype", hardware_type.to_be_bytes());
                self.push(at + 4, "duidll.link_layer_addr", address.iter().copied());
            }
            Duid::Uuid(uuid) => self.push(at + 2, "duiduuid.bytes", uuid),
            Duid::Other(_) => {}
        }
    }
}
