//! Input of the judges of a configuration: the values of the file with their positions, and the
//! values after inheritance, in one form for both families.

use base::{V4, V6};

use crate::address::{Address, first_of, last_of};
use crate::json::{JsonContent, JsonMember, JsonValue};
use crate::shared::subnets::Scoped;
use crate::shared::{
    AllocatorKind, ClassTest, ClientClass, DhcpConfig, GlobalSettings, IdentifierKind, Pool,
    ReservationModes, SqlKind, SubnetConfig,
};
use crate::source::SourcePosition;
use crate::{ConfigReservation, PdPool, Reserved4, Reserved6, Subnet4, Subnet6};

use super::measured::MeasuredBackend;

/// Map of the configuration file, with the positions of its values.
#[derive(Clone, Copy)]
pub(super) struct View<'v> {
    pub(super) at: SourcePosition,
    entries: &'v [JsonMember],
}

impl<'v> View<'v> {
    /// Returns a view of the JSON map `value`; `None` when it is not a map.
    pub(super) fn from_value(value: &'v JsonValue) -> Option<Self> {
        match &value.kind {
            JsonContent::Map(entries) => Some(Self { at: value.at, entries }),
            _ => None,
        }
    }

    pub(super) fn entry(&self, key: &str) -> Option<&'v JsonMember> {
        self.entries.iter().find(|entry| *entry.key == *key)
    }

    /// Returns the position of the map's entry `key`, if it exists.
    pub(super) fn at(&self, key: &str) -> Option<SourcePosition> {
        self.entry(key).map(|entry| entry.at)
    }

    /// Returns the position of the first of the entries `keys` that exists, otherwise of the map.
    pub(super) fn at_any(&self, keys: &[&str]) -> SourcePosition {
        keys.iter().find_map(|key| self.at(key)).unwrap_or(self.at)
    }

    pub(super) fn map(&self, key: &str) -> Option<Self> {
        self.entry(key).and_then(|entry| Self::from_value(&entry.value))
    }

    /// Returns the maps in the list `key` of this map.
    pub(super) fn maps(&self, key: &str) -> Vec<Self> {
        match self.entry(key).map(|entry| &entry.value.kind) {
            Some(JsonContent::List(items)) => items.iter().filter_map(Self::from_value).collect(),
            _ => Vec::new(),
        }
    }

    pub(super) fn text(&self, key: &str) -> Option<&'v str> {
        match &self.entry(key)?.value.kind {
            JsonContent::Text(octets) => core::str::from_utf8(octets).ok(),
            _ => None,
        }
    }

    pub(super) fn integer(&self, key: &str) -> Option<i64> {
        match self.entry(key)?.value.kind {
            JsonContent::Integer(value) => Some(value),
            _ => None,
        }
    }

    pub(super) fn number(&self, key: &str) -> Option<f64> {
        match self.entry(key)?.value.kind {
            JsonContent::Integer(value) => Some(value as f64),
            JsonContent::Float(value) => Some(value),
            _ => None,
        }
    }

    pub(super) fn boolean(&self, key: &str) -> Option<bool> {
        match self.entry(key)?.value.kind {
            JsonContent::Bool(value) => Some(value),
            _ => None,
        }
    }
}

/// Facts about a client class that the judges of `godwit advise` use.
pub(super) struct ClassFacts<'v> {
    /// Position of the class's test, or of the class if it has none.
    pub(super) at: SourcePosition,
    pub(super) test: Option<&'v ClassTest>,
    /// True if the server tests the class only where a scope lists it (`only-in-additional-list`).
    pub(super) is_additional: bool,
}

/// Facts about a pool of addresses or prefixes that the judges use.
pub(super) struct PoolFacts {
    pub(super) at: SourcePosition,
    /// First and last address of the pool; with prefixes, the last address of the last prefix.
    pub(super) range: (u128, u128),
    /// Number of addresses or prefixes of the pool.
    pub(super) count: u128,
    pub(super) is_of_prefixes: bool,
    /// True if the pool's free addresses are in a queue (allocator `flq`), so that the server does
    /// not search for one.
    pub(super) has_queue: bool,
}

/// Facts about a reservation that the judges use: kind of identifier, and addresses.
pub(super) struct HostFacts {
    pub(super) kind: IdentifierKind,
    pub(super) addresses: Vec<u128>,
}

/// Facts about a subnet of the configuration that the judges use.
pub(super) struct SubnetConfigFacts<'v> {
    pub(super) view: View<'v>,
    pub(super) network: Option<View<'v>>,
    /// First and last address of the subnet.
    pub(super) range: (u128, u128),
    pub(super) pools: Vec<PoolFacts>,
    pub(super) hosts: Vec<HostFacts>,
    pub(super) modes: ReservationModes,
    pub(super) cache_threshold: f64,
    /// Seconds after which the subnet's clients renew (T1); `None` when they never do.
    pub(super) t1_s: Option<f64>,
}

impl SubnetConfigFacts<'_> {
    /// Returns the number of addresses that the subnet can lease, or of prefixes when it has no
    /// addresses.
    pub(super) fn capacity(&self) -> u128 {
        let of = |prefixes: bool| {
            let pools = self.pools.iter().filter(|pool| pool.is_of_prefixes == prefixes);
            pools.fold(0_u128, |sum, pool| sum.saturating_add(pool.count))
        };
        match of(false) {
            0 => of(true),
            addresses => addresses,
        }
    }

    /// Returns the position where one of the keys `keys` is set for the subnet: in the subnet or in
    /// a scope around it; otherwise the position of the subnet.
    pub(super) fn at_any(&self, global: View<'_>, keys: &[&str]) -> SourcePosition {
        let scopes = [Some(self.view), self.network, Some(global)];
        let set = |scope: View<'_>| keys.iter().find_map(|key| scope.at(key));
        scopes.into_iter().flatten().find_map(set).unwrap_or(self.view.at)
    }
}

/// Facts about a configuration that the judges of `godwit advise` use.
pub(super) struct ConfigFacts<'v> {
    pub(super) global: View<'v>,
    pub(super) subnets: Vec<SubnetConfigFacts<'v>>,
    pub(super) networks: Vec<View<'v>>,
    pub(super) classes: Vec<ClassFacts<'v>>,
    /// Global settings of the configuration that both families have.
    pub(super) settings: &'v GlobalSettings,
    pub(super) hosts: Vec<HostFacts>,
}

impl<'v> ConfigFacts<'v> {
    pub(super) fn new<F: AdvisedFamily>(global: View<'v>, config: &'v DhcpConfig<F>) -> Self {
        let facts = |(id, network, view): SubnetView<'v>| {
            let at = config.subnets.binary_search_by_key(&id, |subnet| subnet.id).ok()?;
            Some(subnet_facts(view, network, config.subnets.get(at)?))
        };
        Self {
            global,
            subnets: subnet_views(global, F::SUBNETS).into_iter().filter_map(facts).collect(),
            networks: global.maps("shared-networks"),
            classes: classes(global, &config.client_classes),
            settings: &config.global,
            hosts: hosts::<F>(&config.reservations),
        }
    }

    /// Returns the lease backend of the configuration, as far as costs of it were measured.
    pub(super) fn store(&self) -> MeasuredBackend {
        match self.settings.lease_database.sql.as_ref().map(|sql| sql.kind) {
            None => MeasuredBackend::Memfile,
            Some(SqlKind::Mysql) => MeasuredBackend::Mysql,
            Some(SqlKind::Postgresql) => MeasuredBackend::Postgresql,
            Some(SqlKind::Sqlite) => MeasuredBackend::Sqlite,
        }
    }

    /// Returns true if several threads of the server process messages.
    pub(super) fn has_threads(&self) -> bool {
        let threads = self.global.map("multi-threading");
        threads.and_then(|threads| threads.boolean("enable-multi-threading")).unwrap_or(true)
    }

    /// Returns the hook libraries of the configuration: the part of each file name between
    /// `libdhcp_` and `.so`, the position of the name, and the parameters.
    pub(super) fn hooks(&self) -> Vec<(&'v str, SourcePosition, Option<View<'v>>)> {
        let hook = |library: View<'v>| {
            let path = library.text("library")?;
            let file = path.rsplit('/').next().unwrap_or(path);
            let name = file.strip_prefix("libdhcp_").unwrap_or(file);
            let name = name.strip_suffix(".so").unwrap_or(name);
            Some((name, library.at("library")?, library.map("parameters")))
        };
        self.global.maps("hooks-libraries").into_iter().filter_map(hook).collect()
    }

    pub(super) fn has_hook(&self, name: &str) -> bool {
        self.hooks().iter().any(|hook| hook.0 == name)
    }
}

/// Number (`id`) of a subnet, its shared network and its map.
type SubnetView<'v> = (u32, Option<View<'v>>, View<'v>);

/// Returns the subnets of the configuration file in the order in which they are read.
fn subnet_views<'v>(global: View<'v>, key: &str) -> Vec<SubnetView<'v>> {
    let networks = global.maps("shared-networks");
    let in_networks = networks
        .into_iter()
        .flat_map(|network| network.maps(key).into_iter().map(move |view| (Some(network), view)));
    let standalone = global.maps(key).into_iter().map(|view| (None, view));
    // Subnets without an id are numbered as the reader does it.
    let mut automatic_id = 0;
    let numbered = in_networks.chain(standalone).map(|(network, view)| {
        let explicit_id =
            view.integer("id").and_then(|id| u32::try_from(id).ok()).filter(|&id| id > 0);
        let id = explicit_id.unwrap_or_else(|| {
            automatic_id += 1;
            automatic_id
        });
        (id, network, view)
    });
    numbered.collect()
}

fn classes<'v, C, B>(global: View<'v>, classes: &'v [ClientClass<C, B>]) -> Vec<ClassFacts<'v>> {
    let views = global.maps("client-classes").into_iter().zip(classes);
    let class = |(view, class): (View<'v>, &'v ClientClass<C, B>)| ClassFacts {
        at: view.at_any(&["test", "template-test"]),
        test: class.test.as_ref(),
        is_additional: class.only_in_additional_list,
    };
    views.map(class).collect()
}

/// Family whose configurations `godwit advise` judges.
pub(super) trait AdvisedFamily: Scoped {
    /// Returns the addresses of a reservation.
    fn addresses(reserved: &Self::OwnReserved) -> Vec<u128>;

    /// Returns the facts about a subnet's pools of delegated prefixes.
    fn prefix_pools(view: View<'_>, subnet: &SubnetConfig<Self>) -> Vec<PoolFacts>;

    /// Returns the lifetime from which clients of `subnet` calculate T1, in seconds, if they
    /// request none.
    fn renewed_lifetime_s(subnet: &SubnetConfig<Self>) -> u32;
}

impl AdvisedFamily for V4 {
    fn addresses(reserved: &Reserved4) -> Vec<u128> {
        reserved.address.map(Address::to_bits).into_iter().collect()
    }

    fn prefix_pools(_: View<'_>, _: &Subnet4) -> Vec<PoolFacts> {
        Vec::new()
    }

    fn renewed_lifetime_s(subnet: &Subnet4) -> u32 {
        subnet.valid_lifetime.default_s
    }
}

impl AdvisedFamily for V6 {
    fn addresses(reserved: &Reserved6) -> Vec<u128> {
        reserved.addresses.iter().map(|&address| Address::to_bits(address)).collect()
    }

    fn prefix_pools(view: View<'_>, subnet: &Subnet6) -> Vec<PoolFacts> {
        pd_pools(view, &subnet.own.pd_pools, subnet.own.pd_allocator)
    }

    fn renewed_lifetime_s(subnet: &Subnet6) -> u32 {
        let valid_s = subnet.valid_lifetime.default_s;
        match subnet.own.preferred_lifetime.default_s {
            preferred_s if (1..=valid_s).contains(&preferred_s) => preferred_s,
            _ => (u64::from(valid_s) * 5 / 8) as u32,
        }
    }
}

fn hosts<F: AdvisedFamily>(reservations: &[ConfigReservation<F>]) -> Vec<HostFacts> {
    let host = |reservation: &ConfigReservation<F>| HostFacts {
        kind: reservation.identifier.kind,
        addresses: F::addresses(&reservation.reserved),
    };
    reservations.iter().map(host).collect()
}

fn pools<A: Address, C>(
    view: View<'_>,
    pools: &[Pool<A, C>],
    allocator: AllocatorKind,
) -> Vec<PoolFacts> {
    let has_queue = allocator == AllocatorKind::FreeLeaseQueue;
    let pool = |(view, pool): (View<'_>, &Pool<A, C>)| {
        let range = (pool.first.to_bits(), pool.last.to_bits());
        let count = (range.1 - range.0).saturating_add(1);
        PoolFacts { at: view.at, range, count, is_of_prefixes: false, has_queue }
    };
    view.maps("pools").into_iter().zip(pools).map(pool).collect()
}

fn pd_pools(view: View<'_>, pools: &[PdPool], allocator: AllocatorKind) -> Vec<PoolFacts> {
    let has_queue = allocator == AllocatorKind::FreeLeaseQueue;
    let pool = |(view, pool): (View<'_>, &PdPool)| {
        let (prefix, length) = pool.prefix;
        let range = (prefix.to_bits(), last_of(prefix, length).to_bits());
        let count = 1_u128.checked_shl(u32::from(pool.delegated_len - length));
        PoolFacts {
            at: view.at,
            range,
            count: count.unwrap_or(u128::MAX),
            is_of_prefixes: true,
            has_queue,
        }
    };
    view.maps("pd-pools").into_iter().zip(pools).map(pool).collect()
}

fn range<A: Address>(address: A, length: u8) -> (u128, u128) {
    (first_of(address, length).to_bits(), last_of(address, length).to_bits())
}

/// Returns the seconds after which clients renew: T1 as configured, otherwise the fraction `part`
/// of the lifetime, otherwise half of the lifetime, as clients do by default (RFC 2131 §4.4.5, RFC
/// 9915 §14.2).
fn t1_s(
    set_s: Option<u32>,
    rebind_s: Option<u32>,
    lifetime_s: u32,
    part: Option<f64>,
) -> Option<f64> {
    if lifetime_s == u32::MAX {
        return None;
    }
    let set_s = set_s.filter(|&set_s| rebind_s.is_none_or(|rebind_s| set_s < rebind_s));
    let default_s = f64::from(lifetime_s) * part.unwrap_or(0.5);
    Some(set_s.filter(|&s| s > 0).map_or(default_s, f64::from).max(1.0))
}

fn subnet_facts<'v, F: AdvisedFamily>(
    view: View<'v>,
    network: Option<View<'v>>,
    subnet: &SubnetConfig<F>,
) -> SubnetConfigFacts<'v> {
    let part = subnet.calculate_tee_times.then_some(subnet.t1_percent);
    let lifetime_s = F::renewed_lifetime_s(subnet);
    let mut all = pools(view, &subnet.pools, subnet.allocator);
    all.extend(F::prefix_pools(view, subnet));
    SubnetConfigFacts {
        view,
        network,
        range: range(subnet.prefix.0, subnet.prefix.1),
        pools: all,
        hosts: hosts::<F>(&subnet.reservations),
        modes: subnet.reservation_modes,
        cache_threshold: subnet.cache_threshold,
        t1_s: t1_s(subnet.renew_timer_s, subnet.rebind_timer_s, lifetime_s, part),
    }
}
