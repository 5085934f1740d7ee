//! Options of a configuration as bytes ready to be sent: `option-data` and `option-def`.
//!
//! The tables of each family define the type of each standard option, `define` adds the operator's
//! definitions, `text` turns text of a type into bytes and `check` checks bytes given as such;
//! `resolvers` does both for the two options with a form of their own. `entry` reads one option,
//! `nest` puts sub-options after the fields of the option that encapsulates their space, and this
//! module combines them into the list of a scope. RFCs to read first: 2132, 3396, 3397, 3442, 3646,
//! 3925, 5969, 7598, 9463.

mod check;
pub(crate) mod data;
mod define;
pub(crate) mod definition;
pub(crate) mod definitions;
mod entry;
mod hex;
mod nest;
mod resolvers;
mod text;

pub use data::{OptionData, OptionSpace};
pub(crate) use define::define;
pub use definition::{Definition, Field};
pub(crate) use hex::{binary_field, identifier as host_identifier, value as octets_of_value};

use entry::OptionDataEntry;

use super::family::ConfigFamily;
use crate::context::ParseContext;
use crate::fields::MapReader;

/// Reads the options that a scope itself sets (`option-data`), ordered by space and code. Of one
/// code, options with class tags come before the one without, which is for all other clients.
pub(crate) fn list<F: ConfigFamily>(
    fields: &mut MapReader<'_>,
    findings: &mut ParseContext,
) -> Vec<OptionData<F::Code>> {
    let items = fields.list("option-data", findings).iter();
    let mut entries: Vec<OptionDataEntry> =
        items.filter_map(|item| entry::read::<F>(item, findings)).collect();
    entries.sort_by(|one, two| one.list_key().cmp(&two.list_key()));
    // Of two options without class tags, Kea sends the later one.
    entries.reverse();
    entries.dedup_by(|earlier, last| {
        let is_same = earlier.list_key() == last.list_key()
            && earlier.tags.is_empty()
            && earlier.reply_space::<F>().is_some();
        if is_same {
            let of_space = match &*last.space {
                space if space == F::SPACE => String::new(),
                space => format!(" of space `{space}`"),
            };
            let message = format!("option {}{of_space} is set again later in this list", last.code);
            findings.warn_help(earlier.at, message, "the later one is sent");
        }
        is_same
    });
    entries.reverse();
    sent::<F>(&entries, findings)
}

/// Reads the option definitions and options of a client class (`option-def`, `option-data`).
pub(crate) fn class_list<F: ConfigFamily>(
    fields: &mut MapReader<'_>,
    findings: &mut ParseContext,
) -> Vec<OptionData<F::Code>> {
    let mark = define::begin_class::<F>(fields, findings);
    let options = list::<F>(fields, findings);
    define::end_class(mark, findings);
    options
}

/// Returns the options of `entries` that replies carry, with their sub-options.
fn sent<F: ConfigFamily>(
    entries: &[OptionDataEntry],
    findings: &mut ParseContext,
) -> Vec<OptionData<F::Code>> {
    let mut used = vec![false; entries.len()];
    let mut options = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        let Some(space) = entry.reply_space::<F>() else { continue };
        used[at] = true;
        let octets = nest::octets::<F>(entry, entries, &mut used, &mut Vec::new(), findings);
        let code = F::Code::try_from(entry.code);
        options.push(OptionData {
            code: code.ok().expect("checked against the range of the space"),
            space,
            octets,
            always_send: entry.always_send,
            never_send: entry.never_send,
            client_classes: entry.tags.clone(),
        });
    }
    for (entry, _) in entries.iter().zip(used).filter(|(_, used)| !used) {
        let message = format!("no option of this list encapsulates space `{}`", entry.space);
        let help = "also set the option that does: as in Kea, this one is not sent";
        findings.warn_help(entry.at, message, help);
    }
    options.sort_by(|one, two| {
        let key = |option: &OptionData<F::Code>| (option.space, option.code);
        key(one).cmp(&key(two))
    });
    options
}
