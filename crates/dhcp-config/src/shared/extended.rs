//! The syntax of extended regular expressions (POSIX 1003.1 §9.4), as far as Kea's library takes them:
//! what it refuses, and nothing about what an expression matches.
//!
//! `hostname-char-set` is one. Expressions of `match` are of another kind: see
//! [`Pattern`](crate::expression::Pattern).

/// The longest expression that Kea takes, in octets.
const LONGEST: usize = 4096;

/// The highest count of `{...}`; more states than this are too many for Kea.
const MOST: u32 = 99_999;

/// Names of classes of characters inside of brackets.
const CLASSES: [&[u8]; 15] = [
    b"alnum", b"alpha", b"blank", b"cntrl", b"d", b"digit", b"graph", b"lower", b"print", b"punct",
    b"s", b"space", b"upper", b"w", b"xdigit",
];

/// Checks an expression.
///
/// # Errors
/// What is wrong with it, as a phrase for the operator.
pub(super) fn check(expression: &[u8]) -> Result<(), String> {
    if expression.len() > LONGEST {
        return Err(format!("it has more than {LONGEST} octets"));
    }
    let mut rest = expression;
    let mut depth = 0_u32;
    // Whether there is something that can be repeated.
    let mut has_atom = false;
    while let Some((&octet, behind)) = rest.split_first() {
        rest = behind;
        match octet {
            b'*' | b'+' | b'?' | b'{' if !has_atom => {
                return Err(format!("`{}` has nothing before it to repeat", char::from(octet)));
            }
            b'*' | b'+' | b'?' => {}
            b'{' => counts(&mut rest)?,
            b'(' => (depth, has_atom) = (depth + 1, false),
            b')' => {
                let outer = depth.checked_sub(1);
                depth = outer.ok_or_else(|| "`)` closes nothing".to_owned())?;
                has_atom = true;
            }
            b'|' | b'^' | b'$' => has_atom = false,
            b'[' => {
                bracket(&mut rest)?;
                has_atom = true;
            }
            b'\\' => {
                let escaped = rest.split_first();
                (_, rest) = escaped.ok_or_else(|| "nothing follows its last `\\`".to_owned())?;
                has_atom = true;
            }
            _ => has_atom = true,
        }
    }
    if depth > 0 { Err("a `(` is not closed".to_owned()) } else { Ok(()) }
}

/// The rest of `{count}`, `{least,}` or `{least,most}`.
fn counts(rest: &mut &[u8]) -> Result<(), String> {
    let bad = || "a `{` is not followed by counts and `}` (`{2}`, `{1,}`, `{1,3}`)".to_owned();
    let end = rest.iter().position(|&octet| octet == b'}').ok_or_else(bad)?;
    let inside = core::str::from_utf8(&rest[..end]).map_err(|_| bad())?;
    *rest = &rest[end + 1..];
    let count = |text: &str| {
        let is_number = text.bytes().all(|octet| octet.is_ascii_digit());
        text.parse::<u32>().ok().filter(|&count| is_number && count <= MOST).ok_or_else(bad)
    };
    let (least, most) = inside.split_once(',').unwrap_or((inside, inside));
    let least = count(least)?;
    if !most.is_empty() && count(most)? < least {
        return Err(format!("`{{{inside}}}` counts down"));
    }
    Ok(())
}

/// The rest of a `[...]`, in which a backslash is one character like another.
fn bracket(rest: &mut &[u8]) -> Result<(), String> {
    let open = || "a `[` is not closed".to_owned();
    *rest = rest.strip_prefix(b"^").unwrap_or(rest);
    // The character that a range may begin with. At the start, `]` and `-` are such themselves.
    let mut start = None;
    if let [first @ (b']' | b'-'), behind @ ..] = *rest {
        start = Some(*first);
        *rest = behind;
    }
    loop {
        match **rest {
            [] => return Err(open()),
            [b']', ref behind @ ..] => {
                *rest = behind;
                return Ok(());
            }
            [b'[', kind @ (b':' | b'.' | b'='), ref behind @ ..] => {
                start = class(kind, behind, rest)?;
            }
            // A hyphen at the end.
            [b'-', b']', ref behind @ ..] => {
                *rest = behind;
                return Ok(());
            }
            [b'-', end, ref behind @ ..] => {
                let Some(first) = start.take() else {
                    return Err("a `-` stands in a `[...]` where no range can begin".to_owned());
                };
                if first > end || (end == b'[' && matches!(behind, [b':' | b'.' | b'=', ..])) {
                    let end = char::from(end);
                    return Err(format!("`{}-{end}` is not a range", char::from(first)));
                }
                *rest = behind;
            }
            [octet, ref behind @ ..] => {
                start = Some(octet);
                *rest = behind;
            }
        }
    }
}

/// The rest of a `[:name:]`, `[.name.]` or `[=name=]`. Returns the character that it is, if it is one.
fn class<'a>(kind: u8, behind: &'a [u8], rest: &mut &'a [u8]) -> Result<Option<u8>, String> {
    let bad = || format!("a `[{}` is not closed, or names nothing", char::from(kind));
    let end = behind.windows(2).position(|pair| pair == [kind, b']']).ok_or_else(bad)?;
    let (name, behind) = behind.split_at(end);
    *rest = &behind[2..];
    // The long names of single characters (`[.hyphen.]`) are not looked up.
    let is_good = if kind == b':' { CLASSES.contains(&name) } else { !name.is_empty() };
    if !is_good {
        return Err(bad());
    }
    Ok(name.first().copied().filter(|_| kind == b'.' && name.len() == 1))
}

#[cfg(test)]
mod tests {
    use super::check;

    /// Asked of kea-dhcp4 2.2, with each as the `hostname-char-set` of a subnet.
    const TAKEN: [&str; 35] = [
        "",
        r"\d",
        r"[a\]",
        "[]a]",
        "[^]a]",
        "a**",
        "a+?",
        "()",
        "a{1,}",
        "[[:alpha:]]",
        "[[.a.]]",
        "[[=a=]]",
        "[[.hyphen.]]",
        "a||b",
        "|",
        "(|a)",
        r"\.",
        r"\/",
        r"a\1",
        r"(a)\1",
        "[a-]",
        "[-a]",
        "[--a]",
        "[&&]",
        "[a[b]",
        "a{999}",
        "x*{2}",
        "[é]",
        "a$b",
        "[%--]",
        "a}",
        "]",
        "^",
        "[^A-Za-z0-9.-]",
        "[a-a]",
    ];
    const REFUSED: [&str; 27] = [
        "[^]",
        "[]",
        "*",
        "^*",
        "(?:a)",
        "a)",
        "(a",
        "a{",
        "{1}",
        "a{2,1}",
        "a{1",
        "a{,1}",
        "[z-a]",
        "[[:foo:]]",
        r"a\",
        "[a--]",
        "[a-z-9]",
        "[a-b-c]",
        "[[:alpha:]-z]",
        "a{100000}",
        "$*",
        "[[:alpha:]",
        "[[:a]",
        "[[.a]",
        "a{x}",
        "a{1x}",
        "^[A-",
    ];

    #[test]
    fn what_kea_refuses_is_refused_and_nothing_else() {
        for expression in TAKEN {
            assert_eq!(check(expression.as_bytes()), Ok(()), "{expression}");
        }
        for expression in REFUSED {
            assert!(check(expression.as_bytes()).is_err(), "{expression}");
        }
        assert_eq!(check("a".repeat(4096).as_bytes()), Ok(()));
        assert!(check("a".repeat(4097).as_bytes()).is_err());
    }

    #[test]
    fn every_cut_is_answered() {
        let expression = br"^([^]a-z[:alpha:]\-]{1,3}|(\.+)[.b.]?)[[.-.]-9]$";
        assert_eq!(check(expression), Ok(()));
        for end in 0..expression.len() {
            for start in 0..end {
                // Only that it comes back: most of them are wrong.
                let _ = check(&expression[start..end]);
            }
        }
    }
}
