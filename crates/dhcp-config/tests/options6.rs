//! Tests of DHCPv6 option values: bytes that kea-dhcp6 sent, and the problems of bad values.

use crate::common::{accepted6, check_vectors, lines, parse6, problems6, spelled};
use dhcp_config::{OptionData, OptionData6, OptionSpace};

fn with_option(option: &str) -> String {
    format!("{{\"Dhcp6\":{{\"option-data\":[{option}]}}}}")
}

fn octets_of(option: &str) -> String {
    let Ok(checked) = parse6(&with_option(option)) else { return "refused".to_owned() };
    let mut options = checked.config.options.iter();
    let Some(option) = options.find(|option| option.space == OptionSpace::Standard) else {
        return "none".to_owned();
    };
    spelled(&option.octets)
}

#[test]
fn octets_are_those_that_kea_sends() {
    let vectors = include_str!("data/option6-vectors.txt");
    assert_eq!(check_vectors(vectors, octets_of), (182, 36), "equal and different");
}

#[test]
fn prefixes_keep_significant_octets_only() {
    // RFC 7598, section 4.1: the prefix takes as many bytes as its length needs.
    for (prefix, octets) in [
        ("2001:db8::/32", "2020010db8"),
        ("2001:db8:8000::/33", "2120010db880"),
        ("2001:db8:ffff::/33", "2120010db880"),
        ("2001:db8::", "refused"),
        ("10.0.0.0/8", "refused"),
    ] {
        let option = format!("{{\"name\":\"pd-exclude\",\"data\":\"{prefix}\"}}");
        assert_eq!(octets_of(&option), octets, "{prefix}");
    }
}

#[test]
fn codes_have_sixteen_bits() {
    let text = with_option(
        "{\"code\":40000,\"csv-format\":false,\"data\":\"0a\",\"always-send\":true},\
         {\"code\":23,\"data\":\"2001:db8::1\",\"never-send\":true}",
    );
    let option = |code, octets: &[u8], always_send, never_send| OptionData6 {
        code,
        space: OptionSpace::Standard,
        octets: octets.to_vec(),
        always_send,
        never_send,
        client_classes: Vec::new(),
    };
    let address = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    assert_eq!(
        accepted6(&text).config.options,
        [option(23, &address, false, true), option(40_000, &[10], true, false)]
    );
}

#[test]
fn problems_stand_at_the_value() {
    // The option begins in column 26.
    for (option, expected) in [
        ("{}", "1:26 error an option needs `name` or `code`"),
        (
            "{\"code\":65536,\"data\":\"01\"}",
            "1:34 error `code` is 65536; it must be from 1 to 65535",
        ),
        ("{\"code\":1000,\"data\":\"01\"}", "1:34 error option 1000 has no definition"),
        (
            "{\"name\":\"dns-servers\",\"data\":\"10.0.0.1\"}",
            "1:55 error option `dns-servers`: `10.0.0.1` is not an IPv6 address",
        ),
        ("{\"name\":\"routers\",\"data\":\"2001:db8::1\"}", "1:34 error unknown option `routers`"),
        (
            "{\"code\":6,\"data\":\"70000\"}",
            "1:43 error option `oro`: `70000` is not from 0 to 65535",
        ),
        (
            "{\"code\":24,\"data\":\"a.example;b.example\"}",
            "1:44 warning blanks and `;` do not belong between domain names",
        ),
        (
            "{\"code\":18,\"data\":\"0a\"}",
            "1:26 warning option 18 (interface-id) is set by the server itself",
        ),
        (
            "{\"code\":23,\"data\":\"::1\",\"space\":\"dhcp4\"}",
            "1:58 error option space `dhcp4` is for the other DHCP version",
        ),
    ] {
        assert_eq!(lines(&problems6(&with_option(option))), [expected], "{option}");
    }
}

#[test]
fn each_scope_has_its_own_options() {
    let text = r#"{"Dhcp6":{
        "option-data":[
            {"code":23,"data":"::1","always-send":true},
            {"code":31,"data":"::1","never-send":true}],
        "shared-networks":[{"name":"n",
            "option-data":[{"code":31,"data":"::2","always-send":true}],
            "subnet6":[{"id":1,"subnet":"2001:db8::/64",
                "option-data":[{"code":7,"data":"1"}],
                "pools":[{"pool":"2001:db8::/80","option-data":[{"code":23,"data":"::3"}]}],
                "pd-pools":[{"prefix":"3001::","prefix-len":16,"delegated-len":56,
                    "option-data":[{"code":31,"data":"::4"}]}]}]}]
    }}"#;
    let config = accepted6(text).config;
    let option = |code, last, always_send, never_send| OptionData {
        code,
        space: OptionSpace::Standard,
        octets: vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last],
        always_send,
        never_send,
        client_classes: Vec::new(),
    };
    let subnet = &config.subnets[0];
    let [seven] = &subnet.options[..] else { panic!("one") };
    assert_eq!((seven.code, seven.octets.as_slice()), (7, &[1_u8][..]));
    assert_eq!(subnet.pools[0].options, [option(23, 3, false, false)]);
    assert_eq!(subnet.own.pd_pools[0].options, [option(31, 4, false, false)]);
    assert_eq!(config.networks[0].options, [option(31, 2, true, false)]);
    assert_eq!(config.options, [option(23, 1, true, false), option(31, 1, false, true)]);
}
