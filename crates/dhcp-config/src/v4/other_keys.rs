//! Keys of a DHCPv4 configuration that belong to another scope.

/// Keys of a DHCPv4 configuration that belong to another scope, each with advice on where to write
/// it.
pub(super) const ELSEWHERE: &[(&str, &str)] = &[
    ("Dhcp4", "there is one `Dhcp4`, at the top of the file"),
    ("id", "`id` belongs in a subnet"),
    ("lease-databases", "there is one `lease-database`"),
    ("option-def", "`option-def` belongs in `Dhcp4` itself or in a client class"),
    ("pd-pools", "`pd-pools` is a key of DHCPv6"),
    ("pool", "`pool` belongs in an element of `pools`"),
    ("pools", "`pools` belongs in a subnet"),
    ("preferred-lifetime", "`preferred-lifetime` is a key of DHCPv6"),
    ("rapid-commit", "`rapid-commit` is a key of DHCPv6"),
    ("relay", "`relay` belongs in a subnet or a shared network"),
    ("subnet", "`subnet` belongs in an element of `subnet4`"),
    ("subnet6", "`subnet6` is a key of DHCPv6"),
];
