//! Configured options, ready to be sent.

use dhcp_config::v4::OptionData;

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

/// What is configured of one scope, ascending by code.
pub fn send_options(options: &[OptionData]) -> Vec<SendOption<u8>> {
    let mut sent: Vec<SendOption<u8>> = options
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
