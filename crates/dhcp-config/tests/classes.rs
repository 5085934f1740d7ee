//! Tests of `client-classes` and guards, and of the language of tests: accepted and refused
//! expressions, with the places of errors.

use std::net::Ipv4Addr;

use crate::common::{accepted, accepted6, check_marked, problems, problems6};
use dhcp_config::expression::{
    Condition, Conversion, DEPTH_MAX, Field6, OptionPath, OptionValueForm, PacketField, Print,
    Term, TextExpression, Vocabulary, parse_condition, parse_text,
};
use dhcp_config::{ClassTest, Field, Lifetime};

const LIFETIME: Print = Print::Values { field: Field::U32, is_array: false };

/// Family with two options that have names, `host-name` of characters, and one class.
struct TestVocabulary {
    v6: bool,
}

impl Vocabulary for TestVocabulary {
    fn is_v6(&self) -> bool {
        self.v6
    }

    fn option_code(&self, name: &str) -> Option<u16> {
        [("host-name", 12), ("all", 61)].iter().find(|(option, _)| *option == name).map(|o| o.1)
    }

    fn holds_characters(&self, code: u16) -> bool {
        code == 12
    }

    fn values(&self, code: u16) -> Option<(Field, bool)> {
        (code == 51).then_some((Field::U32, false))
    }

    fn check_class(&mut self, name: &str) -> Result<(), String> {
        if name == "known" { Ok(()) } else { Err("unheard of".to_owned()) }
    }
}

fn condition(text: &str) -> Condition {
    parse_condition(text, &mut TestVocabulary { v6: false })
        .unwrap_or_else(|error| panic!("{text}: {} at {}", error.message, error.offset))
}

fn text_of(text: &str, v6: bool) -> TextExpression {
    parse_text(text, &mut TestVocabulary { v6 })
        .unwrap_or_else(|error| panic!("{text}: {} at {}", error.message, error.offset))
}

fn literal(octets: &[u8]) -> Box<TextExpression> {
    Box::new(TextExpression::Literal(octets.to_vec()))
}

fn is(letter: &str) -> Condition {
    Condition::Equal(literal(letter.as_bytes()), literal(&[]))
}

fn all(parts: impl Into<Vec<Condition>>, strict: bool) -> Condition {
    Condition::All { parts: parts.into(), strict }
}

fn any(parts: impl Into<Vec<Condition>>, strict: bool) -> Condition {
    Condition::Any { parts: parts.into(), strict }
}

fn option(codes: &[u16], form: OptionValueForm) -> Term {
    Term::Option(OptionPath { codes: codes.to_vec(), form })
}

/// Returns an expression in which a letter `a` stands for `'a'==''` and so on.
fn letters(text: &str) -> Condition {
    let long: String = text
        .split_inclusive(' ')
        .map(|word| match word.trim().trim_matches(['(', ')']) {
            letter if letter.len() == 1 => word.replacen(letter, &format!("'{letter}'==''"), 1),
            _ => word.to_owned(),
        })
        .collect();
    condition(&long)
}

#[test]
fn operators_bind_as_in_kea() {
    let not = |condition| Condition::Not(Box::new(condition));
    let [a, b, c, d] = ["a", "b", "c", "d"].map(is);
    assert_eq!(
        letters("a or b and c"),
        any([a.clone(), all([b.clone(), c.clone()], false)], false)
    );
    assert_eq!(
        letters("a and b or c"),
        any([all([a.clone(), b.clone()], false), c.clone()], false)
    );
    assert_eq!(letters("not a and b"), all([not(a.clone()), b.clone()], false));
    assert_eq!(letters("not not a"), not(not(a.clone())));
    assert_eq!(letters("not ( a and b )"), not(all([a.clone(), b.clone()], false)));
    // By precedence, lowest first: sor, or, sand, and.
    let tight = all([c.clone(), d.clone()], false);
    let strict = all([b.clone(), tight], true);
    assert_eq!(letters("a sor b sand c and d"), any([a.clone(), strict.clone()], true));
    assert_eq!(
        letters("a or b sor c or d"),
        any([any([a.clone(), b.clone()], false), any([c.clone(), d.clone()], false)], true)
    );
    assert_eq!(letters("a and b and c"), all([a.clone(), b.clone(), c.clone()], false));
    assert_eq!(letters("a and ( b and c )"), all([a, all([b, c], false)], false));
}

#[test]
fn strings_join_in_front_of_comparisons() {
    let joined = TextExpression::Concat(vec![*literal(b"b"), *literal(&[0, 0, 0, 7])]);
    assert_eq!(
        condition("'a' == 'b' + 7"),
        Condition::Equal(literal(b"a"), Box::new(joined.clone()))
    );
    assert_eq!(condition("('b' + 7) == 'a'"), Condition::Equal(Box::new(joined), literal(b"a")));
    let three = ["a", "b", "c"].map(|part| *literal(part.as_bytes()));
    assert_eq!(text_of("'a' + 'b' + 'c'", false), TextExpression::Concat(three.to_vec()));
}

#[test]
fn terms_are_what_they_name() {
    for (text, v6, term) in [
        ("option[61].hex", false, option(&[61], OptionValueForm::Octets)),
        ("option [ all ] . hex", false, option(&[61], OptionValueForm::Octets)),
        ("option[host-name].hex", false, option(&[12], OptionValueForm::Characters)),
        ("option[12].text", false, option(&[12], OptionValueForm::Characters)),
        ("option[61].text", false, option(&[61], OptionValueForm::Printed(Print::Octets))),
        ("option[81].text", false, option(&[81], OptionValueForm::Printed(Print::ClientFqdn4))),
        ("option[39].text", true, option(&[39], OptionValueForm::Printed(Print::ClientFqdn6))),
        ("option[39].text", false, option(&[39], OptionValueForm::Printed(Print::Octets))),
        ("option[51].text", false, option(&[51], OptionValueForm::Printed(LIFETIME))),
        (
            "option[82].option[51].text",
            false,
            option(&[82, 51], OptionValueForm::Printed(Print::Octets)),
        ),
        ("option[43].option[1].hex", false, option(&[43, 1], OptionValueForm::Octets)),
        ("relay4[2].hex", false, option(&[82, 2], OptionValueForm::Octets)),
        ("relay4[6].hex", false, option(&[82, 6], OptionValueForm::Characters)),
        ("pkt.len", false, Term::Packet(PacketField::Length)),
        ("pkt6.transid", true, Term::Field6(Field6::TransactionId)),
        ("relay6[-32].peeraddr", true, Term::RelayAddress { level: -32, peer: true }),
        ("relay6[31].linkaddr", true, Term::RelayAddress { level: 31, peer: false }),
        (
            "relay6[0].option[18].hex",
            true,
            Term::RelayOption {
                level: 0,
                path: OptionPath { codes: vec![18], form: OptionValueForm::Octets },
            },
        ),
        ("vendor.enterprise", true, Term::VendorEnterprise),
        ("vendor-class.enterprise", false, Term::VendorClassEnterprise),
        (
            "vendor[*].option[12].hex",
            false,
            Term::Vendor {
                enterprise: None,
                path: Some(OptionPath { codes: vec![12], form: OptionValueForm::Octets }),
            },
        ),
        (
            "vendor-class[4294967295].data",
            false,
            Term::VendorClassData { enterprise: Some(u32::MAX), index: 0 },
        ),
        (
            "vendor-class[0].data[255]",
            false,
            Term::VendorClassData { enterprise: None, index: 255 },
        ),
    ] {
        assert_eq!(text_of(text, v6), TextExpression::Value(term), "{text}");
    }
    let exists = |text: &str| match condition(text) {
        Condition::Exists(term) => term,
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(exists("option[12].exists"), option(&[12], OptionValueForm::Characters));
    assert_eq!(exists("vendor[7].exists"), Term::Vendor { enterprise: Some(7), path: None });
    assert_eq!(exists("vendor-class[7].exists"), Term::VendorClass { enterprise: Some(7) });
}

#[test]
fn functions_take_their_operands_in_order() {
    let of = || literal(b"x");
    for (text, expected) in [
        ("substring('x',-1,all)", TextExpression::Substring { of: of(), start: -1, length: None }),
        (
            "substring('x' , 2 , -3)",
            TextExpression::Substring { of: of(), start: 2, length: Some(-3) },
        ),
        (
            "split('x','.',2)",
            TextExpression::Split { of: of(), delimiters: literal(b"."), field: 2 },
        ),
        ("concat('x','y')", TextExpression::Concat(vec![*of(), *literal(b"y")])),
        ("hexstring('x',':')", TextExpression::Hex { of: of(), separator: literal(b":") }),
        ("uint16totext('x')", TextExpression::Convert(Conversion::U16, of())),
        (
            "lcase(ucase('x'))",
            TextExpression::Convert(
                Conversion::Lower,
                Box::new(TextExpression::Convert(Conversion::Upper, of())),
            ),
        ),
        (
            "sifelse(member('known'),'x','y')",
            TextExpression::Choice {
                condition: Box::new(Condition::Member("known".to_owned())),
                then: of(),
                otherwise: literal(b"y"),
                strict: true,
            },
        ),
    ] {
        assert_eq!(text_of(text, false), expected, "{text}");
    }
}

#[test]
fn what_is_wrong_is_told_at_its_place() {
    for (text, offset, message) in [
        ("", 0, "the end is not expected here"),
        ("'a'", 0, "this is a string; a condition is needed, such as `... == ...`"),
        ("'a' == ('b' == 'c')", 7, "this is a condition; a string is needed"),
        ("'a' == 'b' == 'c'", 0, "this is a condition; a string is needed"),
        ("'a' == 'b' 'c'", 11, "'c' is not expected here"),
        ("not 'a'", 4, "this is a string; a condition is needed, such as `... == ...`"),
        ("'a' == 'b' and 'c'", 15, "this is a string; a condition is needed, such as `... == ...`"),
        ("('a' == 'b'", 11, "`)` is expected, not the end"),
        ("option[256].exists", 7, "256 is not from 0 to 255"),
        ("option[-1].exists", 7, "-1 is not from 0 to 255"),
        ("option[nothing].exists", 7, "option `nothing` is not defined"),
        ("relay4[all].exists", 7, "`all`: name sub-options by their codes"),
        ("option[61].size", 11, "`s` is not allowed here"),
        ("option[61].data", 11, "`data` is not one of: hex, text, exists, option"),
        ("pkt6.msgtype == 1", 0, "`pkt6` exists in DHCPv6 only"),
        ("relay6[0].option[18].exists", 0, "`relay6` exists in DHCPv6 only"),
        (
            "pkt4.peeraddr == 1",
            5,
            "`peeraddr` is not one of: mac, hlen, htype, ciaddr, giaddr, yiaddr, siaddr, msgtype, \
             transid",
        ),
        ("member('stranger')", 7, "unheard of"),
        ("member(known)", 7, "`k` is not allowed here"),
        ("match('(', 'a')", 6, "the regular expression `(` is not valid: unclosed group"),
        (
            "substring('a', 2147483648, 1) == ''",
            15,
            "2147483648 is not from -2147483648 to 2147483647",
        ),
        ("substring('a', 0, 'b') == ''", 18, "an integer is expected, not 'b'"),
        ("ifelse('a', 'b', 'c') == ''", 0, "the first operand of `ifelse` has to be a condition"),
        ("4294967296 == 'a'", 0, "4294967296 is not from 0 to 4294967295"),
        ("'a' != 'b'", 4, "`!` is not allowed here"),
        ("vendor-class[1].data[256] == ''", 21, "256 is not from 0 to 255"),
    ] {
        let error = parse_condition(text, &mut TestVocabulary { v6: false }).expect_err(text);
        assert_eq!((error.offset, error.message.as_str()), (offset, message), "{text}");
    }
    for text in ["pkt4.mac == 1", "relay4[1].exists", "relay6[32].option[1].exists"] {
        assert!(parse_condition(text, &mut TestVocabulary { v6: true }).is_err(), "{text}");
    }
    assert!(parse_text("'a' == 'b'", &mut TestVocabulary { v6: true }).is_err());
}

#[test]
fn nothing_nests_without_end() {
    let nested = |open: &str, levels: usize, close: &str| {
        let text = format!("{}'a' == 'a'{}", open.repeat(levels), close.repeat(levels));
        parse_condition(&text, &mut TestVocabulary { v6: false })
    };
    assert!(nested("(", DEPTH_MAX - 2, ")").is_ok());
    for open in ["(", "not ", "lcase(", "not (ifelse("] {
        let error = nested(open, 100_000, "").expect_err(open);
        assert!(error.message.starts_with("this is nested deeper"), "{}", error.message);
    }
    // Chains are not nested.
    let long = format!("'a' == 'a'{}", " or 'a' == 'b' + 'c' + 'd'".repeat(10_000));
    assert!(parse_condition(&long, &mut TestVocabulary { v6: false }).is_ok());
}

fn classes(marked: &str, expected: &[&str]) {
    let marked = format!("{{ \"Dhcp4\": {{ \"client-classes\": [\n {marked} ] }} }}");
    check_marked(problems, &marked, expected);
}

#[test]
fn classes_are_read_with_all_that_they_set() {
    let checked = accepted(
        r#"{ "Dhcp4": { "client-classes": [
            { "name": "one", "test": "option[host-name].text == 'x\\y'",
              "valid-lifetime": 10, "max-valid-lifetime": 20, "next-server": "10.0.0.1",
              "server-hostname": "h", "boot-file-name": "f", "offer-lifetime": 5,
              "option-data": [ { "name": "routers", "data": "10.0.0.2" } ],
              "user-context": { "limits": {} }, "comment": "c" },
            { "name": "two", "template-test": "option[61].hex", "max-valid-lifetime": 30 },
            { "name": "three", "only-in-additional-list": true },
            { "name": "four", "only-if-required": true, "next-server": "0.0.0.0" },
            { "name": "DROP", "test": "member('one') or member('VENDOR_CLASS_x') or member('KNOWN')" }
        ] } }"#,
    );
    assert_eq!(checked.warnings, []);
    let [one, two, three, four, drop] = &checked.config.client_classes[..] else {
        panic!("{:?}", checked.config.client_classes)
    };
    let Some(ClassTest::Test { source, condition }) = &one.test else { panic!("{one:?}") };
    assert_eq!(source, r"option[host-name].text == 'x\y'");
    let host_name = Box::new(TextExpression::Value(option(&[12], OptionValueForm::Characters)));
    assert_eq!(*condition, Condition::Equal(host_name, literal(br"x\y")));
    assert_eq!(one.valid_lifetime, Some(Lifetime { default_s: 10, min_s: 10, max_s: 20 }));
    assert_eq!(one.own.next_server, Some(Ipv4Addr::new(10, 0, 0, 1)));
    assert_eq!(one.own.server_hostname.as_deref(), Some("h"));
    assert_eq!(one.own.boot_file_name.as_deref(), Some("f"));
    assert_eq!(one.own.offer_lifetime_s, Some(5));
    assert_eq!(one.options[0].octets, [10, 0, 0, 2]);
    let text = TextExpression::Value(option(&[61], OptionValueForm::Octets));
    let source = "option[61].hex".to_owned();
    assert_eq!(two.test, Some(ClassTest::Template { source, text }));
    assert_eq!(two.valid_lifetime, Some(Lifetime { default_s: 30, min_s: 30, max_s: 30 }));
    assert!(!one.only_in_additional_list && three.only_in_additional_list);
    assert!(three.test.is_none() && four.only_in_additional_list && drop.test.is_some());
    assert_eq!((four.own.next_server, four.valid_lifetime), (None, None));
}

#[test]
fn classes_of_dhcpv6_have_preferred_lifetimes() {
    let text = |own: &str| {
        format!(r#"{{ "Dhcp6": {{ "client-classes": [ {{ "name": "a", {own} }} ] }} }}"#)
    };
    let checked = accepted6(&text(
        r#""test": "relay6[0].option[interface-id].hex == 'x'",
        "preferred-lifetime": 5, "valid-lifetime": 9"#,
    ));
    let class = &checked.config.client_classes[0];
    let lifetime = |s| Some(Lifetime { default_s: s, min_s: s, max_s: s });
    assert_eq!((class.own.preferred_lifetime, class.valid_lifetime), (lifetime(5), lifetime(9)));
    let problems = problems6(&text(r#""next-server": "10.0.0.1""#));
    assert_eq!(problems[0].help.as_deref(), Some("`next-server` is a key of DHCPv4"));
}

#[test]
fn what_is_wrong_with_a_class_is_told() {
    classes(r#"^{ "test": "1 == 1" }"#, &["error a client class needs a `name`"]);
    classes(r#"{ "name": "a" }, { "name": ^"a" }"#, &["error client class `a` exists already"]);
    // At the place in the string, escapes counted as written.
    classes(
        r#"{ "name": "a", "test": "'\u0041\\' == member(^'b')" }"#,
        &["error no class `b` is defined before this one"],
    );
    classes(
        r#"{ "name": "a", "test": "member(^'aa')" }, { "name": "aa" }"#,
        &["error no class `aa` is defined before this one"],
    );
    classes(
        r#"{ "name": "gold" }, { "name": "a", "test": "member(^'golf')" }"#,
        &["error no class `golf` is defined before this one; did you mean `gold`?"],
    );
    classes(
        r#"{ "name": "a", "test": "1 == 1", "template-test": ^"'x'" }"#,
        &["error a class has either `test` or `template-test`"],
    );
    classes(
        r#"{ "name": "a", "only-in-additional-list": true, "only-if-required": ^true }"#,
        &["error `only-in-additional-list` and the older `only-if-required` exclude each other"],
    );
    for name in ["ALL", "KNOWN", "UNKNOWN", "BOOTP"] {
        let message =
            format!("error the server itself assigns class `{name}`, so it takes no test");
        classes(&format!(r#"{{ "name": "{name}", "test": ^"1 == 1" }}"#), &[&message]);
    }
    classes(
        r#"{ "name": "DROP", "only-in-additional-list": ^true }"#,
        &["error class `DROP` cannot have `only-in-additional-list`: the server evaluates it \
           before it chooses a lease"],
    );
    classes(
        r#"{ "name": "a", "only-in-additional-list": ^true, "valid-lifetime": 1 }"#,
        &["warning with `only-in-additional-list` the server evaluates the class after it has \
           chosen a lease: lifetimes of the class have no effect"],
    );
    classes(
        r#"{ "name": "a", "min-valid-lifetime": ^1, "max-valid-lifetime": 2 }"#,
        &["error `min-valid-lifetime` and `max-valid-lifetime` need `valid-lifetime`"],
    );
    classes(
        r#"{ "name": "a", "min-valid-lifetime": 3, "valid-lifetime": ^2 }"#,
        &["error `valid-lifetime` (2 s) is not from 3 s to 2 s"],
    );
    classes(
        r#"{ "name": "a", "next-server": ^"255.255.255.255" }"#,
        &["error `next-server` cannot be the broadcast address"],
    );
    classes(r#"{ "name": "a", ^"pools": [] }"#, &["error unknown key `pools` in a client class"]);
}

#[test]
fn guards_are_read_where_they_stand() {
    let guards = |n: u8| {
        format!(r#""client-classes": [ "r{n}", "s{n}" ], "require-client-classes": [ "a{n}" ]"#)
    };
    let old = r#""client-class": "o", "evaluate-additional-classes": [ "y", "x", "y" ]"#;
    let [network, subnet] = [1, 2].map(guards);
    let text = format!(
        r#"{{ "Dhcp4": {{ "shared-networks": [ {{ "name": "n", {network}, "subnet4": [
            {{ "id": 1, "subnet": "10.0.0.0/24", {subnet},
               "pools": [ {{ "pool": "10.0.0.0/28", {old} }}, {{ "pool": "10.0.0.16/28" }} ] }},
            {{ "id": 2, "subnet": "10.0.1.0/24" }} ] }} ] }} }}"#
    );
    let config = accepted(&text).config;
    let names = |names: &[String]| names.join(" ");
    let [one, two] = &config.subnets[..] else { panic!("{config:?}") };
    let scopes = [&config.networks[0].guards, &one.guards, &one.pools[0].guards];
    let required = scopes.map(|guards| names(&guards.required));
    assert_eq!(required, ["r1 s1", "r2 s2", "o"]);
    assert_eq!(scopes.map(|guards| names(&guards.additional)), ["a1", "a2", "y x"]);
    assert!(one.pools[1].guards.required.is_empty() && two.guards.required.is_empty());

    let text = format!(
        r#"{{ "Dhcp6": {{ "subnet6": [ {{ "id": 1, "subnet": "2001:db8::/64", {subnet},
            "pd-pools": [ {{ "prefix": "2001:db8:8::", "prefix-len": 48, "delegated-len": 56,
            {old} }} ] }} ] }} }}"#
    );
    let config = accepted6(&text).config;
    assert_eq!(names(&config.subnets[0].guards.required), "r2 s2");
    assert_eq!(names(&config.subnets[0].own.pd_pools[0].guards.additional), "y x");

    let subnet = |marked: &str| {
        format!(
            r#"{{ "Dhcp4": {{ "subnet4": [ {{ "id": 1, "subnet": "10.0.0.0/24", {marked} }} ] }} }}"#
        )
    };
    for (marked, message) in [
        (
            r#""client-classes": [], "client-class": ^"a""#,
            "error `client-classes` and the older `client-class` exclude each other",
        ),
        (r#""client-classes": [ "a", ^"" ]"#, "error a class name is empty"),
        (r#""client-classes": [ ^1 ]"#, "error `client-classes` must be a string, not an integer"),
    ] {
        check_marked(problems, &subnet(marked), &[message]);
    }
}
