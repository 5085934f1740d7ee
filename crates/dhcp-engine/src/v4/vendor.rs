//! Options of vendors in DHCPv4 messages: 124 and 125 (RFC 3925).

use dhcp_wire::v4::{Message, MessageWriter, option};

use crate::options::{
    CABLE_LABS, CABLE_LABS_ORO, CodeSet, ReplyOptionWriter, VendorQuery, Vendors,
};

/// Length of the head of a vendor's data in options 124 and 125, in bytes: the enterprise number
/// and the length of the data.
const HEAD_LEN: usize = 5;
/// Length of the head of a vendor's sub-option, in bytes: code and length.
const SUB_OPTION_HEAD_LEN: usize = 2;
/// Largest length of the sub-options after one enterprise number, in bytes.
const DATA_MAX: usize = 255;
/// Largest length of the value of one vendor's sub-option, in bytes.
const SUB_OPTION_MAX: usize = DATA_MAX - SUB_OPTION_HEAD_LEN;
/// Largest length of one vendor's data in one piece, in bytes.
const BLOCK_MAX: usize = HEAD_LEN + DATA_MAX;
/// Largest length of a DHCPv4 option in one piece, in bytes.
const OPTION_MAX: usize = 255;

/// Returns the vendors that the client's message names (options 124 and 125, RFC 3925) and the
/// sub-options that it requests.
pub(super) fn query(message: &Message<'_>) -> VendorQuery<impl Iterator<Item = u8> + Clone> {
    let mut vendors = Vendors::default();
    let mut requested = CodeSet::default();
    if let Some(value) = message.option(option::VENDOR_IDENTIFYING_VENDOR_CLASS) {
        read(value.octets(), &mut vendors, &mut CodeSet::default());
    }
    if let Some(value) = message.option(option::VENDOR_IDENTIFYING_VENDOR_SPECIFIC_INFORMATION) {
        read(value.octets(), &mut vendors, &mut requested);
    }
    VendorQuery { vendors, requested: requested.iter().map(|code| code as u8) }
}

/// Reads the data of vendors in an option, each after its enterprise number and length, up to data
/// that are cut off. `requested` gets the codes that CableLabs' sub-option 1 lists.
fn read(mut octets: impl Iterator<Item = u8>, vendors: &mut Vendors, requested: &mut CodeSet) {
    let mut head = [0; HEAD_LEN];
    'vendors: loop {
        for target in &mut head {
            let Some(octet) = octets.next() else { break 'vendors };
            *target = octet;
        }
        let [e0, e1, e2, e3, len] = head;
        let enterprise = u32::from_be_bytes([e0, e1, e2, e3]);
        vendors.insert(enterprise);
        let mut data = octets.by_ref().take(usize::from(len));
        while let (Some(code), Some(len)) = (data.next(), data.next()) {
            for octet in data.by_ref().take(usize::from(len)) {
                if enterprise == CABLE_LABS && u16::from(code) == CABLE_LABS_ORO {
                    requested.insert(octet.into());
                }
            }
        }
        data.for_each(drop);
    }
}

/// Writer of options into a DHCPv4 message. Each vendor's sub-options are an option 125 of their
/// own, which clients concatenate (RFC 3396).
#[derive(Debug)]
pub(super) struct Dhcp4OptionWriter<'w, 'b> {
    writer: &'w mut MessageWriter<'b>,
    /// Value of option 125 for the vendor that was begun last: enterprise number, length,
    /// sub-options.
    block: [u8; BLOCK_MAX],
    /// Length of the content of `block`, in bytes.
    len: usize,
    /// True if the vendor's option 125 has to be written even without sub-options.
    is_due: bool,
    /// Codes of the options written so far.
    written: CodeSet,
    /// True if the writer leaves out options that do not fit.
    is_choosing: bool,
}

impl<'w, 'b> Dhcp4OptionWriter<'w, 'b> {
    /// Returns a writer of options into `writer`. With `is_choosing`, options that do not fit are
    /// left out; otherwise the writer fails.
    pub(super) const fn new(writer: &'w mut MessageWriter<'b>, is_choosing: bool) -> Self {
        Self {
            writer,
            block: [0; BLOCK_MAX],
            len: HEAD_LEN,
            is_due: false,
            written: CodeSet::from_codes(&[]),
            is_choosing,
        }
    }

    /// Returns true if the writer puts an option of `code` with `len` bytes into the reply.
    fn admits(&self, code: u8, len: usize) -> bool {
        !self.is_choosing || self.writer.takes(code, len)
    }

    /// Returns the codes of the options written so far, without those of vendors' sub-options.
    pub(super) const fn written(&self) -> CodeSet {
        self.written
    }

    fn write_block(&mut self) {
        if self.is_due {
            self.block[HEAD_LEN - 1] = (self.len - HEAD_LEN) as u8;
            let code = option::VENDOR_IDENTIFYING_VENDOR_SPECIFIC_INFORMATION;
            if self.admits(code, self.len) {
                self.writer.option(code, &self.block[..self.len]);
            }
        }
        self.len = HEAD_LEN;
        self.is_due = false;
    }

    fn put_piece(&mut self, code: u8, piece: &[u8]) {
        let sub_option_len = SUB_OPTION_HEAD_LEN + piece.len();
        if self.len + sub_option_len > OPTION_MAX && self.len > HEAD_LEN {
            self.write_block();
        }
        let target = &mut self.block[self.len..self.len + sub_option_len];
        target[0] = code;
        target[1] = piece.len() as u8;
        target[SUB_OPTION_HEAD_LEN..].copy_from_slice(piece);
        self.len += sub_option_len;
        self.is_due = true;
    }
}

impl ReplyOptionWriter<u8> for Dhcp4OptionWriter<'_, '_> {
    fn option(&mut self, code: u8, octets: &[u8]) {
        if self.admits(code, octets.len()) {
            self.written.insert(u16::from(code));
            self.writer.option(code, octets);
        }
    }

    fn begin_vendor(&mut self, enterprise: u32, sub_options: &[u8]) {
        self.block[..size_of::<u32>()].copy_from_slice(&enterprise.to_be_bytes());
        self.len = HEAD_LEN;
        self.is_due = true;
        for (code, octets) in walk(sub_options) {
            self.vendor_option(code, octets);
        }
    }

    fn vendor_option(&mut self, code: u8, octets: &[u8]) {
        let (first, mut rest) = octets.split_at(octets.len().min(SUB_OPTION_MAX));
        self.put_piece(code, first);
        while !rest.is_empty() {
            let (piece, later) = rest.split_at(rest.len().min(SUB_OPTION_MAX));
            self.put_piece(code, piece);
            rest = later;
        }
    }

    fn end_vendor(&mut self) {
        self.write_block();
    }

    fn sub_options(octets: &[u8]) -> &[u8] {
        let Some((head, data)) = octets.split_first_chunk::<HEAD_LEN>() else { return &[] };
        &data[..data.len().min(usize::from(head[HEAD_LEN - 1]))]
    }

    fn has_sub_option(sub_options: &[u8], code: u8) -> bool {
        walk(sub_options).any(|(other, _)| other == code)
    }
}

/// Returns code and value of each sub-option in `octets`, up to one that is cut off.
fn walk(mut octets: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    core::iter::from_fn(move || {
        let (&[code, len], tail) = octets.split_first_chunk()?;
        let (value, rest) = tail.split_at_checked(usize::from(len))?;
        octets = rest;
        Some((code, value))
    })
}
