//! Keys of random configurations that both families have.
// tidy: table

use super::Choices;

/// Keys with values that the global scope, networks and subnets share.
pub(super) const TERMS: Choices = &[
    ("valid-lifetime", &["4000", "7200", "7201"]),
    ("min-valid-lifetime", &["0", "600"]),
    ("max-valid-lifetime", &["9000", "4294967295"]),
    ("renew-timer", &["0", "100"]),
    ("rebind-timer", &["200", "7200"]),
    ("calculate-tee-times", &["true", "false"]),
    ("t1-percent", &["0.25", "0.5"]),
    ("t2-percent", &["0.75", "0.999"]),
    ("cache-threshold", &["0", "0.5"]),
    ("cache-max-age", &["0", "77"]),
    ("adaptive-lease-time-threshold", &["1", "0.125", "0.01"]),
    ("allocator", &["\"random\"", "\"flq\"", "\"iterative\""]),
    ("store-extended-info", &["true", "false"]),
    ("reservation-mode", &["\"all\"", "\"global\"", "\"off\"", "\"out-of-pool\""]),
    (
        "reservations-global",
        &[
            "true",
            "true, \"reservations-in-subnet\": false",
            "false, \"reservations-in-subnet\": true, \"reservations-out-of-pool\": true",
        ],
    ),
    ("ddns-use-conflict-resolution", &["true", "false"]),
    ("ddns-qualifying-suffix", &["\"\"", "\"x.\""]),
    ("comment", &["\"c\"", "\"\u{e9} \\n \\\\ \u{ef80}\""]),
    (
        "user-context",
        &[
            "{ }",
            "{ \"comment\": \"\\u00e9\u{ef80}\", \"a\": { \"comment\": [ null, -1.5e3 ] } }",
            "{ \"godwit\": { \"hold-time-ms\": 1000 } }",
        ],
    ),
];

/// Keys with values that networks and subnets share.
pub(super) const SCOPES: Choices = &[
    ("evaluate-additional-classes", &["[ \"c\" ]", "[ \"late\" ]", "[ \"late\", \"c\" ]"]),
    ("require-client-classes", &["[ ]", "[ \"late\" ]"]),
];

/// Keys with values that only the global scope has.
pub(super) const GLOBAL: Choices = &[
    ("decline-probation-period", &["1", "0", "600"]),
    ("dhcp-ddns", &["{ \"enable-updates\": true, \"server-ip\": \"::1\" }"]),
    ("dhcp4o6-port", &["0", "8000"]),
    ("early-global-reservations-lookup", &["true"]),
    (
        "expired-leases-processing",
        &[
            "{ \"max-reclaim-time\": 3 }",
            "{ }",
            "{ \"hold-reclaimed-time\": 60 }",
            "{ \"flush-reclaimed-timer-wait-time\": 0 }",
            "{ \"reclaim-timer-wait-time\": 0 }",
        ],
    ),
    ("ip-reservations-unique", &["false"]),
    (
        "lease-database",
        &["{ \"type\": \"memfile\", \"persist\": false }", "{ \"type\": \"mysql\" }"],
    ),
    (
        "loggers",
        &["[ { \"name\": \"k\", \"severity\": \"debug\", \"debuglevel\": 9, \
        \"output_options\": [ { \"output\": \"stderr\" }, { \"output\": \"f\", \"maxver\": 3 } ] } ]"],
    ),
    ("sanity-checks", &["{ \"lease-checks\": \"del\" }", "{ \"extended-info-checks\": \"none\" }"]),
    ("server-tag", &["\"\u{ef}\"", "\"t\""]),
    ("statistic-default-sample-count", &["5"]),
    (
        "interfaces-config",
        &["{ \"interfaces\": [ \"eth0\" ], \"service-sockets-max-retries\": 5 }"],
    ),
    (
        "control-socket",
        &[
            "{ \"socket-type\": \"unix\", \"socket-name\": \"s\" }",
            "{ \"socket-type\": \"http\" }",
            "{ \"socket-type\": \"https\", \"trust-anchor\": \"a\", \"cert-file\": \"c\", \
              \"key-file\": \"k\" }",
        ],
    ),
    ("multi-threading", &["{ \"enable-multi-threading\": false }"]),
];
