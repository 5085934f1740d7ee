//! Settings of the DNS updates of all leases, by subnet and address.

use std::collections::BTreeMap;
use std::net::IpAddr;

use dhcp_config::{DhcpConfig, NameUpdateKeys};

use crate::service::DaemonFamily;

/// Settings of the DNS updates of the configuration in force, for the leases of each subnet.
#[derive(Debug, Default)]
pub(crate) struct LeaseUpdateTerms(BTreeMap<u32, SubnetUpdateTerms>);

/// Settings of the DNS updates of a subnet.
#[derive(Debug)]
struct SubnetUpdateTerms {
    keys: NameUpdateKeys,
    /// Pools with settings of their own.
    pools: Vec<PoolUpdateTerms>,
}

/// Settings of the DNS updates of a pool, with those of its subnet.
#[derive(Debug)]
struct PoolUpdateTerms {
    first: IpAddr,
    last: IpAddr,
    keys: NameUpdateKeys,
}

impl LeaseUpdateTerms {
    /// Returns the settings of `config`.
    pub(crate) fn new<P: DaemonFamily>(config: &DhcpConfig<P>) -> Self {
        let subnets = config.subnets.iter().map(|subnet| {
            let keys = subnet.names.updates.clone();
            let own = subnet.pools.iter().filter(|pool| pool.names.updates != Default::default());
            let pools = own.map(|pool| PoolUpdateTerms {
                first: pool.first.into(),
                last: pool.last.into(),
                keys: pool.names.updates.clone().inside(&keys),
            });
            let pools = pools.collect();
            (subnet.id, SubnetUpdateTerms { keys, pools })
        });
        Self(subnets.collect())
    }

    /// Returns the settings for the lease of `address` in the subnet `subnet_id`; Kea's defaults if
    /// there is no such subnet.
    pub(super) fn of_lease(&self, subnet_id: u32, address: IpAddr) -> NameUpdateKeys {
        let Some(subnet) = self.0.get(&subnet_id) else { return NameUpdateKeys::default() };
        let is_in = |pool: &&PoolUpdateTerms| (pool.first..=pool.last).contains(&address);
        let pool = subnet.pools.iter().find(is_in);
        pool.map_or(&subnet.keys, |pool| &pool.keys).clone()
    }
}
