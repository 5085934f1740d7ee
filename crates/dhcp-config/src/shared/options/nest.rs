//! Writer of options that contain sub-options after their fields.
//!
//! As in Kea, an option contains every option that the same list sets in the space that it
//! encapsulates, lowest code first.

use std::collections::BTreeSet;

use super::entry::OptionDataEntry;
use crate::context::ParseContext;
use crate::shared::family::ConfigFamily;

/// Maximum number of bytes of a DHCPv4 sub-option in one piece: with its code and length it is as
/// long as Kea makes an option.
const PIECE_MAX: usize = 251;
/// Maximum depth of nested option spaces.
const DEPTH_MAX: usize = 16;

/// Returns the bytes of the option `entry` with its sub-options. Marks the entries of `used` that
/// it contains; `path` has the spaces around it.
pub(super) fn octets<'e, F: ConfigFamily>(
    entry: &'e OptionDataEntry,
    entries: &'e [OptionDataEntry],
    used: &mut [bool],
    path: &mut Vec<&'e str>,
    findings: &mut ParseContext,
) -> Vec<u8> {
    let mut octets = entry.octets.clone();
    let Some(space) = entry.encapsulates.as_deref() else { return octets };
    if path.contains(&space) || path.len() == DEPTH_MAX {
        let message = format!("option spaces encapsulate each other: {}, {space}", path.join(", "));
        findings.error(entry.at, message);
        return octets;
    }
    let inside = || entries.iter().enumerate().filter(|(_, inner)| inner.space == space);
    if inside().next().is_none() {
        return octets;
    }
    let mut options = split::<F>(&octets[entry.fields_len..]).unwrap_or_else(|| {
        let message = "the bytes after the option's fields are not a list of sub-options";
        let help = format!("options of space `{space}` are sent instead of them");
        findings.warn_help(entry.at, message, help);
        Vec::new()
    });
    octets.truncate(entry.fields_len);
    path.push(space);
    let mut codes: BTreeSet<u16> = options.iter().map(|(code, _)| *code).collect();
    for (at, inner) in inside() {
        used[at] = true;
        let value = self::octets::<F>(inner, entries, used, path, findings);
        let is_new = codes.insert(inner.code);
        if is_new || F::REPEATING_SPACE == Some(space) {
            options.push((inner.code, value));
        } else {
            let message = format!("option {} of space `{space}` is defined already", inner.code);
            findings.warn_help(inner.at, message, "of sub-options the earlier one is sent");
        }
        if !inner.tags.is_empty() {
            let message = "class tags of sub-options have no effect";
            findings.warn_help(inner.at, message, "the class tags of the option around them apply");
        }
    }
    path.pop();
    options.sort_by_key(|(code, _)| *code);
    for (code, value) in options {
        append::<F>(code, &value, &mut octets);
    }
    octets
}

/// Splits the bytes of an option into sub-options with their codes; returns `None` when the bytes
/// contain something else.
fn split<F: ConfigFamily>(mut octets: &[u8]) -> Option<Vec<(u16, Vec<u8>)>> {
    let number = |octets: &[u8]| octets.iter().fold(0, |sum, &octet| sum << 8 | usize::from(octet));
    let mut options = Vec::new();
    while !octets.is_empty() {
        let (code, rest) = octets.split_at_checked(F::SUB_OPTION_WIDTH)?;
        let (len, rest) = rest.split_at_checked(F::SUB_OPTION_WIDTH)?;
        let (value, rest) = rest.split_at_checked(number(len))?;
        options.push((number(code) as u16, value.to_vec()));
        octets = rest;
    }
    Some(options)
}

/// Appends one sub-option to `octets`; one that is too long for its length field is written in
/// pieces (RFC 3396).
fn append<F: ConfigFamily>(code: u16, value: &[u8], octets: &mut Vec<u8>) {
    let width = F::SUB_OPTION_WIDTH;
    let longest = if width == 1 { PIECE_MAX } else { usize::from(u16::MAX) };
    let mut rest = value;
    loop {
        let (piece, left) = rest.split_at(rest.len().min(longest));
        octets.extend(&code.to_be_bytes()[2 - width..]);
        octets.extend(&(piece.len() as u16).to_be_bytes()[2 - width..]);
        octets.extend(piece);
        rest = left;
        if rest.is_empty() {
            return;
        }
    }
}
