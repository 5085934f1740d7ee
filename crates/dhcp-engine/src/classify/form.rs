//! Forms in which class expressions read the values of options.

use dhcp_config::expression::OptionValueForm;

use super::printed::print;

/// Converts the bytes of `target` after `start` to the form of an option's value; returns false,
/// with these bytes removed, when the value counts as missing. `width` is the minimal number of
/// digits of printed codes and lengths.
pub(super) fn convert_to_form(
    form: OptionValueForm,
    code: u16,
    width: usize,
    start: usize,
    target: &mut Vec<u8>,
) -> bool {
    match form {
        OptionValueForm::Octets => true,
        OptionValueForm::Characters => {
            let end = target[start..].iter().rposition(|&octet| octet != 0);
            target.truncate(start + end.map_or(0, |end| end + 1));
            end.is_some()
        }
        OptionValueForm::Printed(how) => {
            print(how, code, width, start, target);
            true
        }
    }
}
