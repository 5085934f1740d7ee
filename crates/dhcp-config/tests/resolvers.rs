//! Tests of `v4-dnr` and `v6-dnr` (RFC 9463): the bytes of Kea's own tests and manual, and the
//! texts that Kea refuses.

use crate::common::{lines, parse, parse6, problems, problems6, spelled};

fn option4(data: &str) -> String {
    format!("{{\"Dhcp4\":{{\"option-data\":[{{\"code\":162,{data}}}]}}}}")
}

fn option6(data: &str) -> String {
    format!("{{\"Dhcp6\":{{\"option-data\":[{{\"code\":144,{data}}}]}}}}")
}

fn octets4(data: &str) -> String {
    let checked = parse(&option4(data)).map(|checked| checked.config.options);
    checked.map_or_else(|_| "refused".to_owned(), |options| spelled(&options[0].octets))
}

fn octets6(data: &str) -> String {
    let checked = parse6(&option6(data)).map(|checked| checked.config.options);
    checked.map_or_else(|_| "refused".to_owned(), |options| spelled(&options[0].octets))
}

/// Returns `data` as text of the configuration, in which a backslash is written twice.
fn text(data: &str) -> String {
    format!("\"data\":\"{}\"", data.replace('\\', "\\\\"))
}

fn hex(data: &str) -> String {
    format!("\"csv-format\":false,\"data\":\"{data}\"")
}

/// Returns `myhostN.example.com` as labels.
fn host(number: char) -> String {
    format!("076d79686f73743{number}076578616d706c6503636f6d00")
}

const ADDRESSES: &str = "08c0a80001c0a80002";

#[test]
fn dhcpv4_lists_resolvers_behind_their_lengths() {
    let [one, two, three] = ['1', '2', '3'].map(host);
    for (data, octets) in [
        ("1, myhost1.example.com.", format!("0018000115{one}")),
        (
            "1, myhost1.example.com. | 2, myhost2.example.com. | 3, myhost3.example.com.",
            format!("0018000115{one}0018000215{two}0018000315{three}"),
        ),
        (
            r"1, myhost1.example.com. | 2, myhost2.example.com., 192.168.0.1 192.168.0.2, alpn=dot\,doq",
            format!("0018000115{one}002d000215{two}{ADDRESSES}000100080364 6f7403646f71"),
        ),
        (
            "1, myhost1.example.com. | 2, myhost2.example.com., 192.168.0.1 192.168.0.2",
            format!("0018000115{one}0021000215{two}{ADDRESSES}"),
        ),
        // The parameters are sent in the order of their numbers.
        (
            r"1, myhost1.example.com. | 2, myhost2.example.com., 192.168.0.1 192.168.0.2, port=85 alpn=dot\,doq",
            format!(
                "0018000115{one}0033000215{two}{ADDRESSES}0001000803646f7403646f71000300020055"
            ),
        ),
        // A pipe that belongs to a value.
        (
            r"1, A.b, 10.0.0.1, dohpath=/a\|b{?dns}",
            "001b0001050161016200040a000001".to_owned() + "0007000a2f617c627b3f646e737d",
        ),
        // Only blanks in the place of parameters.
        ("1,a.,10.0.0.1, ", "000b00010301610004 0a000001".to_owned()),
        // Empty values are skipped.
        ("1,,a.,", "000600010301 6100".to_owned()),
        (r"1, a., 10.0.0.1,  port=1  port==2 ", "refused".to_owned()),
        (r"1, a., 10.0.0.1, =port==7 ", "001100010301610004 0a000001 0003 0002 0007".to_owned()),
        // Characters beyond ASCII.
        (
            r"1, a., 10.0.0.1, dohpath=/\u00e9{?dns}",
            "001800010301610004 0a000001 0007 0009 2fc3a97b3f646e737d".to_owned(),
        ),
    ] {
        let data = text(data).replace(r"\\u", r"\u");
        assert_eq!(octets4(&data), octets.replace(' ', ""), "{data}");
    }
}

#[test]
fn dhcpv6_has_one_resolver_in_an_option() {
    let host = "066d79686f7374076578616d706c6503636f6d00";
    let addresses = "002020010db8000000000000000000000001 20010db8000000000000000000000002";
    for (data, octets) in [
        ("9, myhost.example.com.", format!("00090014{host}")),
        (
            "9, myhost.example.com., 2001:db8:1::dead:beef ff02::face:b00c, alpn=imap",
            format!(
                "00090014{host}002020010db80001000000000000deadbeefff0200000000000000000000face\
                 b00c00010005 04696d6170"
            ),
        ),
        // Both examples of Kea's manual.
        (
            "100, dot1.example.org., 2001:db8::1 2001:db8::2, alpn=dot port=8530",
            format!(
                "0064 0012 04646f7431076578616d706c65036f726700 {addresses} 0001 0004 03646f74 \
                 0003 0002 2152"
            ),
        ),
        (
            r"150, resolver.example., 2001:db8::1 2001:db8::2, alpn=dot\,doq\,h2\,h3 dohpath=/q{?dns}",
            format!(
                "0096 0012 087265736f6c766572076578616d706c6500 {addresses} 0001 000e 03646f74 \
                 03646f71 026832 026833 0007 0008 2f717b3f646e737d"
            ),
        ),
        // A pipe is no separator here, and needs no backslash.
        ("1, a., ::1, dohpath=/a|b{?dns}", V6_PIPE.to_owned() + "000a2f617c627b3f646e737d"),
        (r"1, a., ::1, dohpath=/a\|b{?dns}", V6_PIPE.to_owned() + "000b2f615c7c627b3f646e737d"),
    ] {
        assert_eq!(octets6(&text(data)), octets.replace(' ', ""), "{data}");
    }
}

/// Resolver `a` at `::1`, up to the length of its `dohpath`.
const V6_PIPE: &str = "0001 0003016100 0010 00000000000000000000000000000001 0007";

/// Texts of a third DHCPv4 resolver that are refused, each with the reason: the cases of Kea's own
/// tests.
const REFUSED: &[(&str, &str)] = &[
    (
        "3",
        "it takes a priority, a name, and if wanted addresses and parameters, not 1 \
           values; write a comma inside of a value as `\\\\,`",
    ),
    (
        "3, test.com., 10.2.3.4, port=1234, extra",
        "it takes a priority, a name, and if wanted addresses and parameters, not 5 values; write \
         a comma inside of a value as `\\\\,`",
    ),
    ("what?, test.com., 10.2.3.4, port=1234", "`what?` is not a priority (0 to 65535)"),
    ("65536, test.com.", "`65536` is not a priority (0 to 65535)"),
    ("100, , 10.2.3.4, port=1234", "the name of the resolver is missing"),
    ("100, a..b", "`a..b` is not a domain name: a label is empty"),
    ("100, test.net. , what?, port=1234", "`what?` is not an IPv4 address"),
    ("100, dot1.example.org., 2001:db8::1", "`2001:db8::1` is not an IPv4 address"),
    ("100, test.net. , , port=1234", "its value for addresses is empty"),
    ("100, test.net. , 10.2.3.4, =", "`=` is not a parameter (`key=value`)"),
    ("100, test.net. , 10.2.3.4, alpn=dot=doq", "`alpn=dot=doq` is not a parameter (`key=value`)"),
    (
        "100, test.net. , 10.2.3.4, ipv4hint=1",
        "`ipv4hint` is not a parameter of this option; it has `alpn`, `port` and `dohpath`",
    ),
    (
        "100, test.net. , 10.2.3.4, unknown=1",
        "`unknown` is not a parameter of this option; it has `alpn`, `port` and `dohpath`",
    ),
    ("100, test.net. , 10.2.3.4, port=1234 port=2345", "parameter `port` is given twice"),
    (
        r"100, test.net. , 10.2.3.4, alpn=dot\,unknown",
        "`unknown` is not the name of a protocol \
           (ALPN)",
    ),
    ("100, test.net. , 10.2.3.4, alpn=h3", "with HTTP among its protocols it needs `dohpath`"),
    ("100, test.net. , 10.2.3.4, port=what?", "`what?` is not a port (0 to 65535)"),
    (
        r"100, test.net. , 10.2.3.4, alpn=dot\,h3 dohpath=/some-path",
        "`dohpath` `/some-path` \
           lacks the variable of DNS queries, `{?dns}`",
    ),
];

#[test]
fn what_kea_refuses_is_refused() {
    for (rest, message) in REFUSED {
        let good = r"1, b. | 2, b., 10.0.0.1 10.0.0.2, alpn=dot\,h3 dohpath=/some\|path{?dns}";
        let expected = format!("1:45 error option `v4-dnr`: resolver 3: {message}");
        assert_eq!(lines(&problems(&option4(&text(&format!("{good} | {rest}"))))), [expected]);
    }
    for (data, message) in [
        ("", "it has no value"),
        ("100, dot1.example.org., 10.0.2.3", "`10.0.2.3` is not an IPv6 address"),
        (
            "100, a., ::1, ipv6hint=x",
            "`ipv6hint` is not a parameter of this option; it has `alpn`, `port` and `dohpath`",
        ),
        (
            "100, a. | 200, b.",
            "`a. | 200` is not a domain name: blanks and characters beyond ASCII \
               do not occur in one",
        ),
    ] {
        let expected = format!("1:45 error option `v6-dnr`: {message}");
        assert_eq!(lines(&problems6(&option6(&text(data)))), [expected], "{data}");
    }
    let most = ["10.0.0.1"; 64].join(" ");
    let message = "1:45 error option `v4-dnr`: resolver 1: a part of 256 bytes is too long";
    assert_eq!(lines(&problems(&option4(&text(&format!("1, a., {most}"))))), [message]);
    assert_ne!(octets4(&text(&format!("1, a., {}", &most[9..]))), "refused");
    for empty in ["", "|"] {
        let message = "1:45 error option `v4-dnr`: it has no value";
        assert_eq!(lines(&problems(&option4(&text(empty)))), [message], "{empty}");
    }
}

#[test]
fn octets_are_checked_as_kea_reads_them() {
    let good = "00150001030141000401020304 0003 0002 0035 0007 0000".replace(' ', "");
    // Names are sent in lower case.
    assert_eq!(octets4(&hex(&good)), good.replace("0141", "0161"));
    let six = "000100030141000010 20010db8000000000000000000000001 0001 0002 0161".replace(' ', "");
    assert_eq!(octets6(&hex(&six)), six.replace("0141", "0161"));
    assert_eq!(octets6(&hex("00010003014100")), "00010003016100", "without addresses");
    // When cut, it is whole only after the name (v4 shows that in its length).
    for octets in 0..six.len() / 2 {
        let is_whole = [7, 25].contains(&octets);
        assert_eq!(octets6(&hex(&six[..octets * 2])) != "refused", is_whole, "{octets}");
    }
    for octets in 0..good.len() / 2 {
        assert_eq!(octets4(&hex(&good[..octets * 2])), "refused", "{octets}");
    }
    for (octets, message) in [
        ("00010001", "resolver 1: it ends inside of a field"),
        ("0003000100", "resolver 1: the name of the resolver is missing"),
        ("00060001030161", "resolver 1: it ends inside of a field"),
        (
            "000700010401610000",
            "resolver 1: the name of the resolver is shorter than its length says",
        ),
        ("00060001030361 62", "resolver 1: a domain name in it has no end"),
        ("00070001030161 0000", "resolver 1: 0 bytes are not addresses of 4 bytes each"),
        ("00090001030161 0002 0101", "resolver 1: 2 bytes are not addresses of 4 bytes each"),
        (
            "000f0001030161 0004 01020304 00040000",
            "resolver 1: 4 is not a parameter of this option; it has 1, 3 and 7",
        ),
        (
            "00130001030161 0004 01020304 00030000 00010000",
            "resolver 1: parameter 1 is after 3: write parameters in ascending order",
        ),
        (
            "00130001030161 0004 01020304 00030000 00030000",
            "resolver 1: parameter 3 is after 3: write parameters in ascending order",
        ),
    ] {
        let lines = lines(&problems(&option4(&hex(&octets.replace(' ', "")))));
        let [problem] = &lines[..] else { panic!("{octets}: {lines:?}") };
        assert!(
            problem.ends_with(&format!("error option `v4-dnr`: {message}")),
            "{octets}: {problem}"
        );
    }
}
