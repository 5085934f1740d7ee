//! Parser of packets: braces, `cpu()`, and the elements between them, each passed to its own
//! parser.

use super::elements;
use super::fields;
use super::headers::PacketBuilder;
use super::protocol::HeaderProtocol;
use super::source::{Cursor, MappedText, PacketTextFault, Parsed, fault};
use super::{PacketParserSettings, expression};
use crate::packet::PacketTemplate;
use crate::random::LibcRandom;

/// Largest number of faults of a packet text that are reported.
const FAULTS_MAX: usize = 50;
/// Largest number of packets of a packet file.
const PACKETS_MAX: usize = 1 << 20;

/// Parser of a packet text into packets.
pub(crate) struct Parser<'a> {
    pub(crate) cursor: Cursor<'a>,
    pub(crate) settings: &'a PacketParserSettings,
    pub(crate) packets: Vec<PacketTemplate>,
    pub(crate) random: LibcRandom,
    pub(crate) faults: Vec<PacketTextFault>,
    pub(crate) warnings: Vec<PacketTextFault>,
    /// Range of processors of a `cpu()` that trafgen 0.6.8 gives to the next packet instead of this
    /// one.
    late_cpus: Option<(u32, u32)>,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a MappedText, settings: &'a PacketParserSettings) -> Self {
        Self {
            cursor: Cursor::new(text),
            settings,
            packets: Vec::new(),
            random: LibcRandom::from_seed(settings.seed),
            faults: Vec::new(),
            warnings: Vec::new(),
            late_cpus: None,
        }
    }

    pub(crate) fn warn(&mut self, at: usize, message: impl Into<String>) {
        self.warnings.push(PacketTextFault { at, message: message.into() });
    }

    /// Parses all packets of the text.
    pub(crate) fn packets(&mut self) {
        loop {
            self.cursor.skip_blanks();
            let at = self.cursor.at;
            if self.cursor.peek().is_none() || self.faults.len() >= FAULTS_MAX {
                return;
            }
            if self.packets.len() == PACKETS_MAX {
                let message = format!("more than {PACKETS_MAX} packets");
                self.faults.push(PacketTextFault { at, message });
                return;
            }
            if let Err(fault) = self.packet() {
                self.faults.push(fault);
                self.cursor.recover();
                // Text between packets is reported once.
                while !matches!(self.cursor.peek(), None | Some(b'{')) {
                    self.cursor.at += 1;
                    self.cursor.recover();
                }
            }
        }
    }

    fn packet(&mut self) -> Parsed<()> {
        let cpus = self.cpus()?;
        self.cursor.skip_blanks();
        let at = self.cursor.at;
        if !self.cursor.take(b'{') {
            let next = self.cursor.describe_next();
            return fault(at, format!("a packet in braces, `{{ ... }}`, expected, found {next}"));
        }
        let PacketParserSettings { quirks, device, is_to_file, .. } = *self.settings;
        let mut builder = PacketBuilder::new(device, quirks, is_to_file);
        let faults = self.faults.len();
        let count = self.elements(&mut builder)?;
        if self.faults.len() > faults {
            return Ok(());
        }
        if count == 0 {
            return fault(at, "a packet without elements");
        }
        let mut packet = builder.finish(at)?;
        packet.cpus = if quirks { std::mem::replace(&mut self.late_cpus, cpus) } else { cpus };
        self.packets.push(packet);
        Ok(())
    }

    /// Parses the processors of a packet: `cpu(n):`, `cpu(a-b):`, `cpu(a:b):`.
    fn cpus(&mut self) -> Parsed<Option<(u32, u32)>> {
        if !self.cursor.word().eq_ignore_ascii_case("cpu") {
            return Ok(None);
        }
        self.cursor.take_word();
        self.cursor.expect(b'(')?;
        let first = self.cpu()?;
        self.cursor.skip_blanks();
        let is_range = self.cursor.take(b'-') || self.cursor.take(b':');
        let last = if is_range { self.cpu()? } else { first };
        self.cursor.expect(b')')?;
        self.cursor.expect(b':')?;
        Ok(Some((first.min(last), first.max(last))))
    }

    fn cpu(&mut self) -> Parsed<u32> {
        self.cursor.skip_blanks();
        let at = self.cursor.at;
        let number = expression::plain(&mut self.cursor, self.settings.quirks)?;
        u32::try_from(number)
            .map_or_else(|_| fault(at, format!("there is no processor {number}")), Ok)
    }

    /// Parses the elements of a packet up to and including the closing brace; returns their number.
    fn elements(&mut self, builder: &mut PacketBuilder) -> Parsed<usize> {
        let mut count = 0;
        let mut is_separated = false;
        loop {
            self.cursor.skip_blanks();
            let at = self.cursor.at;
            match self.cursor.peek() {
                None => match self.cursor.open_comment {
                    Some(begin) => return fault(begin, "a comment without its closing `*/`"),
                    None => return fault(at, "a packet without its closing `}`"),
                },
                Some(b'}') => {
                    self.cursor.at += 1;
                    return Ok(count);
                }
                Some(b',') if is_separated => {
                    self.faults
                        .push(PacketTextFault { at, message: "nothing between two commas".into() });
                    self.cursor.at += 1;
                }
                Some(b',') => {
                    self.cursor.at += 1;
                    is_separated = true;
                }
                Some(b'{') => return fault(at, "a `{` inside a packet"),
                Some(_) => {
                    if let Err(fault) = self.element(builder) {
                        self.faults.push(fault);
                        // From its beginning, so that all its parentheses are counted.
                        self.cursor.at = at;
                        self.cursor.recover();
                        if self.faults.len() >= FAULTS_MAX {
                            return Ok(count);
                        }
                    }
                    count += 1;
                    is_separated = false;
                }
            }
        }
    }

    fn element(&mut self, builder: &mut PacketBuilder) -> Parsed<()> {
        let at = self.cursor.at;
        match self.cursor.peek() {
            Some(b'"') => return elements::string(self, builder),
            Some(b'\'') => {
                let octet = expression::character(&mut self.cursor)?;
                return builder.append(&[octet], at);
            }
            Some(b'\\') => {
                let Some(octet) = expression::escape(&mut self.cursor) else {
                    self.cursor.at = at + 1;
                    return fault(at, "a byte is written as `\\xHH`");
                };
                return builder.append(&[octet], at);
            }
            _ => {}
        }
        let word = self.cursor.word().to_ascii_lowercase();
        let mut behind = self.cursor.at + word.len();
        std::mem::swap(&mut behind, &mut self.cursor.at);
        self.cursor.skip_blanks();
        let is_function = !word.is_empty() && self.cursor.peek() == Some(b'(');
        self.cursor.at = behind;
        if !is_function {
            return elements::octet(self, builder);
        }
        if let Some(protocol) = HeaderProtocol::named(&word) {
            self.cursor.take_word();
            return fields::header(self, builder, protocol, at);
        }
        elements::function(self, builder, &word)
    }
}
