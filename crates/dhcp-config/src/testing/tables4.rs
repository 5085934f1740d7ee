//! Keys of random DHCPv4 configurations.
// tidy: table

use super::Generator;

/// Generator of random DHCPv4 configurations: subnet `n` is 10.0.n.0/24.
pub static DHCP4: Generator = Generator {
    top: "Dhcp4",
    subnets: "subnet4",
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
                   { \"name\": \"odd\", \"test\": \"not member('ALL') or option[61].exists\" }, \
                   { \"name\": \"late\", \"only-if-required\": true, \
                     \"test\": \"option[12].exists\", \"next-server\": \"192.0.2.77\", \
                     \"server-hostname\": \"late\" } ]",
                "[ { \"name\": \"c\", \"test\": \"member('ALL') and pkt4.hlen == 6\" }, \
                   { \"name\": \"odd\", \"test\": \"substring(pkt4.mac, 5, 1) == 0x01 or \
                     substring(pkt4.mac, 5, 1) == 0x03 or option[60].hex == 'vendor-b'\", \
                     \"min-valid-lifetime\": 100, \"valid-lifetime\": 300, \"offer-lifetime\": 30 }, \
                   { \"name\": \"v\", \"test\": \"option[60].hex == 'vendor-a'\", \
                     \"next-server\": \"192.0.2.7\", \"boot-file-name\": \"va\", \
                     \"option-data\": [ { \"name\": \"log-servers\", \"data\": \"192.0.2.8\", \
                       \"always-send\": true } ] }, \
                   { \"name\": \"t\", \"template-test\": \"substring(option[60].hex, 7, 1)\" }, \
                   { \"name\": \"SPAWN_t_c\", \"option-data\": [ { \"name\": \"own\", \
                     \"data\": \"7\", \"always-send\": true } ] }, \
                   { \"name\": \"late\", \"only-in-additional-list\": true, \
                     \"test\": \"relay4[2].exists\", \"option-data\": [ { \
                       \"name\": \"cookie-servers\", \"data\": \"192.0.2.9\", \
                       \"always-send\": true } ] }, \
                   { \"name\": \"k\", \"test\": \"member('KNOWN') and member('late') \
                     or relay4[1].hex == 'port-2'\", \"server-hostname\": \"known\" }, \
                   { \"name\": \"DROP\", \"test\": \"option[60].hex == 'drop-me'\" } ]",
            ],
        ),
    ],
    global: &[
        ("stash-agent-options", &["true"]),
        ("echo-client-id", &["false"]),
        ("authoritative", &["true"]),
        (
            "compatibility",
            &[
                "{ \"lenient-option-parsing\": true }",
                "{ \"ignore-rai-link-selection\": true }",
                "{ \"ignore-dhcp-server-identifier\": true }",
                "{ \"exclude-first-last-24\": true }",
            ],
        ),
        (
            "host-reservation-identifiers",
            &[
                "[ \"duid\", \"flex-id\" ]",
                "[ \"auto\" ]",
                "[ \"flex-id\", \"circuit-id\", \"client-id\", \"hw-address\" ]",
            ],
        ),
        (
            "hooks-libraries",
            &[
                "[ { \"library\": \"libdhcp_flex_id.so\", \"parameters\": \
                   { \"identifier-expression\": \"'a'\" } }, { \"library\": \"libdhcp_ha.so\" } ]",
                "[ { \"library\": \"libdhcp_flex_id.so\", \"parameters\": { \
                   \"identifier-expression\": \
                     \"concat('f', hexstring(substring(pkt4.mac, 5, 1), ''))\" } }, \
                   { \"library\": \"libdhcp_lease_cmds.so\" } ]",
                "[ { \"library\": \"libdhcp_flex_id.so\", \"parameters\": { \
                   \"replace-client-id\": true, \"identifier-expression\": \
                     \"concat('f', hexstring(substring(pkt4.mac, 5, 1), ''))\" } }, \
                   { \"library\": \"libdhcp_bootp.so\" } ]",
            ],
        ),
    ],
    terms: &[
        ("offer-lifetime", &["0", "60"]),
        ("match-client-id", &["false"]),
        ("next-server", &["\"192.0.2.1\"", "\"\""]),
        ("server-hostname", &["\"s\""]),
        ("boot-file-name", &["\"\u{e9}\"", "\"b\""]),
        (
            "option-data",
            &[
                "[ { \"name\": \"routers\", \"data\": \"192.0.2.1\", \"always-send\": true } ]",
                "[ { \"code\": 6, \"data\": \"192.0.2.1, 192.0.2.2\" }, { \"code\": 250, \
                   \"csv-format\": false, \"data\": \"0102\", \"never-send\": true } ]",
                "[ { \"name\": \"own\", \"data\": \"1, 2\" }, { \"name\": \"r\", \
                   \"data\": \"3, x\" }, { \"code\": 250, \"csv-format\": false, \"data\": \"03\" } ]",
                "[ { \"space\": \"vendor-4491\", \"code\": 77, \"csv-format\": false, \
                   \"data\": \"0a0b\", \"always-send\": true }, \
                   { \"name\": \"vivso-suboptions\", \"data\": \"4491\" }, \
                   { \"name\": \"routers\", \"data\": \"192.0.2.4\" }, \
                   { \"name\": \"routers\", \"data\": \"192.0.2.5\", \
                     \"client-classes\": [ \"odd\" ] } ]",
            ],
        ),
    ],
    links: &[
        (
            "relay",
            &[
                "{ \"ip-address\": \"192.0.2.9\" }",
                "{ \"ip-addresses\": [ \"192.0.2.10\", \"192.0.2.11\" ] }",
                "{ \"ip-addresses\": [ ] }",
                "{ \"ip-address\": \"\" }",
            ],
        ),
        ("interface", &["\"eth0\"", "\"eth1\"", "\"\""]),
        ("client-class", &["\"c\"", "\"\""]),
    ],
    subnet: &[
        ("4o6-subnet", &["\"2001:db8::/32\"", "\"\""]),
        ("4o6-interface-id", &["\"\\u00e9\""]),
        ("client-classes", &["[ \"c\" ]", "[ \"odd\" ]"]),
    ],
    pool: &[
        ("pool-id", &["7"]),
        ("comment", &["\"p\""]),
        ("client-class", &["\"odd\"", "\"UNKNOWN\"", "\"c\""]),
        ("require-client-classes", &["[ \"late\" ]"]),
        (
            "option-data",
            &[
                "[ { \"name\": \"time-servers\", \"data\": \"192.0.2.30\", \"always-send\": true } ]",
                "[ { \"name\": \"routers\", \"data\": \"192.0.2.31\" } ]",
            ],
        ),
    ],
    host: &[
        ("hostname", &["\"h\"", "\"h.example.org.\""]),
        ("client-classes", &["[ \"c\" ]", "[ \"late\", \"odd\" ]"]),
        ("next-server", &["\"192.0.2.40\""]),
        ("boot-file-name", &["\"host\""]),
        ("server-hostname", &["\"hosts\""]),
        ("comment", &["\"z\""]),
        (
            "option-data",
            &[
                "[ { \"code\": 250, \"csv-format\": false, \"data\": \"01\" } ]",
                "[ { \"name\": \"ntp-servers\", \"data\": \"192.0.2.41\", \"always-send\": true } ]",
            ],
        ),
    ],
    prefix: |n| format!("10.0.{n}.{}/24", n % 3),
    ranges: |n| {
        vec![
            format!("\"pool\": \"10.0.{n}.0/29\""),
            format!("\"pool\": \"10.0.{n}.200 - 10.0.{n}.210\""),
        ]
    },
    reserved: |n, host| {
        vec![
            format!("\"ip-address\": \"10.0.{n}.{}\"", host + 1),
            format!("\"ip-address\": \"10.0.{n}.{}\"", host + 100),
        ]
    },
    delegated: |_, _| None,
    identifiers: &[
        |host| format!("\"hw-address\": \"02:00:00:00:00:{host:02x}\""),
        |host| format!("\"client-id\": \"01:02:00:00:00:00:{host:02x}\""),
        |host| format!("\"duid\": \"00:03:00:01:02:00:00:00:00:{host:02x}\""),
        |host| format!("\"circuit-id\": \"'port-{host}'\""),
        |host| format!("\"flex-id\": \"'f{host:02x}'\""),
        |host| format!("\"circuit-id\": \"'\\u00e9{host}'\""),
    ],
};
