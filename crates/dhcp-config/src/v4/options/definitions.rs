//! Standard DHCPv4 options: name, code and type, as in Kea's table of definitions.
//!
//! Names are those of Kea's configuration. Types follow the RFC that defines each option, with two
//! exceptions that Kea makes: `domain-name` is text on the wire (RFC 2132 §3.17), and
//! `vivso-suboptions` given as text is an enterprise number without data (RFC 3925 §4).

pub use crate::shared::options::definition::{Definition, Field};
use crate::shared::options::definition::{StandardSpace, array, container, one};
use Field::{
    Binary, Boolean, Enterprise, I32, Ipv4, Ipv6, Name, Psid, Resolvers, Routes, Text, Tuple, U8,
    U16, U32,
};

/// Name of the space of the sub-options of option 43.
const VENDOR_SPACE: &str = "vendor-encapsulated-options-space";
/// Name of the space of the sub-options of option 82, relay agent information.
const AGENT_SPACE: &str = "dhcp-agent-options-space";
/// Name of the space of the sub-options of option 122, CableLabs' client configuration.
const CLIENT_CONF_SPACE: &str = "cablelabs-client-conf";

/// Definitions of the standard DHCPv4 options, ordered by code.
pub const DEFINITIONS: &[Definition] = &[
    one(1, "subnet-mask", &[Ipv4]),
    one(2, "time-offset", &[I32]),
    array(3, "routers", &[Ipv4]),
    array(4, "time-servers", &[Ipv4]),
    array(5, "name-servers", &[Ipv4]),
    array(6, "domain-name-servers", &[Ipv4]),
    array(7, "log-servers", &[Ipv4]),
    array(8, "cookie-servers", &[Ipv4]),
    array(9, "lpr-servers", &[Ipv4]),
    array(10, "impress-servers", &[Ipv4]),
    array(11, "resource-location-servers", &[Ipv4]),
    one(12, "host-name", &[Text]),
    one(13, "boot-size", &[U16]),
    one(14, "merit-dump", &[Text]),
    one(15, "domain-name", &[Text]),
    one(16, "swap-server", &[Ipv4]),
    one(17, "root-path", &[Text]),
    one(18, "extensions-path", &[Text]),
    one(19, "ip-forwarding", &[Boolean]),
    one(20, "non-local-source-routing", &[Boolean]),
    array(21, "policy-filter", &[Ipv4]),
    one(22, "max-dgram-reassembly", &[U16]),
    one(23, "default-ip-ttl", &[U8]),
    one(24, "path-mtu-aging-timeout", &[U32]),
    array(25, "path-mtu-plateau-table", &[U16]),
    one(26, "interface-mtu", &[U16]),
    one(27, "all-subnets-local", &[Boolean]),
    one(28, "broadcast-address", &[Ipv4]),
    one(29, "perform-mask-discovery", &[Boolean]),
    one(30, "mask-supplier", &[Boolean]),
    one(31, "router-discovery", &[Boolean]),
    one(32, "router-solicitation-address", &[Ipv4]),
    array(33, "static-routes", &[Ipv4]),
    one(34, "trailer-encapsulation", &[Boolean]),
    one(35, "arp-cache-timeout", &[U32]),
    one(36, "ieee802-3-encapsulation", &[Boolean]),
    one(37, "default-tcp-ttl", &[U8]),
    one(38, "tcp-keepalive-interval", &[U32]),
    one(39, "tcp-keepalive-garbage", &[Boolean]),
    one(40, "nis-domain", &[Text]),
    array(41, "nis-servers", &[Ipv4]),
    array(42, "ntp-servers", &[Ipv4]),
    container(43, "vendor-encapsulated-options", &[], VENDOR_SPACE),
    array(44, "netbios-name-servers", &[Ipv4]),
    array(45, "netbios-dd-server", &[Ipv4]),
    one(46, "netbios-node-type", &[U8]),
    one(47, "netbios-scope", &[Text]),
    array(48, "font-servers", &[Ipv4]),
    array(49, "x-display-manager", &[Ipv4]),
    one(50, "dhcp-requested-address", &[Ipv4]),
    one(51, "dhcp-lease-time", &[U32]),
    one(52, "dhcp-option-overload", &[U8]),
    one(53, "dhcp-message-type", &[U8]),
    one(54, "dhcp-server-identifier", &[Ipv4]),
    array(55, "dhcp-parameter-request-list", &[U8]),
    one(56, "dhcp-message", &[Text]),
    one(57, "dhcp-max-message-size", &[U16]),
    one(58, "dhcp-renewal-time", &[U32]),
    one(59, "dhcp-rebinding-time", &[U32]),
    one(60, "vendor-class-identifier", &[Text]),
    one(61, "dhcp-client-identifier", &[Binary]),
    one(62, "nwip-domain-name", &[Text]),
    one(63, "nwip-suboptions", &[Binary]),
    one(64, "nisplus-domain-name", &[Text]),
    array(65, "nisplus-servers", &[Ipv4]),
    one(66, "tftp-server-name", &[Text]),
    one(67, "boot-file-name", &[Text]),
    array(68, "mobile-ip-home-agent", &[Ipv4]),
    array(69, "smtp-server", &[Ipv4]),
    array(70, "pop-server", &[Ipv4]),
    array(71, "nntp-server", &[Ipv4]),
    array(72, "www-server", &[Ipv4]),
    array(73, "finger-server", &[Ipv4]),
    array(74, "irc-server", &[Ipv4]),
    array(75, "streettalk-server", &[Ipv4]),
    array(76, "streettalk-directory-assistance-server", &[Ipv4]),
    one(77, "user-class", &[Binary]),
    array(78, "slp-directory-agent", &[Boolean, Ipv4]),
    one(79, "slp-service-scope", &[Boolean, Text]),
    one(81, "fqdn", &[U8, U8, U8, Name]),
    container(82, "dhcp-agent-options", &[], AGENT_SPACE),
    array(85, "nds-servers", &[Ipv4]),
    one(86, "nds-tree-name", &[Text]),
    one(87, "nds-context", &[Text]),
    array(88, "bcms-controller-names", &[Name]),
    array(89, "bcms-controller-address", &[Ipv4]),
    one(90, "authenticate", &[Binary]),
    one(91, "client-last-transaction-time", &[U32]),
    array(92, "associated-ip", &[Ipv4]),
    array(93, "client-system", &[U16]),
    one(94, "client-ndi", &[U8, U8, U8]),
    one(97, "uuid-guid", &[U8, Binary]),
    one(98, "uap-servers", &[Text]),
    one(99, "geoconf-civic", &[Binary]),
    one(100, "pcode", &[Text]),
    one(101, "tcode", &[Text]),
    one(108, "v6-only-preferred", &[U32]),
    array(112, "netinfo-server-address", &[Ipv4]),
    one(113, "netinfo-server-tag", &[Text]),
    one(114, "v4-captive-portal", &[Text]),
    one(116, "auto-config", &[U8]),
    array(117, "name-service-search", &[U16]),
    one(118, "subnet-selection", &[Ipv4]),
    array(119, "domain-search", &[Name]),
    one(121, "classless-static-route", &[Routes]),
    container(122, "cablelabs-client-conf", &[], CLIENT_CONF_SPACE),
    one(124, "vivco-suboptions", &[U32, Binary]),
    one(125, "vivso-suboptions", &[Enterprise]),
    array(136, "pana-agent", &[Ipv4]),
    one(137, "v4-lost", &[Name]),
    array(138, "capwap-ac-v4", &[Ipv4]),
    array(141, "sip-ua-cs-domains", &[Name]),
    array(143, "v4-sztp-redirect", &[Tuple]),
    array(146, "rdnss-selection", &[U8, Ipv4, Ipv4, Name]),
    one(151, "status-code", &[U8, Text]),
    one(152, "base-time", &[U32]),
    one(153, "start-time-of-state", &[U32]),
    one(154, "query-start-time", &[U32]),
    one(155, "query-end-time", &[U32]),
    one(156, "dhcp-state", &[U8]),
    one(157, "data-source", &[U8]),
    one(159, "v4-portparams", &[U8, Psid]),
    one(162, "v4-dnr", &[Resolvers]),
    array(212, "option-6rd", &[U8, U8, Ipv6, Ipv4]),
    one(213, "v4-access-domain", &[Name]),
];

/// Option spaces of DHCPv4 that are known without a definition; the first is that of
/// [`DEFINITIONS`].
pub(crate) const SPACES: &[StandardSpace] = &[
    StandardSpace { name: "dhcp4", definitions: DEFINITIONS },
    StandardSpace { name: "vendor-4491", definitions: DOCSIS },
    // As in Kea, options in a space of this name are known and not sent.
    StandardSpace { name: "docsis3-v4", definitions: DOCSIS },
    StandardSpace { name: AGENT_SPACE, definitions: AGENT },
    StandardSpace { name: CLIENT_CONF_SPACE, definitions: CLIENT_CONF },
];

/// Definitions of CableLabs' options inside DHCPv4 option 125.
const DOCSIS: &[Definition] = &[array(1, "oro", &[U8]), array(2, "tftp-servers", &[Ipv4])];

/// Definitions of the sub-options of DHCPv4 option 82 that relay agents send (RFC 3046 and later).
const AGENT: &[Definition] = &[
    one(1, "circuit-id", &[Binary]),
    one(2, "remote-id", &[Binary]),
    one(4, "docsis-device-class", &[U32]),
    one(5, "link-selection", &[Ipv4]),
    one(6, "subscriber-id", &[Text]),
    one(7, "radius", &[Binary]),
    one(8, "auth", &[Binary]),
    one(9, "vendor-specific-info", &[Binary]),
    one(10, "relay-flags", &[U8]),
    one(11, "server-id-override", &[Ipv4]),
    one(12, "relay-id", &[Binary]),
    one(13, "access-techno-type", &[U16]),
    one(14, "access-network-name", &[Text]),
    one(15, "access-point-name", &[Text]),
    one(16, "access-point-bssid", &[Binary]),
    one(17, "operator-id", &[U32]),
    one(18, "operator-realm", &[Text]),
    one(19, "relay-port", &[U16]),
    one(151, "virtual-subnet-select", &[Binary]),
    one(152, "virtual-subnet-select-ctrl", &[]),
];

/// Definitions of the sub-options of DHCPv4 option 122, CableLabs' client configuration (RFC 3495,
/// 3594, 3634).
const CLIENT_CONF: &[Definition] = &[
    one(1, "tsp-primary-server", &[Ipv4]),
    one(2, "tsp-secondary-server", &[Ipv4]),
    one(4, "tsp-as-parameters", &[U32, U32, U32]),
    one(5, "tsp-ap-parameters", &[U32, U32, U32]),
    one(6, "tsp-realm", &[Name]),
    one(7, "tsp-use-tgt", &[Boolean]),
    one(8, "tsp-provisioning-timer", &[U8]),
    one(9, "tsp-sct", &[U16]),
    array(10, "kdc-server", &[Ipv4]),
];

/// Standard DHCPv4 options that operators may define anew, as in Kea 2.2, by space and code.
pub(crate) const REDEFINABLE: &[(&str, &[u16])] = &[
    (SPACES[0].name, &[43, 121, 122, 143, 151, 152, 153, 154, 155, 156, 157, 162]),
    (AGENT_SPACE, &[]),
    (CLIENT_CONF_SPACE, &[]),
];

/// Returns true for a DHCPv4 option that the server sets itself; it does not send configured values
/// of such options.
#[must_use]
pub const fn set_by_server(code: u8) -> bool {
    matches!(code, 1 | 50..=53 | 55 | 61 | 81 | 82 | 90..=92 | 118 | 151..=157)
}
