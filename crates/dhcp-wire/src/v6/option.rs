//! Codes of the registered DHCPv6 options (IANA, "DHCPv6 Option Codes"), named as in the RFCs
//! without `OPTION_`.
// tidy: table

/// DHCPv6 option 1: DUID of the client (RFC 9915).
pub const CLIENTID: u16 = 1;
/// DHCPv6 option 2: DUID of the server (RFC 9915).
pub const SERVERID: u16 = 2;
/// DHCPv6 option 3: identity association for addresses (RFC 9915).
pub const IA_NA: u16 = 3;
/// DHCPv6 option 4: identity association for temporary addresses (obsolete) (RFC 9915).
pub const IA_TA: u16 = 4;
/// DHCPv6 option 5: address and its lifetimes, in an IA (RFC 9915).
pub const IAADDR: u16 = 5;
/// DHCPv6 option 6: codes of the options that the client requests (RFC 9915).
pub const ORO: u16 = 6;
/// DHCPv6 option 7: rank of the server, 255 is best (RFC 9915).
pub const PREFERENCE: u16 = 7;
/// DHCPv6 option 8: hundredths of a second since the client began its exchange (RFC 9915).
pub const ELAPSED_TIME: u16 = 8;
/// DHCPv6 option 9: message inside a RELAY-FORW or RELAY-REPL (RFC 9915).
pub const RELAY_MSG: u16 = 9;
/// DHCPv6 option 11: authentication (RFC 9915).
pub const AUTH: u16 = 11;
/// DHCPv6 option 12: address to send unicast to (obsolete) (RFC 9915).
pub const UNICAST: u16 = 12;
/// DHCPv6 option 13: status, as code and text (RFC 9915).
pub const STATUS_CODE: u16 = 13;
/// DHCPv6 option 14: flag for an exchange of two messages instead of four (RFC 9915).
pub const RAPID_COMMIT: u16 = 14;
/// DHCPv6 option 15: classes of the user (RFC 9915).
pub const USER_CLASS: u16 = 15;
/// DHCPv6 option 16: vendor and kind of the client (RFC 9915).
pub const VENDOR_CLASS: u16 = 16;
/// DHCPv6 option 17: options of a vendor (RFC 9915).
pub const VENDOR_OPTS: u16 = 17;
/// DHCPv6 option 18: name of the client's interface, given by the relay agent (RFC 9915).
pub const INTERFACE_ID: u16 = 18;
/// DHCPv6 option 19: type of the message that a RECONFIGURE requests (RFC 9915).
pub const RECONF_MSG: u16 = 19;
/// DHCPv6 option 20: flag of a client that accepts RECONFIGURE (RFC 9915).
pub const RECONF_ACCEPT: u16 = 20;
/// DHCPv6 option 21: SIP servers by name (RFC 3319).
pub const SIP_SERVER_D: u16 = 21;
/// DHCPv6 option 22: SIP servers by address (RFC 3319).
pub const SIP_SERVER_A: u16 = 22;
/// DHCPv6 option 23: DNS resolvers (RFC 3646).
pub const DNS_SERVERS: u16 = 23;
/// DHCPv6 option 24: domains to search (RFC 3646).
pub const DOMAIN_LIST: u16 = 24;
/// DHCPv6 option 25: identity association for prefixes (RFC 9915).
pub const IA_PD: u16 = 25;
/// DHCPv6 option 26: prefix and its lifetimes, in an IA_PD (RFC 9915).
pub const IAPREFIX: u16 = 26;
/// DHCPv6 option 27: NIS servers (RFC 3898).
pub const NIS_SERVERS: u16 = 27;
/// DHCPv6 option 28: NIS+ servers (RFC 3898).
pub const NISP_SERVERS: u16 = 28;
/// DHCPv6 option 29: NIS domain (RFC 3898).
pub const NIS_DOMAIN_NAME: u16 = 29;
/// DHCPv6 option 30: NIS+ domain (RFC 3898).
pub const NISP_DOMAIN_NAME: u16 = 30;
/// DHCPv6 option 31: SNTP servers (RFC 4075).
pub const SNTP_SERVERS: u16 = 31;
/// DHCPv6 option 32: seconds after which a client without leases requests configuration again (RFC
/// 9915).
pub const INFORMATION_REFRESH_TIME: u16 = 32;
/// DHCPv6 option 33: broadcast and multicast controllers by name (RFC 4280).
pub const BCMCS_SERVER_D: u16 = 33;
/// DHCPv6 option 34: broadcast and multicast controllers by address (RFC 4280).
pub const BCMCS_SERVER_A: u16 = 34;
/// DHCPv6 option 36: civic location (RFC 4776).
pub const GEOCONF_CIVIC: u16 = 36;
/// DHCPv6 option 37: remote end of the circuit, at the client (RFC 4649).
pub const REMOTE_ID: u16 = 37;
/// DHCPv6 option 38: identifier of the subscriber, independent of the connection (RFC 4580).
pub const SUBSCRIBER_ID: u16 = 38;
/// DHCPv6 option 39: full name of the client and the party that updates DNS (RFC 4704).
pub const CLIENT_FQDN: u16 = 39;
/// DHCPv6 option 40: PANA authentication agents (RFC 5192).
pub const PANA_AGENT: u16 = 40;
/// DHCPv6 option 41: time zone, POSIX form (RFC 4833).
pub const NEW_POSIX_TIMEZONE: u16 = 41;
/// DHCPv6 option 42: time zone, name in the database (RFC 4833).
pub const NEW_TZDB_TIMEZONE: u16 = 42;
/// DHCPv6 option 43: relay options that the server is to echo (RFC 4994).
pub const ERO: u16 = 43;
/// DHCPv6 option 44: query of a lease query (RFC 5007).
pub const LQ_QUERY: u16 = 44;
/// DHCPv6 option 45: leases of one client (RFC 5007).
pub const CLIENT_DATA: u16 = 45;
/// DHCPv6 option 46: seconds since the client's last transaction (RFC 5007).
pub const CLT_TIME: u16 = 46;
/// DHCPv6 option 47: relay message of the last transaction (RFC 5007).
pub const LQ_RELAY_DATA: u16 = 47;
/// DHCPv6 option 48: links on which the client has leases (RFC 5007).
pub const LQ_CLIENT_LINK: u16 = 48;
/// DHCPv6 option 49: home network requested (RFC 6610).
pub const MIP6_HNIDF: u16 = 49;
/// DHCPv6 option 50: visited network (RFC 6610).
pub const MIP6_VDINF: u16 = 50;
/// DHCPv6 option 51: location-to-service server (RFC 5223).
pub const V6_LOST: u16 = 51;
/// DHCPv6 option 52: CAPWAP access controllers (RFC 5417).
pub const CAPWAP_AC_V6: u16 = 52;
/// DHCPv6 option 53: DUID of the relay agent (RFC 5460).
pub const RELAY_ID: u16 = 53;
/// DHCPv6 option 54: mobility servers by address (RFC 5678).
pub const IPV6_ADDRESS_MOS: u16 = 54;
/// DHCPv6 option 55: mobility servers by name (RFC 5678).
pub const IPV6_FQDN_MOS: u16 = 55;
/// DHCPv6 option 56: NTP servers (RFC 5908).
pub const NTP_SERVER: u16 = 56;
/// DHCPv6 option 57: access network domain (RFC 5986).
pub const V6_ACCESS_DOMAIN: u16 = 57;
/// DHCPv6 option 58: SIP configuration domains (RFC 6011).
pub const SIP_UA_CS_LIST: u16 = 58;
/// DHCPv6 option 59: URL of the boot file (RFC 5970).
pub const BOOTFILE_URL: u16 = 59;
/// DHCPv6 option 60: parameters of the boot file (RFC 5970).
pub const BOOTFILE_PARAM: u16 = 60;
/// DHCPv6 option 61: system architecture (RFC 5970).
pub const CLIENT_ARCH_TYPE: u16 = 61;
/// DHCPv6 option 62: network interface (RFC 5970).
pub const NII: u16 = 62;
/// DHCPv6 option 63: coordinates (RFC 6225).
pub const GEOLOCATION: u16 = 63;
/// DHCPv6 option 64: tunnel endpoint of DS-Lite (RFC 6334).
pub const AFTR_NAME: u16 = 64;
/// DHCPv6 option 65: domain for re-authentication (RFC 6440).
pub const ERP_LOCAL_DOMAIN_NAME: u16 = 65;
/// DHCPv6 option 66: options that the relay agent supplies for the client (RFC 6422).
pub const RSOO: u16 = 66;
/// DHCPv6 option 67: prefix excluded from a delegated one (RFC 6603).
pub const PD_EXCLUDE: u16 = 67;
/// DHCPv6 option 68: virtual subnet (RFC 6607).
pub const VSS: u16 = 68;
/// DHCPv6 option 69: identified home network (RFC 6610).
pub const MIP6_IDINF: u16 = 69;
/// DHCPv6 option 70: unrestricted home network (RFC 6610).
pub const MIP6_UDINF: u16 = 70;
/// DHCPv6 option 71: home network prefix (RFC 6610).
pub const MIP6_HNP: u16 = 71;
/// DHCPv6 option 72: home agent by address (RFC 6610).
pub const MIP6_HAA: u16 = 72;
/// DHCPv6 option 73: home agent by name (RFC 6610).
pub const MIP6_HAF: u16 = 73;
/// DHCPv6 option 74: DNS servers by domain (RFC 6731).
pub const RDNSS_SELECTION: u16 = 74;
/// DHCPv6 option 75: Kerberos principal (RFC 6784).
pub const KRB_PRINCIPAL_NAME: u16 = 75;
/// DHCPv6 option 76: Kerberos realm (RFC 6784).
pub const KRB_REALM_NAME: u16 = 76;
/// DHCPv6 option 77: Kerberos default realm (RFC 6784).
pub const KRB_DEFAULT_REALM_NAME: u16 = 77;
/// DHCPv6 option 78: Kerberos key distribution centers (RFC 6784).
pub const KRB_KDC: u16 = 78;
/// DHCPv6 option 79: link-layer address of the client (RFC 6939).
pub const CLIENT_LINKLAYER_ADDR: u16 = 79;
/// DHCPv6 option 80: address of the link (RFC 6977).
pub const LINK_ADDRESS: u16 = 80;
/// DHCPv6 option 81: RADIUS attributes (RFC 7037).
pub const RADIUS: u16 = 81;
/// DHCPv6 option 82: longest time between SOLICITs, seconds (RFC 9915).
pub const SOL_MAX_RT: u16 = 82;
/// DHCPv6 option 83: longest time between INFORMATION-REQUESTs, seconds (RFC 9915).
pub const INF_MAX_RT: u16 = 83;
/// DHCPv6 option 84: address selection (RFC 7078).
pub const ADDRSEL: u16 = 84;
/// DHCPv6 option 85: table of address selection (RFC 7078).
pub const ADDRSEL_TABLE: u16 = 85;
/// DHCPv6 option 86: port control servers (RFC 7291).
pub const V6_PCP_SERVER: u16 = 86;
/// DHCPv6 option 87: DHCPv4 message (RFC 7341).
pub const DHCPV4_MSG: u16 = 87;
/// DHCPv6 option 88: servers of DHCPv4 over DHCPv6 (RFC 7341).
pub const DHCP4_O_DHCP6_SERVER: u16 = 88;
/// DHCPv6 option 89: softwire mapping rule (RFC 7598).
pub const S46_RULE: u16 = 89;
/// DHCPv6 option 90: softwire border relay (RFC 7598).
pub const S46_BR: u16 = 90;
/// DHCPv6 option 91: softwire default mapping rule (RFC 7598).
pub const S46_DMR: u16 = 91;
/// DHCPv6 option 92: softwire address binding (RFC 7598).
pub const S46_V4V6BIND: u16 = 92;
/// DHCPv6 option 93: softwire port set (RFC 7598).
pub const S46_PORTPARAMS: u16 = 93;
/// DHCPv6 option 94: container for MAP-E (RFC 7598).
pub const S46_CONT_MAPE: u16 = 94;
/// DHCPv6 option 95: container for MAP-T (RFC 7598).
pub const S46_CONT_MAPT: u16 = 95;
/// DHCPv6 option 96: container for Lightweight 4over6 (RFC 7598).
pub const S46_CONT_LW: u16 = 96;
/// DHCPv6 option 97: container for 4rd (RFC 7600).
pub const V6_4RD: u16 = 97;
/// DHCPv6 option 98: mapping rule of 4rd (RFC 7600).
pub const V6_4RD_MAP_RULE: u16 = 98;
/// DHCPv6 option 99: other rule of 4rd (RFC 7600).
pub const V6_4RD_NON_MAP_RULE: u16 = 99;
/// DHCPv6 option 100: time of the server, seconds since 2000 (RFC 7653).
pub const LQ_BASE_TIME: u16 = 100;
/// DHCPv6 option 101: begin of a lease query (RFC 7653).
pub const LQ_START_TIME: u16 = 101;
/// DHCPv6 option 102: end of a lease query (RFC 7653).
pub const LQ_END_TIME: u16 = 102;
/// DHCPv6 option 103: URI of the captive portal's API (RFC 8910).
pub const V6_CAPTIVE_PORTAL: u16 = 103;
/// DHCPv6 option 104: multicast in low-power networks (RFC 7774).
pub const MPL_PARAMETERS: u16 = 104;
/// DHCPv6 option 105: radio access, type (RFC 7839).
pub const ANI_ATT: u16 = 105;
/// DHCPv6 option 106: radio access, network (RFC 7839).
pub const ANI_NETWORK_NAME: u16 = 106;
/// DHCPv6 option 107: radio access, access point (RFC 7839).
pub const ANI_AP_NAME: u16 = 107;
/// DHCPv6 option 108: radio access, identifier of the access point (RFC 7839).
pub const ANI_AP_BSSID: u16 = 108;
/// DHCPv6 option 109: radio access, operator's identifier (RFC 7839).
pub const ANI_OPERATOR_ID: u16 = 109;
/// DHCPv6 option 110: radio access, operator's realm (RFC 7839).
pub const ANI_OPERATOR_REALM: u16 = 110;
/// DHCPv6 option 111: order of softwire mechanisms (RFC 8026).
pub const S46_PRIORITY: u16 = 111;
/// DHCPv6 option 112: manufacturer usage description (RFC 8520).
pub const MUD_URL_V6: u16 = 112;
/// DHCPv6 option 113: prefixes of multicast translation (RFC 8115).
pub const V6_PREFIX64: u16 = 113;
/// DHCPv6 option 114: failover: state of a binding (RFC 8156).
pub const F_BINDING_STATUS: u16 = 114;
/// DHCPv6 option 115: failover: flags of a connection (RFC 8156).
pub const F_CONNECT_FLAGS: u16 = 115;
/// DHCPv6 option 116: failover: information for the removal of names (RFC 8156).
pub const F_DNS_REMOVAL_INFO: u16 = 116;
/// DHCPv6 option 117: failover: host name (RFC 8156).
pub const F_DNS_HOST_NAME: u16 = 117;
/// DHCPv6 option 118: failover: zone (RFC 8156).
pub const F_DNS_ZONE_NAME: u16 = 118;
/// DHCPv6 option 119: failover: flags of DNS updates (RFC 8156).
pub const F_DNS_FLAGS: u16 = 119;
/// DHCPv6 option 120: failover: end of the lease (RFC 8156).
pub const F_EXPIRATION_TIME: u16 = 120;
/// DHCPv6 option 121: failover: maximum number of unacknowledged updates (RFC 8156).
pub const F_MAX_UNACKED_BNDUPD: u16 = 121;
/// DHCPv6 option 122: failover: maximum client lead time (RFC 8156).
pub const F_MCLT: u16 = 122;
/// DHCPv6 option 123: failover: lifetime that the partner knows (RFC 8156).
pub const F_PARTNER_LIFETIME: u16 = 123;
/// DHCPv6 option 124: failover: lifetime that was sent to the partner (RFC 8156).
pub const F_PARTNER_LIFETIME_SENT: u16 = 124;
/// DHCPv6 option 125: failover: time at which the partner went down (RFC 8156).
pub const F_PARTNER_DOWN_TIME: u16 = 125;
/// DHCPv6 option 126: failover: the partner's last transaction (RFC 8156).
pub const F_PARTNER_RAW_CLT_TIME: u16 = 126;
/// DHCPv6 option 127: failover: version (RFC 8156).
pub const F_PROTOCOL_VERSION: u16 = 127;
/// DHCPv6 option 128: failover: time of keep-alives (RFC 8156).
pub const F_KEEPALIVE_TIME: u16 = 128;
/// DHCPv6 option 129: failover: keys of RECONFIGURE (RFC 8156).
pub const F_RECONFIGURE_DATA: u16 = 129;
/// DHCPv6 option 130: failover: name of the pair (RFC 8156).
pub const F_RELATIONSHIP_NAME: u16 = 130;
/// DHCPv6 option 131: failover: flags of the server (RFC 8156).
pub const F_SERVER_FLAGS: u16 = 131;
/// DHCPv6 option 132: failover: state of the server (RFC 8156).
pub const F_SERVER_STATE: u16 = 132;
/// DHCPv6 option 133: failover: start of the server's state (RFC 8156).
pub const F_START_TIME_OF_STATE: u16 = 133;
/// DHCPv6 option 134: failover: end of a state (RFC 8156).
pub const F_STATE_EXPIRATION_TIME: u16 = 134;
/// DHCPv6 option 135: source port of the relay agent, to which the server sends the reply (RFC
/// 8357).
pub const RELAY_PORT: u16 = 135;
/// DHCPv6 option 136: zero-touch bootstrap servers (RFC 8572).
pub const V6_SZTP_REDIRECT: u16 = 136;
/// DHCPv6 option 137: prefix for the softwire's source (RFC 8539).
pub const S46_BIND_IPV6_PREFIX: u16 = 137;
/// DHCPv6 option 138: identity association for link-layer addresses (RFC 8947).
pub const IA_LL: u16 = 138;
/// DHCPv6 option 139: link-layer addresses, in an IA_LL (RFC 8947).
pub const LLADDR: u16 = 139;
/// DHCPv6 option 140: quadrants of local link-layer addresses (RFC 8948).
pub const SLAP_QUAD: u16 = 140;
/// DHCPv6 option 141: DOTS agents by name (RFC 8973).
pub const V6_DOTS_RI: u16 = 141;
/// DHCPv6 option 142: DOTS agents by address (RFC 8973).
pub const V6_DOTS_ADDRESS: u16 = 142;
/// DHCPv6 option 143: access network discovery servers (RFC 6153).
pub const IPV6_ADDRESS_ANDSF: u16 = 143;
/// DHCPv6 option 144: encrypted DNS resolvers (RFC 9463).
pub const V6_DNR: u16 = 144;
/// DHCPv6 option 145: homenet: registered domain (RFC 9527).
pub const REGISTERED_DOMAIN: u16 = 145;
/// DHCPv6 option 146: homenet: forward zone (RFC 9527).
pub const FORWARD_DIST_MANAGER: u16 = 146;
/// DHCPv6 option 147: homenet: reverse zone (RFC 9527).
pub const REVERSE_DIST_MANAGER: u16 = 147;
/// DHCPv6 option 148: flag that clients may register addresses that they chose (RFC 9686).
pub const ADDR_REG_ENABLE: u16 = 148;
