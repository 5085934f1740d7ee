//! Codes of the registered options (IANA, "DHCPv6 Option Codes"), named as in the RFCs without
//! `OPTION_`.
// tidy: table

/// DUID of the client (RFC 9915).
pub const CLIENTID: u16 = 1;
/// DUID of the server (RFC 9915).
pub const SERVERID: u16 = 2;
/// Identity association for addresses (RFC 9915).
pub const IA_NA: u16 = 3;
/// Identity association for temporary addresses (obsolete) (RFC 9915).
pub const IA_TA: u16 = 4;
/// Address and its lifetimes, in an IA (RFC 9915).
pub const IAADDR: u16 = 5;
/// Codes that the client requests (RFC 9915).
pub const ORO: u16 = 6;
/// Rank of the server, 255 is best (RFC 9915).
pub const PREFERENCE: u16 = 7;
/// Hundredths of a second since the client began (RFC 9915).
pub const ELAPSED_TIME: u16 = 8;
/// Message that a relay agent forwards (RFC 9915).
pub const RELAY_MSG: u16 = 9;
/// Authentication (RFC 9915).
pub const AUTH: u16 = 11;
/// Address to send unicast to (obsolete) (RFC 9915).
pub const UNICAST: u16 = 12;
/// Status, as code and text (RFC 9915).
pub const STATUS_CODE: u16 = 13;
/// Flag: two messages instead of four (RFC 9915).
pub const RAPID_COMMIT: u16 = 14;
/// Classes of the user (RFC 9915).
pub const USER_CLASS: u16 = 15;
/// Vendor and kind of the client (RFC 9915).
pub const VENDOR_CLASS: u16 = 16;
/// Options of a vendor (RFC 9915).
pub const VENDOR_OPTS: u16 = 17;
/// Name of the client's interface, given by the relay agent (RFC 9915).
pub const INTERFACE_ID: u16 = 18;
/// Type of the message that a RECONFIGURE requests (RFC 9915).
pub const RECONF_MSG: u16 = 19;
/// Flag: the client accepts RECONFIGURE (RFC 9915).
pub const RECONF_ACCEPT: u16 = 20;
/// SIP servers by name (RFC 3319).
pub const SIP_SERVER_D: u16 = 21;
/// SIP servers by address (RFC 3319).
pub const SIP_SERVER_A: u16 = 22;
/// DNS resolvers (RFC 3646).
pub const DNS_SERVERS: u16 = 23;
/// Domains to search (RFC 3646).
pub const DOMAIN_LIST: u16 = 24;
/// Identity association for prefixes (RFC 9915).
pub const IA_PD: u16 = 25;
/// Prefix and its lifetimes, in an IA_PD (RFC 9915).
pub const IAPREFIX: u16 = 26;
/// NIS servers (RFC 3898).
pub const NIS_SERVERS: u16 = 27;
/// NIS+ servers (RFC 3898).
pub const NISP_SERVERS: u16 = 28;
/// NIS domain (RFC 3898).
pub const NIS_DOMAIN_NAME: u16 = 29;
/// NIS+ domain (RFC 3898).
pub const NISP_DOMAIN_NAME: u16 = 30;
/// SNTP servers (RFC 4075).
pub const SNTP_SERVERS: u16 = 31;
/// Seconds after which a client without leases requests configuration again (RFC 9915).
pub const INFORMATION_REFRESH_TIME: u16 = 32;
/// Broadcast and multicast controllers by name (RFC 4280).
pub const BCMCS_SERVER_D: u16 = 33;
/// Broadcast and multicast controllers by address (RFC 4280).
pub const BCMCS_SERVER_A: u16 = 34;
/// Civic location (RFC 4776).
pub const GEOCONF_CIVIC: u16 = 36;
/// Remote end of the circuit, at the client (RFC 4649).
pub const REMOTE_ID: u16 = 37;
/// Identifier of the subscriber, independent of the connection (RFC 4580).
pub const SUBSCRIBER_ID: u16 = 38;
/// Full name of the client and the party that updates DNS (RFC 4704).
pub const CLIENT_FQDN: u16 = 39;
/// PANA authentication agents (RFC 5192).
pub const PANA_AGENT: u16 = 40;
/// Time zone, POSIX form (RFC 4833).
pub const NEW_POSIX_TIMEZONE: u16 = 41;
/// Time zone, name in the database (RFC 4833).
pub const NEW_TZDB_TIMEZONE: u16 = 42;
/// Relay options that the server is to echo (RFC 4994).
pub const ERO: u16 = 43;
/// Query of a lease query (RFC 5007).
pub const LQ_QUERY: u16 = 44;
/// Leases of one client (RFC 5007).
pub const CLIENT_DATA: u16 = 45;
/// Seconds since the client's last transaction (RFC 5007).
pub const CLT_TIME: u16 = 46;
/// Relay message of the last transaction (RFC 5007).
pub const LQ_RELAY_DATA: u16 = 47;
/// Links on which the client has leases (RFC 5007).
pub const LQ_CLIENT_LINK: u16 = 48;
/// Home network requested (RFC 6610).
pub const MIP6_HNIDF: u16 = 49;
/// Visited network (RFC 6610).
pub const MIP6_VDINF: u16 = 50;
/// Location-to-service server (RFC 5223).
pub const V6_LOST: u16 = 51;
/// CAPWAP access controllers (RFC 5417).
pub const CAPWAP_AC_V6: u16 = 52;
/// DUID of the relay agent (RFC 5460).
pub const RELAY_ID: u16 = 53;
/// Mobility servers by address (RFC 5678).
pub const IPV6_ADDRESS_MOS: u16 = 54;
/// Mobility servers by name (RFC 5678).
pub const IPV6_FQDN_MOS: u16 = 55;
/// NTP servers (RFC 5908).
pub const NTP_SERVER: u16 = 56;
/// Access network domain (RFC 5986).
pub const V6_ACCESS_DOMAIN: u16 = 57;
/// SIP configuration domains (RFC 6011).
pub const SIP_UA_CS_LIST: u16 = 58;
/// Boot file (RFC 5970).
pub const BOOTFILE_URL: u16 = 59;
/// Parameters of the boot file (RFC 5970).
pub const BOOTFILE_PARAM: u16 = 60;
/// System architecture (RFC 5970).
pub const CLIENT_ARCH_TYPE: u16 = 61;
/// Network interface (RFC 5970).
pub const NII: u16 = 62;
/// Coordinates (RFC 6225).
pub const GEOLOCATION: u16 = 63;
/// Tunnel endpoint of DS-Lite (RFC 6334).
pub const AFTR_NAME: u16 = 64;
/// Domain for re-authentication (RFC 6440).
pub const ERP_LOCAL_DOMAIN_NAME: u16 = 65;
/// Options that the relay agent supplies for the client (RFC 6422).
pub const RSOO: u16 = 66;
/// Prefix excluded from a delegated one (RFC 6603).
pub const PD_EXCLUDE: u16 = 67;
/// Virtual subnet (RFC 6607).
pub const VSS: u16 = 68;
/// Identified home network (RFC 6610).
pub const MIP6_IDINF: u16 = 69;
/// Unrestricted home network (RFC 6610).
pub const MIP6_UDINF: u16 = 70;
/// Home network prefix (RFC 6610).
pub const MIP6_HNP: u16 = 71;
/// Home agent by address (RFC 6610).
pub const MIP6_HAA: u16 = 72;
/// Home agent by name (RFC 6610).
pub const MIP6_HAF: u16 = 73;
/// DNS servers by domain (RFC 6731).
pub const RDNSS_SELECTION: u16 = 74;
/// Kerberos principal (RFC 6784).
pub const KRB_PRINCIPAL_NAME: u16 = 75;
/// Kerberos realm (RFC 6784).
pub const KRB_REALM_NAME: u16 = 76;
/// Kerberos default realm (RFC 6784).
pub const KRB_DEFAULT_REALM_NAME: u16 = 77;
/// Kerberos key distribution centers (RFC 6784).
pub const KRB_KDC: u16 = 78;
/// Link-layer address of the client (RFC 6939).
pub const CLIENT_LINKLAYER_ADDR: u16 = 79;
/// Address of the link (RFC 6977).
pub const LINK_ADDRESS: u16 = 80;
/// RADIUS attributes (RFC 7037).
pub const RADIUS: u16 = 81;
/// Longest time between SOLICITs, seconds (RFC 9915).
pub const SOL_MAX_RT: u16 = 82;
/// Longest time between INFORMATION-REQUESTs, seconds (RFC 9915).
pub const INF_MAX_RT: u16 = 83;
/// Address selection (RFC 7078).
pub const ADDRSEL: u16 = 84;
/// Table of address selection (RFC 7078).
pub const ADDRSEL_TABLE: u16 = 85;
/// Port control servers (RFC 7291).
pub const V6_PCP_SERVER: u16 = 86;
/// DHCPv4 message (RFC 7341).
pub const DHCPV4_MSG: u16 = 87;
/// Servers of DHCPv4 over DHCPv6 (RFC 7341).
pub const DHCP4_O_DHCP6_SERVER: u16 = 88;
/// Softwire mapping rule (RFC 7598).
pub const S46_RULE: u16 = 89;
/// Softwire border relay (RFC 7598).
pub const S46_BR: u16 = 90;
/// Softwire default mapping rule (RFC 7598).
pub const S46_DMR: u16 = 91;
/// Softwire address binding (RFC 7598).
pub const S46_V4V6BIND: u16 = 92;
/// Softwire port set (RFC 7598).
pub const S46_PORTPARAMS: u16 = 93;
/// Container for MAP-E (RFC 7598).
pub const S46_CONT_MAPE: u16 = 94;
/// Container for MAP-T (RFC 7598).
pub const S46_CONT_MAPT: u16 = 95;
/// Container for Lightweight 4over6 (RFC 7598).
pub const S46_CONT_LW: u16 = 96;
/// Container for 4rd (RFC 7600).
pub const V6_4RD: u16 = 97;
/// Mapping rule of 4rd (RFC 7600).
pub const V6_4RD_MAP_RULE: u16 = 98;
/// Other rule of 4rd (RFC 7600).
pub const V6_4RD_NON_MAP_RULE: u16 = 99;
/// Time of the server, seconds since 2000 (RFC 7653).
pub const LQ_BASE_TIME: u16 = 100;
/// Begin of a lease query (RFC 7653).
pub const LQ_START_TIME: u16 = 101;
/// End of a lease query (RFC 7653).
pub const LQ_END_TIME: u16 = 102;
/// Address of the captive portal's interface (RFC 8910).
pub const V6_CAPTIVE_PORTAL: u16 = 103;
/// Multicast in low-power networks (RFC 7774).
pub const MPL_PARAMETERS: u16 = 104;
/// Radio access, type (RFC 7839).
pub const ANI_ATT: u16 = 105;
/// Radio access, network (RFC 7839).
pub const ANI_NETWORK_NAME: u16 = 106;
/// Radio access, access point (RFC 7839).
pub const ANI_AP_NAME: u16 = 107;
/// Radio access, identifier of the access point (RFC 7839).
pub const ANI_AP_BSSID: u16 = 108;
/// Radio access, operator's identifier (RFC 7839).
pub const ANI_OPERATOR_ID: u16 = 109;
/// Radio access, operator's realm (RFC 7839).
pub const ANI_OPERATOR_REALM: u16 = 110;
/// Order of softwire mechanisms (RFC 8026).
pub const S46_PRIORITY: u16 = 111;
/// Manufacturer usage description (RFC 8520).
pub const MUD_URL_V6: u16 = 112;
/// Prefixes of multicast translation (RFC 8115).
pub const V6_PREFIX64: u16 = 113;
/// Failover: state of a binding (RFC 8156).
pub const F_BINDING_STATUS: u16 = 114;
/// Failover: flags of a connection (RFC 8156).
pub const F_CONNECT_FLAGS: u16 = 115;
/// Failover: information for the removal of names (RFC 8156).
pub const F_DNS_REMOVAL_INFO: u16 = 116;
/// Failover: host name (RFC 8156).
pub const F_DNS_HOST_NAME: u16 = 117;
/// Failover: zone (RFC 8156).
pub const F_DNS_ZONE_NAME: u16 = 118;
/// Failover: flags of DNS updates (RFC 8156).
pub const F_DNS_FLAGS: u16 = 119;
/// Failover: end of the lease (RFC 8156).
pub const F_EXPIRATION_TIME: u16 = 120;
/// Failover: maximum number of unacknowledged updates (RFC 8156).
pub const F_MAX_UNACKED_BNDUPD: u16 = 121;
/// Failover: maximum client lead time (RFC 8156).
pub const F_MCLT: u16 = 122;
/// Failover: lifetime that the partner knows (RFC 8156).
pub const F_PARTNER_LIFETIME: u16 = 123;
/// Failover: lifetime that was sent to the partner (RFC 8156).
pub const F_PARTNER_LIFETIME_SENT: u16 = 124;
/// Failover: time at which the partner went down (RFC 8156).
pub const F_PARTNER_DOWN_TIME: u16 = 125;
/// Failover: the partner's last transaction (RFC 8156).
pub const F_PARTNER_RAW_CLT_TIME: u16 = 126;
/// Failover: version (RFC 8156).
pub const F_PROTOCOL_VERSION: u16 = 127;
/// Failover: time of keep-alives (RFC 8156).
pub const F_KEEPALIVE_TIME: u16 = 128;
/// Failover: keys of RECONFIGURE (RFC 8156).
pub const F_RECONFIGURE_DATA: u16 = 129;
/// Failover: name of the pair (RFC 8156).
pub const F_RELATIONSHIP_NAME: u16 = 130;
/// Failover: flags of the server (RFC 8156).
pub const F_SERVER_FLAGS: u16 = 131;
/// Failover: state of the server (RFC 8156).
pub const F_SERVER_STATE: u16 = 132;
/// Failover: start of the server's state (RFC 8156).
pub const F_START_TIME_OF_STATE: u16 = 133;
/// Failover: end of a state (RFC 8156).
pub const F_STATE_EXPIRATION_TIME: u16 = 134;
/// Source port of the relay agent, to which the server sends the reply (RFC 8357).
pub const RELAY_PORT: u16 = 135;
/// Zero-touch bootstrap servers (RFC 8572).
pub const V6_SZTP_REDIRECT: u16 = 136;
/// Prefix for the softwire's source (RFC 8539).
pub const S46_BIND_IPV6_PREFIX: u16 = 137;
/// Identity association for link-layer addresses (RFC 8947).
pub const IA_LL: u16 = 138;
/// Link-layer addresses, in an IA_LL (RFC 8947).
pub const LLADDR: u16 = 139;
/// Quadrants of local link-layer addresses (RFC 8948).
pub const SLAP_QUAD: u16 = 140;
/// DOTS agents by name (RFC 8973).
pub const V6_DOTS_RI: u16 = 141;
/// DOTS agents by address (RFC 8973).
pub const V6_DOTS_ADDRESS: u16 = 142;
/// Access network discovery servers (RFC 6153).
pub const IPV6_ADDRESS_ANDSF: u16 = 143;
/// Encrypted DNS resolvers (RFC 9463).
pub const V6_DNR: u16 = 144;
/// Homenet: registered domain (RFC 9527).
pub const REGISTERED_DOMAIN: u16 = 145;
/// Homenet: forward zone (RFC 9527).
pub const FORWARD_DIST_MANAGER: u16 = 146;
/// Homenet: reverse zone (RFC 9527).
pub const REVERSE_DIST_MANAGER: u16 = 147;
/// Flag: clients may register addresses that they chose (RFC 9686).
pub const ADDR_REG_ENABLE: u16 = 148;
