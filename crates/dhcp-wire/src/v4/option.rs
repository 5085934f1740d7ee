//! DHCPv4 option codes by their names in the RFCs (IANA, "BOOTP Vendor Extensions and DHCP
//! Options"). Aliases at the end are short forms of the names that servers use on every line.

/// DHCPv4 option 0: padding, without length or value (RFC 2132).
pub const PAD: u8 = 0;
/// DHCPv4 option 1: subnet mask (RFC 2132).
pub const SUBNET_MASK: u8 = 1;
/// DHCPv4 option 2: offset from UTC, seconds (deprecated) (RFC 2132).
pub const TIME_OFFSET: u8 = 2;
/// DHCPv4 option 3: routers (RFC 2132).
pub const ROUTER: u8 = 3;
/// DHCPv4 option 4: time servers (RFC 868).
pub const TIME_SERVER: u8 = 4;
/// DHCPv4 option 5: name servers (IEN 116) (RFC 2132).
pub const NAME_SERVER: u8 = 5;
/// DHCPv4 option 6: DNS servers (RFC 2132).
pub const DOMAIN_NAME_SERVER: u8 = 6;
/// DHCPv4 option 7: log servers (RFC 2132).
pub const LOG_SERVER: u8 = 7;
/// DHCPv4 option 8: quote of the day servers (RFC 2132).
pub const COOKIE_SERVER: u8 = 8;
/// DHCPv4 option 9: line printer servers (RFC 2132).
pub const LPR_SERVER: u8 = 9;
/// DHCPv4 option 10: Imagen Impress servers (RFC 2132).
pub const IMPRESS_SERVER: u8 = 10;
/// DHCPv4 option 11: resource location servers (RFC 2132).
pub const RESOURCE_LOCATION_SERVER: u8 = 11;
/// DHCPv4 option 12: name of the client (RFC 2132).
pub const HOST_NAME: u8 = 12;
/// DHCPv4 option 13: length of the boot file in blocks of 512 bytes (RFC 2132).
pub const BOOT_FILE_SIZE: u8 = 13;
/// DHCPv4 option 14: path for a core dump (RFC 2132).
pub const MERIT_DUMP_FILE: u8 = 14;
/// DHCPv4 option 15: domain in which the client resolves names (RFC 2132).
pub const DOMAIN_NAME: u8 = 15;
/// DHCPv4 option 16: swap server (RFC 2132).
pub const SWAP_SERVER: u8 = 16;
/// DHCPv4 option 17: path of the root disk (RFC 2132).
pub const ROOT_PATH: u8 = 17;
/// DHCPv4 option 18: file with more options (RFC 2132).
pub const EXTENSIONS_PATH: u8 = 18;
/// DHCPv4 option 19: flag to forward packets (RFC 2132).
pub const IP_FORWARDING: u8 = 19;
/// DHCPv4 option 20: flag to forward source-routed packets (RFC 2132).
pub const NON_LOCAL_SOURCE_ROUTING: u8 = 20;
/// DHCPv4 option 21: filters of source routing (RFC 2132).
pub const POLICY_FILTER: u8 = 21;
/// DHCPv4 option 22: longest datagram to reassemble (RFC 2132).
pub const MAXIMUM_DATAGRAM_REASSEMBLY_SIZE: u8 = 22;
/// DHCPv4 option 23: time to live to send with (RFC 2132).
pub const DEFAULT_IP_TTL: u8 = 23;
/// DHCPv4 option 24: time-out of discovered path MTUs in seconds (RFC 2132).
pub const PATH_MTU_AGING_TIMEOUT: u8 = 24;
/// DHCPv4 option 25: sizes to try as path MTU (RFC 2132).
pub const PATH_MTU_PLATEAU_TABLE: u8 = 25;
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
/// DHCPv4 option 33: classful static routes (RFC 2132).
pub const STATIC_ROUTE: u8 = 33;
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
/// DHCPv4 option 40: NIS domain (RFC 2132).
pub const NETWORK_INFORMATION_SERVICE_DOMAIN: u8 = 40;
/// DHCPv4 option 41: NIS servers (RFC 2132).
pub const NETWORK_INFORMATION_SERVERS: u8 = 41;
/// DHCPv4 option 42: NTP servers (RFC 2132).
pub const NETWORK_TIME_PROTOCOL_SERVERS: u8 = 42;
/// DHCPv4 option 43: options of the vendor named by option 60 (RFC 2132).
pub const VENDOR_SPECIFIC_INFORMATION: u8 = 43;
/// DHCPv4 option 44: NetBIOS name servers (RFC 2132).
pub const NETBIOS_NAME_SERVER: u8 = 44;
/// DHCPv4 option 45: NetBIOS datagram distribution servers (RFC 2132).
pub const NETBIOS_DATAGRAM_DISTRIBUTION_SERVER: u8 = 45;
/// DHCPv4 option 46: NetBIOS node type (RFC 2132).
pub const NETBIOS_NODE_TYPE: u8 = 46;
/// DHCPv4 option 47: NetBIOS scope (RFC 2132).
pub const NETBIOS_SCOPE: u8 = 47;
/// DHCPv4 option 48: X font servers (RFC 2132).
pub const X_WINDOW_SYSTEM_FONT_SERVER: u8 = 48;
/// DHCPv4 option 49: X display managers (RFC 2132).
pub const X_WINDOW_SYSTEM_DISPLAY_MANAGER: u8 = 49;
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
/// DHCPv4 option 62: NetWare/IP domain (RFC 2242).
pub const NETWARE_IP_DOMAIN_NAME: u8 = 62;
/// DHCPv4 option 63: NetWare/IP sub-options (RFC 2242).
pub const NETWARE_IP_INFORMATION: u8 = 63;
/// DHCPv4 option 64: NIS+ domain (RFC 2132).
pub const NIS_PLUS_DOMAIN: u8 = 64;
/// DHCPv4 option 65: NIS+ servers (RFC 2132).
pub const NIS_PLUS_SERVERS: u8 = 65;
/// DHCPv4 option 66: name of the server, when `sname` contains options (RFC 2132).
pub const TFTP_SERVER_NAME: u8 = 66;
/// DHCPv4 option 67: name of the boot file, when `file` contains options (RFC 2132).
pub const BOOTFILE_NAME: u8 = 67;
/// DHCPv4 option 68: Mobile IP home agents (RFC 2132).
pub const MOBILE_IP_HOME_AGENT: u8 = 68;
/// DHCPv4 option 69: SMTP servers (RFC 2132).
pub const SMTP_SERVER: u8 = 69;
/// DHCPv4 option 70: POP3 servers (RFC 2132).
pub const POP3_SERVER: u8 = 70;
/// DHCPv4 option 71: NNTP servers (RFC 2132).
pub const NNTP_SERVER: u8 = 71;
/// DHCPv4 option 72: web servers (RFC 2132).
pub const WWW_SERVER: u8 = 72;
/// DHCPv4 option 73: finger servers (RFC 2132).
pub const FINGER_SERVER: u8 = 73;
/// DHCPv4 option 74: IRC servers (RFC 2132).
pub const IRC_SERVER: u8 = 74;
/// DHCPv4 option 75: StreetTalk servers (RFC 2132).
pub const STREETTALK_SERVER: u8 = 75;
/// DHCPv4 option 76: StreetTalk directory assistance servers (RFC 2132).
pub const STREETTALK_DIRECTORY_ASSISTANCE_SERVER: u8 = 76;
/// DHCPv4 option 77: user class (RFC 3004).
pub const USER_CLASS: u8 = 77;
/// DHCPv4 option 78: SLP directory agents (RFC 2610).
pub const SLP_DIRECTORY_AGENT: u8 = 78;
/// DHCPv4 option 79: SLP scopes (RFC 2610).
pub const SLP_SERVICE_SCOPE: u8 = 79;
/// DHCPv4 option 80: flag for an exchange of two messages instead of four (RFC 4039).
pub const RAPID_COMMIT: u8 = 80;
/// DHCPv4 option 81: full name of the client and the party that updates DNS (RFC 4702).
pub const CLIENT_FQDN: u8 = 81;
/// DHCPv4 option 82: sub-options that relay agents add (RFC 3046).
pub const RELAY_AGENT_INFORMATION: u8 = 82;
/// DHCPv4 option 83: Internet storage name service (RFC 4174).
pub const ISNS: u8 = 83;
/// DHCPv4 option 85: Novell directory servers (RFC 2241).
pub const NDS_SERVERS: u8 = 85;
/// DHCPv4 option 86: Novell directory tree (RFC 2241).
pub const NDS_TREE_NAME: u8 = 86;
/// DHCPv4 option 87: Novell directory context (RFC 2241).
pub const NDS_CONTEXT: u8 = 87;
/// DHCPv4 option 88: broadcast and multicast controllers by name (RFC 4280).
pub const BCMCS_CONTROLLER_DOMAIN_NAMES: u8 = 88;
/// DHCPv4 option 89: broadcast and multicast controllers by address (RFC 4280).
pub const BCMCS_CONTROLLER_ADDRESSES: u8 = 89;
/// DHCPv4 option 90: authentication (RFC 3118).
pub const AUTHENTICATION: u8 = 90;
/// DHCPv4 option 91: seconds since the client's last transaction (RFC 4388).
pub const CLIENT_LAST_TRANSACTION_TIME: u8 = 91;
/// DHCPv4 option 92: addresses of the client (RFC 4388).
pub const ASSOCIATED_IP: u8 = 92;
/// DHCPv4 option 93: system architecture of a PXE client (RFC 4578).
pub const CLIENT_SYSTEM_ARCHITECTURE: u8 = 93;
/// DHCPv4 option 94: network interface of a PXE client (RFC 4578).
pub const CLIENT_NETWORK_INTERFACE_IDENTIFIER: u8 = 94;
/// DHCPv4 option 95: LDAP servers (RFC 3679).
pub const LDAP: u8 = 95;
/// DHCPv4 option 97: machine identifier (UUID) of a PXE client (RFC 4578).
pub const CLIENT_MACHINE_IDENTIFIER: u8 = 97;
/// DHCPv4 option 98: user authentication servers (RFC 2485).
pub const USER_AUTHENTICATION_PROTOCOL: u8 = 98;
/// DHCPv4 option 99: civic location (RFC 4776).
pub const GEOCONF_CIVIC: u8 = 99;
/// DHCPv4 option 100: time zone, POSIX form (RFC 4833).
pub const POSIX_TIMEZONE: u8 = 100;
/// DHCPv4 option 101: time zone, name in the database (RFC 4833).
pub const TZDB_TIMEZONE: u8 = 101;
/// DHCPv4 option 108: seconds for which the client does without IPv4 (RFC 8925).
pub const IPV6_ONLY_PREFERRED: u8 = 108;
/// DHCPv4 option 109: softwire source address (RFC 8539).
pub const DHCP4O6_S46_SADDR: u8 = 109;
/// DHCPv4 option 112: NetInfo server addresses (RFC 3679).
pub const NETINFO_ADDRESS: u8 = 112;
/// DHCPv4 option 113: NetInfo server tag (RFC 3679).
pub const NETINFO_TAG: u8 = 113;
/// DHCPv4 option 114: URI of the captive portal's API (RFC 8910).
pub const CAPTIVE_PORTAL: u8 = 114;
/// DHCPv4 option 116: flag that the client may use a link-local address (RFC 2563).
pub const AUTO_CONFIGURE: u8 = 116;
/// DHCPv4 option 117: order of name services (RFC 2937).
pub const NAME_SERVICE_SEARCH: u8 = 117;
/// DHCPv4 option 118: subnet from which the client wants its address (RFC 3011).
pub const SUBNET_SELECTION: u8 = 118;
/// DHCPv4 option 119: domains to search (RFC 3397).
pub const DOMAIN_SEARCH: u8 = 119;
/// DHCPv4 option 120: SIP servers (RFC 3361).
pub const SIP_SERVERS: u8 = 120;
/// DHCPv4 option 121: classless static routes (RFC 3442).
pub const CLASSLESS_STATIC_ROUTE: u8 = 121;
/// DHCPv4 option 122: CableLabs client configuration (RFC 3495).
pub const CABLELABS_CLIENT_CONFIGURATION: u8 = 122;
/// DHCPv4 option 123: coordinates (RFC 6225).
pub const GEOCONF: u8 = 123;
/// DHCPv4 option 124: vendor classes by enterprise (RFC 3925).
pub const VENDOR_IDENTIFYING_VENDOR_CLASS: u8 = 124;
/// DHCPv4 option 125: vendor options by enterprise (RFC 3925).
pub const VENDOR_IDENTIFYING_VENDOR_SPECIFIC_INFORMATION: u8 = 125;
/// DHCPv4 option 136: PANA authentication agents (RFC 5192).
pub const PANA_AGENT: u8 = 136;
/// DHCPv4 option 137: location-to-service server (RFC 5223).
pub const V4_LOST: u8 = 137;
/// DHCPv4 option 138: CAPWAP access controllers (RFC 5417).
pub const CAPWAP_AC_V4: u8 = 138;
/// DHCPv4 option 139: mobility servers by address (RFC 5678).
pub const IPV4_ADDRESS_MOS: u8 = 139;
/// DHCPv4 option 140: mobility servers by name (RFC 5678).
pub const IPV4_FQDN_MOS: u8 = 140;
/// DHCPv4 option 141: SIP configuration domains (RFC 6011).
pub const SIP_UA_CONFIGURATION_SERVICE_DOMAINS: u8 = 141;
/// DHCPv4 option 142: access network discovery servers (RFC 6153).
pub const IPV4_ADDRESS_ANDSF: u8 = 142;
/// DHCPv4 option 143: zero-touch bootstrap servers (RFC 8572).
pub const V4_SZTP_REDIRECT: u8 = 143;
/// DHCPv4 option 144: location with uncertainty (RFC 6225).
pub const GEOLOC: u8 = 144;
/// DHCPv4 option 145: nonce authentication of FORCERENEW (RFC 6704).
pub const FORCERENEW_NONCE_CAPABLE: u8 = 145;
/// DHCPv4 option 146: DNS servers by domain (RFC 6731).
pub const RDNSS_SELECTION: u8 = 146;
/// DHCPv4 option 147: DOTS agents by name (RFC 8973).
pub const V4_DOTS_RI: u8 = 147;
/// DHCPv4 option 148: DOTS agents by address (RFC 8973).
pub const V4_DOTS_ADDRESS: u8 = 148;
/// DHCPv4 option 150: TFTP servers by address (RFC 5859).
pub const TFTP_SERVER_ADDRESS: u8 = 150;
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
/// DHCPv4 option 158: port control servers (RFC 7291).
pub const V4_PCP_SERVER: u8 = 158;
/// DHCPv4 option 159: port sets of shared addresses (RFC 7618).
pub const V4_PORTPARAMS: u8 = 159;
/// DHCPv4 option 161: manufacturer usage description (RFC 8520).
pub const MUD_URL_V4: u8 = 161;
/// DHCPv4 option 162: encrypted DNS resolvers (RFC 9463).
pub const V4_DNR: u8 = 162;
/// DHCPv4 option 208: PXELINUX marker (deprecated) (RFC 5071).
pub const PXELINUX_MAGIC: u8 = 208;
/// DHCPv4 option 209: PXELINUX configuration file (RFC 5071).
pub const CONFIGURATION_FILE: u8 = 209;
/// DHCPv4 option 210: PXELINUX path prefix (RFC 5071).
pub const PATH_PREFIX: u8 = 210;
/// DHCPv4 option 211: PXELINUX reboot time, seconds (RFC 5071).
pub const REBOOT_TIME: u8 = 211;
/// DHCPv4 option 212: IPv6 rapid deployment (RFC 5969).
pub const V4_6RD: u8 = 212;
/// DHCPv4 option 213: access network domain (RFC 5986).
pub const V4_ACCESS_DOMAIN: u8 = 213;
/// DHCPv4 option 220: subnet allocation (RFC 6656).
pub const SUBNET_ALLOCATION: u8 = 220;
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
/// Short form of [`MAXIMUM_DHCP_MESSAGE_SIZE`], the code of DHCPv4 option 57.
pub const MAX_MESSAGE_SIZE: u8 = MAXIMUM_DHCP_MESSAGE_SIZE;
/// Short form of [`CLIENT_IDENTIFIER`], the code of DHCPv4 option 61.
pub const CLIENT_ID: u8 = CLIENT_IDENTIFIER;
