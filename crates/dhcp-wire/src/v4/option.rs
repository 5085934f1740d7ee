//! Codes of the DHCPv4 options that Godwit handles, by their names in the RFCs (IANA, "BOOTP Vendor
//! Extensions and DHCP Options"). Aliases at the end are short forms of the names that servers use
//! on every line.

/// DHCPv4 option 0: padding, without length or value (RFC 2132).
pub const PAD: u8 = 0;
/// DHCPv4 option 1: subnet mask (RFC 2132).
pub const SUBNET_MASK: u8 = 1;
/// DHCPv4 option 2: offset from UTC, seconds (deprecated) (RFC 2132).
pub const TIME_OFFSET: u8 = 2;
/// DHCPv4 option 3: routers (RFC 2132).
pub const ROUTER: u8 = 3;
/// DHCPv4 option 6: DNS servers (RFC 2132).
pub const DOMAIN_NAME_SERVER: u8 = 6;
/// DHCPv4 option 7: log servers (RFC 2132).
pub const LOG_SERVER: u8 = 7;
/// DHCPv4 option 12: name of the client (RFC 2132).
pub const HOST_NAME: u8 = 12;
/// DHCPv4 option 13: length of the boot file in blocks of 512 bytes (RFC 2132).
pub const BOOT_FILE_SIZE: u8 = 13;
/// DHCPv4 option 15: domain in which the client resolves names (RFC 2132).
pub const DOMAIN_NAME: u8 = 15;
/// DHCPv4 option 16: swap server (RFC 2132).
pub const SWAP_SERVER: u8 = 16;
/// DHCPv4 option 19: flag to forward packets (RFC 2132).
pub const IP_FORWARDING: u8 = 19;
/// DHCPv4 option 20: flag to forward source-routed packets (RFC 2132).
pub const NON_LOCAL_SOURCE_ROUTING: u8 = 20;
/// DHCPv4 option 22: longest datagram to reassemble (RFC 2132).
pub const MAXIMUM_DATAGRAM_REASSEMBLY_SIZE: u8 = 22;
/// DHCPv4 option 23: time to live to send with (RFC 2132).
pub const DEFAULT_IP_TTL: u8 = 23;
/// DHCPv4 option 24: time-out of discovered path MTUs in seconds (RFC 2132).
pub const PATH_MTU_AGING_TIMEOUT: u8 = 24;
/// DHCPv4 option 26: MTU of the interface (RFC 2132).
pub const INTERFACE_MTU: u8 = 26;
/// DHCPv4 option 27: flag that all subnets have the same MTU (RFC 2132).
pub const ALL_SUBNETS_ARE_LOCAL: u8 = 27;
/// DHCPv4 option 28: broadcast address (RFC 2132).
pub const BROADCAST_ADDRESS: u8 = 28;
/// DHCPv4 option 29: flag to discover the mask by ICMP (RFC 2132).
pub const PERFORM_MASK_DISCOVERY: u8 = 29;
/// DHCPv4 option 30: flag to answer mask requests (RFC 2132).
pub const MASK_SUPPLIER: u8 = 30;
/// DHCPv4 option 31: flag to solicit routers (RFC 2132).
pub const PERFORM_ROUTER_DISCOVERY: u8 = 31;
/// DHCPv4 option 32: address to solicit routers at (RFC 2132).
pub const ROUTER_SOLICITATION_ADDRESS: u8 = 32;
/// DHCPv4 option 34: flag to negotiate trailers (RFC 2132).
pub const TRAILER_ENCAPSULATION: u8 = 34;
/// DHCPv4 option 35: time-out of ARP entries, seconds (RFC 2132).
pub const ARP_CACHE_TIMEOUT: u8 = 35;
/// DHCPv4 option 36: flag to use 802.3 encapsulation (RFC 2132).
pub const ETHERNET_ENCAPSULATION: u8 = 36;
/// DHCPv4 option 37: time to live of TCP segments (RFC 2132).
pub const TCP_DEFAULT_TTL: u8 = 37;
/// DHCPv4 option 38: time between TCP keep-alives, seconds (RFC 2132).
pub const TCP_KEEPALIVE_INTERVAL: u8 = 38;
/// DHCPv4 option 39: flag that keep-alives carry a byte (RFC 2132).
pub const TCP_KEEPALIVE_GARBAGE: u8 = 39;
/// DHCPv4 option 42: NTP servers (RFC 2132).
pub const NETWORK_TIME_PROTOCOL_SERVERS: u8 = 42;
/// DHCPv4 option 43: options of the vendor named by option 60 (RFC 2132).
pub const VENDOR_SPECIFIC_INFORMATION: u8 = 43;
/// DHCPv4 option 46: NetBIOS node type (RFC 2132).
pub const NETBIOS_NODE_TYPE: u8 = 46;
/// DHCPv4 option 50: address that the client requests (RFC 2132).
pub const REQUESTED_IP_ADDRESS: u8 = 50;
/// DHCPv4 option 51: lease time in seconds, requested or granted (RFC 2132).
pub const IP_ADDRESS_LEASE_TIME: u8 = 51;
/// DHCPv4 option 52: fields that contain options: `file` (1), `sname` (2) or both (3) (RFC 2132).
pub const OPTION_OVERLOAD: u8 = 52;
/// DHCPv4 option 53: message type (RFC 2132).
pub const DHCP_MESSAGE_TYPE: u8 = 53;
/// DHCPv4 option 54: address of the server that replies, or that the client chose (RFC 2132).
pub const SERVER_IDENTIFIER: u8 = 54;
/// DHCPv4 option 55: codes of the options that the client requests, by preference (RFC 2132).
pub const PARAMETER_REQUEST_LIST: u8 = 55;
/// DHCPv4 option 56: error text (RFC 2132).
pub const MESSAGE: u8 = 56;
/// DHCPv4 option 57: length in bytes of the longest message that the client accepts (RFC 2132).
pub const MAXIMUM_DHCP_MESSAGE_SIZE: u8 = 57;
/// DHCPv4 option 58: T1, the time after which the client renews its lease, in seconds (RFC 2132).
pub const RENEWAL_TIME: u8 = 58;
/// DHCPv4 option 59: T2, the time after which the client asks any server to extend its lease, in
/// seconds (RFC 2132).
pub const REBINDING_TIME: u8 = 59;
/// DHCPv4 option 60: vendor and kind of the client (RFC 2132).
pub const VENDOR_CLASS_IDENTIFIER: u8 = 60;
/// DHCPv4 option 61: identifier of the client (RFC 2132).
pub const CLIENT_IDENTIFIER: u8 = 61;
/// DHCPv4 option 77: user class (RFC 3004).
pub const USER_CLASS: u8 = 77;
/// DHCPv4 option 80: flag for an exchange of two messages instead of four (RFC 4039).
pub const RAPID_COMMIT: u8 = 80;
/// DHCPv4 option 81: full name of the client and the party that updates DNS (RFC 4702).
pub const CLIENT_FQDN: u8 = 81;
/// DHCPv4 option 82: sub-options that relay agents add (RFC 3046).
pub const RELAY_AGENT_INFORMATION: u8 = 82;
/// DHCPv4 option 88: broadcast and multicast controllers by name (RFC 4280).
pub const BCMCS_CONTROLLER_DOMAIN_NAMES: u8 = 88;
/// DHCPv4 option 90: authentication (RFC 3118).
pub const AUTHENTICATION: u8 = 90;
/// DHCPv4 option 91: seconds since the client's last transaction (RFC 4388).
pub const CLIENT_LAST_TRANSACTION_TIME: u8 = 91;
/// DHCPv4 option 92: addresses of the client (RFC 4388).
pub const ASSOCIATED_IP: u8 = 92;
/// DHCPv4 option 108: seconds for which the client does without IPv4 (RFC 8925).
pub const IPV6_ONLY_PREFERRED: u8 = 108;
/// DHCPv4 option 116: flag that the client may use a link-local address (RFC 2563).
pub const AUTO_CONFIGURE: u8 = 116;
/// DHCPv4 option 118: subnet from which the client wants its address (RFC 3011).
pub const SUBNET_SELECTION: u8 = 118;
/// DHCPv4 option 119: domains to search (RFC 3397).
pub const DOMAIN_SEARCH: u8 = 119;
/// DHCPv4 option 121: classless static routes (RFC 3442).
pub const CLASSLESS_STATIC_ROUTE: u8 = 121;
/// DHCPv4 option 124: vendor classes by enterprise (RFC 3925).
pub const VENDOR_IDENTIFYING_VENDOR_CLASS: u8 = 124;
/// DHCPv4 option 125: vendor options by enterprise (RFC 3925).
pub const VENDOR_IDENTIFYING_VENDOR_SPECIFIC_INFORMATION: u8 = 125;
/// DHCPv4 option 137: location-to-service server (RFC 5223).
pub const V4_LOST: u8 = 137;
/// DHCPv4 option 141: SIP configuration domains (RFC 6011).
pub const SIP_UA_CONFIGURATION_SERVICE_DOMAINS: u8 = 141;
/// DHCPv4 option 151: status of a lease query (RFC 6926).
pub const STATUS_CODE: u8 = 151;
/// DHCPv4 option 152: time of the server, seconds since 1970 (RFC 6926).
pub const BASE_TIME: u8 = 152;
/// DHCPv4 option 153: seconds since the lease has been in its state (RFC 6926).
pub const START_TIME_OF_STATE: u8 = 153;
/// DHCPv4 option 154: begin of a lease query (RFC 6926).
pub const QUERY_START_TIME: u8 = 154;
/// DHCPv4 option 155: end of a lease query (RFC 6926).
pub const QUERY_END_TIME: u8 = 155;
/// DHCPv4 option 156: state of a lease (RFC 6926).
pub const DHCP_STATE: u8 = 156;
/// DHCPv4 option 157: flag that says if the answer is local or remote (RFC 6926).
pub const DATA_SOURCE: u8 = 157;
/// DHCPv4 option 213: access network domain (RFC 5986).
pub const V4_ACCESS_DOMAIN: u8 = 213;
/// DHCPv4 option 221: virtual subnet (RFC 6607).
pub const VIRTUAL_SUBNET_SELECTION: u8 = 221;
/// DHCPv4 option 255: end of the options, without length or value (RFC 2132).
pub const END: u8 = 255;

/// Short form of [`DHCP_MESSAGE_TYPE`], the code of DHCPv4 option 53.
pub const MESSAGE_TYPE: u8 = DHCP_MESSAGE_TYPE;
/// Short form of [`REQUESTED_IP_ADDRESS`], the code of DHCPv4 option 50.
pub const REQUESTED_ADDRESS: u8 = REQUESTED_IP_ADDRESS;
/// Short form of [`IP_ADDRESS_LEASE_TIME`], the code of DHCPv4 option 51.
pub const LEASE_TIME: u8 = IP_ADDRESS_LEASE_TIME;
/// Short form of [`OPTION_OVERLOAD`], the code of DHCPv4 option 52.
pub const OVERLOAD: u8 = OPTION_OVERLOAD;
/// Short form of [`CLIENT_IDENTIFIER`], the code of DHCPv4 option 61.
pub const CLIENT_ID: u8 = CLIENT_IDENTIFIER;
