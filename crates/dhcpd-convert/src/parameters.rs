//! Parameters of dhcpd.conf(5): which the result carries, and which it cannot carry and why.

/// Form of a parameter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParameterForm {
    Number,
    Flag,
    Text,
    Address,
}

/// Parameters that are carried.
pub(crate) const CARRIED: [(&str, ParameterForm); 14] = [
    ("default-lease-time", ParameterForm::Number),
    ("max-lease-time", ParameterForm::Number),
    ("min-lease-time", ParameterForm::Number),
    ("preferred-lifetime", ParameterForm::Number),
    ("use-host-decl-names", ParameterForm::Flag),
    ("echo-client-id", ParameterForm::Flag),
    ("ignore-client-uids", ParameterForm::Flag),
    ("stash-agent-options", ParameterForm::Flag),
    ("dhcpv6-set-tee-times", ParameterForm::Flag),
    ("filename", ParameterForm::Text),
    ("server-name", ParameterForm::Text),
    ("next-server", ParameterForm::Address),
    ("server-identifier", ParameterForm::Address),
    ("boot-unknown-clients", ParameterForm::Flag),
];

/// Statement that is not carried: its first word, its effect in dhcpd, and what to do instead.
pub(crate) struct LeftOutStatement {
    pub(crate) keyword: &'static str,
    pub(crate) effect: &'static str,
    pub(crate) help: &'static str,
}

const fn left_out(
    keyword: &'static str,
    effect: &'static str,
    help: &'static str,
) -> LeftOutStatement {
    LeftOutStatement { keyword, effect, help }
}

const FILES: &str = "set `lease-database`, `loggers` and the unit of the service";
const DDNS: &str = "DNS updates belong to the configuration of kea-dhcp-ddns";
const HOOK: &str = "the hook library `run_script` runs a script for lease events";

/// Statements that are not carried. Those with the values `off`, `false` and `none` are left out
/// without a note.
pub(crate) const LEFT_OUT: &[LeftOutStatement] = &[
    left_out("always-broadcast", "the server broadcasts all replies", "nothing corresponds"),
    left_out("always-reply-rfc1048", "BOOTP clients get options in any case", "nothing to do"),
    left_out("get-lease-hostnames", "clients get names from DNS", "set reservations' `hostname`"),
    left_out(
        "min-secs",
        "the server answers clients after some seconds only",
        "nothing corresponds",
    ),
    left_out(
        "adaptive-lease-time-threshold",
        "leases are short while a pool is nearly full",
        "nothing corresponds",
    ),
    left_out(
        "use-lease-addr-for-default-route",
        "clients get their own address as router",
        "nothing corresponds",
    ),
    left_out("site-option-space", "a class has site options of its own", "use the option's code"),
    left_out("one-lease-per-client", "a client's other leases end", "nothing corresponds"),
    left_out("infinite-is-reserved", "infinite leases become reservations", "write reservations"),
    left_out("dynamic-bootp-lease-length", "BOOTP leases end after a time", "see hook `bootp`"),
    left_out("dynamic-bootp-lease-cutoff", "BOOTP leases end at a time", "see hook `bootp`"),
    left_out(
        "ping-check",
        "the server pings an address before it offers it",
        "nothing corresponds",
    ),
    left_out("ping-timeout", "time to wait for an answer to a ping", "nothing corresponds"),
    left_out("ping-timeout-ms", "time to wait for an answer to a ping", "nothing corresponds"),
    left_out(
        "ping-cltt-secs",
        "time after which an address is pinged again",
        "nothing corresponds",
    ),
    left_out("update-conflict-detection", "DNS names of others stay", DDNS),
    left_out("update-optimization", "unchanged DNS names are not updated", DDNS),
    left_out("update-static-leases", "DNS names of hosts are updated", DDNS),
    left_out("do-forward-updates", "forward DNS records are updated", DDNS),
    left_out("client-updates", "clients update DNS themselves", DDNS),
    left_out("key", "a key of DNS updates or OMAPI", DDNS),
    left_out("zone", "a zone of DNS updates", DDNS),
    left_out("omapi-port", "programs control the server over OMAPI", "set `control-sockets`"),
    left_out("omapi-key", "the key of OMAPI", "set `authentication` of `control-sockets`"),
    left_out(
        "failover",
        "two servers share their pools",
        "set up the hook library `high_availability`; the partner needs a conversion, too",
    ),
    left_out("lease-file-name", "the file of leases", FILES),
    left_out("dhcpv6-lease-file-name", "the file of leases", FILES),
    left_out("pid-file-name", "the file of the process id", FILES),
    left_out("dhcpv6-pid-file-name", "the file of the process id", FILES),
    left_out("log-facility", "the facility of the system log", FILES),
    left_out("local-port", "the port of the server", "start the server with `-p`"),
    left_out("remote-port", "the port of clients", "start the server with `-P`"),
    left_out("local-address", "the address that the server listens at", "set `interfaces-config`"),
    left_out("local-address6", "the address that the server listens at", "set `interfaces-config`"),
    left_out("bind-local-address6", "the server listens at one address", "set `interfaces-config`"),
    left_out("max-ack-delay", "replies wait for one flush together", "the server groups flushes"),
    left_out("delayed-ack", "replies wait for one flush together", "the server groups flushes"),
    left_out("abandon-lease-time", "declined addresses rest", "set `decline-probation-period`"),
    left_out("lease-id-format", "the form of the lease file", "nothing to do"),
    left_out(
        "prefix-length-mode",
        "treatment of the client's prefix length",
        "nothing corresponds",
    ),
    left_out("db-time-format", "the form of times in the lease file", "nothing to do"),
    left_out("limited-broadcast-address", "the address of broadcasts", "nothing corresponds"),
    left_out("limit-addrs-per-ia", "an association gets few addresses", "nothing corresponds"),
    left_out("limit-prefs-per-ia", "an association gets few prefixes", "nothing corresponds"),
    left_out("dont-use-fsync", "leases are not flushed", "set `durability` of user-context.godwit"),
    left_out("check-secs-byte-order", "swapped seconds are recognized", "nothing corresponds"),
    left_out("server-id-check", "requests to other servers are dropped", "nothing to do"),
    left_out("vendor-class", "options of one vendor in DHCPv6", "write `vendor-opts` options"),
    left_out("on", "statements run at lease events", HOOK),
    left_out("execute", "a program runs for a lease", HOOK),
    left_out("log", "a text goes to the log", "nothing corresponds"),
    left_out("set", "a variable gets a value", "nothing corresponds"),
    left_out("unset", "a variable loses its value", "nothing corresponds"),
    left_out("define", "a function is defined", "nothing corresponds"),
    left_out("eval", "an expression is evaluated", "nothing corresponds"),
    left_out("return", "a function returns", "nothing corresponds"),
    left_out("parse-vendor-option", "option 43 of the client is read", "nothing corresponds"),
    left_out("dynamic-bootp", "BOOTP clients get addresses of pools", "load the hook `bootp`"),
    left_out("auth", "OMAPI is authenticated", "set `authentication` of `control-sockets`"),
    left_out("interface", "a network is at an interface", "set `interfaces-config`"),
    left_out("ldap-server", "the configuration is in a directory", "write the result to files"),
    left_out("release-on-roam", "a client that moves loses its lease", "nothing to do"),
    left_out("persist-eui-64-leases", "EUI-64 leases are written", "nothing to do"),
    left_out("use-eui-64", "addresses come from hardware addresses", "nothing corresponds"),
    left_out("host-identifier", "the host is recognized by an option", "see hook `flex_id`"),
    left_out("dhcp-cache-threshold", "young leases are not renewed", "set `cache-threshold`"),
];

/// Returns the entry of [`LEFT_OUT`] for the statement that begins with `keyword`.
pub(crate) fn left_out_statement(keyword: &str) -> Option<&'static LeftOutStatement> {
    LEFT_OUT.iter().find(|statement| {
        statement.keyword == keyword
            || (keyword.starts_with("ddns-") && statement.keyword == "do-forward-updates")
            || (keyword.starts_with("ldap-") && statement.keyword == "ldap-server")
    })
}
