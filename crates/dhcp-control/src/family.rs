//! What differs between the address families for commands.

use core::fmt::Display;
use core::net::IpAddr;
use core::str::FromStr;

use dhcp_lease::{Family, LeaseState};
use serde_json::{Map, Value};

use crate::answer::Answer;
use crate::arguments::Fields;
use crate::backend::SubnetFacts;

/// One of the two versions of IP, and the names that Kea gives to what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IpVersion {
    /// DHCPv4.
    V4,
    /// DHCPv6.
    V6,
}

impl IpVersion {
    /// 4 or 6.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::V4 => 4,
            Self::V6 => 6,
        }
    }

    /// The key of the whole configuration.
    #[must_use]
    pub const fn root(self) -> &'static str {
        match self {
            Self::V4 => "Dhcp4",
            Self::V6 => "Dhcp6",
        }
    }

    /// The key of a list of subnets.
    #[must_use]
    pub const fn subnets(self) -> &'static str {
        match self {
            Self::V4 => "subnet4",
            Self::V6 => "subnet6",
        }
    }

    /// The service as Kea calls it: `dhcp4`.
    #[must_use]
    pub const fn service(self) -> &'static str {
        match self {
            Self::V4 => "dhcp4",
            Self::V6 => "dhcp6",
        }
    }

    /// As texts name it: `IPv4`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        }
    }
}

/// A family whose leases commands show and change: `dhcp_lease::v4::V4` or `dhcp_lease::v6::V6`,
/// for both of which this crate implements it.
pub trait Commanded: Family + FromCommand {
    /// An address without what it is leased as.
    type Ip: Copy + Ord + Display + FromStr + Into<IpAddr>;
    /// As what an address can be leased: `()` in v4, the kind of association in v6.
    type Kind: Copy + Eq;
    /// The other family.
    type Other: Commanded;
    /// Which of the two.
    const VERSION: IpVersion;
    /// The lowest address, behind which paging begins.
    const FIRST: Self::Ip;
    /// What commands mean that name no kind.
    const USUAL_KIND: Self::Kind;

    /// The address of `address`.
    fn ip(address: Self::Address) -> Self::Ip;
    /// What `lease` is of.
    fn address(lease: &Self::Lease) -> Self::Address;
    /// What `lease` is of, for people: an address or a prefix.
    fn described(lease: &Self::Lease) -> String;
    /// As what it is leased.
    fn kind(lease: &Self::Lease) -> Self::Kind;
    /// The kind with Kea's name or number; `None` for one that there is not.
    fn kind_named(name: &str) -> Option<Self::Kind>;
    /// Kea's name of a kind.
    fn kind_name(kind: Self::Kind) -> &'static str;
    /// What leases of both families have.
    fn common(lease: &Self::Lease) -> Common<'_>;
    /// The JSON text that is kept with it, possibly empty.
    fn user_context(lease: &mut Self::Lease) -> &mut Box<str>;
    /// The identity association, which v4 does not have.
    fn iaid(lease: &Self::Lease) -> Option<u32>;
    /// What a lease says of nobody that is not declined: how texts go on about it.
    fn anonymous(lease: &Self::Lease) -> Option<&'static str>;
    /// Adds what only this family's leases have, as commands show it.
    fn show_own(lease: &Self::Lease, map: &mut Map<String, Value>);

    /// The subnet's `id`.
    fn subnet_id(lease: &Self::Lease) -> u32 {
        Self::common(lease).subnet_id
    }

    /// Kea's state.
    fn state(lease: &Self::Lease) -> LeaseState {
        Self::common(lease).state
    }

    /// The host name as stored.
    fn hostname(lease: &Self::Lease) -> &str {
        Self::common(lease).hostname
    }

    /// Whether the server keeps a DNS entry for it.
    fn has_dns_entry(lease: &Self::Lease) -> bool {
        let common = Self::common(lease);
        common.fqdn_fwd || common.fqdn_rev
    }

    /// The lease as commands show it.
    fn to_json(lease: &Self::Lease) -> Value {
        let mut map = Map::new();
        Self::show_own(lease, &mut map);
        Self::common(lease).show(&mut map);
        Value::Object(map)
    }
}

/// What leases of both families have.
#[derive(Clone, Copy, Debug)]
pub struct Common<'a> {
    /// The subnet's `id`.
    pub subnet_id: u32,
    /// The pool's `pool-id`; 0 for none.
    pub pool_id: u32,
    /// The client's last transaction, wall-clock seconds.
    pub cltt_s: u64,
    /// Seconds from then.
    pub valid_lifetime_s: u32,
    /// Whether the server keeps the forward DNS entry.
    pub fqdn_fwd: bool,
    /// Whether the server keeps the reverse DNS entry.
    pub fqdn_rev: bool,
    /// Host name, possibly empty.
    pub hostname: &'a str,
    /// Kea's state.
    pub state: LeaseState,
    /// JSON text, possibly empty.
    pub user_context: &'a str,
}

/// How commands give leases of a family. Not to be implemented elsewhere.
pub trait FromCommand: Family {
    /// The lease that `fields` describe. `subnet` finds a subnet by number, or by an address when
    /// that is 0; `now_s` is the wall clock in seconds.
    #[doc(hidden)]
    fn from_json(
        fields: &Fields<'_>,
        subnet: &dyn Fn(u32, IpAddr) -> Option<SubnetFacts>,
        now_s: u64,
    ) -> Result<Self::Lease, Answer>;
}
