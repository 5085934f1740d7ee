//! Tests of Kea's JSON dialect: accepted texts, and the place of each problem in refused ones.

use std::collections::BTreeMap;

use crate::common::{IncludeFiles, accepted, lines, problems};
use dhcp_config::{ConfigProblem, parse_dhcp4};

/// Returns a text with `value` inside `user-context`, which may have any contents.
fn around(value: &str) -> String {
    format!("{{\"Dhcp4\":{{\"user-context\":{{\"x\":{value}}}}}}}")
}

/// Column of the value in the text of [`around`].
const COLUMN: usize = 31;

#[test]
fn values_that_are_read() {
    for value in [
        "0",
        "-0",
        "12",
        "-12",
        "9223372036854775807",
        "-9223372036854775808",
        ".5",
        "1.",
        "-.5",
        "1e3",
        "1E-3",
        "0.5e+2",
        "00.5",
        "true",
        "false",
        "null",
        "\"\"",
        "\"\\u00fF\"",
        "[]",
        "{}",
        "[1]",
        "[[1,{\"a\":[]}]]",
        "/* c */ 1 // d\n",
        "1 # e\n",
        "\"// not a comment\"",
        "\"<?include\"",
        "\"\u{7f}ü\u{1f980}\"",
        "\"\\u00e9\\uef80\\uefff\u{ef80}\u{efff}\"",
    ] {
        let checked = accepted(&around(value));
        assert_eq!(checked.warnings, [], "{value}");
    }
}

#[test]
fn private_characters_stand_for_octets() {
    let id_of = |spelled: &str| {
        let text =
            format!(r#"{{"Dhcp4": {{"reservations": [{{"circuit-id": "'a{spelled}b'"}}]}}}}"#);
        accepted(&text).config.reservations[0].identifier.octets.clone()
    };
    for spelled in ["\\u00e9", "\\uefe9", "\u{efe9}"] {
        assert_eq!(id_of(spelled), b"a\xe9b", "{spelled}");
    }
    assert_eq!(id_of("é\u{ef7f}\u{f000}"), "aé\u{ef7f}\u{f000}b".as_bytes());
    // A byte that is ASCII has a character of its own.
    let refused = problems(&around("\"\\uef7f\""));
    assert_eq!(lines(&refused), [format!("1:{} error `\\uef7f` is beyond `\\u00ff`", COLUMN + 1)]);
}

#[test]
fn values_that_are_refused() {
    let at = |more: usize, message: &str| format!("1:{} error {message}", COLUMN + more);
    for (value, expected) in [
        ("+1", at(0, "a number cannot begin with `+`")),
        ("+1.5", at(0, "a number cannot begin with `+`")),
        ("9223372036854775808", at(0, "`9223372036854775808` does not fit in 64 bits")),
        ("1e400", at(0, "`1e400` is not a number")),
        ("0x10", at(0, "`0x10` is not a number")),
        ("1.2.3", at(0, "`1.2.3` is not a number")),
        ("-", at(0, "`-` is not a number")),
        (".", at(0, "`.` is not a number")),
        (".e5", at(0, "`.e5` is not a number")),
        ("1e", at(0, "`1e` is not a number")),
        ("1-2", at(0, "`1-2` is not a number")),
        ("True", at(0, "`True` is in the wrong case")),
        ("NULL", at(0, "`NULL` is in the wrong case")),
        ("fAlse", at(0, "`fAlse` is in the wrong case")),
        ("yes", at(0, "unexpected word `yes`")),
        ("\"a\\q\"", at(2, "unknown escape")),
        ("\"a\\", at(0, "the string that begins here is not closed")),
        ("\"\\u12\"", at(1, "`\\u` needs four hexadecimal digits")),
        ("\"\\u0100\"", at(1, "`\\u0100` is beyond `\\u00ff`")),
        ("\"ü\u{1}\"", at(2, "raw control character 0x01 in a string")),
        ("\"a\nb\"", at(0, "the string that begins here is not closed")),
        ("\"a", at(0, "the string that begins here is not closed")),
        ("'a'", at(0, "unexpected `'`")),
        ("\u{0}", at(0, "unexpected character U+0000")),
        ("@", at(0, "unexpected `@`")),
        ("", at(0, "expected a value, found `}`")),
        ("[1 2]", at(3, "expected `,` or `]`, found a number")),
        ("[1 \"a\"]", at(3, "a `,` is missing before a string")),
        ("[,1]", at(1, "a list cannot begin with `,`")),
        ("[1}", at(2, "expected `,` or `]`, found `}`")),
        ("{\"a\" 1}", at(5, "expected `:` after key `a`, found a number")),
        ("{1:2}", at(1, "expected a key or `}`, found a number")),
        ("{a:1}", at(1, "unexpected word `a`")),
        ("{\"a\":1,\"b\":2,\"a\":3}", at(13, "key `a` is set twice in this map")),
        ("/* open", at(0, "the comment that begins here is never closed")),
        ("<?include x ?>", at(0, "malformed include")),
        ("<?include \"\"?>", at(0, "malformed include")),
        ("<?include \"x\">", at(0, "malformed include")),
    ] {
        let lines = lines(&problems(&around(value)));
        assert!(lines.contains(&expected), "{value}: {lines:?}, not {expected:?}");
    }
}

#[test]
fn documents_that_are_refused() {
    for (text, expected) in [
        ("", "1:1 error expected a value, found the end of the file"),
        ("// only\n", "2:1 error expected a value, found the end of the file"),
        ("[]", "1:1 error the document must be a map, not a list"),
        ("{}", "1:1 error there is no `Dhcp4` here"),
        ("\u{feff}{}", "1:1 error the text begins with a byte order mark"),
        ("{\"Dhcp4\":{}", "1:12 error the file ends inside a map"),
        ("{\"Dhcp4\":{\n", "2:1 error the file ends inside a map"),
        ("{\"Dhcp4\":[\n1", "2:2 error the file ends inside a list"),
        ("{\"Dhcp4\":{}} }", "1:14 error unexpected `}` after the end of the document"),
        ("{\"Dhcp4\":[]}", "1:10 error `Dhcp4` must be a map, not a list"),
        ("{\"Dhcp4\":null}", "1:10 error `Dhcp4` must be a map, not null"),
        (
            "{\"Dhcp4\":{},\"Dhcp6\":{}}",
            "1:13 error `Dhcp6` is the configuration of another server",
        ),
        ("{\"Dhcp4\":{},\"x\":{}}", "1:13 error unknown key `x` in the document"),
    ] {
        assert_eq!(lines(&problems(text)), [expected], "{text}");
    }
}

#[test]
fn commas_and_zeros_too_many_are_warnings() {
    for (text, expected) in [
        (
            "{\"Dhcp4\":{\"user-context\":{},},}",
            vec!["1:28 warning extra `,`", "1:30 warning extra `,`"],
        ),
        ("{\"Dhcp4\":{\"loggers\":[],,\"subnet4\":[]}}", vec!["1:24 warning extra `,`"]),
        ("{\"Dhcp4\":{}},", vec!["1:13 warning extra `,`"]),
        ("{\"Dhcp4\":{\"renew-timer\":007}}", vec!["1:25 warning `007` has leading zeros"]),
    ] {
        assert_eq!(lines(&accepted(text).warnings), expected, "{text}");
    }
}

#[test]
fn several_problems_of_one_text_come_together_and_in_order() {
    let text = "{\n \"Dhcp4\": {\n  \"authoritative\": True,\n  \"renew-timer\": +7\n  \
                \"rebind-timer\": \"x\",\n  \"loggers\": 1,\n  \"reservations\": [ 1 ],\n\x20 \
                \"foo\": 2 } }";
    assert_eq!(
        lines(&problems(text)),
        [
            "3:20 error `True` is in the wrong case",
            "4:18 error a number cannot begin with `+`",
            "5:3 error a `,` is missing before a string",
            "5:19 error `rebind-timer` must be an integer, not a string",
            "6:14 error `loggers` must be a list, not an integer",
            "7:21 error a reservation must be a map, not an integer",
            "8:3 error unknown key `foo` in `Dhcp4`",
        ]
    );
}

#[test]
fn nesting_is_limited() {
    // The document, `Dhcp4` and the context are three levels.
    let nested = |depth: usize| around(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)));
    accepted(&nested(97));
    let expected = format!("1:{} error lists and maps nest deeper than 100", COLUMN + 97);
    assert_eq!(lines(&problems(&nested(98))), [expected.as_str()]);
    assert_eq!(lines(&problems(&nested(1_000_000))), [expected]);
}

fn with_files(text: &str, files: &[(&str, &str)]) -> Result<(), Vec<ConfigProblem>> {
    let files = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    let mut files = IncludeFiles(files.collect::<BTreeMap<_, _>>());
    parse_dhcp4("main", text, &mut files).map(|_| ())
}

fn first_of(result: Result<(), Vec<ConfigProblem>>) -> ConfigProblem {
    result.expect_err("the text is broken").remove(0)
}

#[test]
fn problems_of_an_included_file_carry_its_name() {
    let text = "{\"Dhcp4\":{\n<? include \"a\" ?>,\"loggers\":[<?include \"b\"?>]}}";
    let files = [("a", "\n\"renew-timer\": \"x\" // end"), ("b", "")];
    let problem = first_of(with_files(text, &files));
    assert_eq!(
        problem.to_string(),
        "a:2:16: error: `renew-timer` must be an integer, not a string\n    \
         \"renew-timer\": \"x\" // end\n                   ^"
    );
}

#[test]
fn a_duplicate_in_an_included_file_names_the_other_place() {
    let text = "{\"Dhcp4\":{\"renew-timer\":1,<?include \"a\"?>}}";
    let problem = first_of(with_files(text, &[("a", " \"renew-timer\":1")]));
    assert_eq!((problem.file.as_str(), problem.line, problem.column), ("a", 1, 2));
    assert_eq!(problem.help.as_deref(), Some("it was set at main:1:11"));
}

#[test]
fn an_include_that_includes_itself_names_the_chain() {
    let files = [("a", "<?include \"b\"?>"), ("b", "\n <?include \"a\"?>")];
    let problem = first_of(with_files("{<?include \"a\"?>}", &files));
    assert_eq!(problem.message, "`a` includes itself");
    assert_eq!(problem.help.as_deref(), Some("the chain of includes is main -> a -> b -> a"));
    assert_eq!((problem.file.as_str(), problem.line, problem.column), ("b", 2, 2));
    let problem = first_of(with_files("<?include \"main\"?>", &[]));
    assert_eq!(problem.help.as_deref(), Some("the chain of includes is main -> main"));
}

#[test]
fn includes_are_limited_in_depth_and_number() {
    let names: Vec<String> = (0..12).map(|i| format!("f{i}")).collect();
    let texts: Vec<String> = (1..13).map(|i| format!("<?include \"f{i}\"?>")).collect();
    let chain: Vec<(&str, &str)> =
        names.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
    let problem = first_of(with_files("<?include \"f0\"?>", &chain));
    assert_eq!(
        (problem.file.as_str(), problem.message.as_str()),
        ("f9", "includes nest deeper than 10")
    );
    // Ten levels of ten includes each would be ten thousand million.
    let texts: Vec<String> = (1..11).map(|i| format!("<?include \"f{i}\"?>").repeat(10)).collect();
    let mut tree: Vec<(&str, &str)> =
        names.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
    tree.truncate(9);
    tree.push(("f9", ""));
    let problem = first_of(with_files("<?include \"f0\"?>", &tree));
    assert_eq!(problem.message, "more than 1000 includes");
}

#[test]
fn an_include_that_cannot_be_read_says_why() {
    let problem = first_of(with_files("{\n  <?include \"gone\"?>}", &[]));
    assert_eq!(problem.message, "cannot include `gone`: no such file");
    assert_eq!((problem.line, problem.column), (2, 3));
}

#[test]
fn a_comment_open_at_the_end_of_an_included_file_does_not_reach_out() {
    let problem = first_of(with_files("{\"Dhcp4\":{<?include \"a\"?>*/}}", &[("a", "\n/* x")]));
    assert_eq!((problem.file.as_str(), problem.line, problem.column), ("a", 2, 1));
}
