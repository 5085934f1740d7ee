//! Translator of extended regular expressions (POSIX 1003.1 §9.4), as Kea's library takes them over
//! bytes, to the syntax of the library that makes automata of them. Expressions that Kea's library
//! refuses are refused.
//!
//! `hostname-char-set` is one: see [`CharacterSet`](super::CharacterSet). Expressions of `match`
//! are of another kind: see [`Pattern`](crate::expression::Pattern).

use core::fmt::Write;

/// Maximum length of an extended regular expression that Kea takes, in bytes.
const LONGEST: usize = 4096;

/// Maximum count in a repetition `{...}`; more states than this are too many for Kea.
const MOST: u32 = 99_999;

/// Function that tests whether a byte belongs to a class of characters.
type Membership = fn(&u8) -> bool;

/// Names of classes of characters inside of brackets, such as `digit`, as the C locale has them.
const CLASSES: [(&[u8], Membership); 15] = [
    (b"alnum", u8::is_ascii_alphanumeric),
    (b"alpha", u8::is_ascii_alphabetic),
    (b"blank", |octet| matches!(octet, b' ' | b'\t')),
    (b"cntrl", u8::is_ascii_control),
    (b"d", u8::is_ascii_digit),
    (b"digit", u8::is_ascii_digit),
    (b"graph", u8::is_ascii_graphic),
    (b"lower", u8::is_ascii_lowercase),
    (b"print", |octet| matches!(octet, b' '..=b'~')),
    (b"punct", u8::is_ascii_punctuation),
    (b"s", |octet| matches!(octet, b' ' | b'\t'..=b'\r')),
    (b"space", |octet| matches!(octet, b' ' | b'\t'..=b'\r')),
    (b"upper", u8::is_ascii_uppercase),
    (b"w", |octet| octet.is_ascii_alphanumeric() || *octet == b'_'),
    (b"xdigit", u8::is_ascii_hexdigit),
];

/// Set of bytes that may be at one position of a text, a bit for each byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OctetSet([u64; 4]);

impl OctetSet {
    fn insert(&mut self, octet: u8) {
        self.0[usize::from(octet >> 6)] |= 1 << (octet & 63);
    }

    /// Returns true if the byte `octet` belongs to the set.
    pub(super) const fn contains(&self, octet: u8) -> bool {
        self.0[(octet >> 6) as usize] & 1 << (octet & 63) != 0
    }

    fn all_where(belongs: impl Fn(&u8) -> bool) -> Self {
        let mut set = Self::default();
        (0..=u8::MAX).filter(belongs).for_each(|octet| set.insert(octet));
        set
    }

    /// Appends the set to `pattern` as a class in the automaton library's syntax.
    fn write(&self, pattern: &mut String) {
        let mut octets = (0..=u8::MAX).filter(|&octet| self.contains(octet)).peekable();
        if octets.peek().is_none() {
            // A class that matches nothing.
            pattern.push_str("[^\\x00-\\xff]");
            return;
        }
        pattern.push('[');
        while let Some(first) = octets.next() {
            let mut last = first;
            while let Some(next) = octets.next_if(|&next| last.checked_add(1) == Some(next)) {
                last = next;
            }
            write!(pattern, "\\x{first:02x}-\\x{last:02x}").expect("a string takes everything");
        }
        pattern.push(']');
    }
}

/// Extended regular expression in the syntax of the automaton library.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Translation {
    /// Set of bytes, for an expression that matches one byte of the set and nothing else.
    Octet(OctetSet),
    /// Pattern in the automaton library's syntax for bytes (no Unicode), anchors as `\A` and `\z`.
    Pattern(String),
}

/// Translates an extended regular expression to the syntax of the automaton library.
///
/// # Errors
/// Returns the fault of the regular expression, as a phrase for the operator.
pub(super) fn translate(expression: &[u8]) -> Result<Translation, String> {
    if expression.len() > LONGEST {
        return Err(format!("it has more than {LONGEST} bytes"));
    }
    let mut translator = Translator::default();
    let mut rest = expression;
    while let Some((&octet, tail)) = rest.split_first() {
        rest = tail;
        translator.take(octet, &mut rest)?;
    }
    if !translator.groups.is_empty() {
        return Err("a `(` is not closed".to_owned());
    }
    Ok(match translator.sole {
        Some(set) => Translation::Octet(set),
        None => Translation::Pattern(translator.pattern),
    })
}

/// Translator of one expression: the pattern made from the part that has been read.
#[derive(Debug, Default)]
struct Translator {
    pattern: String,
    /// Offset in `pattern` of the start of the part that an operator can repeat.
    atom: Option<usize>,
    /// Offsets in `pattern` of the starts of the groups that are open.
    groups: Vec<usize>,
    /// Set of bytes of the expression's first position while nothing else was read.
    sole: Option<OctetSet>,
}

impl Translator {
    /// Takes the byte `octet` of the expression, and from `rest` the bytes that belong to it.
    fn take(&mut self, octet: u8, rest: &mut &[u8]) -> Result<(), String> {
        match octet {
            b'*' | b'+' | b'?' => self.repeat(octet, |pattern| pattern.push(char::from(octet))),
            b'{' => {
                let counts = if self.atom.is_some() { counts(rest)? } else { String::new() };
                self.repeat(octet, |pattern| pattern.push_str(&counts))
            }
            b'(' => {
                self.groups.push(self.pattern.len());
                self.symbol("(?:");
                Ok(())
            }
            b')' => {
                let start = self.groups.pop().ok_or_else(|| "`)` closes nothing".to_owned())?;
                self.symbol(")");
                self.atom = Some(start);
                Ok(())
            }
            b'|' => {
                self.symbol("|");
                Ok(())
            }
            b'^' => {
                self.symbol(r"\A");
                Ok(())
            }
            b'$' => {
                self.symbol(r"\z");
                Ok(())
            }
            b'[' => {
                let set = bracket(rest)?;
                self.octet_of(set);
                Ok(())
            }
            b'.' => {
                self.octet_of(OctetSet::all_where(|&octet| octet != 0));
                Ok(())
            }
            b'\\' => {
                let escaped = rest.split_first();
                let (&octet, tail) =
                    escaped.ok_or_else(|| "nothing follows its last `\\`".to_owned())?;
                *rest = tail;
                self.octet_of(OctetSet::all_where(|&other| other == octet));
                Ok(())
            }
            octet => {
                self.octet_of(OctetSet::all_where(|&other| other == octet));
                Ok(())
            }
        }
    }

    /// Appends a symbol to the pattern that cannot be repeated.
    fn symbol(&mut self, text: &str) {
        self.pattern.push_str(text);
        (self.atom, self.sole) = (None, None);
    }

    /// Appends one byte of `set` to the pattern.
    fn octet_of(&mut self, set: OctetSet) {
        self.sole = self.pattern.is_empty().then_some(set);
        self.atom = Some(self.pattern.len());
        set.write(&mut self.pattern);
    }

    /// Repeats the last part of the pattern, with the operator that `write` appends. The result
    /// then is the last part: `a+?` means `(a+)?` in these expressions.
    fn repeat(&mut self, octet: u8, write: impl FnOnce(&mut String)) -> Result<(), String> {
        let Some(start) = self.atom else {
            return Err(format!("`{}` has nothing before it to repeat", char::from(octet)));
        };
        self.pattern.insert_str(start, "(?:");
        self.pattern.push(')');
        write(&mut self.pattern);
        self.sole = None;
        Ok(())
    }
}

/// Takes the rest of a repetition `{count}`, `{least,}` or `{least,most}` from the expression;
/// returns the whole of it.
fn counts(rest: &mut &[u8]) -> Result<String, String> {
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
        return Err(format!("`{{{inside}}}` has a minimum above its maximum"));
    }
    Ok(format!("{{{inside}}}"))
}

/// Returns the rank of a byte as the start of a range in brackets, as Kea's library compares them:
/// bytes above 127 come first.
const fn rank(octet: u8) -> i8 {
    octet.cast_signed()
}

/// Takes the rest of a bracket expression `[...]`, in which a backslash is an ordinary character,
/// and returns the bytes that it matches.
fn bracket(rest: &mut &[u8]) -> Result<OctetSet, String> {
    let open = || "a `[` is not closed".to_owned();
    let is_negated = rest.first() == Some(&b'^');
    *rest = rest.strip_prefix(b"^").unwrap_or(rest);
    let mut set = OctetSet::default();
    let closed = |set: OctetSet| {
        if is_negated { OctetSet(set.0.map(|bits| !bits)) } else { set }
    };
    // The character that a range may begin with. At the start, `]` and `-` are characters
    // themselves.
    let mut start = None;
    if let [first @ (b']' | b'-'), tail @ ..] = *rest {
        start = Some(*first);
        set.insert(*first);
        *rest = tail;
    }
    loop {
        match **rest {
            [] => return Err(open()),
            [b']', ref tail @ ..] => {
                *rest = tail;
                return Ok(closed(set));
            }
            [b'[', kind @ (b':' | b'.' | b'='), ref tail @ ..] => {
                start = class(kind, tail, rest, &mut set)?;
            }
            // A hyphen at the end.
            [b'-', b']', ref tail @ ..] => {
                set.insert(b'-');
                *rest = tail;
                return Ok(closed(set));
            }
            [b'-', end, ref tail @ ..] => {
                let Some(first) = start.take() else {
                    return Err(
                        "a `-` in `[...]` is at a position where no range can begin".to_owned()
                    );
                };
                let starts_class = end == b'[' && matches!(tail, [b':' | b'.' | b'=', ..]);
                if rank(first) > rank(end) || starts_class {
                    let end = char::from(end);
                    return Err(format!("`{}-{end}` is not a range", char::from(first)));
                }
                let range = rank(first)..=rank(end);
                (0..=u8::MAX)
                    .filter(|&octet| range.contains(&rank(octet)))
                    .for_each(|octet| set.insert(octet));
                *rest = tail;
            }
            [octet, ref tail @ ..] => {
                start = Some(octet);
                set.insert(octet);
                *rest = tail;
            }
        }
    }
}

/// Takes the rest of a `[:name:]`, `[.name.]` or `[=name=]` in brackets and puts its bytes into
/// `set`. Returns the character that it names, if it names one.
fn class<'a>(
    kind: u8,
    tail: &'a [u8],
    rest: &mut &'a [u8],
    set: &mut OctetSet,
) -> Result<Option<u8>, String> {
    let bad = || format!("a `[{}` is not closed, or names nothing", char::from(kind));
    let end = tail.windows(2).position(|pair| pair == [kind, b']']).ok_or_else(bad)?;
    let (name, tail) = tail.split_at(end);
    *rest = &tail[2..];
    if kind == b':' {
        let class = CLASSES.iter().find(|(class, _)| class.eq_ignore_ascii_case(name));
        let (_, belongs) = class.ok_or_else(bad)?;
        (0..=u8::MAX).filter(belongs).for_each(|octet| set.insert(octet));
        return Ok(None);
    }
    let octet = character(name).ok_or_else(bad)?;
    set.insert(octet);
    if kind == b'=' {
        // Kea's library ignores letter case here.
        set.insert(octet.to_ascii_lowercase());
        set.insert(octet.to_ascii_uppercase());
        return Ok(None);
    }
    Ok((name.len() == 1).then_some(octet))
}

/// Names of the characters that are neither letters nor digits (POSIX 1003.1 §6.1), from the space
/// on.
const NAMES: [(u8, &[u8]); 32] = [
    (b' ', b"space"),
    (b'!', b"exclamation-mark"),
    (b'"', b"quotation-mark"),
    (b'#', b"number-sign"),
    (b'$', b"dollar-sign"),
    (b'%', b"percent-sign"),
    (b'&', b"ampersand"),
    (b'\'', b"apostrophe"),
    (b'(', b"left-parenthesis"),
    (b')', b"right-parenthesis"),
    (b'*', b"asterisk"),
    (b'+', b"plus-sign"),
    (b',', b"comma"),
    (b'-', b"hyphen"),
    (b'.', b"period"),
    (b'/', b"slash"),
    (b':', b"colon"),
    (b';', b"semicolon"),
    (b'<', b"less-than-sign"),
    (b'=', b"equals-sign"),
    (b'>', b"greater-than-sign"),
    (b'?', b"question-mark"),
    (b'@', b"commercial-at"),
    (b'[', b"left-square-bracket"),
    (b'\\', b"backslash"),
    (b']', b"right-square-bracket"),
    (b'^', b"circumflex"),
    (b'_', b"underscore"),
    (b'`', b"grave-accent"),
    (b'{', b"left-curly-bracket"),
    (b'|', b"vertical-line"),
    (b'}', b"right-curly-bracket"),
];

/// Returns the character that a name between `[.` and `.]` means: the name itself, or a character
/// with a long name.
fn character(name: &[u8]) -> Option<u8> {
    if let [octet] = name {
        return Some(*octet);
    }
    NAMES.iter().find(|(_, long_name)| *long_name == name).map(|&(octet, _)| octet)
}

#[cfg(test)]
mod tests {
    use super::{Translation, translate as check};

    /// Expressions that kea-dhcp4 2.2 accepted, each as the `hostname-char-set` of a subnet.
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
            assert!(check(expression.as_bytes()).is_ok(), "{expression}");
        }
        for expression in REFUSED {
            assert!(check(expression.as_bytes()).is_err(), "{expression}");
        }
        assert!(check("a".repeat(4096).as_bytes()).is_ok());
        assert!(check("a".repeat(4097).as_bytes()).is_err());
    }

    fn octets_of(expression: &str) -> Vec<u8> {
        let Ok(Translation::Octet(set)) = check(expression.as_bytes()) else {
            panic!("{expression} is not one octet")
        };
        (0..=u8::MAX).filter(|&octet| set.contains(octet)).collect()
    }

    #[test]
    fn brackets_match_the_octets_that_they_name() {
        for (expression, expected) in [
            ("[a-c]", &b"abc"[..]),
            (r"[a\]", br"\a"),
            ("[]a]", b"]a"),
            ("[a-]", b"-a"),
            ("[--0]", b"-./0"),
            ("[[.a.]-c]", b"abc"),
            ("[[=a=]]", b"Aa"),
            ("[[.hyphen.]x]", b"-x"),
            ("[[:DIGIT:]]", b"0123456789"),
            ("[é]", "é".as_bytes()),
            (r"\.", b"."),
            ("_", b"_"),
        ] {
            let mut expected = expected.to_vec();
            expected.sort_unstable();
            assert_eq!(octets_of(expression), expected, "{expression}");
        }
        assert_eq!(octets_of("[^[:alnum:].-]").len(), 256 - 62 - 2);
        assert_eq!(octets_of(".").len(), 255);
        assert!(check("[a-é]".as_bytes()).is_err());
        for expression in ["", "ab", "a*", "(a)", "a|b", "^a", "a$"] {
            let translation = check(expression.as_bytes());
            assert!(matches!(translation, Ok(Translation::Pattern(_))), "{expression}");
        }
    }

    #[test]
    fn every_cut_is_answered() {
        let expression = br"^([^]a-z[:alpha:]\-]{1,3}|(\.+)[.b.]?)[[.-.]-9]$";
        assert!(check(expression).is_ok());
        for end in 0..expression.len() {
            for start in 0..end {
                // Checks only that it returns: most of them are wrong.
                let _ = check(&expression[start..end]);
            }
        }
    }
}
