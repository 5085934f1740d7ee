//! DHCP options as the configuration sets them, with their values as sent.

/// DHCP option as the configuration sets it, with its value as sent. `C` is the type of a code:
/// `u8` in DHCPv4, `u16` in DHCPv6.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionData<C = u8> {
    /// Code of the option: 1 to 254 in DHCPv4, 1 to 65535 in DHCPv6.
    pub code: C,
    /// Space that the option's code belongs to.
    pub space: OptionSpace,
    /// Value of the option in bytes as sent, without code and length, of any length (RFC 3396
    /// splits it).
    pub octets: Vec<u8>,
    /// True if the server sends the option also to clients that did not request it (`always-send`).
    pub always_send: bool,
    /// True if the server never sends the option (`never-send`); takes precedence over
    /// `always_send`.
    pub never_send: bool,
    /// Class tags of the option (`client-classes`): only clients in one of these classes get it;
    /// every client when empty.
    pub client_classes: Vec<String>,
}

/// Space of an option in replies. Sub-options of every other space are part of the bytes of the
/// option that contains them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OptionSpace {
    /// Space of the standard options of DHCPv4 or DHCPv6.
    #[default]
    Standard,
    /// Space of the sub-options of a vendor with this enterprise number: inside option 125 in
    /// DHCPv4, option 17 in DHCPv6.
    Vendor(u32),
}
