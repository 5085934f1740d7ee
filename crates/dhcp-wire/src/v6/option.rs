//! Codes of the DHCPv6 options that Godwit handles (IANA, "DHCPv6 Option Codes"), named as in the
//! RFCs without `OPTION_`.
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
/// DHCPv6 option 23: DNS resolvers (RFC 3646).
pub const DNS_SERVERS: u16 = 23;
/// DHCPv6 option 24: domains to search (RFC 3646).
pub const DOMAIN_LIST: u16 = 24;
/// DHCPv6 option 25: identity association for prefixes (RFC 9915).
pub const IA_PD: u16 = 25;
/// DHCPv6 option 26: prefix and its lifetimes, in an IA_PD (RFC 9915).
pub const IAPREFIX: u16 = 26;
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
/// DHCPv6 option 37: remote end of the circuit, at the client (RFC 4649).
pub const REMOTE_ID: u16 = 37;
/// DHCPv6 option 38: identifier of the subscriber, independent of the connection (RFC 4580).
pub const SUBSCRIBER_ID: u16 = 38;
/// DHCPv6 option 39: full name of the client and the party that updates DNS (RFC 4704).
pub const CLIENT_FQDN: u16 = 39;
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
/// DHCPv6 option 51: location-to-service server (RFC 5223).
pub const V6_LOST: u16 = 51;
/// DHCPv6 option 53: DUID of the relay agent (RFC 5460).
pub const RELAY_ID: u16 = 53;
/// DHCPv6 option 56: NTP servers (RFC 5908).
pub const NTP_SERVER: u16 = 56;
/// DHCPv6 option 57: access network domain (RFC 5986).
pub const V6_ACCESS_DOMAIN: u16 = 57;
/// DHCPv6 option 58: SIP configuration domains (RFC 6011).
pub const SIP_UA_CS_LIST: u16 = 58;
/// DHCPv6 option 64: tunnel endpoint of DS-Lite (RFC 6334).
pub const AFTR_NAME: u16 = 64;
/// DHCPv6 option 65: domain for re-authentication (RFC 6440).
pub const ERP_LOCAL_DOMAIN_NAME: u16 = 65;
/// DHCPv6 option 66: options that the relay agent supplies for the client (RFC 6422).
pub const RSOO: u16 = 66;
/// DHCPv6 option 67: prefix excluded from a delegated one (RFC 6603).
pub const PD_EXCLUDE: u16 = 67;
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
/// DHCPv6 option 89: softwire mapping rule (RFC 7598).
pub const S46_RULE: u16 = 89;
/// DHCPv6 option 94: container for MAP-E (RFC 7598).
pub const S46_CONT_MAPE: u16 = 94;
/// DHCPv6 option 95: container for MAP-T (RFC 7598).
pub const S46_CONT_MAPT: u16 = 95;
/// DHCPv6 option 96: container for Lightweight 4over6 (RFC 7598).
pub const S46_CONT_LW: u16 = 96;
/// DHCPv6 option 135: source port of the relay agent, to which the server sends the reply (RFC
/// 8357).
pub const RELAY_PORT: u16 = 135;
