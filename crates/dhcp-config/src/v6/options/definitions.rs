//! The standard DHCPv6 options: name, code and type, as in Kea's table of definitions.
//!
//! Names are those of Kea's configuration; types follow the RFC that defines each option.
//! `vendor-opts` given as text is an enterprise number without options (RFC 9915 §21.17).

pub use crate::shared::options::{Definition, Field};
use crate::shared::options::{array, by_name as named, one};
use Field::{Binary, Ipv6, Ipv6Prefix, Name, Opaque, SubOptions, Text, Tuple, U8, U16, U32};

/// The standard options, ordered by code.
pub const DEFINITIONS: &[Definition] = &[
    one(1, "clientid", &[Binary]),
    one(2, "serverid", &[Binary]),
    one(3, "ia-na", &[U32, U32, U32]),
    one(4, "ia-ta", &[U32]),
    one(5, "iaaddr", &[Ipv6, U32, U32]),
    array(6, "oro", &[U16]),
    one(7, "preference", &[U8]),
    one(8, "elapsed-time", &[U16]),
    one(9, "relay-msg", &[Binary]),
    one(11, "auth", &[Binary]),
    one(12, "unicast", &[Ipv6]),
    one(13, "status-code", &[U16, Text]),
    one(14, "rapid-commit", &[Opaque]),
    one(15, "user-class", &[Binary]),
    one(16, "vendor-class", &[Opaque]),
    one(17, "vendor-opts", &[U32, SubOptions]),
    one(18, "interface-id", &[Binary]),
    one(19, "reconf-msg", &[U8]),
    one(20, "reconf-accept", &[Opaque]),
    array(21, "sip-server-dns", &[Name]),
    array(22, "sip-server-addr", &[Ipv6]),
    array(23, "dns-servers", &[Ipv6]),
    array(24, "domain-search", &[Name]),
    one(25, "ia-pd", &[U32, U32, U32]),
    one(26, "iaprefix", &[U32, U32, U8, Ipv6]),
    array(27, "nis-servers", &[Ipv6]),
    array(28, "nisp-servers", &[Ipv6]),
    array(29, "nis-domain-name", &[Name]),
    array(30, "nisp-domain-name", &[Name]),
    array(31, "sntp-servers", &[Ipv6]),
    one(32, "information-refresh-time", &[U32]),
    array(33, "bcmcs-server-dns", &[Name]),
    array(34, "bcmcs-server-addr", &[Ipv6]),
    one(36, "geoconf-civic", &[U8, U16, Binary]),
    one(37, "remote-id", &[U32, Binary]),
    one(38, "subscriber-id", &[Binary]),
    one(39, "client-fqdn", &[U8, Name]),
    array(40, "pana-agent", &[Ipv6]),
    one(41, "new-posix-timezone", &[Text]),
    one(42, "new-tzdb-timezone", &[Text]),
    array(43, "ero", &[U16]),
    one(44, "lq-query", &[U8, Ipv6]),
    one(45, "client-data", &[Opaque]),
    one(46, "clt-time", &[U32]),
    one(47, "lq-relay-data", &[Ipv6, Binary]),
    array(48, "lq-client-link", &[Ipv6]),
    one(51, "v6-lost", &[Name]),
    array(52, "capwap-ac-v6", &[Ipv6]),
    one(53, "relay-id", &[Binary]),
    one(56, "ntp-server", &[Opaque]),
    one(57, "v6-access-domain", &[Name]),
    array(58, "sip-ua-cs-list", &[Name]),
    one(59, "bootfile-url", &[Text]),
    array(60, "bootfile-param", &[Tuple]),
    array(61, "client-arch-type", &[U16]),
    one(62, "nii", &[U8, U8, U8]),
    one(64, "aftr-name", &[Name]),
    one(65, "erp-local-domain-name", &[Name]),
    one(66, "rsoo", &[Opaque]),
    one(67, "pd-exclude", &[Ipv6Prefix]),
    array(74, "rdnss-selection", &[Ipv6, U8, Name]),
    one(79, "client-linklayer-addr", &[Binary]),
    one(80, "link-address", &[Ipv6]),
    one(82, "solmax-rt", &[U32]),
    one(83, "inf-max-rt", &[U32]),
    one(87, "dhcpv4-message", &[Binary]),
    array(88, "dhcp4o6-server-addr", &[Ipv6]),
    one(94, "s46-cont-mape", &[Opaque]),
    one(95, "s46-cont-mapt", &[Opaque]),
    one(96, "s46-cont-lw", &[Opaque]),
    one(103, "v6-captive-portal", &[Text]),
    one(135, "relay-source-port", &[U16]),
    array(136, "v6-sztp-redirect", &[Tuple]),
    array(143, "ipv6-address-andsf", &[Ipv6]),
    one(144, "v6-dnr", &[Opaque]),
    one(148, "addr-reg-enable", &[Opaque]),
];

/// The definition of an option name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Definition> {
    named(DEFINITIONS, name)
}

/// Options that carry the conversation itself; configured values of them are not sent.
#[must_use]
pub const fn set_by_server(code: u16) -> bool {
    matches!(code, 1..=6 | 8 | 9 | 11 | 13 | 14 | 18..=20 | 25 | 26)
}
