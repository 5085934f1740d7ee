//! Differences between the address families for commands.

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
    /// Address without the kind of its lease.
    type Ip: Copy + Ord + Display + FromStr + Into<IpAddr>;
    /// Kind of a lease: `()` in v4, the kind of association in v6.
    type Kind: Copy + Eq;
    /// Other family.
    type Other: CommandFamily;
    /// IP version of the family.
    const VERSION: IpVersion;
    /// Lowest address, after which paging begins.
    const FIRST: Self::Ip;
    /// Kind that a command without a kind means.
    const USUAL_KIND: Self::Kind;

    /// Returns the IP address of `address`.
    fn ip(address: Self::Address) -> Self::Ip;
    /// Returns the address or prefix of `lease`.
    fn address(lease: &Self::Lease) -> Self::Address;
    /// Returns the address or prefix of `lease` as text for people.
    fn resource_text(lease: &Self::Lease) -> String;
    /// Returns the kind of `lease`.
    fn kind(lease: &Self::Lease) -> Self::Kind;
    /// Returns the kind with Kea's name or number; `None` if there is no such kind.
    fn kind_named(name: &str) -> Option<Self::Kind>;
    /// Returns Kea's name of a kind.
    fn kind_name(kind: Self::Kind) -> &'static str;
    /// Returns the fields that leases of both families have.
    fn common(lease: &Self::Lease) -> LeaseFields<'_>;
    /// Returns the JSON text of the user context, possibly empty.
    fn user_context(lease: &mut Self::Lease) -> &mut Box<str>;
    /// Returns the IAID of the association, which v4 does not have.
    fn iaid(lease: &Self::Lease) -> Option<u32>;
    /// Returns the end of the error text about a lease without a client that is not declined;
    /// `None` for a lease with a client.
    fn anonymous(lease: &Self::Lease) -> Option<&'static str>;
    /// Adds the fields that only this family's leases have, as commands show them.
    fn show_own(lease: &Self::Lease, map: &mut Map<String, Value>);

    /// Returns the subnet's `id`.
    fn subnet_id(lease: &Self::Lease) -> u32 {
        Self::common(lease).subnet_id
    }

    /// Returns Kea's state.
    fn state(lease: &Self::Lease) -> LeaseState {
        Self::common(lease).state
    }

    /// Returns the host name as stored.
    fn hostname(lease: &Self::Lease) -> &str {
        Self::common(lease).hostname
    }

    /// Returns true if the server keeps a DNS entry for the lease.
    fn has_dns_entry(lease: &Self::Lease) -> bool {
        let common = Self::common(lease);
        common.fqdn_fwd || common.fqdn_rev
    }

    /// Returns the lease as commands show it.
    fn to_json(lease: &Self::Lease) -> Value {
        let mut map = Map::new();
        Self::show_own(lease, &mut map);
        Self::common(lease).show(&mut map);
        Value::Object(map)
    }
}

/// Fields that leases of both families have.
#[derive(Clone, Copy, Debug)]
pub struct LeaseFields<'a> {
    /// Number of the subnet, `id`.
    pub subnet_id: u32,
    /// Number of the pool, `pool-id`; 0 for none.
    pub pool_id: u32,
    /// Last transaction of the client, wall-clock seconds.
    pub cltt_s: u64,
    /// Valid lifetime after the last transaction, seconds.
    pub valid_lifetime_s: u32,
    /// True if the server keeps the forward DNS entry.
    pub fqdn_fwd: bool,
    /// True if the server keeps the reverse DNS entry.
    pub fqdn_rev: bool,
    /// Host name, possibly empty.
    pub hostname: &'a str,
    /// State of the lease, as in Kea.
    pub state: LeaseState,
    /// User context, JSON text, possibly empty.
    pub user_context: &'a str,
}

/// Reader of leases of a family from commands. Other crates must not implement it.
pub trait FromCommand: Family {
    /// Returns the lease that `fields` describe. `subnet` finds a subnet by number, or by address
    /// if the number is 0; `now_s` is the wall clock in seconds.
    #[doc(hidden)]
    fn from_json(
        fields: &ArgumentFields<'_>,
        subnet: &dyn Fn(u32, IpAddr) -> Option<SubnetFacts>,
        now_s: u64,
    ) -> Result<Self::Lease, CommandAnswer>;
}
