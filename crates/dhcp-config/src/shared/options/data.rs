//! Options as configured, with their values as sent.

/// Option as configured, with its value as sent. `C` is the type of a code: `u8` in DHCPv4, `u16`
/// in DHCPv6.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionData<C = u8> {
    /// Option code: 1 to 254 in DHCPv4, 1 to 65535 in DHCPv6.
    pub code: C,
    /// Space that the code belongs to.
    pub space: OptionSpace,
    /// Value without code and length, of any length (RFC 3396 splits it).
    pub octets: Vec<u8>,
    /// True if the option is sent also to clients that did not request it.
    pub always_send: bool,
    /// True if the option is never sent; takes precedence over `always_send`.
    pub never_send: bool,
    /// Class tags: only clients in one of these get the option; every client when empty.
    pub client_classes: Vec<String>,
}

/// Space of an option in replies. Sub-options of every other space are part of the bytes of the
/// option that contains them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OptionSpace {
    /// Family's own options.
    #[default]
    Standard,
    /// Sub-options of a vendor's options with this enterprise number: inside option 125 in DHCPv4,
    /// option 17 in DHCPv6.
    Vendor(u32),
}
