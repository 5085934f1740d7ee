//! Standard DHCPv6 options: name, code and type, as in Kea's table of definitions.
//!
//! Names are those of Kea's configuration; types follow the RFC that defines each option.
//! `vendor-opts` given as text is an enterprise number without options (RFC 9915 §21.17).

pub use crate::shared::options::definition::{Definition, Field};
use crate::shared::options::definition::{
    StandardSpace, array, by_name as find_by_name, container, one,
};
use Field::{
    Binary, I32, Ipv4, Ipv6, Ipv6Prefix, Name, Opaque, Psid, Resolver, SubOptions, Text, Tuple, U8,
    U16, U32,
};

/// Name of the space of the sub-options of the DHCPv6 option NTP Server (56, RFC 5908).
pub(crate) const NTP_SPACE: &str = "v6-ntp-server-suboptions";
/// Name of the space of the options in Relay-Supplied Options (RFC 6422).
const RELAY_SUPPLIED_SPACE: &str = "rsoo-opts";
/// Name of the space of the options in a MAP-E container (RFC 7598 §5.1).
const MAP_E_SPACE: &str = "s46-cont-mape-options";
/// Name of the space of the options in a MAP-T container (RFC 7598 §5.2).
const MAP_T_SPACE: &str = "s46-cont-mapt-options";
/// Name of the space of the options in a Lightweight 4over6 container (RFC 7598 §5.3).
const LIGHTWEIGHT_SPACE: &str = "s46-cont-lw-options";
/// Name of the space of the options in a softwire mapping rule (RFC 7598 §4.1).
const RULE_SPACE: &str = "s46-rule-options";
const BIND_SPACE: &str = "s46-v4v6bind-options";

/// Definitions of the standard DHCPv6 options, ordered by code.
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
    one(14, "rapid-commit", &[]),
    one(15, "user-class", &[Binary]),
    one(16, "vendor-class", &[U32, Binary]),
    one(17, "vendor-opts", &[U32, SubOptions]),
    one(18, "interface-id", &[Binary]),
    one(19, "reconf-msg", &[U8]),
    one(20, "reconf-accept", &[]),
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
    container(56, "ntp-server", &[], NTP_SPACE),
    one(57, "v6-access-domain", &[Name]),
    array(58, "sip-ua-cs-list", &[Name]),
    one(59, "bootfile-url", &[Text]),
    array(60, "bootfile-param", &[Tuple]),
    array(61, "client-arch-type", &[U16]),
    one(62, "nii", &[U8, U8, U8]),
    one(64, "aftr-name", &[Name]),
    one(65, "erp-local-domain-name", &[Name]),
    container(66, "rsoo", &[], RELAY_SUPPLIED_SPACE),
    one(67, "pd-exclude", &[Ipv6Prefix]),
    array(74, "rdnss-selection", &[Ipv6, U8, Name]),
    one(79, "client-linklayer-addr", &[Binary]),
    one(80, "link-address", &[Ipv6]),
    one(82, "solmax-rt", &[U32]),
    one(83, "inf-max-rt", &[U32]),
    one(87, "dhcpv4-message", &[Binary]),
    array(88, "dhcp4o6-server-addr", &[Ipv6]),
    container(94, "s46-cont-mape", &[], MAP_E_SPACE),
    container(95, "s46-cont-mapt", &[], MAP_T_SPACE),
    container(96, "s46-cont-lw", &[], LIGHTWEIGHT_SPACE),
    one(103, "v6-captive-portal", &[Text]),
    one(135, "relay-source-port", &[U16]),
    array(136, "v6-sztp-redirect", &[Tuple]),
    array(143, "ipv6-address-andsf", &[Ipv6]),
    one(144, "v6-dnr", &[Resolver]),
    one(148, "addr-reg-enable", &[]),
];

/// Option spaces of DHCPv6 that are known without a definition; the first is that of
/// [`DEFINITIONS`].
pub(crate) const SPACES: &[StandardSpace] = &[
    StandardSpace { name: "dhcp6", definitions: DEFINITIONS },
    StandardSpace { name: "vendor-4491", definitions: DOCSIS },
    // As in Kea, options in a space of this name are known and not sent.
    StandardSpace { name: "docsis3-v6", definitions: DOCSIS },
    StandardSpace { name: "vendor-2495", definitions: ISC },
    StandardSpace { name: NTP_SPACE, definitions: NTP },
    StandardSpace { name: MAP_E_SPACE, definitions: MAP_E },
    StandardSpace { name: MAP_T_SPACE, definitions: MAP_T },
    StandardSpace { name: LIGHTWEIGHT_SPACE, definitions: LIGHTWEIGHT },
    StandardSpace { name: RULE_SPACE, definitions: PORT_PARAMETERS },
    StandardSpace { name: BIND_SPACE, definitions: PORT_PARAMETERS },
];

/// Standard DHCPv6 options that operators may define anew, as in Kea 2.2, by space and code.
pub(crate) const REDEFINABLE: &[(&str, &[u16])] =
    &[(SPACES[0].name, &[56, 136, 144, 148]), (NTP_SPACE, &[])];

/// Definitions of CableLabs' options inside DHCPv6 option 17.
const DOCSIS: &[Definition] = &[
    array(1, "oro", &[U16]),
    one(2, "device-type", &[Text]),
    one(10, "vendor-type", &[Text]),
    array(32, "tftp-servers", &[Ipv6]),
    one(33, "config-file", &[Text]),
    array(34, "syslog-servers", &[Ipv6]),
    one(36, "device-id", &[Binary]),
    array(37, "time-servers", &[Ipv6]),
    one(38, "time-offset", &[I32]),
    one(1026, "cmts-cm-mac", &[Binary]),
];

/// Definitions of the options that Kea's two servers send each other inside DHCPv6 option 17.
const ISC: &[Definition] = &[
    one(60_000, "4o6-interface", &[Text]),
    one(60_001, "4o6-source-address", &[Ipv6]),
    one(60_002, "4o6-source-port", &[U16]),
];

/// Definitions of the sub-options of the NTP server option (RFC 5908 §4).
const NTP: &[Definition] = &[
    one(1, "ntp-server-address", &[Ipv6]),
    one(2, "ntp-server-multicast", &[Ipv6]),
    one(3, "ntp-server-fqdn", &[Name]),
];

/// Definitions of the options inside a MAP-E container (RFC 7598 §5.1).
const MAP_E: &[Definition] = &[S46_RULE, one(90, "s46-br", &[Ipv6])];
/// Definitions of the options inside a MAP-T container (RFC 7598 §5.2).
const MAP_T: &[Definition] = &[S46_RULE, one(91, "s46-dmr", &[Ipv6Prefix])];
/// Definitions of the options inside a Lightweight 4over6 container (RFC 7598 §5.3).
const LIGHTWEIGHT: &[Definition] =
    &[one(90, "s46-br", &[Ipv6]), container(92, "s46-v4v6bind", &[Ipv4, Ipv6Prefix], BIND_SPACE)];
/// Definitions of the options with port parameters inside softwire options (RFC 7598 §4.5).
const PORT_PARAMETERS: &[Definition] = &[one(93, "s46-portparams", &[U8, Psid])];
/// Definition of the softwire option with a mapping rule (RFC 7598 §4.1).
const S46_RULE: Definition = container(89, "s46-rule", &[U8, U8, U8, Ipv4, Ipv6Prefix], RULE_SPACE);

/// Returns the definition of the standard DHCPv6 option with the name `name`.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Definition> {
    find_by_name(DEFINITIONS, name)
}

/// Returns true for a DHCPv6 option that the server sets itself; it does not send configured values
/// of such options.
#[must_use]
pub const fn set_by_server(code: u16) -> bool {
    matches!(code, 1..=6 | 8 | 9 | 11 | 13 | 14 | 18..=20 | 25 | 26)
}
