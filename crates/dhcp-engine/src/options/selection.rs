//! Selection of the options that a reply carries to one client, from the lists of the scopes that
//! concern the client.
//!
//! The rules are Kea's: a code is sent once, from the first list with an entry for the client;
//! `always-send` or `never-send` counts for the code once any entry in any list has it, whichever
//! clients that entry is for; and `never-send` wins.

use super::codes::{CodeSet, OptionCode};
use super::list::{CodeList, EncodedOption};
use crate::classify::ClassSet;

/// Criteria by which the server selects the configured options that a client gets.
#[derive(Clone, Copy, Debug)]
pub struct OptionSelection<'w, I> {
    /// Option codes that the client requested, in its order.
    pub requested: I,
    /// Option codes that every client gets when they are configured.
    pub unconditional: CodeSet,
    /// Option codes that other functions write into the reply; [`select_options`] writes none of
    /// them.
    pub withheld: CodeSet,
    /// Classes of the client.
    pub classes: &'w ClassSet,
}

/// Largest number of non-empty lists that [`select_options`] remembers; with more, the function
/// searches the lists of all scopes for each code.
const FILLED_MAX: usize = 8;

/// Passes the configured options that the client gets to `write`, each code once, requested codes
/// first. `lists` returns the lists in order of precedence; this function calls it several times.
///
/// The work is bounded by the number of requested codes and, for each that is configured, the
/// number of lists.
pub fn select_options<'l, C, I, L>(
    lists: impl Fn() -> L,
    selection: &OptionSelection<'_, I>,
    mut write: impl FnMut(C, &'l [u8]),
) where
    C: OptionCode + 'l,
    I: Iterator<Item = C> + Clone,
    L: Iterator<Item = &'l CodeList<C>>,
{
    let [mut present, mut always, mut never] = [CodeSet::default(); 3];
    let mut has_high = false;
    // Most scopes set no option, and there are as many as the client has classes.
    let (mut filled, mut filled_count) = ([None; FILLED_MAX], 0);
    for list in lists().filter(|list| !list.is_empty()) {
        if let Some(slot) = filled.get_mut(filled_count) {
            *slot = Some(list);
        }
        filled_count += 1;
        present |= list.present;
        always |= list.always;
        never |= list.never;
        has_high |= list.high_codes().next().is_some();
    }
    if filled_count == 0 {
        return;
    }
    always |= selection.unconditional;
    let mut open = present & !never & !selection.withheld;
    let of_lists = (always & open).iter().filter_map(|code| C::try_from(code).ok());
    for code in selection.requested.clone().chain(of_lists) {
        if !open.take(code.into()) {
            continue;
        }
        let entry = match filled.get(..filled_count) {
            Some(filled) => first(filled.iter().copied().flatten(), code, selection.classes),
            None => first(lists(), code, selection.classes),
        };
        if let Some(entry) = entry {
            write(code, &entry.octets);
        }
    }
    if !has_high {
        return;
    }
    for (at, list) in lists().enumerate() {
        for code in list.high_codes() {
            let is_done = lists().take(at).any(|earlier| !earlier.entries_for(code).is_empty());
            if !is_done && let Some(entry) = selected_entry(&lists, selection, code) {
                write(code, &entry.octets);
            }
        }
    }
}

/// Returns the configured option that [`select_options`] writes for one code; `None` when it writes
/// none.
pub fn selected_entry<'l, C, I, L>(
    lists: impl Fn() -> L,
    selection: &OptionSelection<'_, I>,
    code: C,
) -> Option<&'l EncodedOption<C>>
where
    C: OptionCode + 'l,
    I: Iterator<Item = C> + Clone,
    L: Iterator<Item = &'l CodeList<C>>,
{
    if selection.withheld.contains(code.into()) || !is_selected(&lists, selection, code) {
        return None;
    }
    first(lists(), code, selection.classes)
}

/// Returns true if the client gets the option `code` when a scope configures it for the client.
pub(super) fn is_selected<'l, C, I, L>(
    lists: impl Fn() -> L,
    selection: &OptionSelection<'_, I>,
    code: C,
) -> bool
where
    C: OptionCode + 'l,
    I: Iterator<Item = C> + Clone,
    L: Iterator<Item = &'l CodeList<C>>,
{
    let entries = || lists().flat_map(|list| list.entries_for(code));
    let is_requested = || {
        selection.unconditional.contains(code.into())
            || entries().any(|entry| entry.is_always_sent)
            || selection.requested.clone().any(|requested| requested == code)
    };
    !entries().any(|entry| entry.is_never_sent) && is_requested()
}

/// Returns the option of the first list that has one with this code for a client in these classes.
fn first<'l, C: OptionCode + 'l>(
    lists: impl Iterator<Item = &'l CodeList<C>>,
    code: C,
    classes: &ClassSet,
) -> Option<&'l EncodedOption<C>> {
    lists.flat_map(|list| list.entries_for(code)).find(|entry| entry.fits(classes))
}
