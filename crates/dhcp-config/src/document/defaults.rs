//! Kea's defaults, scope by scope, as `config-get` shows them.
// tidy: table

use super::Shape;

/// DHCPv4.
pub(crate) static SHAPE4: Shape = Shape {
    top: "Dhcp4",
    subnets: "subnet4",
    space: "dhcp4",
    global: r#"{
        "allocator": "iterative",
        "authoritative": false,
        "boot-file-name": "",
        "cache-threshold": 0.25,
        "calculate-tee-times": false,
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
        "dhcp-queue-control": { "capacity": 64, "enable-queue": false, "queue-type": "kea-ring4" },
        "dhcp4o6-port": 0,
        "early-global-reservations-lookup": false,
        "echo-client-id": true,
        "expired-leases-processing": {
            "flush-reclaimed-timer-wait-time": 25, "hold-reclaimed-time": 3600,
            "max-reclaim-leases": 100, "max-reclaim-time": 250, "reclaim-timer-wait-time": 10,
            "unwarned-reclaim-cycles": 5
        },
        "hooks-libraries": [],
        "host-reservation-identifiers": [ "hw-address", "duid", "circuit-id", "client-id" ],
        "hostname-char-replacement": "",
        "hostname-char-set": "[^A-Za-z0-9.-]",
        "interfaces-config": { "interfaces": [], "re-detect": true },
        "ip-reservations-unique": true,
        "lease-database": { "type": "memfile" },
        "loggers": [],
        "match-client-id": true,
        "multi-threading": {
            "enable-multi-threading": true, "packet-queue-size": 64, "thread-pool-size": 0
        },
        "next-server": "0.0.0.0",
        "option-data": [],
        "option-def": [],
        "parked-packet-limit": 256,
        "reservations-global": false,
        "reservations-in-subnet": true,
        "reservations-lookup-first": false,
        "reservations-out-of-pool": false,
        "sanity-checks": { "extended-info-checks": "fix", "lease-checks": "warn" },
        "server-hostname": "",
        "server-tag": "",
        "shared-networks": [],
        "stash-agent-options": false,
        "statistic-default-sample-age": 0,
        "statistic-default-sample-count": 20,
        "store-extended-info": false,
        "subnet4": [],
        "t1-percent": 0.5,
        "t2-percent": 0.875,
        "valid-lifetime": 7200
    }"#,
    network: r#"{
        "interface": "", "option-data": [], "relay": { "ip-addresses": [] }, "subnet4": []
    }"#,
    subnet: r#"{
        "4o6-interface": "", "4o6-interface-id": "", "4o6-subnet": "", "option-data": [],
        "pools": [], "relay": { "ip-addresses": [] }, "reservations": []
    }"#,
    lone_subnet: r#"{ "interface": "" }"#,
    reservation: r#"{ "client-classes": [], "hostname": "", "option-data": [] }"#,
    inherited: &[
        "adaptive-lease-time-threshold",
        "allocator",
        "cache-max-age",
        "cache-threshold",
        "calculate-tee-times",
        "max-valid-lifetime",
        "min-valid-lifetime",
        "offer-lifetime",
        "rebind-timer",
        "relay",
        "renew-timer",
        "store-extended-info",
        "t1-percent",
        "t2-percent",
        "valid-lifetime",
    ],
    bounded: &["valid-lifetime"],
};

/// DHCPv6. The preferred lifetime has no default of its own: it follows from the valid one.
pub(crate) static SHAPE6: Shape = Shape {
    top: "Dhcp6",
    subnets: "subnet6",
    space: "dhcp6",
    global: r#"{
        "allocator": "iterative",
        "allow-address-registration": true,
        "cache-threshold": 0.25,
        "calculate-tee-times": true,
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
        "dhcp-queue-control": { "capacity": 64, "enable-queue": false, "queue-type": "kea-ring6" },
        "dhcp4o6-port": 0,
        "early-global-reservations-lookup": false,
        "expired-leases-processing": {
            "flush-reclaimed-timer-wait-time": 25, "hold-reclaimed-time": 3600,
            "max-reclaim-leases": 100, "max-reclaim-time": 250, "reclaim-timer-wait-time": 10,
            "unwarned-reclaim-cycles": 5
        },
        "hooks-libraries": [],
        "host-reservation-identifiers": [ "hw-address", "duid" ],
        "hostname-char-replacement": "",
        "hostname-char-set": "[^A-Za-z0-9.-]",
        "interfaces-config": { "interfaces": [], "re-detect": true },
        "ip-reservations-unique": true,
        "lease-database": { "type": "memfile" },
        "loggers": [],
        "mac-sources": [ "any" ],
        "multi-threading": {
            "enable-multi-threading": true, "packet-queue-size": 64, "thread-pool-size": 0
        },
        "option-data": [],
        "option-def": [],
        "parked-packet-limit": 256,
        "pd-allocator": "iterative",
        "relay-supplied-options": [ "65" ],
        "reservations-global": false,
        "reservations-in-subnet": true,
        "reservations-lookup-first": false,
        "reservations-out-of-pool": false,
        "sanity-checks": { "extended-info-checks": "fix", "lease-checks": "warn" },
        "server-id": {
            "enterprise-id": 0, "htype": 0, "identifier": "", "persist": true, "time": 0,
            "type": "LLT"
        },
        "server-tag": "",
        "shared-networks": [],
        "statistic-default-sample-age": 0,
        "statistic-default-sample-count": 20,
        "store-extended-info": false,
        "subnet6": [],
        "t1-percent": 0.5,
        "t2-percent": 0.8,
        "valid-lifetime": 7200
    }"#,
    network: r#"{
        "interface": "", "interface-id": "", "option-data": [], "rapid-commit": false,
        "relay": { "ip-addresses": [] }, "subnet6": []
    }"#,
    subnet: r#"{
        "option-data": [], "pd-pools": [], "pools": [], "relay": { "ip-addresses": [] },
        "reservations": []
    }"#,
    lone_subnet: r#"{ "interface": "", "interface-id": "", "rapid-commit": false }"#,
    reservation: r#"{
        "client-classes": [], "hostname": "", "ip-addresses": [], "option-data": [], "prefixes": []
    }"#,
    inherited: &[
        "adaptive-lease-time-threshold",
        "allocator",
        "cache-max-age",
        "cache-threshold",
        "calculate-tee-times",
        "max-preferred-lifetime",
        "max-valid-lifetime",
        "min-preferred-lifetime",
        "min-valid-lifetime",
        "pd-allocator",
        "preferred-lifetime",
        "rebind-timer",
        "relay",
        "renew-timer",
        "store-extended-info",
        "t1-percent",
        "t2-percent",
        "valid-lifetime",
    ],
    bounded: &["valid-lifetime", "preferred-lifetime"],
};
