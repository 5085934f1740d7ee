//! How long options may be, and which hold others.

use super::layout::{IA_LEN, IA_TA_LEN, IAADDR_LEN, IAPREFIX_LEN};
use super::walk::Checked;
use super::{Malformed, duid, option};

/// The options whose place is noted while a message is checked.
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
/// Places to note, and one more for all options that are not noted: written, never read.
pub(super) const SLOTS: usize = NOTED.len() + 1;
/// The slot of all options that are not noted.
pub(super) const OTHER_SLOT: usize = NOTED.len();

/// The options whose length is checked, with the fewest and the most octets that they may have and
/// what these must be a multiple of. The limits are Kea's, found by asking it (see the head of
/// [`Malformed`]).
const LENGTHS: [(u16, usize, usize, u8); 13] = [
    (option::CLIENTID, duid::LEN_MIN, duid::LEN_MAX, 1),
    (option::SERVERID, duid::LEN_MIN, duid::LEN_MAX, 1),
    (option::IA_NA, IA_LEN, ANY, 1),
    (option::IA_TA, IA_TA_LEN, ANY, 1),
    (option::IAADDR, IAADDR_LEN, ANY, 1),
    (option::ORO, 2, ANY, 2),
    (option::ELAPSED_TIME, 2, ANY, 1),
    (option::STATUS_CODE, 2, ANY, 1),
    (option::VENDOR_CLASS, 4, ANY, 1),
    (option::CLIENT_FQDN, 1, ANY, 1),
    (option::IA_PD, IA_LEN, ANY, 1),
    (option::IAPREFIX, IAPREFIX_LEN, ANY, 1),
    (option::PD_EXCLUDE, 2, ANY, 1),
];
/// As long as an option can be.
const ANY: usize = u16::MAX as usize;
/// Codes from this one on have no rule.
const RULES_LEN: usize = option::PD_EXCLUDE as usize + 1;

/// What is known about an option.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    /// Where its place is noted.
    pub(super) slot: u8,
    min: u8,
    max: u16,
    unit: u8,
}

const RULES: [Rule; RULES_LEN] = {
    let mut rules = [UNKNOWN; RULES_LEN];
    let mut index = 0;
    while index < LENGTHS.len() {
        let (code, min, max, unit) = LENGTHS[index];
        rules[code as usize] =
            Rule { slot: OTHER_SLOT as u8, min: min as u8, max: max as u16, unit };
        index += 1;
    }
    let mut slot = 0;
    while slot < NOTED.len() {
        rules[NOTED[slot] as usize].slot = slot as u8;
        slot += 1;
    }
    rules
};
/// The rule of all other codes.
const UNKNOWN: Rule = Rule { slot: OTHER_SLOT as u8, min: 0, max: u16::MAX, unit: 1 };

impl Rule {
    /// The rule for an option.
    #[inline]
    pub(super) fn of(code: u16) -> Self {
        RULES.get(usize::from(code)).copied().unwrap_or(UNKNOWN)
    }

    #[inline]
    fn allows(self, len: usize) -> bool {
        len >= usize::from(self.min)
            && len <= usize::from(self.max)
            && len.is_multiple_of(usize::from(self.unit))
    }
}

/// Levels of options in options that are checked: what is in a message, in its IAs, in their
/// addresses and prefixes. Nothing looks deeper.
const DEPTH_MAX: u8 = 2;

/// Checks one option of a message, which is at depth 0, and the options in it as far as they are
/// looked at. `left` is how many these may be.
#[inline]
pub(super) fn check(
    rule: Rule,
    code: u16,
    value: &[u8],
    depth: u8,
    left: &mut usize,
) -> Result<(), Malformed> {
    if !rule.allows(value.len()) {
        let is_of_ia = depth > 0 || inner_at(code).is_some();
        return Err(if is_of_ia { Malformed::IaLength } else { Malformed::OptionLength });
    }
    match (code, inner_at(code)) {
        (option::IAPREFIX, _) if value[8] > 128 => Err(Malformed::PrefixLength),
        (option::VENDOR_CLASS, _) => check_tuples(&value[4..]),
        (_, Some(inner_at)) if depth < DEPTH_MAX => {
            check_inner(&value[inner_at..], depth + 1, left)
        }
        _ => Ok(()),
    }
}

fn check_inner(octets: &[u8], depth: u8, left: &mut usize) -> Result<(), Malformed> {
    let mut options = Checked::new(octets, left);
    while let Some((code, value)) = options.next()? {
        check(Rule::of(code), code, value, depth, options.left())?;
    }
    Ok(())
}

/// Where the options begin that an option holds behind its fixed part.
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

/// Checks that pieces of data, each behind its length, fill their place.
fn check_tuples(octets: &[u8]) -> Result<(), Malformed> {
    let mut tuples = super::Tuples::new(octets);
    tuples.by_ref().for_each(drop);
    if tuples.is_at_end() { Ok(()) } else { Err(Malformed::OptionLength) }
}
