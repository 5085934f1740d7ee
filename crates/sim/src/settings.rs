//! Settings of a simulation, drawn from its seed so that a thousand seeds are a thousand
//! simulations.

use base::Random;

/// Settings of one simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DhcpSimulationSettings {
    /// Seed of all random decisions.
    pub seed: u64,
    /// Number of shards.
    pub shards: usize,
    /// Number of clients that want addresses.
    pub clients: usize,
    /// Number of addresses in the pool, fewer or more than clients.
    pub pool_size: u32,
    /// Lifetime of a lease, in seconds.
    pub lifetime_s: u32,
    /// Time for which an offer holds its address, in milliseconds.
    pub hold_ms: u32,
    /// Lost datagrams in a thousand, in each direction.
    pub loss_permille: u64,
    /// Repeated datagrams in a thousand.
    pub repeat_permille: u64,
    /// Longest time until a row settles, in milliseconds.
    pub settle_ms: u64,
    /// Virtual duration, in seconds.
    pub duration_s: u64,
    /// Number of configuration reloads.
    pub reloads: u32,
    /// DHCPv4: true if every second client sends a client identifier.
    pub has_client_ids: bool,
    /// Clients on the server's own link, in a thousand.
    pub direct_permille: u64,
    /// DHCPv4: true if the server is authoritative.
    pub is_authoritative: bool,
    /// Number of crashes.
    pub crashes: u32,
    /// DHCPv6: true if clients may get their lease in two messages.
    pub allows_rapid_commit: bool,
}

impl DhcpSimulationSettings {
    /// Returns the settings of the simulation of `seed`.
    #[must_use]
    pub fn from_seed(seed: u64) -> Self {
        let mut random = Random::from_seed(seed);
        let pool_size = 1 + random.below(24) as u32;
        // Half the simulations have too few addresses.
        let clients = 2 + random.below(u64::from(pool_size) * 2 + 4) as usize;
        Self {
            seed,
            shards: 2,
            clients,
            pool_size,
            lifetime_s: 20 + random.below(100) as u32,
            hold_ms: 500 + random.below(8_000) as u32,
            loss_permille: [0, 10, 100, 300][random.below(4) as usize],
            repeat_permille: [0, 20, 200][random.below(3) as usize],
            settle_ms: [0, 1, 30, 800][random.below(4) as usize],
            duration_s: 120 + random.below(240),
            reloads: random.below(4) as u32,
            has_client_ids: random.chance(1, 2),
            is_authoritative: random.chance(1, 2),
            direct_permille: [0, 500, 1_000][random.below(3) as usize],
            crashes: random.below(3) as u32,
            allows_rapid_commit: random.chance(1, 2),
        }
    }
}
