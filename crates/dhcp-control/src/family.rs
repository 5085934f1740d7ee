//! Differences between DHCPv4 and DHCPv6 that control commands meet.

use core::fmt::Display;
use core::net::IpAddr;
use core::str::FromStr;

use dhcp_lease::{Family, Lease};
use serde_json::{Map, Value};

use crate::answer::CommandAnswer;
use crate::arguments::ArgumentFields;
use crate::ip_version::IpVersion;
use crate::leases::show_common;
use crate::subnet_facts::SubnetFacts;

/// Family whose leases commands show and change: `dhcp_lease::v4::V4` or `dhcp_lease::v6::V6`, for
/// both of which this crate implements it.
pub trait CommandFamily: Family + FromCommand {
    /// IP address type of the family, without the kind of lease.
    type Ip: Copy + Ord + Display + FromStr + Into<IpAddr>;
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
    /// Returns the address or prefix that `lease` is for, as text for people.
    fn resource_text(lease: &Lease<Self>) -> String;
    /// Returns the kind of lease with Kea's name or number `name`; `None` if there is no such kind.
    fn kind_named(name: &str) -> Option<Self::Kind>;
    /// Returns Kea's name of a kind of lease.
    fn kind_name(kind: Self::Kind) -> &'static str;
    /// Returns the IAID of the lease's identity association; `None` in DHCPv4, which has none.
    fn iaid(lease: &Lease<Self>) -> Option<u32>;
    /// Returns the end of Kea's error text about a lease that is not declined and has no client;
    /// `None` for a lease with a client.
    fn anonymous(lease: &Lease<Self>) -> Option<&'static str>;
    /// Adds to `map` the fields that only leases of this family have, as commands show them.
    fn show_own(lease: &Lease<Self>, map: &mut Map<String, Value>);

    /// Returns the lease as a JSON map, as commands show it.
    fn to_json(lease: &Lease<Self>) -> Value {
        let mut map = Map::new();
        Self::show_own(lease, &mut map);
        show_common(lease, &mut map);
        Value::Object(map)
    }
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
    ) -> Result<Lease<Self>, CommandAnswer>;

    /// Checks that commands may set the state of `lease` for its resource.
    #[doc(hidden)]
    fn check_resource(_lease: &Lease<Self>) -> Result<(), CommandAnswer> {
        Ok(())
    }
}
