//! Option codes by their names in the RFCs (IANA, "BOOTP Vendor Extensions and DHCP Options").
//! Aliases at the end are short forms of the names that servers use on every line.

/// Padding, without length or value (RFC 2132).
pub const PAD: u8 = 0;
/// Subnet mask (RFC 2132).
pub const SUBNET_MASK: u8 = 1;
/// Offset from UTC, seconds (deprecated) (RFC 2132).
pub const TIME_OFFSET: u8 = 2;
/// Routers (RFC 2132).
pub const ROUTER: u8 = 3;
/// Time servers (RFC 868).
pub const TIME_SERVER: u8 = 4;
/// Name servers (IEN 116) (RFC 2132).
pub const NAME_SERVER: u8 = 5;
/// DNS servers (RFC 2132).
pub const DOMAIN_NAME_SERVER: u8 = 6;
/// Log servers (RFC 2132).
pub const LOG_SERVER: u8 = 7;
/// Quote of the day servers (RFC 2132).
pub const COOKIE_SERVER: u8 = 8;
/// Line printer servers (RFC 2132).
pub const LPR_SERVER: u8 = 9;
/// Imagen Impress servers (RFC 2132).
pub const IMPRESS_SERVER: u8 = 10;
/// Resource location servers (RFC 2132).
pub const RESOURCE_LOCATION_SERVER: u8 = 11;
/// Name of the client (RFC 2132).
pub const HOST_NAME: u8 = 12;
/// Length of the boot file in blocks of 512 bytes (RFC 2132).
pub const BOOT_FILE_SIZE: u8 = 13;
/// Path for a core dump (RFC 2132).
pub const MERIT_DUMP_FILE: u8 = 14;
/// Domain to resolve names in (RFC 2132).
pub const DOMAIN_NAME: u8 = 15;
/// Swap server (RFC 2132).
pub const SWAP_SERVER: u8 = 16;
/// Path of the root disk (RFC 2132).
pub const ROOT_PATH: u8 = 17;
/// File with more options (RFC 2132).
pub const EXTENSIONS_PATH: u8 = 18;
/// Flag: forward packets (RFC 2132).
pub const IP_FORWARDING: u8 = 19;
/// Flag: forward source-routed packets (RFC 2132).
pub const NON_LOCAL_SOURCE_ROUTING: u8 = 20;
/// Filters of source routing (RFC 2132).
pub const POLICY_FILTER: u8 = 21;
/// Longest datagram to reassemble (RFC 2132).
pub const MAXIMUM_DATAGRAM_REASSEMBLY_SIZE: u8 = 22;
/// Time to live to send with (RFC 2132).
pub const DEFAULT_IP_TTL: u8 = 23;
/// Time-out of discovered path MTUs, seconds (RFC 2132).
pub const PATH_MTU_AGING_TIMEOUT: u8 = 24;
/// Sizes to try as path MTU (RFC 2132).
pub const PATH_MTU_PLATEAU_TABLE: u8 = 25;
/// MTU of the interface (RFC 2132).
pub const INTERFACE_MTU: u8 = 26;
/// Flag: all subnets have the same MTU (RFC 2132).
pub const ALL_SUBNETS_ARE_LOCAL: u8 = 27;
/// Broadcast address (RFC 2132).
pub const BROADCAST_ADDRESS: u8 = 28;
/// Flag: discover the mask by ICMP (RFC 2132).
pub const PERFORM_MASK_DISCOVERY: u8 = 29;
/// Flag: answer mask requests (RFC 2132).
pub const MASK_SUPPLIER: u8 = 30;
/// Flag: solicit routers (RFC 2132).
pub const PERFORM_ROUTER_DISCOVERY: u8 = 31;
/// Address to solicit routers at (RFC 2132).
pub const ROUTER_SOLICITATION_ADDRESS: u8 = 32;
/// Classful static routes (RFC 2132).
pub const STATIC_ROUTE: u8 = 33;
/// Flag: negotiate trailers (RFC 2132).
pub const TRAILER_ENCAPSULATION: u8 = 34;
/// Time-out of ARP entries, seconds (RFC 2132).
pub const ARP_CACHE_TIMEOUT: u8 = 35;
/// Flag: use 802.3 encapsulation (RFC 2132).
pub const ETHERNET_ENCAPSULATION: u8 = 36;
/// Time to live of TCP segments (RFC 2132).
pub const TCP_DEFAULT_TTL: u8 = 37;
/// Time between TCP keep-alives, seconds (RFC 2132).
pub const TCP_KEEPALIVE_INTERVAL: u8 = 38;
/// Flag: keep-alives carry a byte (RFC 2132).
pub const TCP_KEEPALIVE_GARBAGE: u8 = 39;
/// NIS domain (RFC 2132).
pub const NETWORK_INFORMATION_SERVICE_DOMAIN: u8 = 40;
/// NIS servers (RFC 2132).
pub const NETWORK_INFORMATION_SERVERS: u8 = 41;
/// NTP servers (RFC 2132).
pub const NETWORK_TIME_PROTOCOL_SERVERS: u8 = 42;
/// Options of the vendor named by option 60 (RFC 2132).
pub const VENDOR_SPECIFIC_INFORMATION: u8 = 43;
/// NetBIOS name servers (RFC 2132).
pub const NETBIOS_NAME_SERVER: u8 = 44;
/// NetBIOS datagram distribution servers (RFC 2132).
pub const NETBIOS_DATAGRAM_DISTRIBUTION_SERVER: u8 = 45;
/// NetBIOS node type (RFC 2132).
pub const NETBIOS_NODE_TYPE: u8 = 46;
/// NetBIOS scope (RFC 2132).
pub const NETBIOS_SCOPE: u8 = 47;
/// X font servers (RFC 2132).
pub const X_WINDOW_SYSTEM_FONT_SERVER: u8 = 48;
/// X display managers (RFC 2132).
pub const X_WINDOW_SYSTEM_DISPLAY_MANAGER: u8 = 49;
/// Address that the client requests (RFC 2132).
pub const REQUESTED_IP_ADDRESS: u8 = 50;
/// Lease time, seconds (RFC 2132).
pub const IP_ADDRESS_LEASE_TIME: u8 = 51;
/// Fields that contain options: `file` (1), `sname` (2) or both (3) (RFC 2132).
pub const OPTION_OVERLOAD: u8 = 52;
/// Message type (RFC 2132).
pub const DHCP_MESSAGE_TYPE: u8 = 53;
/// Address of the server that is addressed or that replies (RFC 2132).
pub const SERVER_IDENTIFIER: u8 = 54;
/// Codes that the client requests, by preference (RFC 2132).
pub const PARAMETER_REQUEST_LIST: u8 = 55;
/// Error text (RFC 2132).
pub const MESSAGE: u8 = 56;
/// Longest message that the client accepts (RFC 2132).
pub const MAXIMUM_DHCP_MESSAGE_SIZE: u8 = 57;
/// T1, seconds (RFC 2132).
pub const RENEWAL_TIME: u8 = 58;
/// T2, seconds (RFC 2132).
pub const REBINDING_TIME: u8 = 59;
/// Vendor and kind of the client (RFC 2132).
pub const VENDOR_CLASS_IDENTIFIER: u8 = 60;
/// Identifier of the client (RFC 2132).
pub const CLIENT_IDENTIFIER: u8 = 61;
/// NetWare/IP domain (RFC 2242).
pub const NETWARE_IP_DOMAIN_NAME: u8 = 62;
/// NetWare/IP sub-options (RFC 2242).
pub const NETWARE_IP_INFORMATION: u8 = 63;
/// NIS+ domain (RFC 2132).
pub const NIS_PLUS_DOMAIN: u8 = 64;
/// NIS+ servers (RFC 2132).
pub const NIS_PLUS_SERVERS: u8 = 65;
/// Name of the server, when `sname` contains options (RFC 2132).
pub const TFTP_SERVER_NAME: u8 = 66;
/// Name of the boot file, when `file` contains options (RFC 2132).
pub const BOOTFILE_NAME: u8 = 67;
/// Mobile IP home agents (RFC 2132).
pub const MOBILE_IP_HOME_AGENT: u8 = 68;
/// SMTP servers (RFC 2132).
pub const SMTP_SERVER: u8 = 69;
/// POP3 servers (RFC 2132).
pub const POP3_SERVER: u8 = 70;
/// NNTP servers (RFC 2132).
pub const NNTP_SERVER: u8 = 71;
/// Web servers (RFC 2132).
pub const WWW_SERVER: u8 = 72;
/// Finger servers (RFC 2132).
pub const FINGER_SERVER: u8 = 73;
/// IRC servers (RFC 2132).
pub const IRC_SERVER: u8 = 74;
/// StreetTalk servers (RFC 2132).
pub const STREETTALK_SERVER: u8 = 75;
/// StreetTalk directory assistance servers (RFC 2132).
pub const STREETTALK_DIRECTORY_ASSISTANCE_SERVER: u8 = 76;
/// User class (RFC 3004).
pub const USER_CLASS: u8 = 77;
/// SLP directory agents (RFC 2610).
pub const SLP_DIRECTORY_AGENT: u8 = 78;
/// SLP scopes (RFC 2610).
pub const SLP_SERVICE_SCOPE: u8 = 79;
/// Flag: two messages instead of four (RFC 4039).
pub const RAPID_COMMIT: u8 = 80;
/// Full name of the client and the party that updates DNS (RFC 4702).
pub const CLIENT_FQDN: u8 = 81;
/// Sub-options that relay agents add (RFC 3046).
pub const RELAY_AGENT_INFORMATION: u8 = 82;
/// Internet storage name service (RFC 4174).
pub const ISNS: u8 = 83;
/// Novell directory servers (RFC 2241).
pub const NDS_SERVERS: u8 = 85;
/// Novell directory tree (RFC 2241).
pub const NDS_TREE_NAME: u8 = 86;
/// Novell directory context (RFC 2241).
pub const NDS_CONTEXT: u8 = 87;
/// Broadcast and multicast controllers by name (RFC 4280).
pub const BCMCS_CONTROLLER_DOMAIN_NAMES: u8 = 88;
/// Broadcast and multicast controllers by address (RFC 4280).
pub const BCMCS_CONTROLLER_ADDRESSES: u8 = 89;
/// Authentication (RFC 3118).
pub const AUTHENTICATION: u8 = 90;
/// Seconds since the client's last transaction (RFC 4388).
pub const CLIENT_LAST_TRANSACTION_TIME: u8 = 91;
/// Addresses of the client (RFC 4388).
pub const ASSOCIATED_IP: u8 = 92;
/// System architecture (RFC 4578).
pub const CLIENT_SYSTEM_ARCHITECTURE: u8 = 93;
/// Network interface (RFC 4578).
pub const CLIENT_NETWORK_INTERFACE_IDENTIFIER: u8 = 94;
/// LDAP servers (RFC 3679).
pub const LDAP: u8 = 95;
/// Machine identifier (RFC 4578).
pub const CLIENT_MACHINE_IDENTIFIER: u8 = 97;
/// User authentication servers (RFC 2485).
pub const USER_AUTHENTICATION_PROTOCOL: u8 = 98;
/// Civic location (RFC 4776).
pub const GEOCONF_CIVIC: u8 = 99;
/// Time zone, POSIX form (RFC 4833).
pub const POSIX_TIMEZONE: u8 = 100;
/// Time zone, name in the database (RFC 4833).
pub const TZDB_TIMEZONE: u8 = 101;
/// Seconds to do without IPv4 (RFC 8925).
pub const IPV6_ONLY_PREFERRED: u8 = 108;
/// Softwire source address (RFC 8539).
pub const DHCP4O6_S46_SADDR: u8 = 109;
/// NetInfo server addresses (RFC 3679).
pub const NETINFO_ADDRESS: u8 = 112;
/// NetInfo server tag (RFC 3679).
pub const NETINFO_TAG: u8 = 113;
/// Address of the captive portal's interface (RFC 8910).
pub const CAPTIVE_PORTAL: u8 = 114;
/// Flag: the client may use a link-local address (RFC 2563).
pub const AUTO_CONFIGURE: u8 = 116;
/// Order of name services (RFC 2937).
pub const NAME_SERVICE_SEARCH: u8 = 117;
/// Subnet to lease from (RFC 3011).
pub const SUBNET_SELECTION: u8 = 118;
/// Domains to search (RFC 3397).
pub const DOMAIN_SEARCH: u8 = 119;
/// SIP servers (RFC 3361).
pub const SIP_SERVERS: u8 = 120;
/// Classless static routes (RFC 3442).
pub const CLASSLESS_STATIC_ROUTE: u8 = 121;
/// CableLabs client configuration (RFC 3495).
pub const CABLELABS_CLIENT_CONFIGURATION: u8 = 122;
/// Coordinates (RFC 6225).
pub const GEOCONF: u8 = 123;
/// Vendor classes by enterprise (RFC 3925).
pub const VENDOR_IDENTIFYING_VENDOR_CLASS: u8 = 124;
/// Vendor options by enterprise (RFC 3925).
pub const VENDOR_IDENTIFYING_VENDOR_SPECIFIC_INFORMATION: u8 = 125;
/// PANA authentication agents (RFC 5192).
pub const PANA_AGENT: u8 = 136;
/// Location-to-service server (RFC 5223).
pub const V4_LOST: u8 = 137;
/// CAPWAP access controllers (RFC 5417).
pub const CAPWAP_AC_V4: u8 = 138;
/// Mobility servers by address (RFC 5678).
pub const IPV4_ADDRESS_MOS: u8 = 139;
/// Mobility servers by name (RFC 5678).
pub const IPV4_FQDN_MOS: u8 = 140;
/// SIP configuration domains (RFC 6011).
pub const SIP_UA_CONFIGURATION_SERVICE_DOMAINS: u8 = 141;
/// Access network discovery servers (RFC 6153).
pub const IPV4_ADDRESS_ANDSF: u8 = 142;
/// Zero-touch bootstrap servers (RFC 8572).
pub const V4_SZTP_REDIRECT: u8 = 143;
/// Location with uncertainty (RFC 6225).
pub const GEOLOC: u8 = 144;
/// Nonce authentication of FORCERENEW (RFC 6704).
pub const FORCERENEW_NONCE_CAPABLE: u8 = 145;
/// DNS servers by domain (RFC 6731).
pub const RDNSS_SELECTION: u8 = 146;
/// DOTS agents by name (RFC 8973).
pub const V4_DOTS_RI: u8 = 147;
/// DOTS agents by address (RFC 8973).
pub const V4_DOTS_ADDRESS: u8 = 148;
/// TFTP servers by address (RFC 5859).
pub const TFTP_SERVER_ADDRESS: u8 = 150;
/// Status of a lease query (RFC 6926).
pub const STATUS_CODE: u8 = 151;
/// Time of the server, seconds since 1970 (RFC 6926).
pub const BASE_TIME: u8 = 152;
/// Seconds since the lease has been in its state (RFC 6926).
pub const START_TIME_OF_STATE: u8 = 153;
/// Begin of a lease query (RFC 6926).
pub const QUERY_START_TIME: u8 = 154;
/// End of a lease query (RFC 6926).
pub const QUERY_END_TIME: u8 = 155;
/// State of a lease (RFC 6926).
pub const DHCP_STATE: u8 = 156;
/// Flag: the answer is local or remote (RFC 6926).
pub const DATA_SOURCE: u8 = 157;
/// Port control servers (RFC 7291).
pub const V4_PCP_SERVER: u8 = 158;
/// Port sets of shared addresses (RFC 7618).
pub const V4_PORTPARAMS: u8 = 159;
/// Manufacturer usage description (RFC 8520).
pub const MUD_URL_V4: u8 = 161;
/// Encrypted DNS resolvers (RFC 9463).
pub const V4_DNR: u8 = 162;
/// PXELINUX marker (deprecated) (RFC 5071).
pub const PXELINUX_MAGIC: u8 = 208;
/// PXELINUX configuration file (RFC 5071).
pub const CONFIGURATION_FILE: u8 = 209;
/// PXELINUX path prefix (RFC 5071).
pub const PATH_PREFIX: u8 = 210;
/// PXELINUX reboot time, seconds (RFC 5071).
pub const REBOOT_TIME: u8 = 211;
/// IPv6 rapid deployment (RFC 5969).
pub const V4_6RD: u8 = 212;
/// Access network domain (RFC 5986).
pub const V4_ACCESS_DOMAIN: u8 = 213;
/// Subnet allocation (RFC 6656).
pub const SUBNET_ALLOCATION: u8 = 220;
/// Virtual subnet (RFC 6607).
pub const VIRTUAL_SUBNET_SELECTION: u8 = 221;
/// End of the options, without length or value (RFC 2132).
pub const END: u8 = 255;

/// Short form of [`DHCP_MESSAGE_TYPE`].
pub const MESSAGE_TYPE: u8 = DHCP_MESSAGE_TYPE;
/// Short form of [`REQUESTED_IP_ADDRESS`].
pub const REQUESTED_ADDRESS: u8 = REQUESTED_IP_ADDRESS;
/// Short form of [`IP_ADDRESS_LEASE_TIME`].
pub const LEASE_TIME: u8 = IP_ADDRESS_LEASE_TIME;
/// Short form of [`OPTION_OVERLOAD`].
pub const OVERLOAD: u8 = OPTION_OVERLOAD;
/// Short form of [`MAXIMUM_DHCP_MESSAGE_SIZE`].
pub const MAX_MESSAGE_SIZE: u8 = MAXIMUM_DHCP_MESSAGE_SIZE;
/// Short form of [`CLIENT_IDENTIFIER`].
pub const CLIENT_ID: u8 = CLIENT_IDENTIFIER;
