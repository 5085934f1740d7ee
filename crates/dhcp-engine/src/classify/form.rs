//! The forms in which expressions take the values of options.

use dhcp_config::expression::Form;

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
        Form::Printed => {
            print(code, width, start, target);
            true
        }
    }
}

/// Turns what stands behind `start` into what Kea prints of options of unknown contents: code,
/// length, the octets in hexadecimal digits, and as characters when they are all printable. `width`
/// is how many digits code and length have at least.
fn print(code: u16, width: usize, start: usize, target: &mut Vec<u8>) {
    let value = start..target.len();
    target.extend_from_slice(b"type=");
    number(usize::from(code), width, target);
    target.extend_from_slice(b", len=");
    number(value.len(), width, target);
    target.extend_from_slice(b": ");
    for at in value.clone() {
        if at > start {
            target.push(b':');
        }
        target.extend_from_slice(&super::texts::digits(target[at]));
    }
    if value.is_empty() {
        target.extend_from_slice(b"''");
    } else if target[value.clone()].iter().all(|octet| (b' '..=b'~').contains(octet)) {
        target.extend_from_slice(b" '");
        target.extend_from_within(value.clone());
        target.push(b'\'');
    }
    target.drain(value);
}

fn number(value: usize, width: usize, target: &mut Vec<u8>) {
    let mut digits = [b'0'; 20];
    let mut rest = value;
    let mut len = 0;
    while rest > 0 || len < width {
        digits[len] = b'0' + (rest % 10) as u8;
        rest /= 10;
        len += 1;
    }
    target.extend(digits[..len].iter().rev());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_printed_as_kea_prints_them() {
        let printed = |code, width, value: &[u8]| {
            let mut target = [b"before", value].concat();
            print(code, width, 6, &mut target);
            String::from_utf8(target).expect("characters")
        };
        assert_eq!(printed(61, 3, &[1, 0xab]), "beforetype=061, len=002: 01:ab");
        assert_eq!(printed(1234, 5, b"a~"), "beforetype=01234, len=00002: 61:7e 'a~'");
        assert_eq!(printed(61, 3, &[]), "beforetype=061, len=000: ''");
    }
}
