//! Tests of option values: bytes that kea-dhcp4 sent, and the problems of bad values.

use crate::common::{accepted, check_vectors, lines, parse, problems, spelled};
use dhcp_config::{OptionData, OptionSpace};

fn with_option(option: &str) -> String {
    format!("{{\"Dhcp4\":{{\"option-data\":[{option}]}}}}")
}

fn octets_of(option: &str) -> String {
    let Ok(checked) = parse(&with_option(option)) else { return "refused".to_owned() };
    let mut options = checked.config.options.iter();
    let Some(option) = options.find(|option| option.space == OptionSpace::Standard) else {
        return "none".to_owned();
    };
    spelled(&option.octets)
}

#[test]
fn octets_are_those_that_kea_sends() {
    let vectors = include_str!("data/option-vectors.txt");
    assert_eq!(check_vectors(vectors, octets_of), (260, 25), "equal and different");
}

#[test]
fn classless_routes_keep_significant_octets_only() {
    // RFC 3442, the table of encodings.
    for (route, octets) in [
        ("0.0.0.0/0 - 192.0.2.1", "00c0000201"),
        ("10.0.0.0/8 - 192.0.2.1", "080ac0000201"),
        ("10.17.0.0/16 - 192.0.2.1", "100a11c0000201"),
        ("10.27.129.0/24 - 192.0.2.1", "180a1b81c0000201"),
        ("10.229.0.128/25-192.0.2.1", "190ae50080c0000201"),
        ("10.198.122.47/32 - 192.0.2.1", "200ac67a2fc0000201"),
        ("10.0.0.0/8 - 192.0.2.1, 0.0.0.0/0 - 192.0.2.2", "080ac000020100c0000202"),
        ("10.0.0.0/33 - 192.0.2.1", "refused"),
        ("10.0.0.0 - 192.0.2.1", "refused"),
    ] {
        let option = format!("{{\"name\":\"classless-static-route\",\"data\":\"{route}\"}}");
        assert_eq!(octets_of(&option), octets, "{route}");
    }
    for (octets, result) in
        [("080ac0000201", "080ac0000201"), ("080ac00002", "refused"), ("21", "refused")]
    {
        let option = format!("{{\"code\":121,\"csv-format\":false,\"data\":\"{octets}\"}}");
        assert_eq!(octets_of(&option), result, "{octets}");
    }
}

#[test]
fn problems_stand_at_the_value() {
    // The option begins in column 26.
    for (option, expected) in [
        ("{}", vec!["1:26 error an option needs `name` or `code`"]),
        ("{\"code\":224,\"data\":\"01\"}", vec!["1:34 error option 224 has no definition"]),
        (
            "{\"name\":\"routers\",\"data\":\"10.0.0.1, x\"}",
            vec!["1:51 error option `routers`: `x` is not an IPv4 address"],
        ),
        (
            "{\"name\":\"routers\",\"data\":1}",
            vec!["1:51 error `data` must be a string, not an integer"],
        ),
        (
            "{\"name\":\"rooters\",\"data\":\"10.0.0.1\"}",
            vec!["1:34 error unknown option `rooters`"],
        ),
        (
            "{\"name\":\"boot-file-name\",\"data\":\"a,b\"}",
            vec!["1:58 warning the option takes fewer values: those from number 2 on are not sent"],
        ),
        (
            "{\"code\":23,\"csv-format\":false,\"data\":\"0102\"}",
            vec!["1:63 warning bytes too many in the value: 1; its end is not sent"],
        ),
        (
            "{\"code\":51,\"data\":\"7\"}",
            vec!["1:26 warning option 51 (dhcp-lease-time) is set by the server itself"],
        ),
        (
            "{\"code\":1,\"data\":\"255.255.266.0\"}",
            vec!["1:43 error option `subnet-mask`: `255.255.266.0` is not an IPv4 address"],
        ),
        (
            "{\"code\":119,\"data\":\"a.example b.example;c.example\"}",
            vec!["1:45 warning blanks and `;` do not belong between domain names"],
        ),
        (
            "{\"code\":3,\"name\":\"ntp-servers\",\"data\":\"1.1.1.1\"}",
            vec!["1:43 error option 3 is `routers`, not `ntp-servers`"],
        ),
        (
            "{\"code\":3,\"data\":\"1.1.1.1\",\"always-sent\":true}",
            vec!["1:53 error unknown key `always-sent` in an option"],
        ),
    ] {
        assert_eq!(lines(&problems(&with_option(option))), expected, "{option}");
    }
}

#[test]
fn names_between_blanks_and_semicolons_are_names_of_their_own() {
    let octets = |data: &str| {
        let text = with_option(&format!("{{\"code\":119,\"data\":\"{data}\"}}"));
        accepted(&text).config.options[0].octets.clone()
    };
    let expected = octets("a.x, b.x");
    for data in ["a.x b.x", "a.x;b.x", "a.x; b.x", " a.x ,;b.x;", "a.x  b.x"] {
        assert_eq!(octets(data), expected, "{data}");
    }
}

#[test]
fn of_two_options_with_one_code_the_later_is_sent() {
    let text = with_option(
        "{\"name\":\"routers\",\"data\":\"10.0.0.1\"},{\"code\":3,\"data\":\"10.0.0.2\"}",
    );
    let checked = accepted(&text);
    assert_eq!(checked.config.options[0].octets, [10, 0, 0, 2]);
    assert_eq!(lines(&checked.warnings), ["1:26 warning option 3 is set again later in this list"]);
}

#[test]
fn each_scope_has_its_own_options() {
    let text = r#"{"Dhcp4":{
        "option-data":[
            {"code":3,"data":"10.0.0.1","always-send":true},
            {"code":6,"data":"10.0.0.1","never-send":true},
            {"code":42,"data":"10.0.0.1"}],
        "shared-networks":[{"name":"n",
            "option-data":[{"code":6,"data":"10.0.0.2","always-send":true}],
            "subnet4":[{"id":1,"subnet":"10.0.0.0/24",
                "option-data":[{"code":3,"data":"10.0.0.3"},{"code":2,"data":"1"}],
                "pools":[{"pool":"10.0.0.0/24","option-data":[{"code":3,"data":"10.0.0.4"}]}]}]}]
    }}"#;
    let config = accepted(text).config;
    let option = |code, octets: &[u8], always_send, never_send| OptionData {
        code,
        space: OptionSpace::Standard,
        octets: octets.to_vec(),
        always_send,
        never_send,
        client_classes: Vec::new(),
    };
    let subnet = &config.subnets[0];
    assert_eq!(
        subnet.options,
        [option(2, &[0, 0, 0, 1], false, false), option(3, &[10, 0, 0, 3], false, false)]
    );
    assert_eq!(subnet.pools[0].options, [option(3, &[10, 0, 0, 4], false, false)]);
    assert_eq!(config.networks[0].options, [option(6, &[10, 0, 0, 2], true, false)]);
    let [three, six, forty_two] = &config.options[..] else { panic!("three") };
    assert!(three.always_send && !three.never_send && !forty_two.always_send);
    assert!(six.never_send && !six.always_send);
}

#[test]
fn options_of_one_code_may_differ_in_their_class_tags() {
    let text = with_option(
        "{\"code\":6,\"data\":\"10.0.0.1\"},\
         {\"code\":6,\"data\":\"10.0.0.2\",\"client-classes\":[\"b\",\" a \",\"\"]},\
         {\"code\":3,\"data\":\"10.0.0.3\"},\
         {\"code\":6,\"data\":\"10.0.0.4\"},\
         {\"code\":6,\"data\":\"10.0.0.5\",\"client-classes\":[\"a\"]}",
    );
    let checked = accepted(&text);
    let options = checked.config.options.iter();
    let actual: Vec<_> =
        options.map(|o| (o.code, o.octets[3], o.client_classes.join("+"))).collect();
    let text = |text: &str| text.to_owned();
    assert_eq!(
        actual,
        [(3, 3, text("")), (6, 2, text("b+a")), (6, 5, text("a")), (6, 4, text(""))]
    );
    assert_eq!(lines(&checked.warnings), ["1:26 warning option 6 is set again later in this list"]);
}
