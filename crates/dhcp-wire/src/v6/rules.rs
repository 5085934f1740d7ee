//! Permitted lengths of DHCPv6 options, and the options that contain others.

use super::layout::{IA_LEN, IA_TA_LEN, IAADDR_LEN, IAPREFIX_LEN};
use super::walk::CountedOptions;
use super::{ClientFqdn, Malformed, Tuples, duid, option};
use crate::{OptionParsing, name};

/// DHCPv6 options whose offset the reader notes while it checks a message.
const NOTED: [u16; 9] = [
    option::CLIENTID,
    option::SERVERID,
    option::ORO,
    option::ELAPSED_TIME,
    option::STATUS_CODE,
    option::RAPID_COMMIT,
    option::USER_CLASS,
    option::VENDOR_CLASS,
    option::CLIENT_FQDN,
];
/// Number of slots: one for each noted DHCPv6 option, and one for all other options, which the
/// reader writes to and nothing reads.
pub(super) const SLOTS: usize = NOTED.len() + 1;
/// Slot shared by all DHCPv6 options whose offset is not noted.
pub(super) const OTHER_SLOT: usize = NOTED.len();

/// DHCPv6 options whose length is checked, each with its minimum and maximum in bytes and the
/// number that its length must be a multiple of. The limits are Kea's (see [`Malformed`]).
const LENGTHS: [(u16, usize, usize, u8); 12] = [
    (option::CLIENTID, duid::LEN_MIN, duid::LEN_MAX, 1),
    (option::SERVERID, duid::LEN_MIN, duid::LEN_MAX, 1),
    (option::IA_NA, IA_LEN, ANY, 1),
    (option::IA_TA, IA_TA_LEN, ANY, 1),
    (option::IAADDR, IAADDR_LEN, ANY, 1),
    (option::ORO, 2, ANY, 2),
    (option::STATUS_CODE, 2, ANY, 1),
    (option::VENDOR_CLASS, 4, ANY, 1),
    (option::CLIENT_FQDN, 1, ANY, 1),
    (option::IA_PD, IA_LEN, ANY, 1),
    (option::IAPREFIX, IAPREFIX_LEN, ANY, 1),
    (option::PD_EXCLUDE, 2, ANY, 1),
];
/// DHCPv6 options that are one number or address, each with its length in bytes. Kea drops a
/// message with one that is too short, or, without `lenient-option-parsing`, too long.
const SCALARS: [(u16, u8); 10] = [
    (option::PREFERENCE, 1),
    (option::ELAPSED_TIME, 2),
    (option::UNICAST, 16),
    (option::RECONF_MSG, 1),
    (option::INFORMATION_REFRESH_TIME, 4),
    (option::CLT_TIME, 4),
    (option::LINK_ADDRESS, 16),
    (option::SOL_MAX_RT, 4),
    (option::INF_MAX_RT, 4),
    (option::RELAY_PORT, 2),
];
/// DHCPv6 options whose value is one domain name (false) or several (true), in labels.
const NAMES: [(u16, bool); 9] = [
    (option::SIP_SERVER_D, true),
    (option::DOMAIN_LIST, true),
    (option::NIS_DOMAIN_NAME, true),
    (option::NISP_DOMAIN_NAME, true),
    (option::BCMCS_SERVER_D, true),
    (option::V6_LOST, false),
    (option::V6_ACCESS_DOMAIN, false),
    (option::SIP_UA_CS_LIST, true),
    (option::AFTR_NAME, false),
];
/// Maximum length in bytes of a DHCPv6 option without a limit of its own.
const ANY: usize = u16::MAX as usize;
/// Number of DHCPv6 option codes with a rule; higher codes have none.
const RULES_LEN: usize = option::RELAY_PORT as usize + 1;

/// Contents of a DHCPv6 option, as far as the reader checks them.
#[derive(Clone, Copy)]
enum OptionContentKind {
    /// Contents without a form of their own: bytes, or a fixed part followed by options.
    Plain,
    VendorClass,
    Fqdn,
    Name,
    Names,
}

/// Rule by which the reader checks one DHCPv6 option: slot, lengths in bytes, contents.
#[derive(Clone, Copy)]
pub(super) struct OptionCheckRule {
    /// Slot where the reader notes the option's offset.
    pub(super) slot: u8,
    min: u8,
    max: u16,
    unit: u8,
    form: OptionContentKind,
}

/// Rule of all DHCPv6 options without a rule of their own: any contents of any length.
const UNKNOWN: OptionCheckRule = OptionCheckRule {
    slot: OTHER_SLOT as u8,
    min: 0,
    max: u16::MAX,
    unit: 1,
    form: OptionContentKind::Plain,
};
static STRICT: [OptionCheckRule; RULES_LEN] = rules(OptionParsing::Strict);
static LENIENT: [OptionCheckRule; RULES_LEN] = rules(OptionParsing::Lenient);

const fn rules(parsing: OptionParsing) -> [OptionCheckRule; RULES_LEN] {
    let mut rules = [UNKNOWN; RULES_LEN];
    let mut index = 0;
    while index < LENGTHS.len() {
        let (code, min, max, unit) = LENGTHS[index];
        rules[code as usize] = OptionCheckRule { min: min as u8, max: max as u16, unit, ..UNKNOWN };
        index += 1;
    }
    index = 0;
    while index < SCALARS.len() {
        let (code, len) = SCALARS[index];
        let max = if matches!(parsing, OptionParsing::Strict) { len as u16 } else { ANY as u16 };
        rules[code as usize] = OptionCheckRule { min: len, max, ..UNKNOWN };
        index += 1;
    }
    index = 0;
    while index < NAMES.len() {
        let (code, are_several) = NAMES[index];
        rules[code as usize].form =
            if are_several { OptionContentKind::Names } else { OptionContentKind::Name };
        index += 1;
    }
    rules[option::VENDOR_CLASS as usize].form = OptionContentKind::VendorClass;
    rules[option::CLIENT_FQDN as usize].form = OptionContentKind::Fqdn;
    let mut slot = 0;
    while slot < NOTED.len() {
        rules[NOTED[slot] as usize].slot = slot as u8;
        slot += 1;
    }
    rules
}

impl OptionCheckRule {
    /// Returns the rule for the DHCPv6 option `code` when parsing is strict.
    #[inline]
    pub(super) fn strict(code: u16) -> Self {
        Self::under(OptionParsing::Strict, code)
    }

    /// Returns the rule for the DHCPv6 option `code` when parsing is as strict as `parsing` says.
    #[inline]
    pub(super) fn under(parsing: OptionParsing, code: u16) -> Self {
        let rules = match parsing {
            OptionParsing::Strict => &STRICT,
            OptionParsing::Lenient => &LENIENT,
        };
        rules.get(usize::from(code)).copied().unwrap_or(UNKNOWN)
    }

    #[inline]
    fn allows(self, len: usize) -> bool {
        len >= usize::from(self.min)
            && len <= usize::from(self.max)
            && len.is_multiple_of(usize::from(self.unit))
    }
}

/// Maximum depth of checked options in DHCPv6 options: those of a message, of its IAs, of their
/// addresses and prefixes. Readers do not look deeper.
const DEPTH_MAX: u8 = 2;

/// Treatment of a DHCPv6 option for which the message is not refused.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionTreatment {
    /// Treatment of a sound option: readers read it.
    Taken,
    /// Treatment of an unsound option when parsing is lenient: it counts as not sent.
    Skipped,
}

/// Checks one option of a DHCPv6 message, which is at depth 0, and the options in it as far as
/// readers look at them. `left` is the number of those that are permitted.
#[inline]
pub(super) fn check(
    parsing: OptionParsing,
    rule: OptionCheckRule,
    code: u16,
    value: &[u8],
    depth: u8,
    left: &mut usize,
) -> Result<OptionTreatment, Malformed> {
    if !rule.allows(value.len()) {
        let is_of_ia = depth > 0 || inner_at(code).is_some();
        return Err(if is_of_ia { Malformed::IaLength } else { Malformed::OptionLength });
    }
    let is_strict = parsing == OptionParsing::Strict;
    match (rule.form, inner_at(code)) {
        (OptionContentKind::VendorClass, _) => check_classes(parsing, &value[4..]),
        (OptionContentKind::Fqdn, _) => {
            let fqdn = ClientFqdn::parse(value);
            if is_strict && fqdn.is_some_and(|fqdn| fqdn.is_contradictory()) {
                return Err(Malformed::ClientFqdn);
            }
            let is_name = fqdn.is_some_and(|fqdn| fqdn.read_name(|_| ()));
            verdict(is_name, parsing, Malformed::ClientFqdn)
        }
        (OptionContentKind::Name, _) => {
            verdict(name::end_of_name(value, 0).is_some(), parsing, Malformed::DomainName)
        }
        (OptionContentKind::Names, _) => {
            verdict(name::are_names(value), parsing, Malformed::DomainName)
        }
        (_, Some(inner_at)) if depth < DEPTH_MAX => {
            check_inner(parsing, &value[inner_at..], depth + 1, left)?;
            Ok(OptionTreatment::Taken)
        }
        _ => Ok(OptionTreatment::Taken),
    }
}

fn verdict(
    is_sound: bool,
    parsing: OptionParsing,
    reason: Malformed,
) -> Result<OptionTreatment, Malformed> {
    match parsing {
        _ if is_sound => Ok(OptionTreatment::Taken),
        OptionParsing::Strict => Err(reason),
        OptionParsing::Lenient => Ok(OptionTreatment::Skipped),
    }
}

fn check_inner(
    parsing: OptionParsing,
    octets: &[u8],
    depth: u8,
    left: &mut usize,
) -> Result<(), Malformed> {
    let mut options = CountedOptions::new(octets, left);
    while let Some((code, value)) = options.next()? {
        check(parsing, OptionCheckRule::under(parsing, code), code, value, depth, options.left())?;
    }
    Ok(())
}

/// Returns the offset of the options that the DHCPv6 option `code` contains after its fixed part;
/// `None` when it contains none.
#[inline]
const fn inner_at(code: u16) -> Option<usize> {
    match code {
        option::IA_NA | option::IA_PD => Some(IA_LEN),
        option::IA_TA => Some(IA_TA_LEN),
        option::IAADDR => Some(IAADDR_LEN),
        option::IAPREFIX => Some(IAPREFIX_LEN),
        _ => None,
    }
}

/// Checks that the pieces of data in a user or vendor class, each after its length, fill the
/// option. When parsing is lenient the length of the last one may be more than the remaining bytes.
fn check_classes(parsing: OptionParsing, octets: &[u8]) -> Result<OptionTreatment, Malformed> {
    let mut classes = match parsing {
        OptionParsing::Strict => Tuples::new(octets),
        OptionParsing::Lenient => Tuples::to_the_end(octets),
    };
    classes.by_ref().for_each(drop);
    if classes.is_at_end() { Ok(OptionTreatment::Taken) } else { Err(Malformed::OptionLength) }
}
