//! Kea's defaults, scope by scope, as `config-get` shows them.
// tidy: table

use std::sync::LazyLock;

use base::{V4, V6};

use super::spelling::standard;
use super::{DocumentSchema, Table, table};

/// Kea's defaults of keys of the global scope that both families have.
static GLOBAL: Table = LazyLock::new(|| {
    table(
        r#"{
        "allocator": "iterative",
        "cache-threshold": 0.25,
        "control-sockets": [],
        "ddns-conflict-resolution-mode": "check-with-dhcid",
        "ddns-generated-prefix": "myhost",
        "ddns-override-client-update": false,
        "ddns-override-no-update": false,
        "ddns-qualifying-suffix": "",
        "ddns-replace-client-name": "never",
        "ddns-send-updates": true,
        "ddns-update-on-renew": false,
        "decline-probation-period": 86400,
        "dhcp-ddns": {
            "enable-updates": false, "max-queue-size": 1024, "ncr-format": "JSON",
            "ncr-protocol": "UDP", "sender-ip": "", "sender-port": 0, "server-ip": "127.0.0.1",
            "server-port": 53001
        },
        "dhcp4o6-port": 0,
        "early-global-reservations-lookup": false,
        "expired-leases-processing": {
            "flush-reclaimed-timer-wait-time": 25, "hold-reclaimed-time": 3600,
            "max-reclaim-leases": 100, "max-reclaim-time": 250, "reclaim-timer-wait-time": 10,
            "unwarned-reclaim-cycles": 5
        },
        "hooks-libraries": [],
        "hostname-char-replacement": "",
        "hostname-char-set": "[^A-Za-z0-9.-]",
        "interfaces-config": { "interfaces": [], "re-detect": true },
        "ip-reservations-unique": true,
        "lease-database": { "type": "memfile" },
        "loggers": [],
        "multi-threading": {
            "enable-multi-threading": true, "packet-queue-size": 64, "thread-pool-size": 0
        },
        "option-data": [],
        "option-def": [],
        "parked-packet-limit": 256,
        "reservations-global": false,
        "reservations-in-subnet": true,
        "reservations-lookup-first": false,
        "reservations-out-of-pool": false,
        "sanity-checks": { "extended-info-checks": "fix", "lease-checks": "warn" },
        "server-tag": "",
        "shared-networks": [],
        "statistic-default-sample-age": 0,
        "statistic-default-sample-count": 20,
        "store-extended-info": false,
        "t1-percent": 0.5,
        "valid-lifetime": 7200
    }"#,
    )
});

/// Kea's defaults of further keys of the global scope, for DHCPv4.
static GLOBAL4: Table = LazyLock::new(|| {
    table(
        r#"{
        "authoritative": false,
        "boot-file-name": "",
        "calculate-tee-times": false,
        "dhcp-queue-control": { "capacity": 64, "enable-queue": false, "queue-type": "kea-ring4" },
        "echo-client-id": true,
        "host-reservation-identifiers": [ "hw-address", "duid", "circuit-id", "client-id" ],
        "match-client-id": true,
        "next-server": "0.0.0.0",
        "server-hostname": "",
        "stash-agent-options": false,
        "subnet4": [],
        "t2-percent": 0.875
    }"#,
    )
});

/// Kea's defaults of further keys of the global scope, for DHCPv6. `preferred-lifetime` has no
/// default of its own: it follows from `valid-lifetime`.
static GLOBAL6: Table = LazyLock::new(|| {
    table(
        r#"{
        "allow-address-registration": true,
        "calculate-tee-times": true,
        "dhcp-queue-control": { "capacity": 64, "enable-queue": false, "queue-type": "kea-ring6" },
        "host-reservation-identifiers": [ "hw-address", "duid" ],
        "mac-sources": [ "any" ],
        "pd-allocator": "iterative",
        "relay-supplied-options": [ "65" ],
        "server-id": {
            "enterprise-id": 0, "htype": 0, "identifier": "", "persist": true, "time": 0,
            "type": "LLT"
        },
        "subnet6": [],
        "t2-percent": 0.8
    }"#,
    )
});

/// Kea's defaults of keys of a DHCPv4 client class.
static CLASS4: Table = LazyLock::new(|| {
    table(
        r#"{
        "boot-file-name": "", "next-server": "0.0.0.0", "option-data": [], "option-def": [],
        "server-hostname": ""
    }"#,
    )
});

/// Kea's defaults of keys of a DHCPv6 client class.
static CLASS6: Table = LazyLock::new(|| table(r#"{ "option-data": [] }"#));

/// Kea's defaults of keys of a DHCPv4 shared network.
static NETWORK4: Table = LazyLock::new(|| {
    table(
        r#"{
        "option-data": [], "relay": { "ip-addresses": [] }, "subnet4": []
    }"#,
    )
});

/// Kea's defaults of keys of a DHCPv4 subnet.
static SUBNET4: Table = LazyLock::new(|| {
    table(
        r#"{
        "4o6-interface": "", "4o6-interface-id": "", "4o6-subnet": "", "option-data": [],
        "pools": [], "relay": { "ip-addresses": [] }, "reservations": []
    }"#,
    )
});

/// Kea's defaults of further keys of a DHCPv4 subnet outside a shared network.
static LONE_SUBNET4: Table = LazyLock::new(|| table("{}"));

/// Kea's defaults of keys of a DHCPv4 reservation.
static RESERVATION4: Table = LazyLock::new(|| {
    table(
        r#"{
        "boot-file-name": "", "client-classes": [], "hostname": "", "next-server": "0.0.0.0",
        "option-data": [], "server-hostname": ""
    }"#,
    )
});

/// Kea's defaults of keys of a DHCPv6 shared network.
static NETWORK6: Table = LazyLock::new(|| {
    table(
        r#"{
        "option-data": [], "rapid-commit": false,
        "relay": { "ip-addresses": [] }, "subnet6": []
    }"#,
    )
});

/// Kea's defaults of keys of a DHCPv6 subnet.
static SUBNET6: Table = LazyLock::new(|| {
    table(
        r#"{
        "option-data": [], "pd-pools": [], "pools": [], "relay": { "ip-addresses": [] },
        "reservations": []
    }"#,
    )
});

/// Kea's defaults of further keys of a DHCPv6 subnet outside a shared network.
static LONE_SUBNET6: Table = LazyLock::new(|| table(r#"{ "rapid-commit": false }"#));

/// Kea's defaults of keys of a DHCPv6 reservation.
static RESERVATION6: Table = LazyLock::new(|| {
    table(
        r#"{
        "client-classes": [], "hostname": "", "ip-addresses": [], "option-data": [], "prefixes": []
    }"#,
    )
});

/// Configuration keys of both families that inner scopes inherit from outer ones.
const INHERITED: &[&str] = &[
    "adaptive-lease-time-threshold",
    "allocator",
    "cache-max-age",
    "cache-threshold",
    "calculate-tee-times",
    "max-valid-lifetime",
    "min-valid-lifetime",
    "rebind-timer",
    "relay",
    "renew-timer",
    "store-extended-info",
    "t1-percent",
    "t2-percent",
    "valid-lifetime",
];

/// Keys and defaults of DHCPv4 configurations as `config-get` shows them.
pub(crate) static SHAPE4: DocumentSchema = DocumentSchema {
    top: "Dhcp4",
    subnets: "subnet4",
    space: "dhcp4",
    standard: standard::<V4>,
    global: [&GLOBAL, &GLOBAL4],
    class: &CLASS4,
    network: &NETWORK4,
    subnet: &SUBNET4,
    lone_subnet: &LONE_SUBNET4,
    reservation: &RESERVATION4,
    inherited: [INHERITED, &["offer-lifetime"]],
    bounded: &["valid-lifetime"],
};

/// Keys and defaults of DHCPv6 configurations as `config-get` shows them.
pub(crate) static SHAPE6: DocumentSchema = DocumentSchema {
    top: "Dhcp6",
    subnets: "subnet6",
    space: "dhcp6",
    standard: standard::<V6>,
    global: [&GLOBAL, &GLOBAL6],
    class: &CLASS6,
    network: &NETWORK6,
    subnet: &SUBNET6,
    lone_subnet: &LONE_SUBNET6,
    reservation: &RESERVATION6,
    inherited: [
        INHERITED,
        &["max-preferred-lifetime", "min-preferred-lifetime", "pd-allocator", "preferred-lifetime"],
    ],
    bounded: &["valid-lifetime", "preferred-lifetime"],
};
