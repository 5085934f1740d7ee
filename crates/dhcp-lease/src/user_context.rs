//! Bounds of the user contexts of leases: JSON texts that are set by commands or made from relay
//! agent information. Every store can keep a text that passes these checks.

use core::fmt;

/// Largest length of a lease's user context, in bytes: as many as the column of Kea's tables in
/// MySQL holds.
pub const USER_CONTEXT_MAX: usize = 65_535;

/// Reason why no lease can keep a JSON text as user context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserContextFault {
    /// Length in bytes of a text that is longer than [`USER_CONTEXT_MAX`].
    TooLong(usize),
    /// Character U+0000 in the text, literally or as an escape, which PostgreSQL's JSON refuses.
    HasZero,
}

impl fmt::Display for UserContextFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong(octets) => {
                write!(f, "user context has {octets} bytes; at most {USER_CONTEXT_MAX} are allowed")
            }
            Self::HasZero => f.write_str("user context contains U+0000"),
        }
    }
}

/// Checks that leases can keep the JSON text `context` as user context.
///
/// # Errors
///
/// Returns the first fault of the text.
pub fn check_user_context(context: &str) -> Result<(), UserContextFault> {
    match context.len() {
        octets if octets > USER_CONTEXT_MAX => Err(UserContextFault::TooLong(octets)),
        _ if next_zero(context, 0).is_some() => Err(UserContextFault::HasZero),
        _ => Ok(()),
    }
}

/// Appends the JSON text `context` without U+0000, neither literal nor escaped.
pub fn push_without_zeros(context: &str, target: &mut String) {
    let mut at = 0;
    while let Some((start, end)) = next_zero(context, at) {
        target.push_str(&context[at..start]);
        at = end;
    }
    target.push_str(&context[at..]);
}

/// Returns where the next U+0000 of a JSON text begins and ends, from the byte `at` on, which must
/// not be inside an escape.
fn next_zero(context: &str, mut at: usize) -> Option<(usize, usize)> {
    let octets = context.as_bytes();
    loop {
        let offset = octets.get(at..)?.iter().position(|octet| matches!(octet, 0 | b'\\'))?;
        let start = at + offset;
        if octets[start] == 0 {
            return Some((start, start + 1));
        }
        if octets[start..].starts_with(br"\u0000") {
            return Some((start, start + br"\u0000".len()));
        }
        // An escaped character, in particular a backslash, begins no escape.
        at = start + 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(context: &str) -> String {
        let mut text = String::new();
        push_without_zeros(context, &mut text);
        text
    }

    #[test]
    fn zeros_are_found_as_such_and_as_escapes() {
        let has_zero = Err(UserContextFault::HasZero);
        for (context, clean) in [
            (r#"{ "a": "\u0000" }"#, r#"{ "a": "" }"#),
            (r#"{ "\u0000b": { "\\\u0000": 1 } }"#, r#"{ "b": { "\\": 1 } }"#),
            ("{ \"a\": \"\0\" }", r#"{ "a": "" }"#),
            ("\0\0", ""),
        ] {
            assert_eq!(check_user_context(context), has_zero, "{context}");
            assert_eq!(cleaned(context), clean);
        }
    }

    #[test]
    fn what_only_looks_like_a_zero_stays() {
        for context in [r#"{ "a": "\\u0000" }"#, r"\", "", r#"{ "\u00fc": "\u0001" }"#] {
            assert_eq!(check_user_context(context), Ok(()), "{context}");
        }
        assert_eq!(cleaned(r#"{ "a": "\\u0000" }"#), r#"{ "a": "\\u0000" }"#);
        assert_eq!(cleaned("ü\\"), "ü\\");
    }

    #[test]
    fn the_longest_context_fits_a_column_of_mysql() {
        assert_eq!(check_user_context(&"x".repeat(USER_CONTEXT_MAX)), Ok(()));
        let longer = "x".repeat(USER_CONTEXT_MAX + 1);
        assert_eq!(check_user_context(&longer), Err(UserContextFault::TooLong(65_536)));
    }
}
