//! Differences between DHCPv4 and DHCPv6 that control commands meet.

use core::fmt::Display;
use core::net::IpAddr;
use core::str::FromStr;

use dhcp_lease::{Family, LeaseState};
use serde_json::{Map, Value};

use crate::answer::CommandAnswer;
use crate::arguments::ArgumentFields;
use crate::ip_version::IpVersion;
use crate::subnet_facts::SubnetFacts;

/// Family whose leases commands show and change: `dhcp_lease::v4::V4` or `dhcp_lease::v6::V6`, for
/// both of which this crate implements it.
pub trait CommandFamily: Family + FromCommand {
    /// IP address type of the family, without the kind of lease.
    type Ip: Copy + Ord + Display + FromStr + Into<IpAddr>;
    /// Kind of a lease: `()` in DHCPv4, the kind of identity association in DHCPv6.
    type Kind: Copy + Eq;
    /// Other address family: DHCPv6 for DHCPv4, and the reverse.
    type Other: CommandFamily;
    /// Version of IP of the family.
    const VERSION: IpVersion;
    /// Lowest IP address of the family, after which paging through leases begins.
    const FIRST: Self::Ip;
    /// Kind of lease that a command means if it names none.
    const USUAL_KIND: Self::Kind;

    /// Returns the IP address of a lease's address.
    fn ip(address: Self::Address) -> Self::Ip;
    /// Returns the address or prefix that `lease` is for.
    fn address(lease: &Self::Lease) -> Self::Address;
    /// Returns the address or prefix that `lease` is for, as text for people.
    fn resource_text(lease: &Self::Lease) -> String;
    /// Returns the kind of `lease`: address or prefix.
    fn kind(lease: &Self::Lease) -> Self::Kind;
    /// Returns the kind of lease with Kea's name or number `name`; `None` if there is no such kind.
    fn kind_named(name: &str) -> Option<Self::Kind>;
    /// Returns Kea's name of a kind of lease.
    fn kind_name(kind: Self::Kind) -> &'static str;
    /// Returns the fields of `lease` that leases of both families have.
    fn common(lease: &Self::Lease) -> LeaseFields<'_>;
    /// Returns the JSON text of the lease's user context, possibly empty, for changes.
    fn user_context(lease: &mut Self::Lease) -> &mut Box<str>;
    /// Returns the IAID of the lease's identity association; `None` in DHCPv4, which has none.
    fn iaid(lease: &Self::Lease) -> Option<u32>;
    /// Returns the end of Kea's error text about a lease that is not declined and has no client;
    /// `None` for a lease with a client.
    fn anonymous(lease: &Self::Lease) -> Option<&'static str>;
    /// Adds to `map` the fields that only leases of this family have, as commands show them.
    fn show_own(lease: &Self::Lease, map: &mut Map<String, Value>);

    /// Returns the number (`id`) of the lease's subnet.
    fn subnet_id(lease: &Self::Lease) -> u32 {
        Self::common(lease).subnet_id
    }

    /// Returns the lease's state, as in Kea.
    fn state(lease: &Self::Lease) -> LeaseState {
        Self::common(lease).state
    }

    /// Returns the host name that the lease stores, possibly empty.
    fn hostname(lease: &Self::Lease) -> &str {
        Self::common(lease).hostname
    }

    /// Returns true if the server keeps a forward or reverse DNS entry for the lease.
    fn has_dns_entry(lease: &Self::Lease) -> bool {
        let common = Self::common(lease);
        common.fqdn_fwd || common.fqdn_rev
    }

    /// Returns the lease as a JSON map, as commands show it.
    fn to_json(lease: &Self::Lease) -> Value {
        let mut map = Map::new();
        Self::show_own(lease, &mut map);
        Self::common(lease).show(&mut map);
        Value::Object(map)
    }
}

/// Fields of a lease that leases of both families have.
#[derive(Clone, Copy, Debug)]
pub struct LeaseFields<'a> {
    /// Number (`id`) of the lease's subnet.
    pub subnet_id: u32,
    /// Number (`pool-id`) of the lease's pool; 0 for none.
    pub pool_id: u32,
    /// Client's last transaction time (cltt), wall-clock seconds since 1970.
    pub cltt_s: u64,
    /// Valid lifetime of the lease after the client's last transaction, in seconds.
    pub valid_lifetime_s: u32,
    /// True if the server keeps the forward DNS entry for the lease.
    pub fqdn_fwd: bool,
    /// True if the server keeps the reverse DNS entry for the lease.
    pub fqdn_rev: bool,
    /// Host name that the lease stores, possibly empty.
    pub hostname: &'a str,
    /// State of the lease, with Kea's numbers.
    pub state: LeaseState,
    /// User context of the lease as JSON text, possibly empty.
    pub user_context: &'a str,
}

/// Reader of leases of a family from commands. Other crates must not implement it.
pub trait FromCommand: Family {
    /// Returns the lease that `fields`, the arguments of a command, describe. `subnet` finds a
    /// subnet by number, or by address if the number is 0; `now_s` is the wall clock in seconds.
    #[doc(hidden)]
    fn from_json(
        fields: &ArgumentFields<'_>,
        subnet: &dyn Fn(u32, IpAddr) -> Option<SubnetFacts>,
        now_s: u64,
    ) -> Result<Self::Lease, CommandAnswer>;
}
