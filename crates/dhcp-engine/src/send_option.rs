//! Configured options, ready to be sent.

use dhcp_config::OptionData;

/// An option ready to be sent; `C` is the type of a code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendOption<C> {
    /// Option code.
    pub code: C,
    /// Value.
    pub octets: Box<[u8]>,
    /// Sent even when the client does not ask for it.
    pub is_always_sent: bool,
    /// Never sent, whatever else says so.
    pub is_never_sent: bool,
}

/// What is configured for one scope, ascending by code.
pub fn send_options<C: Copy + Ord>(options: &[OptionData<C>]) -> Vec<SendOption<C>> {
    let mut sent: Vec<SendOption<C>> = options
        .iter()
        .map(|option| SendOption {
            code: option.code,
            octets: option.octets.as_slice().into(),
            is_always_sent: option.always_send,
            is_never_sent: option.never_send,
        })
        .collect();
    sent.sort_by_key(|option| option.code);
    sent
}

/// The option of this code in the first list that has one.
pub fn find<'l, C: Copy + Ord>(
    lists: &[&'l [SendOption<C>]],
    code: C,
) -> Option<&'l SendOption<C>> {
    lists.iter().find_map(|list| {
        list.binary_search_by_key(&code, |entry| entry.code).ok().map(|at| &list[at])
    })
}
