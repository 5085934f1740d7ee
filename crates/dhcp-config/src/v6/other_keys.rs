//! Keys of a DHCPv6 configuration that belong to another scope.

/// Keys of a DHCPv6 configuration that belong to another scope, each with advice on where to write
/// it.
pub(super) const ELSEWHERE: &[(&str, &str)] = &[
    ("Dhcp6", "there is one `Dhcp6`, at the top of the file"),
    ("authoritative", "`authoritative` is a key of DHCPv4"),
    ("boot-file-name", "`boot-file-name` is a key of DHCPv4"),
    ("delegated-len", "`delegated-len` belongs in an element of `pd-pools`"),
    ("dhcp-socket-type", "`dhcp-socket-type` is a key of DHCPv4"),
    ("echo-client-id", "`echo-client-id` is a key of DHCPv4"),
    ("id", "`id` belongs in a subnet"),
    ("interface-id", "`interface-id` belongs in a subnet or a shared network"),
    ("lease-databases", "there is one `lease-database`"),
    ("match-client-id", "`match-client-id` is a key of DHCPv4"),
    ("next-server", "`next-server` is a key of DHCPv4"),
    ("offer-lifetime", "`offer-lifetime` is a key of DHCPv4"),
    ("option-def", "`option-def` belongs in `Dhcp6` itself"),
    ("outbound-interface", "`outbound-interface` is a key of DHCPv4"),
    ("pd-pools", "`pd-pools` belongs in a subnet"),
    ("pool", "`pool` belongs in an element of `pools`"),
    ("pools", "`pools` belongs in a subnet"),
    ("rapid-commit", "`rapid-commit` belongs in a subnet or a shared network"),
    ("relay", "`relay` belongs in a subnet or a shared network"),
    ("server-hostname", "`server-hostname` is a key of DHCPv4"),
    ("stash-agent-options", "`stash-agent-options` is a key of DHCPv4"),
    ("subnet", "`subnet` belongs in an element of `subnet6`"),
    ("subnet4", "`subnet4` is a key of DHCPv4"),
];
