//! Options of vendors in DHCPv6 messages: 16 and 17 (RFC 9915 §21.16, §21.17).

use dhcp_wire::v6::{Dhcp6OptionIterator as Walk, Mark, Message, MessageWriter, option};

use crate::options::{CABLE_LABS, CABLE_LABS_ORO, ReplyOptionWriter, VendorQuery, Vendors};

/// Returns the vendors that the client's message names (options 16 and 17, RFC 9915) and the
/// sub-options that it requests.
pub(super) fn query<'m>(
    message: &Message<'m>,
) -> VendorQuery<impl Iterator<Item = u16> + Clone + 'm> {
    let mut vendors = Vendors::default();
    let mut requested: &[u8] = &[];
    if message.option(option::VENDOR_CLASS).is_some() {
        for (enterprise, _) in message.options().all(option::VENDOR_CLASS).filter_map(number) {
            vendors.insert(enterprise);
        }
    }
    if message.option(option::VENDOR_OPTS).is_some() {
        for (enterprise, data) in message.options().all(option::VENDOR_OPTS).filter_map(number) {
            vendors.insert(enterprise);
            if enterprise == CABLE_LABS {
                requested = Walk::new(data).get(CABLE_LABS_ORO).unwrap_or_default();
            }
        }
    }
    let codes = requested.as_chunks::<2>().0.iter();
    VendorQuery { vendors, requested: codes.map(|&code| u16::from_be_bytes(code)) }
}

/// Returns the enterprise number at the beginning of a vendor option's value, and the data after
/// it.
fn number(value: &[u8]) -> Option<(u32, &[u8])> {
    let (number, data) = value.split_first_chunk()?;
    Some((u32::from_be_bytes(*number), data))
}

/// Writer of options into a DHCPv6 message.
#[derive(Debug)]
pub(super) struct Dhcp6OptionWriter<'w, 'b> {
    writer: &'w mut MessageWriter<'b>,
    open: Option<Mark>,
}

impl<'w, 'b> Dhcp6OptionWriter<'w, 'b> {
    /// Returns a writer of options into `writer`.
    pub(super) const fn new(writer: &'w mut MessageWriter<'b>) -> Self {
        Self { writer, open: None }
    }
}

impl Dhcp6OptionWriter<'_, '_> {
    /// Writes an NTP option (56) for each time source in `sources`: an option has exactly one (RFC
    /// 5908 §4). Returns false, with nothing written, if `sources` has any other data.
    fn put_time_sources(&mut self, sources: &[u8]) -> bool {
        let len: usize = Walk::new(sources).map(|(_, value)| 4 + value.len()).sum();
        if len != sources.len() || sources.is_empty() {
            return false;
        }
        for (kind, value) in Walk::new(sources) {
            let mark = self.writer.begin(option::NTP_SERVER);
            self.writer.option(kind, value);
            self.writer.end(mark);
        }
        true
    }
}

impl ReplyOptionWriter<u16> for Dhcp6OptionWriter<'_, '_> {
    fn option(&mut self, code: u16, octets: &[u8]) {
        if code != option::NTP_SERVER || !self.put_time_sources(octets) {
            self.writer.option(code, octets);
        }
    }

    fn begin_vendor(&mut self, enterprise: u32, sub_options: &[u8]) {
        self.open = Some(self.writer.begin(option::VENDOR_OPTS));
        self.writer.octets(&enterprise.to_be_bytes()).octets(sub_options);
    }

    fn vendor_option(&mut self, code: u16, octets: &[u8]) {
        self.writer.option(code, octets);
    }

    fn end_vendor(&mut self) {
        let mark = self.open.take().expect("a vendor's option was begun");
        self.writer.end(mark);
    }

    fn sub_options(octets: &[u8]) -> &[u8] {
        number(octets).map_or(&[], |(_, data)| data)
    }

    fn has_sub_option(sub_options: &[u8], code: u16) -> bool {
        Walk::new(sub_options).get(code).is_some()
    }
}

#[cfg(test)]
mod tests {
    use dhcp_wire::v6::MessageType;

    use super::*;

    /// Returns the values of the NTP options that the server sends for a configured value.
    fn sent(value: &[u8]) -> Vec<Vec<u8>> {
        let mut buffer = [0; 200];
        let mut writer = MessageWriter::new(&mut buffer, MessageType::Reply, 1);
        Dhcp6OptionWriter::new(&mut writer).option(option::NTP_SERVER, value);
        let len = writer.finish().unwrap();
        let message = Message::parse(&buffer[..len]).unwrap();
        message.options().all(option::NTP_SERVER).map(<[u8]>::to_vec).collect()
    }

    #[test]
    fn each_time_source_has_an_option_of_its_own() {
        let address = |last: u8| [&[0, 1, 0, 16][..], &[0x20; 15], &[last]].concat();
        let name = b"\x00\x03\x00\x03\x01n\x00".to_vec();
        let sources = [address(1), address(2), name, b"\x00\x02\x00\x00".to_vec()];
        for count in 1..=sources.len() {
            assert_eq!(sent(&sources[..count].concat()), sources[..count]);
        }
        // A value that is no list of time sources stays in one piece.
        for whole in [&b""[..], b"\x00", b"\x00\x01\x00\x02\x07", b"\x00\x01\x00\x00\x07"] {
            assert_eq!(sent(whole), [whole]);
        }
    }
}
