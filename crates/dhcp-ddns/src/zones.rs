//! Zones of a configuration, and the search for the zone of a name.

use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use std::collections::BTreeMap;

use dhcp_config::{DdnsDomain, TsigKey, UpdateZones};
use ncr::UpdateName;

use crate::steps::pointer_name;

/// Server of a zone, with its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateServer {
    /// Address and port of the server.
    pub address: SocketAddr,
    /// Position of the server's key; `None` for unsigned updates.
    pub(crate) key: Option<usize>,
}

/// Zone with its servers.
#[derive(Clone, Debug)]
pub(crate) struct UpdateZone {
    /// Name of the zone in updates.
    pub(crate) name: UpdateName,
    pub(crate) servers: Vec<UpdateServer>,
}

/// Position of a zone in [`DnsZones`].
pub(crate) type ZoneIndex = usize;

/// Zones that the updater changes, with their servers and keys.
#[derive(Clone, Debug)]
pub struct DnsZones {
    pub(crate) zones: Vec<UpdateZone>,
    pub(crate) keys: Vec<TsigKey>,
    pub(crate) server_timeout: Duration,
    forward: ZoneIndexes,
    reverse: ZoneIndexes,
}

/// Zones of one direction by their names.
#[derive(Clone, Debug, Default)]
struct ZoneIndexes {
    by_name: BTreeMap<Vec<u8>, ZoneIndex>,
    /// Zone of all names, which the configuration calls `*`.
    wildcard: Option<ZoneIndex>,
}

impl ZoneIndexes {
    fn is_empty(&self) -> bool {
        self.by_name.is_empty() && self.wildcard.is_none()
    }

    /// Returns the zone with the longest name that `name` ends with.
    fn find(&self, name: &UpdateName) -> Option<ZoneIndex> {
        let wire = name.canonical_wire();
        let mut rest = &wire[..];
        loop {
            if let Some(index) = self.by_name.get(rest) {
                return Some(*index);
            }
            let (&len, after) = rest.split_first()?;
            if len == 0 {
                return self.wildcard;
            }
            rest = after.get(usize::from(len)..)?;
        }
    }
}

/// Result of the search for the zone of a request in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ZoneMatch {
    /// Zone of the name.
    Found(ZoneIndex),
    /// Direction without any zone: nothing is to be done.
    Disabled,
    /// Name that is in none of the zones.
    None,
}

impl DnsZones {
    /// Collects the zones of a configuration.
    #[must_use]
    pub fn from_config(config: &UpdateZones) -> Self {
        let mut zones = Vec::new();
        let forward = indexes(&config.forward, &mut zones);
        let reverse = indexes(&config.reverse, &mut zones);
        let server_timeout = Duration::from_millis(u64::from(config.server_timeout_ms));
        Self { zones, keys: config.keys.clone(), server_timeout, forward, reverse }
    }

    /// Returns the zone of the name `name`.
    pub(crate) fn forward(&self, name: &UpdateName) -> ZoneMatch {
        found(&self.forward, name)
    }

    /// Returns the zone with the name of `address`.
    pub(crate) fn reverse(&self, address: IpAddr) -> ZoneMatch {
        found(&self.reverse, &pointer_name(address))
    }
}

fn found(indexes: &ZoneIndexes, name: &UpdateName) -> ZoneMatch {
    if indexes.is_empty() {
        return ZoneMatch::Disabled;
    }
    indexes.find(name).map_or(ZoneMatch::None, ZoneMatch::Found)
}

fn indexes(domains: &[DdnsDomain], zones: &mut Vec<UpdateZone>) -> ZoneIndexes {
    let mut indexes = ZoneIndexes::default();
    for domain in domains {
        let index = zones.len();
        let servers = domain.servers.iter();
        let servers =
            servers.map(|server| UpdateServer { address: server.address, key: server.key });
        let name = match &domain.name {
            Some(name) => {
                indexes.by_name.insert(name.canonical_wire(), index);
                name.clone()
            }
            None => {
                indexes.wildcard = Some(index);
                UpdateName::from_text("*.").expect("an asterisk is a label")
            }
        };
        zones.push(UpdateZone { name, servers: servers.collect() });
    }
    indexes
}
