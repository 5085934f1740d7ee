//! Features of Kea that a configuration can use and that this version does not support: the readers
//! check the settings and report each feature once.

use std::collections::BTreeSet;

/// Feature that a configuration uses and this version does not support.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InactiveFeature {
    /// Name of the feature that the option `--accept-inactive` takes.
    pub name: &'static str,
    /// True if the server must not start without the feature unless `--accept-inactive` names it:
    /// its absence would break something that the operator relies on.
    pub is_dangerous: bool,
}

/// Feature of Kea that a configuration can use and this version does not support.
#[derive(Debug)]
pub(crate) struct UnsupportedFeature {
    /// Name of the feature that the option `--accept-inactive` takes.
    pub(crate) name: &'static str,
    /// Description of the feature with its verb, for the message before "not supported".
    what: &'static str,
    /// Effect of the feature's absence, as a phrase for the operator.
    without: &'static str,
    /// True if the server must not start without the feature unless `--accept-inactive` names it.
    is_dangerous: bool,
}

impl UnsupportedFeature {
    const fn harmless(name: &'static str, what: &'static str, without: &'static str) -> Self {
        Self { name, what, without, is_dangerous: false }
    }

    const fn dangerous(name: &'static str, what: &'static str, without: &'static str) -> Self {
        Self { name, what, without, is_dangerous: true }
    }

    /// Returns the feature in the form that the checked configuration lists.
    pub(crate) fn value(&self) -> InactiveFeature {
        InactiveFeature { name: self.name, is_dangerous: self.is_dangerous }
    }

    /// Returns the text of the warning about the feature.
    pub(crate) fn message(&self) -> String {
        format!("{}: {} not supported", self.name, self.what)
    }

    /// Returns the effect of the feature's absence and the operator's options.
    pub(crate) fn help(&self) -> String {
        if self.is_dangerous {
            let Self { name, without, .. } = self;
            format!("{without}; the server starts with `--accept-inactive {name}` only")
        } else {
            self.without.to_owned()
        }
    }
}

/// Unsupported feature: configuration in a database.
pub(crate) static CONFIG_BACKEND: UnsupportedFeature = UnsupportedFeature::dangerous(
    "config-backend",
    "`config-control` is",
    "the server would use the configuration of this file only",
);
/// Unsupported feature: high availability with settings that this version cannot serve.
pub(crate) static HIGH_AVAILABILITY: UnsupportedFeature = UnsupportedFeature::dangerous(
    "high-availability",
    "high availability with these parameters is",
    "the partner server would not learn of this server's leases, nor this server of the partner's",
);
/// Unsupported feature: a hook library that is not Kea's own.
pub(crate) static UNKNOWN_HOOK: UnsupportedFeature = UnsupportedFeature::dangerous(
    "unknown-hook",
    "a hook library that Kea does not ship is",
    "its function would be missing",
);
/// Unsupported feature: DHCPv4 over DHCPv6 (RFC 7341).
pub(crate) static DHCP4O6: UnsupportedFeature = UnsupportedFeature::harmless(
    "dhcp4o6",
    "DHCPv4 over DHCPv6 is",
    "DHCPv4-query messages (RFC 7341) are not answered",
);
/// Unsupported feature: Kea's shared free lease queue allocator (SFLQ), which keeps the free leases
/// in a database.
pub(crate) static SHARED_FLQ: UnsupportedFeature = UnsupportedFeature::harmless(
    "shared-flq",
    "the allocator `shared-flq` is",
    "the server uses the allocator `flq` instead",
);

/// Kea's hook libraries that are not built in, each by the part of its file name between `libdhcp_`
/// and `.so`, with the unsupported feature.
pub(crate) static HOOKS: [(&str, &UnsupportedFeature); 12] = [
    ("cb_cmds", &CB_COMMANDS),
    ("flex_option", &FLEX_OPTION),
    ("gss_tsig", &GSS_TSIG),
    ("host_cache", &HOST_CACHE),
    ("limits", &LIMITS),
    ("mysql_cb", &CONFIG_BACKEND_LIBRARY),
    ("perfmon", &PERFMON),
    ("pgsql_cb", &CONFIG_BACKEND_LIBRARY),
    ("ping_check", &PING_CHECK),
    ("radius", &RADIUS),
    ("rbac", &RBAC),
    ("user_chk", &USER_CHK),
];

/// Unsupported features that belong to no hook library.
static OTHERS: [&UnsupportedFeature; 5] =
    [&CONFIG_BACKEND, &HIGH_AVAILABILITY, &UNKNOWN_HOOK, &DHCP4O6, &SHARED_FLQ];

/// Returns the names of unsupported features that `--accept-inactive` takes, each once and in
/// order.
#[must_use]
pub fn inactive_feature_names() -> Vec<&'static str> {
    let of_hooks = HOOKS.iter().map(|(_, feature)| feature.name);
    let names: BTreeSet<_> = of_hooks.chain(OTHERS.map(|feature| feature.name)).collect();
    names.into_iter().collect()
}

static CB_COMMANDS: UnsupportedFeature = UnsupportedFeature::harmless(
    "cb-cmds",
    "the hook library of commands for configuration databases is",
    "the server does not know its commands",
);
static CONFIG_BACKEND_LIBRARY: UnsupportedFeature = UnsupportedFeature::harmless(
    "config-backend-library",
    "the hook library for configurations in databases is",
    "the server uses the configuration of this file only",
);
static FLEX_OPTION: UnsupportedFeature = UnsupportedFeature::harmless(
    "flex-option",
    "the hook library that changes options by expressions is",
    "options are sent as they are configured",
);
static GSS_TSIG: UnsupportedFeature = UnsupportedFeature::harmless(
    "gss-tsig",
    "the hook library for signed DNS updates is",
    "the server updates no DNS records",
);
static HOST_CACHE: UnsupportedFeature = UnsupportedFeature::harmless(
    "host-cache",
    "the hook library that caches reservations is",
    "the server needs no such cache",
);
static LIMITS: UnsupportedFeature = UnsupportedFeature::harmless(
    "limits",
    "the hook library that limits leases and rates is",
    "the server limits neither leases nor messages per time",
);
static PERFMON: UnsupportedFeature = UnsupportedFeature::harmless(
    "perfmon",
    "the hook library that measures response times is",
    "its statistics of response times are missing",
);
static PING_CHECK: UnsupportedFeature = UnsupportedFeature::harmless(
    "ping-check",
    "the hook library that pings addresses before offering them is",
    "addresses are offered without a check",
);
static RADIUS: UnsupportedFeature = UnsupportedFeature::harmless(
    "radius",
    "the hook library for RADIUS is",
    "no RADIUS server decides whether a client may have a lease",
);
static RBAC: UnsupportedFeature = UnsupportedFeature::harmless(
    "rbac",
    "the hook library that grants commands by role is",
    "every client that may connect may send every command",
);
static USER_CHK: UnsupportedFeature = UnsupportedFeature::harmless(
    "user-chk",
    "the hook library that looks users up in a file is",
    "the server does not read the file and serves every client alike",
);
