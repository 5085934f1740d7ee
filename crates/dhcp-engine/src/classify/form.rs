//! The forms in which expressions take the values of options.

use dhcp_config::expression::Form;

use super::printed::print;

/// Brings what stands behind `start` into its form; false, with nothing left there, when it counts
/// as none. `width` is how many digits codes and lengths have at least where they are printed.
pub(super) fn shape(
    form: Form,
    code: u16,
    width: usize,
    start: usize,
    target: &mut Vec<u8>,
) -> bool {
    match form {
        Form::Octets => true,
        Form::Characters => {
            let end = target[start..].iter().rposition(|&octet| octet != 0);
            target.truncate(start + end.map_or(0, |end| end + 1));
            end.is_some()
        }
        Form::Printed(how) => {
            print(how, code, width, start, target);
            true
        }
    }
}
