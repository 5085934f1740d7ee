//! Text of a log message: the content of a `tracing` event, made safe for one or more lines.

use std::fmt::{self, Write};

use tracing::field::{Field, Visit};

/// Maximum length of a log message's text, in bytes.
const TEXT_MAX_BYTES: usize = 64 << 10;

/// Fields of a `tracing` event, from which a log message is made.
#[derive(Debug, Default)]
pub(super) struct EventFields {
    id: String,
    message: String,
    /// Other fields of the event, as ` name=value` each.
    rest: String,
    /// Kea's `debuglevel` from which on a logger writes this DEBUG message.
    pub(super) debug_level: u8,
    /// Time of the event in microseconds since 1970, if it is earlier than the log call.
    pub(super) at_us: Option<u64>,
    /// True if the log message is about the end of the server.
    pub(super) is_fatal: bool,
}

impl EventFields {
    /// Joins identifier, message and further fields of the event to the log message's text, and
    /// cuts it to the maximum length.
    pub(super) fn into_text(self, family: &str) -> String {
        let id = identifier(&self.id, family);
        let space = if id.is_empty() || self.message.is_empty() { "" } else { " " };
        let mut text = format!("{id}{space}{}{}", self.message, self.rest);
        if text.len() > TEXT_MAX_BYTES {
            text.truncate(text.floor_char_boundary(TEXT_MAX_BYTES));
            text.push_str(" ...");
        }
        text
    }
}

/// Returns the message identifier `id` of a server of `family` (`dhcp4`, `dhcp6`, `dhcp-ddns`):
/// `DHCPX_` and `_VX_` stand for those of each.
pub(super) fn identifier(id: &str, family: &str) -> String {
    match id.strip_prefix("DHCPX_") {
        Some(rest) => format!("{}_{rest}", family.to_uppercase().replace('-', "_")),
        None => id.replace("_VX_", &format!("_V{}_", &family[family.len() - 1..])),
    }
}

impl Visit for EventFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "id" => value.clone_into(&mut self.id),
            "message" => value.clone_into(&mut self.message),
            name => write!(self.rest, " {name}={value}").expect("a string takes what it is given"),
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "at_us" => self.at_us = Some(value),
            "debuglevel" => self.debug_level = u8::try_from(value).unwrap_or(u8::MAX),
            _ => self.record_debug(field, &value),
        }
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        match field.name() {
            "fatal" => self.is_fatal = value,
            _ => self.record_debug(field, &value),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

/// Returns the lines of a log message's `text`. Characters that would confuse a terminal or a
/// parser of lines are written as `\xNN`.
pub(super) fn lines(text: &str) -> impl Iterator<Item = String> + '_ {
    text.lines().map(|line| {
        let mut safe = String::with_capacity(line.len());
        for character in line.chars() {
            if character.is_control() && character != '\t' {
                write!(safe, "\\x{:02x}", u32::from(character))
                    .expect("a string takes what it is given");
            } else {
                safe.push(character);
            }
        }
        safe
    })
}
