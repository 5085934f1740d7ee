//! Keys of random DHCPv6 configurations.
// tidy: table

use super::Generator;

/// Generator of random DHCPv6 configurations: subnet `n` is 2001:db8:n::/64, with prefixes of
/// 2001:db9:n::/48.
pub static DHCP6: Generator = Generator {
    top: "Dhcp6",
    subnets: "subnet6",
    always: &[
        (
            "option-def",
            &[
                "[ { \"name\": \"own\", \"code\": 251, \"type\": \"uint16\", \"array\": true }, \
                   { \"name\": \"r\", \"code\": 252, \"type\": \"record\", \
                     \"record-types\": \"uint8, string\" } ]",
                "[ { \"name\": \"r\", \"code\": 252, \"type\": \"record\", \
                     \"record-types\": \"uint16, string\", \"encapsulate\": \"inner\" }, \
                   { \"name\": \"own\", \"code\": 251, \"type\": \"uint8\", \"array\": true }, \
                   { \"name\": \"in\", \"space\": \"inner\", \"code\": 1, \"type\": \"fqdn\" } ]",
            ],
        ),
        (
            "client-classes",
            &[
                "[ { \"name\": \"c\", \"test\": \"member('ALL')\", \"valid-lifetime\": 5, \
                     \"comment\": \"x\" }, { \"name\": \"d\", \"option-data\": [ { \"code\": 250, \
                     \"csv-format\": false, \"data\": \"'a'\", \"client-classes\": [ \"c\" ] } ] }, \
                   { \"name\": \"odd\", \"test\": \"not member('ALL') or option[1].exists\" }, \
                   { \"name\": \"late\", \"only-if-required\": true, \
                     \"test\": \"option[16].exists\", \"option-data\": [ { \
                       \"name\": \"sntp-servers\", \"data\": \"2001:db8::77\", \
                       \"always-send\": true } ] } ]",
                "[ { \"name\": \"c\", \"test\": \"member('ALL') and not (pkt6.transid == 0)\" }, \
                   { \"name\": \"odd\", \"test\": \"substring(option[1].hex, 9, 1) == 0x01 or \
                     substring(option[1].hex, 9, 1) == 0x03 or option[15].hex == 'vendor-b'\", \
                     \"min-valid-lifetime\": 100, \"valid-lifetime\": 300, \
                     \"preferred-lifetime\": 200 }, \
                   { \"name\": \"v\", \"test\": \"vendor.enterprise == 4491\", \
                     \"option-data\": [ { \"name\": \"nis-servers\", \"data\": \"2001:db8::8\", \
                       \"always-send\": true } ] }, \
                   { \"name\": \"t\", \"template-test\": \"substring(option[15].hex, 7, 1)\" }, \
                   { \"name\": \"SPAWN_t_c\", \"option-data\": [ { \"name\": \"own\", \
                     \"data\": \"7\", \"always-send\": true } ] }, \
                   { \"name\": \"k\", \"test\": \"member('KNOWN') and not member('odd')\", \
                     \"option-data\": [ { \"name\": \"nisp-servers\", \"data\": \"2001:db8::b\", \
                       \"always-send\": true } ] }, \
                   { \"name\": \"late\", \"only-in-additional-list\": true, \
                     \"test\": \"relay6[0].option[37].exists\", \"option-data\": [ { \
                       \"name\": \"sntp-servers\", \"data\": \"2001:db8::9\", \
                       \"always-send\": true } ] }, \
                   { \"name\": \"DROP\", \"test\": \"option[15].hex == 'drop-me'\" } ]",
            ],
        ),
    ],
    global: &[
        ("allow-address-registration", &["false"]),
        ("mac-sources", &["[ \"duid\", \"any\" ]", "[ \"client-link-addr-option\" ]"]),
        ("relay-supplied-options", &["[ \"100\" ]", "[ ]"]),
        ("server-id", &["{ \"type\": \"EN\", \"enterprise-id\": 9 }", "{ \"type\": \"LL\" }"]),
        ("compatibility", &["{ \"lenient-option-parsing\": true }"]),
        (
            "host-reservation-identifiers",
            &[
                "[ \"duid\", \"flex-id\" ]",
                "[ \"auto\" ]",
                "[ \"flex-id\", \"hw-address\", \"duid\" ]",
            ],
        ),
        (
            "hooks-libraries",
            &[
                "[ { \"library\": \"libdhcp_flex_id.so\", \"parameters\": \
                   { \"identifier-expression\": \"'a'\" } }, { \"library\": \"libdhcp_ha.so\" } ]",
                "[ { \"library\": \"libdhcp_flex_id.so\", \"parameters\": { \
                   \"identifier-expression\": \
                     \"concat('f', hexstring(substring(option[1].hex, 9, 1), ''))\" } }, \
                   { \"library\": \"libdhcp_lease_cmds.so\" } ]",
                "[ { \"library\": \"libdhcp_flex_id.so\", \"parameters\": { \
                   \"replace-client-id\": true, \"ignore-iaid\": true, \"identifier-expression\": \
                     \"concat('f', hexstring(substring(option[1].hex, 9, 1), ''))\" } } ]",
            ],
        ),
    ],
    terms: &[
        ("preferred-lifetime", &["0", "3000", "8000"]),
        ("min-preferred-lifetime", &["0"]),
        ("max-preferred-lifetime", &["8500"]),
        ("pd-allocator", &["\"random\"", "\"flq\""]),
        (
            "option-data",
            &[
                "[ { \"name\": \"dns-servers\", \"data\": \"2001:db8::1\" } ]",
                "[ { \"name\": \"own\", \"data\": \"1, 2\" }, { \"name\": \"r\", \
                   \"data\": \"3, x\" }, { \"code\": 250, \"csv-format\": false, \"data\": \"03\", \
                   \"always-send\": true } ]",
                "[ { \"name\": \"dns-servers\", \"never-send\": true } ]",
                "[ { \"space\": \"vendor-4491\", \"code\": 77, \"csv-format\": false, \
                   \"data\": \"0a0b\", \"always-send\": true }, \
                   { \"name\": \"vendor-opts\", \"data\": \"4491\" }, \
                   { \"name\": \"dns-servers\", \"data\": \"2001:db8::4\" }, \
                   { \"name\": \"dns-servers\", \"data\": \"2001:db8::5\", \
                     \"client-classes\": [ \"odd\" ] } ]",
            ],
        ),
    ],
    links: &[
        (
            "relay",
            &[
                "{ \"ip-address\": \"2001:db8::9\" }",
                "{ }",
                "{ \"ip-addresses\": [ \"2001:db8::a\" ] }",
            ],
        ),
        ("interface-id", &["\"\\u00fe\\u0001\"", "\"\"", "\"i\""]),
        ("interface", &["\"eth0\"", "\"eth1\"", "\"\""]),
        ("rapid-commit", &["true", "false"]),
        ("client-class", &["\"c\"", "\"\""]),
    ],
    subnet: &[("client-classes", &["[ \"c\" ]", "[ \"odd\" ]"])],
    pool: &[
        ("pool-id", &["7"]),
        ("comment", &["\"p\""]),
        ("client-class", &["\"odd\"", "\"UNKNOWN\"", "\"c\""]),
        ("require-client-classes", &["[ \"late\" ]"]),
        (
            "option-data",
            &[
                "[ { \"name\": \"domain-search\", \"data\": \"example.org\", \
                     \"always-send\": true } ]",
                "[ { \"name\": \"dns-servers\", \"data\": \"2001:db8::31\" } ]",
            ],
        ),
    ],
    host: &[
        ("hostname", &["\"h\"", "\"h.example.org.\""]),
        ("client-classes", &["[ \"c\" ]", "[ \"late\", \"odd\" ]"]),
        ("comment", &["\"z\""]),
        (
            "option-data",
            &[
                "[ { \"code\": 250, \"csv-format\": false, \"data\": \"01\" } ]",
                "[ { \"name\": \"sip-server-addr\", \"data\": \"2001:db8::41\", \
                     \"always-send\": true } ]",
            ],
        ),
    ],
    prefix: |n| format!("2001:db8:{n:x}::{:x}/64", n % 3),
    ranges: |n| {
        vec![
            format!("\"pool\": \"2001:db8:{n:x}::/125\""),
            format!("\"pool\": \"2001:db8:{n:x}::1:0 - 2001:db8:{n:x}::1:ff\""),
        ]
    },
    reserved: |n, host| {
        vec![
            format!("\"ip-addresses\": [ \"2001:db8:{n:x}::{host:x}\" ]"),
            format!(
                "\"ip-addresses\": [ \"2001:db8:{n:x}::2:{host:x}\" ], \
                 \"prefixes\": [ \"2001:db9:{n:x}:{host:x}00::/56\" ]"
            ),
            format!(
                "\"prefixes\": [ \"2001:dba:{n:x}{host:x}::/48\" ], \
                 \"excluded-prefixes\": [ \"2001:dba:{n:x}{host:x}:1::/64\" ]"
            ),
        ]
    },
    delegated: |random, n| {
        let length = random.pick(&[56, 60])?;
        let excluded = match random.below(3) {
            0 => format!(
                ", \"excluded-prefix\": \"2001:db9:{n:x}:1::\", \"excluded-prefix-len\": 64"
            ),
            1 => ", \"client-class\": \"odd\", \"option-data\": [ { \"code\": 253, \
                  \"csv-format\": false, \"data\": \"05\", \"always-send\": true } ]"
                .to_owned(),
            _ => String::new(),
        };
        let pool = format!(
            "\"pd-pools\": [ {{ \"prefix\": \"2001:db9:{n:x}::\", \"prefix-len\": 48, \
             \"delegated-len\": {length}{excluded} }} ]"
        );
        random.chance(3, 4).then_some(pool)
    },
    identifiers: &[
        |host| format!("\"hw-address\": \"02:00:00:00:00:{host:02x}\""),
        |host| format!("\"duid\": \"00:03:00:01:02:00:00:00:00:{host:02x}\""),
        |host| format!("\"flex-id\": \"'f{host:02x}'\""),
        |host| format!("\"flex-id\": \"'\\u00e9{host}'\""),
    ],
};
