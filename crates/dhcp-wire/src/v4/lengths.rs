//! Permitted lengths of DHCPv4 options, and the options whose offsets the reader notes.

use super::option;
use crate::OptionParsing;

/// DHCPv4 options whose offset the reader notes while it checks a message, each with its minimum
/// length in bytes.
pub(super) const NOTED: [(u8, u8); 13] = [
    (option::DHCP_MESSAGE_TYPE, 1),
    (option::OPTION_OVERLOAD, 1),
    (option::REQUESTED_IP_ADDRESS, 4),
    (option::IP_ADDRESS_LEASE_TIME, 4),
    (option::SERVER_IDENTIFIER, 4),
    (option::PARAMETER_REQUEST_LIST, 1),
    (option::MAXIMUM_DHCP_MESSAGE_SIZE, 2),
    (option::VENDOR_CLASS_IDENTIFIER, 0),
    (option::CLIENT_IDENTIFIER, 2),
    (option::HOST_NAME, 0),
    (option::CLIENT_FQDN, 3),
    (option::RELAY_AGENT_INFORMATION, 0),
    (option::SUBNET_SELECTION, 4),
];
/// Slot shared by all DHCPv4 options whose offset is not noted: the reader writes to it, and
/// nothing reads it.
pub(super) const OTHER_SLOT: usize = NOTED.len();

/// DHCPv4 options that are one number, address or truth value, with their length in bytes. Kea
/// drops a message with one that is too short, or, without `lenient-option-parsing`, too long.
/// Option 52 (Option Overload) is not among them: a repetition of it in the fields `file` and
/// `sname` is joined to it.
const SCALARS: [(u8, u8); 40] = [
    (option::SUBNET_MASK, 4),
    (option::TIME_OFFSET, 4),
    (option::BOOT_FILE_SIZE, 2),
    (option::SWAP_SERVER, 4),
    (option::IP_FORWARDING, 1),
    (option::NON_LOCAL_SOURCE_ROUTING, 1),
    (option::MAXIMUM_DATAGRAM_REASSEMBLY_SIZE, 2),
    (option::DEFAULT_IP_TTL, 1),
    (option::PATH_MTU_AGING_TIMEOUT, 4),
    (option::INTERFACE_MTU, 2),
    (option::ALL_SUBNETS_ARE_LOCAL, 1),
    (option::BROADCAST_ADDRESS, 4),
    (option::PERFORM_MASK_DISCOVERY, 1),
    (option::MASK_SUPPLIER, 1),
    (option::PERFORM_ROUTER_DISCOVERY, 1),
    (option::ROUTER_SOLICITATION_ADDRESS, 4),
    (option::TRAILER_ENCAPSULATION, 1),
    (option::ARP_CACHE_TIMEOUT, 4),
    (option::ETHERNET_ENCAPSULATION, 1),
    (option::TCP_DEFAULT_TTL, 1),
    (option::TCP_KEEPALIVE_INTERVAL, 4),
    (option::TCP_KEEPALIVE_GARBAGE, 1),
    (option::NETBIOS_NODE_TYPE, 1),
    (option::REQUESTED_IP_ADDRESS, 4),
    (option::IP_ADDRESS_LEASE_TIME, 4),
    (option::DHCP_MESSAGE_TYPE, 1),
    (option::SERVER_IDENTIFIER, 4),
    (option::MAXIMUM_DHCP_MESSAGE_SIZE, 2),
    (option::RENEWAL_TIME, 4),
    (option::REBINDING_TIME, 4),
    (option::CLIENT_LAST_TRANSACTION_TIME, 4),
    (option::IPV6_ONLY_PREFERRED, 4),
    (option::AUTO_CONFIGURE, 1),
    (option::SUBNET_SELECTION, 4),
    (option::BASE_TIME, 4),
    (option::START_TIME_OF_STATE, 4),
    (option::QUERY_START_TIME, 4),
    (option::QUERY_END_TIME, 4),
    (option::DHCP_STATE, 1),
    (option::DATA_SOURCE, 1),
];
/// DHCPv4 options whose value is one domain name (false) or several (true), in labels.
pub(super) const NAMES: [(u8, bool); 5] = [
    (option::BCMCS_CONTROLLER_DOMAIN_NAMES, true),
    (option::DOMAIN_SEARCH, true),
    (option::V4_LOST, false),
    (option::SIP_UA_CONFIGURATION_SERVICE_DOMAINS, true),
    (option::V4_ACCESS_DOMAIN, false),
];
/// Set of the DHCPv4 options whose value contains a domain name, option 81 (Client FQDN) included,
/// with one bit per option code.
pub(super) const WITH_NAMES: [u64; 4] = {
    let mut codes = [0; 4];
    codes[option::CLIENT_FQDN as usize >> 6] |= 1 << (option::CLIENT_FQDN & 63);
    let mut at = 0;
    while at < NAMES.len() {
        let (code, _) = NAMES[at];
        codes[code as usize >> 6] |= 1 << (code & 63);
        at += 1;
    }
    codes
};

/// Length rule of a DHCPv4 option: the slot in which the reader notes the option's offset, and the
/// minimum and maximum of its length in bytes.
#[derive(Clone, Copy)]
pub(super) struct OptionLengthRule {
    pub(super) slot: u8,
    pub(super) min: u8,
    pub(super) max: u8,
}

/// Length rules of all DHCPv4 options, by code.
pub(super) type Rules = [OptionLengthRule; 256];

static STRICT: Rules = rules(OptionParsing::Strict);
static LENIENT: Rules = rules(OptionParsing::Lenient);

/// Slot in which the reader notes the offset of each DHCPv4 option, by code.
pub(super) const SLOTS: [u8; 256] = {
    let rules = rules(OptionParsing::Strict);
    let mut slots = [0; 256];
    let mut code = 0;
    while code < slots.len() {
        slots[code] = rules[code].slot;
        code += 1;
    }
    slots
};

/// Returns the length rules that the reader applies for `parsing`.
#[inline]
pub(super) const fn rules_of(parsing: OptionParsing) -> &'static Rules {
    match parsing {
        OptionParsing::Strict => &STRICT,
        OptionParsing::Lenient => &LENIENT,
    }
}

const fn rules(parsing: OptionParsing) -> Rules {
    let mut rules = [OptionLengthRule { slot: OTHER_SLOT as u8, min: 0, max: 255 }; 256];
    let mut slot = 0;
    while slot < NOTED.len() {
        let (code, min) = NOTED[slot];
        rules[code as usize] = OptionLengthRule { slot: slot as u8, min, max: 255 };
        slot += 1;
    }
    let mut at = 0;
    while at < SCALARS.len() {
        let (code, len) = SCALARS[at];
        rules[code as usize].min = len;
        if matches!(parsing, OptionParsing::Strict) {
            rules[code as usize].max = len;
        }
        at += 1;
    }
    rules
}

/// Returns the length in bytes of the DHCPv4 option `code` if it is one number, address or truth
/// value.
pub(super) fn scalar_len(code: u8) -> Option<u8> {
    SCALARS.iter().find(|(scalar, _)| *scalar == code).map(|&(_, len)| len)
}
