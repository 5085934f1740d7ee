//! Hosts that can concern a message: those of the configuration first, then those that were looked
//! up elsewhere, as in Kea (`HostMgr`: the configuration file goes before databases).

use dhcp_config::IdentifierKind;

use super::{Host, HostCache, HostIndex, HostTerms, Hosts, ReservationProtocol, ReservationScope};

/// Hosts of a configuration, together with the cached hosts that were looked up elsewhere. A
/// look-up of a host that is not cached yet finds none and is recorded ([`Self::has_missed`]): the
/// caller must discard all decisions that followed from it.
#[derive(Debug)]
pub struct HostBook<'b, F: ReservationProtocol> {
    configured: &'b Hosts<F, HostTerms<F>>,
    cache: Option<&'b HostCache<F>>,
}

impl<F: ReservationProtocol> Clone for HostBook<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F: ReservationProtocol> Copy for HostBook<'_, F> {}

impl<'b, F: ReservationProtocol> HostBook<'b, F> {
    /// Returns the book of the hosts of a configuration, and of those in `cache` when the cache has
    /// a source.
    #[must_use]
    pub fn new(configured: &'b Hosts<F, HostTerms<F>>, cache: &'b HostCache<F>) -> Self {
        Self { configured, cache: cache.is_in_use().then_some(cache) }
    }

    /// Returns the book of the hosts of a configuration alone.
    #[must_use]
    pub const fn configured(configured: &'b Hosts<F, HostTerms<F>>) -> Self {
        Self { configured, cache: None }
    }

    /// Returns true if neither the configuration nor the cache can have a host.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.configured.is_empty() && self.cache.is_none()
    }

    /// Returns true if hosts may exist outside of the configuration.
    #[must_use]
    pub const fn has_external_source(&self) -> bool {
        self.cache.is_some()
    }

    /// Returns true if the current message needed a host that is not cached yet.
    #[must_use]
    pub fn has_missed(&self) -> bool {
        self.cache.is_some_and(HostCache::has_missed)
    }

    /// Returns the position of the host of a scope with this identifier.
    #[must_use]
    pub fn find(
        &self,
        scope: ReservationScope,
        kind: IdentifierKind,
        octets: &[u8],
    ) -> Option<HostIndex> {
        let is_possible = self.configured.kinds(scope).contains(kind);
        let configured = if is_possible { self.configured.find(scope, kind, octets) } else { None };
        configured.or_else(|| self.cache?.find(scope, kind, octets))
    }

    /// Returns the host at `index`, from the configuration or the cache.
    #[must_use]
    pub fn get(&self, index: HostIndex) -> Host<'b, F, HostTerms<F>> {
        match (index, self.cache) {
            (HostIndex::Cached(cached), Some(cache)) => cache.get(cached),
            _ => self.configured.get(index),
        }
    }

    /// Returns the terms (name, options, classes) of the client's host at `host`; `None` when the
    /// client has no host or the host has addresses alone.
    #[must_use]
    pub fn terms(&self, host: Option<HostIndex>) -> Option<&'b HostTerms<F>> {
        host.and_then(|host| self.get(host).terms)
    }

    /// Returns the positions of the hosts for which a scope, a subnet or the global one, reserves
    /// an address or prefix.
    pub fn owners_of(
        &self,
        scope: ReservationScope,
        address: F::Address,
    ) -> impl Iterator<Item = HostIndex> + use<'b, F> {
        let cached = self.cache.map(|cache| cache.owners_of(scope, address));
        self.configured.owners_of(scope, address).chain(cached.into_iter().flatten())
    }

    /// Returns the position of the host for which a scope reserves an address or prefix; any of
    /// them where there are several.
    #[must_use]
    pub fn owner_of(&self, scope: ReservationScope, address: F::Address) -> Option<HostIndex> {
        self.owners_of(scope, address).next()
    }
}
